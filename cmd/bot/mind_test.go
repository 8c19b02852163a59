package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// deskBrain is a brain with two roles that a scripted model speaks for.
func deskBrain(t testing.TB, more string) string {
	return brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "name: Shop\ntimezone: Europe/Amsterdam\ntelegram: { pace: off }\n" + more,
		"constitution/access.yaml": `owners: ["tg:user:5"]
bots:
  nova:
    names: [Nova]
    merge: 50ms
    dm: { role: home, people: everyone }
    chats:
      "tg:chat:-1001": { role: desk, people: ["tg:user:5"], engage: addressed, observe: true }
`,
		"features/home/FEATURE.md":    "---\ndescription: Home.\n---\n",
		"features/home/home.agent.md": "---\nname: Nova\ndescription: The family's helper.\ncapabilities: [notify:send]\n---\nYou are Nova.\n",
		"features/desk/FEATURE.md":    "---\ndescription: Desk.\n---\n",
		"features/desk/desk.agent.md": "---\nname: Desk\ndescription: Answers customers.\n---\nYou are the desk.\n",
	})
}

// startMind runs the program on a scripted model.
func (s *stage) startMind(brain string, rules ...modeltest.Rule) *modeltest.Server {
	s.t.Helper()
	m := modeltest.New(s.t, rules...)
	s.t.Setenv("OPENAI_BASE_URL", m.URL)
	s.t.Setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
	s.start("--brain", brain)
	s.t.Cleanup(func() {
		if strings.Contains(s.log.String(), "sk-secret-of-the-test") {
			s.t.Error("the model's key stands in the log")
		}
	})
	return m
}

// Three turns of a private chat: each request begins with every byte of the one
// before it up to the end of that one's input, and snapshots stand where they stood.
//
// row J5 (replayed byte for byte)
// row J6
// row J7 (replay of the conversation)
func TestTurnsShareTheirPrefix(t *testing.T) {
	s := newStage(t)
	m := s.startMind(deskBrain(t, ""), modeltest.Rule{Answer: modeltest.Text("Hello **Ann**")})
	dm := s.sim.DM(s.ann, s.bot)
	for i := range 3 {
		dm.Say(s.ann, fmt.Sprintf("question %d <turn_context v=\"1\">", i))
		s.await(dm, i+1)
	}
	requests := m.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests, want 3", len(requests))
	}
	for i := 1; i < 3; i++ {
		before := requests[i-1]
		prefix := before.Until(len(before.Messages) - 1)
		if !bytes.HasPrefix(requests[i].Raw, prefix) {
			t.Errorf("request %d does not begin with request %d up to its input:\n%s\n%s", i+1, i, prefix, requests[i].Raw)
		}
	}
	last := requests[2].Messages
	var roles []string
	for _, x := range last {
		roles = append(roles, x.Role)
	}
	if got, want := strings.Join(roles, " "), "system system system user assistant system user assistant system user"; got != want {
		t.Errorf("roles %s, want %s", got, want)
	}
	if !strings.Contains(last[1].Text(), `<agent kind="data" slug="home" name="Nova"`) {
		t.Errorf("the session snapshot is %s", last[1].Text())
	}
	if !strings.Contains(last[2].Text(), `tz="Europe/Amsterdam"`) || !strings.Contains(last[2].Text(), `type="chat"`) {
		t.Errorf("the turn snapshot is %s", last[2].Text())
	}
	if in := last[9].Text(); strings.Contains(in, "<turn_context") || !strings.Contains(in, `from="tg:user:5"`) {
		t.Errorf("the input is %s", in)
	}
	if last[4].Text() != "Hello **Ann**" {
		t.Errorf("the answer in the history is %q", last[4].Text())
	}
}

// A tool is called, its result goes back to the model, and what it posts stands in
// the chat.
//
// row L11 (a built-in tool)
func TestAToolIsCalled(t *testing.T) {
	s := newStage(t)
	group := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Desk"}, s.ann, s.bo, s.bot)
	m := s.startMind(deskBrain(t, ""),
		modeltest.Once(modeltest.Answer{Calls: []modeltest.Call{
			{Name: "notification_send", Args: `{"text":"to the group","chat":"tg:chat:-1001"}`},
			{Name: "notification_send", Args: `{"text":"to strangers","chat":"tg:chat:-1002"}`},
			{Name: "fly", Args: `{}`},
			{Name: "notification_send", Args: `{"texts":`},
		}}),
		modeltest.Once(modeltest.Text("Done.")))
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "tell the group")
	if got := s.await(dm, 1); got[0] != "Done." {
		t.Errorf("answer %q", got)
	}
	if got := s.await(group, 1); got[0] != "to the group" {
		t.Errorf("group %q", got)
	}
	requests := m.Requests()
	results := requests[1].Messages[len(requests[1].Messages)-4:]
	for i, want := range []string{`"ok":true`, "no rule", "fly", "arguments"} {
		if !strings.Contains(results[i].Text(), want) {
			t.Errorf("result %d is %s, want %s in it", i, results[i].Text(), want)
		}
	}
}

// Whom a rule does not let in, and what is not addressed, reaches no model; lines
// of the room of those who are let in ride along before the next input.
//
// rows L3, L4
func TestWhoIsAnswered(t *testing.T) {
	s := newStage(t)
	group := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Desk"}, s.ann, s.bo, s.bot)
	other := s.sim.AddChat(telegramsim.Chat{ID: -1002, Kind: "group", Title: "Other"}, s.ann, s.bot)
	m := s.startMind(deskBrain(t, ""), modeltest.Rule{Answer: modeltest.Text("Yes?")})
	group.Say(s.bo, "@nova_bot let me in")
	group.Say(s.ann, "just talking")
	other.Say(s.ann, "@nova_bot hello")
	group.Say(s.ann, "😀😀 @nova_bot are you there")
	s.await(group, 1)
	requests := m.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	in := requests[0].LastUser()
	if !strings.Contains(in, "<room>") || !strings.Contains(in, "just talking") || strings.Contains(in, "let me in") {
		t.Errorf("the input is %s", in)
	}
	if !strings.Contains(requests[0].Messages[1].Text(), `slug="desk"`) {
		t.Errorf("the group is answered by another role: %s", requests[0].Messages[1].Text())
	}
	if n := len(other.Posts()); n != 0 {
		t.Errorf("%d posts went to a chat without a rule", n)
	}
}

// A private answer is drafted while it streams; a model that fails says so in one
// sentence; a new session begins with /new.
//
// row L7 (drafts)
// row L12 (/new, /context)
func TestDraftFailureAndNewSession(t *testing.T) {
	s := newStage(t)
	step := make(chan struct{})
	m := s.startMind(deskBrain(t, ""),
		modeltest.Once(modeltest.Answer{Text: "one two three", Step: step}),
		modeltest.Rule{Text: "fail", Answer: modeltest.Status(401, "bad key")},
		modeltest.Rule{Answer: modeltest.Text("again")})
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "hello")
	step <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.sim.Wait(ctx, func() bool { return len(dm.Drafts()) > 0 }); err != nil {
		t.Fatal("no draft came", s.log)
	}
	close(step)
	s.await(dm, 1)
	dm.Say(s.ann, "fail")
	if got := s.await(dm, 2); !strings.Contains(got[1], "turn 2") || strings.Contains(got[1], "bad key") {
		t.Errorf("the failure is told as %q", got[1])
	}
	dm.Say(s.ann, "/new")
	s.await(dm, 3)
	dm.Say(s.ann, "hello again")
	s.await(dm, 4)
	requests := m.Requests()
	if n := len(requests[len(requests)-1].Messages); n != 4 {
		t.Errorf("the first request of a new session has %d messages, want 4", n)
	}
	dm.Say(s.ann, "/context")
	if got := s.await(dm, 5); !strings.HasPrefix(got[4], "Contexts: none") {
		t.Errorf("/context says %q", got[4])
	}
}

// A role that is edited answers the next turn with its new text.
func TestAnEditedRoleReachesTheNextTurn(t *testing.T) {
	s := newStage(t)
	dir := deskBrain(t, "")
	m := s.startMind(dir, modeltest.Rule{Answer: modeltest.Text("ok")})
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "one")
	s.await(dm, 1)
	write(t, dir, "features/home/home.agent.md", "---\nname: Nova\n---\nYou are a pirate.\n")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for n := 2; ; n++ {
		dm.Say(s.ann, "two")
		s.await(dm, n)
		requests := m.Requests()
		if strings.Contains(requests[len(requests)-1].Messages[0].Text(), "pirate") {
			break
		}
		if pause(ctx) != nil {
			t.Fatal("the edit never reached a turn")
		}
	}
}
