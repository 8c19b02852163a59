package updates

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// hook is where the bot wants its updates sent.
type hook struct {
	url     string
	cancel  context.CancelFunc
	lastErr string
	lastAt  int64
}

func (h *hook) end() {
	if h.cancel != nil {
		h.cancel()
	}
	*h = hook{}
}

// Info is the answer to getWebhookInfo.
type Info struct {
	URL     string   `json:"url"`
	Custom  bool     `json:"has_custom_certificate"`
	Pending int      `json:"pending_update_count"`
	LastAt  int64    `json:"last_error_date,omitempty"`
	LastErr string   `json:"last_error_message,omitempty"`
	Allowed []string `json:"allowed_updates,omitempty"`
}

// Info tells how the webhook fares.
func (q *Queue) Info() Info {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Info{q.hook.url, false, len(q.waiting), q.hook.lastAt, q.hook.lastErr, q.allowed}
}

// SetHook sends updates to an address from now on, one at a time and in order;
// allowed as in Wish. It ends a poll that waits.
func (q *Queue) SetHook(url, secret string, allowed *[]string, drop bool) {
	q.Unhook(drop)
	q.mu.Lock()
	defer q.mu.Unlock()
	if allowed != nil {
		q.allowed = *allowed
	}
	q.endPoll("terminated by setWebhook request")
	ctx, cancel := context.WithCancel(context.Background())
	q.hook = hook{url: url, cancel: cancel}
	q.work.Go(func() { q.push(ctx, url, secret) })
}

// Unhook ends deliveries; polls are possible again. With drop nothing waits any more.
func (q *Queue) Unhook(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hook.end()
	if drop {
		q.waiting = nil
	}
}

// push delivers until its context ends, each update again and again until the bot
// answers 2xx.
func (q *Queue) push(ctx context.Context, url, secret string) {
	defer q.ring() // the next one to deliver may have lost its signal to this one
	pause := q.options.Retry
	for ctx.Err() == nil {
		u := q.oldest()
		if u == nil {
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := q.post(ctx, url, secret, u.raw)
		if ctx.Err() != nil {
			return
		}
		q.delivered(u, err)
		if err == nil {
			pause = q.options.Retry
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, 32*q.options.Retry)
		case <-ctx.Done():
		}
	}
}

func (q *Queue) oldest() *update {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[0]
}

// delivered takes an update off the queue, or notes why it stays. What is not JSON
// is tried once.
func (q *Queue) delivered(u *update, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.hook.lastErr, q.hook.lastAt = err.Error(), q.options.Now().Unix()
	}
	if (err == nil || u.broken) && len(q.waiting) > 0 && q.waiting[0] == u {
		q.waiting = q.waiting[1:]
		q.remember(u)
	}
	q.options.Changed()
}

func (q *Queue) post(ctx context.Context, url, secret string, raw []byte) error {
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
		q.options.Odd(fmt.Sprintf("a webhook answered with a call, which the simulator does not make: %.200s", body))
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("wrong response from the webhook: %s", resp.Status)
	}
	return nil
}
