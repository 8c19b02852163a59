package main

import (
	"fmt"

	"attache/constitution"
	"attache/internal/brain"
)

// knobs lists the effective knobs of MANIFEST (decisions, first paragraph): the value
// and the tier that it comes from. Files and roles may name nearer ones; `attache
// explain` names those that decided.
func knobs(b *brain.Brain) []string {
	m := b.Frame.Manifest
	var out []string
	add := func(name string, value any, given map[string]int, key string) {
		tier := "default"
		if line := given[key]; line > 0 {
			tier = fmt.Sprintf("%s:%d", constitution.ManifestPath, line)
		}
		out = append(out, fmt.Sprintf("knob  %s = %v  (%s)", name, value, tier))
	}
	own := m.Contexts.Lines
	add("contexts.chars", m.Contexts.Chars, own, "chars")
	add("contexts.maxActive", m.Contexts.MaxActive, own, "maxActive")
	add("contexts.turnChars", m.Contexts.TurnChars, own, "turnChars")
	add("contexts.keep", m.Contexts.Keep, own, "keep")
	// Below, the line is that of the section: a key that it leaves out has its default.
	add("state", fmt.Sprintf("{ rows: %d, views: %d }", m.State.Rows, m.State.Views), m.Lines, "state")
	add("limits", fmt.Sprintf("{ calls: %d, seconds: %d, cost: %.2f }", m.Limits.Calls, m.Limits.Seconds, m.Limits.Cost), m.Lines, "limits")
	add("room", fmt.Sprintf("{ lines: %d, chars: %d }", m.Room.Lines, m.Room.Chars), m.Lines, "room")
	add("retention", fmt.Sprintf("{ updates: %s, room: %s, turns: %s }", m.Retention.Updates, m.Retention.Room, m.Retention.Turns), m.Lines, "retention")
	add("sessions", fmt.Sprintf("{ historyTokens: %d, idle: %s }", m.Sessions.HistoryTokens, m.Sessions.Idle), m.Lines, "sessions")
	add("contentProbe.context", m.ContentProbe.Context, m.Lines, "contentProbe")
	add("telegram.pace", m.Telegram.Pace, m.Lines, "telegram")
	return out
}
