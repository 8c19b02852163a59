package updates

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"attache"
)

// webhookFor gives a handler for the bots nova and mute (which has no secret), the
// secret of nova, and the log.
func webhookFor(inbox Inbox) (*Webhook, string, *lockedBuffer) {
	var log lockedBuffer
	secret := WebhookSecret(attache.NewSecret(testToken))
	return NewWebhook(WebhookOptions{
		Secrets: map[attache.BotID]attache.Secret{"nova": secret, "mute": {}},
		Inbox:   inbox, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}), secret.Reveal(), &log
}

func deliver(h http.Handler, method, path, secret string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	if secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// row L1
func TestWebhookAnswers(t *testing.T) {
	update := `{"update_id":7,"message":{"message_id":1,"chat":{"id":5}}}`
	tests := map[string]struct {
		method, path, secret, body string
		status                     int
		kept                       string
		unreadable                 int64
	}{
		"stored":              {"POST", "/telegram/nova", "right", update, 200, "7", 0},
		"undecodable, has id": {"POST", "/telegram/nova", "right", `{"update_id":7,"message":"what"}`, 200, "7", 0},
		"cut, has id":         {"POST", "/telegram/nova", "right", `{"update_id":7,"message":{"te`, 200, "7", 0},
		"no JSON":             {"POST", "/telegram/nova", "right", `<html>`, 200, "", 1},
		"no id":               {"POST", "/telegram/nova", "right", `{"message":{}}`, 200, "", 1},
		"empty":               {"POST", "/telegram/nova", "right", ``, 200, "", 1},
		"wrong secret":        {"POST", "/telegram/nova", "wrong", update, 401, "", 0},
		"no secret":           {"POST", "/telegram/nova", "", update, 401, "", 0},
		"unknown bot":         {"POST", "/telegram/vega", "right", update, 401, "", 0},
		"bot without secret":  {"POST", "/telegram/mute", "", update, 401, "", 0},
		"GET":                 {"GET", "/telegram/nova", "right", "", 405, "", 0},
		"just too large":      {"POST", "/telegram/nova", "right", strings.Repeat(" ", 1<<20) + update, 413, "", 0},
		"large enough":        {"POST", "/telegram/nova", "right", strings.Repeat(" ", 1<<20-len(update)) + update, 200, "7", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inbox := &memoryInbox{}
			h, secret, log := webhookFor(inbox)
			given := strings.ReplaceAll(test.secret, "right", secret)
			w := deliver(h, test.method, test.path, given, strings.NewReader(test.body))
			if w.Code != test.status || idsOf(inbox.kept) != test.kept || h.Unreadable() != test.unreadable {
				t.Errorf("status %d, kept %q, unreadable %d", w.Code, idsOf(inbox.kept), h.Unreadable())
			}
			for _, u := range inbox.kept {
				if !json.Valid(u.JSON) {
					t.Errorf("kept what no column takes: %s", u.JSON)
				}
			}
			if strings.Contains(log.String(), secret) {
				t.Error("the secret is in the log")
			}
		})
	}
}

func TestWebhookStrangersDoNotFillTheLog(t *testing.T) {
	h, secret, log := webhookFor(&memoryInbox{})
	for range 100 {
		deliver(h, "POST", "/telegram/nova", "guess", strings.NewReader("{}"))
		deliver(h, "POST", "/telegram/nova", secret, strings.NewReader("{}"))
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || h.Unreadable() != 100 {
		t.Errorf("%d lines, %d unreadable:\n%s", n, h.Unreadable(), log)
	}
}

func TestWebhookStoreAwayAndBack(t *testing.T) {
	inbox := &memoryInbox{failing: 3}
	h, secret, log := webhookFor(inbox)
	for i, want := range []int{503, 503, 503, 200, 200} {
		w := deliver(h, "POST", "/telegram/nova", secret, strings.NewReader(`{"update_id":7}`))
		if w.Code != want {
			t.Errorf("delivery %d: %d, want %d", i, w.Code, want)
		}
		last, problem := h.Healthy()
		if ok := want == 200; (problem == "") != ok || last.IsZero() == ok {
			t.Errorf("delivery %d: last %v, problem %q", i, last, problem)
		}
	}
	if idsOf(inbox.kept) != "7" || strings.Count(log.String(), "\n") != 2 || !strings.Contains(log.String(), "updates can be stored again") {
		t.Errorf("kept %q\n%s", idsOf(inbox.kept), log)
	}
}

// A process that is called unwell gets no updates, and so must get well by itself.
func TestWebhookProblemIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, secret, _ := webhookFor(&memoryInbox{failing: 1})
		deliver(h, "POST", "/telegram/nova", secret, strings.NewReader(`{"update_id":7}`))
		time.Sleep(59 * time.Second)
		if _, problem := h.Healthy(); !strings.Contains(problem, "cannot be stored") {
			t.Errorf("problem %q", problem)
		}
		time.Sleep(2 * time.Second)
		if _, problem := h.Healthy(); problem != "" {
			t.Errorf("after a minute: %q", problem)
		}
	})
}

// endless counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestWebhookRefusesHugeBodiesUnread(t *testing.T) {
	h, secret, _ := webhookFor(&memoryInbox{})
	t.Run("announced", func(t *testing.T) {
		body := &endless{}
		r := httptest.NewRequest("POST", "/telegram/nova", body)
		r.ContentLength = 200 << 20
		r.Header.Set(secretHeader, secret)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 413 || body.read != 0 {
			t.Errorf("status %d after %d bytes", w.Code, body.read)
		}
	})
	t.Run("not announced", func(t *testing.T) {
		body := &endless{}
		w := deliver(h, "POST", "/telegram/nova", secret, body)
		if w.Code != 413 || body.read > 3<<20 {
			t.Errorf("status %d after %d bytes", w.Code, body.read)
		}
	})
	t.Run("with a wrong secret", func(t *testing.T) {
		body := &endless{}
		if w := deliver(h, "POST", "/telegram/nova", "wrong", body); w.Code != 401 || body.read != 0 {
			t.Errorf("status %d after %d bytes", w.Code, body.read)
		}
	})
}

// Through a real server and the pattern of interface § 7: the answer to 200 MB
// comes before any of them is sent, and the line is closed.
func TestWebhookBehindARealServer(t *testing.T) {
	inbox := &memoryInbox{}
	h, secret, _ := webhookFor(inbox)
	mux := http.NewServeMux()
	mux.Handle("/telegram/{bot}", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for length, want := range map[int64]int{200 << 20: 413, 15: 200} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /telegram/nova HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Length: %d\r\n\r\n", secretHeader, secret, length)
		if want == 200 {
			io.WriteString(conn, `{"update_id":7}`)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want || resp.Close != (want == 413) {
			t.Errorf("%d bytes: status %d, close %v", length, resp.StatusCode, resp.Close)
		}
	}
	if idsOf(inbox.kept) != "7" {
		t.Errorf("kept %s", idsOf(inbox.kept))
	}
}

func TestWebhookSecret(t *testing.T) {
	a, b := WebhookSecret(attache.NewSecret(testToken)), WebhookSecret(attache.NewSecret("999:other"))
	if a != WebhookSecret(attache.NewSecret(testToken)) || a == b || strings.Contains(a.Reveal(), "secret") {
		t.Errorf("not derived well: %s %s", a.Reveal(), b.Reveal())
	}
	if n := len(a.Reveal()); n < 32 || n > 256 || strings.Trim(a.Reveal(), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		t.Errorf("Telegram does not take %q", a.Reveal())
	}
	if !WebhookSecret(attache.Secret{}).Empty() {
		t.Error("no token must give no secret")
	}
}

func TestRegisterWebhook(t *testing.T) {
	var path string
	var got map[string]any
	client, log := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_ = json.NewDecoder(r.Body).Decode(&got)
		answer(200, `{"ok":true,"result":true}`)(w, r)
	})
	secret := WebhookSecret(attache.NewSecret(testToken))
	if err := RegisterWebhook(t.Context(), client, "https://bot.example.org/base/", secret); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, "/setWebhook") || got["url"] != "https://bot.example.org/base/telegram/nova" || got["secret_token"] != secret.Reveal() ||
		got["drop_pending_updates"] != nil || !strings.Contains(fmt.Sprint(got["allowed_updates"]), "chat_member") {
		t.Errorf("%s %v", path, got)
	}
	if strings.Contains(log.String(), secret.Reveal()) {
		t.Error("the secret is in the log")
	}
	for _, bad := range []string{"", "bot.example.org", "://"} {
		if err := RegisterWebhook(t.Context(), client, bad, secret); err == nil || !strings.Contains(err.Error(), "ATTACHE_PUBLIC_URL") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := RegisterWebhook(t.Context(), client, "https://x.org", attache.Secret{}); err == nil {
		t.Error("a webhook without a secret was registered")
	}
	client, _ = fakeAPI(t, answer(400, `{"ok":false,"error_code":400,"description":"Bad Request: bad webhook: HTTPS url must be provided for webhook"}`))
	err := RegisterWebhook(t.Context(), client, "http://x.org", secret)
	if err == nil || !strings.Contains(err.Error(), "HTTPS url must be provided") || strings.Contains(err.Error(), secret.Reveal()) {
		t.Errorf("got %v", err)
	}
}
