package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/telegramsim"
)

// send puts a line into a chat.
func (s *stage) send(c *telegramsim.Chat, l telegramsim.Line) attache.MessageID {
	s.t.Helper()
	id, err := c.Send(l)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// An answer goes where its question stood, whatever kind of place that is.
//
// row L2
func TestAnswersGoWhereTheQuestionWas(t *testing.T) {
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("300ms")))

	dm := s.sim.DM(s.ann, s.bot)
	dm.SetForum(true)
	dm.SetNext(10) // 1 is General everywhere
	trip, work := dm.CreateTopic(s.ann, "Trip"), dm.CreateTopic(s.ann, "Work")
	forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bo, s.bot)
	one, two := forum.CreateTopic(s.ann, "One"), forum.CreateTopic(s.ann, "Two")
	plain := s.sim.AddChat(telegramsim.Chat{Kind: "supergroup", Title: "Plain"}, s.ann, s.bo, s.bot)

	s.send(dm, telegramsim.Line{From: s.ann, Text: "of the trip", Thread: trip})
	s.send(dm, telegramsim.Line{From: s.ann, Text: "of work", Thread: work})
	s.send(dm, telegramsim.Line{From: s.ann, Text: "of neither"})
	inOne := s.send(forum, telegramsim.Line{From: s.ann, Text: "in one", Thread: one})
	s.send(forum, telegramsim.Line{From: s.ann, Text: "in two", Thread: two})
	newest := s.send(forum, telegramsim.Line{From: s.bo, Text: "also in two", Thread: two})
	general := forum.Say(s.bo, "in General")
	root := plain.Say(s.ann, "a root")
	stray := s.send(plain, telegramsim.Line{From: s.bo, Text: "a chain of replies", ReplyTo: root}) // carries a thread id that is none

	for _, x := range []struct {
		chat   *telegramsim.Chat
		thread attache.ThreadID
		want   string
		reply  attache.MessageID
	}{
		{dm, trip, "of the trip", 0},
		{dm, work, "of work", 0},
		{dm, 0, "of neither", 0},
		{forum, one, "in one", inOne},
		{forum, two, "in two\n\nalso in two", newest},
		{forum, 0, "in General", general},
		{plain, 0, "a root\n\na chain of replies", stray},
	} {
		s.await(x.chat, 1, x.thread)
		if p := x.chat.Posts(x.thread); len(p) != 1 || p[0].Text != x.want || p[0].ReplyTo != x.reply {
			t.Errorf("in %s, thread %d: %+v", x.chat.Title, x.thread, p)
		}
	}
	for _, c := range s.sim.Calls(telegramsim.Filter{Method: "sendMessage", Chat: plain.ID}) {
		if _, there := c.Params["message_thread_id"]; there {
			t.Error("a plain supergroup was sent a thread id")
		}
	}
}

// A question that is gone when its answer comes is answered without a reply.
func TestADeletedQuestionIsAnsweredWithoutAReply(t *testing.T) {
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("300ms")))
	group := s.sim.AddChat(telegramsim.Chat{Kind: "supergroup", Title: "G"}, s.ann, s.bot)
	id := group.Say(s.ann, "never mind")
	if err := group.Remove(id); err != nil {
		t.Fatal(err)
	}
	s.await(group, 1)
	if p := group.Posts()[0]; p.Text != "never mind" || p.ReplyTo != 0 {
		t.Errorf("%+v", p)
	}
}

// An answer whose topic is gone is dropped and told of, and goes to the chat only
// where the rule says so.
func TestForumModeSwitchedOff(t *testing.T) {
	for gone, want := range map[string]string{"drop": "", "chat": "in the topic"} {
		t.Run(gone, func(t *testing.T) {
			s := newStage(t)
			s.start("--brain", brainWith(t, "bots:\n  nova:\n    merge: 300ms\n    default: { role: echo, people: everyone, engage: all, gone: "+gone+" }\n"))
			forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bot)
			topic := forum.CreateTopic(s.ann, "One")
			s.send(forum, telegramsim.Line{From: s.ann, Text: "in the topic", Thread: topic})
			forum.SetForum(false)
			until(t, s.log, "the turn ended", func() bool { return s.log.has("a turn ended") })
			said := ""
			for _, p := range forum.Posts() {
				said += p.Text
			}
			if said != want {
				t.Errorf("the chat was told %q, want %q", said, want)
			}
			if refused := s.log.has("Telegram refused a post"); refused != (want == "") {
				t.Errorf("a refused post is told of: %v", refused)
			}
			before := len(forum.Posts())
			forum.Say(s.ann, "without topics")
			if got := s.await(forum, before+1); got[before] != "without topics" {
				t.Errorf("afterwards: %q", got)
			}
		})
	}
}

// A group that becomes a supergroup goes on: what was said before, during and
// after is answered once, under the rule that names the old number.
//
// row L6 (migration)
func TestAGroupBecomesASupergroup(t *testing.T) {
	s := newStage(t)
	group := s.sim.AddChat(telegramsim.Chat{ID: -4077, Kind: "group", Title: "Family"}, s.ann, s.bo, s.bot)
	s.start("--brain", brainWith(t, "bots:\n  nova:\n    merge: 200ms\n    chats:\n      \"tg:chat:-4077\": { role: echo, people: everyone, engage: all }\n"))
	for i := range 4 {
		group.Say(s.ann, fmt.Sprintf("w%dx", i))
		s.await(group, i+1)
	}
	group.Say(s.bo, "w4x") // waits for its quiet time
	super := group.Migrate()
	super.Say(s.ann, "w5x")
	s.await(super, 1)
	for i := 6; i < 12; i++ { // numbers that the group had as well
		super.Say(s.ann, fmt.Sprintf("w%dx", i))
		until(t, s.log, "it was answered", func() bool { _, times := heard(super); return times[fmt.Sprintf("w%dx", i)] > 0 })
	}
	if old, _ := heard(group); !slices.Equal(old, []string{"w0x", "w1x", "w2x", "w3x"}) {
		t.Errorf("in the group: %q", old)
	}
	if now, _ := heard(super); !slices.Equal(now, []string{"w4x", "w5x", "w6x", "w7x", "w8x", "w9x", "w10x", "w11x"}) {
		t.Errorf("in the supergroup: %q", now)
	}
	for _, p := range super.Posts() {
		if p.ReplyTo != 0 && !strings.Contains(answeredTo(super, p), lastWord(p.Text)) {
			t.Errorf("%q replies to %q", p.Text, answeredTo(super, p))
		}
	}
}

// answeredTo gives the words that a post replies to.
func answeredTo(c *telegramsim.Chat, p telegramsim.Post) string {
	for _, m := range c.History() {
		if m.ID == p.ReplyTo {
			return m.Text
		}
	}
	return ""
}

func lastWord(s string) string {
	all := strings.Fields(s)
	return all[len(all)-1]
}

// The group's new number may be told by a refused send before the notice is
// handled: the answer goes there, once.
//
// row L6 (migration)
func TestASendIsTheFirstToHearOfTheMove(t *testing.T) {
	s := newStage(t)
	hold := s.holdFirst("sendMessage")
	group := s.sim.AddChat(telegramsim.Chat{ID: -4078, Kind: "group", Title: "Family"}, s.ann, s.bo, s.bot)
	s.start("--brain", brainWith(t, "bots:\n  nova:\n    merge: 0s\n    chats:\n      \"tg:chat:-4078\": { role: echo, people: everyone, engage: all }\n"))
	group.Say(s.ann, "w0x")
	<-hold.came
	group.Say(s.bo, "w1x") // waits behind the turn that runs
	super := group.Migrate()
	hold.now()
	until(t, s.log, "all was answered", func() bool { order, _ := heard(super); return len(order) >= 2 })
	if now, _ := heard(super); !slices.Equal(now, []string{"w0x", "w1x"}) || len(group.Posts()) != 0 {
		t.Errorf("in the supergroup %q, in the group %d posts", now, len(group.Posts()))
	}
}

// A bot that was thrown out says so in the log, repeats nothing, and goes on when
// it is let in again.
//
// row L6 (removal)
func TestThrownOutAndLetInAgain(t *testing.T) {
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("200ms")))
	group := s.sim.AddChat(telegramsim.Chat{Kind: "supergroup", Title: "G"}, s.ann, s.bot)
	group.Say(s.ann, "one")
	group.SetStatus(s.ann, s.bot, "kicked")
	until(t, s.log, "the refusal is told", func() bool { return s.log.has("Telegram refused a post") && s.log.has("bot was kicked") })
	group.SetStatus(s.ann, s.bot, "member")
	group.Say(s.ann, "two")
	if got := s.await(group, 1); !slices.Equal(got, []string{"two"}) {
		t.Errorf("answers %q", got)
	}
	if n := len(s.sim.Calls(telegramsim.Filter{Method: "sendMessage"})); n != 2 {
		t.Errorf("%d calls, want the refused one and the answer", n)
	}
}

// What belongs together is one turn: an album, a text that the client cut, an edit
// before the answer, and what is said while an answer is on its way.
//
// row L5
func TestWhatBelongsTogetherIsOneTurn(t *testing.T) {
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("50ms")))
	people := make([]*telegramsim.Chat, 3)
	for i := range people {
		people[i] = s.sim.DM(s.sim.AddPerson(telegramsim.User{}), s.bot)
	}
	album, long, edited := people[0], people[1], people[2]
	for i, caption := range []string{"of the beach", "", ""} {
		s.send(album, telegramsim.Line{From: album.Person(), Text: caption, Album: "a1",
			File: &telegramsim.File{Kind: "photo", Name: fmt.Sprint(i, ".jpg"), Data: []byte{1}}})
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); { // items of an album come one by one
			_ = pause(soon(t))
		}
	}
	text := strings.Repeat("wordful ", 1100) // cut between words
	long.SayLong(long.Person(), text)
	id := edited.Say(edited.Person(), "helo")
	if err := edited.Edit(id, telegramsim.Line{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if got := s.await(edited, 1); got[0] != "hello" {
		t.Errorf("edited: %q", got)
	}
	if got := s.await(album, 1); strings.Count(got[0], "[photo]") != 3 || !strings.Contains(got[0], "of the beach") {
		t.Errorf("album: %q", got)
	}
	s.await(long, 1)
	conn := connect(t, s.dsn)
	until(t, s.log, "all turns ended", func() bool { return count(t, conn, `select count(*) from attache.turns where ended is null`) == 0 })
	if n := count(t, conn, `select count(*) from attache.turns`); n != 3 {
		t.Errorf("%d turns, want one for each person", n)
	}
	said := ""
	for _, p := range long.Posts() {
		said += p.Words()
	}
	if n := strings.Count(said, "wordful"); n != 1100 {
		t.Errorf("%d of 1100 words came back", n)
	}
}

// One place that hangs keeps no other waiting, and keeps its own order.
//
// row L5
func TestAPlaceThatHangsKeepsNoOtherWaiting(t *testing.T) {
	s := newStage(t)
	hold := s.holdFirst("sendMessage")
	s.start("--brain", brainWith(t, everywhere("0s")))
	forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bo, s.bot)
	one, two := forum.CreateTopic(s.ann, "One"), forum.CreateTopic(s.ann, "Two")
	dm := s.sim.DM(s.bo, s.bot)
	s.send(forum, telegramsim.Line{From: s.ann, Text: "w0x", Thread: one})
	<-hold.came
	for i := 1; i <= 3; i++ {
		s.send(forum, telegramsim.Line{From: s.ann, Text: fmt.Sprintf("w%dx", i), Thread: one})
		s.send(forum, telegramsim.Line{From: s.bo, Text: fmt.Sprintf("w%dx", i), Thread: two})
		dm.Say(s.bo, fmt.Sprintf("w%dx", i))
		until(t, s.log, "the others are answered", func() bool {
			last := fmt.Sprintf("w%dx", i)
			_, inDM := heard(dm)
			topic := forum.Posts(two)
			return inDM[last] == 1 && len(topic) > 0 && strings.Contains(topic[len(topic)-1].Text, last)
		})
	}
	if n := len(forum.Posts(one)); n != 0 {
		t.Errorf("%d posts in the topic that hangs", n)
	}
	hold.now()
	if got := s.await(forum, 2, one); !slices.Equal(got, []string{"w0x", "w1x\n\nw2x\n\nw3x"}) {
		t.Errorf("in the topic that hung: %q", got)
	}
}
