// Package beats is what `attache beats` prints: each beat of a brain with its next slots,
// for a person or as JSON. It reads files alone.
package beats

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"attache"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/brainfile"
)

// ofBeats picks the mistakes in files of beats.
func ofBeats(problems []attache.Problem) []attache.Problem {
	var out []attache.Problem
	for _, p := range problems {
		if ident, ok := brainfile.Identify(p.File); ok && ident.Kind == "heartbeat" {
			out = append(out, p)
		}
	}
	return out
}

// Choose gives the beat with the id, or all of them for "", and what is wrong in files
// of beats among the problems of the brain. It errs where there is no such beat that
// loads, with the reason.
func Choose(b *brain.Brain, problems []attache.Problem, id string) (list []heartbeat.Beat, wrong []attache.Problem, err error) {
	wrong = ofBeats(problems)
	if id == "" {
		return b.Beats, wrong, nil
	}
	ids := make([]string, len(b.Beats))
	for i, beat := range b.Beats {
		if ids[i] = beat.ID; beat.ID == id {
			return b.Beats[i : i+1], wrong, nil
		}
	}
	for _, p := range wrong {
		if ident, _ := brainfile.Identify(p.File); ident.ID == id {
			return nil, wrong, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("the beat %s does not load: %s", id, p.Error())}
		}
	}
	return nil, wrong, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no beat %q; %s", id, brainfile.Suggest(id, ids, "attache beats lists them"))}
}

// Record is the JSON form of a beat.
type Record struct {
	ID          string              `json:"id"`
	File        string              `json:"file"`
	Description string              `json:"description"`
	Cron        string              `json:"cron"`
	Timezone    string              `json:"timezone"`
	Hours       string              `json:"hours"` // "": the whole day
	CatchUp     heartbeat.CatchUp   `json:"catchUp"`
	Enabled     bool                `json:"enabled"`
	Runs        bool                `json:"runs"`
	Why         string              `json:"why"` // why it does not run
	Agent       attache.RoleID      `json:"agent"`
	Place       *attache.Place      `json:"place"` // null: its runs post by tools alone
	Reach       []attache.ContextID `json:"reach"`
	Blank       bool                `json:"blank"` // it has no body, so its slots call no model
	Next        []Slot              `json:"next"`
}

// Slot is a moment at which a beat is due, in RFC 3339.
type Slot struct {
	Local string `json:"local"` // in the zone of the beat
	UTC   string `json:"utc"`
}

// Of tells of a beat with so many of its slots after now.
func Of(b *brain.Brain, beat heartbeat.Beat, now time.Time, count int) Record {
	r := Record{
		ID: beat.ID, File: beat.Path, Description: beat.Description, Cron: beat.Cron, Timezone: beat.Zone.String(), Hours: beat.Hours, CatchUp: beat.CatchUp,
		Enabled: beat.Enabled, Runs: beat.Why == "", Why: beat.Why, Agent: beat.Agent, Reach: []attache.ContextID{}, Blank: strings.TrimSpace(beat.Body) == "",
	}
	if beat.Place != (attache.Place{}) {
		r.Place = &beat.Place
	}
	for _, e := range b.Contexts.Reach(beat.Entity) {
		r.Reach = append(r.Reach, e.Context)
	}
	for at := now; len(r.Next) < count; {
		if at = beat.Next(at); at.IsZero() {
			break
		}
		r.Next = append(r.Next, Slot{at.Format(time.RFC3339), at.UTC().Format(time.RFC3339)})
	}
	return r
}

// Print prints a beat for a person.
func (r Record) Print(w io.Writer) {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s%s\n", what, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "%s  %s\n", r.ID, r.File)
	if r.Description != "" {
		line("for", "%s", r.Description)
	}
	if r.Why != "" {
		line("off", "%s", r.Why)
	}
	when := r.Cron + " in " + r.Timezone
	if r.Hours != "" {
		when += ", only " + r.Hours
	}
	line("when", "%s; missed slots: %s", when, r.CatchUp)
	role := string(r.Agent)
	if r.Blank {
		role += ", but its body is blank: no model is called"
	}
	line("role", "%s", role)
	if r.Place != nil {
		line("posts in", "%s", r.Place)
	} else {
		line("posts in", "no place; only its tools post")
	}
	reach := make([]string, len(r.Reach))
	for i, id := range r.Reach {
		reach[i] = string(id)
	}
	line("reaches", "%s", cmp.Or(strings.Join(reach, ", "), "no context"))
	what := "next"
	if r.Why != "" {
		what = "would be"
	}
	for _, s := range r.Next {
		line(what, "%s  %s", s.Local, s.UTC)
		what = ""
	}
}
