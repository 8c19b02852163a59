// Package knobs is what `attache doctor --verbose` prints: the knobs of a brain that
// hold, each with the tier that its value comes from.
package knobs

import (
	"fmt"
	"strings"

	"attache/constitution"
	"attache/contexts"
	"attache/internal/brain"
)

// Lines lists the effective knobs (decisions, first paragraph): the value and the tier
// that it comes from. First those of MANIFEST, then the nearer ones that a feature, a
// context or a role names for itself.
func Lines(b *brain.Brain) []string {
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
	add("contexts.codeTimeoutMs", m.Contexts.CodeTimeoutMs, own, "codeTimeoutMs")
	// Below, the line is that of the section: a key that it leaves out has its default.
	add("state", fmt.Sprintf("{ rows: %d, views: %d }", m.State.Rows, m.State.Views), m.Lines, "state")
	add("limits", fmt.Sprintf("{ calls: %d, seconds: %d, cost: %.2f }", m.Limits.Calls, m.Limits.Seconds, m.Limits.Cost), m.Lines, "limits")
	add("room", fmt.Sprintf("{ lines: %d, chars: %d }", m.Room.Lines, m.Room.Chars), m.Lines, "room")
	add("retention", fmt.Sprintf("{ updates: %s, room: %s, turns: %s }", m.Retention.Updates, m.Retention.Room, m.Retention.Turns), m.Lines, "retention")
	add("sessions", fmt.Sprintf("{ historyTokens: %d, idle: %s }", m.Sessions.HistoryTokens, m.Sessions.Idle), m.Lines, "sessions")
	add("contentProbe.context", m.ContentProbe.Context, m.Lines, "contentProbe")
	add("telegram.pace", m.Telegram.Pace, m.Lines, "telegram")
	add("messageOrigins.retentionDays", m.MessageOrigins.RetentionDays, m.Lines, "messageOrigins")
	add("approvals", fmt.Sprintf("{ expire: %s, to: %s }", m.Approvals.Expire, m.Approvals.To), m.Lines, "approvals")
	return append(out, nearer(b)...)
}

// nearer lists the knobs of contexts, as their file or their feature sets them,
// and those of roles.
func nearer(b *brain.Brain) []string {
	var out []string
	for f := range b.Contexts.Files() {
		for _, k := range []contexts.Knob{f.Chars, f.Keep, f.Timeout} {
			if name, file, own := strings.Cut(k.Name, " of "); own {
				out = append(out, fmt.Sprintf("knob  %s of %s = %d  (%s)", name, f.ID, k.Value, file))
			}
		}
	}
	for _, r := range b.Frame.Roles {
		where := fmt.Sprintf("%s:%d", r.Path, max(r.Lines["contextBudget"], 1))
		if n := r.ContextBudget.TurnChars; n != nil {
			out = append(out, fmt.Sprintf("knob  contextBudget.turnChars of %s = %d  (%s)", r.ID, *n, where))
		}
		if n := r.ContextBudget.MaxActive; n != nil {
			out = append(out, fmt.Sprintf("knob  contextBudget.maxActive of %s = %d  (%s)", r.ID, *n, where))
		}
	}
	return out
}
