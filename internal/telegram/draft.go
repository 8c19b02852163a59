package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"attache"
	"attache/internal/telegram/richtext"
)

// How a draft goes. Telegram shows one for 30 seconds, so it is shown again in good
// time while the model thinks. Who finds no room tries again a little later.
const (
	draftEvery = time.Second
	draftLasts = 20 * time.Second
	draftTry   = 200 * time.Millisecond // to twice as long
)

// draftPatience is how long End waits for the answer to the last call. A call that
// is given up may still be carried out, and would then be seen behind the post;
// waiting for longer would hold up an answer for the sake of its preview.
const draftPatience = 2 * time.Second

// Draft shows an answer in a private chat while it is being written, with
// Telegram's own stop button: a press comes as attache.Update.Stopped. It is
// cosmetic: it never blocks who writes and never makes a post wait, shows the
// newest text about once a second, shows nothing during a hold, and is silent for
// good when Telegram refuses it. In a group it does nothing (decisions § 7.7). It
// is safe for concurrent use.
type Draft struct {
	sender *Sender
	as     attache.Outgoing // the place and the format
	id     int64
	wake   chan struct{} // there is something new to show; holds one
	stop   chan struct{} // closed by End
	over   chan struct{} // closed when run has ended

	mu       sync.Mutex
	markdown string             // as far as it is written
	cancel   context.CancelFunc // of run's calls; nil until it runs
	ended    bool
}

// Draft begins a draft. The id must be the turn's own and not 0: calls with one id
// are one draft that grows before the reader's eyes, and with 0 nothing is shown.
// The format is the one that the answer will be composed with, so that draft and
// post look the same. Nothing is sent before Show; End must be called.
func (s *Sender) Draft(place attache.Place, id int64, format attache.Format) *Draft {
	return &Draft{
		sender: s, as: attache.Outgoing{Place: place, Format: format}, id: id,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), over: make(chan struct{}),
		ended: id == 0 || !place.Chat.Private(),
	}
}

// Show takes the whole Markdown of the answer as far as it is written. It costs
// nothing and may be called for every word: what is not shown before the next call
// is never shown.
func (d *Draft) Show(markdown string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.markdown = markdown
	if d.cancel == nil {
		var calls context.Context
		calls, d.cancel = context.WithCancel(context.Background())
		go d.run(calls)
	}
	d.stir()
}

func (d *Draft) stir() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// End ends the draft before the answer is posted: when it returns, no call is under
// way and none follows, so that none can arrive behind the post. It waits for the
// answer to a call that is under way, for at most two seconds. It may be called
// more than once.
func (d *Draft) End() {
	d.mu.Lock()
	if !d.ended {
		d.ended = true
		close(d.stop)
	}
	cancel := d.cancel
	d.mu.Unlock()
	if cancel == nil {
		return
	}
	select {
	case <-d.over:
	case <-time.After(draftPatience):
	}
	cancel()
	<-d.over
}

// run makes the calls until End, or until one is refused.
func (d *Draft) run(ctx context.Context) {
	defer close(d.over)
	var shown json.RawMessage
	var next time.Time
	fades := time.NewTimer(draftLasts)
	defer fades.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-d.wake:
		case <-fades.C:
			shown = nil
		}
		if !d.room(next) {
			return
		}
		part, ok := d.newest()
		if !ok || bytes.Equal(part.Params, shown) {
			continue
		}
		next = time.Now().Add(draftEvery)
		if err := d.sender.client.Call(ctx, part.Method, part.Params, nil); err != nil {
			if ctx.Err() != nil || !d.survives(err) {
				return
			}
			d.stir() // to show it when the rest is over
			continue
		}
		shown = part.Params
		fades.Reset(draftLasts)
	}
}

// room waits until a call may begin; false when End came first.
func (d *Draft) room(next time.Time) bool {
	wait := time.Until(next)
	for {
		if wait > 0 {
			select {
			case <-d.stop:
				return false
			case <-time.After(wait):
			}
		}
		select {
		case <-d.stop:
			return false
		default:
		}
		if d.sender.gate.readyDraft(d.as.Place.Chat, d.id, 2*draftTry) {
			return true
		}
		wait = draftTry + rand.N(draftTry)
	}
}

// newest makes the call that shows what is written by now.
func (d *Draft) newest() (attache.Part, bool) {
	d.mu.Lock()
	o := d.as
	o.Markdown = d.markdown
	d.mu.Unlock()
	return richtext.Draft(o, d.id)
}

// survives reports whether the draft goes on after a call that did not succeed:
// after a rest, unless Telegram refused it. The rest is the chat's for all that is
// cosmetic; posts are counted apart and do not wait for it.
func (d *Draft) survives(err error) bool {
	e, ok := errors.AsType[*CallError](err)
	if ok && e.Code >= 400 && e.Code < 500 && e.Code != 429 && !e.Foreign {
		d.mu.Lock()
		d.ended = true
		d.mu.Unlock()
		d.sender.log.Info("telegram takes no draft here; the answer comes as a whole",
			"bot", d.sender.bot, "chat", int64(d.as.Place.Chat), "thread", int64(d.as.Place.Thread), "err", err)
		return false
	}
	rest := typingEvery
	if ok && e.Code == 429 {
		rest = max(e.RetryAfter, floodPause)
	}
	d.sender.gate.hush(d.as.Place.Chat, time.Now().Add(rest))
	return true
}
