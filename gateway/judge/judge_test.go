package judge

import (
	"log/slog"
	"strings"
	"testing"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway"
	"attache/internal/brainfile"
)

// asked makes the judge of a bot with a dm rule ("" for none); presses that it
// acknowledges go to told.
func asked(t *testing.T, dm string, told chan<- string) *Judge {
	t.Helper()
	text := "owners: ['tg:user:5']\nbots:\n  nova:\n    names: [Nova]\n" + dm
	policy, problems, _ := access.Read(brainfile.New("constitution/access.yaml", []byte(text)), access.Names{Roles: map[attache.RoleID]access.Role{"home": {}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return New(Options{
		Bot: "nova", Log: slog.New(slog.DiscardHandler),
		Self:   func() engage.Self { return engage.Self{Bot: "nova", User: "tg:user:1", Username: "nova_bot"} },
		Ruling: policy.For, Owner: policy.Owner,
		Command: func(_ attache.Message, name string) (gateway.Verdict, bool) {
			return gateway.Verdict{Act: gateway.ActReply, Say: "said " + name}, name == "help" || name == "stop"
		},
		Acknowledge: func(_ attache.Press, say string) { told <- say },
	})
}

const (
	everyone = "    dm: { role: home, people: everyone }\n"
	bots     = "    dm: { role: home, people: everyone, bots: true }\n"
)

func message(from attache.PersonID, text string) attache.Message {
	m := attache.Message{Place: attache.Place{Bot: "nova", Chat: chatOf(from)}, Chat: attache.Chat{Kind: "private"}, ID: 9, From: attache.Person{ID: from}, Text: text}
	if text[0] == '/' {
		m.Marks = []attache.Mark{{Kind: "bot_command", Length: len(text)}}
	}
	return m
}

// chatOf is the private chat of tg:user:5 and the like.
func chatOf(p attache.PersonID) attache.ChatID {
	chat, _ := attache.ParseChat(strings.TrimPrefix(string(p), "tg:user:"))
	return chat
}

// An owner without a rule has help, and is told the key that is missing; a stranger is
// met with silence. With a rule, commands go first.
func TestVerdicts(t *testing.T) {
	const none = ""
	for _, c := range []struct {
		rule string
		m    attache.Message
		act  gateway.Act
		say  string
	}{
		{none, message("tg:user:5", "/help"), gateway.ActReply, "said help"},
		{none, message("tg:user:5", "/stop"), gateway.ActReply, "I have no rule for this chat. Add bots.nova.dm to access.yaml and I will answer here."},
		{none, message("tg:user:5", "hello"), gateway.ActReply, "I have no rule for this chat. Add bots.nova.dm to access.yaml and I will answer here."},
		{none, message("tg:user:6", "hello"), gateway.ActSilence, ""},
		{everyone, message("tg:user:6", "/stop"), gateway.ActReply, "said stop"},
		{everyone, message("tg:user:6", "/dance"), gateway.ActAnswer, ""},
		{everyone, message("tg:user:6", "hello"), gateway.ActAnswer, ""},
	} {
		if v := asked(t, c.rule, nil).Message(c.m); v.Act != c.act || v.Say != c.say {
			t.Errorf("%s of %s: %+v, want %s %q", c.m.Text, c.m.From.ID, v, c.act, c.say)
		}
	}
}

// A press is an input of the person who pressed; where no rule lets them in they are
// told so and nothing comes of it.
func TestPresses(t *testing.T) {
	for _, c := range []struct {
		rule string
		act  gateway.Act
		told string
	}{
		{everyone, gateway.ActAnswer, ""},
		{"", gateway.ActSilence, "This is not for you."},
	} {
		told := make(chan string, 1)
		m, v := asked(t, c.rule, told).Press(attache.Press{Place: attache.Place{Bot: "nova", Chat: 6}, From: attache.Person{ID: "tg:user:6"}, Data: "yes"}, 7)
		if v.Act != c.act || <-told != c.told || m.Text != "[pressed] yes" || m.ID != -7 {
			t.Errorf("%+v becomes %+v", m, v)
		}
	}
}

// Two bots that answer each other are cut off after five exchanges, until a person
// speaks (decisions § 6.6).
func TestALoopIsCut(t *testing.T) {
	j := asked(t, bots, nil)
	m := message("tg:user:6", "hello")
	m.From.IsBot = true
	answered := func() (n int) {
		for range 8 {
			if j.Message(m).Act == gateway.ActAnswer {
				n++
			}
		}
		return n
	}
	if n := answered(); n != 5 {
		t.Errorf("a bot is answered %d times", n)
	}
	j.Message(message("tg:user:6", "stop it"))
	if n := answered(); n != 5 {
		t.Errorf("after a person spoke, a bot is answered %d times", n)
	}
}
