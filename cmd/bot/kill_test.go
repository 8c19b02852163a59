package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/gateway/ledger"
	"attache/internal/model/modeltest"
	"attache/internal/store"
	"attache/internal/telegramsim"
)

// kills is how often the program is killed at a random moment.
const kills = 200

// words finds the numbered words that the kill tests say.
var words = regexp.MustCompile(`w\d+x`)

// crowd is several people in several places, saying numbered words.
type crowd struct {
	s      *stage
	chats  []*telegramsim.Chat
	thread map[*telegramsim.Chat]attache.ThreadID
	said   map[*telegramsim.Chat][]string
	n      int
}

func newCrowd(s *stage) *crowd {
	c := &crowd{s: s, thread: map[*telegramsim.Chat]attache.ThreadID{}, said: map[*telegramsim.Chat][]string{}}
	group := s.sim.AddChat(telegramsim.Chat{Kind: "group", Title: "Family"}, s.ann, s.bo, s.bot)
	forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bo, s.bot)
	c.thread[forum] = forum.CreateTopic(s.ann, "Billing")
	c.chats = []*telegramsim.Chat{s.sim.DM(s.ann, s.bot), s.sim.DM(s.bo, s.bot), group, forum}
	return c
}

// say says one word in a random place.
func (c *crowd) say() {
	c.n++
	chat := c.chats[rand.IntN(len(c.chats))]
	word := fmt.Sprintf("w%dx", c.n)
	from := c.s.ann
	if chat == c.chats[1] {
		from = c.s.bo
	}
	if _, err := chat.Send(telegramsim.Line{From: from, Text: word, Thread: c.thread[chat]}); err != nil {
		c.s.t.Fatal(err)
	}
	c.said[chat] = append(c.said[chat], word)
}

// heard counts each word in the bot's posts of a chat, in the order of the posts.
func heard(chat *telegramsim.Chat) (order []string, times map[string]int) {
	times = map[string]int{}
	for _, p := range chat.Posts() {
		for _, w := range words.FindAllString(p.Words(), -1) {
			order, times[w] = append(order, w), times[w]+1
		}
	}
	return order, times
}

// settled waits until every word was answered or its post is known to be unknown.
func (c *crowd) settled(db *store.DB) {
	c.s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for {
		unknown := c.unknown(ctx, db)
		missing := 0
		for chat, said := range c.said {
			_, times := heard(chat)
			for _, w := range said {
				if times[w] == 0 && !unknown[w] {
					missing++
				}
			}
		}
		if missing == 0 {
			return
		}
		if pause(ctx) != nil {
			c.s.t.Fatalf("%d of %d words were never answered and are not reported", missing, c.n)
		}
	}
}

// pause is a short wait between two looks at a fact.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// unknown gives the words of posts that are reported as of unknown fate.
func (c *crowd) unknown(ctx context.Context, db *store.DB) map[string]bool {
	found := map[string]bool{}
	t, err := ledger.ReadTroubles(ctx, db, time.Now().Add(-time.Hour))
	if err != nil {
		return found
	}
	for _, p := range t.Posts {
		for _, w := range words.FindAllString(p.Text, -1) {
			found[w] = true
		}
	}
	return found
}

// judge demands that nothing was lost, nothing said twice, and the order kept.
func (c *crowd) judge() {
	c.s.t.Helper()
	for chat, said := range c.said {
		order, times := heard(chat)
		for w, n := range times {
			if n > 1 {
				c.s.t.Errorf("%s: %s was said %d times", chat.Title, w, n)
			}
		}
		at := map[string]int{}
		for i, w := range said {
			at[w] = i
		}
		for i := 1; i < len(order); i++ {
			if at[order[i]] < at[order[i-1]] {
				c.s.t.Errorf("%s: %s was answered before %s", chat.Title, order[i-1], order[i])
			}
		}
	}
}

// A program that is killed at 200 random moments loses nothing and repeats nothing
// but a reported unknown; its private Postgres is adopted each time.
//
// rows N2, N8, L1
func TestRandomKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	s := newStage(t)
	dir := echoBrain(t, "30ms")
	c := newCrowd(s)
	env := []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token}
	args := []string{"run", "--brain", dir, "--telegram-api-url", s.url, "--listen", "off"}
	first := spawn(t, env, args...)
	c.say()
	s.await(c.awaited(), 1)
	first.kill()
	for range kills {
		p := spawn(t, env, args...)
		end := time.After(time.Duration(rand.IntN(600)) * time.Millisecond)
		for said := 0; ; said++ {
			if said < 4 {
				c.say()
			}
			select {
			case <-end:
			case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
				continue
			}
			break
		}
		p.kill()
	}
	last := spawn(t, env, args...)
	db := openBeside(t, dir)
	c.settled(db)
	c.judge()
	unknown := c.unknown(context.Background(), db)
	t.Logf("%d words, %d kills, %d words in posts of unknown fate", c.n, kills, len(unknown))
	db.Close()
	last.interrupt(t)
	if strings.Contains(last.log.String(), "level=ERROR") {
		t.Errorf("the last process logged an error:\n%s", last.log)
	}
}

// awaited is the chat of the first word.
func (c *crowd) awaited() *telegramsim.Chat {
	for chat := range c.said {
		return chat
	}
	return nil
}

// openBeside opens the private database of a running program as a second command
// does.
func openBeside(t *testing.T, dir string) *store.DB {
	t.Helper()
	log, err := newLog(t.Output(), "text,warn", nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := openDatabase(context.Background(), &flags{Brain: dir}, false, log, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db.DB
}

// The program is killed at each boundary of a step, with a message on its way.
//
// row N8
func TestKillPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, point := range []string{
		"intake.settled", "turn.claimed", "turn.begun", "turn.answered",
		"post.intended", "post.sending", "post.sent", "post.recorded",
	} {
		t.Run(point, func(t *testing.T) {
			s := newStage(t)
			dir := echoBrain(t, "0s")
			c := newCrowd(s)
			env := []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token}
			args := []string{"run", "--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url, "--listen", "off"}
			doomed := spawn(t, append(env, "ATTACHE_KILL="+point), args...)
			for range 4 {
				c.say()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if !doomed.ended(ctx) {
				t.Fatalf("the point %s was never reached\n%s", point, doomed.log)
			}
			began := time.Now()
			spawn(t, env, args...)
			log, err := newLog(t.Output(), "text,warn", nil)
			if err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(ctx, s.dsn, store.Options{Log: log})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			c.settled(db)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("recovery took %s", took)
			}
			c.judge()
		})
	}
}

// The program is killed at each boundary of a turn that asks a model and calls a
// tool. The requests after the kill have the same bytes, what the tool posts is
// posted once, and so is the answer, but for one whose fate is reported unknown.
//
// rows J7, N8
func TestKillPointsOfTheMind(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, point := range []string{"turn.begun", "tool.started", "tool.ran", "turn.answered", "post.sending", "post.sent", "post.recorded"} {
		t.Run(point, func(t *testing.T) {
			s := newStage(t)
			m := modeltest.New(t,
				modeltest.Rule{Tool: "notification_send", Answer: modeltest.Text("w2x done")},
				modeltest.Rule{Text: "tell", Answer: modeltest.Use("notification_send", `{"text":"w1x","chat":"tg:chat:-1001"}`)})
			group := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Desk"}, s.ann, s.bot)
			dm := s.sim.DM(s.ann, s.bot)
			env := []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token, "OPENAI_BASE_URL=" + m.URL, "OPENAI_API_KEY=k"}
			args := []string{"run", "--brain", deskBrain(t, ""), "--database-url", s.dsn, "--telegram-api-url", s.url, "--listen", "off"}
			doomed := spawn(t, append(env, "ATTACHE_KILL="+point), args...)
			dm.Say(s.ann, "tell the group")
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if !doomed.ended(ctx) {
				t.Fatalf("the point %s was never reached\n%s", point, doomed.log)
			}
			spawn(t, env, args...)
			db, err := store.Open(ctx, s.dsn, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			c := &crowd{s: s, chats: []*telegramsim.Chat{group, dm}, said: map[*telegramsim.Chat][]string{group: {"w1x"}, dm: {"w2x"}}}
			c.settled(db)
			c.judge()
			bodies := map[int]string{}
			for _, r := range m.Requests() {
				n := len(r.Messages)
				if was, seen := bodies[n]; seen && was != string(r.Raw) {
					t.Errorf("the request of %d messages has other bytes after the kill:\n%s\n%s", n, was, r.Raw)
				}
				bodies[n] = string(r.Raw)
			}
		})
	}
}
