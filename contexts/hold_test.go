package contexts

import (
	"fmt"
	"strings"
	"testing"

	"attache"
)

// talk walks a conversation: each step is a turn with what it links, and gives what
// the turn carries as "context@key(link)".
type talk struct {
	t     *testing.T
	l     *Library
	role  Role
	id    int64
	holds []Hold
}

type step struct {
	reply  string // entries that a reply brings back
	code   string // entries that code links
	open   string // an entry that the agent opens
	failed bool   // the agent does not answer
	want   string
}

func (k *talk) turn(s step) {
	k.t.Helper()
	k.id++
	turn := Turn{ID: k.id, Role: k.role, Holds: k.holds}
	for link, list := range map[*[]Source]string{&turn.Replies: s.reply, &turn.Code: s.code} {
		for _, e := range strings.Fields(list) {
			*link = append(*link, Source{Why: "step", Reach: attache.Reach{entryOf(e)}})
		}
	}
	c := k.l.Choose(turn)
	var got []string
	for _, m := range c.Render(nil).Manifest {
		got = append(got, fmt.Sprintf("%s(%s)", attache.ReachEntry{Context: m.Context, Key: m.Key}, m.Link))
	}
	if strings.Join(got, " ") != s.want {
		k.t.Errorf("turn %d carries %v, want %s", k.id, got, s.want)
	}
	made := c.Holds()
	if s.open != "" {
		e := entryOf(s.open)
		opened, refused := k.l.Open(turn, string(e.Context), string(e.Key))
		if refused != "" {
			k.t.Fatal(refused)
		}
		made = append(made, opened.Holds()...)
	}
	k.holds = k.l.Keep(k.holds, made, !s.failed)
}

func entryOf(s string) attache.ReachEntry {
	context, key, _ := strings.Cut(s, "@")
	return attache.ReachEntry{Context: attache.ContextID(context), Key: attache.EntityKey(key)}
}

// The turns that a link stays, counted by decisions § 3.5 (matrix C8 and F8 as values;
// that holds are stored and dropped is proved by who does it).
//
// row E9 (its holds; no code runs yet that could link)
func TestHolds(t *testing.T) {
	files := []string{
		"features/a/film.context.md", "---\nentity: film id\nwhen: [reply]\nkeep: 2\n---\nX.",
		"features/a/cast.context.md", "---\nwhen: [reply, ask]\nkeep: 2\n---\nX.",
		"features/b/book.context.md", "---\nwhen: [reply, ask]\nkeep: 2\n---\nX.",
		"features/b/once.context.md", "---\nwhen: [reply, ask]\nkeep: 0\n---\nX.",
	}
	for name, steps := range map[string][]step{
		"a reply stays for keep turns after the one that answered it": {
			{reply: "film@F1", want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {want: ""},
		},
		"keep 0 is for the linking turn alone": {
			{reply: "once", want: "once(reply)"}, {want: ""}, {open: "once", want: ""}, {want: ""},
		},
		"code and an open stay as long": {
			{code: "book", want: "book(code)"}, {want: "book(code)"}, {want: "book(code)"}, {open: "book", want: ""}, {want: "book(ask)"}, {want: "book(ask)"}, {want: ""},
		},
		"a second reply restarts the count": {
			{reply: "film@F1", want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {reply: "film@F1", want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {want: ""},
		},
		"a link to the feature restarts its held replies, and those of no other": {
			{reply: "film@F1 book", want: "book(reply) film@F1(reply)"}, {want: "book(reply) film@F1(reply)"},
			{reply: "cast", want: "cast(reply) book(reply) film@F1(reply)"}, {want: "cast(reply) film@F1(reply)"}, {want: "cast(reply) film@F1(reply)"}, {want: ""},
		},
		"a held open is not restarted by a reply to its feature": {
			{open: "cast", want: ""}, {reply: "film@F1", want: "film@F1(reply) cast(ask)"}, {want: "film@F1(reply) cast(ask)"}, {want: "film@F1(reply)"}, {want: ""},
		},
		"turns that failed do not count, and what they linked stays": {
			{reply: "film@F1", failed: true, want: "film@F1(reply)"}, {failed: true, want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {failed: true, want: "film@F1(reply)"}, {want: "film@F1(reply)"}, {want: ""},
		},
		"one block for the links of two turns, by the stronger": {
			{open: "cast", want: ""}, {reply: "cast", want: "cast(reply)"}, {want: "cast(reply)"}, {want: "cast(reply)"}, {want: ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := &talk{t: t, l: library(t, frame(), files...), role: Role{ID: "desk", All: true}}
			for _, s := range steps {
				k.turn(s)
			}
			if len(k.holds) > 0 {
				t.Errorf("%v is held for ever", k.holds)
			}
		})
	}
}

// A hold is judged anew on each turn: by the role's list, by the pin and by the file
// of that moment (decisions § 3.12).
func TestHoldsAreJudgedAnew(t *testing.T) {
	film := func(front string) *Library {
		return library(t, frame(), "features/a/film.context.md", "---\nentity: film id\n"+front+"\n---\nX.")
	}
	l := film("when: [reply]")
	holds := []Hold{{Context: "film", Key: "F1", Link: "reply", Turn: 1}}
	carried := func(l *Library, turn Turn) string {
		turn.Holds = holds
		c := l.Choose(turn)
		if m := c.Render(nil).Manifest; len(m) > 0 {
			return Line(m)
		} else if len(c.Refused) > 0 {
			return c.Refused[0].Reason
		}
		return ""
	}
	admits := Role{ID: "desk", Contexts: []attache.ContextID{"film"}}
	for _, c := range []struct {
		l    *Library
		turn Turn
		want string
	}{
		{l, Turn{Role: admits}, "Contexts: film@F1 (reply, 142)"},
		{l, Turn{Role: Role{ID: "desk"}}, "the role desk does not list film in contexts"},
		{l, Turn{Role: admits, Bindings: []attache.Binding{{Context: "film", Key: "F2", Static: true, Bots: []attache.BotID{"vega"}}}}, `film is bound to "F2" in this place, so not to "F1"`},
		{film("when: [ask]"), Turn{Role: admits}, "when of film does not hold reply"},
		{film("when: [reply]\nkeep: 0"), Turn{Role: admits}, ""},
		{library(t, frame()), Turn{Role: admits}, `there is no context "film"`},
	} {
		if got := carried(c.l, c.turn); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	// An edit that makes keep smaller ends what is over it, and nothing revives that.
	old := []Hold{{Context: "film", Key: "F1", Link: "reply", Turn: 1, Age: 2}}
	made := []Hold{{Context: "film", Key: "F2", Link: "reply", Turn: 5}}
	if got := film("when: [reply]\nkeep: 1").Keep(old, made, true); fmt.Sprint(got) != fmt.Sprint(made) {
		t.Error(got)
	}
	// A file that does not load for a moment costs no hold.
	if got := library(t, frame()).Keep(holds, nil, true); len(got) != 1 || got[0].Age != 1 {
		t.Error(got)
	}
}
