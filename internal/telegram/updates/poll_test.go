package updates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"attache"
	"attache/internal/telegram"
)

// memoryInbox is an Inbox that can be told to fail.
type memoryInbox struct {
	mu      sync.Mutex
	kept    []attache.RawUpdate
	offset  int64
	away    int // how many of the next calls of Offset fail
	failing int // and of Keep
}

func failing(left *int) error {
	if *left > 0 {
		*left--
		return errors.New("connection refused")
	}
	return nil
}

func (in *memoryInbox) Offset(context.Context, attache.BotID) (int64, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.offset, failing(&in.away)
}

func (in *memoryInbox) Keep(_ context.Context, bot attache.BotID, updates []attache.RawUpdate) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := failing(&in.failing); err != nil {
		return err
	}
	for _, u := range updates {
		known := slices.ContainsFunc(in.kept, func(k attache.RawUpdate) bool { return k.ID == u.ID })
		if !known && bot == "nova" {
			in.kept = append(in.kept, u)
		}
	}
	return nil
}

// pollScript is a Telegram that gives prepared answers to getUpdates, one a call, and
// then holds the line for as long as it is asked to before it gives an empty one.
type pollScript struct {
	mu      sync.Mutex
	answers []string // "<status> <body>"; "cut" closes the line
	hook    string   // the answer to deleteWebhook
	asked   []int64  // the offsets
	at      []time.Time
	bodies  []string
	calls   []string
}

const noUpdates = `200 {"ok":true,"result":[]}`

func (s *pollScript) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s.mu.Lock()
	s.calls = append(s.calls, method)
	if method != "getUpdates" {
		hook := s.hook
		s.mu.Unlock()
		if hook == "" {
			hook = `200 {"ok":true,"result":true}`
		}
		return httpAnswer(hook)
	}
	var params struct{ Offset, Timeout int64 }
	_ = json.Unmarshal(body, &params)
	s.asked, s.at, s.bodies = append(s.asked, params.Offset), append(s.at, time.Now()), append(s.bodies, string(body))
	if len(s.answers) > 0 {
		next := s.answers[0]
		s.answers = s.answers[1:]
		s.mu.Unlock()
		return httpAnswer(next)
	}
	s.mu.Unlock()
	select {
	case <-time.After(time.Duration(params.Timeout) * time.Second):
		return httpAnswer(noUpdates)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func httpAnswer(answer string) (*http.Response, error) {
	if answer == "cut" {
		return nil, io.ErrUnexpectedEOF
	}
	var status int
	fmt.Sscan(answer, &status)
	_, body, _ := strings.Cut(answer, " ")
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// batchOf is an answer with the updates of these ids.
func batchOf(ids ...int64) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"date":1,"chat":{"id":5,"type":"private"},"text":"hi"}}`, id))
	}
	return `200 {"ok":true,"result":[` + strings.Join(parts, ",") + `]}`
}

func refusedWith(code int, words string) string {
	return fmt.Sprintf(`%d {"ok":false,"error_code":%d,"description":%q}`, code, code, words)
}

// runPoll runs a poller in a bubble of fake time for as long as span, and gives it
// back together with its log.
func runPoll(t *testing.T, s *pollScript, inbox *memoryInbox, span time.Duration, check func(p *Poller, log string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(testToken), HTTP: &http.Client{Transport: s}})
		p := NewPoller(PollerOptions{Client: client, Inbox: inbox, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		time.Sleep(span) // fake time: the bubble's clock
		synctest.Wait()
		check(p, log.String())
		noToken(t, log.String())
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run gave %v", err)
		}
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestPollStoresBeforeItConfirms(t *testing.T) {
	s := &pollScript{answers: []string{batchOf(100, 101), batchOf(102)}}
	inbox := &memoryInbox{offset: 100}
	runPoll(t, s, inbox, time.Second, func(p *Poller, log string) {
		if got := fmt.Sprint(s.asked); got != "[100 102 103]" || idsOf(inbox.kept) != "100 101 102" {
			t.Errorf("asked %s, kept %s", got, idsOf(inbox.kept))
		}
		if s.calls[0] != "deleteWebhook" || s.calls[1] != "getUpdates" || !s.at[0].Equal(s.at[2]) {
			t.Errorf("the first polls must come at once: %v %v", s.calls, s.at)
		}
		want := `{"offset":100,"timeout":50,"allowed_updates":["message","edited_message","channel_post","edited_channel_post","callback_query","my_chat_member","chat_member","stopped_message_generation","business_connection","business_message"]}`
		if s.bodies[0] != want {
			t.Errorf("body %s", s.bodies[0])
		}
		if last, problem := p.Healthy(); last.IsZero() || problem != "" || log != "" {
			t.Errorf("last %v, problem %q, log %s", last, problem, log)
		}
	})
}

// Every fault: nothing is lost, nothing is confirmed early, one line when it begins
// and one when it ends.
//
// row L1
func TestPollOutlivesEveryFault(t *testing.T) {
	conflict := refusedWith(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
	tests := map[string]struct {
		answers []string
		failing int
		says    string // in the log and in Healthy
	}{
		"second poller":        {[]string{conflict, conflict, conflict}, 0, "another instance polls with this bot's token, or a webhook is set"},
		"wrong token":          {[]string{refusedWith(401, "Unauthorized"), refusedWith(401, "Unauthorized")}, 0, "TELEGRAM_BOT_TOKEN_NOVA"},
		"no token at all":      {[]string{refusedWith(404, "Not Found")}, 0, "TELEGRAM_BOT_TOKEN_NOVA"},
		"cut line":             {[]string{"cut", "cut"}, 0, "cannot be reached"},
		"truncated 200":        {[]string{`200 {"ok":true,"result":[{"update_id":100,"mess`}, 0, "no proper answer"},
		"page of a proxy":      {[]string{"502 <html>Bad Gateway</html>", "502 <html>Bad Gateway</html>"}, 0, "no proper answer"},
		"404 of a proxy":       {[]string{"404 <html>Not Found</html>"}, 0, "no proper answer"},
		"server error":         {[]string{refusedWith(500, "Internal Server Error")}, 0, "no proper answer"},
		"result is no list":    {[]string{`200 {"ok":true,"result":{"update_id":100}}`}, 0, "no update with a readable update_id"},
		"only hostile updates": {[]string{`200 {"ok":true,"result":[{"update_id":"x"},7]}`}, 0, "no update with a readable update_id"},
		"store away":           {[]string{batchOf(100, 101), batchOf(100, 101), batchOf(100, 101)}, 3, "cannot be stored"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &pollScript{answers: append(test.answers, batchOf(100, 101), batchOf(102))}
			inbox := &memoryInbox{offset: 100, failing: test.failing, away: test.failing}
			runPoll(t, s, inbox, 2*time.Minute, func(p *Poller, log string) {
				if idsOf(inbox.kept) != "100 101 102" {
					t.Errorf("kept %s", idsOf(inbox.kept))
				}
				for i, offset := range s.asked {
					want := []int64{100, 102, 103}[min(max(i-len(test.answers), 0), 2)]
					if offset != want {
						t.Errorf("poll %d asked for %d, want %d", i, offset, want)
					}
				}
				if _, problem := p.Healthy(); problem != "" {
					t.Errorf("still a problem: %s", problem)
				}
				if strings.Count(log, test.says) != 1 || strings.Count(log, "polling works again") != 1 || strings.Count(log, "\n") != 2 {
					t.Errorf("want one line at the beginning and one at the end:\n%s", log)
				}
				if !strings.Contains(log, "bot=nova") {
					t.Errorf("the bot is not named:\n%s", log)
				}
			})
		})
	}
}

func TestPollTellsWhatIsWrongNow(t *testing.T) {
	s := &pollScript{}
	for range 500 {
		s.answers = append(s.answers, refusedWith(401, "Unauthorized"))
	}
	runPoll(t, s, &memoryInbox{}, time.Hour, func(p *Poller, log string) {
		last, problem := p.Healthy()
		if !last.IsZero() || !strings.Contains(problem, "TELEGRAM_BOT_TOKEN_NOVA") || !strings.Contains(problem, "Unauthorized") {
			t.Errorf("%v %q", last, problem)
		}
		if n := strings.Count(log, "\n"); n != 1 {
			t.Errorf("an hour's outage took %d lines:\n%s", n, log)
		}
		if n := len(s.asked); n < 60 || n > 130 {
			t.Errorf("a wrong token was tried %d times in an hour", n)
		}
	})
}

// Two pollers that take turns must not fill the log.
func TestPollFlappingIsToldOnceAMinute(t *testing.T) {
	s := &pollScript{}
	for i := range int64(300) {
		s.answers = append(s.answers, refusedWith(409, "Conflict"), batchOf(100+i))
	}
	inbox := &memoryInbox{}
	runPoll(t, s, inbox, 5*time.Minute, func(_ *Poller, log string) {
		if n := strings.Count(log, "\n"); n < 2 || n > 12 {
			t.Errorf("%d lines in five minutes:\n%s", n, log)
		}
		if len(inbox.kept) < 200 {
			t.Errorf("only %d updates came through", len(inbox.kept))
		}
	})
}

func TestPollHonoursRetryAfter(t *testing.T) {
	s := &pollScript{answers: []string{`429 {"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":17}}`}}
	runPoll(t, s, &memoryInbox{}, time.Minute, func(*Poller, string) {
		if wait := s.at[1].Sub(s.at[0]); wait < 17*time.Second || wait > 18*time.Second {
			t.Errorf("waited %v", wait)
		}
	})
}

func TestPollFaultsBackOffToFiveSeconds(t *testing.T) {
	s := &pollScript{}
	for range 40 {
		s.answers = append(s.answers, "cut")
	}
	runPoll(t, s, &memoryInbox{}, 2*time.Minute, func(*Poller, string) {
		if first := s.at[1].Sub(s.at[0]); first > 200*time.Millisecond {
			t.Errorf("the first retry waited %v", first)
		}
		for i := 1; i < len(s.at); i++ {
			if wait := s.at[i].Sub(s.at[i-1]); wait > 5*time.Second || wait <= 0 {
				t.Errorf("retry %d waited %v", i, wait)
			}
		}
		if len(s.at) > 60 {
			t.Errorf("%d tries in two minutes", len(s.at))
		}
	})
}

func TestPollHostileElementInTheMiddle(t *testing.T) {
	s := &pollScript{answers: []string{`200 {"ok":true,"result":[{"update_id":100,"message":{}},{"update_id":{"a":1}},"x",{"update_id":103,"message":"no object"}]}`}}
	inbox := &memoryInbox{}
	runPoll(t, s, inbox, time.Second, func(p *Poller, log string) {
		if idsOf(inbox.kept) != "100 103" || s.asked[1] != 104 || p.Unreadable() != 2 {
			t.Errorf("kept %s, asked %v, unreadable %d", idsOf(inbox.kept), s.asked, p.Unreadable())
		}
		if !strings.Contains(log, "2 of them, the first") {
			t.Errorf("log:\n%s", log)
		}
		if _, problem := p.Healthy(); problem != "" {
			t.Errorf("problem %q", problem)
		}
	})
}

func TestPollQuietHourIsHealthy(t *testing.T) {
	s := &pollScript{}
	runPoll(t, s, &memoryInbox{}, time.Hour, func(p *Poller, log string) {
		last, problem := p.Healthy()
		if time.Since(last) > time.Minute || problem != "" || log != "" {
			t.Errorf("last success %v ago, %q, log %s", time.Since(last), problem, log)
		}
		if n := len(s.asked); n != 73 { // one every 50 s, the last one open
			t.Errorf("%d polls in an hour", n)
		}
	})
}

// A server that answers an empty list at once is not asked in a tight loop.
func TestPollEmptyAnswersArePaced(t *testing.T) {
	s := &pollScript{}
	for range 1000 {
		s.answers = append(s.answers, noUpdates)
	}
	runPoll(t, s, &memoryInbox{}, 10*time.Second, func(*Poller, string) {
		if len(s.asked) > 102 || len(s.asked) < 50 {
			t.Errorf("%d polls in 10 s", len(s.asked))
		}
	})
}

func TestPollNumbersThatBeginAnew(t *testing.T) {
	t.Run("told by the answer", func(t *testing.T) {
		s := &pollScript{answers: []string{batchOf(900000), batchOf(12, 13), batchOf(14)}}
		inbox := &memoryInbox{offset: 900000}
		runPoll(t, s, inbox, time.Second, func(*Poller, string) {
			if fmt.Sprint(s.asked) != "[900000 900001 14 15]" || idsOf(inbox.kept) != "900000 12 13 14" {
				t.Errorf("asked %v, kept %s", s.asked, idsOf(inbox.kept))
			}
		})
	})
	t.Run("after a week of silence", func(t *testing.T) {
		s := &pollScript{answers: []string{batchOf(900000)}}
		inbox := &memoryInbox{offset: 900000}
		runPoll(t, s, inbox, 8*24*time.Hour, func(*Poller, string) {
			if s.asked[1] != 900001 || s.asked[len(s.asked)-1] != 0 {
				t.Errorf("first %v, last %d", s.asked[:2], s.asked[len(s.asked)-1])
			}
			for _, offset := range s.asked {
				if offset < 0 {
					t.Errorf("a negative offset forgets updates: %d", offset)
				}
			}
		})
	})
}

// A server that repeats what was confirmed is not asked in a tight loop either.
func TestPollRepeatedUpdates(t *testing.T) {
	s := &pollScript{}
	for range 1000 {
		s.answers = append(s.answers, batchOf(100))
	}
	inbox := &memoryInbox{}
	runPoll(t, s, inbox, time.Minute, func(_ *Poller, log string) {
		if len(s.asked) > 40 || idsOf(inbox.kept) != "100" || strings.Count(log, "\n") != 1 {
			t.Errorf("%d polls, kept %s, log:\n%s", len(s.asked), idsOf(inbox.kept), log)
		}
	})
}

func TestPollWebhookInTheWay(t *testing.T) {
	active := refusedWith(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	deleted := func(s *pollScript) int {
		n := 0
		for _, c := range s.calls {
			if c == "deleteWebhook" {
				n++
			}
		}
		return n
	}
	t.Run("set by somebody later is theirs", func(t *testing.T) {
		s := &pollScript{answers: []string{active, active, active, batchOf(100)}}
		runPoll(t, s, &memoryInbox{}, time.Minute, func(_ *Poller, log string) {
			if deleted(s) != 1 || !strings.Contains(log, "a webhook is set") {
				t.Errorf("deleted %d times\n%s", deleted(s), log)
			}
		})
	})
	t.Run("left from before is tried until it is gone", func(t *testing.T) {
		s := &pollScript{hook: refusedWith(500, "Internal Server Error"), answers: []string{active, active, batchOf(100)}}
		inbox := &memoryInbox{}
		runPoll(t, s, inbox, time.Minute, func(*Poller, string) {
			if deleted(s) != 3 || idsOf(inbox.kept) != "100" {
				t.Errorf("deleted %d times, kept %s", deleted(s), idsOf(inbox.kept))
			}
		})
	})
}

func TestPollEndsInTheMiddleWithoutLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pollScript{answers: []string{batchOf(100)}}
		ctx, cancel := context.WithCancel(t.Context())
		inbox := &cancellingInbox{cancel: cancel}
		client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(testToken), HTTP: &http.Client{Transport: s}})
		if err := NewPoller(PollerOptions{Client: client, Inbox: inbox}).Run(ctx); err != nil {
			t.Error(err)
		}
		if fmt.Sprint(s.asked) != "[0]" {
			t.Errorf("an update that was not stored was confirmed: %v", s.asked)
		}
	})
}

// cancellingInbox ends the process, so to speak, while an update is being stored.
type cancellingInbox struct{ cancel context.CancelFunc }

func (*cancellingInbox) Offset(context.Context, attache.BotID) (int64, error) { return 0, nil }

func (in *cancellingInbox) Keep(ctx context.Context, _ attache.BotID, _ []attache.RawUpdate) error {
	in.cancel()
	return ctx.Err()
}

// The right to poll may go to another process and come back.
func TestPollRunsAgainFromWhereTheInboxStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pollScript{answers: []string{batchOf(100), "cut", "cut", "cut", "cut", "cut", "cut"}}
		inbox := &memoryInbox{}
		client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(testToken), HTTP: &http.Client{Transport: s}})
		p := NewPoller(PollerOptions{Client: client, Inbox: inbox})
		run := func(span time.Duration, during func()) {
			ctx, cancel := context.WithTimeout(t.Context(), span)
			defer cancel()
			time.AfterFunc(span-time.Millisecond, during)
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		run(time.Second, func() {
			if _, problem := p.Healthy(); problem == "" {
				t.Error("the outage is not told")
			}
		})
		if _, problem := p.Healthy(); problem != "" {
			t.Errorf("a poller at rest has no problem: %s", problem)
		}
		s.answers, inbox.offset = nil, 500
		run(time.Second, func() {})
		if last := s.asked[len(s.asked)-1]; last != 500 {
			t.Errorf("the second run asked for %d", last)
		}
	})
}

func TestTokenVariable(t *testing.T) {
	if got := tokenVariable("help-desk"); got != "TELEGRAM_BOT_TOKEN_HELP_DESK" {
		t.Error(got)
	}
}

// The same over a real line, where answers are cut, are pages or are torn.
func TestPollOverARealLine(t *testing.T) {
	kept := make(chan string, 10)
	var mu sync.Mutex
	var asked []string
	polls := []http.HandlerFunc{
		cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":true,\"result\":[{\"update_id\":100"),
		answer(502, "<html>Bad Gateway</html>"),
		answer(200, strings.TrimPrefix(batchOf(100, 101), "200 ")),
		answer(200, strings.TrimPrefix(batchOf(102), "200 ")),
	}
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/deleteWebhook") {
			answer(200, `{"ok":true,"result":true}`)(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		offset, _, _ := strings.Cut(string(body), ",")
		mu.Lock()
		asked = append(asked, offset)
		n := len(asked) - 1
		mu.Unlock()
		if n < len(polls) {
			polls[n](w, r)
			return
		}
		<-r.Context().Done() // the line is held
	})
	p := NewPoller(PollerOptions{Client: client, Inbox: tellingInbox{kept}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	if got := <-kept + ", " + <-kept; got != "100 101, 102" {
		t.Errorf("kept %s", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked[:4], " "); got != `{"offset":100 {"offset":100 {"offset":100 {"offset":102` {
		t.Errorf("asked %s", got)
	}
}

// tellingInbox says what it keeps.
type tellingInbox struct{ kept chan string }

func (tellingInbox) Offset(context.Context, attache.BotID) (int64, error) { return 100, nil }

func (in tellingInbox) Keep(_ context.Context, _ attache.BotID, updates []attache.RawUpdate) error {
	in.kept <- idsOf(updates)
	return nil
}
