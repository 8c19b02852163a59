package main

import (
	"strings"
	"testing"

	"attache/internal/telegramsim"
)

// strangersBrain lets Ann in: privately, and in the group -1001.
func strangersBrain(t *testing.T) string {
	return brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "telegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml": `owners: ["tg:user:5"]
bots:
  nova:
    merge: 20ms
    dm: { role: echo, people: ["tg:user:5"] }
    chats:
      "tg:chat:-1001": { role: echo, people: ["tg:user:5"], engage: all }
`,
		"features/echo/echo.agent.md": "---\ndescription: Says again what was said.\n---\n",
	})
}

// A chat without a rule and a person whom no rule lists are named once, in the log
// and the chat in /doctor too, with what to add; what they wrote is in neither.
//
// row L3 (a chat without a rule is told once)
func TestStrangersAreNamedOnce(t *testing.T) {
	s := newStage(t)
	s.start("--brain", strangersBrain(t))
	group := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Known"}, s.ann, s.bo, s.bot)
	other := s.sim.AddChat(telegramsim.Chat{ID: -1009, Kind: "group", Title: "Acme\nLtd"}, s.ann, s.bo, s.bot)
	dm := s.sim.DM(s.ann, s.bot)
	for range 3 {
		other.Say(s.bo, "the code of my safe is 1234")
		group.Say(s.bo, "and the other one is 5678")
		s.sim.DM(s.bo, s.bot).Say(s.bo, "9876")
	}
	dm.Say(s.ann, "/doctor")
	doctor := s.await(dm, 1)[0]
	want := "‘Acme Ltd’; to answer there, write  'tg:chat:-1009': { role: ROLE, people: everyone }  below bots.nova.chats"
	log := s.log.String()
	for _, c := range []struct {
		text string
		n    int
	}{
		{want, 1},
		{"chat=tg:chat:-1009", 1},
		{"‘Bo’ is not in people of the rule on line 7 of constitution/access.yaml; add tg:user:6 there", 1},
		{"‘Bo’ is not in people of the rule on line 5", 1},
	} {
		if n := strings.Count(log, c.text); n != c.n {
			t.Errorf("%d times in the log, want %d: %s", n, c.n, c.text)
		}
	}
	if !strings.Contains(doctor, "tg:chat:-1009, the group ‘Acme Ltd’, has no rule for nova") {
		t.Errorf("/doctor says %s", doctor)
	}
	for _, secret := range []string{"1234", "5678", "9876"} {
		if strings.Contains(log+doctor, secret) {
			t.Errorf("what a stranger wrote is told: %s", secret)
		}
	}
	if n := len(group.Posts()) + len(other.Posts()); n != 0 {
		t.Errorf("%d posts went to strangers", n)
	}
}

// A title that a stranger chose is told as it is written: no link, no bold.
func TestATitleIsNoMarkdown(t *testing.T) {
	s := newStage(t)
	s.start("--brain", strangersBrain(t))
	const title = "[All is well](https://evil.example) **x** `q` <b> a_b_"
	s.sim.AddChat(telegramsim.Chat{ID: -1009, Kind: "group", Title: title}, s.bo, s.bot).Say(s.bo, "hello")
	dm := s.sim.DM(s.ann, s.bot)
	until(t, s.log, "the chat is named", func() bool { return s.log.has("tg:chat:-1009") })
	dm.Say(s.ann, "/doctor")
	if got := s.await(dm, 1)[0]; !strings.Contains(got, title) {
		t.Errorf("/doctor says %s", got)
	}
	for _, m := range dm.Posts()[0].Marks {
		if m.Kind == "text_link" || m.Kind == "bold" || m.Kind == "code" {
			t.Errorf("the title acts: %+v", m)
		}
	}
}
