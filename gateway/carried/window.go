package carried

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/conversation"
	"attache/internal/store"
)

// Window is what contexts did over a stretch of time, for the page and the tool
// alike (text 1 § 5.1).
type Window struct {
	Roles    []RoleUse `json:"roles"`    // by name; those that had a turn
	Findings []Stubbed `json:"findings"` // the most frequent first
}

// RoleUse is what the turns of one role carried.
type RoleUse struct {
	Role     attache.RoleID `json:"role"`
	Turns    int            `json:"turns"`    // that began, those that carried nothing too
	Contexts []ContextUse   `json:"contexts"` // the most attached first
}

// ContextUse is what became of one context in the turns of one role.
type ContextUse struct {
	Context   attache.ContextID    `json:"context"`
	Attached  int                  `json:"attached"`  // turns
	Share     float64              `json:"share"`     // of the role's turns, 0 to 1, in thousandths
	Stubbed   int                  `json:"stubbed"`   // turns
	MeanChars int                  `json:"meanChars"` // of an attached block; 0 without any
	Links     map[attache.Link]int `json:"links"`     // of attached blocks, each by its strongest link
}

// Stubbed is the finding that a budget kept a context out of turns. More than one
// knob can do so, and each is a finding of its own.
type Stubbed struct {
	Finding string            `json:"finding"` // "context-stubbed"
	Context attache.ContextID `json:"context"`
	Knob    string            `json:"knob"` // what to raise
	Times   int               `json:"times"`
}

// Stretch is what contexts did between two moments, to be summed up with others.
type Stretch struct {
	turns map[attache.RoleID]int
	uses  []use
}

// use counts the lines of the ledger that are alike.
type use struct {
	role    attache.RoleID
	context attache.ContextID
	link    attache.Link
	status  string
	knob    string
	turns   int // lines that are the first of their context and status in their turn
	blocks  int
	chars   int64
}

// Stretches reads what contexts did in each of the stretches between two neighbours
// of edges; of one chat of a bot unless chat is 0.
func Stretches(ctx context.Context, db *store.DB, talks *conversation.Store, edges []time.Time, bot attache.BotID, chat attache.ChatID) ([]Stretch, error) {
	turns, err := talks.TurnsByRole(ctx, edges, bot, chat)
	if err != nil {
		return nil, err
	}
	all := make([]Stretch, len(turns))
	for i := range all {
		all[i].turns = turns[i]
	}
	args, chosen := []any{edges, edges[0], edges[len(edges)-1]}, ``
	if chat != 0 {
		args, chosen = append(args, bot, chat), ` and turn = any(array(select id from attache.turns where bot = $4 and chat = $5))`
	}
	rows, err := db.Pool().Query(ctx, `
		select width_bucket(at, $1::timestamptz[]) - 1 stretch, role, context, link, status, knob, count(*) filter (where not again), count(*), sum(chars)
		from attache.turn_contexts where at >= $2 and at < $3 and status <> 'refused'`+chosen+`
		group by stretch, role, context, link, status, knob`, args...)
	if err != nil {
		return nil, fmt.Errorf("what contexts did cannot be read: %w", err)
	}
	var n int
	var u use
	_, err = pgx.ForEachRow(rows, []any{&n, &u.role, &u.context, &u.link, &u.status, &u.knob, &u.turns, &u.blocks, &u.chars}, func() error {
		all[n].uses = append(all[n].uses, u)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("what contexts did cannot be read: %w", err)
	}
	return all, nil
}

// sums is a ContextUse while it is added up.
type sums struct {
	ContextUse
	blocks int
	chars  int64
}

type contextSums map[attache.ContextID]*sums

func (c contextSums) add(u use) {
	of := c[u.context]
	if of == nil {
		of = &sums{ContextUse: ContextUse{Context: u.context, Links: map[attache.Link]int{}}}
		c[u.context] = of
	}
	if u.status == "stub" {
		of.Stubbed += u.turns
		return
	}
	of.Attached, of.blocks, of.chars = of.Attached+u.turns, of.blocks+u.blocks, of.chars+u.chars
	of.Links[u.link] += u.blocks
}

// Sum adds stretches up, of one role unless only is "".
func Sum(stretches []Stretch, only attache.RoleID) Window {
	turns := map[attache.RoleID]int{}
	uses := map[attache.RoleID]contextSums{}
	stubbed := map[Stubbed]int{}
	for _, s := range stretches {
		for role, n := range s.turns {
			turns[role] += n
			if uses[role] == nil {
				uses[role] = contextSums{}
			}
		}
		for _, u := range s.uses {
			if only != "" && u.role != only {
				continue
			}
			if uses[u.role] == nil {
				uses[u.role] = contextSums{}
			}
			uses[u.role].add(u)
			if u.status == "stub" {
				stubbed[Stubbed{Finding: "context-stubbed", Context: u.context, Knob: u.knob}] += u.blocks
			}
		}
	}
	w := Window{Roles: []RoleUse{}, Findings: []Stubbed{}}
	for _, role := range slices.Sorted(maps.Keys(uses)) {
		if only == "" || role == only {
			w.Roles = append(w.Roles, ofRole(role, turns[role], uses[role]))
		}
	}
	for f, times := range stubbed {
		f.Times = times
		w.Findings = append(w.Findings, f)
	}
	slices.SortFunc(w.Findings, func(a, b Stubbed) int {
		return cmp.Or(b.Times-a.Times, cmp.Compare(a.Context, b.Context), cmp.Compare(a.Knob, b.Knob))
	})
	return w
}

// ofRole ends the sums of one role. A turn at the window's very edge may be counted
// by what it carried and not by when it began, so the turns are at least those.
func ofRole(role attache.RoleID, turns int, uses contextSums) RoleUse {
	r := RoleUse{Role: role, Turns: turns, Contexts: []ContextUse{}}
	for _, u := range uses {
		r.Turns = max(r.Turns, u.Attached, u.Stubbed)
	}
	for _, u := range uses {
		if r.Turns > 0 {
			u.Share = math.Round(1000*float64(u.Attached)/float64(r.Turns)) / 1000
		}
		if u.blocks > 0 {
			u.MeanChars = int(math.Round(float64(u.chars) / float64(u.blocks)))
		}
		r.Contexts = append(r.Contexts, u.ContextUse)
	}
	slices.SortFunc(r.Contexts, func(a, b ContextUse) int {
		return cmp.Or(b.Attached-a.Attached, b.Stubbed-a.Stubbed, cmp.Compare(a.Context, b.Context))
	})
	return r
}
