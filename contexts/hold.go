package contexts

import (
	"cmp"
	"slices"

	"attache"
)

// Hold is a link that outlives its turn: a reply, a code or an ask link stays for
// the next `keep` turns of its conversation (text 1 § 5). It is stored between
// turns, so fields are only added.
type Hold struct {
	Context attache.ContextID `json:"context"`
	Key     attache.EntityKey `json:"entity,omitempty"`
	Link    attache.Link      `json:"link"`
	Turn    int64             `json:"turn"` // that made the link
	Nth     int               `json:"nth"`  // which of the turn's sources did: of two replies the later is more recent
	Age     int               `json:"age"`  // turns that the agent has answered since
}

// Entry is what the hold attaches.
func (h Hold) Entry() attache.ReachEntry { return attache.ReachEntry{Context: h.Context, Key: h.Key} }

// Holds gives the links of this turn that outlive it. A link that was refused is
// none; one that became a stub is, and competes again.
func (c Choice) Holds() []Hold {
	var out []Hold
	for _, b := range c.blocks {
		for i, made := range b.links {
			lasting := made.Link == attache.LinkReply || made.Link == attache.LinkCode || made.Link == attache.LinkAsk
			again := slices.ContainsFunc(b.links[:i], func(m claim) bool { return m.Link == made.Link && !m.Held })
			if lasting && !made.Held && !again {
				out = append(out, Hold{Context: b.entry.Context, Key: b.entry.Key, Link: made.Link, Turn: c.turn.ID, Nth: made.nth})
			}
		}
	}
	return out
}

// Keep gives the holds that the next turn begins with: those from before this one,
// those that this turn made (Choice.Holds, and those of each context it opened), and
// whether the agent answered it. Call it once for a turn, and not for a run, whose
// links are its own (decisions § 3.5, § 3.11).
//
// A turn that failed counts for nothing, but what it linked stays. A link to a
// feature restarts the count of the reply links that are held for that feature.
func (l *Library) Keep(before, made []Hold, answered bool) []Hold {
	linked := map[attache.FeatureID]bool{}
	for _, h := range made {
		if f := l.files[h.Context]; f != nil {
			linked[f.Feature] = true
		}
	}
	byLink := map[Hold]Hold{}
	for _, h := range before {
		f := l.files[h.Context]
		switch {
		case h.Age >= l.keep(h.Context):
			continue // over, since an edit made keep smaller
		case h.Link == attache.LinkReply && f != nil && linked[f.Feature]:
			h.Age = 0
		case answered:
			h.Age++
		}
		byLink[h.same()] = h
	}
	for _, h := range made {
		byLink[h.same()] = h
	}
	out := make([]Hold, 0, len(byLink))
	for _, h := range byLink {
		if h.Age < l.keep(h.Context) {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(b.Turn, a.Turn), cmp.Compare(b.Nth, a.Nth), cmp.Compare(a.Link.Rank(), b.Link.Rank()), cmp.Compare(a.Context, b.Context), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// same names a hold whatever its turn and age: a link that is made again takes the
// place of the one before.
func (h Hold) same() Hold { return Hold{Context: h.Context, Key: h.Key, Link: h.Link} }

// keep gives how many turns a link to a context stays. One that does not load just
// now keeps its holds for as long as MANIFEST says, so that a slip while editing
// costs nothing once it is mended.
func (l *Library) keep(id attache.ContextID) int {
	if f := l.files[id]; f != nil {
		return f.Keep.Value
	}
	return l.frame.Keep
}
