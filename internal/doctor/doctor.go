// Package doctor looks at a brain and the machine it runs on and says what is
// wrong, where, what it means and what to do. A finding is data; every way to ask
// (the command, the chat command, the tool, the page) prints the same ones.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/gateway/ledger"
	"attache/internal/store"
)

// Level says how grave a finding is (interface § 1).
type Level string

// The levels. Only Fail makes the command exit with 1; Skipped is a check that
// could not look.
const (
	Fail    Level = "fail"
	Warn    Level = "warn"
	Note    Level = "note"
	Skipped Level = "skipped"
)

// Finding is one thing that the doctor found.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"` // a heading of text 1 § 7, or an own one
	File  string `json:"file"`  // path from the brain's root; empty when no file is at fault
	Line  int    `json:"line"`
	Col   int    `json:"col"`
	What  string `json:"what"`
	Do    string `json:"do"`
}

// OfProblem makes a failed check of a problem that a loader found.
func OfProblem(check string, p attache.Problem) Finding {
	return Finding{Level: Fail, Check: check, File: p.File, Line: max(p.Line, 1), Col: max(p.Col, 1), What: p.What, Do: p.Do}
}

// String gives the line of interface § 1:
// `<level>  <check>  <file:line:col>: <what>; <what to do>`.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  ", f.Level, f.Check)
	if f.File != "" {
		fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Col)
	}
	b.WriteString(f.What)
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// OK reports whether nothing failed.
func OK(findings []Finding) bool {
	for _, f := range findings {
		if f.Level == Fail {
			return false
		}
	}
	return true
}

// Print writes findings as lines, or as the JSON of interface § 1.
func Print(w io.Writer, findings []Finding, asJSON bool) error {
	if asJSON {
		if findings == nil {
			findings = []Finding{}
		}
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			OK       bool      `json:"ok"`
			Findings []Finding `json:"findings"`
		}{OK(findings), findings})
	}
	for _, f := range findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// troubleWindow is how far back the doctor looks for posts and updates in trouble.
const troubleWindow = 7 * 24 * time.Hour

// Deliveries looks for posts whose fate nobody knows or that Telegram refused, and
// for updates that could not be read (decisions § 7.5, row N8).
func Deliveries(ctx context.Context, db *store.DB) []Finding {
	t, err := ledger.ReadTroubles(ctx, db, time.Now().Add(-troubleWindow))
	if err != nil {
		return []Finding{{Level: Skipped, Check: "Deliveries", What: "the records of posts could not be read: " + err.Error()}}
	}
	var found []Finding
	for _, p := range t.Posts {
		f := Finding{Level: Warn, Check: "Deliveries"}
		where := fmt.Sprintf("in %s at %s (%s)", p.Place, p.At.UTC().Format(time.RFC3339), short(p.Text))
		if p.State == "unknown" {
			f.What = "nobody knows whether a post arrived " + where + ": " + p.Why
			f.Do = "look into the chat; it is not sent again by itself"
		} else {
			f.What = "Telegram refused a post " + where + ": " + p.Why
			f.Do = "mend what it says; the text stands in `attache turns`"
		}
		found = append(found, f)
	}
	if more := t.AllPosts - len(t.Posts); more > 0 {
		found = append(found, Finding{Level: Warn, Check: "Deliveries",
			What: fmt.Sprintf("%d older posts are of unknown fate or were refused too (%d in all)", more, t.AllPosts), Do: "look for the same cause"})
	}
	for _, u := range t.Broken {
		found = append(found, Finding{Level: Warn, Check: "Updates",
			What: fmt.Sprintf("update %d of bot %s at %s could not be read and was passed by: %s", u.ID, u.Bot, u.At.UTC().Format(time.RFC3339), u.Why),
			Do:   "please report it; the raw update is kept for a week"})
	}
	if more := t.AllUpdates - len(t.Broken); more > 0 {
		found = append(found, Finding{Level: Warn, Check: "Updates",
			What: fmt.Sprintf("%d older updates could not be read too (%d in all)", more, t.AllUpdates), Do: "look for the same cause"})
	}
	for _, bot := range slices.Sorted(maps.Keys(t.Business)) {
		found = append(found, Finding{Level: Note, Check: "Updates",
			What: fmt.Sprintf("%d updates of Telegram Business chats came to bot %s; they are kept and never answered", t.Business[bot], bot),
			Do:   "disconnect the bot from the Business account if that was not meant"})
	}
	return found
}

// short gives the beginning of a text, on one line.
func short(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return string(r)
}
