package program

import (
	"encoding/json"
	"net/http"
	"time"

	"attache"
	"attache/internal/telegram/updates"
)

// handler serves what needs no login, health and webhooks, and behind the login
// everything else (interface § 7).
func (p *Program) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"ok": true})
	})
	mux.HandleFunc("GET /readyz", p.ready)
	mux.Handle("/telegram/{bot}", p.webhook)
	// What is below these and is none of theirs asks nobody to log in.
	mux.Handle("/telegram/", http.NotFoundHandler())
	mux.Handle("/hooks/", http.NotFoundHandler())
	if p.operator != nil {
		mux.Handle("GET /metrics", p.operator.Guard(p.metrics.Handler()))
		p.operator.Mount(mux)
	}
	return mux
}

// newWebhook takes in the updates of every bot.
func (p *Program) newWebhook() *updates.Webhook {
	secrets := map[attache.BotID]attache.Secret{}
	for _, b := range p.bots {
		secrets[b.id] = b.secret
	}
	return updates.NewWebhook(updates.WebhookOptions{Secrets: secrets, Inbox: p.gateway, Log: p.log})
}

// ready answers 200 when the database answers and updates come in: what a webhook
// brought is stored, or every bot that this process polls for had a successful
// poll not long ago (a quiet chat is no trouble).
func (p *Program) ready(w http.ResponseWriter, r *http.Request) {
	problems := map[string]string{}
	if err := p.db.Ping(r.Context()); err != nil {
		problems["database"] = "it does not answer"
	}
	if p.s.PublicURL != "" {
		if _, why := p.webhook.Healthy(); why != "" {
			problems["webhook"] = why
		}
	}
	for _, b := range p.bots {
		if b.me.Load() == nil {
			problems[string(b.id)] = "Telegram has not told who this bot is"
			continue
		}
		if last, why := b.poller.Healthy(); why != "" && time.Since(last) > time.Minute {
			problems[string(b.id)] = why
		}
	}
	if len(problems) > 0 {
		answer(w, http.StatusServiceUnavailable, map[string]any{"ok": false, "problems": problems})
		return
	}
	answer(w, http.StatusOK, map[string]any{"ok": true})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the other side may have gone
}
