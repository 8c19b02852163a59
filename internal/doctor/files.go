package doctor

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"attache"
	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/brainfile"
	"attache/internal/tools"
)

// ofLoading puts the mistakes that loading found under the headings of text 1 § 7
// (matrix H1).
func ofLoading(problems []attache.Problem) []Finding {
	var out []Finding
	for _, p := range problems {
		check := brainEntities
		if p.File == constitution.AccessPath {
			check = chatAccess
		}
		out = append(out, ofProblem(check, p))
	}
	return out
}

// code looks at *.context.ts. This version runs none, so of one that has its *.md
// beside it nothing can be said (matrix H2).
func (s *sight) code() []Finding {
	var out []Finding
	for f := range s.Tree.Files() {
		base, ok := strings.CutSuffix(f.Path, ".context.ts")
		ident, feature := brainfile.Identify(base + ".context.md")
		if !ok || !feature || s.off(attache.FeatureID(ident.Feature)) {
			continue
		}
		if s.Tree.File(base+".context.md") == nil {
			out = append(out, Finding{Level: Warn, Check: contextCode, What: "there is no " + ident.ID + ".context.md beside this code, so it is never loaded",
				Do: "write the context that it belongs to beside it, or remove it"}.at(f.Path, 1, 1))
			continue
		}
		out = append(out, Finding{Level: Skipped, Check: contextCode, What: "this version does not run the code of contexts, so it links and renders nothing and was not looked at"}.at(f.Path, 1, 1))
	}
	return out
}

// unrun names the kinds of entities that this version does not run, once each: a
// hook that never fires would else be looked for in the hook.
func (s *sight) unrun() []Finding {
	var out []Finding
	for _, kind := range []string{"hook", "scenario"} {
		var paths []string
		for _, e := range s.entities {
			if e.Kind == kind {
				paths = append(paths, e.path)
			}
		}
		if len(paths) > 0 {
			out = append(out, Finding{Level: Skipped, Check: brainEntities,
				What: fmt.Sprintf("this version runs no %ss; the %s", kind, idle(len(paths)))}.at(slices.Min(paths), 1, 1))
		}
	}
	return out
}

func idle(n int) string {
	if n == 1 {
		return "one file here was checked and does nothing"
	}
	return fmt.Sprintf("%d files here were checked and do nothing", n)
}

// capabilityNames lists the capabilities of interface § 4, those of tools that are
// still to come among them: a role may ask for them already.
func capabilityNames() []string {
	return []string{"access:read", "access:widen", "access:write", "brain:write", "context:bind", "context:read", "doctor:read", "hitl:request",
		"knowledge:read", "memory:own", "memory:write", "notify:send", "topic:write", "usage:read"}
}

// capabilities finds what roles ask for and no tool gives: a slip of the hand there
// takes a tool away without a word. Tools of MCP servers are not known here, so a
// brain that has any is believed.
func capabilities(b *brain.Brain) []Finding {
	if len(b.Frame.Manifest.MCP) > 0 {
		return nil
	}
	known, readable := givenCapabilities(b.Tree)
	if !readable {
		return nil
	}
	var out []Finding
	for _, r := range b.Frame.Roles {
		for _, w := range r.Capabilities {
			prefix, open := strings.CutSuffix(w.Text, "*")
			if slices.ContainsFunc(known, func(k string) bool { return k == w.Text || open && strings.HasPrefix(k, prefix) }) {
				continue
			}
			out = append(out, Finding{Level: Warn, Check: brainEntities,
				What: fmt.Sprintf("no tool has the capability %s, so the role %s gains nothing by it", w.Text, r.ID),
				Do:   nearCapability(w.Text, known)}.at(r.Path, w.Line, w.Col))
		}
	}
	return out
}

var declares = regexp.MustCompile(`(?m)^capability:[ \t]*["']?([^\s"'#]+)`)

// givenCapabilities lists the capabilities that there are, those of tools that do not
// load among them: a role is not told of a mistake that is its tool's. readable is
// false when such a tool does not say which one it has.
func givenCapabilities(tree *brainfile.Tree) (known []string, readable bool) {
	known = capabilityNames()
	loads := map[string]bool{}
	found, _ := tools.SQLTools(tree, nil) // their mistakes are the brain's problems
	for _, t := range found {
		loads[t.File] = true
		known = append(known, t.Tool.Capability)
	}
	for f := range tree.Files() {
		if ident, ok := brainfile.Identify(f.Path); !ok || ident.Kind != "tool" || loads[f.Path] {
			continue
		}
		m := declares.FindStringSubmatch(f.Text)
		if m == nil {
			return nil, false
		}
		known = append(known, m[1])
	}
	return known, true
}

// nearCapability advises on a capability that no tool has. One of another subject was
// never meant: tickets:write is no slip of the hand for access:write.
func nearCapability(word string, known []string) string {
	subject, _, _ := strings.Cut(word, ":")
	same := slices.DeleteFunc(slices.Clone(known), func(k string) bool {
		s, _, _ := strings.Cut(k, ":")
		return brainfile.Nearest(subject, []string{s}) == ""
	})
	const other = "take it out, or give it to a tool of a feature"
	if len(same) > 0 {
		return brainfile.Suggest(word, same, other)
	}
	if brainfile.Nearest(word, known) != "" {
		return other
	}
	return brainfile.Suggest(word, known, other)
}

// Restart finds what was edited since the program began and is read at its start
// only (interface § 3).
func Restart(began, now *brain.Brain) []Finding {
	if began == nil || began == now {
		return nil
	}
	var out []Finding
	add := func(file string, line int, what string) {
		out = append(out, Finding{Level: Note, Check: "Restart", What: what + " since the program began, and that is read at its start only", Do: "start it again"}.at(file, line, 1))
	}
	was, is := began.Frame.Manifest, now.Frame.Manifest
	if !reflect.DeepEqual(was.Models, is.Models) {
		add(constitution.ManifestPath, is.Lines["models"], "models were changed")
	}
	if !reflect.DeepEqual(was.MCP, is.MCP) {
		add(constitution.ManifestPath, is.Lines["mcp"], "mcp was changed")
	}
	if !slices.Equal(botIDs(began), botIDs(now)) {
		add(constitution.AccessPath, 1, "bots were added or removed")
	}
	before := began.Schemas()
	for _, s := range now.Schemas() {
		if !slices.Contains(before, s) {
			add(s.File, 1, "it was changed")
		}
	}
	return out
}

func botIDs(b *brain.Brain) []attache.BotID {
	var ids []attache.BotID
	for _, bot := range b.Policy.Bots() {
		ids = append(ids, bot.ID)
	}
	slices.Sort(ids)
	return ids
}
