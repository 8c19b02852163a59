package tools

import (
	"fmt"
	"unicode/utf8"

	"attache"
	"attache/internal/brainfile"
)

// Grant is what a role's file gives its agent in matters of tools (interface § 3,
// Role). The zero Grant gives nothing.
type Grant struct {
	Capabilities []string
	Approvals    map[string]string // by tool: ask or never; any other word counts as ask
}

// neverFree is the one tool that no role's file can free from an approval
// (interface § 3, Role; the same word as constitution refuses there).
const neverFree = "access_widen"

// Check judges a call and runs nothing. It gives the tool and true, or, when the
// call may not run, a result for the model and false: one sentence with what is
// wrong and what is right.
//
// Until approvals exist a call that needs one is refused at once, because nobody
// could grant it (interface § 4, "Nobody reachable: refused at once").
func (r *Registry) Check(c attache.Call, g Grant) (attache.Tool, attache.Result, bool) {
	t, known := r.tools[c.Tool]
	what := ""
	switch {
	case !known:
		what = r.unknown(c.Tool, g)
	case !allows(g.Capabilities, t.Capability):
		what = fmt.Sprintf("%s was not run: the role %s lacks the capability %s, which only the role's file can give; do without it", t.Name, c.Role, t.Capability)
	case g.asks(t.Tool):
		what = fmt.Sprintf("%s was not run: it needs an approval and nobody can approve here; do without it, and say what you would have done", t.Name)
	default:
		if what = t.misfit(c.Args); what != "" {
			what = t.Name + " was not run: " + what
		}
	}
	if what != "" {
		return attache.Tool{}, attache.Refused(what), false
	}
	return t.Tool, attache.Result{}, true
}

// asks reports whether a call of t needs an approval: a role's word goes before
// the tool's own risk, except where no word helps.
func (g Grant) asks(t attache.Tool) bool {
	if t.Name == neverFree {
		return true
	}
	word, said := g.Approvals[t.Name]
	return said && word != "never" || !said && t.Risk == attache.RiskDangerous
}

// unknown is the sentence on a tool that does not exist. It speaks of tools that
// this agent may call and of no others.
func (r *Registry) unknown(name string, g Grant) string {
	var names []string
	for _, t := range r.For(g.Capabilities) {
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("there is no tool %q, and this role has no tools at all; answer without", shown(name))
	}
	return fmt.Sprintf("there is no tool %q; %s", shown(name), brainfile.Suggest(name, names, "call one of those that you were given"))
}

// shown cuts what a model wrote to a length that fits into a sentence.
func shown(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
