// Package ledger reads what the walk recorded: turns with their input and posts,
// and what an operator should know of. It writes nothing, so a command may read
// while another process serves.
//
// Its tables are the gateway's, which it belongs to; gateway.Migrate makes them.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/gateway/posts"
	"attache/internal/store"
)

// Record is a turn as it was recorded; its JSON is part of `attache turns --json`
// (interface § 1).
type Record struct {
	ID      int64             `json:"id"`
	Place   attache.Place     `json:"place"`
	Kind    string            `json:"kind"`          // chat, heartbeat, hook, scenario, step or gate
	Run     string            `json:"run,omitempty"` // the mark of a run, such as heartbeat:daily
	Status  string            `json:"status"`        // running, answered, silent, failed, stopped or refused; waiting before it begins
	Why     string            `json:"why,omitempty"`
	Opened  time.Time         `json:"opened"`           // when its first message came
	Started time.Time         `json:"started,omitzero"` // when it took its messages
	Ended   time.Time         `json:"ended,omitzero"`
	Posts   []posts.Record    `json:"posts,omitempty"` // of ReadTurn only
	Input   []attache.Message `json:"input,omitempty"` // of ReadTurn only: the room's lines, then the messages
}

const columns = `id, bot, chat, thread, kind, coalesce(task->>'kind' || ':' || (task->>'id'), ''), state, why, opened, started, ended`

// ReadTurns reads the newest recorded turns, of one chat unless it is 0, and
// gives them oldest first, as a person reads a log. A turn that still waits is left
// out: it has no input yet.
func ReadTurns(ctx context.Context, db *store.DB, chat attache.ChatID, limit int) ([]Record, error) {
	rows, err := db.Pool().Query(ctx, `select * from (select `+columns+` from attache.turns
		where ($1::bigint = 0 or chat = $1) and state <> 'waiting' order by id desc limit $2) t order by id`, chat, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readRecord)
}

// ReadTurn reads everything about one turn; false when there is none of that id.
func ReadTurn(ctx context.Context, db *store.DB, id int64) (Record, bool, error) {
	rows, err := db.Pool().Query(ctx, `select `+columns+` from attache.turns where id = $1`, id)
	if err != nil {
		return Record{}, false, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, readRecord)
	if errors.Is(err, pgx.ErrNoRows) {
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	// What is stored is read, and not what the model got: that is the conversation's.
	// The room's lines stand before the messages, as the model read them.
	rows, err = db.Pool().Query(ctx, `select body from attache.messages where turn = $1 order by role = 'room' desc, seq`, id)
	if err != nil {
		return Record{}, false, err
	}
	if r.Input, err = pgx.CollectRows(rows, readMessage); err != nil {
		return Record{}, false, err
	}
	r.Posts, err = posts.OfTurn(ctx, db, id)
	return r, err == nil, err
}

// readRecord reads a turn without its posts and input. A time that has not come yet is
// null in the table and the zero time here, which JSON leaves out.
func readRecord(r pgx.CollectableRow) (Record, error) {
	var x Record
	var started, ended *time.Time
	err := r.Scan(&x.ID, &x.Place.Bot, &x.Place.Chat, &x.Place.Thread, &x.Kind, &x.Run, &x.Status, &x.Why, &x.Opened, &started, &ended)
	x.Started, x.Ended = orZero(started), orZero(ended)
	return x, err
}

func readMessage(r pgx.CollectableRow) (attache.Message, error) {
	var body []byte
	var m attache.Message
	if err := r.Scan(&body); err != nil {
		return m, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("a stored message does not read back: %w", err)
	}
	return m, nil
}

// Troubles are what an operator should know of: posts whose fate is unknown or
// that Telegram refused, and updates that could not be read.
type Troubles struct {
	Posts      []posts.Record
	Broken     []BrokenUpdate
	AllPosts   int // how many there are, with those that are not listed
	AllUpdates int
	Business   map[attache.BotID]int // updates of Business chats, which are kept and refused (decisions § 7.11)
}

// BrokenUpdate is an update that was kept and passed by: it did not decode, or the
// database refused what it holds.
type BrokenUpdate struct {
	Bot attache.BotID
	ID  int64
	Why string
	At  time.Time
}

// ReadTroubles reads the troubles since a moment, newest first, at most 100 of
// each kind, and counts them all: a list that was cut must not read as a small
// trouble.
func ReadTroubles(ctx context.Context, db *store.DB, since time.Time) (Troubles, error) {
	var t Troubles
	var err error
	if t.Posts, t.AllPosts, err = posts.Troubled(ctx, db, since); err != nil {
		return t, err
	}
	err = db.Pool().QueryRow(ctx, `select count(*) from attache.updates where state = 'broken' and at >= $1`, since).Scan(&t.AllUpdates)
	if err != nil {
		return t, err
	}
	if t.Business, err = business(ctx, db, since); err != nil {
		return t, err
	}
	rows, err := db.Pool().Query(ctx, `select bot, update_id, why, at from attache.updates where state = 'broken' and at >= $1 order by at desc limit 100`, since)
	if err != nil {
		return t, err
	}
	t.Broken, err = pgx.CollectRows(rows, pgx.RowToStructByPos[BrokenUpdate])
	return t, err
}

// business counts the updates of Business chats since a moment, by bot.
func business(ctx context.Context, db *store.DB, since time.Time) (map[attache.BotID]int, error) {
	rows, err := db.Pool().Query(ctx, `select bot, count(*) from attache.updates where kind like '%business%' and at >= $1 group by bot`, since)
	if err != nil {
		return nil, err
	}
	counts := map[attache.BotID]int{}
	var bot attache.BotID
	var n int
	_, err = pgx.ForEachRow(rows, []any{&bot, &n}, func() error {
		counts[bot] = n
		return nil
	})
	return counts, err
}
