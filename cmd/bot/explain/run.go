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
	kind, id, _ := strings.Cut(name, ":")
	switch {
	case (kind == "hook" || kind == "scenario") && id != "":
		return heartbeat.Beat{}, &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("this version runs no %ss yet, so there is no run of %s to explain", kind, name)}
	case kind != "heartbeat" || id == "":
		return heartbeat.Beat{}, misused("--run is %q; write heartbeat:ID, hook:ID or scenario:ID", name)
	}
	var known []string
	for _, b := range d.Brain.Beats {
		if b.ID == id {
			return b, nil
		}
		known = append(known, "heartbeat:"+b.ID)
	}
	say := fmt.Sprintf("there is no %s; %s", name, brainfile.Suggest(name, known, "a beat is a file <id>.heartbeat.md of a feature"))
	files, _ := d.Brain.Tree.Entities("heartbeat")
	if at := slices.IndexFunc(files, func(f *brainfile.File) bool { return strings.HasSuffix("/"+f.Path, "/"+id+".heartbeat.md") }); at >= 0 {
		say = fmt.Sprintf("%s does not load, so it has no run; attache doctor says what to mend in %s", name, files[at].Path)
	}
	return heartbeat.Beat{}, &attache.Error{Kind: attache.KindNotFound, Say: say}
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
