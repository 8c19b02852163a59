package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"attache"
)

const testParams = `{"chat_id":-1001,"message_thread_id":42,"text":"a","reply_parameters":{"message_id":9,"allow_sending_without_reply":true}}`

func part(method string) attache.Part {
	return attache.Part{Method: method, Params: json.RawMessage(testParams), Text: "a", Format: attache.FormatEntities}
}

// refuse answers with one of Telegram's errors.
func refuse(code int, description string) http.HandlerFunc {
	return refuseWith(code, description, "{}")
}

func refuseWith(code int, description, parameters string) http.HandlerFunc {
	body, _ := json.Marshal(map[string]any{"ok": false, "error_code": code, "description": description, "parameters": json.RawMessage(parameters)})
	return answer(code, string(body))
}

// Each way in which a send may end, and what the gateway is told of it.
//
// row L9
func TestDeliverFates(t *testing.T) {
	sentIn := func(thread attache.ThreadID, ids ...attache.MessageID) attache.Delivery {
		return attache.Delivery{Fate: attache.FateSent, Thread: thread, Messages: ids}
	}
	held := func(after time.Duration) attache.Delivery {
		return attache.Delivery{Fate: attache.FateHeld, After: after}
	}
	refused := func(why attache.Refusal) attache.Delivery {
		return attache.Delivery{Fate: attache.FateRefused, Refusal: why}
	}
	unknown := attache.Delivery{Fate: attache.FateUnknown}
	tests := map[string]struct {
		method string
		handle http.HandlerFunc
		want   attache.Delivery
	}{
		"sent to a topic":          {"sendMessage", answer(200, `{"ok":true,"result":{"message_id":7,"message_thread_id":42,"is_topic_message":true,"chat":{"id":-1001}}}`), sentIn(42, 7)},
		"sent, stray thread id":    {"sendMessage", answer(200, `{"ok":true,"result":{"message_id":7,"message_thread_id":5}}`), sentIn(0, 7)},
		"sent to General":          {"sendMessage", answer(200, `{"ok":true,"result":{"message_id":7,"message_thread_id":1,"is_topic_message":true}}`), sentIn(0, 7)},
		"an album":                 {"sendMediaGroup", answer(200, `{"ok":true,"result":[{"message_id":7},{"message_id":8}]}`), sentIn(0, 7, 8)},
		"just true":                {"deleteMessage", answer(200, `{"ok":true,"result":true}`), sentIn(0)},
		"flood":                    {"sendMessage", refuseWith(429, "Too Many Requests: retry after 35", `{"retry_after":35}`), held(35 * time.Second)},
		"flood without a time":     {"sendMessage", refuse(429, "Too Many Requests"), held(5 * time.Second)},
		"flood from a proxy":       {"sendMessage", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "9"); w.WriteHeader(429) }, held(9 * time.Second)},
		"server error in JSON":     {"sendMessage", refuse(500, "Internal Server Error"), held(time.Second)},
		"bad gateway in JSON":      {"sendMessage", refuse(502, "Bad Gateway"), held(time.Second)},
		"bad gateway as a page":    {"sendMessage", answer(502, "<html><h1>502 Bad Gateway</h1></html>"), unknown},
		"page with 200":            {"sendMessage", answer(200, "<html>welcome</html>"), unknown},
		"page with 403":            {"sendMessage", answer(403, "<html>no</html>"), held(time.Second)},
		"cut after the body":       {"sendMessage", cut(""), unknown},
		"truncated 200":            {"sendMessage", cut("HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{\"ok\":true,\"result\":{\"mess"), unknown},
		"undecodable 200":          {"sendMessage", answer(200, `{"ok":true,"result":{"message_id":7`), unknown},
		"token revoked":            {"sendMessage", refuse(401, "Unauthorized"), held(time.Second)},
		"token malformed":          {"sendMessage", refuse(404, "Not Found"), held(time.Second)},
		"migrated":                 {"sendMessage", refuseWith(400, "Bad Request: group chat was upgraded to a supergroup chat", `{"migrate_to_chat_id":-1009}`), attache.Delivery{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -1009}},
		"method unknown":           {"sendRichMessage", refuse(404, "Not Found: method not found"), refused(attache.RefusalFormat)},
		"rich refused":             {"sendRichMessage", refuse(400, "Bad Request: message is too long"), refused(attache.RefusalFormat)},
		"rich, chat not found":     {"sendRichMessage", refuse(400, "Bad Request: chat not found"), refused(attache.RefusalOther)},
		"entities":                 {"sendMessage", refuse(400, "Bad Request: can't parse entities: Character '.' is reserved"), refused(attache.RefusalFormat)},
		"entity bounds":            {"sendMessage", refuse(400, "Bad Request: ENTITY_BOUNDS_INVALID"), refused(attache.RefusalFormat)},
		"thread not found":         {"sendMessage", refuse(400, "Bad Request: message thread not found"), refused(attache.RefusalThread)},
		"rich, thread not found":   {"sendRichMessage", refuse(400, "Bad Request: message thread not found"), refused(attache.RefusalThread)},
		"topic closed":             {"sendMessage", refuse(400, "Bad Request: TOPIC_CLOSED"), refused(attache.RefusalThread)},
		"topic deleted":            {"sendMessage", refuse(400, "Bad Request: TOPIC_DELETED"), refused(attache.RefusalThread)},
		"blocked":                  {"sendMessage", refuse(403, "Forbidden: bot was blocked by the user"), refused(attache.RefusalRights)},
		"kicked":                   {"sendMessage", refuse(403, "Forbidden: bot was kicked from the supergroup chat"), refused(attache.RefusalRights)},
		"no rights":                {"sendMessage", refuse(400, "Bad Request: not enough rights to send text messages to the chat"), refused(attache.RefusalRights)},
		"chat not found":           {"sendMessage", refuse(400, "Bad Request: chat not found"), refused(attache.RefusalOther)},
		"bad button":               {"sendRichMessage", refuse(400, "Bad Request: BUTTON_DATA_INVALID"), refused(attache.RefusalOther)},
		"edit that changes nought": {"editMessageText", refuse(400, "Bad Request: message is not modified: specified new message content is the same"), sentIn(0)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, log := fakeAPI(t, test.handle)
			got := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), part(test.method))
			if got.Fate != attache.FateSent && got.Why == "" {
				t.Error("it does not say why")
			}
			noToken(t, got.Why, log.String())
			got.Why = ""
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDeliverPostsTheStoredBytes(t *testing.T) {
	var body string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		answer(200, `{"ok":true,"result":{"message_id":1}}`)(w, r)
	})
	NewSender(SenderOptions{Client: client}).Deliver(t.Context(), part("sendMessage"))
	if body != testParams {
		t.Errorf("sent %s", body)
	}
}

func TestFloodHoldsTheChatAndIsKept(t *testing.T) {
	client, _ := fakeAPI(t, refuseWith(429, "Too Many Requests: retry after 35", `{"retry_after":35}`))
	var holds []attache.Hold
	s := NewSender(SenderOptions{Client: client, OnHold: func(h attache.Hold) { holds = append(holds, h) }})
	before := time.Now()
	s.Deliver(t.Context(), part("sendMessage"))
	if len(holds) != 1 || holds[0].Bot != "nova" || holds[0].Chat != -1001 || holds[0].Until.Before(before.Add(35*time.Second)) {
		t.Fatalf("holds: %v", holds)
	}
	if s.Ready(-1001, UrgencyFinal) || s.Ready(-1001, UrgencyTyping) || !s.Ready(-1002, UrgencyFinal) {
		t.Error("the chat, and only the chat, should be held")
	}
	next := NewSender(SenderOptions{Client: client})
	next.Restore(holds)
	if next.Ready(-1001, UrgencyFinal) {
		t.Error("the hold is forgotten over a restart")
	}
}

func TestUnreachableIsHeldForLongerAndLonger(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	client, _ := clientFor("http://" + address)
	s := NewSender(SenderOptions{Client: client})
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if d := s.Deliver(t.Context(), part("sendMessage")); d.Fate != attache.FateHeld || d.After != want*time.Second {
			t.Errorf("want %d s, got %+v", want, d)
		}
	}
	s.note("sendMessage", nil)
	if d := s.Deliver(t.Context(), part("sendMessage")); d.After != time.Second {
		t.Errorf("after an answer the pause begins anew: %+v", d)
	}
}

// A token may be good again at any moment, and nobody restarts the bot: what it
// has to say waits no longer than for a Telegram that is out of reach.
func TestAnUnknownTokenIsTriedAgainSoon(t *testing.T) {
	client, _ := fakeAPI(t, refuse(401, "Unauthorized"))
	s := NewSender(SenderOptions{Client: client})
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if d := s.Deliver(t.Context(), part("sendMessage")); d.Fate != attache.FateHeld || d.After != want*time.Second {
			t.Errorf("want %d s, got %+v", want, d)
		}
	}
}

func TestTimeOutAfterTheRequestIsUnknown(t *testing.T) {
	arrived, release := make(chan bool, 1), make(chan bool)
	client, _ := fakeAPI(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if d := NewSender(SenderOptions{Client: client}).Deliver(ctx, part("sendMessage")); d.Fate != attache.FateUnknown {
		t.Errorf("got %+v", d)
	}
}

func TestReplyThatIsGoneIsLeftOut(t *testing.T) {
	var bodies []string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		if bytes.Contains(b, []byte("reply_parameters")) {
			refuse(400, "Bad Request: message to be replied not found")(w, r)
			return
		}
		answer(200, `{"ok":true,"result":{"message_id":7}}`)(w, r)
	})
	d := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), part("sendMessage"))
	if d.Fate != attache.FateSent || len(bodies) != 2 || strings.Contains(bodies[1], "reply") || !strings.Contains(bodies[1], `"message_thread_id":42`) {
		t.Errorf("%+v after %v", d, bodies)
	}
}

// callerFunc answers calls without a network, for tests in fake time.
type callerFunc func(method string, params map[string]any) string

func (f callerFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	var params map[string]any
	if err := json.NewDecoder(r.Body).Decode(&params); err != nil {
		return nil, err
	}
	body := f(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], params)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

func typingSender(pace bool, f callerFunc) *Sender {
	return NewSender(SenderOptions{Pace: pace, Client: NewClient(ClientOptions{Bot: "nova", HTTP: &http.Client{Transport: f}})})
}

// actions notes the chat actions of a test, for reading in between.
type actions struct {
	mu      sync.Mutex
	began   time.Time
	times   []time.Duration
	threads map[any]int
}

func (a *actions) take(t *testing.T) callerFunc {
	a.began, a.threads = time.Now(), map[any]int{}
	return func(method string, p map[string]any) string {
		a.mu.Lock()
		defer a.mu.Unlock()
		if method != "sendChatAction" || p["action"] != "typing" {
			t.Errorf("%s %v", method, p)
		}
		a.times = append(a.times, time.Since(a.began))
		a.threads[p["message_thread_id"]]++
		return `{"ok":true,"result":true}`
	}
}

// so gives what has been noted since it was last asked.
func (a *actions) so() ([]time.Duration, map[any]int) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	times, threads := a.times, a.threads
	a.times, a.threads = nil, map[any]int{}
	return times, threads
}

func TestTypingOneClockForAChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen actions
		s := typingSender(true, seen.take(t))
		var stops []func()
		for thread := range attache.ThreadID(4) { // 1 is General, and so 0
			stops = append(stops, s.Typing(attache.Place{Bot: "nova", Chat: -1001, Thread: thread}))
		}
		if times, _ := seen.so(); len(times) != 1 || times[0] != 0 {
			t.Errorf("the first is not said at once: %v", times)
		}
		time.Sleep(60 * time.Second)
		times, threads := seen.so()
		if mostIn(times, time.Second) > 1 || len(threads) != 3 || threads[nil] < 12 || threads[2.0] < 12 || threads[3.0] < 12 {
			t.Errorf("%v at %v", threads, times)
		}
		for _, stop := range stops[1:] {
			stop()
			stop()
		}
		seen.so()
		time.Sleep(45 * time.Second)
		if _, threads := seen.so(); len(threads) != 1 || threads[nil] != 10 {
			t.Errorf("after the others stopped: %v", threads)
		}
		if !s.Ready(-1001, UrgencyFinal) {
			t.Error("typing made an answer wait")
		}
		stops[0]() // the bubble itself fails if the clock goes on
	})
}

func TestTypingIsDroppedDuringAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen actions
		s := typingSender(false, seen.take(t))
		s.Restore([]attache.Hold{{Bot: "nova", Chat: 7, Until: time.Now().Add(30 * time.Second)}})
		defer s.Typing(attache.Place{Chat: 7})()
		time.Sleep(29 * time.Second)
		if times, _ := seen.so(); len(times) != 0 {
			t.Errorf("typed during a hold at %v", times)
		}
		time.Sleep(3 * time.Second)
		if times, _ := seen.so(); len(times) != 1 {
			t.Errorf("does not type after the hold: %v", times)
		}
	})
}

// Telegram counts chat actions apart (design/traps.md): their 429 quiets the
// typing of that chat, never its answers.
func TestTypingThatIsRefusedRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := typingSender(true, func(string, map[string]any) string {
			if calls.Add(1) == 1 {
				return `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":60}}`
			}
			return `{"ok":true,"result":true}`
		})
		defer s.Typing(attache.Place{Chat: 7})()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d calls in the pause", calls.Load())
		}
		if !s.Ready(7, UrgencyFinal) {
			t.Error("the pause of typing keeps an answer waiting")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if calls.Load() != 2 {
			t.Errorf("%d calls after the pause", calls.Load())
		}
	})
}

func BenchmarkDeliver(b *testing.B) {
	server := http.Server{Handler: answer(200, `{"ok":true,"result":{"message_id":7}}`)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go server.Serve(listener)
	defer server.Close()
	s := NewSender(SenderOptions{Client: NewClient(ClientOptions{Bot: "nova", Token: attache.NewSecret(testToken), BaseURL: "http://" + listener.Addr().String()})})
	for b.Loop() {
		if !s.Ready(-1001, UrgencyFinal) {
			b.Fatal("not ready")
		}
		if d := s.Deliver(b.Context(), part("sendMessage")); d.Fate != attache.FateSent {
			b.Fatal(d)
		}
	}
}
