package telegramsim_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"attache/internal/telegramsim"
)

func ids(list []map[string]json.RawMessage) []string {
	var out []string
	for _, u := range list {
		out = append(out, string(u["update_id"]))
	}
	return out
}

// texts gives the words of the updates' messages, "-" for a message without.
func texts(t testing.TB, list []map[string]json.RawMessage) []string {
	t.Helper()
	out := []string{}
	for _, u := range list {
		for kind, raw := range u {
			if kind == "update_id" {
				continue
			}
			var m struct{ Text, Caption string }
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			word := m.Text + m.Caption
			if word == "" {
				word = "-"
			}
			if kind != "message" {
				word = kind + ":" + word
			}
			out = append(out, word)
		}
	}
	return out
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestOffsetsConfirm(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	for i := range 5 {
		dm.Say(w.ana, fmt.Sprint("line ", i))
	}
	get := func(params string) []map[string]json.RawMessage {
		var list []map[string]json.RawMessage
		if err := json.Unmarshal(w.do(t, w.nova, "getUpdates", "%s", params).Result, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	first := get(`{}`)
	same(t, "without an offset the same again", ids(get(`{"limit":2}`)), ids(first[:2]))
	same(t, "an offset confirms what is below", texts(t, get(`{"offset":100000003}`)), "[line 2 line 3 line 4]")
	same(t, "what was confirmed is gone", texts(t, get(`{"offset":1}`)), "[line 2 line 3 line 4]")
	same(t, "a negative offset counts from the end", texts(t, get(`{"offset":-1}`)), "[line 4]")
	same(t, "and forgets the rest", texts(t, get(`{}`)), "[line 4]")
	same(t, "an offset above all", get(`{"offset":100000099}`), "[]")
	same(t, "pending", w.Pending(w.nova), 0)
	clean(t, w)
}

func TestLongPollAnswersAtOnce(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	got := make(chan answer, 1)
	go func() {
		a, err := w.call(w.nova, "getUpdates", `{"timeout":50}`)
		if err != nil {
			t.Error(err)
		}
		got <- a
	}()
	if err := w.Wait(patience(t), func() bool { return len(w.Calls(telegramsim.Filter{Method: "getUpdates"})) == 1 }); err != nil {
		t.Fatal(err)
	}
	dm.Say(w.ana, "knock")
	select {
	case a := <-got:
		if !strings.Contains(string(a.Result), "knock") {
			t.Errorf("got %s", a.Result)
		}
	case <-time.After(10 * time.Second):
		t.Error("the poll did not end")
	}
}

func TestSecondPollerEndsTheFirst(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	polls := func(n int) func() bool {
		return func() bool { return len(w.Calls(telegramsim.Filter{Method: "getUpdates"})) == n }
	}
	poll := func(into chan answer) {
		a, err := w.call(w.nova, "getUpdates", `{"timeout":50}`)
		if err != nil {
			t.Error(err)
		}
		into <- a
	}
	one, two := make(chan answer, 1), make(chan answer, 1)
	go poll(one)
	if err := w.Wait(patience(t), polls(1)); err != nil {
		t.Fatal(err)
	}
	go poll(two)
	expect(t, <-one, 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
	dm.Say(w.ana, "for the second")
	ok(t, <-two)

	ok(t, w.do(t, w.nova, "setWebhook", `{"url":"http://127.0.0.1:1/"}`))
	expect(t, w.do(t, w.nova, "getUpdates", `{}`), 409,
		"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	ok(t, w.do(t, w.nova, "deleteWebhook", `{"drop_pending_updates":true}`))
	same(t, "after deleteWebhook", w.updates(t, w.nova), "[]")
	clean(t, w)
}

func TestAllowedUpdates(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	group := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana, w.bob, w.nova)
	group.SetStatus(w.ana, w.nova, "administrator")
	w.updates(t, w.nova)
	group.SetStatus(w.ana, w.bob, "kicked")
	same(t, "by default no chat_member", texts(t, w.updates(t, w.nova)), "[-]")
	w.do(t, w.nova, "getUpdates", `{"allowed_updates":["chat_member"]}`)
	group.SetStatus(w.ana, w.bob, "member")
	same(t, "only what was asked for", texts(t, w.updates(t, w.nova)), "[chat_member:-]")
	w.do(t, w.nova, "getUpdates", `{"allowed_updates":[]}`)
	group.Say(w.bob, "back")
	same(t, "the default again", texts(t, w.updates(t, w.nova)), "[back]")
	clean(t, w)
}

// hook is a webhook endpoint that refuses some times first.
type hook struct {
	mu      sync.Mutex
	refuse  int
	bodies  []string
	secrets []string
	more    chan struct{}
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || h.refuse > 0 {
		h.refuse--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.bodies = append(h.bodies, string(body))
	h.secrets = append(h.secrets, r.Header.Get("X-Telegram-Bot-Api-Secret-Token"))
	h.more <- struct{}{}
}

func TestWebhookRetriesInOrder(t *testing.T) {
	w := newWorld(t, telegramsim.Options{WebhookRetry: time.Millisecond})
	h := &hook{refuse: 3, more: make(chan struct{}, 10)}
	server := httptest.NewServer(h)
	defer server.Close()
	dm := w.DM(w.ana, w.nova)
	dm.Say(w.ana, "before")
	ok(t, w.do(t, w.nova, "setWebhook", `{"url":%q,"secret_token":"s3cret"}`, server.URL))
	<-h.more
	dm.Say(w.ana, "after")
	<-h.more
	w.Inject(w.nova, `{"update_id": nonsense`)
	<-h.more
	if err := w.Wait(patience(t), func() bool { return w.Pending(w.nova) == 0 }); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, word := range []string{"before", "after", "nonsense"} {
		if !strings.Contains(h.bodies[i], word) || h.secrets[i] != "s3cret" {
			t.Errorf("delivery %d: %q with secret %q, want %q", i, h.bodies[i], h.secrets[i], word)
		}
	}
	info := string(w.do(t, w.nova, "getWebhookInfo", `{}`).Result)
	if !strings.Contains(info, server.URL) || !strings.Contains(info, "503") {
		t.Errorf("webhook info %s", info)
	}
	clean(t, w)
}

func TestRawInjection(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	raws := []string{
		`{"message":"a string"}`,
		`{"quantum_update":{"a":1}}`,
		`{}`,
		`{"update_id":7,"message":{}}`,
		`[1,2]`,
		`{"message":{"text":"` + strings.Repeat("[", 1000) + `"}}`,
	}
	for _, raw := range raws {
		w.Inject(w.nova, raw)
	}
	a, err := w.call(w.nova, "getUpdates", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"update_id":100000001,"message":"a string"},{"update_id":100000002,"quantum_update":{"a":1}},{"update_id":100000003},{"update_id":7,"message":{}},[1,2],`
	if !strings.HasPrefix(string(a.Result), want) {
		t.Errorf("got %s", a.Result)
	}
	if _, err := w.call(w.nova, "getUpdates", `{"offset":100000099}`); err != nil {
		t.Fatal(err)
	}
	same(t, "pending", w.Pending(w.nova), 0)

	w.Inject(w.nova, `{"message":{"te`)
	w.DM(w.ana, w.nova).Say(w.ana, "whole")
	if _, err := w.call(w.nova, "getUpdates", `{}`); err == nil {
		t.Error("a truncated update left the answer whole")
	}
	same(t, "the truncated one comes once", texts(t, w.updates(t, w.nova)), "[whole]")
}

func TestRedelivery(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.DM(w.ana, w.nova).Say(w.ana, "twice")
	first := w.updates(t, w.nova)
	if err := w.Redeliver(w.nova, 100000001); err != nil {
		t.Fatal(err)
	}
	// Even a poll that confirms far more gets it, once.
	again := w.do(t, w.nova, "getUpdates", `{"offset":100000050}`)
	same(t, "redelivered", strings.Count(string(again.Result), `"update_id":`+ids(first)[0]), 1)
	w.do(t, w.nova, "getUpdates", `{"offset":100000050}`)
	same(t, "and then gone", w.Pending(w.nova), 0)
	if w.Redeliver(w.nova, 5) == nil {
		t.Error("an update that never was is redelivered")
	}
}

func TestTokens(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	ok(t, w.do(t, w.nova, "GETME", `{}`))
	stranger := *w.nova
	stranger.Token = "1:wrong"
	expect(t, w.do(t, &stranger, "getMe", `{}`), 401, "Unauthorized")
	stranger.Token = "nonsense"
	expect(t, w.do(t, &stranger, "getMe", `{}`), 404, "Not Found")
	expect(t, w.do(t, w.nova, "sendTelepathy", `{}`), 404, "Not Found: method not found")
	expect(t, w.do(t, w.nova, "getMyStarBalance", `{}`), 400, "Bad Request: method getMyStarBalance is not simulated")
	same(t, "violations", len(w.Violations()), 2)
}
