package access

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"attache"
)

// Kind says which rule a ruling comes from.
type Kind string

// The kinds of a ruling. KindNone is silence. KindOwner is the private chat of an
// owner where no dm rule holds: cards, replies to cards, /approvals, /doctor and
// /help work there, and anything else is told what is missing (interface § 3).
const (
	KindNone    Kind = ""
	KindChat    Kind = "chat"
	KindThread  Kind = "thread"
	KindDM      Kind = "dm"
	KindDefault Kind = "default"
	KindOwner   Kind = "owner"
)

// Ruling is what holds in a place, inherited keys and defaults filled in, and why.
type Ruling struct {
	Kind     Kind
	Bot      attache.BotID
	Chat     attache.ChatID   // of the rule; 0 for dm and default
	Thread   attache.ThreadID // of the rule
	File     string           // where the rule stands, "" when there is none
	Line     int
	Why      string // one clause: which rule it is, or why there is none
	Missing  string // with KindOwner: the key that would let the owner talk, "" when it is there and wrong
	Silenced bool   // there is a rule, and a mistake silences it

	Role     attache.RoleID
	Title    string
	Engage   string   // mention, reply, addressed, name, all, silent or code
	Names    []string // of the bot
	Observe  bool
	Bots     bool          // whether other bots may engage it
	Channels bool          // whether posts of channels may
	Merge    time.Duration // the quiet time that ends a burst
	Format   attache.Format
	GoneChat bool // an answer whose topic is gone goes to the chat instead of being dropped

	people people
	owners map[attache.PersonID]bool
}

// Ruled reports whether a rule holds: without one nothing is answered or kept.
func (r Ruling) Ruled() bool { return r.Kind != KindNone && r.Kind != KindOwner }

// Admits reports whether a person is let in, with the reason in one clause.
func (r Ruling) Admits(person attache.PersonID) (bool, string) {
	switch {
	case r.Kind == KindNone:
		return false, r.Why
	case r.owners[person]:
		return true, "an owner"
	case r.Kind == KindOwner:
		return false, r.Why
	case r.people.everyone:
		return true, "people: everyone"
	case r.people.listed[person]:
		return true, "listed in people"
	}
	return false, fmt.Sprintf("the rule on line %d does not list %s in people", r.Line, person)
}

// For gives what holds in a place. chatKind is Telegram's word: private, group,
// supergroup or channel; "" goes by the number alone. A place whose number does not
// fit the word has no rule.
func (p *Policy) For(place attache.Place, chatKind string) Ruling {
	b := p.bots[place.Bot]
	private := place.Chat.Private()
	none := Ruling{Bot: place.Bot, owners: p.owners}
	switch {
	case chatKind != "" && private != (chatKind == "private"):
		none.Why = fmt.Sprintf("%s is no %s chat", place.Chat, chatKind)
		return none
	case b == nil:
		none.Why = fmt.Sprintf("%s has no bots.%s", p.file.Path, place.Bot)
	case private && b.dm == nil:
		none.Why = fmt.Sprintf("%s has no bots.%s.dm", p.file.Path, place.Bot)
	case private:
		return p.orOwner(place, p.ruling(b, b.dm))
	default:
		if r := b.rule(place.Chat, place.Thread); r != nil {
			return p.ruling(b, r)
		}
		if b.def != nil && chatKind != "channel" {
			return p.ruling(b, b.def)
		}
		none.Why = fmt.Sprintf("%s has no rule for %s below bots.%s.chats, and no default that holds there", p.file.Path, place.Chat, place.Bot)
		return none
	}
	return p.orOwner(place, none)
}

// orOwner lets an owner's private chat be more than silent where no dm rule holds.
func (p *Policy) orOwner(place attache.Place, r Ruling) Ruling {
	if r.Kind != KindNone || !place.Chat.Private() || !p.owners[attache.UserID(int64(place.Chat))] {
		return r
	}
	r.Kind = KindOwner
	if !r.Silenced {
		r.Missing = fmt.Sprintf("bots.%s.dm", place.Bot)
	}
	return r
}

// rule finds the rule that is nearest to a place in a group: its thread's, else its
// chat's, nil for none.
func (b *bot) rule(chat attache.ChatID, thread attache.ThreadID) *rule {
	r := b.byChat[chat]
	if r == nil {
		return nil
	}
	for _, t := range r.threads {
		if t.thread == thread {
			return t
		}
	}
	return r
}

// ruling fills in what a rule says, what it inherits and what nobody says.
func (p *Policy) ruling(b *bot, r *rule) Ruling {
	out := Ruling{Kind: r.kind, Bot: b.id, Chat: r.chat, Thread: r.thread, File: p.file.Path, Line: r.key.Line, owners: p.owners,
		Names: b.names, Merge: b.merge, Format: b.format, Engage: "addressed"}
	if r.kind == KindDM {
		out.Engage = "all"
	}
	if why := p.wrong[r]; why != "" {
		out.Kind, out.Silenced = KindNone, true
		out.Why = fmt.Sprintf("a mistake silences the rule %s on line %d: %s", r.key.Text, r.key.Line, why)
		return out
	}
	out.Why = fmt.Sprintf("the rule %s of %s on line %d", r.key.Text, b.id, r.key.Line)
	if r.kind == KindThread {
		out.fill(b.byChat[r.chat])
	}
	out.fill(r)
	return out
}

// fill replaces each key that a rule gives.
func (r *Ruling) fill(rule *rule) {
	if rule.Role.Text != "" {
		r.Role = attache.RoleID(rule.Role.Text)
	}
	if rule.people != nil {
		r.people = *rule.people
	}
	replace(&r.Title, rule.Title)
	replace(&r.Engage, rule.Engage)
	replace(&r.Observe, rule.Observe)
	replace(&r.Merge, rule.Merge)
	replace(&r.Bots, rule.ruleFile.Bots)
	replace(&r.Channels, rule.Channels)
	if rule.Gone != nil {
		r.GoneChat = *rule.Gone == "chat"
	}
}

func replace[T any](into *T, given *T) {
	if given != nil {
		*into = *given
	}
}

// People gives who is let in besides the owners: everyone, or those listed, sorted.
func (r Ruling) People() (everyone bool, listed []attache.PersonID) {
	return r.people.everyone, slices.Sorted(maps.Keys(r.people.listed))
}
