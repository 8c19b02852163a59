package knowledge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Level says whether a finding fails the workspace.
type Level string

// The levels.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Finding is something wrong in a workspace, where, and what to do. Rules are those of
// ODS 0.1; FILE, KEY, CONTEXT, WS-002 and CODE are ours, for what the specification
// asks to be checked and names no rule for.
type Finding struct {
	attache.Problem
	Rule  string
	Level Level
}

// Error gives the line of decisions § 8: path:line:col RULE level: what; what to do.
func (f Finding) Error() string {
	s := fmt.Sprintf("%s:%d:%d %s %s: %s", f.File, max(f.Line, 1), max(f.Col, 1), f.Rule, f.Level, f.What)
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// OK reports whether a workspace may be used: no finding is an error. Warnings never
// fail it.
func OK(found []Finding) bool {
	return !slices.ContainsFunc(found, func(f Finding) bool { return f.Level == LevelError })
}

// Lint says everything that is wrong, by file, line and column.
func (w *Workspace) Lint() []Finding {
	l := lint{Workspace: w, used: map[string]bool{}, names: namesIn(w.paths)}
	l.found = slices.Clone(w.found)
	l.ignores(w.marker, w.places)
	for _, d := range w.docs {
		l.found = append(l.found, d.found...)
		l.clash(d)
		l.references(d)
		l.ignores(d.file, d.head.ignore)
	}
	l.rings()
	slices.SortStableFunc(l.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Rule, b.Rule))
	})
	return l.found
}

type lint struct {
	*Workspace
	found []Finding
	used  map[string]bool // whether an ignore rule matches anything
	names map[string]bool // every segment of every path, as rules name them
	hints int             // how often the nearest name was looked for
}

// mostHints bounds the search for nearest names, which looks at every name each time.
const mostHints = 50

// namesIn lists the segments of paths, those of documents also without .md.
func namesIn(paths []string) map[string]bool {
	out := make(map[string]bool, 2*len(paths))
	for _, p := range paths {
		for _, s := range segments(p) {
			out[s] = true
		}
		if isDocument(p) {
			out[path.Base(pathID(p))] = true
		}
	}
	return out
}

func (l *lint) say(f *brainfile.File, at brainfile.Word, rule string, level Level, what, do string) {
	l.found = append(l.found, Finding{f.Wrong(max(at.Line, 1), max(at.Col, 1), what, do), rule, level})
}

// clash tells of documents with one id; a difference of case alone is none.
func (l *lint) clash(d *Document) {
	same := slices.DeleteFunc(slices.Clone(l.byID[d.ID]), func(o *Document) bool { return o == d })
	if len(same) > 0 {
		l.say(d.file, d.head.id, "GRAPH-001", LevelError, fmt.Sprintf("the id %s is also that of %s", d.ID, joined(same)), "rename one of them, or give it another ods.id")
	}
}

func joined(docs []*Document) string {
	if len(docs) == 1 {
		return docs[0].Path
	}
	return several(docs)
}

// references tells of everything that a document names and that is not there.
func (l *lint) references(d *Document) {
	for _, list := range []struct {
		refs []brainfile.Word
		rule string
	}{{d.head.depends, "GRAPH-002"}, {d.head.related, "GRAPH-003"}} {
		for _, ref := range list.refs {
			if to, why := l.document(d, ref.Text); to == nil {
				l.say(d.file, ref, list.rule, LevelError, fmt.Sprintf("%s names no document: %s", ref.Text, why), l.hint(d, ref.Text))
			}
		}
	}
	for _, ref := range d.head.resources {
		l.exists(d, ref, "ASSET-001", true)
	}
	for _, b := range d.head.code {
		if at := l.exists(d, b.path, "ASSET-002", true); at != "" && b.symbol.Text != "" && l.src.kind(at) == isFile && !strings.Contains(l.src.file(at).Text, b.symbol.Text) {
			l.say(d.file, b.symbol, "CODE-001", LevelWarning, fmt.Sprintf("%s does not occur in %s", b.symbol.Text, at), "look for its new name")
		}
	}
	for _, ref := range d.head.load {
		if isDocument(ref.Text) {
			to, why := l.document(d, ref.Text)
			if to == nil {
				l.say(d.file, ref, "ASSET-004", LevelError, fmt.Sprintf("%s names no file: %s", ref.Text, why), l.hint(d, ref.Text))
			} else if slices.Contains(l.Depends(d), to) {
				l.say(d.file, ref, "CONTEXT-004", LevelWarning, fmt.Sprintf("%s is loaded already, because depends names it", ref.Text), "take it out of load")
			}
			continue
		}
		if at := l.exists(d, ref, "ASSET-004", false); at != "" && l.src.kind(at) == isFolder {
			l.say(d.file, ref, "ASSET-004", LevelError, ref.Text+" is a folder", "name its files")
		}
	}
}

// exists tells of a file that is not there, and gives the path of one that is.
func (l *lint) exists(d *Document, ref brainfile.Word, rule string, root bool) string {
	at, why := l.asset(d, ref.Text, root)
	if why != "" {
		l.say(d.file, ref, rule, LevelError, fmt.Sprintf("%s names no file: %s", ref.Text, why), l.nearFile(d, ref.Text))
	}
	return at
}

// hint gives the nearest document of a reference that is none.
func (l *lint) hint(d *Document, ref string) string {
	if at, why := l.asset(d, ref, true); why == "" && !isDocument(at) {
		return "a file that is no document goes under context.load"
	}
	if l.hints++; l.hints > mostHints {
		return "write its path or its id, or take it out"
	}
	for _, at := range []string{path.Join(path.Dir(d.Path), ref), path.Clean(ref)} {
		if near := l.nearest(strings.TrimSuffix(strings.ToLower(at), ".md")); near != "" {
			return strings.TrimPrefix(near, "; ")
		}
	}
	return "write its path or its id, or take it out"
}

func (l *lint) nearFile(d *Document, ref string) string {
	if l.hints++; l.hints > mostHints {
		return "write its path from the folder of the document"
	}
	base, want := path.Base(ref), path.Join(path.Dir(d.Path), ref)
	for _, p := range l.paths {
		if path.Base(p) == base && p != want {
			return "did you mean " + p + "?"
		}
	}
	if near := brainfile.Nearest(want, l.paths); near != "" {
		return "did you mean " + near + "?"
	}
	return "write its path from the folder of the document"
}

// nearest gives advice on an id that no document has.
func (w *Workspace) nearest(id string) string {
	ids := make([]string, 0, len(w.docs))
	for _, d := range w.docs {
		if !d.Private {
			ids = append(ids, d.ID)
		}
	}
	if near := brainfile.Nearest(id, ids); near != "" {
		return "; did you mean " + near + "?"
	}
	base := path.Base(id)
	for _, known := range slices.Sorted(slices.Values(ids)) {
		if path.Base(known) == base {
			return "; did you mean " + known + "?"
		}
	}
	return ""
}

// ignores tells of rules that match nothing.
func (l *lint) ignores(f *brainfile.File, rules []brainfile.Word) {
	for _, rule := range rules {
		hit, known := l.used[rule.Text]
		if !known {
			known := !slices.ContainsFunc(segments(rule.Text), func(s string) bool { return !l.names[s] })
			hit = known && slices.ContainsFunc(l.paths, func(p string) bool { return matches([]string{rule.Text}, p) != "" })
			l.used[rule.Text] = hit
		}
		if !hit {
			l.say(f, rule, "CONTEXT-003", LevelWarning, fmt.Sprintf("ignore names %q, and there is no such file or folder", rule.Text), "write whole names of folders or files, or take it out")
		}
	}
}

// rings tells of each way in which depends leads back to where it began.
func (l *lint) rings() {
	for _, r := range l.Workspace.rings(l.docs) {
		last := r.docs[len(r.docs)-1]
		l.say(last.file, r.at, "GRAPH-004", LevelError, "depends goes round in a ring: "+r.String(), "take one of them out, or make it related")
	}
}
