package attache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Link is the fact that ties a turn to a context (text 1 § 2). All but LinkCode are
// also the words that a context's `when` may hold.
type Link string

// The links, strongest first. LinkRun and a LinkChat of access.yaml are explicit;
// the others attach only what the role admits (decisions § 2).
const (
	LinkRun    Link = "run"    // the turn is a run that reaches it
	LinkChat   Link = "chat"   // the place is bound to it
	LinkReply  Link = "reply"  // the input answers a post whose origin holds it
	LinkCode   Link = "code"   // code of the brain linked it
	LinkAsk    Link = "ask"    // the agent opened it
	LinkAlways Link = "always" // the role always carries it
)

// Rank orders links: 0 is the strongest.
func (l Link) Rank() int {
	return slices.Index([]Link{LinkRun, LinkChat, LinkReply, LinkCode, LinkAsk, LinkAlways}, l)
}

// ParseEntityKey checks a key that came from outside: 1 to 200 characters, not
// blank, none of them a control character (decisions § 1).
func ParseEntityKey(s string) (EntityKey, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", errors.New("the key is blank; write 1 to 200 characters")
	case !utf8.ValidString(s):
		return "", errors.New("the key is no text; write 1 to 200 characters")
	case utf8.RuneCountInString(s) > 200:
		return "", errors.New("the key is longer than 200 characters; write a shorter one")
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", errors.New("the key holds a control character; write it in plain characters on one line")
	}
	return EntityKey(s), nil
}

// ContextFact is what others than package contexts must know of a context to judge
// an entry that names it.
type ContextFact struct {
	ID      ContextID
	Feature FeatureID
	KeyKind string // what its key is, such as "ticket id"; "" when it is about no entity
	When    []Link
}

// Keyed reports whether the context is about one entity at a time.
func (c ContextFact) Keyed() bool { return c.KeyKind != "" }

// Holds reports whether the context's `when` has a word.
func (c ContextFact) Holds(word Link) bool { return slices.Contains(c.When, word) }

// Binding ties a context to an entity at a place: for every turn there, or for the
// turns of some bots (text 1 § 2.2).
type Binding struct {
	Context ContextID
	Key     EntityKey // "": bound to no entity, or a context that is about none
	Static  bool      // access.yaml says it, else context_bind did
	Thread  bool      // it is the thread's own, not the whole chat's
	Bots    []BotID   // Static: whose rules name it; else the one bot that it is for, none for every bot
}

// Attaches reports whether the binding attaches its context for a bot. A binding of
// access.yaml does so only for the bots whose rules name it.
func (b Binding) Attaches(bot BotID) bool {
	return slices.Contains(b.Bots, bot) || !b.Static && len(b.Bots) == 0
}

// Pins reports whether the binding holds a bot to its key. One of access.yaml holds
// every bot of the room.
func (b Binding) Pins(bot BotID) bool { return b.Static || b.Attaches(bot) }

// Strength orders the bindings of one context that concern one bot: access.yaml,
// then the thread's, then the bot's own (decisions § 3.13). More is stronger.
func (b Binding) Strength() int {
	strength := 0
	if b.Static {
		strength += 4
	}
	if b.Thread {
		strength += 2
	}
	if !b.Static && len(b.Bots) > 0 {
		strength++
	}
	return strength
}

// Pin says which keys the contexts of a place are held to, for one bot's turns
// there. The zero value holds nothing.
type Pin struct {
	Bound  map[ContextID]EntityKey // "": no key at all
	Unread bool                    // the bindings cannot be read now, so no key is let in
}

// NewPin gives the pin of a bot's turns at a place with these bindings: of each
// context the strongest one that concerns the bot. Of two that are equally strong
// and disagree neither can be trusted, so their context is held to no key.
func NewPin(bot BotID, bindings []Binding) Pin {
	pin, strength := Pin{Bound: map[ContextID]EntityKey{}}, map[ContextID]int{}
	for _, b := range bindings {
		before, known := strength[b.Context]
		switch {
		case !b.Pins(bot) || known && b.Strength() < before:
		case known && b.Strength() == before && b.Key != pin.Bound[b.Context]:
			pin.Bound[b.Context] = ""
		default:
			pin.Bound[b.Context], strength[b.Context] = b.Key, b.Strength()
		}
	}
	return pin
}

// Keyed gives the pin without the contexts that are about no entity: they are the same
// everywhere, so being bound to one holds a place to nothing. about reports whether a
// context is about one; what is not known is taken to be.
func (p Pin) Keyed(about func(ContextID) bool) Pin {
	kept := Pin{Bound: map[ContextID]EntityKey{}, Unread: p.Unread}
	for id, key := range p.Bound {
		if about(id) {
			kept.Bound[id] = key
		}
	}
	return kept
}

// Within reports whether another pin holds to every key that this one does: what may
// be said under this one may be said there too.
func (p Pin) Within(other Pin) bool {
	for id, key := range p.Bound {
		if there, held := other.Bound[id]; !held || there != key {
			return false
		}
	}
	return !p.Unread && !other.Unread
}

// String is the canonical form of what a place is held to: equal pins give equal
// strings, "" for a place that is held to nothing. A session ends when it changes
// (decisions § 3.14).
func (p Pin) String() string {
	parts := make([]string, 0, len(p.Bound))
	for c, k := range p.Bound {
		parts = append(parts, fmt.Sprintf("%s=%q", c, k))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// Take is the one check that every path asks before an entry reaches a turn, a post
// or a tool (decisions § 3.6). It gives the entry as it may be used, with the bound
// key when it had none; or nothing, and why not in one clause. keyed says whether
// the entry's context is about an entity: one that is not is the same everywhere.
func (p Pin) Take(e ReachEntry, keyed bool) (taken ReachEntry, why string) {
	bound, pinned := p.Bound[e.Context]
	switch {
	case !keyed:
		return e, ""
	case p.Unread:
		return ReachEntry{}, fmt.Sprintf("what this place is bound to cannot be read now, so %s and every other context with a key stay out", e.Context)
	case !pinned || e.Key == bound:
		return e, ""
	case bound == "":
		return ReachEntry{}, fmt.Sprintf("%s is bound to no key in this place, so not to %q", e.Context, e.Key)
	case e.Key == "":
		return ReachEntry{e.Context, bound}, ""
	}
	return ReachEntry{}, fmt.Sprintf("%s is bound to %q in this place, so not to %q", e.Context, bound, e.Key)
}
