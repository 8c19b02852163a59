package brain

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"attache"
	"attache/access"
	"attache/contexts"
	"attache/origins"
)

// turns is how many turns one random world lives through.
const turns = 50

// Whatever people and models do in a random brain that is edited, bound, unbound and
// moved meanwhile: no block, row, stub, origin, hold or refusal carries another key
// into a place that is pinned, and none at all where the pin cannot be read. Each
// check is 50 turns, so `go test` has 5,000 and `make check`, with
// -rapid.checks=2000, has 100,000.
//
// rows D14, D15, D16, D17 (the deciding functions)
func TestThePinHolds(t *testing.T) { rapid.Check(t, pinHolds) }

// A fuzzer's bytes are the draws; when they run out the world ends there, judged as far
// as it went. It begins with some that are enough for a whole one.
func FuzzThePinHolds(f *testing.F) {
	for seed := range byte(3) {
		draws := make([]byte, 1<<17)
		rand.NewChaCha8([32]byte{seed}).Read(draws)
		f.Add(draws)
	}
	f.Fuzz(rapid.MakeFuzz(pinHolds))
}

func pinHolds(t *rapid.T) {
	w := newWorld(t)
	for range turns {
		w.turn++
		switch w.upTo("event", 9) {
		case 0:
			w.edit()
		case 1:
			w.migrate()
		case 2:
			w.reset()
		}
		w.unread = w.rare("unread")
		w.play()
	}
}

// talk is what a place keeps from turn to turn.
type talk struct {
	key   string // of the session
	bound map[attache.ContextID]attache.EntityKey
	holds []contexts.Hold
}

// said is the origins of a bot's posts in a chat.
type said map[attache.MessageID]origins.Record

// held is the oracle: what a place holds a bot to, by the words of decisions § 3.7
// and § 3.13 and by nothing of the program. A context that is missing is free.
func (w *world) held(at attache.Place) map[attache.ContextID]attache.EntityKey {
	out := map[attache.ContextID]attache.EntityKey{}
	for _, id := range ids() {
		for _, find := range []func() (attache.EntityKey, bool){
			func() (attache.EntityKey, bool) { return w.written(id, at.Chat, at.Thread, false) },
			func() (attache.EntityKey, bool) { return w.written(id, at.Chat, at.Thread, true) },
			func() (attache.EntityKey, bool) { return w.tied(id, at, false, at.Bot) },
			func() (attache.EntityKey, bool) { return w.tied(id, at, false, "") },
			func() (attache.EntityKey, bool) { return w.tied(id, at, true, at.Bot) },
			func() (attache.EntityKey, bool) { return w.tied(id, at, true, "") },
		} {
			if key, ok := find(); ok {
				out[id] = key
				break
			}
		}
	}
	return out
}

// written is what the rules of all bots bind a context to in a thread, or in the
// whole chat. Two that disagree bind it to nothing.
func (w *world) written(id attache.ContextID, chat attache.ChatID, thread attache.ThreadID, whole bool) (key attache.EntityKey, found bool) {
	if whole {
		thread = 0
	}
	for old, now := range w.now { // the file names the number that the group had
		if now == chat {
			chat = old
		}
	}
	for _, bot := range bots() {
		if r := w.rules[ruleAt{bot, chat, thread, whole}]; r != nil {
			k, binds := r.binds[id]
			if binds && found && k != key {
				return "", true
			}
			if binds {
				key, found = k, true
			}
		}
	}
	return key, found
}

// tied is what tools bound a context to at exactly such a spot.
func (w *world) tied(id attache.ContextID, at attache.Place, whole bool, bot attache.BotID) (attache.EntityKey, bool) {
	if w.unread {
		return "", false
	}
	for _, t := range w.ties {
		if t.Context == id && w.same(t.Chat, at.Chat) && t.Whole == whole && (whole || t.Thread == at.Thread) && t.Bot == bot {
			return t.Key, true
		}
	}
	return "", false
}

// same reports whether two numbers are of one chat.
func (w *world) same(a, b attache.ChatID) bool { return a == b || w.now[a] == b || w.now[b] == a }

// migrate makes a supergroup of the group. Bindings move with the first notice that
// arrives; what a bot said there moves with its own, and some still waits.
func (w *world) migrate() {
	const was, is = attache.ChatID(-1), attache.ChatID(-1001)
	for i := range w.ties {
		if w.ties[i].Chat == was {
			w.ties[i].Chat = is
		}
	}
	w.now[was] = is
	bot := from(w, "whose notice", bots())
	for at, kept := range maps.Clone(w.talks) {
		if at.Bot == bot && at.Chat == was {
			delete(w.talks, at)
			at.Chat = is
			w.talks[at] = kept
		}
	}
	old, to := attache.Place{Bot: bot, Chat: was}, attache.Place{Bot: bot, Chat: is}
	for id, r := range w.records[old] {
		w.record(to)[id-1<<40] = r
	}
	delete(w.records, old)
}

func (w *world) record(of attache.Place) said {
	of.Thread = 0
	if w.records[of] == nil {
		w.records[of] = said{}
	}
	return w.records[of]
}

// reset is /new in some place.
func (w *world) reset() { delete(w.talks, w.place("where is /new")) }

// place draws a place; a group that moved is still spoken to under either number,
// as bots hear of it one after the other.
func (w *world) place(name string) attache.Place {
	at := attache.Place{Bot: from(w, name+": bot", bots()), Chat: from(w, name+": chat", chats())}
	if at.Chat == -2 {
		at.Thread = from(w, name+": thread", threads())
	}
	if now, moved := w.now[at.Chat]; moved && w.upTo("late", 3) > 0 {
		at.Chat = now
	}
	return at
}

// entries draws a reach.
func (w *world) entries(name string) attache.Reach {
	var out attache.Reach
	for range w.upTo(name, 3) {
		out = append(out, attache.ReachEntry{Context: from(w, "context", append(ids(), "gone")), Key: w.key("key")})
	}
	return out
}

// play plays one turn from its links to what it leaves.
func (w *world) play() {
	at := w.place("where")
	turn := contexts.Turn{ID: w.turn, Bot: at.Bot, Role: w.brain.Admission(from(w, "role", roleIDs())), Unread: w.unread}
	nowhere := false
	if w.upTo("run", 3) == 0 {
		turn.Run = &attache.Run{Kind: "hook", ID: "h", Feature: from(w, "feature", []attache.FeatureID{"f0", "f1"}), Reach: w.entries("reach")}
		nowhere = w.rare("nowhere")
	}
	pin, bound := attache.Pin{}, map[attache.ContextID]attache.EntityKey{}
	if nowhere {
		at, turn.Unread = attache.Place{}, false
	} else {
		turn.Bindings = w.bindings(at)
		pin, bound = w.pin(at), w.held(at)
	}
	if !maps.Equal(pin.Bound, bound) {
		w.t.Fatalf("%v is held to %v, not to %v; bound are %+v\n%s", at, pin.Bound, bound, turn.Bindings, w.accessText())
	}
	told := w.session(at, turn, pin, bound)
	if turn.Run == nil {
		turn.Replies, turn.Holds = w.replies(at), told.holds
		if w.upTo("stray holds", 3) == 0 { // of some other session: holds are judged anew, wherever they come from
			for range w.upTo("strays", 3) {
				turn.Holds = append(turn.Holds, contexts.Hold{Context: from(w, "held", ids()), Key: w.key("held key"),
					Link: from(w, "link", []attache.Link{attache.LinkReply, attache.LinkCode, attache.LinkAsk}), Turn: w.turn - 1, Age: w.upTo("age", 2)})
			}
		}
	}
	for range w.upTo("code", 1) {
		turn.Code = append(turn.Code, contexts.Source{Why: "code", Reach: w.entries("attach")})
	}
	choice := w.brain.Contexts.Choose(turn)
	w.judge("the tail", at, turn, choice, bound)
	made := choice.Holds()
	for range w.upTo("opens", 2) {
		made = append(made, w.open(at, turn, bound)...)
	}
	for range w.upTo("sends", 2) {
		w.send(at, turn, pin, bound)
	}
	for range w.upTo("binds", 1) {
		w.bind(at, turn)
	}
	if turn.Run == nil && !turn.Unread {
		told.holds = w.brain.Contexts.Keep(turn.Holds, made, w.upTo("answered", 3) > 0)
	}
}

// bindings are those of a place as a turn is given them.
func (w *world) bindings(at attache.Place) []attache.Binding {
	if w.unread {
		return w.binder().Bindings(at, nil)
	}
	return w.binder().Bindings(at, w.ties)
}

func (w *world) pin(at attache.Place) attache.Pin {
	pin := attache.NewPin(at.Bot, w.bindings(at))
	pin.Unread = w.unread
	return pin
}

// session gives what the place keeps, anew when it is held to other keys: a pin that
// changed must show in its canonical form (decisions § 3.14).
func (w *world) session(at attache.Place, turn contexts.Turn, pin attache.Pin, bound map[attache.ContextID]attache.EntityKey) *talk {
	if turn.Run != nil || turn.Unread {
		return &talk{}
	}
	last := w.talks[at]
	if last != nil && (last.key == pin.String()) != maps.Equal(last.bound, bound) {
		w.t.Fatalf("%v was held to %v and is held to %v: the session's key is %q and was %q", at, last.bound, bound, pin.String(), last.key)
	}
	if last == nil || last.key != pin.String() {
		last = &talk{key: pin.String(), bound: bound}
		w.talks[at] = last
	}
	return last
}

// replies draws replies to posts of the chat, and to some that are not there.
func (w *world) replies(at attache.Place) []contexts.Source {
	var out []contexts.Source
	posts := w.records[attache.Place{Bot: at.Bot, Chat: at.Chat}]
	for range w.upTo("replies", 2) {
		known := append(slices.Sorted(maps.Keys(posts)), 999999)
		id := known[max(0, len(known)-1-w.upTo("how far back", 6))]
		if reach, why := origins.FromReply(posts, id, 365); why == "" {
			out = append(out, contexts.Source{Why: fmt.Sprintf("a reply to message %d", id), Reach: reach})
		}
	}
	return out
}

var (
	rowMark  = regexp.MustCompile(`row:(c\d):(k\d)\.`)
	blockTag = regexp.MustCompile(`<feature-context name="(c\d)" feature="[a-z0-9]+"(?: entity="([^"]*)")?`)
	anyKey   = regexp.MustCompile(`\bk\d\b`)
)

// judge demands that what a choice asks for and what the model reads of it hold no
// other key.
func (w *world) judge(what string, at attache.Place, turn contexts.Turn, c contexts.Choice, bound map[attache.ContextID]attache.EntityKey) string {
	foreign := func(id attache.ContextID, key attache.EntityKey) bool {
		to, pinned := bound[id]
		return turn.Unread && key != "" || pinned && w.contexts[id].keyed && key != to
	}
	needs := c.Needs()
	for _, n := range needs {
		if n.By != "" && foreign(attache.ContextID(strings.TrimPrefix(n.View, "card_")), n.Key) {
			w.t.Fatalf("%s at %v asks for the rows of %s by %q; it is held to %v", what, at, n.View, n.Key, bound)
		}
	}
	tail := c.Render(rows(needs))
	text := string(tail.Bytes)
	for _, m := range rowMark.FindAllStringSubmatch(text, -1) {
		if foreign(attache.ContextID(m[1]), attache.EntityKey(m[2])) {
			w.t.Fatalf("%s at %v, held to %v, unread %v, has a row of %s@%s:\n%s", what, at, bound, turn.Unread, m[1], m[2], text)
		}
	}
	for _, m := range blockTag.FindAllStringSubmatch(text, -1) {
		if id := attache.ContextID(m[1]); foreign(id, attache.EntityKey(m[2])) || turn.Unread && w.contexts[id].keyed {
			w.t.Fatalf("%s at %v, held to %v, unread %v, has a block of %s@%s:\n%s", what, at, bound, turn.Unread, m[1], m[2], text)
		}
	}
	for _, m := range tail.Manifest {
		if foreign(m.Context, m.Key) {
			w.t.Fatalf("%s at %v, held to %v, carries %s@%s", what, at, bound, m.Context, m.Key)
		}
	}
	for _, h := range c.Holds() {
		if foreign(h.Context, h.Key) {
			w.t.Fatalf("%s at %v, held to %v, leaves the hold %s", what, at, bound, h.Entry())
		}
	}
	if turn.Unread && strings.HasPrefix(what, "the tail") {
		free := turn
		free.Unread, free.Bindings = false, nil
		again := w.brain.Contexts.Choose(free).Render(nil).Manifest
		missing := slices.ContainsFunc(again, func(m contexts.Carried) bool { return w.contexts[m.Context].keyed })
		if missing && !strings.Contains(text, "cannot be read now, so no context") {
			w.t.Fatalf("nothing says that contexts are missing:\n%s", text)
		}
	}
	return text
}

// others gives the keys of a text that are neither known to who reads it nor bound.
func others(text string, known ...attache.EntityKey) []string {
	return slices.DeleteFunc(anyKey.FindAllString(text, -1), func(k string) bool { return slices.Contains(known, attache.EntityKey(k)) })
}

// open opens some context with some key, and gives the holds that it leaves.
func (w *world) open(at attache.Place, turn contexts.Turn, bound map[attache.ContextID]attache.EntityKey) []contexts.Hold {
	name, key := from(w, "open", append(ids(), "gone")), w.key("with")
	choice, refusal := w.brain.Contexts.Open(turn, string(name), string(key))
	if refusal != "" {
		if more := others(refusal, key, bound[name]); len(more) > 0 {
			w.t.Fatalf("context_open(%s, %s) at %v, held to %v, tells of %v: %s", name, key, at, bound, more, refusal)
		}
		return nil
	}
	w.judge(fmt.Sprintf("context_open(%s, %q)", name, key), at, turn, choice, bound)
	if to, pinned := bound[name]; pinned && w.contexts[name].keyed && key != "" && key != to {
		w.t.Fatalf("context_open(%s, %s) opens at %v, held to %v", name, key, at, bound)
	}
	return choice.Holds()
}

// send says something somewhere, with what a sender may name, and keeps its origin.
func (w *world) send(at attache.Place, turn contexts.Turn, pin attache.Pin, bound map[attache.ContextID]attache.EntityKey) {
	to := w.place("to")
	if at.Chat != 0 && w.one("here") {
		to = at
	}
	target, targetBound := w.pin(to), w.held(to)
	var about attache.About
	switch w.upTo("about", 3) {
	case 1:
		about.Key = w.key("about key")
	case 2, 3:
		about = attache.About{Context: from(w, "about", append(ids(), "gone")), Key: w.key("about key")}
	}
	origin, _, refusal := origins.ForSend(origins.Send{
		Run: turn.Run, About: about, At: pin, To: target, Role: turn.Role.ID, Admits: turn.Role.Admits, Engine: w.rare("engine"),
		Fact: func(id attache.ContextID) (attache.ContextFact, string) {
			f, why := w.brain.Contexts.File(id)
			if f == nil {
				return attache.ContextFact{}, why
			}
			return f.ContextFact, ""
		},
	})
	if refusal != "" {
		known := append(slices.Collect(maps.Values(bound)), about.Key)
		if own, pinned := bound[about.Context]; !pinned || about.Key == own {
			known = slices.AppendSeq(known, maps.Values(targetBound)) // it may be told why its key is not let in there
		}
		if turn.Run != nil { // its keys are its own, unless this place holds it to others
			for _, e := range turn.Run.Reach {
				if _, pinned := bound[e.Context]; !pinned || !w.keyedNow(e.Context) {
					known = append(known, e.Key)
				}
			}
		}
		if more := others(refusal, known...); len(more) > 0 {
			w.t.Fatalf("a send at %v, held to %v, is told of %v: %s", at, bound, more, refusal)
		}
		return
	}
	if origin == nil {
		return
	}
	for _, e := range origin.Reach {
		f := w.contexts[e.Context]
		if to, pinned := targetBound[e.Context]; e.Key != "" && (target.Unread || pinned && e.Key != to) && (f == nil || f.keyed) {
			w.t.Fatalf("a post in a place that is held to %v, unread %v, remembers %s", targetBound, target.Unread, e)
		}
	}
	if own, pinned := bound[about.Context]; pinned && about.Key != "" && about.Key != own && origin.Reach.Has(about.Context) && w.contexts[about.Context].keyed && slices.Contains(origin.Reach, attache.ReachEntry(about)) && !(turn.Run != nil && slices.Contains(turn.Run.Reach, attache.ReachEntry(about))) {
		w.t.Fatalf("from %v, held to %v, a post is about %s@%s", at, bound, about.Context, about.Key)
	}
	w.posts++
	w.record(attache.Place{Bot: to.Bot, Chat: to.Chat})[attache.MessageID(w.posts)] = origins.Record{Place: to, Origin: *origin}
}

// bind asks to bind or unbind something, and demands that a pinned place changes
// nothing where it is not held to the same.
func (w *world) bind(at attache.Place, turn contexts.Turn) {
	if w.unread {
		return // the tools refuse when they cannot read what is bound
	}
	chat := from(w, "bind: chat", chats())
	if now, moved := w.now[chat]; moved {
		chat = now
	}
	if w.one("bind here") && at.Chat != 0 {
		if chat = at.Chat; w.now[chat] != 0 {
			chat = w.now[chat]
		}
	}
	ask := access.Ask{Context: from(w, "bind", ids()), From: at, Spot: access.Spot{Chat: chat, Whole: w.one("whole"), Bot: from(w, "for", []attache.BotID{"", "nova", "vega"})}}
	if now, moved := w.now[ask.From.Chat]; moved {
		ask.From.Chat = now
	}
	if !ask.Whole {
		ask.Thread = from(w, "bind: thread", threads())
	}
	if key := w.key("bind: key"); key != "" {
		text := string(key)
		ask.Entity = &text
	}
	before := w.everything()
	same := func(t access.Tie) bool { return t.Spot == ask.Spot && t.Context == ask.Context }
	if w.upTo("unbind", 3) == 0 {
		if why := w.binder().Unbind(ask, w.ties); why != "" {
			return
		}
		w.ties = slices.DeleteFunc(w.ties, same)
	} else {
		tie, why := w.binder().Bind(ask, w.ties)
		if why != "" {
			return
		}
		w.ties = append(slices.DeleteFunc(w.ties, same), tie)
	}
	own := w.keyed(before[ask.From])
	for place, now := range w.everything() {
		if place == ask.From || at.Chat == 0 || len(own) == 0 || maps.Equal(now, before[place]) {
			continue
		}
		for id, key := range own {
			if there, held := before[place][id]; !held || there != key {
				w.t.Fatalf("from %v, held to %v, %v is changed from %v to %v by %+v", at, own, place, before[place], now, ask)
			}
		}
	}
}

// everything is what every place is held to.
func (w *world) everything() map[attache.Place]map[attache.ContextID]attache.EntityKey {
	out := map[attache.Place]map[attache.ContextID]attache.EntityKey{}
	for _, bot := range bots() {
		for _, chat := range chats() {
			if now, moved := w.now[chat]; moved {
				chat = now
			}
			for _, thread := range threads() {
				at := attache.Place{Bot: bot, Chat: chat, Thread: thread}
				out[at] = w.held(at)
			}
		}
	}
	return out
}

func (w *world) keyedNow(id attache.ContextID) bool {
	return w.contexts[id] != nil && w.contexts[id].keyed
}

// keyed leaves the contexts that are about an entity.
func (w *world) keyed(bound map[attache.ContextID]attache.EntityKey) map[attache.ContextID]attache.EntityKey {
	out := maps.Clone(bound)
	maps.DeleteFunc(out, func(id attache.ContextID, _ attache.EntityKey) bool { return !w.contexts[id].keyed })
	return out
}
