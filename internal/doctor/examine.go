package doctor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"attache"
	"attache/internal/brain"
	"attache/internal/model"
	"attache/internal/store"
)

// Subject is what is examined: values, and ways to ask the outside world. What is
// nil is not asked; where a person has to know that, a finding says so.
type Subject struct {
	Brain    *brain.Brain
	Problems []attache.Problem // that loading it found
	Started  *brain.Brain      // what the running program began with; nil outside of one
	Now      func() time.Time
	Getenv   func(string) string // that the brain's env: settings are read with

	DB  *store.DB // nil: out of reach
	Gap Finding   // why there is no DB: its What, Do and Level, which depends on whose database it is

	Bots []Bot
	// Date gives the time on Telegram's clock.
	Date func(context.Context) (time.Time, error)
	// Catalog asks the server of a model what it serves: AskCatalog.
	Catalog func(context.Context, model.Profile) (Catalog, error)

	Folder  string                 // of the program's own data
	Free    func() (uint64, error) // bytes that are left there
	Secrets []SecretFile

	Also []Finding // what only the wiring knows, such as chats without a rule that wrote
}

// patience is how long one server is waited for, so that the doctor answers while a
// person waits.
const patience = 4 * time.Second

// window is how far back the doctor looks for trouble.
const window = 7 * 24 * time.Hour

// Examine makes every check and gives what it found, by heading in the order of text
// 1 § 7, own headings behind them, and in each by file and line. Servers are asked
// at the same time, each for a few seconds at most.
func Examine(ctx context.Context, s Subject) []Finding {
	checks := []func(context.Context) []Finding{
		func(ctx context.Context) []Finding { return s.database(ctx) },
		func(ctx context.Context) []Finding { return s.models(ctx) },
		func(ctx context.Context) []Finding { return s.telegramClock(ctx) },
		func(context.Context) []Finding { return s.machine() },
		func(context.Context) []Finding { return Files(s.Brain, s.Problems) },
	}
	for _, b := range s.Bots {
		checks = append(checks, func(ctx context.Context) []Finding { return s.bot(ctx, b) })
	}
	found := make([][]Finding, len(checks))
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { found[i] = check(ctx) })
	}
	wg.Wait()
	all := append(slices.Concat(found...), s.Also...)
	all = append(all, Restart(s.Started, s.Brain)...)
	return sorted(all)
}

// Files makes the checks that need nothing but the brain's files (matrix H1 to H6,
// H8 to H10, and of H7 views that are claimed twice).
func Files(b *brain.Brain, problems []attache.Problem) []Finding {
	found := ofChats(b, ofLoading(problems))
	if b.Frame.Unread {
		return found // what the files refer to is unknown, and so is whether they are right
	}
	s := look(b, problems)
	found = append(found, s.code()...)
	found = append(found, s.unrun()...)
	found = append(found, s.wholeViews()...)
	found = append(found, s.unreached()...)
	found = append(found, s.unknownNames()...)
	found = append(found, s.undescribed()...)
	found = append(found, s.claimedTwice()...)
	found = append(found, s.closedCatalogs()...)
	found = append(found, s.neverKeyed()...)
	found = append(found, s.listless()...)
	found = append(found, capabilities(b)...)
	return sorted(found)
}

// sorted puts findings into the order of the report. Those of one place keep theirs.
func sorted(list []Finding) []Finding {
	order := map[string]int{}
	for i, h := range headings() {
		order[h] = i
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.Check], order[b.Check]),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}
