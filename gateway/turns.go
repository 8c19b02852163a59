package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/internal/engine"
	"attache/internal/store"
)

// turn is the work of one turn: answer, post, close. It may run again from the
// top after a crash; what it did before is found in the journal and in the posts.
func (g *Gateway) turn(run engine.Run, input string) (err error) {
	id, err := strconv.ParseInt(input, 10, 64)
	if err != nil {
		return fmt.Errorf("turn %q is not a number: %w", input, err)
	}
	ctx, cancel := context.WithCancelCause(run.Context())
	defer cancel(nil)
	if !g.begin(id, func() { cancel(errStopped) }) {
		return nil // it is being done here already
	}
	defer g.end(id)
	began := time.Now()
	t, ok, err := g.taken(ctx, id)
	if err != nil || !ok {
		return err
	}
	defer func() {
		// A panic that went on would be an error, and the turn would be tried again;
		// what panics once does so each time, so the place is set free at once.
		if r := recover(); r != nil {
			g.log.Error("a turn panicked", "turn", id, "why", fmt.Sprint(r), "err", string(debug.Stack()))
			err = g.finish(run.Context(), t, outcome{state: "failed", why: fmt.Sprintf("panic: %v", r)}, began)
		}
	}()
	engine.KillPoint("turn.begun")
	if t.stop {
		cancel(errStopped)
	}
	out, err := g.work(ctx, run, t)
	switch {
	case errors.Is(context.Cause(ctx), errStopped) && !out.closed:
		if err := g.posts.DropIntents(run.Context(), id); err != nil {
			return err
		}
		return g.finish(run.Context(), t, outcome{state: "stopped", why: errStopped.Error()}, began)
	case errors.Is(err, posts.ErrTaken):
		out.taken = true
	case err != nil:
		return err
	case !out.closed:
		return g.finish(ctx, t, out, began)
	}
	g.ended(t, out, began)
	return nil
}

// errStopped ends a turn that a person stopped. It is the cause of the context's end,
// so that a stop is told from the end of the process: a stopped turn is closed, one
// whose process ends stays open for the next.
var errStopped = errors.New("stopped by a person")

// taken gives the turn as this process gathered it, or as the database has it. The
// first saves a look at the database for nearly every turn; it is given once, since
// a second execution in this process must see what the first one did.
func (g *Gateway) taken(ctx context.Context, id int64) (Turn, bool, error) {
	g.mu.Lock()
	t, fresh := g.fresh[id]
	delete(g.fresh, id)
	g.mu.Unlock()
	if fresh {
		return t, true, nil
	}
	ok := false
	err := g.db.Retry(ctx, "reading a turn", func(ctx context.Context) (err error) {
		t, ok, err = g.load(ctx, id)
		return err
	})
	return t, ok, err
}

// outcome is what a turn came to. Its state and why are what the row is closed with;
// the rest is found out by closing it.
type outcome struct {
	state  string
	why    string
	parts  int
	next   int64         // the turn that waits behind this one
	wait   time.Duration // until it is due
	closed bool          // the turn needs no finish any more
	taken  bool          // another process has the turn, and ends it
}

// summary says in one clause how a turn ended and why.
func (o outcome) summary(messages int) string {
	s := fmt.Sprintf("%s; %d messages, %d parts", o.state, messages, o.parts)
	if o.why != "" {
		s += "; " + o.why
	}
	return s
}

// work answers and posts.
func (g *Gateway) work(ctx context.Context, run engine.Run, t Turn) (outcome, error) {
	if t.Task == nil && len(t.Messages) == 0 { // its messages were deleted while it waited
		return outcome{state: "silent", why: "nothing was left of its input"}, nil
	}
	stop := func() {}
	if t.Place.Chat != 0 {
		bot := g.served(ctx, t.Place.Bot)
		switch {
		case ctx.Err() != nil:
			return outcome{}, ctx.Err()
		case g.ctx.Err() != nil && bot == nil:
			return outcome{}, g.ctx.Err()
		case bot == nil:
			return outcome{state: "failed", why: "this process does not serve the bot " + string(t.Place.Bot)}, nil
		}
		// The errors above are the end of this execution, not of the turn: they leave it
		// open, and the next execution takes it up.
		if t.Task == nil { // nobody waits for a run, and it may have nothing to say
			stop = typing(bot.bot, t.Place)
		}
	}
	a, err := g.o.Answer(ctx, run, t)
	stop()
	if ctx.Err() != nil { // an answer that was cut off by a stop is no answer
		return outcome{}, ctx.Err()
	}
	if err != nil {
		return outcome{}, err
	}
	engine.KillPoint("turn.answered")
	return g.post(ctx, t, a)
}

// post says the answer, and the turn is closed with the result of its last part.
func (g *Gateway) post(ctx context.Context, t Turn, a Answer) (outcome, error) {
	out := outcome{state: "answered", why: a.Why}
	switch {
	case a.Failed:
		out.state = "failed"
	case a.Refused:
		out.state = "refused"
	}
	if a.Markdown == "" {
		out.hush("")
		return out, nil
	}
	if t.Place.Chat == 0 {
		out.why = "the run has no place, so its last words are not posted"
		return out, nil
	}
	said, err := g.posts.Answer(ctx, posts.Answer{
		Outgoing: attache.Outgoing{Place: t.Place, Markdown: a.Markdown, ReplyTo: replyTarget(t), Format: a.Format, Origin: a.Origin},
		Turn:     t.ID, Fresh: t.fresh, ToChat: a.Gone == "chat",
		Close: func(ctx context.Context, tx store.Tx, s posts.Said) error {
			if s.Why != "" {
				out.why = s.Why
			}
			if s.Taken == 0 { // nobody read it, so it is no part of the conversation
				out.state = "failed"
				if err := g.o.Dropped(ctx, t.ID); err != nil {
					return err
				}
			}
			return g.closeTurn(ctx, tx, t.ID, &out)
		},
	})
	if err != nil {
		return out, err
	}
	out.parts, out.closed = said.Parts, said.Parts > 0
	if !out.closed {
		out.hush("the answer is empty once it is formatted")
	}
	return out, nil
}

// hush makes a turn silent that has nothing to say, unless it failed: silence is a
// decision of the role, and a failure must not look like one.
func (o *outcome) hush(why string) {
	if o.state == "answered" {
		o.state = "silent"
	}
	if why != "" {
		o.why = why
	}
}

// typingAfter is how long an answer may take before the chat is shown that it is
// on its way; an instant answer needs no such call.
const typingAfter = 400 * time.Millisecond

// typing shows that an answer is on its way, if it takes long. stop ends it and does
// not wait for it: the answer must not wait for something cosmetic.
func typing(b Bot, p attache.Place) (stop func()) {
	if b.Typing == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		t := time.NewTimer(typingAfter)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C:
			end := b.Typing(p)
			<-ended
			end()
		}
	}()
	return func() { close(ended) }
}

// finish closes a turn that needs no post. The history is told first: should the
// process die between the two, the turn is open still and told of again, while a
// closed turn is never looked at again.
func (g *Gateway) finish(ctx context.Context, t Turn, out outcome, began time.Time) error {
	if out.state != "answered" {
		if err := g.db.Retry(ctx, "dropping a turn", func(ctx context.Context) error { return g.o.Dropped(ctx, t.ID) }); err != nil {
			return err
		}
	}
	err := g.db.Retry(ctx, "closing a turn", func(ctx context.Context) error {
		return g.db.InTx(ctx, func(tx store.Tx) error { return g.closeTurn(ctx, tx, t.ID, &out) })
	})
	if err != nil {
		return err
	}
	g.ended(t, out, began)
	return nil
}

// ended writes the one log line of a turn and starts the turn behind it, which could
// not begin while the place was taken.
func (g *Gateway) ended(t Turn, out outcome, began time.Time) {
	if out.taken {
		g.log.Warn("a turn has another process now, or had ended already; it is left alone", "turn", t.ID)
		return
	}
	g.log.Info("a turn ended", "turn", t.ID, "bot", t.Place.Bot, "chat", t.Place.Chat, "thread", t.Place.Thread,
		"ms", time.Since(began).Milliseconds(), "why", out.summary(len(t.Messages)))
	g.o.CountTurn(t.Place.Bot, out.state, time.Since(began))
	if out.next != 0 {
		g.startAfter(out.next, out.wait)
	}
}

// replyTarget is the newest message of the input, the one that people see last; in
// private chats an answer is no reply (decisions § 7.8).
func replyTarget(t Turn) attache.MessageID {
	if t.Place.Chat.Private() {
		return 0
	}
	var newest attache.MessageID
	for _, m := range t.Messages {
		if m.Place.Chat == t.Place.Chat { // not what was said before the group got its new number
			newest = max(newest, m.ID)
		}
	}
	return newest
}
