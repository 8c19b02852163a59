package origins

import (
	"fmt"
	"slices"

	"attache"
)

// Send is everything that decides what one send's posts remember.
type Send struct {
	Run   *attache.Run  // that the turn is; nil for a turn that is none
	About attache.About // what the sender named; the zero value for nothing
	At    attache.Pin   // of the place where the turn is; holds nothing for a run without a place
	To    attache.Pin   // of the place that the send goes to
	Role  attache.RoleID

	// Fact knows the contexts that load; why says in one clause that another does not.
	Fact   func(attache.ContextID) (fact attache.ContextFact, why string)
	Admits func(attache.ContextID) bool // the role's list lets the context in

	// Engine marks what the engine itself sends for a run: the outcome of a hook, a
	// card of a dangerous call. It names no about and is never refused; what would be
	// missing its key is left out instead (decisions § 2).
	Engine bool
}

// Left is an entry that an origin does not hold although the send carried it: for
// the log, since whoever sent it is not asked.
type Left struct {
	Entry attache.ReachEntry
	Why   string // one clause
}

// ForSend gives the origin of a send, by the table of decisions § 2. Nil without a
// refusal is a send that is about nothing, so that a reply to it links to nothing.
// A refusal comes alone: what is wrong and what to do, one sentence without a
// capital and a full stop, for a sentence of the caller's. The entries stand in the
// order of the reach, each once.
func ForSend(s Send) (o *attache.Origin, left []Left, refusal string) {
	if s.Engine {
		s.About = attache.About{}
	}
	if s.Run == nil && s.About == (attache.About{}) {
		return nil, nil, ""
	}
	items, refusal := s.items()
	if refusal != "" {
		return nil, nil, refusal
	}
	o = &attache.Origin{}
	if s.Run != nil {
		o.Run, o.Feature = s.Run.String(), s.Run.Feature
	}
	for _, it := range items {
		why := it.lost
		if why == "" && s.Engine && it.Keyed() && it.taken.Key == "" {
			why = fmt.Sprintf("%s is keyed by %s and this run has no key for it", it.entry.Context, it.KeyKind)
		}
		switch {
		case why != "":
			left = append(left, Left{it.entry, why})
		case !slices.Contains(o.Reach, it.taken):
			o.Reach = append(o.Reach, it.taken)
		}
	}
	return o, left, ""
}

// item is an entry before and after the place that it goes to was asked.
type item struct {
	attache.ContextFact                    // the zero value for a context that does not load now
	entry               attache.ReachEntry // as the run or the sender has it
	taken               attache.ReachEntry // as it may be recorded; the zero value when lost
	lost                string             // why it may not be, one clause
}

// item judges an entry for the place that the send goes to. A context that does not
// load at this moment may be mended before anybody replies, so its entry is kept; it
// is held to the pin as one with a key, which is the stricter way.
func (s Send) item(e attache.ReachEntry) item {
	fact, unknown := s.Fact(e.Context)
	it := item{ContextFact: fact, entry: e}
	if unknown != "" {
		it.ContextFact = attache.ContextFact{}
	}
	if e.Key != "" {
		if _, err := attache.ParseEntityKey(string(e.Key)); err != nil {
			it.lost = err.Error()
			return it
		}
		if unknown == "" && !fact.Keyed() {
			it.lost = fmt.Sprintf("%s is about no entity and takes no key", e.Context)
			return it
		}
	}
	it.taken, it.lost = s.To.Take(e, unknown != "" || fact.Keyed())
	return it
}

// comesBack reports whether a reply brings the entry back.
func (it item) comesBack() bool { return it.Holds(attache.LinkReply) }

// waits reports whether a reply would bring the entry back without the key that it
// wants: the run has none, and the place that it goes to fills in none.
func (it item) waits() bool {
	return it.comesBack() && it.Keyed() && it.entry.Key == "" && it.taken.Key == ""
}

// filled reports whether the place that it goes to gave the entry its key.
func (it item) filled() bool {
	return it.comesBack() && it.entry.Key == "" && it.taken.Key != ""
}

// items gives what the send is about, or the refusal.
func (s Send) items() ([]item, string) {
	if s.About.Key != "" {
		if _, err := attache.ParseEntityKey(string(s.About.Key)); err != nil {
			return nil, say("key", err.Error())
		}
	}
	switch {
	case s.About.Context != "":
		return s.named()
	case s.Run == nil:
		return nil, say("homeless", s)
	}
	items := s.reach()
	switch {
	case s.About.Key != "":
		return s.keyed(items)
	case !s.Engine && lacks(items):
		return nil, say("lacking", s.missing(items))
	}
	return items, ""
}

// reach gives the run's whole reach, each entry once.
func (s Send) reach() []item {
	var items []item
	for _, e := range s.Run.Reach {
		if !slices.ContainsFunc(items, func(it item) bool { return it.entry == e }) {
			items = append(items, s.item(e))
		}
	}
	return items
}

// lacks reports whether there are contexts that a reply brings back and each of them
// waits for its key (matrix C4). One that has a key in another entry does not wait.
func lacks(items []item) bool {
	has := map[attache.ContextID]bool{}
	for _, it := range items {
		if it.comesBack() {
			has[it.ID] = has[it.ID] || !it.waits()
		}
	}
	for _, key := range has {
		if key {
			return false
		}
	}
	return len(has) > 0
}

// keyed puts the key of about on the one entry that waits for one. Where the place
// that it goes to has filled in every key, naming the same one again does no harm.
func (s Send) keyed(items []item) ([]item, string) {
	var waiting, filled []int
	for i, it := range items {
		switch {
		case it.waits():
			waiting = append(waiting, i)
		case it.filled():
			filled = append(filled, i)
		}
	}
	if len(waiting) == 0 && len(filled) > 0 {
		waiting = filled[:1]
		for _, i := range filled {
			if items[i].taken.Key == s.About.Key {
				waiting = []int{i}
				break
			}
		}
	}
	switch len(waiting) {
	case 0:
		return nil, say("nowhere", s.reachOf(items))
	case 1:
		it := &items[waiting[0]]
		e := attache.ReachEntry{Context: it.ID, Key: s.About.Key}
		it.taken, it.lost = e, ""
		return items, s.held(e)
	}
	return nil, say("several", s.missing(items))
}

// named gives the one context that about names, which the run must reach or the
// role admit.
func (s Send) named() ([]item, string) {
	e := attache.ReachEntry{Context: s.About.Context, Key: s.About.Key}
	fact, why := s.Fact(e.Context)
	switch {
	case why != "":
		return nil, say("unknown", why)
	case !s.Admits(e.Context) && (s.Run == nil || !s.Run.Reach.Has(e.Context)):
		return nil, say("apart", s)
	case e.Key != "" && !fact.Keyed():
		return nil, say("keyless", s)
	case e.Key != "":
		return []item{s.item(e)}, s.held(e)
	}
	return []item{s.item(e)}, ""
}

// held refuses a key that about names against a pin, that of the turn's own place or
// that of the place it goes to (decisions § 2). The refusal names the bound key, so
// the turn's own place is asked first: it tells nothing of another's.
func (s Send) held(e attache.ReachEntry) string {
	for _, place := range []struct {
		which string
		pin   attache.Pin
	}{{"the place of this turn", s.At}, {"the place that this goes to", s.To}} {
		if _, why := place.pin.Take(e, true); why != "" {
			return say("held", heldWords{e.Context, place.which, place.pin.Bound[e.Context], why})
		}
	}
	return ""
}
