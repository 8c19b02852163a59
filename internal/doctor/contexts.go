package doctor

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/contexts"
)

// amiss makes a finding about what a context cannot do.
func amiss(file string, line, col int, what, do string) Finding {
	return Finding{Level: Warn, Check: featureContexts, What: what, Do: do}.at(file, line, col)
}

// unreached finds contexts that reach no turn (matrix H4): no role lists them, no
// reach holds them and no chat is bound to them. Where `when` says run or reply and
// nothing else, a role's list does not help: both links come by a reach. What code
// may link is not known, so a context with code of its own, or named in quotes by
// that of a bot, a gate or a pipeline, is believed where a role lists it. Where
// something that could reach it cannot be read, nothing is said.
func (s *sight) unreached() []Finding {
	if s.blind {
		return nil
	}
	var out []Finding
	for f := range s.Contexts.Files() {
		listed := s.all || s.listed[f.ID]
		switch {
		case s.held[f.ID] || s.bound[f.ID] || listed && (f.Code != "" || s.linked[f.ID]):
		case !listed:
			out = append(out, amiss(f.Path, 1, 1, fmt.Sprintf("%s reaches no turn: no role lists it, no entity's reach holds it and no chat is bound to it", f.ID), s.wayIn(f)))
		case byReachOnly(f):
			out = append(out, amiss(f.Path, f.Lines["when"], 1, fmt.Sprintf("%s reaches no turn: its when holds only %s, which come by a reach, and no entity's reach holds it", f.ID, and(whenWords(f))), s.wayIn(f)))
		}
	}
	return out
}

// byReachOnly reports whether nothing but a reach can attach a context.
func byReachOnly(f *contexts.File) bool {
	return !slices.ContainsFunc(f.When, func(l attache.Link) bool { return l != attache.LinkRun && l != attache.LinkReply })
}

func whenWords(f *contexts.File) []string {
	var out []string
	for _, l := range f.When {
		out = append(out, string(l))
	}
	return out
}

// wayIn says how a context would come to a turn.
func (s *sight) wayIn(f *contexts.File) string {
	if byReachOnly(f) {
		return "move it beside the heartbeat, hook or scenario that it is for, or above it, or name it in that one's reach:"
	}
	return "name it in contexts: of the role that it is for"
}

// unknownNames finds names in a reach or in a role's list that no context answers to
// (matrix H5).
func (s *sight) unknownNames() []Finding {
	var out []Finding
	for _, e := range s.entities {
		for _, w := range e.reach {
			if !s.Contexts.Known(attache.ContextID(w.Text)) {
				out = append(out, amiss(e.path, w.Line, w.Col, fmt.Sprintf("reach names the context %s, which does not exist", brief(w.Text)), s.nearest(w.Text, "write its *.context.md, or take the name out")))
			}
		}
	}
	for _, r := range s.roles {
		for _, w := range r.Contexts {
			if w.Text != "*" && !s.Contexts.Known(attache.ContextID(w.Text)) {
				out = append(out, amiss(r.Path, w.Line, w.Col, fmt.Sprintf("contexts names %s, which does not exist", brief(w.Text)), s.nearest(w.Text, "write its *.context.md, or take the name out")))
			}
		}
	}
	return out
}

// undescribed finds contexts whose line in the catalog says nothing (matrix H6).
func (s *sight) undescribed() []Finding {
	var out []Finding
	for f := range s.Contexts.Files() {
		if f.Holds(attache.LinkAsk) && f.Description == "" {
			line := f.Lines["description"]
			if line == 0 {
				line = f.Lines["when"]
			}
			out = append(out, amiss(f.Path, line, 1, fmt.Sprintf("when of %s holds ask, and it has no description, so its line in the catalog says nothing", f.ID), "say in description: what it is for, and what it is not for"))
		}
	}
	return out
}

// claimedTwice finds views that two contexts carry, one finding for each of them
// (matrix H7).
func (s *sight) claimedTwice() []Finding {
	type claim struct {
		file *contexts.File
		data contexts.Data
	}
	claims := map[string][]claim{}
	for f := range s.Contexts.Files() {
		for _, d := range f.Data {
			if d.View != "" {
				claims[d.View] = append(claims[d.View], claim{f, d})
			}
		}
	}
	var out []Finding
	for view, list := range claims {
		for _, c := range list {
			var others []string
			for _, o := range list {
				if o.file != c.file {
					others = append(others, string(o.file.ID)+" ("+o.file.Path+")")
				}
			}
			if len(others) > 0 {
				out = append(out, amiss(c.file.Path, c.data.Line, c.data.Col, fmt.Sprintf("the view %s is claimed by %s too, so both own it", view, and(others)), "keep it in one of them, or split the view"))
			}
		}
	}
	return out
}

// closedCatalogs finds roles that admit contexts to be opened and may not open any:
// they get no line of a catalog (matrix H8).
func (s *sight) closedCatalogs() []Finding {
	var out []Finding
	for _, r := range s.roles {
		a := s.Admission(r.ID)
		if a.CanOpen {
			continue
		}
		a.CanOpen = true
		catalog := s.Contexts.Catalog(a)
		if catalog == "" {
			continue
		}
		first, _, more := strings.Cut(catalog, "\n")
		first, _, _ = strings.Cut(strings.TrimPrefix(first, "- "), ":")
		if more {
			first += " and others"
		}
		out = append(out, amiss(r.Path, r.Lines["contexts"], 1, fmt.Sprintf("the role %s admits %s, to be opened when asked for, and cannot call context_open, so it has no catalog", r.ID, first), "add context:read to its capabilities"))
	}
	return out
}

// neverKeyed finds views that are filtered by a key in contexts to which no link can
// give one (matrix H9). always carries none; run carries one only in the reach of a
// hook with a gate or of a pipeline. A key of access.yaml is given to every link in
// its chat, and what a context's own code links is not known, so both are believed.
func (s *sight) neverKeyed() []Finding {
	var out []Finding
	for f := range s.Contexts.Files() {
		what, do := s.noKey(f)
		if what == "" {
			continue
		}
		for _, d := range f.Data {
			if d.By != "" {
				out = append(out, amiss(f.Path, d.Line, d.Col, fmt.Sprintf("the view %s is filtered by %s, and %s", d.View, d.By, what), do))
			}
		}
	}
	return out
}

// noKey says why no link can give a context a key, and what to do; "" when one can.
func (s *sight) noKey(f *contexts.File) (what, do string) {
	if !f.Keyed() {
		return fmt.Sprintf("%s names no entity, so no link can give it a key: the view never shows a row", f.ID), "say what the key is in entity:, or take by out"
	}
	for _, l := range []attache.Link{attache.LinkChat, attache.LinkReply, attache.LinkAsk} {
		if f.Holds(l) {
			return "", ""
		}
	}
	if s.pinned[f.ID] || f.Code != "" || f.Holds(attache.LinkRun) && s.keyed[f.ID] {
		return "", ""
	}
	var why []string
	if f.Holds(attache.LinkAlways) {
		why = append(why, "always carries no key")
	}
	if f.Holds(attache.LinkRun) {
		why = append(why, "run carries a key only in the reach of a hook with a gate or of a pipeline")
	}
	return strings.Join(why, " and ") + ", so it shows rows only when an engage() attaches it with one", "add reply or ask to when, give a hook that reaches it a gate, or take by out"
}

// listless is the one note on roles that say nothing of contexts (matrix H10).
func (s *sight) listless() []Finding {
	var ids []string
	file := ""
	for _, r := range s.roles {
		if _, given := r.Lines["contexts"]; given {
			continue
		}
		ids = append(ids, string(r.ID))
		if file == "" || r.Path < file {
			file = r.Path
		}
	}
	if len(ids) == 0 {
		return nil
	}
	has, it := "has", "it"
	if len(ids) > 1 {
		has, it = "have", "them"
	}
	return []Finding{{Level: Note, Check: featureContexts, File: file, Line: 1, Col: 1,
		What: fmt.Sprintf("%s %s no contexts: list, so no context reaches %s but by a run of its own feature or a chat that access.yaml binds", names("role", ids), has, it),
		Do:   "list the contexts that may, or write contexts: [] if none is meant to"}}
}
