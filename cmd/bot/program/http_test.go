package program

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"attache"
	"attache/cmd/bot/metrics"
	"attache/internal/store/storetest"
	"attache/internal/telegram/updates"
)

// fullInbox stores nothing for as long as it is told so.
type fullInbox struct{ full bool }

func (in *fullInbox) Offset(context.Context, attache.BotID) (int64, error) { return 0, nil }

func (in *fullInbox) Keep(context.Context, attache.BotID, []attache.RawUpdate) error {
	if in.full {
		return errors.New("no room is left")
	}
	return nil
}

// A process that cannot store what the webhook brings is not ready, however well
// the database answers, and one that does not use a webhook is not judged by it.
func TestReadyHearsTheWebhook(t *testing.T) {
	inbox, secret := &fullInbox{full: true}, updates.WebhookSecret(attache.NewSecret("1:x"))
	p := &Program{s: Settings{PublicURL: "https://bot.example.org"}, metrics: metrics.New(), db: storetest.New(t)}
	p.webhook = updates.NewWebhook(updates.WebhookOptions{Secrets: map[attache.BotID]attache.Secret{"nova": secret}, Inbox: inbox})
	call := func(method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret.Reveal())
		w := httptest.NewRecorder()
		p.handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	want := func(code int, problem string) {
		t.Helper()
		got, body := call("GET", "/readyz", "")
		var answer struct{ Problems map[string]string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || got != code || !strings.Contains(answer.Problems["webhook"], problem) {
			t.Errorf("%d %s", got, body)
		}
	}
	want(http.StatusOK, "")
	if code, _ := call("POST", "/telegram/nova", `{"update_id":7}`); code != http.StatusServiceUnavailable {
		t.Errorf("an update that is not stored is answered with %d", code)
	}
	want(http.StatusServiceUnavailable, "cannot be stored")
	p.s.PublicURL = ""
	want(http.StatusOK, "")
	p.s.PublicURL, inbox.full = "https://bot.example.org", false
	if code, _ := call("POST", "/telegram/nova", `{"update_id":7}`); code != http.StatusOK {
		t.Errorf("answered with %d", code)
	}
	want(http.StatusOK, "")
}
