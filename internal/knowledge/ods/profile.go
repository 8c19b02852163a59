package ods

import (
	"maps"
	"slices"
	"strings"

	"attache/internal/brainfile"
)

// profiles gives the standard shapes of ODS with the sections that each should have,
// as headings of the second or third level. A section that is missing is a warning and no
// more: a profile is what to think of, and a draft has a right to be one.
func profiles() map[string][]string {
	return map[string][]string{
		"note": nil, "faq": nil,
		"guide":        {"Overview", "Prerequisites", "Steps", "Troubleshooting"},
		"feature":      {"Goal", "Scope", "Requirements", "Acceptance Criteria", "Risks"},
		"decision":     {"Context", "Decision", "Alternatives", "Consequences"},
		"sop":          {"Purpose", "Prerequisites", "Steps", "Validation", "Rollback"},
		"api":          {"Overview", "Request", "Response", "Errors", "Examples"},
		"architecture": {"Overview", "Components", "Data Flow", "Trade-offs"},
		"policy":       {"Purpose", "Scope", "Rules", "Exceptions"},
		"meeting":      {"Attendees", "Agenda", "Decisions", "Action Items"},
		"checklist":    {"Overview", "Items", "Verification", "Notes"},
		"agent": {"Goal", "Task", "Scope", "Non-Scope", "Context", "Inputs", "Constraints", "Priority", "Steps", "Output",
			"Success Criteria", "Failure Modes", "Dependencies", "Assumptions", "Examples"},
		"skill": {"Purpose", "Capability", "Activation", "Scope", "Non-Scope", "Inputs", "Outputs", "Workflow", "Rules",
			"Priority", "Validation", "Eval", "Resources", "Tools", "Lifecycle", "Traceability"},
	}
}

// profileNames gives them in order, so that a suggestion is the same each time.
func profileNames() []string { return slices.Sorted(maps.Keys(profiles())) }

// shape tells which sections of its profile a document has not. One sentence names
// them all: a draft lacks most of them.
func (r *read) shape(top brainfile.Node) {
	var without []string
	for _, section := range profiles()[r.profile] {
		if !slices.ContainsFunc(r.sections, func(h string) bool { return strings.EqualFold(h, section) }) {
			without = append(without, section)
		}
	}
	if len(without) == 0 {
		return
	}
	at := brainfile.Word{Line: 1, Col: 1}
	for _, p := range pairsOf(top, "ods") {
		for _, q := range pairsOf(p.Value, "profile") {
			at = q.Key
		}
	}
	r.say("PROF-002", LevelWarning, at, "a "+r.profile+" should have the sections "+strings.Join(without, ", "), "add them as headings of level 2 or 3, or take another profile")
}

// pairsOf gives the pairs of a mapping that have a key: one, if all is well.
func pairsOf(n brainfile.Node, key string) []brainfile.Pair {
	if !n.IsMap() {
		return nil
	}
	pairs, _ := n.Pairs()
	return slices.DeleteFunc(pairs, func(p brainfile.Pair) bool { return p.Key.Text != key })
}

// headings lists the headings of level 2 and 3, outside of fences of code.
func headings(body string) (out []string) {
	fence := ""
	for line := range strings.Lines(body) {
		bare := strings.TrimSpace(line)
		mark := fenceMark(bare)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == bare {
				fence = ""
			}
		case mark != "":
			fence = mark
		case strings.HasPrefix(bare, "## "), strings.HasPrefix(bare, "### "):
			out = append(out, closed(strings.TrimSpace(strings.TrimLeft(bare, "#"))))
		}
	}
	return out
}
