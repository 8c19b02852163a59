package main

import (
	"encoding/json"
	"fmt"
	"time"

	"attache/cmd/bot/beats"
	"attache/internal/brain"
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
	list, wrong, err := beats.Choose(b, problems, c.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	if f.Clock != nil {
		now = f.Clock.Now()
	}
	records := make([]beats.Record, len(list))
	for i, beat := range list {
		records[i] = beats.Of(b, beat, now, c.Count)
	}
	if c.JSON {
		e := json.NewEncoder(io.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(records)
	}
	for _, r := range records {
		r.Print(io.out)
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
