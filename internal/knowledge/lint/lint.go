// Package lint says what is wrong in a folder of open documents, each finding with a
// file, a line, a column and what to do.
//
// A document's own frontmatter has been judged where it was read, and comes along as
// findings of the [ods.Document]. What is judged here is what only the whole folder can
// tell: whether there is what documents name, whether two have one id, whether depends
// goes round, and whether ignore rules hit anything. The rules have the names of ODS
// 0.1, and ours beside them (see [ods.Finding]); nothing is ever changed on disk.
package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"attache/internal/brainfile"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/paths"
)

// OK reports whether a workspace may be used: no finding is an error. Warnings never
// fail it.
func OK(found []ods.Finding) bool {
	return !slices.ContainsFunc(found, func(f ods.Finding) bool { return f.Level == ods.LevelError })
}

// Check says everything that is wrong, by file, line and column.
func Check(w *ods.Workspace) []ods.Finding {
	l := lint{Workspace: w, used: map[string]bool{}, names: namesIn(w.Paths())}
	l.found = slices.Concat(w.Found(), w.Clashes())
	l.ignores(w.Marked())
	for _, d := range w.Documents() {
		l.found = append(l.found, d.Found...)
		l.references(d)
		l.ignores(d.File, d.Names.Ignore)
	}
	l.rings()
	slices.SortStableFunc(l.found, func(a, b ods.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Rule, b.Rule))
	})
	return l.found
}

// lint is one look through a workspace.
type lint struct {
	*ods.Workspace
	found []ods.Finding
	used  map[string]bool // whether an ignore rule matches anything
	names map[string]bool // every segment of every path, as rules name them
	hints int             // how often the nearest name was looked for
}

// mostHints bounds the search for nearest names, which looks at every name each time.
const mostHints = 50

// namesIn lists the segments of paths, those of documents also without .md.
func namesIn(files []string) map[string]bool {
	out := make(map[string]bool, 2*len(files))
	for _, p := range files {
		for _, s := range paths.Segments(p) {
			out[s] = true
		}
		if paths.IsDocument(p) {
			out[path.Base(paths.ID(p))] = true
		}
	}
	return out
}

// say notes a finding that stands at a word; one without a place stands at the top.
func (l *lint) say(f *brainfile.File, at brainfile.Word, rule string, level ods.Level, what, do string) {
	l.found = append(l.found, ods.Finding{Problem: f.Wrong(max(at.Line, 1), max(at.Col, 1), what, do), Rule: rule, Level: level})
}

// references tells of everything that a document names and that is not there. A symbol of
// code is looked for as text, in whatever language: that it is gone is worth a warning,
// that it stands in a comment only is for people to see.
func (l *lint) references(d *ods.Document) {
	for _, list := range []struct {
		refs []brainfile.Word
		rule string
	}{{d.Names.Depends, "GRAPH-002"}, {d.Names.Related, "GRAPH-003"}} {
		for _, ref := range list.refs {
			if to, why := l.Resolve(d, ref.Text); to == nil {
				l.say(d.File, ref, list.rule, ods.LevelError, fmt.Sprintf("%s names no document: %s", ref.Text, why), l.hint(d, ref.Text))
			}
		}
	}
	for _, ref := range d.Names.Resources {
		l.exists(d, ref, "ASSET-001", true)
	}
	for _, b := range d.Names.Code {
		if at := l.exists(d, b.Path, "ASSET-002", true); at != "" && b.Symbol.Text != "" && !l.IsFolder(at) && !strings.Contains(l.File(at).Text, b.Symbol.Text) {
			l.say(d.File, b.Symbol, "CODE-001", ods.LevelWarning, fmt.Sprintf("%s does not occur in %s", b.Symbol.Text, at), "look for its new name")
		}
	}
	for _, ref := range d.Names.Load {
		if paths.IsDocument(ref.Text) {
			to, why := l.Resolve(d, ref.Text)
			if to == nil {
				l.say(d.File, ref, "ASSET-004", ods.LevelError, fmt.Sprintf("%s names no file: %s", ref.Text, why), l.hint(d, ref.Text))
			} else if slices.Contains(l.Depends(d), to) {
				l.say(d.File, ref, "CONTEXT-004", ods.LevelWarning, fmt.Sprintf("%s is loaded already, because depends names it", ref.Text), "take it out of load")
			}
			continue
		}
		if at := l.exists(d, ref, "ASSET-004", false); at != "" && l.IsFolder(at) {
			l.say(d.File, ref, "ASSET-004", ods.LevelError, ref.Text+" is a folder", "name its files")
		}
	}
}

// exists tells of a file that is not there, and gives the path of one that is. root says
// whether a path may count from the workspace too, as those of code and resources do.
func (l *lint) exists(d *ods.Document, ref brainfile.Word, rule string, root bool) string {
	at, why := l.Asset(d, ref.Text, root)
	if why != "" {
		l.say(d.File, ref, rule, ods.LevelError, fmt.Sprintf("%s names no file: %s", ref.Text, why), l.nearFile(d, ref.Text))
	}
	return at
}

// hint gives the nearest document of a reference that is none.
func (l *lint) hint(d *ods.Document, ref string) string {
	if at, why := l.Asset(d, ref, true); why == "" && !paths.IsDocument(at) {
		return "a file that is no document goes under context.load"
	}
	if l.hints++; l.hints > mostHints {
		return "write its path or its id, or take it out"
	}
	for _, at := range []string{path.Join(path.Dir(d.Path), ref), path.Clean(ref)} {
		if near := l.Nearest(strings.TrimSuffix(strings.ToLower(at), ".md")); near != "" {
			return strings.TrimPrefix(near, "; ")
		}
	}
	return "write its path or its id, or take it out"
}

// nearFile gives advice on a file that is not there: one of the same name elsewhere in
// the folder, for files are moved more often than they are misspelt, then a near path.
func (l *lint) nearFile(d *ods.Document, ref string) string {
	if l.hints++; l.hints > mostHints {
		return "write its path from the folder of the document"
	}
	base, want := path.Base(ref), path.Join(path.Dir(d.Path), ref)
	for _, p := range l.Paths() {
		if path.Base(p) == base && p != want {
			return "did you mean " + p + "?"
		}
	}
	if near := brainfile.Nearest(want, l.Paths()); near != "" {
		return "did you mean " + near + "?"
	}
	return "write its path from the folder of the document"
}

// ignores tells of rules that match nothing. Documents often share a rule, so each is
// tried once, and only if every one of its segments is the name of something: ten
// thousand documents of a rule each would be a hundred million comparisons.
func (l *lint) ignores(f *brainfile.File, rules []brainfile.Word) {
	for _, rule := range rules {
		hit, known := l.used[rule.Text]
		if !known {
			known := !slices.ContainsFunc(paths.Segments(rule.Text), func(s string) bool { return !l.names[s] })
			hit = known && slices.ContainsFunc(l.Paths(), func(p string) bool { return paths.Ignored([]string{rule.Text}, p) != "" })
			l.used[rule.Text] = hit
		}
		if !hit {
			l.say(f, rule, "CONTEXT-003", ods.LevelWarning, fmt.Sprintf("ignore names %q, and there is no such file or folder", rule.Text), "write whole names of folders or files, or take it out")
		}
	}
}

// rings tells of each way in which depends leads back to where it began. The finding
// stands at the reference that closes the ring, one of those that may be taken out.
func (l *lint) rings() {
	for _, r := range l.Rings(l.Documents()) {
		last := r.Docs[len(r.Docs)-1]
		l.say(last.File, r.At, "GRAPH-004", ods.LevelError, "depends goes round in a ring: "+r.String(), "take one of them out, or make it related")
	}
}
