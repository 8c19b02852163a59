package telegram

import (
	"context"
	"slices"
	"sync"
	"time"

	"attache"
)

// Telegram's pace for one bot (decisions § 7.4), as windows in which at most so
// many calls may begin. Typing and drafts have windows of their own beside a chat's
// posts, which the topics of the chat share: what is worth nothing a moment later
// must never make an answer wait. Of the bot's pace they leave a third to answers.
const (
	perChat     = 1  // a second
	perGroup    = 20 // a minute
	perBot      = 30 // a second
	perTyping   = 1  // a second, of a chat
	perDraft    = 1  // a second, of a chat
	perFleeting = 20 // of perBot: both of them together, of all chats
)

// patience is how long an edit lets answers of its chat pass before it counts as
// one itself.
const patience = 15 * time.Second

// Urgency orders the calls that wait for their turn.
type Urgency int

// The urgencies, most urgent first. UrgencyTyping and what comes after it never
// wait: such a call is made at once or not at all.
const (
	UrgencyFinal  Urgency = iota // answers, approvals, anything a person waits for
	UrgencyEdit                  // edits of posts
	UrgencyTyping                // chat actions
	urgencyDraft                 // answers that are still being written
)

// gate says when a call of one bot may begin.
type gate struct {
	paced bool

	mu       sync.Mutex
	bot      window
	fleeting window    // those of bot's calls that are typing or drafts
	hold     time.Time // the whole bot is silent until then
	chats    map[attache.ChatID]*chatGate
	queued   map[attache.ChatID]*chatGate // those of them in which calls wait
	seq      int
	timer    *time.Timer // wakes pump when the next turn comes
	pruned   time.Time
}

// chatGate is the state of one chat.
type chatGate struct {
	id      attache.ChatID
	posts   window
	minute  window // groups only
	typing  window
	drafts  window
	drew    int64                 // the draft that was shown last
	asked   time.Time             // when another one found no room
	hold    time.Time             // no call until then
	quiet   time.Time             // no typing and no drafts until then
	waiting [UrgencyTyping][]turn // first come, first served, by urgency
}

// turn is a call that waits.
type turn struct {
	seq   int
	since time.Time
	come  chan struct{} // closed when the turn has come
}

func newGate(paced bool) *gate {
	return &gate{
		paced:    paced,
		bot:      window{n: perBot, per: time.Second},
		fleeting: window{n: perFleeting, per: time.Second},
		chats:    map[attache.ChatID]*chatGate{},
		queued:   map[attache.ChatID]*chatGate{},
	}
}

// window remembers when the last n calls began: another may begin when the
// earliest of them is out of the window. Unlike a bucket of tokens it never lets
// twice as many through in one window.
type window struct {
	n     int
	per   time.Duration
	times []time.Time // at most n, earliest first
}

// free gives when the next call may begin: now, or later.
func (w *window) free(now time.Time) time.Time {
	if w.n == 0 || len(w.times) < w.n {
		return now
	}
	return later(now, w.times[len(w.times)-w.n].Add(w.per))
}

// take notes a call that begins now.
func (w *window) take(now time.Time) {
	if w.n == 0 {
		return
	}
	if len(w.times) >= w.n {
		w.times = slices.Delete(w.times, 0, len(w.times)-w.n+1)
	}
	w.times = append(w.times, now)
}

// idle reports whether nothing of the window matters any more.
func (w *window) idle(now time.Time) bool {
	return len(w.times) == 0 || !now.Before(w.times[len(w.times)-1].Add(w.per))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (g *gate) chat(id attache.ChatID) *chatGate {
	c := g.chats[id]
	if c == nil {
		c = &chatGate{
			id:     id,
			posts:  window{n: perChat, per: time.Second},
			typing: window{n: perTyping, per: time.Second},
			drafts: window{n: perDraft, per: time.Second},
		}
		if !id.Private() {
			c.minute = window{n: perGroup, per: time.Minute}
		}
		g.chats[id] = c
	}
	return c
}

// free gives when a post to the chat may begin, the bot's own pace apart.
func (g *gate) free(c *chatGate, now time.Time) time.Time {
	at := later(later(now, g.hold), c.hold)
	if g.paced {
		at = later(later(at, c.posts.free(now)), c.minute.free(now))
	}
	return at
}

// begin notes a post to the chat that begins now.
func (g *gate) begin(c *chatGate, now time.Time) {
	if !g.paced {
		return
	}
	g.bot.take(now)
	c.posts.take(now)
	c.minute.take(now)
}

// ready takes the turn if it is free at once and nobody waits before it.
func (g *gate) ready(id attache.ChatID, u Urgency) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admit(id, u)
}

// readyDraft does so for a draft. One that finds no room tries again within a given
// time, and drafts of one chat take turns by that: the one that was shown last
// steps back while another one tries.
func (g *gate) readyDraft(id attache.ChatID, draft int64, again time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, now := g.chat(id), time.Now()
	if c.drew == draft && now.Sub(c.asked) < again {
		return false
	}
	if !g.admit(id, urgencyDraft) {
		if c.drew != draft {
			c.asked = now
		}
		return false
	}
	c.drew = draft
	return true
}

// admit is ready with g.mu held.
func (g *gate) admit(id attache.ChatID, u Urgency) bool {
	g.pump() // who has waited goes first
	now := time.Now()
	if g.paced && g.bot.free(now).After(now) {
		return false
	}
	c := g.chat(id)
	switch {
	case u == UrgencyTyping:
		return g.readyFleeting(c, &c.typing, now)
	case g.queued[id] != nil, g.free(c, now).After(now):
		return false
	case u == urgencyDraft:
		return g.readyFleeting(c, &c.drafts, now)
	}
	g.begin(c, now)
	return true
}

// readyFleeting lets a chat action or a draft pass when nothing holds the chat; it
// takes a place of the bot's pace and of its own window, and none of the chat's
// posts.
func (g *gate) readyFleeting(c *chatGate, w *window, now time.Time) bool {
	if now.Before(g.hold) || now.Before(c.hold) || now.Before(c.quiet) {
		return false
	}
	if !g.paced {
		return true
	}
	if w.free(now).After(now) || g.fleeting.free(now).After(now) {
		return false
	}
	g.bot.take(now)
	g.fleeting.take(now)
	w.take(now)
	return true
}

// clear waits for a turn.
func (g *gate) clear(ctx context.Context, id attache.ChatID, u Urgency) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u = min(u, UrgencyEdit)
	if g.ready(id, u) {
		return nil
	}
	g.mu.Lock()
	c := g.chat(id)
	g.seq++
	t := turn{seq: g.seq, since: time.Now(), come: make(chan struct{})}
	c.waiting[u] = append(c.waiting[u], t)
	g.queued[id] = c
	g.pump()
	g.mu.Unlock()
	select {
	case <-t.come:
		return nil
	case <-ctx.Done():
		return g.leave(ctx, c, u, t)
	}
}

// leave takes a turn that no longer waits out of the queue; if it has come
// meanwhile, it counts as come.
func (g *gate) leave(ctx context.Context, c *chatGate, u Urgency, t turn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-t.come:
		return nil
	default:
	}
	c.waiting[u] = slices.DeleteFunc(c.waiting[u], func(o turn) bool { return o.seq == t.seq })
	g.unqueue(c)
	g.pump()
	return ctx.Err()
}

// unqueue takes a chat in which nobody waits any more off the list of those.
func (g *gate) unqueue(c *chatGate) {
	if len(c.waiting[UrgencyFinal])+len(c.waiting[UrgencyEdit]) == 0 {
		delete(g.queued, c.id)
	}
}

// pump gives every turn that has come to the most urgent of those that wait,
// then sees to it that it runs again when the next one comes. g.mu is held.
func (g *gate) pump() {
	for {
		now := time.Now()
		g.prune(now)
		c, u, at := g.next(now)
		if c == nil {
			return
		}
		if g.paced {
			at = later(at, g.bot.free(now))
		}
		if at.After(now) {
			g.wake(at.Sub(now))
			return
		}
		t := c.waiting[u][0]
		c.waiting[u] = c.waiting[u][1:]
		g.unqueue(c)
		g.begin(c, now)
		close(t.come)
	}
}

// next chooses whose turn is the next: among the chats that are free now the most
// urgent head of a queue, and of the same urgency the one that came first; when
// no chat is free, the one that will be soonest, and when that is.
func (g *gate) next(now time.Time) (best *chatGate, queue Urgency, at time.Time) {
	var rank Urgency
	var seq int
	for _, c := range g.queued {
		q, r, s := c.head(now)
		free := g.free(c, now)
		better := best == nil || free.Before(at)
		if best != nil && free.Equal(at) {
			better = r < rank || r == rank && s < seq
		}
		if better {
			best, queue, at, rank, seq = c, q, free, r, s
		}
	}
	return best, queue, at
}

// head gives the queue whose first turn is the chat's next, with its rank and
// number. An edit that has waited for long ranks as an answer and goes in order
// of coming. Somebody waits.
func (c *chatGate) head(now time.Time) (queue, rank Urgency, seq int) {
	finals, edits := c.waiting[UrgencyFinal], c.waiting[UrgencyEdit]
	late := len(edits) > 0 && now.Sub(edits[0].since) >= patience
	switch {
	case len(finals) > 0 && !(late && edits[0].seq < finals[0].seq):
		return UrgencyFinal, UrgencyFinal, finals[0].seq
	case late:
		return UrgencyEdit, UrgencyFinal, edits[0].seq
	}
	return UrgencyEdit, UrgencyEdit, edits[0].seq
}

func (g *gate) wake(after time.Duration) {
	if g.timer == nil {
		g.timer = time.AfterFunc(after, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.pump()
		})
		return
	}
	g.timer.Reset(after)
}

// silence holds back every call to a chat until then; chat 0 is the whole bot. A
// hold is only ever made longer.
func (g *gate) silence(id attache.ChatID, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id == 0 {
		g.hold = later(g.hold, until)
	} else {
		c := g.chat(id)
		c.hold = later(c.hold, until)
	}
	g.pump()
}

// hush holds back the typing and the drafts of a chat only.
func (g *gate) hush(id attache.ChatID, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.chat(id)
	c.quiet = later(c.quiet, until)
}

// prune forgets chats of which nothing matters any more, once a minute. g.mu is
// held.
func (g *gate) prune(now time.Time) {
	if now.Sub(g.pruned) < time.Minute {
		return
	}
	g.pruned = now
	for id, c := range g.chats {
		if g.queued[id] == nil && c.posts.idle(now) && c.minute.idle(now) && c.typing.idle(now) && c.drafts.idle(now) && !now.Before(c.hold) && !now.Before(c.quiet) {
			delete(g.chats, id)
		}
	}
}
