package updates

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"attache"
	"attache/internal/telegram"
)

// WebhookOptions says which bots receive by webhook and where the updates go.
type WebhookOptions struct {
	Secrets map[attache.BotID]attache.Secret // of every bot; see WebhookSecret
	Inbox   Inbox
	Log     *slog.Logger
}

// maxDelivery is the largest body that is read. Telegram's updates have some
// kilobytes.
const maxDelivery = 1 << 20

// secretHeader carries what RegisterWebhook agreed with Telegram.
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// Webhook receives updates as an http.Handler for /telegram/{bot}. It answers 200
// only for what is stored, so that Telegram delivers again what is not:
//
//	200  stored, or no update at all (no readable update_id): that would come
//	     again for ever, so it is counted, written to the log and let go
//	400  the body ended early
//	401  wrong secret, or a bot that is not ours
//	405  no POST
//	413  more than 1 MiB, refused without reading it
//	503  the store is away
type Webhook struct {
	secrets map[attache.BotID]attache.Secret
	inbox   Inbox
	log     *slog.Logger
	health  health

	unreadable       atomic.Int64
	strange, garbled seldom
}

// NewWebhook makes the handler.
func NewWebhook(o WebhookOptions) *Webhook {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Webhook{
		secrets: o.Secrets, inbox: o.Inbox, log: log,
		health: health{log: log, again: "updates can be stored again"},
	}
}

// Healthy tells when the last update was stored (zero: none yet) and in one
// sentence what has been wrong with storing them in the last minute, or "". An
// older problem is not told: a process that gets no updates because it is called
// unwell could never show that it is well again.
func (h *Webhook) Healthy() (lastSuccess time.Time, problem string) {
	lastSuccess, problem = h.health.state()
	if h.health.age() > time.Minute {
		problem = ""
	}
	return lastSuccess, problem
}

// Unreadable counts the deliveries that had no readable update_id.
func (h *Webhook) Unreadable() int64 { return h.unreadable.Load() }

// ServeHTTP takes one delivery.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bot := attache.BotID(cmp.Or(r.PathValue("bot"), strings.TrimPrefix(r.URL.Path, "/telegram/")))
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		turnAway(w, http.StatusMethodNotAllowed)
	case !h.admits(bot, r.Header.Get(secretHeader)):
		if h.strange.due() {
			h.log.Warn("a webhook call with a wrong secret or for an unknown bot was refused", "bot", bot)
		}
		turnAway(w, http.StatusUnauthorized)
	case r.ContentLength > maxDelivery:
		turnAway(w, http.StatusRequestEntityTooLarge)
	default:
		h.receive(w, r, bot)
	}
}

// admits compares in constant time, also for a bot that is not there. A bot without
// a secret receives nothing.
func (h *Webhook) admits(bot attache.BotID, given string) bool {
	want := h.secrets[bot].Reveal()
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// receive reads, stores and answers.
func (h *Webhook) receive(w http.ResponseWriter, r *http.Request, bot attache.BotID) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		turnAway(w, status)
		return
	}
	update, ok := rawUpdate(body)
	if !ok {
		h.unreadable.Add(1)
		if h.garbled.due() {
			h.log.Warn("a webhook call without a readable update_id was passed by", "bot", bot, "why", fmt.Sprintf("%d bytes", len(body)))
		}
		w.WriteHeader(http.StatusOK)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), keepPatience)
	defer cancel()
	if err := h.inbox.Keep(ctx, bot, []attache.RawUpdate{update}); err != nil {
		h.health.fault(&fault{kind: faultStore, cause: err})
		turnAway(w, http.StatusServiceUnavailable)
		return
	}
	h.health.success()
	w.WriteHeader(http.StatusOK)
}

// turnAway answers with a status and closes the line: an unread body behind it is
// not worth reading.
func turnAway(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(status), status)
}

// seldom lets one line a minute into the log, for what strangers can cause.
type seldom struct {
	mu   sync.Mutex
	last time.Time
}

func (s *seldom) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < time.Minute {
		return false
	}
	s.last = time.Now()
	return true
}

// WebhookSecret derives a bot's webhook secret from its token, so that every
// replica knows the same one and none stores it. It tells nothing about the token.
func WebhookSecret(token attache.Secret) attache.Secret {
	if token.Empty() {
		return attache.Secret{}
	}
	mac := hmac.New(sha256.New, []byte(token.Reveal()))
	mac.Write([]byte("attache telegram webhook 1"))
	return attache.NewSecret(base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
}

// RegisterWebhook tells Telegram to deliver the client's bot's updates to
// <publicURL>/telegram/<bot> with that secret. What is pending is delivered too.
// Doing it again, as every replica does at start, changes nothing.
func RegisterWebhook(ctx context.Context, client *telegram.Client, publicURL string, secret attache.Secret) error {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || secret.Empty() {
		return fmt.Errorf("no webhook for bot %s: %q is not an address such as https://bot.example.org; mend ATTACHE_PUBLIC_URL", client.Bot(), publicURL)
	}
	params := struct {
		URL     string   `json:"url"`
		Secret  string   `json:"secret_token"`
		Allowed []string `json:"allowed_updates"`
	}{u.JoinPath("telegram", string(client.Bot())).String(), secret.Reveal(), allowedUpdates()}
	if err := client.Call(ctx, "setWebhook", params, nil); err != nil {
		return fmt.Errorf("no webhook for bot %s at %s: %w", client.Bot(), params.URL, err)
	}
	return nil
}
