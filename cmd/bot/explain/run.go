package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/contexts"
	"attache/gateway/mind"
	"attache/heartbeat"
	"attache/internal/brainfile"
	"attache/origins"
)

// run tells what a run of an entity would carry, and what a reply to its final answer
// would bring back.
func (d *dryRun) run(name, text string) (*Answer, error) {
	b, err := d.beat(name)
	if err != nil {
		return nil, err
	}
	d.place = b.Place
	run := attache.Run{Kind: b.Kind, ID: b.ID, Feature: b.Feature, Reach: d.Brain.Contexts.Reach(b.Entity)}
	x := newAnswer(d.Brain)
	x.Role, x.run, x.path, x.message = b.Agent, &run, b.Path, attache.Message{Place: b.Place, Text: b.Body}
	if text != "" {
		x.message.Text = text
	}
	bindings, err := d.stand(x, "")
	if err != nil {
		return nil, err
	}
	x.Engaged, x.why = d.fires(b, x)
	if x.Engaged {
		x.asked = contexts.Turn{Bot: b.Place.Bot, Role: d.Brain.Admission(x.Role), Run: &run, Bindings: bindings, Unread: d.unread}
		err = d.carried(x)
		x.Origin, x.Refusal = d.last(x)
	}
	x.Notes = d.notes
	return x, err
}

// beat finds the beat of "heartbeat:ID".
func (d *dryRun) beat(name string) (heartbeat.Beat, error) {
	if beat := "heartbeat:" + name; slices.Contains(d.known("heartbeat"), beat) {
		name = beat // a beat's bare id, as attache beats takes it
	}
	kind, id, _ := strings.Cut(name, ":")
	known := d.known(kind)
	switch {
	case !slices.Contains([]string{"heartbeat", "hook", "scenario"}, kind) || id == "":
		return heartbeat.Beat{}, misused("--run is %q; write heartbeat:ID, hook:ID or scenario:ID", name)
	case !slices.Contains(known, name):
		return heartbeat.Beat{}, &attache.Error{Kind: attache.KindNotFound, Say: d.missing(name, known)}
	case kind != "heartbeat":
		return heartbeat.Beat{}, &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("this version runs no %ss yet, so there is no run of %s to explain", kind, name)}
	}
	return d.Brain.Beats[slices.Index(known, name)], nil
}

// known lists the entities of a kind that load, as --run takes them.
func (d *dryRun) known(kind string) []string {
	var out []string
	switch kind {
	case "heartbeat":
		for _, b := range d.Brain.Beats {
			out = append(out, kind+":"+b.ID)
		}
	case "hook":
		for _, h := range d.Brain.Hooks {
			out = append(out, kind+":"+h.ID)
		}
	case "scenario":
		for _, s := range d.Brain.Scenarios {
			out = append(out, kind+":"+s.ID)
		}
	}
	return out
}

// missing says why an entity is not among the known ones.
func (d *dryRun) missing(name string, known []string) string {
	kind, id, _ := strings.Cut(name, ":")
	for f := range d.Brain.Tree.Files() {
		if ident, ok := brainfile.Identify(f.Path); ok && ident.Kind == kind && ident.ID == id {
			return fmt.Sprintf("%s does not load, so it has no run; attache doctor says what to mend in %s", name, f.Path)
		}
	}
	return fmt.Sprintf("there is no %s; %s", name, brainfile.Suggest(name, known, fmt.Sprintf("it would be a file <id>.%s.md of a feature", kind)))
}

// fires says whether the beat runs at its slots, as its runner and the turn itself
// judge it, and when.
func (d *dryRun) fires(b heartbeat.Beat, x *Answer) (bool, string) {
	chat := b.Place.Chat
	admitted, why := x.ruling.Admits(attache.UserID(int64(chat)))
	switch {
	case b.Why != "":
		return false, b.Why
	case x.message.Text == "":
		return false, "its body is empty: it takes its slot and calls no model"
	case chat != 0 && !x.ruling.Ruled():
		return false, fmt.Sprintf("it may not speak in %s: %s", chat, x.ruling.Why)
	case chat.Private() && !admitted:
		return false, fmt.Sprintf("it may not write to %s: %s", chat, why)
	}
	return true, fmt.Sprintf("cron %s; its next slot is %s", b.Cron, b.Next(time.Now()).Format(time.RFC3339))
}

// last says what the posts of the run's final answer would remember, or why it would
// be refused (decisions § 2). A run without a place posts none.
func (d *dryRun) last(x *Answer) (*attache.Origin, string) {
	if d.place.Chat == 0 {
		return nil, ""
	}
	o, left, refusal := origins.ForSend(mind.LastWords(d.Brain, x.run, x.Role, d.pin))
	for _, l := range left {
		d.note("what a reply brings back leaves out %s: %s", l.Entry, l.Why)
	}
	return o, refusal
}
