package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"attache/internal/store/storetest"
	"attache/internal/telegramsim"

	tgbot "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// bareToken marks the child of the bench that is the bare echo bot.
const bareToken = "ATTACHE_BENCH_BARE_TOKEN"

// TestBareEchoBot is no test: the bench starts it as a child, the plainest echo bot
// on the same library, to stand beside the product in the same run.
func TestBareEchoBot(t *testing.T) {
	token, url := os.Getenv(bareToken), os.Getenv("TELEGRAM_API_URL")
	if token == "" {
		t.Skip("only for the bench")
	}
	b, err := tgbot.New(token, tgbot.WithServerURL(url), tgbot.WithSkipGetMe(), tgbot.WithDefaultHandler(
		func(ctx context.Context, b *tgbot.Bot, u *models.Update) {
			if u.Message != nil {
				_, _ = b.SendMessage(ctx, &tgbot.SendMessageParams{ChatID: u.Message.Chat.ID, Text: u.Message.Text})
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	b.Start(t.Context())
}

// hall is a Telegram with many private chats and one program on it.
type hall struct {
	b     *testing.B
	sim   *telegramsim.Server
	bot   *telegramsim.User
	chats []*telegramsim.Chat
	url   string
	dsn   string
	child *child
}

func newHall(b *testing.B, chats int) *hall {
	sim := telegramsim.New(telegramsim.Options{Keep: 2000})
	url, err := sim.Listen()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(sim.Close)
	h := &hall{b: b, sim: sim, url: url, bot: sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})}
	h.bot.SetPrivacy(false)
	for i := range chats {
		p := sim.AddPerson(telegramsim.User{ID: int64(1000 + i), Name: fmt.Sprintf("P%d", i)})
		h.chats = append(h.chats, sim.DM(p, h.bot))
	}
	return h
}

// attache starts the product on a durable Postgres of its own.
func (h *hall) attache(brain string) {
	h.dsn = storetest.NewDurable(h.b).DSN()
	h.child = spawn(h.b, []string{"TELEGRAM_BOT_TOKEN_NOVA=" + h.bot.Token},
		"run", "--brain", brain, "--database-url", h.dsn, "--telegram-api-url", h.url, "--listen", "off", "--log", "text,warn")
	h.say(0, "warm")
	h.answered(0, 1)
}

// bare starts the bare echo bot.
func (h *hall) bare() {
	c := &child{cmd: exec.Command(os.Args[0], "-test.run", "^TestBareEchoBot$"), log: &logBuffer{}, done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), bareToken+"="+h.bot.Token, "TELEGRAM_API_URL="+h.url)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		h.b.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.done) }()
	h.b.Cleanup(c.kill)
	h.child = c
	h.say(0, "warm")
	h.answered(0, 1)
}

func (h *hall) say(chat int, text string) {
	c := h.chats[chat]
	if _, err := c.Send(telegramsim.Line{From: c.Person(), Text: text}); err != nil {
		h.b.Fatal(err)
	}
}

func (h *hall) answered(chat, posts int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.sim.Wait(ctx, func() bool { return h.chats[chat].PostCount() >= posts }); err != nil {
		h.b.Fatalf("chat %d: %d posts of %d came\n%s", chat, h.chats[chat].PostCount(), posts, h.child.log)
	}
}

// latency says one thing after the other and waits for each answer.
func (h *hall) latency() {
	var took []time.Duration
	n := 1
	for h.b.Loop() {
		began := time.Now()
		h.say(0, "hello "+strconv.Itoa(n))
		n++
		h.answered(0, n)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	h.b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-median")
	h.b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}

// throughput keeps every chat busy: each says the next thing when it is answered.
func (h *hall) throughput() {
	work := make(chan struct{}, h.b.N)
	for range h.b.N {
		work <- struct{}{}
	}
	close(work)
	h.b.ResetTimer()
	began := time.Now()
	var wg sync.WaitGroup
	for i := range h.chats {
		wg.Go(func() {
			n := h.chats[i].PostCount()
			for range work {
				h.say(i, "x")
				n++
				h.answered(i, n)
			}
		})
	}
	wg.Wait()
	h.b.ReportMetric(float64(h.b.N)/time.Since(began).Seconds(), "turns/s")
}

// Update to answer, one message at a time: merge 0, telegram.pace off.
func BenchmarkUpdateToAnswer(b *testing.B) {
	b.Run("attache", func(b *testing.B) { h := newHall(b, 1); h.attache(echoBrain(b, "0s")); h.latency() })
	b.Run("bare", func(b *testing.B) { h := newHall(b, 1); h.bare(); h.latency() })
}

// Turns a second over 100 chats, each of which waits for its answer.
func BenchmarkTurns(b *testing.B) {
	b.Run("attache", func(b *testing.B) { h := newHall(b, 100); h.attache(echoBrain(b, "0s")); h.throughput() })
	b.Run("bare", func(b *testing.B) { h := newHall(b, 100); h.bare(); h.throughput() })
}

// Group messages that are stored and decided a second; none is addressed to the bot.
func BenchmarkGroupMessages(b *testing.B) {
	h := newHall(b, 1)
	var groups []*telegramsim.Chat
	for i := range 20 {
		groups = append(groups, h.sim.AddChat(telegramsim.Chat{Kind: "supergroup", Title: fmt.Sprintf("G%d", i)}, h.chats[0].Person(), h.bot))
	}
	h.attache(brain(b, map[string]string{
		"constitution/MANIFEST.yaml": "telegram: { pace: off }\n",
		"constitution/access.yaml": "bots:\n  nova:\n    merge: 0s\n    dm: { role: echo, people: everyone }\n" +
			"    default: { role: echo, people: everyone, engage: mention, observe: true }\n",
		"features/echo/FEATURE.md":    "---\ndescription: Says again what was said.\n---\n",
		"features/echo/echo.agent.md": "---\ndescription: Says again what was said.\n---\n",
	}))
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, h.dsn)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	b.ResetTimer()
	began := time.Now()
	for i := range b.N {
		groups[i%len(groups)].Say(h.chats[0].Person(), "a line of the room "+strconv.Itoa(i))
	}
	for n := 0; n < b.N; {
		if err := conn.QueryRow(ctx, `select count(*) from attache.messages where role = 'room'`).Scan(&n); err != nil {
			b.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "messages/s")
}

// Start to first poll: from nothing, and on the database of an earlier time.
func BenchmarkStart(b *testing.B) {
	for _, fresh := range []bool{true, false} {
		name := map[bool]string{true: "from-nothing", false: "existing-database"}[fresh]
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			dir := echoBrain(b, "0s")
			for b.Loop() {
				if fresh {
					dir = echoBrain(b, "0s")
				}
				took = append(took, firstPoll(b, dir))
			}
			slices.Sort(took)
			if !fresh && len(took) > 1 {
				took = took[:len(took)-1] // the first of them made the database
			}
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
		})
	}
}

func firstPoll(b *testing.B, dir string) time.Duration {
	h := newHall(b, 1)
	began := time.Now()
	c := spawn(b, []string{"TELEGRAM_BOT_TOKEN_NOVA=" + h.bot.Token}, "run", "--brain", dir, "--telegram-api-url", h.url, "--listen", "off")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.sim.Wait(ctx, func() bool { return len(h.sim.Calls(telegramsim.Filter{Method: "getUpdates"})) > 0 }); err != nil {
		b.Fatal(err, c.log)
	}
	took := time.Since(began)
	c.interrupt(b)
	return took
}

// Idle: memory and processor time of the process when nothing happens.
func BenchmarkIdle(b *testing.B) {
	h := newHall(b, 1)
	h.attache(echoBrain(b, "0s"))
	before := cpu(b, h.child.cmd.Process.Pid)
	const window = 10 * time.Second
	time.Sleep(window)
	used := cpu(b, h.child.cmd.Process.Pid) - before
	b.ReportMetric(100*used.Seconds()/window.Seconds(), "%core")
	b.ReportMetric(rss(b, h.child.cmd.Process.Pid), "MB")
	for b.Loop() {
	}
}

// cpu gives the processor time that a process has used.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		b.Skip("this system has no /proc")
	}
	fields := strings.Fields(string(text)[strings.LastIndex(string(text), ")")+2:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss gives the resident memory of a process in MB.
func rss(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Skip("this system has no /proc")
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024
		}
	}
	return 0
}
