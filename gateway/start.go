package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"attache/internal/engine"
	"attache/internal/store"
)

// startAfter starts a waiting turn when its quiet time has passed. A burst that
// goes on calls it again with the new time. A timer is only this process's haste:
// if it is lost with the process, the sweep of another one starts the turn.
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
		// Two that begin turns of one place at once are kept apart by the index; the one
		// that comes too late has nothing to tell.
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

// workID is the engine's id of a turn's work. The engine does the work of one id once
// in all processes, so a turn that is handed to it twice runs once.
func workID(turn int64) string { return fmt.Sprintf("turn:%d", turn) }

// busy reports whether err says that the place runs a turn already: the index on
// running turns refused a second one.
func busy(err error) bool {
	var e interface{ SQLState() string }
	return errors.As(err, &e) && e.SQLState() == "23505"
}

// maxAttempts is how often a turn is begun before it is given up as failed, so
// that a mistake of ours does not repeat a turn for ever.
const maxAttempts = 8

// redoEvery is how long the engine has to begin work that it was handed again.
const redoEvery = 15 * time.Second

// again starts the work of a turn that is this process's and that it does not
// do: the engine could not take it at first, or its work ended on an error.
func (g *Gateway) again(id int64) {
	g.mu.Lock()
	_, doing := g.cancels[id]
	recent := time.Since(g.redone[id]) < redoEvery
	if !doing && !recent {
		g.redone[id] = time.Now()
	}
	g.mu.Unlock()
	if !doing && !recent {
		g.redo(g.ctx, id)
	}
}

// redo has the engine go on with a turn: from its journal if it has one, from our
// own tables if it has not (the process died between the two, or the journal has
// another shape; architecture § 3).
func (g *Gateway) redo(ctx context.Context, id int64) {
	resumed := false
	err := g.db.Retry(ctx, "taking up a turn", func(context.Context) (err error) {
		resumed, err = g.o.Engine.Resume(workID(id))
		return err
	})
	if err == nil && !resumed {
		err = g.beginAnew(ctx, id)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		g.log.Error("a turn could not be taken up; it is tried again", "turn", id, "err", err)
	}
}

// beginAnew begins a turn from our own tables, under another id: the engine does
// the work of one id once. One that was begun too often is given up, and the place
// goes on with the next.
func (g *Gateway) beginAnew(ctx context.Context, id int64) error {
	var attempt int
	err := g.db.Retry(ctx, "taking up a turn", func(ctx context.Context) error {
		return g.db.Pool().QueryRow(ctx, `update attache.turns set attempt = attempt + 1 where id = $1 returning attempt`, id).Scan(&attempt)
	})
	if err != nil {
		return err
	}
	if attempt > maxAttempts {
		return g.finish(ctx, Turn{ID: id}, outcome{state: "failed", why: "it ended on an error each time it was begun; the log has them"}, time.Now())
	}
	g.run(id, fmt.Sprintf("%s.%d", workID(id), attempt))
	return nil
}
