package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/engage"
	"attache/internal/store"
)

// putMessages stores judged messages in one statement, since a bot that was away
// comes back to hundreds, and opens or extends the waiting turn of
// each place that has input. A message that is already known changes nothing, so
// one delivered twice under two update ids is answered once. One that names a group
// by its old number, because it was on its way when the group moved, is the new
// group's.
func (g *Gateway) putMessages(ctx context.Context, tx store.Tx, inputs []input, after *settled) error {
	if len(inputs) == 0 {
		return nil
	}
	var bots, roles, people []string
	var chats, threads, ids []int64
	var bodies [][]byte
	var keys []*string
	for _, i := range inputs {
		m := i.message
		body, err := encode(m)
		if err != nil {
			return err
		}
		bots, roles, people = append(bots, string(m.Place.Bot)), append(roles, i.role), append(people, string(m.From.ID))
		chats, threads, ids = append(chats, int64(m.Place.Chat)), append(threads, int64(m.Place.Thread)), append(ids, int64(m.ID))
		bodies, keys = append(bodies, body), append(keys, i.key)
	}
	var b pgx.Batch
	b.Queue(`
		insert into attache.messages (bot, chat, thread, message, role, person, body, key)
		select v.bot, coalesce(a.new_chat, v.chat), v.thread, case when a.new_chat is null then v.message else `+moved+` end, v.role, v.person, v.body, v.key
		from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::jsonb[], $8::text[])
			with ordinality as v(bot, chat, thread, message, role, person, body, key, n)
		left join attache.chat_aliases a on a.bot = v.bot and a.old_chat = v.chat
		order by v.n
		on conflict (bot, chat, message) do nothing`, bots, chats, threads, ids, roles, people, bodies, keys)
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
		on conflict (bot, chat, thread) where state = 'waiting' and task is null do update
			set due = least(excluded.due, t.opened + $5::interval)
		returning id, extract(epoch from due - now())`,
		string(p.Bot), int64(p.Chat), int64(p.Thread), quiet, engage.Longest(quiet)).Query(func(r pgx.Rows) error {
		var id int64
		var seconds float64
		_, err := pgx.ForEachRow(r, []any{&id, &seconds}, func() error {
			after.due[id] = max(0, time.Duration(seconds*float64(time.Second)))
			return nil
		})
		return err
	})
}

// putEdit replaces the text of a message that still waits. One whose turn has begun
// is told to the next turn instead, as a line of the room that is marked as edited;
// it starts no turn, and no command in it is run (traps.md, Replies and edits). Of many
// edits of one message the newest is told, so that they do not crowd the room's other
// lines out. An edit is of the key that its message was said under: most of its words
// are as old.
func (g *Gateway) putEdit(ctx context.Context, tx store.Tx, m attache.Message, update int64) error {
	body, err := encode(m)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		with replaced as (
			update attache.messages set body = $4 where bot = $1 and chat = $2 and message = $3 and turn is null returning seq),
		earlier as (
			delete from attache.messages where bot = $1 and chat = $2 and thread = $6 and turn is null and role = 'room' and message < 0
				and body->'id' = to_jsonb($3::bigint) and body->'place' = $4::jsonb->'place' and body ? 'editedAt')
		insert into attache.messages (bot, chat, thread, message, role, person, body, key)
		select bot, chat, thread, $5, 'room', person, $4, key from attache.messages
		where bot = $1 and chat = $2 and message = $3 and turn is not null and not exists (select 1 from replaced)
			and body->>'text' is distinct from $4::jsonb->>'text'
		on conflict (bot, chat, message) do update set body = excluded.body`,
		m.Place.Bot, m.Place.Chat, m.ID, body, -update, m.Place.Thread)
	return err
}

// encode makes the stored form of a message, the nouns' own JSON: what was stored
// yesterday is read by tomorrow's program, as field names never change their meaning.
func encode(m attache.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message %d of %s cannot be stored: %w", m.ID, m.Place, err)
	}
	return b, nil
}

// quietOf is the quiet time of the last message of a place within a batch: the last
// one says how much longer the person may go on. Lines of the room ask for no turn.
func quietOf(inputs []input) (order []attache.Place, quiet map[attache.Place]time.Duration) {
	quiet = map[attache.Place]time.Duration{}
	for _, i := range inputs {
		if i.role != "input" {
			continue
		}
		if _, seen := quiet[i.message.Place]; !seen {
			order = append(order, i.message.Place)
		}
		quiet[i.message.Place] = i.quiet
	}
	return order, quiet
}
