// Package carried is what turns carried: the ledger, with a line for each context that
// a turn had, had no room for or refused (`turn_contexts`), the links that a turn
// leaves for the next one of its session (`context_holds`), and what contexts did over
// a stretch of time.
//
// gateway/mind decides what a turn carries and writes it down here before the model is
// asked, in the transaction that keeps the tail, so that the ledger tells what the
// model read and nothing else. Both tables are made by the migrations of gateway/mind,
// under whose name databases know them.
package carried

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/contexts"
	"attache/internal/store"
)

// Record is one line of the ledger.
type Record struct {
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

// Records tells what a turn carries and what was refused, with every why, in the
// tail's order and what was refused behind.
func Records(tail []contexts.Carried, refused []contexts.Refused) []Record {
	out := make([]Record, 0, len(tail)+len(refused))
	for _, c := range tail {
		status := "attached"
		if c.Knob != "" {
			status = "stub"
		}
		out = append(out, Record{Context: c.Context, Feature: c.Feature, Entity: c.Key, Link: c.Link, Links: c.Links,
			Status: status, Chars: c.Chars, Knob: c.Knob, Why: strings.Join(c.Cut, "; ")})
	}
	for _, r := range refused {
		out = append(out, Record{Context: r.Entry.Context, Entity: r.Entry.Key, Link: r.Link, Links: []contexts.Made{r.Made},
			Status: "refused", Why: r.Reason})
	}
	return out
}

// Write writes down what a turn carries, in the order of the records. A turn that has
// its ledger keeps it: what the model read first is what it read.
func Write(ctx context.Context, tx store.Tx, turn int64, role attache.RoleID, all []Record) error {
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

// Of gives what turns carried, left out and refused, each in its tail's order.
func Of(ctx context.Context, db *store.DB, turns ...int64) (map[int64][]Record, error) {
	rows, err := db.Pool().Query(ctx, `select turn, context, feature, entity, link, links, status, chars, knob, why
		from attache.turn_contexts where turn = any($1) order by turn, n`, turns)
	if err != nil {
		return nil, fmt.Errorf("what turns carried cannot be read: %w", err)
	}
	all := map[int64][]Record{}
	var turn int64
	var r Record
	var links []byte
	_, err = pgx.ForEachRow(rows, []any{&turn, &r.Context, &r.Feature, &r.Entity, &r.Link, &links, &r.Status, &r.Chars, &r.Knob, &r.Why}, func() error {
		r.Links = nil // the rows before keep theirs
		if err := json.Unmarshal(links, &r.Links); err != nil {
			return err
		}
		all[turn] = append(all[turn], r)
		return nil
	})
	return all, err
}

// Line is the one line of /context on what a turn carried (interface § 5).
func Line(records []Record) string {
	var manifest []contexts.Carried
	for _, r := range records {
		if r.Status != "refused" {
			manifest = append(manifest, contexts.Carried{Context: r.Context, Feature: r.Feature, Key: r.Entity, Link: r.Link, Links: r.Links, Chars: r.Chars, Knob: r.Knob})
		}
	}
	return contexts.Line(manifest)
}

// Forget deletes the ledger and the holds from before a moment.
func Forget(ctx context.Context, db *store.DB, before time.Time) error {
	for _, sql := range []string{
		`delete from attache.turn_contexts where at < $1`,
		`delete from attache.context_holds where at < $1`,
	} {
		if _, err := db.Pool().Exec(ctx, sql, before); err != nil {
			return err
		}
	}
	return nil
}
