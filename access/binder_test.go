package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"attache"
	"attache/internal/brainfile"
)

// drawPolicy writes an access.yaml of two bots and two chats, some of whose rules
// and threads bind contexts.
func drawPolicy(t *rapid.T) *Policy {
	binds := func(name string) string {
		var lines []string
		for _, c := range []string{"client", "ticket", "policy"} {
			switch rapid.IntRange(0, 5).Draw(t, name+c) {
			case 0:
				lines = append(lines, c+": a")
			case 1:
				lines = append(lines, c+": b")
			case 2:
				lines = append(lines, c+": ")
			}
		}
		if len(lines) == 0 {
			return ""
		}
		return ", contexts: { " + strings.Join(lines, ", ") + " }"
	}
	text := "bots:\n"
	for _, bot := range []string{"nova", "vega"} {
		text += "  " + bot + ":\n    chats:\n      \"tg:chat:-9\": { role: nova, people: everyone }\n"
		for chat := 1; chat <= 2; chat++ {
			name := fmt.Sprint(bot, chat)
			if rapid.Bool().Draw(t, name) {
				text += fmt.Sprintf("      \"tg:chat:-%d\": { role: nova, people: everyone%s, threads: { \"5\": { engage: all%s } } }\n", chat, binds(name), binds(name+"thread"))
			}
		}
	}
	p, _, usable := Read(brainfile.New("access.yaml", []byte(text)), names())
	if !usable {
		t.Fatalf("not usable:\n%s", text)
	}
	return p
}

// drawBinder gives a binder for that file. In it client and ticket are about an entity.
func drawBinder(t *rapid.T) Binder {
	p := drawPolicy(t)
	return Binder{
		Policy:   p,
		Known:    []attache.ContextFact{{ID: "client", KeyKind: "client"}, {ID: "policy"}, {ID: "ticket", KeyKind: "ticket"}},
		Absent:   func(attache.ContextID) string { return "there is no such context" },
		Ruled:    func(at attache.Place) bool { return p.For(at, "").Ruled() },
		Formerly: func(attache.ChatID) (attache.ChatID, bool) { return 0, false },
	}
}

// everywhere lists the places of these chats.
func everywhere() []attache.Place {
	var out []attache.Place
	for _, bot := range []attache.BotID{"nova", "vega"} {
		for chat := attache.ChatID(-2); chat < 0; chat++ {
			for _, thread := range []attache.ThreadID{0, 5} {
				out = append(out, attache.Place{Bot: bot, Chat: chat, Thread: thread})
			}
		}
	}
	return out
}

func drawAsk(t *rapid.T) Ask {
	a := Ask{
		Spot: Spot{
			Chat: attache.ChatID(-rapid.IntRange(1, 2).Draw(t, "chat")), Whole: rapid.Bool().Draw(t, "whole"),
			Bot: rapid.SampledFrom([]attache.BotID{"", "", "nova", "vega"}).Draw(t, "bot"),
		},
		Context: rapid.SampledFrom([]attache.ContextID{"client", "client", "ticket", "ticket", "policy", "nonsense"}).Draw(t, "context"),
		From:    rapid.SampledFrom(append(everywhere(), attache.Place{})).Draw(t, "from"),
	}
	if !a.Whole {
		a.Thread = rapid.SampledFrom([]attache.ThreadID{0, 5}).Draw(t, "thread")
	}
	if key := rapid.SampledFrom([]string{"a", "a", "b", "-"}).Draw(t, "key"); key != "-" {
		a.Entity = &key
	}
	return a
}

// Whatever agents bind and unbind from wherever: what access.yaml binds stays as it
// says, and from a pinned place no other place changes that is not held to its keys.
//
// row D9
func TestNoAgentReachesFurtherThanItsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBinder(t)
		var ties []Tie
		for range rapid.IntRange(10, 30).Draw(t, "steps") {
			a := drawAsk(t)
			unbind := rapid.IntRange(0, 3).Draw(t, "unbind") == 0
			before := ties
			at := func(x Tie) bool { return x.Spot == a.Spot && x.Context == a.Context }
			if unbind && b.Unbind(a, ties) == "" {
				ties = slices.DeleteFunc(slices.Clone(ties), at)
				if len(ties) != len(before)-1 {
					t.Fatalf("%+v took away %d", a, len(before)-len(ties))
				}
			} else if tie, why := b.Bind(a, ties); !unbind && why == "" {
				ties = append(slices.DeleteFunc(slices.Clone(ties), at), tie)
			}
			own := b.Keys(a.From, before)
			for _, p := range everywhere() {
				was, is := b.Keys(p, before), b.Keys(p, ties)
				if !maps.Equal(was, is) && b.Ruled(p) && a.From.Chat != 0 && p != a.From && !(attache.Pin{Bound: own}).Within(attache.Pin{Bound: was}) {
					t.Fatalf("from %v, held to %v, %+v changed %v from %v to %v", a.From, own, a, p, was, is)
				}
				for _, s := range b.Policy.Bindings(p.Chat, p.Thread) {
					if s.Context != "policy" && is[s.Context] != s.Key {
						t.Fatalf("%v: access.yaml binds %s to %q, and it is held to %q", p, s.Context, s.Key, is[s.Context])
					}
				}
			}
			for _, x := range ties {
				if x.Context == "policy" != (x.Key == "") || x.Context == "nonsense" {
					t.Fatalf("%v was bound", x)
				}
				if !slices.Contains(before, x) && x.Key != "" {
					for _, s := range b.Policy.Bindings(x.Chat, x.Thread) {
						if s.Context == x.Context && s.Key != x.Key {
							t.Fatalf("%v contradicts line %d", x, s.Line)
						}
					}
				}
			}
		}
	})
}

// What wins by explanation is what pins.
//
// row D10
func TestExplainedAsItPins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBinder(t)
		var ties []Tie
		for range rapid.IntRange(0, 8).Draw(t, "ties") {
			a := drawAsk(t)
			tie := Tie{Spot: a.Spot, Context: a.Context, Key: rapid.SampledFrom([]attache.EntityKey{"a", "b"}).Draw(t, "bound")}
			ties = append(slices.DeleteFunc(ties, func(x Tie) bool { return x.Spot == tie.Spot && x.Context == tie.Context }), tie)
		}
		at := rapid.SampledFrom(everywhere()).Draw(t, "at")
		pin, won := attache.NewPin(at.Bot, b.Bindings(at, ties)).Bound, map[attache.ContextID]attache.EntityKey{}
		for _, x := range b.Explain(at, ties) {
			if x.Wins {
				won[x.Context] = x.Key
			}
		}
		if !maps.Equal(pin, won) {
			t.Fatalf("%v is pinned to %v, and explained as %v", at, pin, won)
		}
	})
}

// The old number of a group, which the file still names, is seen through.
//
// row D9
func TestContradictionBehindAnOldNumber(t *testing.T) {
	p, _, _ := Read(file("bots: { nova: { chats: { \"tg:chat:-1\": { role: nova, people: everyone, contexts: { client: acme } } } } }\n"), names())
	b := Binder{Policy: p, Known: []attache.ContextFact{{ID: "client", KeyKind: "client"}},
		Absent: func(attache.ContextID) string { return "none" }, Ruled: func(attache.Place) bool { return true },
		Formerly: func(c attache.ChatID) (attache.ChatID, bool) { return -1, c == -1001 }}
	globex := "globex"
	for _, chat := range []attache.ChatID{-1, -1001} {
		if _, why := b.Bind(Ask{Spot: Spot{Chat: chat, Whole: true}, Context: "client", Entity: &globex}, nil); !strings.Contains(why, `to "acme" on line 1`) {
			t.Errorf("%v: %s", chat, why)
		}
	}
	if _, why := b.Bind(Ask{Spot: Spot{Chat: -2, Whole: true}, Context: "client", Entity: &globex}, nil); why != "" {
		t.Error(why)
	}
}

// A topic that a tool tied to another client is not reached by binding its whole chat.
func TestTiedTopicsAreOtherPlaces(t *testing.T) {
	p, _, _ := Read(file("bots: { nova: { chats: { \"tg:chat:-1\": { role: nova, people: everyone } } } }\n"), names())
	b := Binder{Policy: p, Known: []attache.ContextFact{{ID: "client", KeyKind: "client"}, {ID: "policy"}},
		Absent: func(attache.ContextID) string { return "none" }, Ruled: func(attache.Place) bool { return true },
		Formerly: func(attache.ChatID) (attache.ChatID, bool) { return 0, false }}
	ties := []Tie{{Spot: wholeOf(-1, ""), Context: "client", Key: "acme"}, {Spot: topic(-1, 7, ""), Context: "client", Key: "globex"}}
	from := attache.Place{Bot: "nova", Chat: -1}
	if _, why := b.Bind(Ask{Spot: wholeOf(-1, ""), Context: "policy", From: from}, ties); !strings.Contains(why, "name thread 0") {
		t.Errorf("the whole chat: %q", why)
	}
	for _, at := range []Spot{topic(-1, 0, ""), topic(-1, 8, "")} {
		if _, why := b.Bind(Ask{Spot: at, Context: "policy", From: from}, ties); why != "" {
			t.Errorf("%v: %s", at, why)
		}
	}
	if why := b.Unbind(Ask{Spot: topic(-1, 7, ""), Context: "client", From: from}, ties); why == "" {
		t.Error("another client's topic was let go")
	}
}

// What was bound in a chat outlives its rule, and so does what it keeps apart: from another
// client's place it can be neither read nor taken away.
func TestTiesOfAChatWithoutARule(t *testing.T) {
	p, _, _ := Read(file("bots: { nova: { chats: { \"tg:chat:-1\": { role: nova, people: everyone, contexts: { client: acme } } } } }\n"), names())
	b := Binder{Policy: p, Known: []attache.ContextFact{{ID: "client", KeyKind: "client"}},
		Absent:   func(attache.ContextID) string { return "none" },
		Ruled:    func(at attache.Place) bool { return p.For(at, "").Ruled() },
		Formerly: func(attache.ChatID) (attache.ChatID, bool) { return 0, false }}
	ties := []Tie{{Spot: wholeOf(-2, ""), Context: "client", Key: "globex"}}
	for _, at := range []Spot{wholeOf(-2, ""), topic(-2, 7, "")} {
		why := b.Unbind(Ask{Spot: at, Context: "client", From: attache.Place{Bot: "nova", Chat: -1}}, ties)
		if why == "" || strings.Contains(why, "globex") {
			t.Errorf("%v, from another client's place: %q", at, why)
		}
	}
	if why := b.Unbind(Ask{Spot: wholeOf(-2, ""), Context: "client"}, ties); why != "" {
		t.Errorf("from no place: %q", why)
	}
}

// A bot that has not heard of its group's move speaks under the old number, when the
// ties have moved with another bot's notice: it is held by them all the same.
func TestTiesThatMovedHoldTheOldNumber(t *testing.T) {
	p, _, _ := Read(file("bots: { nova: { chats: { \"tg:chat:-1\": { role: nova, people: everyone } } } }\n"), names())
	b := Binder{Policy: p, Known: []attache.ContextFact{{ID: "client", KeyKind: "client"}, {ID: "policy"}},
		Absent: func(attache.ContextID) string { return "none" }, Ruled: func(attache.Place) bool { return true },
		Formerly: func(c attache.ChatID) (attache.ChatID, bool) { return -1, c == -1001 }}
	ties := []Tie{{Spot: wholeOf(-1001, ""), Context: "client", Key: "acme"}}
	for _, chat := range []attache.ChatID{-1, -1001} {
		from := attache.Place{Bot: "nova", Chat: chat}
		if pin := attache.NewPin("nova", b.Bindings(from, ties)); pin.Bound["client"] != "acme" || len(pin.Bound) != 1 {
			t.Errorf("%v is held to %v", chat, pin.Bound)
		}
		if _, why := b.Bind(Ask{Spot: wholeOf(-2, ""), Context: "policy", From: from}, ties); why == "" {
			t.Errorf("from %v another chat was bound", chat)
		}
	}
	if pin := attache.NewPin("nova", b.Bindings(attache.Place{Bot: "nova", Chat: -2}, ties)); len(pin.Bound) != 0 {
		t.Errorf("another chat is held to %v", pin.Bound)
	}
}
