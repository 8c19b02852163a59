package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/heartbeat"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// stage is a Telegram with one bot and the real program on it, through the same
// command line that a person types.
type stage struct {
	t    *testing.T
	sim  *telegramsim.Server
	url  string
	bot  *telegramsim.User
	ann  *telegramsim.User
	bo   *telegramsim.User
	dsn  string
	log  *logBuffer
	stop func()

	clock heartbeat.Clock // that the program goes by; nil: the machine's
}

// logBuffer collects the log of a program for tests to read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	sim := telegramsim.New(telegramsim.Options{})
	url, err := sim.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	s := &stage{t: t, sim: sim, url: url, dsn: storetest.DSN(t)}
	s.bot = sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	s.bot.SetPrivacy(false)
	s.ann = sim.AddPerson(telegramsim.User{ID: 5, Name: "Ann"})
	s.bo = sim.AddPerson(telegramsim.User{ID: 6, Name: "Bo"})
	t.Cleanup(func() {
		for _, v := range sim.Violations() {
			t.Error("the Bot API was called wrongly: " + v)
		}
	})
	return s
}

// start runs `attache run` in this process; it is stopped with the test.
func (s *stage) start(args ...string) {
	s.t.Helper()
	s.t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", s.bot.Token)
	ctx, cancel := context.WithCancel(context.Background())
	s.log = &logBuffer{}
	code := make(chan int, 1)
	all := append([]string{"run", "--database-url", s.dsn, "--telegram-api-url", s.url, "--listen", "off", "--brain", echoBrain(s.t, "100ms")}, args...)
	log := s.log
	go func() { code <- runBy(ctx, s.clock, all, stdio{strings.NewReader(""), log, log}) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if c := <-code; c != 0 {
			s.t.Errorf("attache run ended with %d", c)
		}
		if s.t.Failed() {
			s.t.Log(log.String())
		}
		if strings.Contains(log.String(), s.bot.Token) {
			s.t.Error("the bot's token stands in the log")
		}
	})
	s.t.Cleanup(s.stop)
}

// await waits until a chat holds n posts of bots and gives their words.
func (s *stage) await(c *telegramsim.Chat, n int, threads ...attache.ThreadID) []string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := s.sim.Wait(ctx, func() bool { return len(c.Posts(threads...)) >= n })
	var words []string
	for _, p := range c.Posts(threads...) {
		words = append(words, p.Words())
	}
	if err != nil {
		s.t.Fatalf("%d posts came to %s, %d were awaited: %q\n%s", len(words), c.Title, n, words, s.log)
	}
	return words
}

// row L1 (one bot by polling), L2, L5
func TestEchoThroughTheWholePath(t *testing.T) {
	s := newStage(t)
	s.start()
	dm := s.sim.DM(s.ann, s.bot)
	forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, s.ann, s.bo, s.bot)
	topic := forum.CreateTopic(s.ann, "Billing")
	dm.Say(s.ann, "hello **you**")
	if _, err := forum.Send(telegramsim.Line{From: s.bo, Text: "in the topic", Thread: topic}); err != nil {
		t.Fatal(err)
	}
	general := forum.Say(s.ann, "in General")
	if got := s.await(dm, 1); got[0] != "hello you" {
		t.Errorf("DM: %q", got)
	}
	if p := dm.Posts()[0]; len(p.Marks) != 1 || p.Marks[0].Kind != "bold" || p.ReplyTo != 0 {
		t.Errorf("the answer in the DM is %+v", p)
	}
	if got := s.await(forum, 1, topic); !slices.Equal(got, []string{"in the topic"}) {
		t.Errorf("topic: %q", got)
	}
	s.await(forum, 1, 0)
	if p := forum.Posts(0)[0]; p.Text != "in General" || p.ReplyTo != general || p.Thread != 0 {
		t.Errorf("the answer in General is %+v", p)
	}
}

// row L5
func TestABurstIsOneTurn(t *testing.T) {
	s := newStage(t)
	s.start()
	dm := s.sim.DM(s.ann, s.bot)
	for _, w := range strings.Fields("a b c d e f g h i j k l m n o p q r s t") {
		dm.Say(s.ann, w)
	}
	if got := s.await(dm, 1); got[0] != strings.Join(strings.Fields("a b c d e f g h i j k l m n o p q r s t"), "\n\n") {
		t.Errorf("posts %q", got)
	}
}

func TestWrongUsageAndWrongTokens(t *testing.T) {
	dir := echoBrain(t, "0s")
	for _, c := range []struct {
		name, token string
		args        []string
		code        int
		say         string
	}{
		{"no token", "", []string{"run", "--brain", dir}, 1, "TELEGRAM_BOT_TOKEN_NOVA"},
		{"not a token", "hello", []string{"run", "--brain", dir}, 1, "does not look like one"},
		{"no brain", "1:abcdef", []string{"run", "--brain", t.TempDir()}, 2, "there is no brain"},
		{"unknown command", "", []string{"fly"}, 2, "attache --help"},
		{"unknown flag", "", []string{"run", "--fly"}, 2, "--fly"},
		{"bad log", "1:abcdef", []string{"run", "--log", "xml"}, 2, "neither text, json nor a level"},
		{"bad chat", "", []string{"turns", "--chat", "family"}, 2, "tg:chat:"},
		{"help", "", []string{"--help"}, 0, "demo"},
		{"nothing", "", nil, 0, "demo"},
		{"version", "", []string{"version"}, 0, "go1."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TELEGRAM_BOT_TOKEN", c.token)
			var out bytes.Buffer
			if code := run(context.Background(), c.args, stdio{strings.NewReader(""), &out, &out}); code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, &out)
			}
			if !strings.Contains(out.String(), c.say) {
				t.Errorf("it says %q; %q is missing", &out, c.say)
			}
		})
	}
}

func TestSecretsFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("123:from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TELEGRAM_BOT_TOKEN_MY_BOT_FILE", file)
	found, err := tokens(nil)
	if err != nil || found["my-bot"].Reveal() != "123:from-a-file" {
		t.Fatalf("%v, %v", found, err)
	}
}
