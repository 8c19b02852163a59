package access

import (
	"fmt"

	"attache"
	"attache/internal/brainfile"
)

// Names is what of the rest of the brain access.yaml may name. It changes with other
// files than access.yaml, so a policy is judged by it anew on each [Read].
type Names struct {
	Roles    map[attache.RoleID]Role
	Contexts map[attache.ContextID]Context // every one that a file of the brain has
}

// Role says whether a role can answer. Why is empty when it can; Said tells that
// the reason is a problem of another file, which need not be told twice.
type Role struct {
	Why  string
	Said bool
}

// Context is a context that a file of the brain has. One that does not load just now
// pins by its id all the same, and its key is not judged.
type Context struct {
	Loads   bool
	KeyKind string // what its key is; "" when it is about no entity
	Path    string // of its file
}

// mostSlips bounds for how many unknown names the nearest right one is looked for: among
// thousands of contexts each look takes milliseconds.
const mostSlips = 100

// strangers silences rules that bind to a context of which the brain has no file: a
// slip in its name would else leave the chat open to every key of the one that was
// meant. Of a silenced rule too each such line is named.
func (p *Policy) strangers() []attache.Problem {
	var problems []attache.Problem
	names := make([]string, 0, len(p.names.Contexts))
	for id := range p.names.Contexts {
		names = append(names, string(id))
	}
	p.meant = map[attache.ContextID]attache.ContextID{}
	for _, id := range p.order {
		for _, r := range p.bots[id].rules() {
			for _, b := range r.bindings {
				if p.exists(b) {
					continue
				}
				problems = append(problems, p.stranger(b, names))
				if p.wrong[r] == "" {
					p.wrong[r] = problems[len(problems)-1].What
				}
			}
		}
	}
	return problems
}

// stranger makes the problem of a binding whose context does not exist, and notes which
// of the names it was most likely meant to be.
func (p *Policy) stranger(b binding, names []string) attache.Problem {
	do := "write its *.context.md, or take the line out"
	if _, known := p.meant[b.context]; known || len(p.meant) < mostSlips {
		p.meant[b.context] = attache.ContextID(brainfile.Nearest(string(b.context), names))
		do = brainfile.Suggest(string(b.context), names, do)
	}
	return p.file.Wrong(b.where.Line, b.where.Col, fmt.Sprintf("there is no context %q", short(b.context)), do)
}

// exists reports whether some file of the brain has the context of a binding, whether
// or not it loads.
func (p *Policy) exists(b binding) bool {
	_, ok := p.names.Contexts[b.context]
	return ok
}

// misfit tells of a key that is missing or one too many (matrix H3). Neither silences
// the rule: without its key a context is pinned to none, and one that is about no entity
// has nothing that a key could open.
func (p *Policy) misfit(b binding) []attache.Problem {
	c := p.names.Contexts[b.context]
	wrong := func(what, do string) []attache.Problem {
		return one(p.file.Wrong(b.where.Line, b.where.Col, what, do))
	}
	switch keyed := c.KeyKind != ""; {
	case !c.Loads || b.wrong || keyed == b.keyed:
		return nil
	case keyed:
		return wrong(fmt.Sprintf("%s is keyed by %s, and it is bound here without a key, so no key of it is let in", b.context, c.KeyKind), "write the key that this chat is about")
	}
	return wrong(fmt.Sprintf("%s names no entity, and it is bound here with a key", b.context), "leave the key out, or add entity: to "+c.Path)
}

// short cuts a name that a person wrote. Its spaces stay, since they may be the slip.
func short[T ~string](name T) string {
	if r := []rune(string(name)); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return string(name)
}
