package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// stopChannel carries ids of running turns that another process must end.
const stopChannel = "attache_stop"

// unhandled reads kept updates of a bot that nobody has handled, oldest first.
func (g *Gateway) unhandled(ctx context.Context, bot attache.BotID, limit int) ([]kept, error) {
	rows, err := g.db.Pool().Query(ctx,
		`select update_id, raw from attache.updates where bot = $1 and state = 'new' order by seq limit $2`, bot, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (kept, error) {
		var k kept
		err := r.Scan(&k.id, &k.raw)
		return k, err
	})
}

// mark takes the bot's lock and marks the updates handled (or broken), and tells
// which of them this transaction is the first to mark. What no rule let in loses
// its content here (decisions § 6.1).
func (g *Gateway) mark(ctx context.Context, tx store.Tx, bot attache.BotID, rows []kept) (map[int64]bool, error) {
	ids, kinds, why := make([]int64, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	silent := make([]bool, len(rows))
	for i, k := range rows {
		ids[i], kinds[i], why[i], silent[i] = k.id, k.kind, clean(k.broken), len(k.act.silence) > 0
	}
	var b pgx.Batch
	b.Queue(`select pg_advisory_xact_lock(hashtext('attache.intake'), hashtext($1))`, string(bot))
	mine := map[int64]bool{}
	b.Queue(`
		update attache.updates u set state = case when v.why = '' then 'handled' else 'broken' end,
			kind = v.kind, why = v.why, raw = case when v.silent then ''::bytea else u.raw end
		from unnest($2::bigint[], $3::text[], $4::text[], $5::bool[]) as v(id, kind, why, silent)
		where u.bot = $1 and u.update_id = v.id and u.state = 'new' returning u.update_id`,
		string(bot), ids, kinds, why, silent).Query(func(r pgx.Rows) error {
		for r.Next() {
			var id int64
			if err := r.Scan(&id); err != nil {
				return err
			}
			mine[id] = true
		}
		return r.Err()
	})
	return mine, tx.SendBatch(ctx, &b).Close()
}

// putMessages stores judged messages and opens or extends the waiting turn of
// each place that has input. A message that is already known changes nothing, so
// one delivered twice under two update ids is answered once.
func (g *Gateway) putMessages(ctx context.Context, tx store.Tx, inputs []input, after *settled) error {
	if len(inputs) == 0 {
		return nil
	}
	var bots, roles, people []string
	var chats, threads, ids []int64
	var bodies [][]byte
	for _, i := range inputs {
		m := i.message
		body, err := encode(m)
		if err != nil {
			return err
		}
		bots, roles, people = append(bots, string(m.Place.Bot)), append(roles, i.role), append(people, string(m.From.ID))
		chats, threads, ids = append(chats, int64(m.Place.Chat)), append(threads, int64(m.Place.Thread)), append(ids, int64(m.ID))
		bodies = append(bodies, body)
	}
	var b pgx.Batch
	b.Queue(`
		insert into attache.messages (bot, chat, thread, message, role, person, body)
		select v.bot, coalesce(a.new_chat, v.chat), v.thread, case when a.new_chat is null then v.message else `+moved+` end, v.role, v.person, v.body
		from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::jsonb[])
			with ordinality as v(bot, chat, thread, message, role, person, body, n)
		left join attache.chat_aliases a on a.bot = v.bot and a.old_chat = v.chat
		order by v.n
		on conflict (bot, chat, message) do nothing`, bots, chats, threads, ids, roles, people, bodies)
	order, quiet := quietOf(inputs)
	for _, p := range order {
		queueTurn(&b, p, quiet[p], after)
	}
	return tx.SendBatch(ctx, &b).Close()
}

// queueTurn opens or extends the waiting turn of a place. `do update` and never
// `do nothing`: it locks the row against the turn's gathering, so that a message
// which commits meanwhile still belongs to a turn (architecture § 3). A place none
// of whose messages waits gets no turn: everything was known before.
func queueTurn(b *pgx.Batch, p attache.Place, quiet time.Duration, after *settled) {
	b.Queue(`
		insert into attache.turns as t (bot, chat, thread, state, due)
		select $1, c.chat, $3, 'waiting', now() + $4::interval
		from (select coalesce((select new_chat from attache.chat_aliases where bot = $1 and old_chat = $2), $2) as chat) c
		where exists (select 1 from attache.messages m
			where m.bot = $1 and m.chat = c.chat and m.thread = $3 and m.turn is null and m.role = 'input')
		on conflict (bot, chat, thread) where state = 'waiting' do update
			set due = least(excluded.due, t.opened + $5::interval)
		returning id, extract(epoch from due - now())`,
		string(p.Bot), int64(p.Chat), int64(p.Thread), quiet, longest(quiet)).Query(func(r pgx.Rows) error {
		for r.Next() {
			var id int64
			var seconds float64
			if err := r.Scan(&id, &seconds); err != nil {
				return err
			}
			after.due[id] = max(0, time.Duration(seconds*float64(time.Second)))
		}
		return r.Err()
	})
}

// putEdit replaces the text of a message that still waits. One whose turn has begun
// is told to the next turn instead, as a line of the room that is marked as edited;
// it starts no turn, and no command in it is run (traps.md, Replies and edits).
func (g *Gateway) putEdit(ctx context.Context, tx store.Tx, m attache.Message, update int64) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		with replaced as (
			update attache.messages set body = $4 where bot = $1 and chat = $2 and message = $3 and turn is null returning seq)
		insert into attache.messages (bot, chat, thread, message, role, person, body)
		select bot, chat, thread, $5, 'room', person, $4 from attache.messages
		where bot = $1 and chat = $2 and message = $3 and turn is not null and not exists (select 1 from replaced)
			and body->>'text' is distinct from $4::jsonb->>'text'
		on conflict (bot, chat, message) do update set body = excluded.body`,
		m.Place.Bot, m.Place.Chat, m.ID, body, -update)
	return err
}

// stopTurns ends the waiting turn of a place, with its messages, and names the
// running one. Other processes hear of it when the transaction commits.
func (g *Gateway) stopTurns(ctx context.Context, tx store.Tx, p attache.Place) (waiting int, running []int64, err error) {
	rows, err := tx.Query(ctx, `
		update attache.turns set
			state = case state when 'waiting' then 'stopped' else state end,
			ended = case state when 'waiting' then now() end,
			stop = true, why = 'stopped by a person'
		where bot = $1 and chat = $2 and thread = $3 and state in ('waiting', 'running') returning id, state`, p.Bot, p.Chat, p.Thread)
	if err != nil {
		return 0, nil, err
	}
	for rows.Next() {
		var id int64
		var state string
		if err := rows.Scan(&id, &state); err != nil {
			return 0, nil, err
		}
		if state == "stopped" {
			waiting++
			continue
		}
		running = append(running, id)
	}
	if err := rows.Err(); err != nil {
		return 0, nil, err
	}
	if waiting > 0 {
		if _, err := tx.Exec(ctx, `delete from attache.messages where bot = $1 and chat = $2 and thread = $3 and turn is null and role = 'input'`,
			p.Bot, p.Chat, p.Thread); err != nil {
			return 0, nil, err
		}
	}
	for _, id := range running {
		if err := store.Notify(ctx, tx, stopChannel, fmt.Sprint(id)); err != nil {
			return 0, nil, err
		}
	}
	return waiting, running, nil
}

// claim gathers a waiting turn whose time has come and whose place is idle: it
// becomes this process's running turn and takes every waiting message of its
// place, in one transaction and one round trip. It reports false when the turn
// cannot begin now. The messages are taken by a statement of its own, which sees
// what was committed while the first one waited for the turn's row, and only if
// that first one has just written the row: a turn that runs already must not take
// the messages of the one behind it.
func (g *Gateway) claim(ctx context.Context, id int64) (Turn, bool, error) {
	t := Turn{ID: id, fresh: true}
	var claimed bool
	var b pgx.Batch
	b.Queue(`
		update attache.turns t set state = 'running', started = now(), executor = $2
		where t.id = $1 and t.state = 'waiting' and t.due <= now() + interval '2 milliseconds'
			and not exists (select 1 from attache.turns r where r.bot = t.bot and r.chat = t.chat and r.thread = t.thread and r.state = 'running')
		returning t.bot, t.chat, t.thread`, id, g.o.Executor).QueryRow(func(r pgx.Row) error {
		err := r.Scan(&t.Place.Bot, &t.Place.Chat, &t.Place.Thread)
		claimed = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	b.Queue(`
		with taken as (
			update attache.messages m set turn = t.id from attache.turns t
			where t.id = $1 and t.xmin = pg_current_xact_id_if_assigned()::xid
				and m.bot = t.bot and m.chat = t.chat and m.thread = t.thread and m.turn is null
			returning m.seq, m.role, m.body)
		select role, body from taken order by seq`, id).Query(t.collect)
	if err := g.db.Pool().SendBatch(ctx, &b).Close(); err != nil {
		return Turn{}, false, err
	}
	return t, claimed, nil
}

// load reads a turn that was gathered before, and makes this process its owner.
// It reports false when the turn is not running any more.
func (g *Gateway) load(ctx context.Context, id int64) (Turn, bool, error) {
	t := Turn{ID: id}
	err := g.db.Pool().QueryRow(ctx,
		`update attache.turns set executor = $2 where id = $1 and state = 'running' returning bot, chat, thread, stop`, id, g.o.Executor).
		Scan(&t.Place.Bot, &t.Place.Chat, &t.Place.Thread, &t.stop)
	if errors.Is(err, pgx.ErrNoRows) {
		return Turn{}, false, nil
	}
	if err != nil {
		return Turn{}, false, err
	}
	rows, err := g.db.Pool().Query(ctx, `select role, body from attache.messages where turn = $1 order by seq`, id)
	if err != nil {
		return Turn{}, false, err
	}
	err = t.collect(rows)
	return t, err == nil, err
}

// collect reads rows of (role, body) into the turn, in order.
func (t *Turn) collect(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var role string
		var body []byte
		var m attache.Message
		if err := rows.Scan(&role, &body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return fmt.Errorf("a stored message does not read back: %w", err)
		}
		if role == "room" {
			t.Room = append(t.Room, m)
		} else {
			t.Messages = append(t.Messages, m)
		}
	}
	return rows.Err()
}

// close ends a running turn of this process and names the turn that waits behind
// it, if any. A turn that another process took over is left alone.
func (g *Gateway) closeTurn(ctx context.Context, tx querier, id int64, state, why string) (next int64, wait time.Duration, err error) {
	var seconds float64
	err = tx.QueryRow(ctx, `
		with closed as (
			update attache.turns set state = $3, ended = now(), why = case when why = '' then $4 else why end
			where id = $1 and state = 'running' and executor = $2 returning bot, chat, thread)
		select w.id, extract(epoch from w.due - now()) from closed c
		join attache.turns w on w.bot = c.bot and w.chat = c.chat and w.thread = c.thread and w.state = 'waiting'`,
		id, g.o.Executor, state, clean(why)).Scan(&next, &seconds)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, nil
	}
	return next, max(0, time.Duration(seconds*float64(time.Second))), err
}

// querier is what a pool and a transaction have in common here.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// clean makes a text that Postgres takes out of any text.
func clean(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}
