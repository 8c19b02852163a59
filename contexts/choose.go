package contexts

import (
	"cmp"
	"fmt"
	"slices"

	"attache"
)

// Turn is everything that decides what one turn carries.
type Turn struct {
	ID       int64 // of the turn; later turns have higher ones
	Bot      attache.BotID
	Role     Role
	Run      *attache.Run      // nil for a turn that is no run
	Bindings []attache.Binding // of the turn's place, both kinds; none for a run without a place
	Unread   bool              // the bindings cannot be read now: no context with a key attaches
	Replies  []Source          // the origins of the messages that the input replies to, in the input's order
	Code     []Source          // what engage() and match() linked, in the input's order
	Holds    []Hold            // what earlier turns of the conversation left; none for a run
}

// Source is what linked contexts at one moment.
type Source struct {
	Why   string // one clause: "a reply to message 812", "match of ticket.context.ts"
	Reach attache.Reach
}

// Choice is what a turn's links came to, before anything is read from outside.
type Choice struct {
	Refused []Refused // links that attach nothing, each with its reason

	lib    *Library
	turn   Turn
	blocks []block  // in the order in which they are kept
	state  []string // views of the agent state
	closed bool     // a context was refused because the bindings cannot be read
	opened bool     // the answer of context_open: one block, no budget of the turn
}

// Made is one link that was made to a context, by this turn or by an earlier one.
type Made struct {
	Link attache.Link `json:"link"`
	Why  string       `json:"why"`            // one clause
	Held bool         `json:"held,omitempty"` // an earlier turn made it
}

// Refused is a link that attaches nothing.
type Refused struct {
	Entry attache.ReachEntry
	Made
	Reason string // one clause
}

// claim is a link to an entry before it is judged, and after it.
type claim struct {
	entry attache.ReachEntry
	Made
	explicit bool  // it needs no entry in the role's list
	turn     int64 // that made the link: later is more recent
	nth      int   // of the sources of one link in that turn: later is more recent
}

// block is one context with one key, and every link that leads to it, strongest
// first.
type block struct {
	file  *File
	entry attache.ReachEntry
	links []claim
	open  string // its first line
	left  int    // code points of chars that the instructions leave; below 0 they alone are too many
}

// Choose decides which contexts a turn is linked to and in which order they are
// kept (decisions § 3). What the budgets leave of them is known once they are
// rendered.
func (l *Library) Choose(t Turn) Choice {
	c := Choice{lib: l, turn: t}
	pin := attache.NewPin(t.Bot, t.Bindings)
	pin.Unread = t.Unread
	byEntry := map[attache.ReachEntry]int{}
	for _, made := range l.links(t) {
		file, entry, why := l.judge(t, pin, made)
		if why != "" {
			c.refuse(made, why)
			c.closed = c.closed || file != nil && t.Unread // the pin refused it, and for this reason alone
			continue
		}
		at, known := byEntry[entry]
		if !known {
			at = len(c.blocks)
			byEntry[entry] = at
			c.blocks = append(c.blocks, block{file: file, entry: entry})
		}
		c.blocks[at].links = append(c.blocks[at].links, made)
	}
	c.preferKeyed()
	for i := range c.blocks {
		c.blocks[i].settle()
	}
	slices.SortFunc(c.blocks, kept)
	for _, view := range t.Role.State {
		if !l.Claims(view) && !slices.Contains(c.state, view) {
			c.state = append(c.state, view)
		}
	}
	return c
}

func (c *Choice) refuse(made claim, why string) {
	c.Refused = append(c.Refused, Refused{made.entry, made.Made, why})
}

// links lists every link that exists, whether or not it will hold.
func (l *Library) links(t Turn) []claim {
	var out []claim
	if t.Run != nil {
		for _, e := range t.Run.Reach {
			out = append(out, claim{entry: e, Made: Made{Link: attache.LinkRun, Why: "the run " + t.Run.String() + " reaches it"}})
		}
	}
	for _, b := range attaching(t) {
		why := "context_bind bound this place"
		if b.Static {
			why = "access.yaml binds this place"
		}
		out = append(out, claim{entry: attache.ReachEntry{Context: b.Context, Key: b.Key}, Made: Made{Link: attache.LinkChat, Why: why}, explicit: b.Static})
	}
	for link, sources := range map[attache.Link][]Source{attache.LinkReply: t.Replies, attache.LinkCode: t.Code} {
		for i, s := range sources {
			for _, e := range s.Reach {
				out = append(out, claim{entry: e, Made: Made{Link: link, Why: s.Why}, nth: i})
			}
		}
	}
	for _, h := range t.Holds {
		if h.Age < l.keep(h.Context) {
			out = append(out, claim{entry: h.Entry(), Made: Made{Link: h.Link, Why: fmt.Sprintf("turn %d linked it", h.Turn), Held: true}, turn: h.Turn, nth: h.Nth})
		}
	}
	for _, id := range l.carried(t.Role) {
		out = append(out, claim{entry: attache.ReachEntry{Context: id}, Made: Made{Link: attache.LinkAlways, Why: "the role " + string(t.Role.ID) + " always carries it"}})
	}
	slices.SortStableFunc(out, func(a, b claim) int {
		return cmp.Or(stronger(a, b), cmp.Compare(a.entry.Context, b.entry.Context), cmp.Compare(a.entry.Key, b.entry.Key))
	})
	return out
}

// attaching gives the strongest binding of each context that attaches for the
// turn's bot. Whether its key holds is the pin's to say.
func attaching(t Turn) []attache.Binding {
	best := map[attache.ContextID]attache.Binding{}
	for _, b := range t.Bindings {
		old, known := best[b.Context]
		if b.Attaches(t.Bot) && (!known || b.Strength() > old.Strength()) {
			best[b.Context] = b
		}
	}
	out := make([]attache.Binding, 0, len(best))
	for _, b := range best {
		out = append(out, b)
	}
	return out // links sorts
}

// carried lists the contexts that a role carries on every turn: they hold always
// and the role lists them.
func (l *Library) carried(r Role) []attache.ContextID {
	if r.All {
		return l.always
	}
	var out []attache.ContextID
	for f := range l.admitted(r) {
		if f.Holds(attache.LinkAlways) {
			out = append(out, f.ID)
		}
	}
	return out
}

// judge decides whether a link attaches: the context must exist, its `when` must
// hold the word, its key must fit, the role must admit what is not explicit, and
// the pin has the last word (text 1 § 2, § 3). Held links are judged anew on every
// turn (decisions § 3.12).
func (l *Library) judge(t Turn, pin attache.Pin, c claim) (file *File, entry attache.ReachEntry, why string) {
	file, why = l.File(c.entry.Context)
	if file == nil {
		return nil, entry, why
	}
	word := c.Link != attache.LinkCode && c.Link != attache.LinkAsk // code decides for itself; asking needs no word
	switch {
	case word && !file.Holds(c.Link):
		return nil, entry, fmt.Sprintf("when of %s does not hold %s", file.ID, c.Link)
	case !l.lets(t, file, c):
		return nil, entry, fmt.Sprintf("the role %s does not list %s in contexts", t.Role.ID, file.ID)
	}
	if why := fits(file, c.entry.Key); why != "" {
		return nil, entry, why
	}
	entry, why = pin.Take(c.entry, file.Keyed())
	return file, entry, why
}

// lets reports whether a link is admitted. A run of the context's own feature and a
// binding of access.yaml tie it to the role by themselves. What was opened stays
// for the reason for which it could be opened.
func (l *Library) lets(t Turn, file *File, c claim) bool {
	own := c.Link == attache.LinkRun && t.Run.Feature == file.Feature
	return c.explicit || own || t.Role.Admits(file.ID) || c.Link == attache.LinkAsk && t.opens(file.ID)
}

// opens reports whether a context can be opened that the role does not admit: the
// turn's run reaches it, or a rule of access.yaml binds this place to it.
func (t Turn) opens(id attache.ContextID) bool {
	return t.Run != nil && t.Run.Reach.Has(id) || slices.ContainsFunc(t.Bindings, func(b attache.Binding) bool {
		return b.Static && b.Context == id && b.Attaches(t.Bot)
	})
}

// fits says why a context cannot take a key, "" when it can.
func fits(file *File, key attache.EntityKey) string {
	if key == "" {
		return ""
	}
	if !file.Keyed() {
		return fmt.Sprintf("%s is about no entity and takes no key", file.ID)
	}
	if _, err := attache.ParseEntityKey(string(key)); err != nil {
		return err.Error()
	}
	return ""
}

// preferKeyed takes the unkeyed block of a context out when there is a keyed one:
// it would say less about the same thing (decisions § 3.3).
func (c *Choice) preferKeyed() {
	keyed := map[attache.ContextID]bool{}
	for _, b := range c.blocks {
		keyed[b.entry.Context] = keyed[b.entry.Context] || b.entry.Key != ""
	}
	c.blocks = slices.DeleteFunc(c.blocks, func(b block) bool {
		if b.entry.Key != "" || !keyed[b.entry.Context] {
			return false
		}
		for _, made := range b.links {
			c.refuse(made, fmt.Sprintf("%s is here with a key already", b.entry.Context))
		}
		return true
	})
}

// stronger orders links: by rank, those of this turn before held ones, the most
// recent first (decisions § 3.2).
func stronger(a, b claim) int {
	held := func(c claim) int {
		if c.Held {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Link.Rank(), b.Link.Rank()), cmp.Compare(held(a), held(b)), cmp.Compare(b.turn, a.turn), cmp.Compare(b.nth, a.nth))
}

// kept orders blocks by their strongest links, then by feature, context and key, so
// that the order is total: what is cut goes from the end.
func kept(a, b block) int {
	return cmp.Or(stronger(a.links[0], b.links[0]),
		cmp.Compare(a.file.Feature, b.file.Feature), cmp.Compare(a.entry.Context, b.entry.Context), cmp.Compare(a.entry.Key, b.entry.Key))
}
