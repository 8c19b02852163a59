package contexts

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Frame is what contexts need to know of the brain that they stand in: MANIFEST's
// tier of the knobs and the features (decisions § 2).
type Frame struct {
	Chars     int // code points of a context's block
	Keep      int // turns that a reply, code or ask link stays
	TurnChars int // code points of all blocks of a turn
	MaxActive int // blocks of a turn
	Timeout   int // milliseconds of one call of brain code
	Rows      int // rows that a view shows; 0 switches rows off
	Views     int // views of the agent state

	Features map[attache.FeatureID]Feature // that have a FEATURE.md
}

// Feature is a feature's switch and its tier of the knobs; nil leaves one to MANIFEST.
type Feature struct {
	Off                  bool
	Path                 string // of its FEATURE.md
	Chars, Keep, Timeout *int
}

// Library is every context of a brain that loads. It is never changed.
type Library struct {
	frame  Frame
	words  words
	files  map[attache.ContextID]*File
	ids    []attache.ContextID // of files, sorted
	always []attache.ContextID // those whose `when` holds always, sorted
	layout map[string][]*File  // by folder, those that a layout reach takes, by id
	absent map[attache.ContextID]string
	claims map[string]bool
}

// Read makes the library of a tree, with every mistake in its *.context.md files.
// A file with a mistake does not load and leaves the others alone; nor does a
// context of a feature that is switched off, whose mistakes are named all the same.
func Read(tree *brainfile.Tree, frame Frame) (*Library, []attache.Problem) {
	l := &Library{
		frame: frame, words: readWords(),
		files: map[attache.ContextID]*File{}, layout: map[string][]*File{},
		absent: map[attache.ContextID]string{}, claims: map[string]bool{},
	}
	files, problems := tree.Entities("context")
	alone := make(map[*brainfile.File]bool, len(files))
	for _, f := range files {
		alone[f] = true
		read := l.survey(f, true)
		problems = append(problems, read.problems...)
		if len(read.problems) == 0 && !frame.Features[read.file.Feature].Off {
			file := read.file
			file.knobs(frame, read)
			file.Code = besides(tree, f.Path)
			l.files[file.ID] = &file
		}
	}
	for f := range tree.Files() {
		if strings.HasSuffix(f.Path, ".context.md") && !alone[f] {
			l.survey(f, false) // two of one id, or of an id that is none
		}
	}
	l.index()
	return l, problems
}

// survey reads one file, which may load or not, and notes the views that it claims
// and why it is absent, if it is.
func (l *Library) survey(f *brainfile.File, may bool) parsed {
	read := brainfile.Once(f, parse)
	id, feature := read.file.ID, read.file.Feature
	switch {
	case l.frame.Features[feature].Off:
		l.absent[id] = fmt.Sprintf("%s is of the feature %s, which is switched off", id, feature)
		return read
	case !may || len(read.problems) > 0:
		l.absent[id] = fmt.Sprintf("%s does not load, see %s", id, f.Path)
	}
	for _, view := range read.claims {
		l.claims[view] = true
	}
	return read
}

// besides gives the path of the code beside a context, "" when there is none.
func besides(tree *brainfile.Tree, file string) string {
	if code := strings.TrimSuffix(file, ".md") + ".ts"; tree.File(code) != nil {
		return code
	}
	return ""
}

// index sorts the files for the questions that every turn asks.
func (l *Library) index() {
	l.ids = slices.Sorted(maps.Keys(l.files))
	for _, id := range l.ids {
		f := l.files[id]
		if f.Holds(attache.LinkAlways) {
			l.always = append(l.always, id)
		}
		if f.Holds(attache.LinkRun) || f.Holds(attache.LinkReply) {
			l.layout[f.Folder] = append(l.layout[f.Folder], f)
		}
	}
}

// knobs resolves the budgets of a context: the nearest tier that names one wins
// (matrix G1). A default counts as MANIFEST's.
func (file *File) knobs(frame Frame, own parsed) {
	feature := frame.Features[file.Feature]
	nearest := func(name string, own, feat *int, featPath string, manifest int) Knob {
		switch {
		case own != nil:
			return Knob{*own, name + " of " + file.Path}
		case feat != nil:
			return Knob{*feat, name + " of " + featPath}
		}
		return Knob{manifest, "contexts." + name}
	}
	file.Chars = nearest("chars", own.chars, feature.Chars, feature.Path, frame.Chars)
	file.Keep = nearest("keep", own.keep, feature.Keep, feature.Path, frame.Keep)
	file.Timeout = nearest("codeTimeoutMs", nil, feature.Timeout, feature.Path, frame.Timeout)
}

// Files gives every context that loads, sorted by id.
func (l *Library) Files() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		for _, id := range l.ids {
			if !yield(l.files[id]) {
				return
			}
		}
	}
}

// File finds a context that loads. Nil comes with the reason in one clause.
func (l *Library) File(id attache.ContextID) (file *File, why string) {
	if f := l.files[id]; f != nil {
		return f, ""
	}
	if why := l.absent[id]; why != "" {
		return nil, why
	}
	return nil, fmt.Sprintf("there is no context %q", id)
}

// Fact gives what is to be known of a context that loads, or in one clause why there
// is nothing.
func (l *Library) Fact(id attache.ContextID) (fact attache.ContextFact, why string) {
	f, why := l.File(id)
	if f == nil {
		return attache.ContextFact{}, why
	}
	return f.ContextFact, ""
}

// Known reports whether a file of the brain has the id, whether or not it loads: one
// that does not is named as the mistake that it is, and need not be named again
// wherever it is used.
func (l *Library) Known(id attache.ContextID) bool {
	return l.files[id] != nil || l.absent[id] != ""
}

// Keyed reports whether a context is about one entity at a time. One that does not load
// now is taken to be, which is the stricter way.
func (l *Library) Keyed(id attache.ContextID) bool {
	f := l.files[id]
	return f == nil || f.ContextFact.Keyed()
}

// Claims reports whether a context carries a view, so that no agent state shows it
// (matrix F9). Contexts that do not load claim what could be read of their data.
func (l *Library) Claims(view string) bool { return l.claims[view] }

// Reach gives the contexts that a run of an entity reaches, without keys: those
// that its file lists, else those of its folder and of every folder above it, up to
// the feature's own, whose `when` holds run or reply (text 1 § 2). A listed context
// that does not exist stays in, to be refused by name when a turn asks for it.
func (l *Library) Reach(e attache.Entity) attache.Reach {
	if e.Reach != nil {
		return slices.Clone(e.Reach)
	}
	reach := attache.Reach{}
	top := "features/" + string(e.Feature)
	for folder := e.Folder; e.Feature != "" && (folder == top || strings.HasPrefix(folder, top+"/")); folder = path.Dir(folder) {
		for _, f := range l.layout[folder] {
			reach = append(reach, attache.ReachEntry{Context: f.ID})
		}
	}
	slices.SortFunc(reach, func(a, b attache.ReachEntry) int { return cmp.Compare(a.Context, b.Context) })
	return reach
}

// Role is what a role says of contexts: the values of its file that matter here.
type Role struct {
	ID        attache.RoleID
	All       bool                // contexts: ['*']
	Contexts  []attache.ContextID // that it admits, when not All; none admits none
	CanOpen   bool                // it may call context_open
	TurnChars *int                // contextBudget; nil leaves it to MANIFEST
	MaxActive *int
	State     []string // views of its agent state, in the order of the file
}

// Admits reports whether the role's list lets an inferred link in (matrix F1).
func (r Role) Admits(id attache.ContextID) bool { return r.All || slices.Contains(r.Contexts, id) }

// Catalog gives the lines of the static prompt that name what the role's agent may
// open: one for each context that it admits and whose `when` holds ask, sorted
// (text 1 § 4). It depends on files alone, and is empty without context_open.
func (l *Library) Catalog(r Role) string {
	if !r.CanOpen {
		return ""
	}
	var lines []string
	for f := range l.admitted(r) {
		if f.Holds(attache.LinkAsk) {
			lines = append(lines, strings.TrimSuffix("- "+string(f.ID)+": "+f.Description, ": "))
		}
	}
	return strings.Join(lines, "\n")
}

// KeyKinds gives what the keys of the contexts are that a role admits, sorted, each
// once: the entity types of its static prompt (decisions § 9).
func (l *Library) KeyKinds(r Role) []string {
	var kinds []string
	for f := range l.admitted(r) {
		if f.Keyed() {
			kinds = append(kinds, f.KeyKind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// admitted gives the contexts of a role that load, by id.
func (l *Library) admitted(r Role) iter.Seq[*File] {
	if r.All {
		return l.Files()
	}
	ids := slices.Compact(slices.Sorted(slices.Values(r.Contexts)))
	return func(yield func(*File) bool) {
		for _, id := range ids {
			if f := l.files[id]; f != nil && !yield(f) {
				return
			}
		}
	}
}
