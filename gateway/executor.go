package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"attache/gateway/posts"
	"attache/internal/store"
)

// Times of a process's life sign. A process is dead when its lock is free and its
// beat is older than deadFree, or when its beat is older than deadHeld: a broken
// connection frees a lock although the process lives, and a frozen process keeps
// its lock although it does nothing (architecture § 3).
const (
	beatEvery = time.Second
	deadFree  = 4 * time.Second
	deadHeld  = time.Minute
)

// executorLock names the lock that a living process holds on a connection of its
// own: the server lets go of it when the process is gone, however it went.
func executorLock(id string) string { return "executor:" + id }

// register writes this process down, or that it lives still, so that whatever it
// leaves belongs to somebody who can be found dead.
func (g *Gateway) register(ctx context.Context) error {
	err := g.db.Retry(ctx, "registering this process", func(ctx context.Context) error {
		_, err := g.db.Pool().Exec(ctx, `insert into attache.executors (id) values ($1) on conflict (id) do update set beat = now()`, g.o.Executor)
		return err
	})
	if err != nil {
		return fmt.Errorf("this process cannot be registered in the database: %w", err)
	}
	return nil
}

// beat shows once a second that this process lives, recovers what dead ones left
// and starts waiting turns whose time has come. It returns when ctx ends, with the
// lock that says that this process lives, nil if it has not got it just now.
func (g *Gateway) beat(ctx context.Context) (lease *store.Lease) {
	var leases *store.Leases
	err := g.db.Retry(ctx, "opening a connection for locks", func(ctx context.Context) (err error) {
		leases, err = g.db.Leases(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			g.log.Error("locks on the database cannot be taken", "err", err)
		}
		return nil
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	g.swept = time.Now()
	told := "" // the error of the last sweep: the same again is told once
	for {
		// The lock goes with its connection. It is taken anew whenever it is lost; until
		// then the beat alone says that this process lives.
		if lease == nil || isDone(lease.Lost()) {
			if l, ok, err := leases.Take(ctx, executorLock(g.o.Executor)); err == nil && ok {
				lease = l
			}
		}
		err := g.db.Retry(ctx, "the beat of this process", func(ctx context.Context) error { return g.sweep(ctx) })
		switch {
		case err == nil:
			told = ""
		case ctx.Err() == nil && err.Error() != told:
			g.log.Error("the sweep of turns did not end well; it is tried again each second", "err", err)
			told = err.Error()
		}
		select {
		case <-ctx.Done():
			return lease
		case <-tick.C:
		}
	}
}

// isDone reports whether a channel is closed, and does not wait for it.
func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sweep is what a process does each second. It is the net below everything that
// this process does sooner by itself: whatever was forgotten, by a crash or by a
// mistake of ours, lies in the database and is found here.
func (g *Gateway) sweep(ctx context.Context) error {
	found, err := g.look(ctx)
	if err != nil {
		return err
	}
	for _, id := range found.due {
		g.startAfter(id, 0)
	}
	for _, id := range found.lost {
		g.again(id)
	}
	if found.chrome {
		g.posts.SendChrome(ctx)
	}
	// After an outage of the database every beat is old and every lock is free: the
	// others are given the time to show that they live.
	gap := time.Since(g.swept)
	g.swept = time.Now()
	if !g.o.Alone && gap > deadFree/2 {
		g.trust = g.swept.Add(deadFree + beatEvery)
	}
	if len(found.dead) > 0 && time.Now().After(g.trust) {
		return g.takeOver(ctx, found.dead)
	}
	return nil
}

// finding is what a look at the database found to do.
type finding struct {
	due    []int64  // waiting turns whose time has come and whose place is idle
	lost   []int64  // turns that run here as far as the database knows
	chrome bool     // chrome of this process waits
	dead   []string // processes whose beat is old
}

// look beats and looks for what there is to do. One query does it all: an idle
// program is one statement a second to the server.
func (g *Gateway) look(ctx context.Context) (finding, error) {
	var f finding
	rows, err := g.db.Pool().Query(ctx, `
		with me as (insert into attache.executors (id) values ($1) on conflict (id) do update set beat = now())
		select 'due', w.id::text from attache.turns w where w.state = 'waiting' and w.due <= now() and (w.chat = 0 or not exists (
			select 1 from attache.turns r where r.bot = w.bot and r.chat = w.chat and r.thread = w.thread and r.state = 'running'))
		union all
		select 'lost', id::text from attache.turns where state = 'running' and executor = $1 and started < now() - interval '5 seconds'
		union all
		select 'chrome', '' where `+posts.ChromeWaits+`
		union all
		select 'dead', id from attache.executors where id <> $1 and ($2 or beat < now() - $3::interval)`, g.o.Executor, g.o.Alone, deadFree)
	if err != nil {
		return f, err
	}
	var what, id string
	_, err = pgx.ForEachRow(rows, []any{&what, &id}, func() error {
		turn, _ := strconv.ParseInt(id, 10, 64) // 0 where id is no turn's
		switch what {
		case "due":
			f.due = append(f.due, turn)
		case "lost":
			f.lost = append(f.lost, turn)
		case "chrome":
			f.chrome = true
		case "dead":
			f.dead = append(f.dead, id)
		}
		return nil
	})
	return f, err
}

// takeOver makes what dead processes left this process's own: their running turns
// go on from their last step, their chrome is sent, and their calls without a
// result are of unknown fate.
func (g *Gateway) takeOver(ctx context.Context, suspects []string) error {
	dead, err := g.dead(ctx, suspects)
	if err != nil {
		return err
	}
	var turns []int64
	var lost int
	after := func() {}
	err = g.db.InTx(ctx, func(tx store.Tx) error {
		gone, err := g.bury(ctx, tx, dead)
		if err != nil || len(gone) == 0 {
			return err
		}
		rows, err := tx.Query(ctx, `update attache.turns set executor = $1, attempt = attempt + 1 where state = 'running' and executor = any($2) returning id`,
			g.o.Executor, gone)
		if err != nil {
			return err
		}
		if turns, err = collect[int64](rows); err != nil {
			return err
		}
		lost, after, err = g.posts.Inherit(ctx, tx, gone)
		return err
	})
	if err != nil || len(turns)+lost == 0 {
		return err
	}
	g.log.Info("work of a dead process is taken over", "why", fmt.Sprintf("%d turns, %d posts", len(turns), lost))
	after()
	for _, id := range turns {
		g.mu.Lock()
		g.redone[id] = time.Now() // or the sweep would hand it to the engine a second time
		g.mu.Unlock()
		g.redo(ctx, id)
	}
	return nil
}

// dead picks the processes whose lock is free. Whoever is alone need not ask: the
// lock of its data folder says that no other process can live.
func (g *Gateway) dead(ctx context.Context, suspects []string) (dead []string, err error) {
	if g.o.Alone {
		return suspects, nil
	}
	for _, id := range suspects {
		free, err := g.db.Free(ctx, executorLock(id))
		if err != nil {
			return nil, err
		}
		if free {
			dead = append(dead, id)
		}
	}
	return dead, nil
}

// bury strikes dead processes off, and those whose beat stopped long ago although
// their lock is held, and names them. A lock lets one living process do it; for
// the others there is nobody to bury.
func (g *Gateway) bury(ctx context.Context, tx store.Tx, dead []string) ([]string, error) {
	var mine bool
	if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtext('attache.recovery'), 0)`).Scan(&mine); err != nil || !mine {
		return nil, err
	}
	rows, err := tx.Query(ctx, `delete from attache.executors where id <> $1 and (id = any($2) or beat < now() - $3::interval) returning id`,
		g.o.Executor, dead, deadHeld)
	if err != nil {
		return nil, err
	}
	return collect[string](rows)
}

func collect[T any](rows pgx.Rows) ([]T, error) { return pgx.CollectRows(rows, pgx.RowTo[T]) }
