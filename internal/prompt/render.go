package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"attache"
)

// staticHeads are the first words that a static text may use.
func staticHeads() []string { return []string{"args", "context", "lib", "pkg"} }

// rendering is a static text with its selectors put in, and all that is wrong
// with it.
type rendering struct {
	out      string
	missing  []string // required arguments without a value, sorted
	first    int      // byte of the first selector that needs a missing one
	broken   string   // where the first mistake is, in this text or below
	problems []attache.Problem
}

// fail notes a mistake made in this text, once.
func (r *rendering) fail(p attache.Problem) {
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
	if r.broken == "" {
		r.broken = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
}

func (r *rendering) need(at int, args ...string) {
	if len(args) > 0 && len(r.missing) == 0 {
		r.first = at
	}
	r.missing = slices.Compact(slices.Sorted(slices.Values(append(r.missing, args...))))
}

// render puts values in place of selectors. stack is the way of includes that led
// here; it is empty for a text that nobody includes. Values are written as they
// are: braces in them are never read.
func (l *Library) render(t Text, home string, stack []frame) rendering {
	var r rendering
	var out strings.Builder
	for _, tok := range scan(t.Body) {
		if tok.mark == "" {
			out.WriteString(strings.ReplaceAll(tok.text, "\r\n", "\n"))
			continue
		}
		sel, wrong := read(t, tok, staticHeads(), true)
		if wrong != nil {
			for _, p := range wrong {
				r.fail(p)
			}
			continue
		}
		out.WriteString(l.value(&r, t, sel, home, stack))
		if out.Len() > maxStatic {
			r.fail(t.problem(sel.at, "the text grows over 1 MiB here", "include less"))
			return r
		}
	}
	r.out = out.String()
	return r
}

// value gives what stands in place of one selector.
func (l *Library) value(r *rendering, t Text, sel selector, home string, stack []frame) string {
	head, _, _ := strings.Cut(sel.name, ".")
	switch head {
	case "args":
		return l.argument(r, t, sel, home)
	case "context", "pkg", "lib":
		if index, ok := l.packs[sel.name]; ok {
			return index
		}
		if names := l.find(sel.name, home); len(names) > 0 {
			return l.include(r, t, sel, names, stack)
		}
	}
	r.fail(l.unknown(t, sel, head, home))
	return ""
}

// find gives the blocks a selector stands for: one, or all below it. In a package
// context.x is the package's own block, else the brain's.
func (l *Library) find(name, home string) []string {
	if strings.HasPrefix(name, "context.") && home != "" {
		if own := l.find(home+"."+name, ""); len(own) > 0 {
			return own
		}
	}
	if l.blocks[name] != nil {
		return []string{name}
	}
	if parts := strings.Split(name, "."); len(parts) < 2 || parts[0] == "pkg" && (len(parts) < 5 || parts[3] != "context") {
		return nil // whole packages and bare heads are never meant
	}
	return under(l.sorted, name)
}

func (l *Library) include(r *rendering, t Text, sel selector, names []string, stack []frame) string {
	var texts []string
	for _, name := range names {
		b := l.blocks[name]
		if b.state == reading {
			stack[len(stack)-1].at = sel.at
			r.fail(l.ring(name, stack))
			continue
		}
		if len(stack) > 0 {
			stack[len(stack)-1].at = sel.at
		}
		r.problems = append(r.problems, l.load(name, stack)...)
		if b.broken != "" {
			l.blame(r, t, sel, b, len(stack) == 0)
			continue
		}
		r.need(sel.at, b.missing...)
		texts = append(texts, b.out)
	}
	return strings.Join(texts, "\n\n")
}

// blame passes a mistake of a block on to who includes it. Only a text that
// nobody includes says so again: in blocks the one finding at its source is
// enough.
func (l *Library) blame(r *rendering, t Text, sel selector, b *block, top bool) {
	if r.broken == "" {
		r.broken = b.broken
	}
	if top {
		r.problems = append(r.problems, t.problem(sel.at,
			"{{ "+sel.raw+" }} does not load because of "+b.broken, "mend that first"))
	}
}

func (l *Library) argument(r *rendering, t Text, sel selector, home string) string {
	args := l.args[home]
	if a, ok := args[sel.name]; ok {
		if a.missing != "" {
			r.need(sel.at, a.missing)
		}
		return a.value
	}
	var values []string
	for _, name := range under(slices.Sorted(maps.Keys(args)), sel.name) {
		if args[name].missing != "" {
			r.need(sel.at, args[name].missing)
		}
		values = append(values, args[name].value)
	}
	if values == nil || sel.name == "args" {
		where := "MANIFEST.yaml"
		if home != "" && l.broken[packageOf(t.File)] != "" {
			return "" // what the package declares is unknown, and it is not used
		} else if home != "" {
			where = packageOf(t.File) + "/package.yaml"
		}
		r.fail(t.problem(sel.at, "{{ "+sel.raw+" }} is not declared",
			suggest(nearest(sel.name, l.names[home]), "declare it under args in "+where)))
		return ""
	}
	return strings.Join(values, "\n")
}

// unknown refuses a selector that reaches nothing, with the nearest that does.
func (l *Library) unknown(t Text, sel selector, head, home string) attache.Problem {
	near := nearest(sel.name, l.names[home])
	shown := "{{ " + sel.raw + " }}"
	switch head {
	case "context":
		return t.problem(sel.at, shown+" reaches no block",
			suggest(near, "a block {{ context.a.b }} is the file blocks/a/b.md"))
	case "lib":
		return t.problem(sel.at, shown+" reaches no knowledge pack",
			suggest(near, "a pack {{ lib.a }} is the folder knowledge/a/"))
	case "pkg":
		return t.problem(sel.at, shown+" reaches nothing in packages/",
			suggest(near, "write pkg.<scope>.<repo>.context.<block> or pkg.<scope>.<repo>.knowledge.<pack>"))
	}
	if near == "" {
		near = otherHead(sel.name, head, staticHeads())
	}
	return t.problem(sel.at, shown+" is no selector",
		suggest(near, `begin it with args., context., lib. or pkg., or write \{{ for the braces themselves`))
}

// otherHead replaces a misspelt first word by the one that was probably meant.
func otherHead(name, head string, heads []string) string {
	h := nearest(head, heads)
	if h == "" {
		return ""
	}
	return h + strings.TrimPrefix(name, head)
}
