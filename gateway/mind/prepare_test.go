package mind

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache"
	"attache/access"
	"attache/gateway"
	"attache/internal/brain"
	"attache/internal/model"
)

// brainOf reads a brain whose one group lets Ann in and nobody else.
func brainOf(t *testing.T, manifest string) (*brain.Brain, access.Ruling) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"constitution/MANIFEST.yaml":  manifest,
		"constitution/access.yaml":    "bots:\n  nova:\n    chats:\n      \"tg:chat:-1\": { role: home, people: [\"tg:user:5\"], observe: true }\n",
		"features/home/FEATURE.md":    "---\ndescription: Home.\n---\n",
		"features/home/home.agent.md": "---\ndescription: Helps.\n---\nYou help.\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, problems, err := brain.Load(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return b, b.Policy.For(attache.Place{Bot: "nova", Chat: -1}, "group")
}

func line(id attache.MessageID, from attache.PersonID, text string) attache.Message {
	return attache.Message{ID: id, From: attache.Person{ID: from}, Text: text}
}

func ids(ms []attache.Message) string {
	var out []string
	for _, m := range ms {
		out = append(out, fmt.Sprint(m.ID))
	}
	return strings.Join(out, " ")
}

func TestQuotedGivesEachParentOnce(t *testing.T) {
	reply := func(id, to attache.MessageID, text, quote string) attache.Message {
		m := line(id, "tg:user:5", "x")
		m.Reply = &attache.Reply{ID: to, Text: text, Quote: quote}
		return m
	}
	outside := reply(16, 10, "elsewhere", "")
	outside.Reply.External = true
	got := quoted([]attache.Message{outside,
		line(10, "tg:user:5", "x"), reply(11, 7, "parent", ""), reply(12, 7, "parent", "par"), reply(13, 10, "x", ""), reply(14, 8, "", ""), reply(15, 9, "", "quoted"),
	}, map[Post]Parent{{ID: 9}: {Lines: true}})
	if len(got) != 3 || got[0].ID != 0 || got[0].Text != "elsewhere" || got[1].ID != 7 || got[2].ID != 9 || !got[2].Lines || got[1].Lines {
		t.Errorf("%+v", got)
	}
}

func TestALongBurstIsCutAtItsBeginning(t *testing.T) {
	var burst []attache.Message
	for i := range 40 {
		burst = append(burst, line(attache.MessageID(i+1), "tg:user:5", strings.Repeat("é", 4000)))
	}
	got := newest(burst)
	if len(got) != 15 || got[14].ID != 40 || !strings.HasPrefix(got[0].Left, "25 messages before this one") {
		t.Errorf("%d messages, the first says %q", len(got), got[0].Left)
	}
	if one := newest([]attache.Message{line(1, "tg:user:5", strings.Repeat("x", 2*longestInput))}); len(one) != 1 || one[0].Left != "" {
		t.Errorf("a single long message is left out: %+v", one[0].Left)
	}
}

func TestWhatTheModelCannotTakeIsSaid(t *testing.T) {
	photo := attache.Message{ID: 1, Media: []attache.Media{{Kind: "photo"}}, Text: "look"}
	paper := attache.Message{ID: 2, Media: []attache.Media{{Kind: "document", MIME: "application/pdf"}}}
	notes := attache.Message{ID: 3, Media: []attache.Media{{Kind: "document", MIME: "text/plain"}}}
	voice := attache.Message{ID: 4, Media: []attache.Media{{Kind: "voice"}}, Left: "a poll"}
	for _, c := range []struct {
		profile model.Profile
		left    []string
	}{
		{model.Profile{}, []string{"the picture: this model takes none", "the document: this model takes none", "", "a poll; what the voice message says: there is no model that transcribes"}},
		{model.Profile{Vision: true, Files: true}, []string{"", "", "", "a poll; what the voice message says: there is no model that transcribes"}},
	} {
		th := &thought{m: &Mind{}, profile: c.profile, turn: gateway.Turn{Messages: []attache.Message{photo, paper, notes, voice}}}
		got, err := th.readable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range got {
			if m.Left != c.left[i] {
				t.Errorf("message %d leaves out %q, want %q", m.ID, m.Left, c.left[i])
			}
		}
		if th.turn.Messages[0].Left != "" {
			t.Error("the turn's own message was changed")
		}
	}
}
