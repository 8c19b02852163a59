package access

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"attache"
	"attache/internal/archivetest"
)

// whole is the access.yaml of interface § 3 with a bit of everything added.
const whole = `owners: ["tg:user:111111"]
bots:
  nova:
    names: [Nova, " Нова "]
    merge: 800ms                   # quiet time that ends a burst
    format: rich
    dm: { role: nova, people: ["tg:user:5"] }
    default: { role: guest, people: everyone, engage: mention }
    chats:
      "tg:chat:-1001234567890":
        role: client-desk
        title: Acme
        people: everyone
        engage: addressed
        observe: true
        contexts: { client: acme, region: eu }
        threads:
          "42": { role: support, engage: all, people: ["tg:user:5", "tg:chat:-1001234567890", "bot:vega"], merge: 0, gone: chat, bots: true }
          "0": { people: [], contexts: { client: , region: us }, channels: true }
  vega:
    chats:
      tg:chat:-1001234567890: { role: guest }
      tg:chat:-5: { role: guest, people: everyone, engage: silent }
`

func policy(t *testing.T, text string) *Policy {
	t.Helper()
	p, problems, usable := Read(file(text), names())
	if len(problems) > 0 || !usable {
		t.Fatal(archivetest.Sentences(problems))
	}
	return p
}

func place(bot string, chat, thread int64) attache.Place {
	return attache.Place{Bot: attache.BotID(bot), Chat: attache.ChatID(chat), Thread: attache.ThreadID(thread)}
}

// told sums up a ruling in one line.
func told(r Ruling) string {
	if !r.Ruled() {
		return strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.Kind, r.Why, r.Missing))
	}
	return fmt.Sprintf("%s line %d %s %q %s observe=%t bots=%t channels=%t %s %s gone=%t %v",
		r.Kind, r.Line, r.Role, r.Title, r.Engage, r.Observe, r.Bots, r.Channels, r.Merge, r.Format, r.GoneChat, r.Names)
}

func TestRulings(t *testing.T) {
	p := policy(t, whole)
	const group = -1001234567890
	for _, c := range []struct {
		at   attache.Place
		kind string
		want string
	}{
		{place("nova", group, 7), "supergroup", `chat line 10 client-desk "Acme" addressed observe=true bots=false channels=false 800ms rich gone=false [Nova Нова]`},
		{place("nova", group, 42), "supergroup", `thread line 18 support "Acme" all observe=true bots=true channels=false 0s rich gone=true [Nova Нова]`},
		{place("nova", group, 0), "", `thread line 19 client-desk "Acme" addressed observe=true bots=false channels=true 800ms rich gone=false [Nova Нова]`},
		{place("nova", -77, 3), "group", `default line 8 guest "" mention observe=false bots=false channels=false 800ms rich gone=false [Nova Нова]`},
		{place("nova", 5, 9), "private", `dm line 7 nova "" all observe=false bots=false channels=false 800ms rich gone=false [Nova Нова]`},
		{place("vega", group, 42), "supergroup", `chat line 22 guest "" addressed observe=false bots=false channels=false 1.2s auto gone=false []`},
		{place("nova", -77, 0), "channel", `: constitution/access.yaml has no rule for tg:chat:-77 below bots.nova.chats, and no default that holds there`},
		{place("vega", -77, 0), "group", `: constitution/access.yaml has no rule for tg:chat:-77 below bots.vega.chats, and no default that holds there`},
		{place("vega", 5, 0), "private", `: constitution/access.yaml has no bots.vega.dm`},
		{place("vega", 111111, 0), "private", `owner: constitution/access.yaml has no bots.vega.dm bots.vega.dm`},
		{place("lyra", -77, 0), "group", `: constitution/access.yaml has no bots.lyra`},
		{place("lyra", 111111, 0), "private", `owner: constitution/access.yaml has no bots.lyra bots.lyra.dm`},
		{place("nova", 5, 0), "group", `: tg:chat:5 is no group chat`},
		{place("nova", -5, 0), "private", `: tg:chat:-5 is no private chat`},
	} {
		if diff := cmp.Diff(c.want, told(p.For(c.at, c.kind))); diff != "" {
			t.Errorf("%s as %s\n%s", c.at, c.kind, diff)
		}
	}
}

func TestWhoIsLetIn(t *testing.T) {
	p := policy(t, whole)
	const group = -1001234567890
	for _, c := range []struct {
		at     attache.Place
		person attache.PersonID
		in     bool
		why    string
	}{
		{place("nova", group, 7), "tg:user:9", true, "people: everyone"},
		{place("nova", group, 42), "tg:user:5", true, "listed in people"},
		{place("nova", group, 42), "tg:user:9", false, "the rule on line 18 does not list tg:user:9 in people"},
		{place("nova", group, 42), "tg:chat:-1001234567890", true, "listed in people"}, // an anonymous admin
		{place("nova", group, 42), "bot:vega", true, "listed in people"},
		{place("nova", group, 42), "tg:user:111111", true, "an owner"},
		{place("nova", group, 0), "tg:user:5", false, "the rule on line 19 does not list tg:user:5 in people"}, // replaced whole by []
		{place("vega", group, 7), "tg:user:5", false, "the rule on line 22 does not list tg:user:5 in people"}, // absent is nobody
		{place("vega", group, 7), "tg:user:111111", true, "an owner"},
		{place("nova", 6, 0), "tg:user:6", false, "the rule on line 7 does not list tg:user:6 in people"},
		{place("vega", -77, 0), "tg:user:111111", false, "constitution/access.yaml has no rule for tg:chat:-77 below bots.vega.chats, and no default that holds there"}, // no rule, no owner
		{place("vega", 111111, 0), "tg:user:111111", true, "an owner"},
		{place("vega", 111111, 0), "tg:user:5", false, "constitution/access.yaml has no bots.vega.dm"},
	} {
		if in, why := p.For(c.at, "").Admits(c.person); in != c.in || why != c.why {
			t.Errorf("%s in %s: %t, %s", c.person, c.at, in, why)
		}
	}
	if !p.Owner("tg:user:111111") || p.Owner("tg:user:5") || len(p.Owners()) != 1 {
		t.Error("owners are those that are named")
	}
}

func TestSilencedDMLeavesOwnersTheirCommands(t *testing.T) {
	p, _, _ := Read(file("owners: [tg:user:1]\nbots: { nova: { dm: { role: nvoa, people: everyone } } }\n"), names())
	r := p.For(place("nova", 1, 0), "private")
	if r.Kind != KindOwner || r.Missing != "" || !r.Silenced || r.Line != 2 || !strings.Contains(r.Why, `there is no role "nvoa"`) {
		t.Errorf("%+v", r)
	}
	if other := p.For(place("nova", 2, 0), "private"); other.Kind != KindNone || other.Why != r.Why {
		t.Errorf("%+v", other)
	}
}

func TestSilencedRuleIsNotReplacedByTheDefault(t *testing.T) {
	p, _, _ := Read(file("bots: { nova: { default: { role: guest, people: everyone }, chats: { tg:chat:-1: { role: guest, peple: [] } } } }\n"), names())
	if r := p.For(place("nova", -1, 0), "group"); r.Ruled() || r.Why != `a mistake silences the rule tg:chat:-1 on line 1: the key "peple" is not known here` {
		t.Errorf("%+v", r)
	}
	if r := p.For(place("nova", -2, 0), "group"); r.Kind != KindDefault {
		t.Errorf("%+v", r)
	}
}

// A role that does not load has its own finding; the rule is silenced all the same,
// and comes back by itself when the role does.
func TestRolesAreJudgedAnewOnEachRead(t *testing.T) {
	f := file("bots: { nova: { dm: { role: broken, people: everyone } } }\n")
	p, problems, _ := Read(f, names())
	if r := p.For(place("nova", 5, 0), "private"); len(problems) != 0 || r.Ruled() || !strings.Contains(r.Why, "the role broken does not load") {
		t.Errorf("%+v %s", r, archivetest.Sentences(problems))
	}
	p, _, _ = Read(f, Names{Roles: map[attache.RoleID]Role{"broken": {}}})
	if r := p.For(place("nova", 5, 0), "private"); !r.Ruled() {
		t.Errorf("%+v", r)
	}
}

func TestBindings(t *testing.T) {
	p := policy(t, whole)
	const group = -1001234567890
	got := fmt.Sprint(p.Bindings(group, 7), p.Bindings(group, 42), p.Bindings(group, 0), p.Bindings(-5, 0))
	want := "[{client acme true false [nova] false 16} {region eu true false [nova] false 16}]" +
		" [{client acme true false [nova] false 16} {region eu true false [nova] false 16}]" +
		" [{client  false true [nova] false 19} {region us true true [nova] false 19}] []"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !p.Mentions(group) || p.Mentions(-77) {
		t.Error("a chat is mentioned when a rule of any bot names it")
	}
	if diff := cmp.Diff([]Bot{{"nova", 3}, {"vega", 20}}, p.Bots()); diff != "" {
		t.Error(diff)
	}
}

func TestNoFileIsNobody(t *testing.T) {
	p, problems, usable := Read(nil, names())
	if r := p.For(place("nova", 5, 0), "private"); !usable || len(problems) != 1 || r.Ruled() {
		t.Errorf("%+v %s", r, archivetest.Sentences(problems))
	}
}

// Whatever one character of the file is changed into, nobody is let in anywhere who
// was not before, nobody is answered on less, and no binding lets another key
// in than its own. Three changes cannot be told from another intention and are left
// out: of a number, of a word into another right one, and of the address that
// takes a rule away from its chat.
func TestSlipsNeverWiden(t *testing.T) {
	base, _, _ := Read(file(whole), names())
	letters := regexp.MustCompile(`[a-zA-Z]`)
	skip := regexp.MustCompile(`tg:chat|tg:user|acme|eu|us|bot:vega|^  (nova|vega):|^bots|Nova|title|format|names|merge|#`)
	var spots []int
	at := 0
	for _, line := range strings.SplitAfter(whole, "\n") {
		for _, m := range letters.FindAllStringIndex(line, -1) {
			if !touches(skip, line, m[0]) {
				spots = append(spots, at+m[0])
			}
		}
		at += len(line)
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.SampledFrom(spots).Draw(t, "spot")
		with := rapid.SampledFrom([]string{"", "x", "zz", ":", " ", "'", "[", "~", "\n"}).Draw(t, "with")
		text := whole[:i] + with + whole[i+1:]
		slipped, problems, usable := Read(file(text), names())
		if !usable {
			return // the last good file stays
		}
		for _, chat := range []int64{-1001234567890, -5, -77, 5, 111111} {
			for _, thread := range []int64{0, 42, 7} {
				for _, bot := range []string{"nova", "vega"} {
					before, after := base.For(place(bot, chat, thread), ""), slipped.For(place(bot, chat, thread), "")
					narrower(t, text, archivetest.Sentences(problems), before, after)
				}
				for _, b := range slipped.Bindings(attache.ChatID(chat), attache.ThreadID(thread)) {
					if b.Keyed && !strings.Contains("acme eu us", string(b.Key)) {
						t.Fatalf("%+v\n%s", b, text)
					}
				}
			}
		}
	})
}

// touches reports whether a match of pattern in line covers the position.
func touches(pattern *regexp.Regexp, line string, at int) bool {
	for _, m := range pattern.FindAllStringIndex(line, -1) {
		if m[0] <= at && at < m[1] || strings.HasPrefix(line[m[0]:m[1]], "#") && at >= m[0] {
			return true
		}
	}
	return false
}

func narrower(t *rapid.T, text, problems string, before, after Ruling) {
	for _, person := range []attache.PersonID{"tg:user:5", "tg:user:9", "tg:user:111111", "bot:vega"} {
		was, _ := before.Admits(person)
		is, why := after.Admits(person)
		if is && !was && after.Ruled() {
			t.Fatalf("%s is let in (%s)\n%s%s", person, why, text, problems)
		}
	}
	if after.Ruled() && (after.Role != before.Role || after.Bots && !before.Bots || after.Channels && !before.Channels || after.Engage != before.Engage && after.Engage != "addressed") {
		t.Fatalf("%s became %s\n%s%s", told(before), told(after), text, problems)
	}
}

// Any text: no panic, problems in the file, and each place has a reason.
func FuzzAccess(f *testing.F) {
	f.Add(whole)
	f.Add("bots: { nova: { chats: { tg:chat:-1: { role: guest, threads: { 42: } } } } }")
	f.Fuzz(func(t *testing.T, text string) {
		p, problems, usable := Read(file(text), names())
		if !usable && len(problems) == 0 {
			t.Error("a file that is not usable says why")
		}
		for _, x := range problems {
			if x.Line < 1 || x.What == "" {
				t.Errorf("%+v", x)
			}
		}
		for _, at := range []attache.Place{place("nova", -1001234567890, 42), place("nova", 5, 0), place("vega", -1, 1)} {
			r := p.For(at, "")
			in, why := r.Admits("tg:user:5")
			if r.Why == "" || why == "" || in && r.Kind == KindNone || r.Ruled() && r.Role == "" {
				t.Errorf("%+v", r)
			}
			p.Bindings(at.Chat, at.Thread)
		}
		p.Rulings()
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString("bots:\n  nova:\n    chats:\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "      tg:chat:-%d: { role: guest, people: [tg:user:5], contexts: { client: c%d } }\n", i+1, i)
	}
	for b.Loop() {
		p, problems, _ := Read(file(text.String()), names())
		if len(problems) > 0 || len(p.Bindings(-5, 0)) != 1 {
			b.Fatal(archivetest.Sentences(problems))
		}
	}
}

func BenchmarkFor(b *testing.B) {
	p, _, _ := Read(file(whole), names())
	at := place("nova", -1001234567890, 42)
	for b.Loop() {
		if in, _ := p.For(at, "supergroup").Admits("tg:user:5"); !in {
			b.Fatal("let in")
		}
	}
}

func TestMergeDefaultsToTheInterface(t *testing.T) {
	if r := policy(t, "bots: { nova: { dm: { role: nova } } }\n").For(place("nova", 5, 0), "private"); r.Merge != 1200*time.Millisecond || r.Format != attache.FormatAuto || r.Engage != "all" {
		t.Errorf("%+v", r)
	}
}
