package main

import (
	"context"
	"io"
	"net"
	"net/http"
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
	b        *testing.B
	telegram *plainTelegram
	answered []chan struct{} // of private chat 1000+i
	said     []int
	dsn      string
	child    *child
}

const benchToken = "7:benchbenchbench"

func newHall(b *testing.B, chats int) *hall {
	h := &hall{b: b, telegram: newPlainTelegram(b), said: make([]int, chats)}
	for i := range chats {
		h.answered = append(h.answered, h.telegram.open(int64(1000+i)))
	}
	return h
}

// attache starts the product on a durable Postgres of its own.
func (h *hall) attache(brain string) {
	h.dsn = storetest.NewDurable(h.b).DSN()
	h.child = spawn(h.b, []string{"TELEGRAM_BOT_TOKEN_NOVA=" + benchToken},
		"run", "--brain", brain, "--database-url", h.dsn, "--telegram-api-url", h.telegram.url, "--listen", "off", "--log", "text,warn")
	h.exchange(0)
}

// bare starts the bare echo bot.
func (h *hall) bare() {
	c := &child{cmd: exec.Command(os.Args[0], "-test.run", "^TestBareEchoBot$"), log: &logBuffer{}, done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), bareToken+"="+benchToken, "TELEGRAM_API_URL="+h.telegram.url)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		h.b.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.done) }()
	h.b.Cleanup(c.kill)
	h.child = c
	h.exchange(0)
}

// exchange says something in a chat and waits for the answer.
func (h *hall) exchange(chat int) {
	h.said[chat]++
	h.telegram.say(int64(1000+chat), h.said[chat], "hello")
	select {
	case <-h.answered[chat]:
	case <-time.After(time.Minute):
		h.b.Errorf("chat %d was not answered\n%s", chat, h.child.log)
	}
}

// latency says one thing after the other and waits for each answer.
func (h *hall) latency() {
	var took []time.Duration
	for h.b.Loop() {
		began := time.Now()
		h.exchange(0)
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
	for i := range h.answered {
		wg.Go(func() {
			for range work {
				h.exchange(i)
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

// instantModel answers at once; it notes when a request came.
type instantModel struct {
	url   string
	asked chan time.Time
}

func newInstantModel(b *testing.B) *instantModel {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	m := &instantModel{url: "http://" + l.Addr().String() + "/v1", asked: make(chan time.Time, 1<<16)}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case m.asked <- at:
		default:
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	})}
	go func() { _ = server.Serve(l) }()
	b.Cleanup(func() { _ = server.Close() })
	return m
}

// mindBrain answers everybody in private with a model.
func mindBrain(b *testing.B, m *instantModel) string {
	return brainFiles(b, map[string]string{
		"constitution/MANIFEST.yaml":  "telegram: { pace: off }\nsessions: { historyTokens: 400 }\nmodels: { default: { model: instant, baseUrl: " + m.url + " } }\n",
		"constitution/access.yaml":    "bots:\n  nova:\n    merge: 0s\n    dm: { role: home, people: everyone }\n",
		"features/home/FEATURE.md":    "---\ndescription: Home.\n---\n",
		"features/home/home.agent.md": "---\ndescription: Helps.\n---\nYou help.\n",
	})
}

// Update to the model's request and to the answer, with a model that answers at once.
func BenchmarkModelLatency(b *testing.B) {
	m := newInstantModel(b)
	h := newHall(b, 1)
	h.attache(mindBrain(b, m))
	<-m.asked
	var asked, took []time.Duration
	for b.Loop() {
		began := time.Now()
		h.exchange(0)
		took = append(took, time.Since(began))
		asked = append(asked, (<-m.asked).Sub(began))
	}
	slices.Sort(took)
	slices.Sort(asked)
	b.ReportMetric(float64(asked[len(asked)/2].Microseconds())/1000, "ms-to-model")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-to-answer")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
}

// Turns a second over 100 chats with a model that answers at once.
func BenchmarkModelTurns(b *testing.B) {
	h := newHall(b, 100)
	h.attache(mindBrain(b, newInstantModel(b)))
	h.throughput()
}

// Group messages that are stored and decided a second; none is addressed to the bot.
func BenchmarkGroupMessages(b *testing.B) {
	h := newHall(b, 1)
	h.attache(brainFiles(b, map[string]string{
		"constitution/MANIFEST.yaml": "telegram: { pace: off }\nmodels: { default: { model: echo } }\n",
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
		h.telegram.say(int64(-1001000-i%20), 1+i/20, "a line of the room")
	}
	for n := 0; n < b.N; {
		time.Sleep(10 * time.Millisecond)
		if err := conn.QueryRow(ctx, `select count(*) from attache.messages where role = 'room'`).Scan(&n); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "messages/s")
}

// Start to first poll: from nothing, and on the database of an earlier time.
func BenchmarkStart(b *testing.B) {
	for _, name := range []string{"from-nothing", "existing-database"} {
		b.Run(name, func(b *testing.B) {
			dir := echoBrain(b, "0s")
			if name == "existing-database" {
				firstPoll(b, dir)
			}
			var took []time.Duration
			for b.Loop() {
				took = append(took, firstPoll(b, dir))
				if name == "from-nothing" {
					dir = echoBrain(b, "0s")
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-median")
		})
	}
}

func firstPoll(b *testing.B, dir string) time.Duration {
	s := newPlainTelegram(b)
	began := time.Now()
	c := spawn(b, []string{"TELEGRAM_BOT_TOKEN_NOVA=" + benchToken}, "run", "--brain", dir, "--telegram-api-url", s.url, "--listen", "off")
	select {
	case <-s.polled:
	case <-time.After(time.Minute):
		b.Fatal("it never polled", c.log)
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
	const window = 30 * time.Second
	time.Sleep(window)
	used := cpu(b, h.child.cmd.Process.Pid) - before
	for b.Loop() {
	}
	b.ReportMetric(100*used.Seconds()/window.Seconds(), "%core")
	b.ReportMetric(rss(b, h.child.cmd.Process.Pid), "MB")
}

// cpu gives the processor time that a process has used, to the nanosecond: the
// ticks of /proc/PID/stat are too coarse for a process that sleeps.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "schedstat"))
	if err != nil || len(tasks) == 0 {
		b.Skip("this system does not tell what a process uses")
	}
	var used time.Duration
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		used += time.Duration(ns)
	}
	return used
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
