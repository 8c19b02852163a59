package main

import (
	"fmt"
	"slices"
	"strings"

	"attache/internal/brain"
	"attache/internal/brainfile"
	"attache/internal/doctor"
	"attache/internal/tools"
)

// capabilityNames lists the capabilities of interface § 4, those of tools that are
// still to come among them: a role may ask for them already.
func capabilityNames() []string {
	return []string{"access:read", "access:widen", "access:write", "brain:write", "context:bind", "context:read", "doctor:read", "hitl:request",
		"knowledge:read", "memory:own", "memory:write", "notify:send", "topic:write", "usage:read"}
}

// capabilities finds what roles ask for and no tool gives: a slip of the hand there
// takes a tool away without a word. Tools of MCP servers are not known here, so a
// brain that has any is believed.
func capabilities(b *brain.Brain) []doctor.Finding {
	if len(b.Frame.Manifest.MCP) > 0 {
		return nil
	}
	known := capabilityNames()
	found, _ := tools.SQLTools(b.Tree, nil) // their mistakes are the brain's problems
	for _, t := range found {
		known = append(known, t.Tool.Capability)
	}
	var out []doctor.Finding
	for _, r := range b.Frame.Roles {
		for _, w := range r.Capabilities {
			prefix, open := strings.CutSuffix(w.Text, "*")
			if slices.ContainsFunc(known, func(k string) bool { return k == w.Text || open && strings.HasPrefix(k, prefix) }) {
				continue
			}
			out = append(out, doctor.Finding{Level: doctor.Warn, Check: "Brain entities", File: r.Path, Line: w.Line, Col: w.Col,
				What: fmt.Sprintf("no tool has the capability %s, so the role %s gains nothing by it", w.Text, r.ID),
				Do:   brainfile.Suggest(w.Text, known, "take it out, or give it to a tool of a feature")})
		}
	}
	return out
}
