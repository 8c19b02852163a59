package mind

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/contexts"
	"attache/internal/store"
)

// carry decides what the turn carries and writes it down, tail and ledger in one
// transaction, before the first call of the model. A turn that was begun before
// sends the tail of then, byte for byte (decisions § 4).
func (th *thought) carry(ctx context.Context) error {
	o := th.m.o
	if !th.papers() {
		return nil
	}
	if th.turn.Task == nil { // a run has no holds of its place
		var err error
		if th.holds, err = th.readHolds(ctx); err != nil {
			return err
		}
	}
	th.asked.Holds = th.holds
	choice := th.brain.Contexts.Choose(th.asked)
	th.made = choice.Holds()
	if th.talk.Tail != nil {
		return nil
	}
	tail := choice.Render(th.given(ctx, choice))
	return o.DB.Retry(ctx, "writing down what a turn carries", func(ctx context.Context) error {
		return o.DB.InTx(ctx, func(tx store.Tx) error {
			stored, mine, err := o.Talks.SetTail(ctx, tx, th.turn.ID, append([]byte{}, tail.Bytes...))
			if err != nil {
				return err
			}
			th.talk.Tail = stored
			if !mine {
				return nil
			}
			return writeLedger(ctx, tx, th.turn.ID, th.role.ID, records(tail.Manifest, choice.Refused))
		})
	})
}

// papers reports whether there is anything that a turn of this role could carry: a
// brain without contexts and state pays for none of this.
func (th *thought) papers() bool {
	for range th.brain.Contexts.Files() {
		return true
	}
	return len(th.asked.Role.State) > 0
}

// given reads what a choice needs from outside.
func (th *thought) given(ctx context.Context, c contexts.Choice) map[contexts.Need]contexts.Given {
	needs := c.Needs()
	if len(needs) == 0 {
		return nil
	}
	return th.m.o.Read(ctx, th.brain, needs)
}

// records tells what a turn carries and what was refused, with every why.
func records(carried []contexts.Carried, refused []contexts.Refused) []CarriedRecord {
	out := make([]CarriedRecord, 0, len(carried)+len(refused))
	for _, c := range carried {
		status := "attached"
		if c.Knob != "" {
			status = "stub"
		}
		out = append(out, CarriedRecord{Context: c.Context, Feature: c.Feature, Entity: c.Key, Link: c.Link, Links: c.Links,
			Status: status, Chars: c.Chars, Knob: c.Knob, Why: strings.Join(c.Cut, "; ")})
	}
	for _, r := range refused {
		out = append(out, CarriedRecord{Context: r.Entry.Context, Entity: r.Entry.Key, Link: r.Link, Links: []contexts.Made{r.Made},
			Status: "refused", Why: r.Reason})
	}
	return out
}

// writeLedger writes down what a turn carries, in the order of the records.
func writeLedger(ctx context.Context, tx store.Tx, turn int64, role attache.RoleID, all []CarriedRecord) error {
	var b pgx.Batch
	type kept struct {
		context attache.ContextID
		status  string
	}
	before := map[kept]bool{}
	for n, r := range all {
		links, err := json.Marshal(r.Links)
		if err != nil {
			return err
		}
		line := kept{r.Context, r.Status}
		b.Queue(`insert into attache.turn_contexts (turn, n, context, feature, entity, link, links, status, chars, knob, why, role, again)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict do nothing`,
			turn, n, r.Context, r.Feature, r.Entity, r.Link, links, r.Status, r.Chars, r.Knob, r.Why, role, before[line])
		before[line] = true
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &b).Close()
}

// readHolds reads the links that earlier turns of the session left.
func (th *thought) readHolds(ctx context.Context) (holds []contexts.Hold, err error) {
	err = th.m.o.DB.Retry(ctx, "reading held contexts", func(ctx context.Context) error {
		holds, err = holdsOf(ctx, th.m.o.DB, th.talk.Session.ID)
		return err
	})
	return holds, err
}

// keep counts the held links down and adds those of this turn, once it is known
// whether the agent answered it (decisions § 3.5). A turn that a crash makes end
// twice is counted once.
func (th *thought) keep(ctx context.Context, answered bool) error {
	if len(th.holds)+len(th.made) == 0 || th.turn.Task != nil {
		return nil
	}
	raw, err := json.Marshal(th.brain.Contexts.Keep(th.holds, th.made, answered))
	if err != nil {
		return err
	}
	return th.m.o.DB.Retry(ctx, "keeping held contexts", func(ctx context.Context) error {
		_, err := th.m.o.DB.Pool().Exec(ctx, `insert into attache.context_holds (session, turn, holds) values ($1, $2, $3)
			on conflict (session) do update set turn = excluded.turn, holds = excluded.holds, at = now()
			where context_holds.turn < excluded.turn`, th.talk.Session.ID, th.turn.ID, raw)
		return err
	})
}

// CarriedRecord is one line of the ledger.
type CarriedRecord struct {
	Context attache.ContextID `json:"context"`
	Feature attache.FeatureID `json:"feature,omitempty"`
	Entity  attache.EntityKey `json:"entity"`
	Link    attache.Link      `json:"link"`
	Links   []contexts.Made   `json:"links"`
	Status  string            `json:"status"` // attached, stub or refused
	Chars   int               `json:"chars,omitempty"`
	Knob    string            `json:"knob,omitempty"`
	Why     string            `json:"why,omitempty"`
}

// Carried gives what turns carried, left out and refused, each in its tail's order.
func Carried(ctx context.Context, db *store.DB, turns ...int64) (map[int64][]CarriedRecord, error) {
	rows, err := db.Pool().Query(ctx, `select turn, context, feature, entity, link, links, status, chars, knob, why
		from attache.turn_contexts where turn = any($1) order by turn, n`, turns)
	if err != nil {
		return nil, fmt.Errorf("what turns carried cannot be read: %w", err)
	}
	all := map[int64][]CarriedRecord{}
	var turn int64
	var r CarriedRecord
	var links []byte
	_, err = pgx.ForEachRow(rows, []any{&turn, &r.Context, &r.Feature, &r.Entity, &r.Link, &links, &r.Status, &r.Chars, &r.Knob, &r.Why}, func() error {
		r.Links = nil
		if err := json.Unmarshal(links, &r.Links); err != nil {
			return err
		}
		all[turn] = append(all[turn], r)
		return nil
	})
	return all, err
}

// Line is the one line of /context on what a turn carried (interface § 5).
func Line(records []CarriedRecord) string {
	var manifest []contexts.Carried
	for _, r := range records {
		if r.Status != "refused" {
			manifest = append(manifest, contexts.Carried{Context: r.Context, Feature: r.Feature, Key: r.Entity, Link: r.Link, Links: r.Links, Chars: r.Chars, Knob: r.Knob})
		}
	}
	return contexts.Line(manifest)
}
