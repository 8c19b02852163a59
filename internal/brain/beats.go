package brain

import (
	"attache"
	"attache/heartbeat"
	"attache/internal/prompt"
)

// beatFrame gives what beats need to know of the rest of the brain. It is asked for
// when roles and rules are read.
func (b *Brain) beatFrame() heartbeat.Frame {
	frame := heartbeat.Frame{
		Zone: b.Frame.Manifest.Zone.Location, Off: map[attache.FeatureID]bool{},
		Roles: make(map[attache.RoleID]heartbeat.Standing, len(b.roles)),
		Rule:  b.rule, Body: b.body,
	}
	for _, f := range b.Frame.Features {
		frame.Off[f.ID] = !f.Enabled
	}
	for id, r := range b.roles {
		frame.Roles[id] = heartbeat.Standing{Why: r.Why, Said: r.Said}
	}
	for _, bot := range b.Policy.Bots() {
		frame.Bots = append(frame.Bots, bot.ID)
	}
	return frame
}

// rule tells whether a rule of access.yaml holds at a place. Why one that is there is
// silenced is a problem of access.yaml already.
func (b *Brain) rule(at attache.Place) heartbeat.Standing {
	r := b.Policy.For(at, "")
	if r.Ruled() {
		return heartbeat.Standing{}
	}
	return heartbeat.Standing{Why: r.Why, Said: r.Silenced}
}

// body renders the body of an entity. While MANIFEST.yaml is no YAML and none was
// ever right, nothing can be said of the arguments that a body names.
func (b *Brain) body(file string, line int, text string) (string, []attache.Problem) {
	out, problems := prompt.RenderBody(prompt.Text{File: file, Line: line, Body: text}, prompt.Values{Args: b.Frame.Manifest.Args})
	if b.Frame.Unread {
		problems = nil
	}
	return out, problems
}
