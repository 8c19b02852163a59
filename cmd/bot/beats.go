package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"attache"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/brainfile"
)

type beatsCommand struct {
	ID    string `arg:"" optional:"" help:"Only this beat: the name of its file without .heartbeat.md."`
	Count int    `default:"3" placeholder:"N" help:"How many slots of each, at most 100 (${default})."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run shows what each beat of the brain would do and when. It reads files alone.
func (c beatsCommand) Run(f *flags, io stdio) error {
	if c.Count < 1 || c.Count > 100 {
		return misused("--count takes 1 to 100")
	}
	b, problems, err := brain.Load(f.Brain, nil)
	if err != nil {
		return misused("%v", err)
	}
	if b.Frame.Fatal {
		return misused("MANIFEST.yaml of the brain in %s is wrong, and with it perhaps the time zone; attache doctor says what to mend", f.Brain)
	}
	wrong := ofBeats(problems)
	list, err := c.chosen(b, wrong)
	if err != nil {
		return err
	}
	now := time.Now()
	if f.Clock != nil {
		now = f.Clock.Now()
	}
	records := make([]beatRecord, len(list))
	for i, beat := range list {
		records[i] = recordOfBeat(b, beat, now, c.Count)
	}
	if c.JSON {
		e := json.NewEncoder(io.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(records)
	}
	for _, r := range records {
		r.print(io.out)
	}
	if len(records) == 0 && len(wrong) == 0 {
		fmt.Fprintln(io.out, "the brain has no beats; one is a file features/<feature>/<id>.heartbeat.md")
	}
	if c.ID == "" {
		for _, p := range wrong {
			fmt.Fprintln(io.out, p.Error())
		}
	}
	return nil
}

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

// chosen gives the beats that are asked for.
func (c beatsCommand) chosen(b *brain.Brain, wrong []attache.Problem) ([]heartbeat.Beat, error) {
	if c.ID == "" {
		return b.Beats, nil
	}
	ids := make([]string, len(b.Beats))
	for i, beat := range b.Beats {
		if ids[i] = beat.ID; beat.ID == c.ID {
			return b.Beats[i : i+1], nil
		}
	}
	for _, p := range wrong {
		if ident, _ := brainfile.Identify(p.File); ident.ID == c.ID {
			return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("the beat %s does not load: %s", c.ID, p.Error())}
		}
	}
	return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no beat %q; %s", c.ID, brainfile.Suggest(c.ID, ids, "attache beats lists them"))}
}

// beatRecord is the JSON form of a beat.
type beatRecord struct {
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
	Next        []slotRecord        `json:"next"`
}

type slotRecord struct {
	Local string `json:"local"`
	UTC   string `json:"utc"`
}

func recordOfBeat(b *brain.Brain, beat heartbeat.Beat, now time.Time, count int) beatRecord {
	r := beatRecord{
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
		r.Next = append(r.Next, slotRecord{at.Format(time.RFC3339), at.UTC().Format(time.RFC3339)})
	}
	return r
}

// print prints a beat for a person.
func (r beatRecord) print(w io.Writer) {
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
	line("reaches", "%s", orElse(strings.Join(reach, ", "), "no context"))
	what := "next"
	if r.Why != "" {
		what = "would be"
	}
	for _, s := range r.Next {
		line(what, "%s  %s", s.Local, s.UTC)
		what = ""
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (beatsCommand) Help() string {
	return `A beat is a file features/<feature>/<id>.heartbeat.md: at each slot of its cron a role
works on the text below the keys, and what it answers is posted in its place.

  ---
  cron: 0 9 * * mon-fri          minute, hour, day, month, day of the week
  timezone: Europe/Amsterdam     left out: that of MANIFEST.yaml
  agent: desk
  place: { chat: "tg:chat:-1001", thread: 42 }
  hours: 08:00-22:00             no slots outside of them
  catchUp: once                  for missed slots: skip, once (one run) or all (one each)
  ---
  Name what is late. If nothing is, answer NOTHING.

It reads files alone, so it may be used beside a running bot and without one:

  attache beats                  the next three slots of each, in its zone and in UTC
  attache beats daily --count 10
  attache beats --json | jq '.[] | select(.runs | not)'

Where the clock goes forward, a slot in the gap comes at the first minute after it; where
it goes back, the repeated hour counts once. A beat that does not run says why.`
}
