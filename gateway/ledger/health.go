package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Move is a group that became a supergroup, as one bot was told (decisions § 3.8).
type Move struct {
	Bot      attache.BotID
	From, To attache.ChatID
}

// ReadMoves reads every recorded move. There are few: a group moves once.
func ReadMoves(ctx context.Context, db *store.DB) ([]Move, error) {
	rows, err := db.Pool().Query(ctx, `select bot, old_chat, new_chat from attache.chat_aliases order by bot, old_chat`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Move])
}

// Failure is a reason for which turns failed, with how many did and the newest.
type Failure struct {
	Why    string
	Turns  int
	Newest int64
	Place  attache.Place // of the newest
	At     time.Time     // when the newest ended
}

// ReadFailures reads the turns that failed since a moment, by reason, the newest
// reasons first and at most 50 of them. A turn whose post is in trouble is left out:
// ReadTroubles tells of it.
func ReadFailures(ctx context.Context, db *store.DB, since time.Time) ([]Failure, error) {
	rows, err := db.Pool().Query(ctx, `
		select why, n, id, bot, chat, thread, ended from (
			select why, id, bot, chat, thread, ended, count(*) over (partition by why) as n,
				row_number() over (partition by why order by ended desc, id desc) as place
			from attache.turns where state = 'failed' and ended >= $1
				and not exists (select from attache.posts p where p.turn = turns.id and p.state in ('refused', 'unknown'))) t
		where place = 1 order by ended desc limit 50`, since)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (f Failure, err error) {
		err = r.Scan(&f.Why, &f.Turns, &f.Newest, &f.Place.Bot, &f.Place.Chat, &f.Place.Thread, &f.At)
		return f, err
	})
}

// ReadHanging reads the turns that have waited or run for longer than patience,
// oldest first and at most 50.
func ReadHanging(ctx context.Context, db *store.DB, patience time.Duration) ([]Record, error) {
	rows, err := db.Pool().Query(ctx, `select `+columns+` from attache.turns
		where state = 'running' and started < now() - $1::interval or state = 'waiting' and due < now() - $1::interval order by id limit 50`, patience)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readRecord)
}
