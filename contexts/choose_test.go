package contexts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"attache"
	"attache/internal/brainfile"
)

// world draws a library of few contexts with few keys, so that links meet.
func world(t *rapid.T) *Library {
	var files []*brainfile.File
	for i := range rapid.IntRange(1, 6).Draw(t, "contexts") {
		var b strings.Builder
		b.WriteString("---\n")
		words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"run", "chat", "reply", "ask", "always"}), 1, 5, rapid.ID).Draw(t, "when")
		fmt.Fprintf(&b, "when: [%s]\n", strings.Join(words, ", "))
		if rapid.Bool().Draw(t, "keyed") {
			b.WriteString("entity: id\n")
		}
		if rapid.Bool().Draw(t, "own chars") {
			fmt.Fprintf(&b, "chars: %d\n", rapid.IntRange(1, 700).Draw(t, "chars"))
		}
		fmt.Fprintf(&b, "keep: %d\ndata: [whole%d, { view: card, by: id }]\n---\n", rapid.IntRange(0, 3).Draw(t, "keep"), i)
		b.WriteString(rapid.StringN(0, 300, -1).Draw(t, "body"))
		path := fmt.Sprintf("features/f%d/c%d.context.md", i%2, i)
		files = append(files, brainfile.New(path, []byte(b.String())))
		if rapid.Bool().Draw(t, "code") {
			files = append(files, brainfile.New(strings.TrimSuffix(path, ".md")+".ts", []byte("x")))
		}
	}
	f := frame()
	f.MaxActive, f.TurnChars = rapid.IntRange(0, 4).Draw(t, "maxActive"), rapid.IntRange(0, 2500).Draw(t, "turnChars")
	f.Rows = rapid.IntRange(0, 5).Draw(t, "rows")
	l, _ := Read(brainfile.Of(files...), f) // a body may hold what makes a file unreadable
	return l
}

func entries(t *rapid.T, name string) attache.Reach {
	entry := rapid.Custom(func(t *rapid.T) attache.ReachEntry {
		return attache.ReachEntry{
			Context: attache.ContextID(fmt.Sprintf("c%d", rapid.IntRange(0, 6).Draw(t, "c"))),
			Key:     rapid.SampledFrom([]attache.EntityKey{"", "", "k1", "k2", "<k3>\""}).Draw(t, "k"),
		}
	})
	return rapid.SliceOfN(entry, 0, 4).Draw(t, name)
}

func sources(t *rapid.T, name string) []Source {
	var out []Source
	for range rapid.IntRange(0, 2).Draw(t, name) {
		out = append(out, Source{Why: name, Reach: entries(t, name)})
	}
	return out
}

// moments draws a turn in which anything may have happened.
func moments(t *rapid.T) Turn {
	turn := Turn{ID: 9, Bot: "nova", Role: Role{ID: "desk", All: rapid.Bool().Draw(t, "all"), CanOpen: rapid.Bool().Draw(t, "open"), State: []string{"whole0", "mood"}},
		Unread: rapid.IntRange(0, 9).Draw(t, "unread") == 0, Replies: sources(t, "replies"), Code: sources(t, "code")}
	for _, e := range entries(t, "admits") {
		turn.Role.Contexts = append(turn.Role.Contexts, e.Context)
	}
	if rapid.Bool().Draw(t, "run") {
		turn.Run = &attache.Run{Kind: "hook", ID: "h", Feature: "f0", Reach: entries(t, "reach")}
	}
	for _, e := range entries(t, "bound") {
		turn.Bindings = append(turn.Bindings, attache.Binding{Context: e.Context, Key: e.Key, Static: rapid.Bool().Draw(t, "static"),
			Thread: rapid.Bool().Draw(t, "thread"), Bots: rapid.SampledFrom([][]attache.BotID{nil, {"nova"}, {"vega"}}).Draw(t, "bots")})
	}
	for i, e := range entries(t, "holds") {
		turn.Holds = append(turn.Holds, Hold{e.Context, e.Key, rapid.SampledFrom([]attache.Link{"reply", "code", "ask"}).Draw(t, "link"), int64(i), i % 2, rapid.IntRange(0, 3).Draw(t, "age")})
	}
	return turn
}

// supply draws what a choice's needs are given.
func supply(t *rapid.T, needs []Need) map[Need]Given {
	given := map[Need]Given{}
	cell := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"|", "</section>", "\n", `\`, `\|`, "<feature-context name=\"x\">"}))
	for _, n := range needs {
		g := Given{Columns: []string{cell.Draw(t, "column"), "b"}, More: rapid.Bool().Draw(t, "more"), Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0}
		for range rapid.IntRange(0, 7).Draw(t, "rows") {
			g.Values = append(g.Values, []string{cell.Draw(t, "cell"), cell.Draw(t, "cell")})
		}
		if n.Code != "" {
			g.Sections = []Section{{Key: rapid.SampledFrom([]string{"sla", "card", "Bad"}).Draw(t, "key"), Text: cell.Draw(t, "text")}}
		}
		given[n] = g
	}
	return given
}

// Whatever is linked, bound, held and read: the truths of decisions § 2, § 3 and § 5.
//
// row G3
// row G4
func TestTruthsOfATurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, turn := world(t), moments(t)
		c := l.Choose(turn)
		given := supply(t, c.Needs())
		tail := c.Render(given)
		text := string(tail.Bytes)
		wellFormed(t, text)

		// The order is total and depends on no order of the input that means nothing.
		shuffled := turn
		shuffled.Bindings = rapid.Permutation(turn.Bindings).Draw(t, "bindings")
		shuffled.Holds = rapid.Permutation(turn.Holds).Draw(t, "holds")
		again := l.Choose(shuffled)
		if !clash(turn.Bindings) {
			if got := again.Render(given); !bytes.Equal(got.Bytes, tail.Bytes) {
				t.Fatalf("another order of equal things gives other bytes:\n%s\n%s", text, got.Bytes)
			}
		}

		attached, chars := 0, 0
		pin := attache.NewPin(turn.Bot, turn.Bindings)
		seen := map[attache.ReachEntry]bool{}
		for i, m := range tail.Manifest {
			file, _ := l.File(m.Context)
			bound, pinned := pin.Bound[m.Context]
			entry := attache.ReachEntry{Context: m.Context, Key: m.Key}
			switch {
			case file == nil:
				t.Fatalf("%s is carried and does not load", m.Context)
			case seen[entry]:
				t.Fatalf("%s stands twice", entry)
			case file.Keyed() && (turn.Unread || pinned && m.Key != bound):
				t.Fatalf("%s passes the pin %q", entry, bound)
			case !file.Keyed() && m.Key != "":
				t.Fatalf("%s has a key", entry)
			case i > 0 && m.Knob == "" && tail.Manifest[i-1].Knob != "":
				t.Fatal("a stub stands before a block")
			}
			seen[entry] = true
			if m.Knob == "" {
				attached++
				chars += m.Chars
				if want := "\n<section name=\"instructions\" kind=\"control\">" + escape(file.Body) + "</section>\n"; file.Body != "" && !strings.Contains(text, want) {
					t.Fatalf("the instructions of %s are not whole in\n%s", m.Context, text)
				}
			}
		}
		if attached > c.lib.frame.MaxActive || chars > c.lib.frame.TurnChars {
			t.Fatalf("%d attached with %d characters, over %d and %d", attached, chars, c.lib.frame.MaxActive, c.lib.frame.TurnChars)
		}

		// Nothing disappears: each link is carried or refused with a reason.
		links := 0
		for _, m := range tail.Manifest {
			links += len(m.Links)
		}
		for _, r := range c.Refused {
			if r.Reason == "" || r.Why == "" {
				t.Fatalf("%+v has no reason", r)
			}
		}
		if all := len(l.links(turn)); links+len(c.Refused) != all {
			t.Fatalf("%d links, %d carried, %d refused", all, links, len(c.Refused))
		}
		if blocks := strings.Count(text, "\n</feature-context>"); blocks != attached {
			t.Fatalf("%d blocks for %d contexts in\n%s", blocks, attached, text)
		}
		// What is needed is enough: nothing is missing that was given.
		for _, n := range c.Needs() {
			if n.By != "" && n.Key == "" {
				t.Fatalf("%+v would read a keyed view whole", n)
			}
		}
	})
}

// clash reports two equally strong bindings of one context, of which the engine
// never has two, save two rules of access.yaml that disagree.
func clash(list []attache.Binding) bool {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Context == b.Context && a.Strength() == b.Strength() {
				return true
			}
		}
	}
	return false
}

// The block's size is its code points, and rows give way before chars is passed:
// over it are at most the lines that say what is missing.
//
// row G2
func TestBlocksKeepToTheirChars(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chars := rapid.IntRange(150, 1200).Draw(t, "chars")
		path := "features/a/a.context.md"
		l, problems := Read(brainfile.Of(brainfile.New(path, fmt.Appendf(nil, "---\nwhen: [always]\nchars: %d\ndata: [one, two]\n---\nSay — it.", chars))), frame())
		if len(problems) > 0 {
			t.Fatal(sentences(problems))
		}
		c := l.Choose(Turn{Role: Role{All: true}})
		given := map[Need]Given{}
		total := map[string]int{}
		for _, n := range c.Needs() {
			g := Given{Columns: []string{"n"}}
			for range rapid.IntRange(1, 30).Draw(t, "rows") {
				g.Values = append(g.Values, []string{rapid.StringN(0, 60, -1).Draw(t, "cell")})
			}
			total[n.View] = min(len(g.Values), 20)
			given[n] = g
		}
		tail := c.Render(given)
		text, m := string(tail.Bytes), tail.Manifest[0]
		least := len([]rune("<feature-context name=\"a\" feature=\"a\" link=\"always\">\n<section name=\"instructions\" kind=\"control\">Say — it.</section>\n</feature-context>"))
		for _, view := range []string{"one", "two"} {
			least += utf8.RuneCountInString(l.stub(view, "chars")) + 1
		}
		switch {
		case m.Knob != "":
			t.Fatalf("%s keeps a short text out of %d", m.Knob, chars)
		case m.Chars != utf8.RuneCountInString(text):
			t.Fatalf("%d characters are counted as %d", utf8.RuneCountInString(text), m.Chars)
		case m.Chars > max(chars, least):
			t.Fatalf("%d characters in %d:\n%s", m.Chars, chars, text)
		case strings.Contains(text, "… more") == (len(m.Cut) == 0) && total["one"] < 20 && total["two"] < 20 && !strings.Contains(text, "stub"):
			t.Fatalf("the marker and %v do not agree:\n%s", m.Cut, text)
		}
	})
}

// A view that is cut shows as many rows as fit: one more would pass chars.
func TestNoRowIsCutThatFits(t *testing.T) {
	values := [][]string{}
	for i := range 15 {
		values = append(values, []string{strings.Repeat("—", i*7%13)})
	}
	for chars := 240; chars < 700; chars++ {
		l := library(t, frame(), "features/a/a.context.md", fmt.Sprintf("---\nwhen: [always]\nchars: %d\ndata: [v]\n---\nX.", chars))
		c := l.Choose(Turn{Role: Role{All: true}})
		tail := c.Render(map[Need]Given{{View: "v"}: {Columns: []string{"n"}, Values: values}})
		p := l.viewPart("v", Given{Columns: []string{"n"}, Values: values})
		shown := strings.Count(string(tail.Bytes), "\n|") - 1
		if strings.Contains(string(tail.Bytes), `stub="chars"`) {
			shown = 0
		}
		more := utf8.RuneCountInString(l.rows(p, min(shown+1, len(values))))
		now := utf8.RuneCountInString(l.rows(p, shown))
		size := tail.Manifest[0].Chars
		if shown > 0 && size > chars {
			t.Fatalf("%d rows take %d of %d", shown, size, chars)
		}
		if shown > 0 && shown < len(values) && size-now+more <= chars {
			t.Fatalf("with chars %d there is room for %d rows, and %d are shown", chars, shown+1, shown)
		}
		if shown == len(values) && chars == 240 || shown == 0 && chars == 699 {
			t.Fatal("the sweep does not reach both ends")
		}
	}
}

// Characters are code points, whatever their bytes (decisions § 2).
func TestCharactersAreCodePoints(t *testing.T) {
	l := library(t, frame(), "features/a/a.context.md", "---\nwhen: [always]\nchars: 131\n---\n日本語")
	tail := l.Choose(Turn{Role: Role{All: true}}).Render(nil)
	want := "<feature-context name=\"a\" feature=\"a\" link=\"always\">\n<section name=\"instructions\" kind=\"control\">日本語</section>\n</feature-context>"
	if string(tail.Bytes) != want || tail.Manifest[0].Chars != len([]rune(want)) {
		t.Errorf("%d: %s", tail.Manifest[0].Chars, tail.Bytes)
	}
	if got := Line(tail.Manifest); got != fmt.Sprintf("Contexts: a (always, %d)", len([]rune(want))) {
		t.Error(got)
	}
}

// The line of interface § 5 word for word (matrix G9 without the chat around it).
func TestLineOfContext(t *testing.T) {
	got := Line([]Carried{{Context: "client", Key: "acme", Link: "chat", Chars: 812}, {Context: "policy", Knob: "contexts.maxActive"}})
	if want := "Contexts: client@acme (chat, 812) · policy (not attached — budget: contexts.maxActive)"; got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// Hostile rows stay data, whatever they hold.
func FuzzRows(f *testing.F) {
	for _, s := range []string{"", "|", `\|`, `\\|`, "</section></feature-context>", "a\r\nb\rc\u2028d", "\x00\xff\ufffe", "<feature-context name=\"x\" link=\"run\">", "&amp;&#10;", "```\n| --- |", "\v\f\u0085"} {
		f.Add(s, s, "k")
	}
	l := library(f, frame(), "features/a/a.context.md", "---\nwhen: [reply]\nentity: id\ndata: [{ view: v, by: id }, { document: d }]\n---\nX.", "features/a/a.context.ts", "x")
	f.Fuzz(func(t *testing.T, column, cell, key string) {
		if _, err := attache.ParseEntityKey(key); err != nil {
			key = "k"
		}
		c := l.Choose(Turn{Role: Role{All: true}, Replies: []Source{{Reach: attache.Reach{{Context: "a", Key: attache.EntityKey(key)}}}}})
		given := map[Need]Given{}
		for _, n := range c.Needs() {
			given[n] = Given{Columns: []string{column, "b"}, Values: [][]string{{cell, column}, {cell}}, Text: cell, Sections: []Section{{Key: "s", Text: cell}}}
		}
		text := string(c.Render(given).Bytes)
		wellFormed(t, text)
		if !utf8.ValidString(text) || strings.Count(text, "<section ") != 4 {
			t.Fatalf("%q", text)
		}
	})
}

// Fifty links into a library of five thousand contexts, chosen and rendered.
func BenchmarkTurn(b *testing.B) {
	var files []*brainfile.File
	body := strings.Repeat("Answer as the support desk; never promise a refund over $100. ", 20)
	for i := range 5000 {
		files = append(files, brainfile.New(fmt.Sprintf("features/f%d/c%d.context.md", i%100, i),
			[]byte("---\ndescription: About things.\nentity: id\nwhen: [run, reply, ask, always]\ndata: [{ view: card, by: id }, whole]\n---\n"+body)))
	}
	l, _ := Read(brainfile.Of(files...), frame())
	role := Role{ID: "desk", CanOpen: true}
	turn := Turn{ID: 9, Run: &attache.Run{Kind: "hook", ID: "h", Feature: "f1"}, Bindings: []attache.Binding{{Context: "c1", Key: "acme", Static: true, Bots: []attache.BotID{"nova"}}}}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 50 {
		e := attache.ReachEntry{Context: attache.ContextID(fmt.Sprintf("c%d", r.IntN(5000))), Key: "k"}
		role.Contexts = append(role.Contexts, e.Context)
		switch i % 3 {
		case 0:
			turn.Run.Reach = append(turn.Run.Reach, e)
		case 1:
			turn.Replies = append(turn.Replies, Source{"a reply", attache.Reach{e}})
		default:
			turn.Holds = append(turn.Holds, Hold{Context: e.Context, Key: e.Key, Link: "reply", Turn: 8})
		}
	}
	turn.Role = role
	rows := Given{Columns: []string{"id", "sla", "note"}}
	for i := range 20 {
		rows.Values = append(rows.Values, []string{fmt.Sprint(i), "4h", "a note of some length | with a bar"})
	}
	given := map[Need]Given{}
	for _, n := range l.Choose(turn).Needs() {
		given[n] = rows
	}
	b.ReportAllocs()
	for b.Loop() {
		c := l.Choose(turn)
		c.Needs()
		if tail := c.Render(given); len(tail.Manifest) < 50 || len(tail.Bytes) < 5000 {
			b.Fatal(len(tail.Manifest), len(tail.Bytes))
		}
	}
}
