package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
)

// startAfter starts a waiting turn when its quiet time has passed. A burst that
// goes on calls it again with the new time.
func (g *Gateway) startAfter(id int64, wait time.Duration) {
	if g.stopped.Load() {
		return
	}
	if wait <= 0 {
		go g.start(id)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.timers[id]; t != nil {
		t.Reset(wait)
		return
	}
	g.timers[id] = time.AfterFunc(wait, func() {
		g.mu.Lock()
		delete(g.timers, id)
		g.mu.Unlock()
		g.start(id)
	})
}

// start begins a waiting turn if its time has come and its place is idle. If not,
// the turn that runs there starts it when it closes, or the sweep does; but one
// that closes just now may have looked too early, so it is tried again a few times.
func (g *Gateway) start(id int64) { g.startAgain(id, 10*time.Millisecond) }

// startAgain is start with the time after which it is tried again; from a second on
// the sweep takes over.
func (g *Gateway) startAgain(id int64, pause time.Duration) {
	if g.ctx.Err() != nil {
		return
	}
	t, ok, err := g.claim(g.ctx, id)
	if err != nil {
		if g.ctx.Err() == nil && !store.Transient(err) && !busy(err) {
			g.log.Error("a turn could not begin; it is tried again each second", "turn", id, "err", err)
		}
		return
	}
	if !ok {
		if pause < time.Second {
			time.AfterFunc(pause, func() { g.startAgain(id, 2*pause) })
		}
		return
	}
	engine.KillPoint("turn.claimed")
	g.mu.Lock()
	g.fresh[id] = t
	g.mu.Unlock()
	g.run(id, workID(id))
}

// run hands a running turn to the engine. If the engine cannot take it now, the
// turn is given back to the sweep, which looks for turns that run without work.
func (g *Gateway) run(id int64, work string) {
	err := g.o.Engine.Start("turn", work, strconv.FormatInt(id, 10))
	if err != nil && g.ctx.Err() == nil {
		g.log.Error("a turn's work could not be started; it is tried again", "turn", id, "err", err)
	}
}

// workID is the engine's id of a turn's work.
func workID(turn int64) string { return fmt.Sprintf("turn:%d", turn) }

// turn is the work of one turn: answer, post, close. It may run again from the
// top after a crash; what it did before is found in the journal and in the posts.
func (g *Gateway) turn(run engine.Run, input string) (err error) {
	id, err := strconv.ParseInt(input, 10, 64)
	if err != nil {
		return fmt.Errorf("turn %q is not a number: %w", input, err)
	}
	ctx, cancel := context.WithCancelCause(run.Context())
	defer cancel(nil)
	if !g.hold(id, func() { cancel(errStopped) }) {
		return nil // it is being done here already
	}
	defer g.release(id)
	began := time.Now()
	t, ok, err := g.taken(ctx, id)
	if err != nil || !ok {
		return err
	}
	defer func() {
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
	if errors.Is(context.Cause(ctx), errStopped) && !out.closed {
		if err := g.dropIntents(run.Context(), id); err != nil {
			return err
		}
		return g.finish(run.Context(), t, outcome{state: "stopped", why: errStopped.Error()}, began)
	}
	if errors.Is(err, errTaken) {
		g.log.Warn("a turn was taken over by another process", "turn", id)
		return nil
	}
	if err != nil {
		return err
	}
	if !out.closed {
		return g.finish(ctx, t, out, began)
	}
	g.said(t, out, began)
	return nil
}

// errStopped ends a turn that a person stopped.
var errStopped = errors.New("stopped by a person")

// taken gives the turn as this process gathered it, or as the database has it.
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

// outcome is what a turn came to.
type outcome struct {
	state  string
	why    string
	parts  int
	next   int64         // the turn that waits behind this one
	wait   time.Duration // until it is due
	closed bool          // the turn's row is closed already
}

// work answers and posts.
func (g *Gateway) work(ctx context.Context, run engine.Run, t Turn) (outcome, error) {
	if len(t.Messages) == 0 {
		return outcome{state: "silent", why: "nothing was left of its input"}, nil
	}
	bot := g.served(ctx, t.Place.Bot)
	switch {
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case g.ctx.Err() != nil && bot == nil:
		return outcome{}, g.ctx.Err()
	case bot == nil:
		return outcome{state: "failed", why: "this process does not serve the bot " + string(t.Place.Bot)}, nil
	}
	stop := typing(bot.bot, t.Place)
	a, err := g.o.Answer(ctx, run, t)
	stop()
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err != nil {
		return outcome{}, err
	}
	engine.KillPoint("turn.answered")
	state := "answered"
	if a.Failed {
		state = "failed"
	}
	if a.Markdown == "" {
		if !a.Failed {
			state = "silent"
		}
		return outcome{state: state, why: a.Why}, nil
	}
	return g.post(ctx, t, bot.bot, a, state)
}

// typingAfter is how long an answer may take before the chat is shown that it is
// on its way; an instant answer needs no such call.
const typingAfter = 400 * time.Millisecond

// typing shows that an answer is on its way, if it takes long. stop ends it.
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

// finish closes a turn that needs no post.
func (g *Gateway) finish(ctx context.Context, t Turn, out outcome, began time.Time) error {
	if out.state != "answered" && g.o.Dropped != nil {
		if err := g.db.Retry(ctx, "dropping a turn", func(ctx context.Context) error { return g.o.Dropped(ctx, t.ID) }); err != nil {
			return err
		}
	}
	err := g.db.Retry(ctx, "closing a turn", func(ctx context.Context) (err error) {
		out.next, out.wait, err = g.closeTurn(ctx, g.db.Pool(), t.ID, out.state, out.why)
		return err
	})
	if err != nil {
		return err
	}
	g.said(t, out, began)
	return nil
}

// said writes the one log line of a turn and starts the turn behind it.
func (g *Gateway) said(t Turn, out outcome, began time.Time) {
	g.log.Info("a turn ended", "turn", t.ID, "bot", t.Place.Bot, "chat", t.Place.Chat, "thread", t.Place.Thread,
		"state", out.state, "messages", len(t.Messages), "parts", out.parts, "ms", time.Since(began).Milliseconds(), "why", out.why)
	g.count(Event{Kind: EventTurn, Bot: t.Place.Bot, What: out.state, Took: time.Since(began)})
	if out.next != 0 {
		g.startAfter(out.next, out.wait)
	}
}

// hold remembers how to stop a running turn; false when this process is doing it
// already, so that no turn is done twice side by side.
func (g *Gateway) hold(id int64, cancel context.CancelFunc) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancels[id] != nil {
		return false
	}
	g.cancels[id] = cancel
	if _, told := g.told[id]; told {
		cancel()
	}
	return true
}

func (g *Gateway) release(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.cancels, id)
	delete(g.fresh, id)
	delete(g.redone, id)
}

// cancel stops a turn if this process runs it, or is just about to.
func (g *Gateway) cancel(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stop := g.cancels[id]; stop != nil {
		stop()
		return
	}
	for other, when := range g.told {
		if time.Since(when) > time.Minute {
			delete(g.told, other)
		}
	}
	g.told[id] = time.Now()
}

// heardStop ends a turn that another process was told to stop. An empty payload
// follows a broken connection: what was missed meanwhile is looked up.
func (g *Gateway) heardStop(payload string) {
	if id, err := strconv.ParseInt(payload, 10, 64); err == nil {
		g.cancel(id)
		return
	}
	ids, err := g.stoppedTurns(g.ctx)
	if err != nil {
		return // the database is away again; the next connection asks again
	}
	for _, id := range ids {
		g.cancel(id)
	}
}

// replyTarget is the newest message of the input; in private chats an answer is
// no reply (decisions § 7.8).
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

// busy reports whether err says that the place runs a turn already: the index on
// running turns refused a second one.
func busy(err error) bool {
	var e interface{ SQLState() string }
	return errors.As(err, &e) && e.SQLState() == "23505"
}
