package brain

import (
	"attache"
	"attache/heartbeat"
	"attache/internal/brainfile/entity"
	"attache/internal/hooks"
	"attache/internal/prompt"
	"attache/internal/scenario"
)

// entities reads beats, hooks and scenarios. It is asked for when roles and rules are
// read; blind says that access.yaml has problems of its own.
func (b *Brain) entities(blind bool) []attache.Problem {
	frame := b.entityFrame()
	frame.Blind = blind
	beats, problems := heartbeat.Read(b.Tree, heartbeat.Frame{Frame: frame, Zone: b.Frame.Manifest.Zone.Location})
	scenarios, more := scenario.Read(b.Tree, scenario.Frame{Frame: frame, Hook: hooks.Check})
	problems = append(problems, more...)
	var inline []hooks.Inline
	for _, s := range scenarios {
		inline = append(inline, hooks.Inline{File: b.Tree.File(s.Path), Of: s.Entity, Enabled: s.Enabled, Hooks: s.Hooks})
	}
	b.Beats, b.Scenarios = beats, scenarios
	b.Hooks, more = hooks.Read(b.Tree, hooks.Frame{Frame: frame, Inline: inline})
	return append(problems, more...)
}

// entityFrame gives what entities need to know of the rest of the brain.
func (b *Brain) entityFrame() entity.Frame {
	frame := entity.Frame{
		Off:   map[attache.FeatureID]bool{},
		Roles: make(map[attache.RoleID]entity.Standing, len(b.roles)),
		Rule:  b.rule, Body: b.body,
	}
	for _, f := range b.Frame.Features {
		frame.Off[f.ID] = !f.Enabled
	}
	for id, r := range b.roles {
		frame.Roles[id] = entity.Standing{Why: r.Why, Said: r.Said}
	}
	for _, bot := range b.Policy.Bots() {
		frame.Bots = append(frame.Bots, bot.ID)
	}
	return frame
}

// rule tells whether a rule of access.yaml holds at a place. Why one that is there is
// silenced is a problem of access.yaml already.
func (b *Brain) rule(at attache.Place) entity.Standing {
	r := b.Policy.For(at, "")
	if !r.Ruled() {
		return entity.Standing{Why: r.Why, Said: r.Silenced}
	}
	// The rule `dm` is one for many chats: a bot writes by itself only to people whom it
	// lets in.
	if admitted, why := r.Admits(attache.UserID(int64(at.Chat))); at.Chat.Private() && !admitted {
		return entity.Standing{Why: why}
	}
	return entity.Standing{}
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
