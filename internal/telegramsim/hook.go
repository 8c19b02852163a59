package telegramsim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// webhook is where a bot wants its updates sent.
type webhook struct {
	url     string
	secret  string
	cancel  context.CancelFunc
	lastErr string
	lastAt  int64
}

func itoa(n int) string { return strconv.Itoa(n) }

// setWebhook starts deliveries; an empty URL ends them.
func (s *Server) setWebhook(req *request) (any, error) {
	b := req.bot.bot
	b.hook.end()
	if req.params.Bool("drop_pending_updates") {
		b.queue = nil
	}
	url := req.params.Text("url")
	if url == "" {
		return true, nil
	}
	if raw := req.params.Raw("allowed_updates"); raw != nil {
		b.allowed = nil
		if err := json.Unmarshal(raw, &b.allowed); err != nil {
			return nil, badRequest(err.Error())
		}
	}
	b.endPoll("terminated by setWebhook request")
	ctx, cancel := context.WithCancel(context.Background())
	b.hook = webhook{url: url, secret: req.params.Text("secret_token"), cancel: cancel}
	s.work.Go(func() { s.push(ctx, req.bot, b.hook.url, req.params.Text("secret_token")) })
	return true, nil
}

func (h *webhook) end() {
	if h.cancel != nil {
		h.cancel()
	}
	*h = webhook{}
}

func (s *Server) deleteWebhook(req *request) (any, error) {
	req.bot.bot.hook.end()
	if req.params.Bool("drop_pending_updates") {
		req.bot.bot.queue = nil
	}
	return true, nil
}

func (s *Server) getWebhookInfo(req *request) (any, error) {
	b := req.bot.bot
	return struct {
		URL     string   `json:"url"`
		Custom  bool     `json:"has_custom_certificate"`
		Pending int      `json:"pending_update_count"`
		LastAt  int64    `json:"last_error_date,omitempty"`
		LastErr string   `json:"last_error_message,omitempty"`
		Allowed []string `json:"allowed_updates,omitempty"`
	}{b.hook.url, false, len(b.queue), b.hook.lastAt, b.hook.lastErr, b.allowed}, nil
}

// push delivers a bot's updates to its webhook, one at a time and in order, again
// and again until the bot answers 2xx.
func (s *Server) push(ctx context.Context, bot *User, url, secret string) {
	defer bot.bot.ring() // the next one to deliver may have lost its signal to this one
	pause := s.options.WebhookRetry
	for ctx.Err() == nil {
		u := s.oldest(bot)
		if u == nil {
			select {
			case <-bot.bot.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := s.post(ctx, url, secret, u.raw)
		if ctx.Err() != nil {
			return
		}
		s.delivered(bot, u, err)
		if err == nil {
			pause = s.options.WebhookRetry
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 32*s.options.WebhookRetry)
		case <-ctx.Done():
		}
	}
}

func (s *Server) oldest(bot *User) *update {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(bot.bot.queue) == 0 {
		return nil
	}
	return bot.bot.queue[0]
}

// delivered takes an update off the queue, or notes why it stays. What is not JSON
// is tried once.
func (s *Server) delivered(bot *User, u *update, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := bot.bot
	if err != nil {
		b.hook.lastErr, b.hook.lastAt = err.Error(), s.now()
	}
	if (err == nil || u.broken) && len(b.queue) > 0 && b.queue[0] == u {
		b.queue = b.queue[1:]
		b.remember(u, s.options.Keep)
	}
	s.change()
}

func (s *Server) post(ctx context.Context, url, secret string, raw []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // to its end, so that the connection is used again
	if err != nil {
		return err
	}
	if bytes.Contains(body, []byte(`"method"`)) {
		s.violate("a webhook answered with a call, which the simulator does not make: %.200s", body)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("wrong response from the webhook: %s", resp.Status)
	}
	return nil
}

// pace refuses a send that is faster than Telegram allows, when Options.Pace is on:
// one a second and chat, 20 a minute and group, 30 a second and bot.
func (s *Server) pace(bot *User, c *Chat) error {
	if !s.options.Pace {
		return nil
	}
	now := s.options.Now().UnixMilli()
	c.sent, bot.bot.paced = recent(c.sent, now-60000), recent(bot.bot.paced, now-1000)
	switch {
	case c.group() && len(c.sent) >= 20:
		return flood(int((c.sent[len(c.sent)-20]+60000-now)/1000) + 1)
	case len(recent(c.sent, now-1000)) >= 1, len(bot.bot.paced) >= 30:
		return flood(1)
	}
	c.sent, bot.bot.paced = append(c.sent, now), append(bot.bot.paced, now)
	return nil
}

// recent gives the times after a moment.
func recent(times []int64, after int64) []int64 {
	for len(times) > 0 && times[0] <= after {
		times = times[1:]
	}
	return times
}
