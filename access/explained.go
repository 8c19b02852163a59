package access

import (
	"cmp"
	"slices"
	"time"

	"attache"
)

// Explained is one binding of a chat, with what it comes to for a bot's turns at a
// place.
type Explained struct {
	attache.Binding
	At    Spot           // where it stands; the bot is a tool's choice, a rule's are in Bots
	Line  int            // of access.yaml; 0 when a tool bound it
	Clash bool           // rules of access.yaml disagree about it
	Role  attache.RoleID // whose turn bound it, when a tool did
	Turn  int64          // that did
	Since time.Time      // when it did

	Here bool // it concerns the place
	Wins bool // of its context it is the strongest there
}

// Explain tells every binding of a place's chat, that of other threads too, and which
// of them hold the place (decisions § 3.13): sorted by context, the strongest first.
func (b Binder) Explain(at attache.Place, ties []Tie) []Explained {
	var out []Explained
	chat := b.number(at.Chat)
	for spot, list := range b.Policy.bindings {
		if spot.chat != chat {
			continue
		}
		for _, s := range list {
			out = append(out, Explained{Binding: s.Plain(), Line: s.Line, Clash: s.Clash,
				At: Spot{Chat: at.Chat, Thread: spot.thread, Whole: spot.whole}})
		}
	}
	for _, t := range ties {
		if t.Chat == at.Chat {
			out = append(out, Explained{Binding: t.Plain(), At: t.Spot, Role: t.Role, Turn: t.Turn, Since: t.At})
		}
	}
	slices.SortFunc(out, func(x, y Explained) int {
		return cmp.Or(cmp.Compare(x.Context, y.Context), cmp.Compare(y.Strength(), x.Strength()), cmp.Compare(x.At.Thread, y.At.Thread), cmp.Compare(x.At.Bot, y.At.Bot))
	})
	won := map[attache.ContextID]bool{}
	for i := range out {
		x := &out[i]
		x.Here = x.At.covers(at.Bot, at.Thread)
		x.Wins = x.Here && !won[x.Context]
		won[x.Context] = won[x.Context] || x.Wins
	}
	return out
}
