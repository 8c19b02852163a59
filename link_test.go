package attache_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"attache"
)

// The order of matrix B1.
func TestLinksHaveARank(t *testing.T) {
	for i, l := range []attache.Link{"run", "chat", "reply", "code", "ask", "always"} {
		if l.Rank() != i {
			t.Errorf("%s has rank %d, not %d", l, l.Rank(), i)
		}
	}
}

func TestEntityKeys(t *testing.T) {
	for key, want := range map[string]string{
		"T-481": "", "Ж 12/ß": "", "<b>\"&": "", strings.Repeat("é", 200): "",
		"":                       "the key is blank; write 1 to 200 characters",
		" \u00a0":                "the key is blank; write 1 to 200 characters",
		"a\xff":                  "the key is no text; write 1 to 200 characters",
		strings.Repeat("é", 201): "the key is longer than 200 characters; write a shorter one",
		"a\nb":                   "the key holds a control character; write it in plain characters on one line",
		"a\u0085b":               "the key holds a control character; write it in plain characters on one line",
	} {
		got, err := attache.ParseEntityKey(key)
		if want == "" && (err != nil || string(got) != key) || want != "" && (err == nil || err.Error() != want || got != "") {
			t.Errorf("%q gives %q, %v; want %q", key, got, err, want)
		}
	}
}

func TestEntriesAreWrittenAsPeopleReadThem(t *testing.T) {
	reach := attache.Reach{{Context: "client", Key: "acme"}, {Context: "policy"}}
	if got := fmt.Sprint(reach, attache.Run{Kind: "heartbeat", ID: "daily"}); got != "[client@acme policy] heartbeat:daily" {
		t.Error(got)
	}
	if got, _ := json.Marshal(reach); string(got) != `[{"context":"client","entity":"acme"},{"context":"policy"}]` {
		t.Error(string(got))
	}
	if !reach.Has("client") || reach.Has("other") || attache.Reach(nil).Has("") {
		t.Error("Has")
	}
}

// Each list is the bindings of a place, weakest first: whatever of them is left,
// its last one that concerns the bot is the pin (decisions § 3.13).
//
// It is the half of D10 that needs no stored bindings.
func TestTheStrongestBindingPins(t *testing.T) {
	list := []attache.Binding{
		{Context: "client", Key: "chat-every"},
		{Context: "client", Key: "chat-nova", Bots: []attache.BotID{"nova"}},
		{Context: "client", Key: "thread-every", Thread: true},
		{Context: "client", Key: "thread-nova", Thread: true, Bots: []attache.BotID{"nova"}},
		{Context: "client", Key: "yaml-chat", Static: true, Bots: []attache.BotID{"vega"}},
		{Context: "client", Key: "yaml-thread", Static: true, Thread: true},
	}
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.SliceOfN(rapid.Bool(), len(list), len(list)).Draw(t, "mask")
		bot := rapid.SampledFrom([]attache.BotID{"nova", "vega"}).Draw(t, "bot")
		want, pinned := attache.EntityKey(""), false
		var some []attache.Binding
		for i, b := range list {
			if mask[i] {
				some = append(some, b)
			}
			if mask[i] && (i != 1 && i != 3 || bot == "nova") { // a tool's binding for one bot pins that bot only
				want, pinned = b.Key, true
			}
		}
		pin := attache.NewPin(bot, rapid.Permutation(some).Draw(t, "order"))
		if got, ok := pin.Bound["client"]; got != want || ok != pinned {
			t.Fatalf("%q %v, want %q %v", got, ok, want, pinned)
		}
	})
	for _, c := range []struct {
		of   int
		nova bool
		vega bool
	}{{0, true, true}, {1, true, false}, {4, false, true}, {5, false, false}} {
		if list[c.of].Attaches("nova") != c.nova || list[c.of].Attaches("vega") != c.vega {
			t.Errorf("binding %d attaches for the wrong bots", c.of)
		}
	}
	torn := attache.NewPin("nova", []attache.Binding{{Context: "client", Key: "a"}, {Context: "client", Key: "b"}})
	if key, ok := torn.Bound["client"]; key != "" || !ok {
		t.Error("two equal bindings that disagree pin to none")
	}
}

// The check of matrix D14 and D17 itself; that every path asks it is proved elsewhere.
func TestPinTakes(t *testing.T) {
	bound := attache.Pin{Bound: map[attache.ContextID]attache.EntityKey{"client": "acme", "none": "", "plain": ""}}
	for _, c := range []struct {
		pin   attache.Pin
		entry attache.ReachEntry
		plain bool
		want  string
	}{
		{pin: bound, entry: attache.ReachEntry{Context: "client", Key: "acme"}, want: "client@acme"},
		{pin: bound, entry: attache.ReachEntry{Context: "client"}, want: "client@acme"},
		{pin: bound, entry: attache.ReachEntry{Context: "client", Key: "globex"}, want: `client is bound to "acme" in this place, so not to "globex"`},
		{pin: bound, entry: attache.ReachEntry{Context: "none"}, want: "none"},
		{pin: bound, entry: attache.ReachEntry{Context: "none", Key: "x"}, want: `none is bound to no key in this place, so not to "x"`},
		{pin: bound, entry: attache.ReachEntry{Context: "other", Key: "x"}, want: "other@x"},
		{pin: bound, entry: attache.ReachEntry{Context: "plain"}, plain: true, want: "plain"},
		{entry: attache.ReachEntry{Context: "client", Key: "x"}, want: "client@x"},
		{pin: attache.Pin{Unread: true}, entry: attache.ReachEntry{Context: "client"}, want: "what this place is bound to cannot be read now, so client and every other context with a key stay out"},
		{pin: attache.Pin{Unread: true}, entry: attache.ReachEntry{Context: "policy"}, plain: true, want: "policy"},
	} {
		got, why := c.pin.Take(c.entry, !c.plain)
		if why != "" && got != (attache.ReachEntry{}) {
			t.Errorf("%v is refused and given all the same", c.entry)
		}
		if why == "" {
			why = got.String()
		}
		if why != c.want {
			t.Errorf("%v: %s; want %s", c.entry, why, c.want)
		}
	}
}

// Whatever is asked, nothing leaves the check with another key than the bound one.
func TestNothingPassesThePinWithAnotherKey(t *testing.T) {
	key := rapid.SampledFrom([]attache.EntityKey{"", "a", "b"})
	rapid.Check(t, func(t *rapid.T) {
		pin := attache.Pin{Bound: map[attache.ContextID]attache.EntityKey{}, Unread: rapid.Bool().Draw(t, "unread")}
		if rapid.Bool().Draw(t, "pinned") {
			pin.Bound["c"] = key.Draw(t, "bound")
		}
		entry := attache.ReachEntry{Context: "c", Key: key.Draw(t, "key")}
		got, why := pin.Take(entry, true)
		bound, pinned := pin.Bound["c"]
		switch {
		case pin.Unread && why == "", pinned && why == "" && got.Key != bound, why == "" && got.Context != "c":
			t.Fatalf("%v passes as %v", entry, got)
		case !pin.Unread && !pinned && got != entry:
			t.Fatalf("%v is changed to %v without a pin", entry, got)
		}
	})
}
