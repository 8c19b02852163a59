package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Migrate brings the gateway's tables up to date. Commands that only read call
// it too, so that they work on a database that no `run` has seen.
func Migrate(ctx context.Context, db *store.DB) error {
	sql, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx, "gateway", sql); err != nil {
		return fmt.Errorf("the gateway's tables: %w", err)
	}
	return nil
}

// Record is a turn as it was recorded.
type Record struct {
	ID      int64             `json:"id"`
	Place   attache.Place     `json:"place"`
	Kind    string            `json:"kind"`   // chat, heartbeat, hook, scenario, step or gate
	Status  string            `json:"status"` // running, answered, silent, failed, stopped or refused; waiting before it begins
	Why     string            `json:"why,omitempty"`
	Opened  time.Time         `json:"opened"`           // when its first message came
	Started time.Time         `json:"started,omitzero"` // when it took its messages
	Ended   time.Time         `json:"ended,omitzero"`
	Posts   []PostRecord      `json:"posts,omitempty"` // of ReadTurn only
	Input   []attache.Message `json:"input,omitempty"`
}

// PostRecord is one part of what was posted, and what became of it.
type PostRecord struct {
	Part     int           `json:"part"`
	Place    attache.Place `json:"place"`
	State    string        `json:"state"`
	Messages []int64       `json:"messages,omitempty"`
	Text     string        `json:"text"`
	Why      string        `json:"why,omitempty"`
	At       time.Time     `json:"at"`
}

const recordColumns = `id, bot, chat, thread, kind, state, why, opened, coalesce(started, 'epoch'), coalesce(ended, 'epoch')`

func readRecord(r pgx.CollectableRow) (Record, error) {
	var x Record
	err := r.Scan(&x.ID, &x.Place.Bot, &x.Place.Chat, &x.Place.Thread, &x.Kind, &x.Status, &x.Why, &x.Opened, &x.Started, &x.Ended)
	for _, t := range []*time.Time{&x.Started, &x.Ended} {
		if t.Unix() == 0 {
			*t = time.Time{}
		}
	}
	return x, err
}

// ReadTurns reads the newest recorded turns, of one chat unless it is 0, and
// gives them oldest first.
func ReadTurns(ctx context.Context, db *store.DB, chat attache.ChatID, limit int) ([]Record, error) {
	rows, err := db.Pool().Query(ctx, `select * from (select `+recordColumns+` from attache.turns
		where ($1::bigint = 0 or chat = $1) and state <> 'waiting' order by id desc limit $2) t order by id`, chat, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readRecord)
}

// ReadTurn reads everything about one turn; false when there is none of that id.
func ReadTurn(ctx context.Context, db *store.DB, id int64) (Record, bool, error) {
	rows, err := db.Pool().Query(ctx, `select `+recordColumns+` from attache.turns where id = $1`, id)
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
	rows, err = db.Pool().Query(ctx, `select role, body from attache.messages where turn = $1 order by seq`, id)
	if err != nil {
		return Record{}, false, err
	}
	var t Turn
	if err := t.collect(rows); err != nil {
		return Record{}, false, err
	}
	r.Input = append(t.Room, t.Messages...)
	rows, err = db.Pool().Query(ctx, `select part, bot, chat, thread, state, messages, text, why, at from attache.posts where turn = $1 order by id`, id)
	if err != nil {
		return Record{}, false, err
	}
	r.Posts, err = pgx.CollectRows(rows, readPost)
	return r, err == nil, err
}

func readPost(r pgx.CollectableRow) (PostRecord, error) {
	var p PostRecord
	err := r.Scan(&p.Part, &p.Place.Bot, &p.Place.Chat, &p.Place.Thread, &p.State, &p.Messages, &p.Text, &p.Why, &p.At)
	return p, err
}

// Troubles are what an operator should know of: posts whose fate is unknown or
// that Telegram refused, and updates that could not be read.
type Troubles struct {
	Posts      []PostRecord
	Broken     []BrokenUpdate
	AllPosts   int // how many there are, with those that are not listed
	AllUpdates int
}

// BrokenUpdate is an update that was kept and passed by.
type BrokenUpdate struct {
	Bot attache.BotID
	ID  int64
	Why string
	At  time.Time
}

// ReadTroubles reads the troubles since a moment, newest first, at most 100 of
// each kind, and counts them all.
func ReadTroubles(ctx context.Context, db *store.DB, since time.Time) (Troubles, error) {
	var t Troubles
	err := db.Pool().QueryRow(ctx, `select
		(select count(*) from attache.posts where state in ('unknown', 'refused') and at >= $1),
		(select count(*) from attache.updates where state = 'broken' and at >= $1)`, since).Scan(&t.AllPosts, &t.AllUpdates)
	if err != nil {
		return t, err
	}
	rows, err := db.Pool().Query(ctx, `select part, bot, chat, thread, state, messages, text, why, at from attache.posts
		where state in ('unknown', 'refused') and at >= $1 order by at desc limit 100`, since)
	if err != nil {
		return t, err
	}
	if t.Posts, err = pgx.CollectRows(rows, readPost); err != nil {
		return t, err
	}
	rows, err = db.Pool().Query(ctx, `select bot, update_id, why, at from attache.updates where state = 'broken' and at >= $1 order by at desc limit 100`, since)
	if err != nil {
		return t, err
	}
	t.Broken, err = pgx.CollectRows(rows, pgx.RowToStructByPos[BrokenUpdate])
	return t, err
}
