package access

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"attache"
	"attache/internal/archivetest"
)

// A context that is not there silences the rule that names it, and once its file is
// there, also one that does not load, the same text of access.yaml rules again.
//
// row H3
func TestContextsAreJudgedAnewOnEachRead(t *testing.T) {
	f := file("bots: { nova: { chats: { tg:chat:-1: { role: guest, people: everyone, contexts: { client: acme } } } } }\n")
	without, with := names(), names()
	delete(without.Contexts, "client")
	for range 2 {
		p, problems, _ := Read(f, without)
		const want = "constitution/access.yaml:1:83: there is no context \"client\"; the right ones are a, b, c, d, ok, order, policy, region, rules, ticket\n"
		if r := p.For(place("nova", -1, 0), "group"); archivetest.Sentences(problems) != want || r.Ruled() || r.Why != `a mistake silences the rule tg:chat:-1 on line 1: there is no context "client"` {
			t.Errorf("%+v %s", r, archivetest.Sentences(problems))
		}
		p, problems, _ = Read(f, with)
		if r := p.For(place("nova", -1, 0), "group"); len(problems) > 0 || !r.Ruled() {
			t.Errorf("%+v %s", r, archivetest.Sentences(problems))
		}
	}
	if p, _, _ := Read(f, Names{Roles: roles()}); p.For(place("nova", -1, 0), "group").Ruled() {
		t.Error("where no context is known, none is bound to")
	}
}

// Whatever slip stands in the name of a context: where a bot still answers, the context
// that was meant lets in no key but its own.
//
// row D14
func TestSlipsInNamesNeverUnpin(t *testing.T) {
	var spots []int
	for _, name := range []string{"client", "region"} {
		for at := 0; ; at++ {
			i := strings.Index(whole[at:], name+":")
			if i < 0 {
				break
			}
			at += i
			for j := range name {
				spots = append(spots, at+j)
			}
		}
	}
	if len(spots) != 4*len("client") {
		t.Fatal(len(spots), "letters")
	}
	base := policy(t, whole)
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.SampledFrom(spots).Draw(t, "spot")
		with := rapid.SampledFrom([]string{"", "x", "zz", " ", "~", "С"}).Draw(t, "with")
		text := whole[:i] + with + whole[i+1:]
		slipped, problems, usable := Read(file(text), names())
		if !usable || len(problems) == 0 {
			t.Fatal(usable, archivetest.Sentences(problems), text)
		}
		const group = -1001234567890
		for _, thread := range []int64{0, 7, 42} {
			for _, bot := range []attache.BotID{"nova", "vega"} {
				if !slipped.For(place(string(bot), group, thread), "").Ruled() {
					continue
				}
				was, is := map[attache.ContextID]Binding{}, map[attache.ContextID]Binding{}
				for _, b := range base.Bindings(group, attache.ThreadID(thread)) {
					was[b.Context] = b
				}
				for _, b := range slipped.Bindings(group, attache.ThreadID(thread)) {
					is[b.Context] = b
				}
				for id, before := range was {
					if after, pinned := is[id]; !pinned || after.Keyed && after.Key != before.Key {
						t.Fatalf("%s in thread %d: %s was pinned to %q, now %s\n%s", bot, thread, id, before.Key, fmt.Sprintf("%+v", after), text)
					}
				}
			}
		}
	})
}
