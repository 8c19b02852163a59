package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/gateway/inbox"
	"attache/internal/store"
)

// owned is SQL for posts: it has a row while turn $1 runs and executor $2 is the one
// that answers it.
const owned = `select 1 from attache.turns where id = $1 and state = 'running' and executor = $2`

// claim gathers a waiting turn whose time has come and whose place is idle: it
// becomes this process's running turn and, unless it is a run, takes every waiting
// message of its place, in one transaction and one round trip. It reports false when the turn
// cannot begin now.
//
// These are two statements, because the second must see a message whose
// transaction the first had to wait for. And the second takes messages only for a
// turn that this very transaction began: a second goroutine that claims a turn
// which runs already would else give it messages that nobody reads any more.
func (g *Gateway) claim(ctx context.Context, id int64) (Turn, bool, error) {
	t := Turn{ID: id, fresh: true}
	var claimed bool
	var b pgx.Batch
	b.Queue(`
		update attache.turns t set state = 'running', started = now(), executor = $2
		where t.id = $1 and t.state = 'waiting' and t.due <= now() + interval '2 milliseconds'
			and (t.chat = 0 or not exists (
				select 1 from attache.turns r where r.bot = t.bot and r.chat = t.chat and r.thread = t.thread and r.state = 'running'))
		returning t.bot, t.chat, t.thread, t.task`, id, g.o.Executor).QueryRow(func(r pgx.Row) error {
		err := r.Scan(&t.Place.Bot, &t.Place.Chat, &t.Place.Thread, &t.Task)
		claimed = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	b.Queue(`
		with taken as (
			update attache.messages m set turn = t.id from attache.turns t
			where t.id = $1 and t.task is null and t.xmin = pg_current_xact_id_if_assigned()::xid
				and m.bot = t.bot and m.chat = t.chat and m.thread = t.thread and m.turn is null
			returning m.seq, m.role, m.body, m.key)
		select role, body, key from taken order by seq`, id).Query(t.collect)
	if err := g.db.Pool().SendBatch(ctx, &b).Close(); err != nil {
		return Turn{}, false, err
	}
	return t, claimed, nil
}

// load reads a turn that was gathered before, and makes this process its owner: the
// engine of this process was given the work, and so whoever had it before has not.
// It reports false when the turn is not running any more.
func (g *Gateway) load(ctx context.Context, id int64) (Turn, bool, error) {
	t := Turn{ID: id}
	err := g.db.Pool().QueryRow(ctx,
		`update attache.turns set executor = $2 where id = $1 and state = 'running' returning bot, chat, thread, stop, task`, id, g.o.Executor).
		Scan(&t.Place.Bot, &t.Place.Chat, &t.Place.Thread, &t.stop, &t.Task)
	if errors.Is(err, pgx.ErrNoRows) {
		return Turn{}, false, nil
	}
	if err != nil {
		return Turn{}, false, err
	}
	rows, err := g.db.Pool().Query(ctx, `select role, body, key from attache.messages where turn = $1 order by seq`, id)
	if err != nil {
		return Turn{}, false, err
	}
	err = t.collect(rows)
	return t, err == nil, err
}

// collect reads rows of (role, body, key) into the turn, in order.
func (t *Turn) collect(rows pgx.Rows) error {
	var role string
	var body []byte
	var key *string
	_, err := pgx.ForEachRow(rows, []any{&role, &body, &key}, func() error {
		var m attache.Message
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("a stored message does not read back: %w", err)
		}
		if role == "room" {
			t.Room = append(t.Room, RoomLine{m, key})
		} else {
			t.Messages = append(t.Messages, m)
		}
		return nil
	})
	return err
}

// closeTurn ends a running turn of this process as out says, and notes in out which
// turn waits behind it. A turn that another process took over is left alone: it is
// that one's to end, and to tell of.
func (g *Gateway) closeTurn(ctx context.Context, tx store.Tx, id int64, out *outcome) error {
	var seconds float64
	var run bool
	err := tx.QueryRow(ctx, `
		with closed as (
			update attache.turns set state = $3, ended = now(), why = case when why = '' then $4 else why end
			where id = $1 and state = 'running' and executor = $2 returning bot, chat, thread, task is not null as run)
		select c.run, coalesce(w.id, 0), coalesce(extract(epoch from w.due - now()), 0) from closed c
		left join lateral (
			select id, due from attache.turns w where w.bot = c.bot and w.chat = c.chat and w.thread = c.thread and w.state = 'waiting'
			order by due, id limit 1) w on true`,
		id, g.o.Executor, out.state, inbox.Clean(out.why)).Scan(&run, &out.next, &seconds)
	out.wait = max(0, time.Duration(seconds*float64(time.Second)))
	out.taken = errors.Is(err, pgx.ErrNoRows)
	switch {
	case out.taken:
		return nil
	case err != nil || !run:
		return err
	}
	return g.o.RunEnded(ctx, tx, id, out.state, inbox.Clean(out.why))
}
