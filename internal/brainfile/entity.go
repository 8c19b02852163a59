package brainfile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"attache"
)

// Ident is what the path of an `<id>.<kind>.md` says about it.
type Ident struct {
	Feature string // the folder below features/; "" for scenarios/ at the brain's root
	Folder  string // the folder that the file stands in, from the brain's root
	ID      string // unique per kind in the whole brain
	Kind    string // agent, context, heartbeat, hook, scenario or tool
}

// Kinds lists the kinds of files that a feature has beside its FEATURE.md.
func Kinds() []string {
	return []string{"agent", "context", "heartbeat", "hook", "scenario", "tool"}
}

// Identify reads the path of a file of a feature, or of a scenario at the brain's
// root; false for anything else.
func Identify(file string) (Ident, bool) {
	folder, name := path.Split(file)
	folder = strings.TrimSuffix(folder, "/")
	id, kind, ok := named(name)
	parts := strings.Split(folder, "/")
	switch {
	case !ok || !slices.Contains(Kinds(), kind):
		return Ident{}, false
	case parts[0] == "features" && len(parts) > 1:
		return Ident{parts[1], folder, id, kind}, true
	case folder == "scenarios" && kind == "scenario":
		return Ident{"", folder, id, kind}, true
	}
	return Ident{}, false
}

// named cuts "<id>.<kind>.md".
func named(name string) (id, kind string, ok bool) {
	base, md := strings.CutSuffix(name, ".md")
	at := strings.LastIndexByte(base, '.')
	if !md || at < 1 {
		return "", "", false
	}
	return base[:at], base[at+1:], true
}

// Entities gives the files of one kind, sorted by path. Files that claim one id
// are left out, each with a problem that names the others, and so are files whose
// id could not be written in a prompt or an address.
func (t *Tree) Entities(kind string) ([]*File, []attache.Problem) {
	byID := map[string][]*File{}
	var all []*File
	for f := range t.Files() {
		if ident, ok := Identify(f.Path); ok && ident.Kind == kind {
			all = append(all, f)
			byID[ident.ID] = append(byID[ident.ID], f)
		}
	}
	var out []*File
	var problems []attache.Problem
	for _, f := range all {
		ident, _ := Identify(f.Path)
		switch twins := byID[ident.ID]; {
		case len(twins) > 1:
			problems = append(problems, f.Wrong(1, 1, fmt.Sprintf("the %s %s stands also in %s, so neither is loaded", kind, ident.ID, others(twins, f)), "rename one of the files"))
		case !plainID(ident.ID):
			problems = append(problems, f.Wrong(1, 1, fmt.Sprintf("%q is no id of a file", brief(ident.ID)), "name the file with letters, digits, - and _ only"))
		default:
			out = append(out, f)
		}
	}
	return out, problems
}

// others names the files that claim the id of f.
func others(twins []*File, f *File) string {
	var paths []string
	for _, twin := range twins {
		if twin != f {
			paths = append(paths, twin.Path)
		}
	}
	return strings.Join(paths, " and ")
}

// plainID reports whether an id is one word of letters, digits, -, _ and dots, in
// any script and of at most 100 letters.
func plainID(id string) bool {
	bad := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_.", r)
	}
	return id != "" && len([]rune(id)) <= 100 && strings.IndexFunc(id, bad) < 0
}

// Strays finds files that look like a feature's and are none: of a kind that is
// almost one, or in a folder from which nothing is loaded.
func (t *Tree) Strays() []attache.Problem {
	var out []attache.Problem
	for f := range t.Files() {
		_, kind, ok := named(path.Base(f.Path))
		if !ok {
			continue
		}
		top, _, _ := strings.Cut(f.Path, "/")
		_, loaded := Identify(f.Path)
		known := slices.Contains(Kinds(), kind)
		near := Nearest(kind, Kinds())
		switch {
		case loaded || top == "blocks" || top == "packages" || top == "knowledge" || top == "skills":
		case known:
			out = append(out, f.Wrong(1, 1, fmt.Sprintf("no %s is loaded from here", kind), "move it to features/<feature>/"))
		case near != "" && (top == "features" || top == "scenarios"):
			out = append(out, f.Wrong(1, 1, fmt.Sprintf("files of the kind %q are not loaded", kind), "did you mean "+strings.TrimSuffix(path.Base(f.Path), kind+".md")+near+".md?"))
		}
	}
	return out
}
