package origins

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the origins of one database. It is safe for use by many goroutines and
// keeps nothing in memory.
type Store struct{ db *store.DB }

// Open brings the table up to date and gives the store. Commands that only read
// open it too.
func Open(ctx context.Context, db *store.DB) (*Store, error) {
	if err := db.Migrate(ctx, "origins", migrations); err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// Look gives the store for a command that only reads: it makes no table, so a
// database without one answers with Postgres's own error.
func Look(db *store.DB) *Store { return &Store{db} }

// Post is what Telegram made of one part of a send, with the origin of the send.
type Post struct {
	Place    attache.Place
	Messages []attache.MessageID
	Origin   attache.Origin
	Held     bool // keep the record at any age, until Hold says otherwise
}

// Put stores the origin with each message of a part, in the transaction that stores
// the part's result, so that no post of a run stands without one (matrix C1). The
// second time it does nothing. A record of another origin under the same number is
// of another bot that had this name before, and is replaced.
func (s *Store) Put(ctx context.Context, tx store.Tx, p Post) error {
	reach := p.Origin.Reach
	if reach == nil {
		reach = attache.Reach{}
	}
	_, err := tx.Exec(ctx, `
		insert into attache.message_origins as m (bot, chat, message, thread, run, feature, reach, lines, keep)
		select distinct $1, $2::bigint, message, $4::bigint, $5, $6, $7::jsonb, $8::boolean, $9::boolean from unnest($3::bigint[]) message
		on conflict (bot, chat, message) do update set thread = excluded.thread, run = excluded.run, feature = excluded.feature,
			reach = excluded.reach, lines = excluded.lines, keep = excluded.keep, at = excluded.at
		where (m.thread, m.run, m.feature, m.reach, m.lines) is distinct from
			(excluded.thread, excluded.run, excluded.feature, excluded.reach, excluded.lines)`,
		p.Place.Bot, p.Place.Chat, p.Messages, p.Place.Thread, p.Origin.Run, p.Origin.Feature, reach, p.Origin.Lines, p.Held)
	if err != nil {
		return fmt.Errorf("the origin of a post in %v cannot be stored: %w", p.Place, err)
	}
	return nil
}

// Hold says whether something waits for an answer to these messages: while it does
// their records are kept at any age (matrix C12). Messages without a record are
// left alone.
func (s *Store) Hold(ctx context.Context, tx store.Tx, bot attache.BotID, chat attache.ChatID, messages []attache.MessageID, held bool) error {
	_, err := tx.Exec(ctx, `update attache.message_origins set keep = $4 where bot = $1 and chat = $2 and message = any($3)`, bot, chat, messages, held)
	if err != nil {
		return fmt.Errorf("the origins of a card in %v cannot be changed: %w", chat, err)
	}
	return nil
}

// Of gives the records of messages as one bot sees them in a chat, of any age;
// messages without one are not in the map. It waits for a database that is away.
func (s *Store) Of(ctx context.Context, bot attache.BotID, chat attache.ChatID, messages []attache.MessageID) (records map[attache.MessageID]Record, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	err = s.db.Retry(ctx, fmt.Sprintf("reading the origins of messages in %v", chat), func(ctx context.Context) error {
		records, err = s.read(ctx, bot, chat, messages)
		return err
	})
	return records, err
}

func (s *Store) read(ctx context.Context, bot attache.BotID, chat attache.ChatID, messages []attache.MessageID) (map[attache.MessageID]Record, error) {
	rows, err := s.db.Pool().Query(ctx, `select message, thread, run, feature, reach, lines, keep, now() - at
		from attache.message_origins where bot = $1 and chat = $2 and message = any($3)`, bot, chat, messages)
	if err != nil {
		return nil, err
	}
	records := map[attache.MessageID]Record{}
	var id attache.MessageID
	var r Record
	_, err = pgx.ForEachRow(rows, []any{&id, &r.Place.Thread, &r.Origin.Run, &r.Origin.Feature, &r.Origin.Reach, &r.Origin.Lines, &r.Held, &r.Age}, func() error {
		r.Place.Bot, r.Place.Chat = bot, chat
		records[id] = r
		r = Record{}
		return nil
	})
	return records, err
}

// Move takes the records of a group along to the number it has as a supergroup, in
// the transaction that records the move (decisions § 3.8). Telegram counts a
// supergroup's messages anew, so an old message gets a number far below all others:
// the gateway keeps it under the same one, and a new message never meets an old
// record. The second time only what was stored late is left to do.
func (s *Store) Move(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error {
	_, err := tx.Exec(ctx, `
		with old as (delete from attache.message_origins where bot = $1 and chat = $2 returning *)
		insert into attache.message_origins (bot, chat, message, thread, run, feature, reach, lines, keep, at)
		select bot, $3, case when message > 0 then message - (1::bigint << 40) else message end, thread, run, feature, reach, lines, keep, at from old
		on conflict do nothing`, bot, m.From, m.To)
	if err != nil {
		return fmt.Errorf("the origins of posts in %v cannot be moved to %v: %w", m.From, m.To, err)
	}
	return nil
}

// bite is the most rows that one statement of Forget deletes, so that it never
// locks for long.
const bite = 5000

// Forget deletes the records that have expired for FromReply; 0 days deletes none.
// It asks the database once a statement.
func (s *Store) Forget(ctx context.Context, retentionDays int) error {
	if retentionDays <= 0 {
		return nil
	}
	for {
		// What is held meanwhile is looked at again by the outer condition.
		tag, err := s.db.Pool().Exec(ctx, `delete from attache.message_origins where not lines and not keep and at < now() - $1::interval
			and (bot, chat, message) in (select bot, chat, message from attache.message_origins
				where not lines and not keep and at < now() - $1::interval limit $2)`, retention(retentionDays), bite)
		if err != nil {
			return fmt.Errorf("old origins cannot be deleted: %w", err)
		}
		if tag.RowsAffected() < bite {
			return nil
		}
	}
}
