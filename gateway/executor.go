package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
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

// maxAttempts is how often a turn is begun before it is given up as failed, so
// that a mistake of ours does not repeat a turn for ever.
const maxAttempts = 8

// register writes this process down and takes its lock; then, and each second,
// it recovers what dead processes left.
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
// and starts waiting turns whose time has come. It returns when ctx ends.
func (g *Gateway) beat(ctx context.Context) {
	var leases *store.Leases
	err := g.db.Retry(ctx, "opening a connection for locks", func(ctx context.Context) (err error) {
		leases, err = g.db.Leases(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			g.log.Error("locks on the database cannot be taken", "err", err)
		}
		return
	}
	var lease *store.Lease
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	g.swept = time.Now()
	for {
		if lease == nil || isDone(lease.Lost()) {
			if l, ok, err := leases.Take(ctx, executorLock(g.o.Executor)); err == nil && ok {
				lease = l
			}
		}
		err := g.db.Retry(ctx, "the beat of this process", func(ctx context.Context) error { return g.sweep(ctx) })
		if err != nil && ctx.Err() == nil {
			g.log.Error("the sweep of turns did not end well; it is tried again each second", "err", err)
		}
		select {
		case <-ctx.Done():
			if lease != nil {
				lease.Release()
			}
			return
		case <-tick.C:
		}
	}
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func executorLock(id string) string { return "executor:" + id }

// sweep is what a process does each second: beat, recovery, overdue turns. One
// query answers for all of them whether there is anything to do.
func (g *Gateway) sweep(ctx context.Context) error {
	rows, err := g.db.Pool().Query(ctx, `
		with me as (insert into attache.executors (id) values ($1) on conflict (id) do update set beat = now())
		select 'turn', w.id::text from attache.turns w where w.state = 'waiting' and w.due <= now() and not exists (
			select 1 from attache.turns r where r.bot = w.bot and r.chat = w.chat and r.thread = w.thread and r.state = 'running')
		union all
		select 'lost', id::text from attache.turns where state = 'running' and executor = $1 and started < now() - interval '5 seconds'
		union all
		select 'chrome', '' where exists (select 1 from attache.posts where turn is null and state = 'intent' and executor = $1)
		union all
		select 'dead', id from attache.executors where id <> $1 and ($2 or beat < now() - $3::interval)`, g.o.Executor, g.o.Alone, deadFree)
	if err != nil {
		return err
	}
	found := map[string][]string{}
	for rows.Next() {
		var what, id string
		if err := rows.Scan(&what, &id); err != nil {
			rows.Close()
			return err
		}
		found[what] = append(found[what], id)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, id := range found["turn"] {
		n, _ := strconv.ParseInt(id, 10, 64)
		g.startAfter(n, 0)
	}
	for _, id := range found["lost"] {
		n, _ := strconv.ParseInt(id, 10, 64)
		g.again(n)
	}
	if len(found["chrome"]) > 0 {
		g.sendChrome(ctx)
	}
	// After an outage of the database every beat is old and every lock is free: the
	// others are given the time to show that they live.
	gap := time.Since(g.swept)
	g.swept = time.Now()
	if !g.o.Alone && gap > deadFree/2 {
		g.trust = g.swept.Add(deadFree + beatEvery)
	}
	if len(found["dead"]) > 0 && time.Now().After(g.trust) {
		return g.recover(ctx, found["dead"])
	}
	return nil
}

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

// redoEvery is how long the engine has to begin work that it was handed again.
const redoEvery = 15 * time.Second

// recover takes over what dead processes left: their running turns go on from
// their last step, their chrome is sent, and their calls without a result are of
// unknown fate. A lock keeps two living processes from doing it side by side.
func (g *Gateway) recover(ctx context.Context, suspects []string) error {
	var dead []string
	for _, id := range suspects {
		if g.o.Alone {
			dead = append(dead, id)
			continue
		}
		free, err := g.db.Free(ctx, executorLock(id))
		if err != nil {
			return err
		}
		if free {
			dead = append(dead, id)
		}
	}
	var turns []int64
	var lost []row
	err := g.db.InTx(ctx, func(tx store.Tx) (err error) {
		turns, lost, err = g.inherit(ctx, tx, dead)
		return err
	})
	if err != nil || len(turns)+len(lost) == 0 {
		return err
	}
	g.log.Info("work of a dead process is taken over", "turns", len(turns), "posts", len(lost))
	for _, r := range lost {
		g.tell(r, attache.Delivery{Fate: attache.FateUnknown, Why: "the process ended during the call"})
	}
	for _, id := range turns {
		g.mu.Lock()
		g.redone[id] = time.Now()
		g.mu.Unlock()
		g.redo(ctx, id)
	}
	return nil
}

// inherit makes everything of dead processes this process's own.
func (g *Gateway) inherit(ctx context.Context, tx store.Tx, dead []string) (turns []int64, lost []row, err error) {
	var got bool
	if err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtext('attache.recovery'), 0)`).Scan(&got); err != nil || !got {
		return nil, nil, err
	}
	// Processes whose beat stopped long ago are dead although their lock is held.
	rows, err := tx.Query(ctx, `delete from attache.executors where id <> $1 and (id = any($2) or beat < now() - $3::interval) returning id`,
		g.o.Executor, dead, deadHeld)
	if err != nil {
		return nil, nil, err
	}
	gone, err := collect[string](rows)
	if err != nil || len(gone) == 0 {
		return nil, nil, err
	}
	rows, err = tx.Query(ctx, `update attache.turns set executor = $1, attempt = attempt + 1 where state = 'running' and executor = any($2) returning id`,
		g.o.Executor, gone)
	if err != nil {
		return nil, nil, err
	}
	if turns, err = collect[int64](rows); err != nil {
		return nil, nil, err
	}
	rows, err = tx.Query(ctx, `update attache.posts set executor = $1,
			state = case state when 'sending' then 'unknown' else state end,
			why = case state when 'sending' then 'the process ended during the call' else why end,
			done = case state when 'sending' then now() end
		where turn is null and state in ('intent', 'sending') and executor = any($2) returning `+postColumns, g.o.Executor, gone)
	if err != nil {
		return nil, nil, err
	}
	posts, err := pgx.CollectRows(rows, readRow)
	return turns, unknownOf(posts), err
}

// unknownOf picks the posts whose fate nobody knows.
func unknownOf(posts []row) (lost []row) {
	for _, p := range posts {
		if p.state == "unknown" {
			lost = append(lost, p)
		}
	}
	return lost
}

func collect[T any](rows pgx.Rows) ([]T, error) { return pgx.CollectRows(rows, pgx.RowTo[T]) }

// redo has the engine go on with a turn: from its journal if it has one, from our
// own tables if it has not (the process died between the two, or the journal has
// another shape; architecture § 3).
func (g *Gateway) redo(ctx context.Context, id int64) {
	work := workID(id)
	resumed := false
	err := g.db.Retry(ctx, "taking up a turn", func(context.Context) (err error) {
		resumed, err = g.o.Engine.Resume(work)
		return err
	})
	if err == nil && resumed {
		return
	}
	if err == nil {
		var attempt int
		err = g.db.Retry(ctx, "taking up a turn", func(ctx context.Context) error {
			return g.db.Pool().QueryRow(ctx, `update attache.turns set attempt = attempt + 1 where id = $1 returning attempt`, id).Scan(&attempt)
		})
		switch {
		case err == nil && attempt > maxAttempts:
			err = g.finish(ctx, Turn{ID: id}, outcome{state: "failed", why: "it ended on an error each time it was begun; the log has them"}, time.Now())
		case err == nil:
			g.run(id, fmt.Sprintf("%s.%d", work, attempt))
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		g.log.Error("a turn could not be taken up; it is tried again", "turn", id, "err", err)
	}
}
