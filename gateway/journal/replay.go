package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache/internal/conversation"
	"attache/internal/model"
	"attache/internal/prompt"
	"attache/internal/store"
)

// Replay is the requests of a recorded turn, made again from what was written down
// (interface § 1).
type Replay struct {
	Requests []model.Request // in their order; the first is asked first
	Missing  []string        // what is known not to be there any more, one sentence each

	models []Model
}

// Body gives the exact body of request n, from 1, as it goes to a profile. An error
// says what was not written down.
func (r Replay) Body(n int, profile string) ([]byte, error) {
	if n < 1 || n > len(r.Requests) {
		return nil, fmt.Errorf("what came before request %d was not written down", n)
	}
	for _, s := range r.models {
		if s.Name == profile {
			return model.Encode(s.profile(), r.Requests[n-1])
		}
	}
	return nil, fmt.Errorf("how the model %s is written to was not written down", profile)
}

// Rebuild makes the requests of a turn again; false for a turn that no model was
// asked for, or whose journal is gone (MANIFEST retention.turns). It only reads.
func Rebuild(ctx context.Context, db *store.DB, talks *conversation.Store, turn int64) (Replay, bool, error) {
	x, begun, err := talks.Of(ctx, turn)
	if err != nil || !begun {
		return Replay{}, false, err
	}
	f, rounds, ok, err := read(ctx, db, turn)
	if err != nil || !ok {
		return Replay{}, false, err
	}
	past, err := talks.Recent(ctx, x.Session.ID, turn, f.Kept)
	if err != nil {
		return Replay{}, false, err
	}
	r := Replay{models: f.Models}
	if n := f.Kept - len(past); n > 0 {
		r.Missing = append(r.Missing, fmt.Sprintf("%d of the %d earlier turns that it was sent are deleted by now (retention.turns)", n, f.Kept))
	}
	if f.Files > 0 {
		r.Missing = append(r.Missing, fmt.Sprintf("its input came with files (%d), which are sent to the model and not kept", f.Files))
	}
	messages, _ := prompt.Assemble(Prompt(x, past))
	next, err := First(x, messages, f.CacheKey)
	if err != nil {
		return Replay{}, false, fmt.Errorf("the tools of turn %d cannot be read: %w", turn, err)
	}
	r.Requests = append(r.Requests, next)
	for _, round := range rounds {
		next.Messages = append(next.Messages[:len(next.Messages):len(next.Messages)], round.Messages()...)
		r.Requests = append(r.Requests, next)
	}
	return r, true, nil
}

// Told gives what the first request of a turn that has begun is made of, with the
// history that it was sent.
func Told(ctx context.Context, db *store.DB, talks *conversation.Store, x conversation.Exchange) (prompt.Request, error) {
	f, _, written, err := read(ctx, db, x.Turn)
	if err != nil {
		return prompt.Request{}, err
	}
	var past []conversation.Past
	if written {
		past, err = talks.Recent(ctx, x.Session.ID, x.Turn, f.Kept)
	} else {
		past, err = talks.History(ctx, x.Session.ID, x.Turn)
	}
	return Prompt(x, past), err
}

// read reads what was written down of a turn: as many rounds as follow each other.
func read(ctx context.Context, db *store.DB, turn int64) (f Frame, rounds []Round, ok bool, err error) {
	rows, err := db.Pool().Query(ctx, `select n, entry from attache.turn_journal where turn = $1 order by n`, turn)
	if err == nil {
		var n int
		var raw []byte
		_, err = pgx.ForEachRow(rows, []any{&n, &raw}, func() error {
			switch {
			case n == 0:
				ok = true
				return json.Unmarshal(raw, &f)
			case n == len(rounds)+1:
				rounds = append(rounds, Round{})
				return json.Unmarshal(raw, &rounds[n-1])
			}
			return nil // one before it is missing
		})
	}
	if err != nil {
		err = fmt.Errorf("the journal of turn %d cannot be read: %w", turn, err)
	}
	return f, rounds, ok, err
}
