package access

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Ask is what a tool is asked to bind or to unbind, its defaults filled in.
type Ask struct {
	Spot
	Context attache.ContextID
	Entity  *string       // the key as it was written; nil: none was given
	From    attache.Place // where the turn answers; the zero value for a run without a place
	Pin     attache.Pin   // what held that place when the turn began
}

// Binder says what tools may bind (text 1 § 2.2, decisions § 3.7 and § 3.13). It is
// the rules of a moment as values; all fields are needed.
type Binder struct {
	Policy *Policy
	Known  []attache.ContextFact // of every context that loads

	// Absent says in one clause why a context is not among Known.
	Absent func(attache.ContextID) string

	// Ruled reports whether a place's chat has a rule for the place's bot, dm included.
	Ruled func(attache.Place) bool

	// Formerly gives the number that a supergroup had as a group; false for none.
	Formerly func(attache.ChatID) (attache.ChatID, bool)
}

// Bind gives the tie that an ask comes to, or why there is none, as a clause for the
// model. ties are those of the chat that is asked for and of the turn's own; the
// caller adds role and turn.
func (b Binder) Bind(a Ask, ties []Tie) (Tie, string) {
	// First what a pinned place may change: from there it is not even told which other
	// chats and contexts there are.
	if why := b.held(a, ties); why != "" {
		return Tie{}, why
	}
	fact, ok := b.fact(a.Context)
	if !ok {
		return Tie{}, b.unknown(a.Context)
	}
	key, why := keyOf(fact, a.Entity)
	if why == "" {
		why = b.reachable(a.Spot)
	}
	if why == "" && fact.Keyed() {
		why = b.contradiction(a, key)
	}
	if why != "" {
		return Tie{}, why
	}
	return Tie{Spot: a.Spot, Context: a.Context, Key: key}, ""
}

// Unbind says why a tool may not take away what the ask names, "" when it may. Where
// there is no such tie the reason lists what the context is bound to in that chat.
// A tie may outlive its context, its bot and its chat's rule, and can be taken away
// then too.
func (b Binder) Unbind(a Ask, ties []Tie) string {
	if why := b.held(a, ties); why != "" {
		return why
	}
	if slices.ContainsFunc(ties, func(t Tie) bool { return t.Spot == a.Spot && t.Context == a.Context }) {
		return ""
	}
	if line, ok := b.static(a); ok {
		return fmt.Sprintf("%s binds %s there on line %d, and a tool takes nothing away from it; only a person can edit that rule", b.Policy.file.Path, a.Context, line)
	}
	if there := b.elsewhere(a, ties); len(there) > 0 {
		return fmt.Sprintf("no tool bound %s in %v; name chat, thread and bot as they were bound: in that chat it is bound as %s", a.Context, a.Spot, strings.Join(there, ", "))
	}
	if _, known := b.fact(a.Context); !known {
		return b.unknown(a.Context)
	}
	return fmt.Sprintf("no tool bound %s in %v, and it is not bound anywhere else in that chat", a.Context, a.Spot)
}

// elsewhere tells every binding of an ask's context in its chat.
func (b Binder) elsewhere(a Ask, ties []Tie) []string {
	var out []string
	for _, x := range b.Explain(attache.Place{Chat: a.Chat}, ties) {
		if x.Context != a.Context {
			continue
		}
		told := Tie{Spot: x.At, Context: x.Context, Key: x.Key}.String()
		if x.Static {
			told = fmt.Sprintf("%s by %s on line %d", told, b.Policy.file.Path, x.Line)
		}
		out = append(out, told)
	}
	return out
}

// fact finds a context that loads.
func (b Binder) fact(id attache.ContextID) (attache.ContextFact, bool) {
	i := slices.IndexFunc(b.Known, func(f attache.ContextFact) bool { return f.ID == id })
	if i < 0 {
		return attache.ContextFact{}, false
	}
	return b.Known[i], true
}

// unknown says why a context cannot be named, and which was meant.
func (b Binder) unknown(id attache.ContextID) string {
	names := make([]string, len(b.Known))
	for i, f := range b.Known {
		names[i] = string(f.ID)
	}
	return b.Absent(id) + "; " + brainfile.Suggest(string(id), names, "name one that the brain has")
}

// keyOf checks the key that was given for a context.
func keyOf(fact attache.ContextFact, given *string) (attache.EntityKey, string) {
	switch {
	case given == nil && fact.Keyed():
		return "", fmt.Sprintf("%s is about one %s, and none is given; give its key as entity", fact.ID, fact.KeyKind)
	case given == nil:
		return "", ""
	case !fact.Keyed():
		return "", fmt.Sprintf("%s is about no entity; leave entity out", fact.ID)
	}
	key, err := attache.ParseEntityKey(*given)
	if err != nil {
		return "", fmt.Sprintf("entity is no %s: %v", fact.KeyKind, err)
	}
	return key, ""
}

// reachable says why nobody could speak at a spot: an unknown bot, or a chat without
// a rule. For every bot the chat needs a rule of one at least.
func (b Binder) reachable(at Spot) string {
	if at.Bot != "" && b.Policy.bots[at.Bot] == nil {
		names := make([]string, len(b.Policy.order))
		for i, id := range b.Policy.order {
			names[i] = string(id)
		}
		return fmt.Sprintf("there is no bot %q; %s", at.Bot, brainfile.Suggest(string(at.Bot), names, "leave bot out for every bot"))
	}
	if len(b.speakers(at)) > 0 {
		return ""
	}
	whom := "any bot"
	if at.Bot != "" {
		whom = "the bot " + string(at.Bot)
	}
	return fmt.Sprintf("%v has no rule in %s for %s; only a person can add one, so choose another chat", at.Chat, b.Policy.file.Path, whom)
}

// speakers gives the bots that a binding at a spot concerns and that have a rule there.
func (b Binder) speakers(at Spot) []attache.BotID {
	var out []attache.BotID
	for _, id := range b.Policy.order {
		if (at.Bot == "" || at.Bot == id) && b.Ruled(attache.Place{Bot: id, Chat: at.Chat, Thread: at.Thread}) {
			out = append(out, id)
		}
	}
	return out
}

// held says why a turn may not change what is bound at a spot: from a pinned place
// only that place is in its power, and places that are held to the same keys
// (decisions § 3.13). Else one client's agent could pull that client's papers into
// another client's room. A place that is held to further keys besides, such as a
// ticket's topic in a client's forum, is held to the same.
func (b Binder) held(a Ask, ties []Tie) string {
	own := b.Keys(a.From, ties)
	if a.Pin.Unread {
		return "what this place was bound to when this turn began could not be read; try again in a later turn"
	}
	if a.From.Chat == 0 || len(own)+len(a.Pin.Bound) == 0 {
		return ""
	}
	bots := b.speakers(a.Spot)
	switch {
	case a.Bot != "":
		bots = []attache.BotID{a.Bot}
	case len(bots) == 0: // its rule is gone or has a mistake; what is bound there outlives that
		bots = b.Policy.order
	}
	for _, bot := range bots {
		for _, thread := range b.threads(a, ties) {
			at := attache.Place{Bot: bot, Chat: a.Chat, Thread: thread}
			there := attache.Pin{Bound: b.Keys(at, ties)}
			if at != a.From && !((attache.Pin{Bound: own}).Within(there) && a.Pin.Within(there)) {
				return "this place is held to its own keys, so from here only this place can be bound, and places that are held to the same; " + b.narrower(a, at)
			}
		}
	}
	return ""
}

// anyOther stands for every thread of a chat that no binding tells from the others.
const anyOther attache.ThreadID = -1

// threads gives the threads of a spot that may be held to different keys.
func (b Binder) threads(a Ask, ties []Tie) []attache.ThreadID {
	if !a.Whole {
		return []attache.ThreadID{a.Thread}
	}
	out := []attache.ThreadID{anyOther}
	for at := range b.Policy.bindings {
		if !at.whole && at.chat == b.number(a.Chat) {
			out = append(out, at.thread)
		}
	}
	for _, t := range ties {
		if !t.Whole && b.same(t.Chat, a.Chat) {
			out = append(out, t.Thread)
		}
	}
	if b.same(a.From.Chat, a.Chat) {
		out = append(out, a.From.Thread)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// narrower advises on an ask that goes beyond the turn's own place.
func (b Binder) narrower(a Ask, beyond attache.Place) string {
	switch {
	case a.Chat != a.From.Chat:
		return fmt.Sprintf("%v is not", a.Chat)
	case beyond.Bot != a.From.Bot:
		return fmt.Sprintf("the place of the bot %s is not, so name bot %s", beyond.Bot, a.From.Bot)
	}
	return fmt.Sprintf("other threads of this chat are not, so name thread %d", a.From.Thread)
}

// Keys gives what a place is held to: each context with a key that is bound there,
// and its key, "" where it is held to none. A context that does not load counts as
// one with a key. It is empty where nothing is pinned.
func (b Binder) Keys(at attache.Place, ties []Tie) map[attache.ContextID]attache.EntityKey {
	return attache.NewPin(at.Bot, b.Bindings(at, ties)).Keyed(func(id attache.ContextID) bool {
		fact, known := b.fact(id)
		return !known || fact.Keyed()
	}).Bound
}

// Bindings gives every binding of a place, the file's and the tools'.
func (b Binder) Bindings(at attache.Place, ties []Tie) []attache.Binding {
	var out []attache.Binding
	for _, s := range b.Policy.Bindings(b.number(at.Chat), at.Thread) {
		out = append(out, s.Plain())
	}
	for _, t := range ties {
		if b.same(t.Chat, at.Chat) && t.covers(at.Bot, at.Thread) {
			out = append(out, t.Plain())
		}
	}
	return out
}

// contradiction says which line of access.yaml an ask for a context with a key
// contradicts, "" for none. One for a thread is held against what the file binds in
// that thread; one for the whole chat against the chat's rules and those of each of
// its threads. Whose rule it is does not matter, and the same key is no contradiction.
func (b Binder) contradiction(a Ask, key attache.EntityKey) string {
	for _, s := range b.statics(a) {
		switch {
		case s.Clash:
			return fmt.Sprintf("rules of %s bind %s there to different keys, from line %d on, so it is held to none until a person mends them", b.Policy.file.Path, a.Context, s.Line)
		case s.Key != key && s.Key == "":
			return fmt.Sprintf("%s binds %s there to no key on line %d, so it cannot be bound to %q; only a person can edit that rule", b.Policy.file.Path, a.Context, s.Line, key)
		case s.Key != key:
			return fmt.Sprintf("%s binds %s there to %q on line %d, so it cannot be bound to %q; only a person can edit that rule", b.Policy.file.Path, a.Context, s.Key, s.Line, key)
		}
	}
	return ""
}

// statics gives what access.yaml binds an ask's context to at its spot, by line.
func (b Binder) statics(a Ask) []Binding {
	chat := b.number(a.Chat)
	var out []Binding
	if a.Whole {
		for at, list := range b.Policy.bindings {
			if at.chat == chat {
				out = append(out, list...)
			}
		}
	} else {
		out = b.Policy.Bindings(chat, a.Thread)
	}
	out = slices.DeleteFunc(out, func(s Binding) bool { return s.Context != a.Context })
	slices.SortFunc(out, func(a, b Binding) int { return a.Line - b.Line })
	return out
}

// static gives the first line of access.yaml that binds an ask's context at its
// spot; what it binds in one thread is not the whole chat's.
func (b Binder) static(a Ask) (line int, ok bool) {
	for _, s := range b.statics(a) {
		if !a.Whole || !s.Thread {
			return s.Line, true
		}
	}
	return 0, false
}

// same reports whether two numbers are one chat's. The bots of a group hear one after
// the other that it became a supergroup, and its ties move with the first: a bot that
// still speaks under the old number is held by them too.
func (b Binder) same(x, y attache.ChatID) bool {
	was := func(now, then attache.ChatID) bool {
		old, ok := b.Formerly(now)
		return ok && old == then
	}
	return x == y || was(x, y) || was(y, x)
}

// number gives the number by which access.yaml knows a chat: where a group became a
// supergroup the file may still name the old one (decisions § 3.8).
func (b Binder) number(chat attache.ChatID) attache.ChatID {
	if !b.Policy.Mentions(chat) {
		if old, ok := b.Formerly(chat); ok && b.Policy.Mentions(old) {
			return old
		}
	}
	return chat
}
