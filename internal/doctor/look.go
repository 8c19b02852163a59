package doctor

import (
	"regexp"
	"slices"
	"strings"

	"attache"
	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/brainfile"
)

// sight is a brain as the checks of contexts see it: what lists a context, what
// reaches it, and which of that can name a key.
//
// Files that do not load are looked at all the same, as far as they can be read. A
// context must not be called unreachable because the role that lists it has a slip
// elsewhere, or the hook that reaches it: one mistake is one finding.
type sight struct {
	*brain.Brain
	known    []string // the ids of all contexts that load
	roles    []constitution.Role
	entities []entity

	all    bool // some role admits every context, or one cannot be read at all
	blind  bool // what reaches or binds a context cannot be read at all somewhere
	listed map[attache.ContextID]bool
	held   map[attache.ContextID]bool // by the reach of an entity, or named in the code beside one
	keyed  map[attache.ContextID]bool // by a gate or a pipeline, which can name a key
	bound  map[attache.ContextID]bool // by access.yaml
	pinned map[attache.ContextID]bool // bound with a key
	linked map[attache.ContextID]bool // named in the code of some bot's engage()

	slips int // names that no context has, so far
}

// entity is a heartbeat, a hook or a scenario with what else matters here.
type entity struct {
	attache.Entity
	path  string
	reach []brainfile.Word // as written
	code  string           // path of its gate or pipeline, "" for none
}

// look takes in a brain, with what was found when it was loaded.
func look(b *brain.Brain, problems []attache.Problem) *sight {
	s := &sight{Brain: b, listed: map[attache.ContextID]bool{}, held: map[attache.ContextID]bool{}, keyed: map[attache.ContextID]bool{},
		bound: map[attache.ContextID]bool{}, pinned: map[attache.ContextID]bool{}, linked: map[attache.ContextID]bool{}}
	for f := range b.Contexts.Files() {
		s.known = append(s.known, string(f.ID))
	}
	for _, r := range b.Frame.Roles {
		if !r.Off {
			s.roles = append(s.roles, r)
		}
	}
	loaded := s.loaded()
	for f := range b.Tree.Files() {
		s.take(f, loaded)
	}
	s.blind = s.blind || b.Tree.File(constitution.AccessPath) == nil || len(b.Policy.Bots()) == 0 && slices.ContainsFunc(problems, ofAccess)
	for _, x := range b.Policy.Bound() {
		s.bound[x.Context] = true
		s.pinned[x.Context] = s.pinned[x.Context] || x.Keyed
	}
	for _, e := range s.entities {
		for _, r := range b.Contexts.Reach(e.Entity) {
			s.held[r.Context] = true
			s.keyed[r.Context] = s.keyed[r.Context] || e.code != ""
		}
		for _, id := range quoted(b.Tree.File(e.code)) {
			s.held[id], s.keyed[id] = true, true
		}
	}
	return s
}

func ofAccess(p attache.Problem) bool { return p.File == constitution.AccessPath }

// loaded notes what the beats, hooks and scenarios that load reach, and gives their
// files.
func (s *sight) loaded() map[string]bool {
	files := map[string]bool{}
	add := func(e attache.Entity, path, code string) {
		files[path] = true
		if s.off(e.Feature) {
			return
		}
		list, _, _ := words(s.Tree.File(path), "reach")
		s.entities = append(s.entities, entity{e, path, list, code})
	}
	for _, b := range s.Beats {
		add(b.Entity, b.Path, "")
	}
	for _, x := range s.Scenarios {
		add(x.Entity, x.Path, x.Pipeline)
	}
	for _, h := range s.Hooks {
		if h.Scenario == "" { // else its reach is its scenario's
			add(h.Entity, h.Path, h.Gate)
		}
	}
	return files
}

// take notes what one file lists or reaches. Those of loaded were taken as what they
// are.
func (s *sight) take(f *brainfile.File, loaded map[string]bool) {
	if strings.HasPrefix(f.Path, "constitution/") && strings.HasSuffix(f.Path, ".engage.ts") {
		for _, id := range quoted(f) {
			s.linked[id] = true
		}
	}
	ident, ok := brainfile.Identify(f.Path)
	if !ok || loaded[f.Path] || s.off(attache.FeatureID(ident.Feature)) {
		return
	}
	switch ident.Kind {
	case "agent":
		list, _, readable := words(f, "contexts")
		s.all = s.all || !readable
		for _, w := range list {
			s.all = s.all || w.Text == "*"
			s.listed[attache.ContextID(w.Text)] = true
		}
	case "heartbeat", "hook", "scenario":
		e := entity{Entity: attache.Entity{Kind: ident.Kind, ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder}, path: f.Path}
		list, given, readable := words(f, "reach")
		s.blind = s.blind || !readable
		if given {
			e.Reach = attache.Reach{}
		}
		for _, w := range list {
			e.Reach = append(e.Reach, attache.ReachEntry{Context: attache.ContextID(w.Text)})
		}
		e.reach, e.code = list, s.beside(f.Path, ident.Kind)
		s.entities = append(s.entities, e)
	}
}

// off reports whether a feature is switched off.
func (s *sight) off(id attache.FeatureID) bool {
	f, ok := s.Frame.Feature(id)
	return ok && !f.Enabled
}

// beside gives the gate of a hook or the pipeline of a scenario that does not load, ""
// for none.
func (s *sight) beside(file, kind string) string {
	code := strings.TrimSuffix(file, ".md") + ".ts"
	if kind == "scenario" {
		code = strings.TrimSuffix(file, ".scenario.md") + ".pipeline.ts"
	}
	if s.Tree.File(code) == nil {
		return ""
	}
	return code
}

// wordList is a list of a frontmatter, kept with the file while its text is the same.
type wordList struct {
	words           []brainfile.Word
	given, readable bool
}

// words reads a list of the frontmatter leniently: what is no text is passed by. A
// file is asked for one key only, `contexts` or `reach`, as its kind has it. readable
// is false when the frontmatter itself cannot be read.
func words(f *brainfile.File, key string) (list []brainfile.Word, given, readable bool) {
	found := brainfile.Once(f, func(f *brainfile.File) wordList {
		front, problems := f.Frontmatter()
		out := wordList{readable: len(problems) == 0}
		pairs, _ := front.Head.Pairs()
		for _, p := range pairs {
			if p.Key.Text != key {
				continue
			}
			items, isList := p.Value.Items()
			out.given = out.given || isList
			for _, item := range items {
				if w, ok := item.Text(); ok {
					out.words = append(out.words, w)
				}
			}
		}
		return out
	})
	return found.words, found.given, found.readable
}

var inQuotes = regexp.MustCompile("'([^'\n]{1,100})'|\"([^\"\n]{1,100})\"|`([^`\n]{1,100})`")

// quoted lists the texts in quotes of a piece of code: what it may name a context by.
// Code is not run for this, so a context that it names counts as reached by it.
func quoted(f *brainfile.File) []attache.ContextID {
	if f == nil {
		return nil
	}
	return brainfile.Once(f, func(f *brainfile.File) []attache.ContextID {
		var out []attache.ContextID
		for _, m := range inQuotes.FindAllStringSubmatch(f.Text, -1) {
			out = append(out, attache.ContextID(m[1]+m[2]+m[3]))
		}
		return out
	})
}
