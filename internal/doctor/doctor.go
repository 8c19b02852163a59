// Package doctor looks at a brain and the machine it runs on and says what is
// wrong, where, what it means and what to do. A [Finding] is data; every way to ask
// (the command, the chat command, the tool, the page) gets the same ones from
// [Examine].
//
// A check is a function from values to findings: of the brain's files, of what the
// database recorded, of what Telegram and a model's server answered. Whoever wires
// the program puts these values and the ways to ask into a [Subject]. Nothing is
// changed by looking: the features' schema.sql are tried in a transaction that is
// rolled back, and of servers only what costs nothing is asked.
package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"attache"
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

	// Chat is the one chat that the finding speaks of, 0 for none or many: in a
	// pinned place only findings of that chat may be told (decisions § 3.15).
	Chat   attache.ChatID    `json:"-"`
	thread *attache.ThreadID // nil: of the whole chat
}

// The headings of text 1 § 7, in its order; own ones come after them.
const (
	brainEntities   = "Brain entities"
	contextCode     = "Feature context code"
	chatAccess      = "Chat access"
	featureContexts = "Feature contexts"
	sqlTools        = "SQL tools"
)

// headings lists every heading in the order of the report.
func headings() []string {
	return []string{brainEntities, contextCode, chatAccess, featureContexts,
		"Agent state", sqlTools, "Models", "Telegram", "Secrets", "Database", "Clock", "Disk", "Deliveries", "Turns", "Heartbeats", "Updates", "Restart"}
}

// ofProblem makes a failed check of a problem that a loader found.
func ofProblem(check string, p attache.Problem) Finding {
	return Finding{Level: Fail, Check: check, File: p.File, Line: max(p.Line, 1), Col: max(p.Col, 1), What: p.What, Do: p.Do}
}

// at gives the finding with its place in a file.
func (f Finding) at(file string, line, col int) Finding {
	f.File, f.Line, f.Col = file, max(line, 1), max(col, 1)
	return f
}

// String gives the line of interface § 1:
// `<level>  <check>  <file:line:col>: <what>; <what to do>`.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  ", f.Level, f.Check)
	if f.File != "" {
		b.WriteString(attache.Problem{File: f.File, Line: f.Line, Col: f.Col}.Where() + ": ")
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

// in gives the finding as one that speaks of a place.
func (f Finding) in(at attache.Place) Finding {
	f.Chat, f.thread = at.Chat, &at.Thread
	return f
}

// OfPlace gives the findings that speak of one place or of its whole chat: all that
// may be told where a key is bound (decisions § 3.15). Another topic of the same chat
// may be bound to another key.
func OfPlace(findings []Finding, at attache.Place) []Finding {
	var out []Finding
	for _, f := range findings {
		if f.Chat != 0 && f.Chat == at.Chat && (f.thread == nil || *f.thread == at.Thread) {
			out = append(out, f)
		}
	}
	return out
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

// short gives the beginning of a text, on one line.
func short(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return string(r)
}

// names writes "the role home" or "the roles desk and home".
func names(noun string, ids []string) string {
	if len(ids) == 1 {
		return "the " + noun + " " + ids[0]
	}
	return "the " + noun + "s " + and(ids)
}

// and writes "a, b and c".
func and(ids []string) string {
	if len(ids) < 2 {
		return strings.Join(ids, "")
	}
	return strings.Join(ids[:len(ids)-1], ", ") + " and " + ids[len(ids)-1]
}
