package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/telegramsim"
)

// tableMarkdown is what only a rich message shows as it is.
const tableMarkdown = "| a | b |\n| --- | --- |\n| w1x | **w2x** |"

// Each way in which a send may end, through the whole program: an answer is sent
// again only when Telegram certainly did not take it; what is refused goes out in
// the next simpler form; what nobody knows is told and never repeated.
//
// rows L7 (text), L9
func TestFatesOfAnswers(t *testing.T) {
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("0s")))
	cases := []struct {
		name   string
		say    string
		fault  telegramsim.Fault
		calls  int
		words  string // what stands in the chat in the end, "" for nothing
		told   string // what doctor says of it, "" for nothing
		marked bool   // whether it is formatted
		method string // that made it
	}{
		{"an error of Telegram's own", "w1x", telegramsim.Fault{Kind: telegramsim.ServerError}, 2, "w1x", "", false, "sendMessage"},
		{"a page of something in front", "w2x", telegramsim.Fault{Kind: telegramsim.BadGateway}, 1, "", "nobody knows", false, ""},
		{"cut after it took effect", "w3x", telegramsim.Fault{Kind: telegramsim.CutAfter}, 1, "w3x", "nobody knows", false, "sendMessage"},
		{"cut before it took effect", "w4x", telegramsim.Fault{Kind: telegramsim.CutBefore}, 1, "", "nobody knows", false, ""},
		{"half an answer", "w5x", telegramsim.Fault{Kind: telegramsim.Truncated}, 1, "w5x", "nobody knows", false, "sendMessage"},
		{"entities are fine", "**w6x**", telegramsim.Fault{Kind: telegramsim.Refuse, Param: "nothing"}, 1, "w6x", "", true, "sendMessage"},
		{"entities refused", "**w7x**", telegramsim.Fault{Kind: telegramsim.Refuse, Param: "entities", Text: "can't parse entities"}, 2, "w7x", "", false, "sendMessage"},
		{"rich is fine", tableMarkdown, telegramsim.Fault{Kind: telegramsim.Refuse, Param: "nothing"}, 1, tableMarkdown, "", false, "sendRichMessage"},
		{"rich refused", tableMarkdown, telegramsim.Fault{Kind: telegramsim.Refuse, Param: "rich_message", Text: "RICH_MESSAGE_INVALID"}, 2, "w1x", "", true, "sendMessage"},
		{"a server without rich messages", tableMarkdown, telegramsim.Fault{Kind: telegramsim.Unknown, Method: "sendRichMessage"}, 2, "w1x", "", true, "sendMessage"},
		{"all forms but plain refused", tableMarkdown, telegramsim.Fault{Kind: telegramsim.Refuse, Times: 2, Text: "can't parse entities"}, 3, "w1x", "", false, "sendMessage"},
		{"refused in every form", "w9x", telegramsim.Fault{Kind: telegramsim.Refuse, Times: -1, Text: "can't parse entities"}, 2, "", "Telegram refused", false, ""},
	}
	chats := make([]*telegramsim.Chat, len(cases))
	for i, c := range cases {
		chats[i] = s.sim.DM(s.sim.AddPerson(telegramsim.User{ID: int64(500 + i)}), s.bot)
		c.fault.Chat = chats[i].ID
		s.sim.Break(c.fault)
	}
	for i, c := range cases {
		chats[i].Say(chats[i].Person(), c.say)
	}
	blocked := s.sim.DM(s.bo, s.bot)
	blocked.SetStatus(s.bo, s.bot, "kicked")
	s.sim.Inject(s.bot, `{"message":{"message_id":77,"date":1,"chat":{"id":6,"type":"private"},"from":{"id":6,"is_bot":false,"first_name":"Bo"},"text":"w10x"}}`)
	forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bo, s.bot)
	topic := forum.CreateTopic(s.ann, "Closed")
	if err := forum.CloseTopic(s.ann, topic, true); err != nil {
		t.Fatal(err)
	}
	s.send(forum, telegramsim.Line{From: s.ann, Text: "w11x", Thread: topic}) // an admin may

	until(t, s.log, "the bot is there", func() bool { return s.log.has("the bot is there") })
	conn := connect(t, s.dsn)
	until(t, s.log, "all turns ended", func() bool {
		return count(t, conn, `select count(*) from attache.turns where ended is not null`) == len(cases)+2
	})
	var out bytes.Buffer
	if code := s.attache(&out, "doctor"); code != 0 {
		t.Errorf("doctor ends with %d", code)
	}
	finding := func(chat attache.ChatID) string {
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, fmt.Sprintf("nova/%d/", int64(chat))) {
				return line
			}
		}
		return ""
	}
	for i, c := range cases {
		calls := s.sim.Calls(telegramsim.Filter{Chat: chats[i].ID})
		if len(calls) != c.calls {
			t.Errorf("%s: %d calls, want %d", c.name, len(calls), c.calls)
		}
		posts := chats[i].Posts()
		switch {
		case c.words == "" && len(posts) != 0, c.words != "" && len(posts) != 1:
			t.Errorf("%s: %d posts", c.name, len(posts))
		case c.words != "" && (!strings.Contains(posts[0].Words(), c.words) || posts[0].Method != c.method || (len(posts[0].Marks) > 0) != c.marked):
			t.Errorf("%s: %+v", c.name, posts[0])
		}
		if f := finding(chats[i].ID); c.told == "" && f != "" || !strings.Contains(f, c.told) {
			t.Errorf("%s: doctor says %q, want %q", c.name, f, c.told)
		}
	}
	for chat, why := range map[attache.ChatID]string{6: "blocked by the user", forum.ID: "TOPIC_CLOSED"} {
		if f := finding(chat); !strings.Contains(f, "Telegram refused") || !strings.Contains(f, why) {
			t.Errorf("chat %d: doctor says %q, want %q", chat, f, why)
		}
	}
	if n := strings.Count(s.log.String(), "the fate of a post is unknown; it is not repeated"); n != 4 {
		t.Errorf("the log tells of %d unknown posts", n)
	}
	if n := strings.Count(s.log.String(), "Telegram refused a post"); n != 3 {
		t.Errorf("the log tells of %d refused posts", n)
	}
	s.sim.Heal()
	for i := range cases {
		before := len(chats[i].Posts())
		chats[i].Say(chats[i].Person(), "and on")
		if got := s.await(chats[i], before+1); got[before] != "and on" {
			t.Errorf("%s: afterwards %q", cases[i].name, got)
		}
	}
}

// attache runs a command on the stage's database.
func (s *stage) attache(out *bytes.Buffer, args ...string) int {
	return run(context.Background(), append(args, "--database-url", s.dsn, "--telegram-api-url", s.url, "--brain", brainWith(s.t, everywhere("0s"))),
		stdio{strings.NewReader(""), out, out})
}

// A pause that Telegram asks for holds that chat only, and a restart does not end it.
//
// row L9 (429)
func TestAPauseIsKeptOverARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	s := newStage(t)
	dir := echoBrain(t, "0s")
	held, free := s.sim.DM(s.ann, s.bot), s.sim.DM(s.bo, s.bot)
	s.sim.Break(telegramsim.Fault{Method: "sendMessage", Chat: held.ID, Kind: telegramsim.Flood, RetryAfter: 7})
	first := s.replica(dir, nil, "--listen", "off")
	s.log = first.log
	held.Say(s.ann, "w0x")
	conn := connect(t, s.dsn)
	until(t, first.log, "the pause is kept", func() bool {
		var n int
		_ = conn.QueryRow(soon(t), `select count(*) from attache.holds where chat = 5 and exists (select from attache.posts where state = 'intent')`).Scan(&n)
		return n == 1
	})
	free.Say(s.bo, "meanwhile")
	s.await(free, 1)
	first.kill()
	second := s.replica(dir, nil, "--listen", "off")
	s.log = second.log
	held.Say(s.ann, "w1x")
	s.await(held, 2)
	calls := s.sim.Calls(telegramsim.Filter{Chat: held.ID})
	if len(calls) != 3 {
		t.Fatalf("%d calls", len(calls))
	}
	if after := calls[1].At.Sub(calls[0].At); after < 7*time.Second || after > 9*time.Second {
		t.Errorf("the call was made again after %s, 7 s were asked for", after)
	}
	if order, _ := heard(held); !slices.Equal(order, []string{"w0x", "w1x"}) {
		t.Errorf("answers %q", order)
	}
}

// The form of an answer is the bot's: long text as one rich message, or as parts
// with their formatting intact.
//
// row L7 (text)
func TestFormsOfALongAnswer(t *testing.T) {
	s := newStage(t)
	terse := s.sim.AddBot(telegramsim.User{Name: "Terse", Username: "terse_bot"})
	fancy := s.sim.AddBot(telegramsim.User{Name: "Fancy", Username: "fancy_bot"})
	rule := "    merge: 0s\n    dm: { role: echo, people: everyone }\n"
	dir := brainWith(t, "bots:\n  nova:\n"+rule+"  terse:\n    format: entities\n"+rule+"  fancy:\n    format: rich\n"+rule)
	t.Setenv("TELEGRAM_BOT_TOKEN_TERSE", terse.Token)
	t.Setenv("TELEGRAM_BOT_TOKEN_FANCY", fancy.Token)
	s.start("--brain", dir)

	// Telegram takes 4,096 units and 100 entities a message; this has 5,000 and 372.
	line := "plain **bold** and `code`, " // 27 units
	var long []string
	for i := range 2 {
		long = append(long, strings.Repeat(line, 93)+fmt.Sprint("end", i))
	}
	say := func(b *telegramsim.User) *telegramsim.Chat {
		dm := s.sim.DM(s.ann, b)
		for i, text := range long {
			s.send(dm, telegramsim.Line{From: s.ann, Text: text, Album: fmt.Sprint("a", i/2)}) // one album: one turn
		}
		return dm
	}
	auto, parts := say(s.bot), say(terse)
	short := s.sim.DM(s.ann, fancy)
	short.Say(s.ann, "a **word**")

	s.await(auto, 1)
	if p := auto.Posts(); len(p) != 1 || p[0].Method != "sendRichMessage" || strings.Count(p[0].Rich, "**bold**") != 186 || !strings.Contains(p[0].Rich, "end1") {
		t.Errorf("auto: %d posts, %s", len(p), p[0].Method)
	}
	until(t, s.log, "all parts came", func() bool {
		all := parts.Posts()
		return len(all) > 0 && strings.Contains(all[len(all)-1].Text, "end1")
	})
	all := ""
	bold, code := 0, 0
	for _, p := range parts.Posts() {
		if p.Method != "sendMessage" || attache.UTF16Len(p.Text) > 4096 {
			t.Errorf("entities: %s of %d units", p.Method, attache.UTF16Len(p.Text))
		}
		all += p.Text
		for _, m := range p.Marks {
			words, ok := attache.UTF16Slice(p.Text, m.Offset, m.Length)
			switch {
			case ok && m.Kind == "bold" && words == "bold":
				bold++
			case ok && m.Kind == "code" && words == "code":
				code++
			default:
				t.Errorf("entities: a mark %+v on %q", m, words)
			}
		}
	}
	if bold != 186 || code != 186 || strings.Count(strings.Join(strings.Fields(all), ""), "plainboldandcode,") != 186 {
		t.Errorf("entities: %d bold, %d code", bold, code)
	}
	s.await(short, 1)
	if p := short.Posts()[0]; p.Method != "sendRichMessage" || p.Rich != "a **word**" {
		t.Errorf("rich: %+v", p)
	}
}

// The commands that look, beside a running `run` on the private Postgres and
// without one.
//
// row N2 (a second command)
func TestCommandsBesideARunningOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a server")
	}
	s := newStage(t)
	dir := brainWith(t, everywhere("0s"))
	env := []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token}
	running := spawn(t, env, "run", "--brain", dir, "--telegram-api-url", s.url, "--listen", "off")
	s.log = running.log
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "hello **you**")
	s.await(dm, 1)
	until(t, running.log, "the turn ended", func() bool { return running.log.has("a turn ended") })

	t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", s.bot.Token)
	command := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := run(context.Background(), append(args, "--brain", dir, "--telegram-api-url", s.url), stdio{strings.NewReader(""), &out, &errs})
		return out.String() + errs.String(), code
	}
	look := func(t *testing.T) {
		for _, x := range []struct {
			args []string
			code int
			says []string
		}{
			{[]string{"turns"}, 0, []string{"1  2", "nova/5/0", "chat  answered"}},
			{[]string{"turns", "--chat", "5"}, 0, []string{"answered"}},
			{[]string{"turns", "1"}, 0, []string{"hello **you**", "hello you", "sent"}},
			{[]string{"turns", "999"}, 1, []string{"there is no turn 999"}},
			{[]string{"turns", "one"}, 2, nil},
			{[]string{"turns", "0x1"}, 2, []string{"0x1", "in digits"}},
			{[]string{"turns", "0"}, 2, []string{"in digits"}},
			{[]string{"turns", "--limit", "-5"}, 2, []string{"--limit", "-5", "from 1"}},
			{[]string{"turns", "--limit", "0"}, 2, []string{"from 1"}},
			{[]string{"replay", "0x1"}, 2, []string{"in digits"}},
			{[]string{"turns", "--chat", "here"}, 2, []string{"tg:chat:"}},
			{[]string{"doctor"}, 0, nil},
			{[]string{"explain", "--chat", "5", "--reply-to", "999", "hello"}, 0, []string{"engaged  yes: engage: all", "message 999 is no post of nova here"}},
		} {
			out, code := command(x.args...)
			if code != x.code {
				t.Errorf("attache %q ends with %d, want %d\n%s", x.args, code, x.code, out)
			}
			for _, want := range x.says {
				if !strings.Contains(out, want) {
					t.Errorf("attache %q does not say %q:\n%s", x.args, want, out)
				}
			}
		}
		if out, _ := command("turns", "--chat", "6"); out != "" {
			t.Errorf("turns of another chat: %q", out)
		}
		var list []struct {
			ID     int64
			Status string
			Place  attache.Place
		}
		out, code := command("turns", "--json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list) != 1 || list[0].Status != "answered" || list[0].Place.Chat != 5 {
			t.Errorf("turns --json: %v, %d\n%s", err, code, out)
		}
		var one struct {
			ID    int64
			Posts []struct{ State, Text string }
		}
		out, code = command("turns", "1", "--json")
		if err := json.Unmarshal([]byte(out), &one); err != nil || code != 0 || one.ID != 1 || len(one.Posts) != 1 || one.Posts[0].State != "sent" {
			t.Errorf("turns 1 --json: %v, %d\n%s", err, code, out)
		}
		var health struct {
			OK       *bool
			Findings []struct{ Level, Check, What string }
		}
		out, code = command("doctor", "--json")
		if err := json.Unmarshal([]byte(out), &health); err != nil || code != 0 || health.OK == nil || !*health.OK {
			t.Errorf("doctor --json: %v, %d\n%s", err, code, out)
		}
	}
	t.Run("beside", look)
	dm.Say(s.ann, "still there?")
	s.await(dm, 2)
	running.interrupt(t)
	conn := func() string { out, _ := command("turns", "2"); return out }
	if !strings.Contains(conn(), "still there?") {
		t.Errorf("without a run: %s", conn())
	}
	if out, code := command("explain", "--chat", "5", "--reply-to", "999", "hello"); code != 0 || !strings.Contains(out, "message 999 is no post of nova here") {
		t.Errorf("explain without a run ends with %d: %s", code, out)
	}
}

// doctor says what is wrong by its exit code too; a database that cannot be
// reached is a check that was not made.
func TestDoctorsExitCode(t *testing.T) {
	s := newStage(t)
	t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", s.bot.Token)
	var out bytes.Buffer
	if code := s.attache(&out, "doctor"); code != 0 {
		t.Errorf("a good brain: %d\n%s", code, &out)
	}
	dir := brainWith(t, everywhere("0s")+"    chats:\n      \"tg:chat:-1\": { role: nobody, people: everyone }\n")
	out.Reset()
	if code := run(context.Background(), []string{"doctor", "--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url}, stdio{nil, &out, &out}); code != 1 || !strings.Contains(out.String(), "access.yaml:") {
		t.Errorf("an unknown role: %d\n%s", code, &out)
	}
	out.Reset()
	unreachable := "postgres://nobody:secret@127.0.0.1:1/none?connect_timeout=1"
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if code := run(ctx, []string{"doctor", "--brain", brainWith(t, everywhere("0s")), "--database-url", unreachable, "--telegram-api-url", s.url}, stdio{nil, &out, &out}); code != 0 || !strings.Contains(out.String(), "skipped  Database") {
		t.Errorf("an unreachable database: %d\n%s", code, &out)
	}
	if strings.Contains(out.String(), "secret@") || strings.Contains(out.String(), ":secret") {
		t.Errorf("the password is said: %s", &out)
	}
}
