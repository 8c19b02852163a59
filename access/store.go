package access

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store keeps the bindings that tools make, in the table attache.bindings. It keeps
// them and judges nothing: Binder says before what may be bound. An error of its
// methods says that the database did not do its part, unless told otherwise.
type Store struct{ db *store.DB }

// OpenStore brings the table up to date. Commands that only read call it too.
func OpenStore(ctx context.Context, db *store.DB) (*Store, error) {
	if err := db.Migrate(ctx, "access", migrations); err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// columns are those of a tie, in the order in which tie reads them.
const columns = `context, chat, coalesce(thread, 0), thread is null, bot, entity, role, turn, at`

// Look gives the store for a command that only reads: it makes no table, so a
// database without one answers with Postgres's own error.
func Look(db *store.DB) *Store { return &Store{db} }

// tie reads one row.
func tie(row pgx.CollectableRow) (t Tie, err error) {
	err = row.Scan(t.fields()...)
	return t, err
}

// fields are where the columns of a row go.
func (t *Tie) fields() []any {
	return []any{&t.Context, &t.Chat, &t.Thread, &t.Whole, &t.Bot, &t.Key, &t.Role, &t.Turn, &t.At}
}

// at gives the spot's thread as the table has it.
func (s Spot) at() *attache.ThreadID {
	if s.Whole {
		return nil
	}
	return &s.Thread
}

// Bind ties a context at a spot, in place of what it was tied to there (matrix D6).
// It gives what was before, and false when nothing was. The time is the database's.
func (s *Store) Bind(ctx context.Context, t Tie) (before Tie, replaced bool, err error) {
	err = s.db.InTx(ctx, func(tx store.Tx) error {
		// A lock on the chat, for two that bind the same spot at once must not both
		// be told that nothing was there, and a migration must not pass a new row by.
		if err := lock(ctx, tx, t.Chat); err != nil {
			return err
		}
		before, replaced, err = take(ctx, tx, t.Context, t.Spot)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `insert into attache.bindings (context, chat, thread, bot, entity, role, turn) values ($1, $2, $3, $4, $5, $6, $7)`,
			t.Context, t.Chat, t.at(), t.Bot, t.Key, t.Role, t.Turn)
		return err
	})
	if err != nil {
		return Tie{}, false, fmt.Errorf("%v cannot be bound: %w", t, err)
	}
	return before, replaced, nil
}

// Unbind removes exactly the tie of a context at a spot and gives it (decisions
// § 3.13). If there is none the error is of the kind notfound; Binder.Unbind, which is
// asked before, knows what there is instead.
func (s *Store) Unbind(ctx context.Context, id attache.ContextID, at Spot) (gone Tie, err error) {
	err = s.db.InTx(ctx, func(tx store.Tx) error {
		if err := lock(ctx, tx, at.Chat); err != nil {
			return err
		}
		var found bool
		if gone, found, err = take(ctx, tx, id, at); err != nil || found {
			return err
		}
		return &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("no tool bound %s in %v", id, at)}
	})
	var known *attache.Error
	switch {
	case errors.As(err, &known):
		return Tie{}, known
	case err != nil:
		return Tie{}, fmt.Errorf("%s in %v cannot be unbound: %w", id, at, err)
	}
	return gone, nil
}

// lock makes those who change a chat's bindings wait for each other. The two keys
// keep it apart from the locks of other owners, which have one.
func lock(ctx context.Context, tx store.Tx, chat attache.ChatID) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtext('attache.bindings'), hashtext($1))`, chat.String())
	return err
}

// take removes the tie of a context at a spot.
func take(ctx context.Context, tx store.Tx, id attache.ContextID, at Spot) (Tie, bool, error) {
	rows, err := tx.Query(ctx, `delete from attache.bindings where chat = $1 and context = $2 and thread is not distinct from $3 and bot = $4 returning `+columns,
		at.Chat, id, at.at(), at.Bot)
	if err != nil {
		return Tie{}, false, err
	}
	found, err := pgx.CollectRows(rows, tie)
	if err != nil || len(found) == 0 {
		return Tie{}, false, err
	}
	return found[0], true, nil
}

// At gives the ties that concern a bot's turns at a place, oldest first, in one
// query: the thread's and the whole chat's, the bot's own and every bot's. A place
// whose chat had another number may be given once under each of them.
func (s *Store) At(ctx context.Context, places ...attache.Place) ([]attache.Binding, error) {
	ties, err := s.read(ctx, `select distinct on (b.id) `+columns+` from attache.bindings b `+concerning+` order by b.id`, asked(places)...)
	if err != nil {
		return nil, err
	}
	out := make([]attache.Binding, len(ties))
	for i, t := range ties {
		out[i] = t.Plain()
	}
	return out, nil
}

// Queue asks At for many places that have nothing to do with each other, as one query
// of a batch. The ties are there when the batch was read without an error.
func Queue(b *pgx.Batch, places []attache.Place) map[attache.Place][]attache.Binding {
	out := map[attache.Place][]attache.Binding{}
	b.Queue(`select at_bot, at_chat, at_thread, `+columns+` from attache.bindings b `+concerning+` order by b.id`, asked(places)...).Query(func(rows pgx.Rows) error {
		var p attache.Place
		var t Tie
		_, err := pgx.ForEachRow(rows, append([]any{&p.Bot, &p.Chat, &p.Thread}, t.fields()...), func() error {
			out[p] = append(out[p], t.Plain())
			return nil
		})
		return err
	})
	return out
}

// concerning joins ties with the places whose turns they concern; asked are its
// arguments.
const concerning = `join unnest($1::bigint[], $2::bigint[], $3::text[]) as p (at_chat, at_thread, at_bot)
	on chat = at_chat and (thread is null or thread = at_thread) and bot in ('', at_bot)`

func asked(places []attache.Place) []any {
	chats, threads, bots := make([]attache.ChatID, len(places)), make([]attache.ThreadID, len(places)), make([]attache.BotID, len(places))
	for i, p := range places {
		chats[i], threads[i], bots[i] = p.Chat, p.Thread, p.Bot
	}
	return []any{chats, threads, bots}
}

// OfChat gives every tie of a chat, for those who tell of it: the whole chat's
// before the threads'. A chat that had another number may be named by both.
func (s *Store) OfChat(ctx context.Context, chats ...attache.ChatID) ([]Tie, error) {
	return s.read(ctx, `select `+columns+` from attache.bindings where chat = any($1) order by thread nulls first, context, bot`, chats)
}

// All gives the ties of every chat, for pages: at most limit, the newest first.
func (s *Store) All(ctx context.Context, limit int) ([]Tie, error) {
	return s.read(ctx, `select `+columns+` from attache.bindings order by at desc, id desc limit $1`, limit)
}

func (s *Store) read(ctx context.Context, sql string, args ...any) ([]Tie, error) {
	rows, err := s.db.Pool().Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("the bindings of chats cannot be read: %w", err)
	}
	ties, err := pgx.CollectRows(rows, tie)
	if err != nil {
		return nil, fmt.Errorf("the bindings of chats cannot be read: %w", err)
	}
	return ties, nil
}

// Move takes the ties of a group along to the number it has as a supergroup, in the
// transaction that records the move (decisions § 3.8). Each bot of the group tells
// of it and all of their ties move with the first, so the bot does not matter and
// another time nothing is left to do. Where the new number has a tie at the same
// spot already, the one that was bound last stays, as if it had replaced the other.
func (s *Store) Move(ctx context.Context, tx store.Tx, _ attache.BotID, m attache.Migration) error {
	err := lock(ctx, tx, m.From)
	if err == nil {
		err = lock(ctx, tx, m.To)
	}
	for _, sql := range []string{
		`delete from attache.bindings a using attache.bindings b
			where a.chat in ($1, $2) and b.chat in ($1, $2) and a.chat <> b.chat and a.context = b.context
			and a.thread is not distinct from b.thread and a.bot = b.bot and (a.at, a.id) < (b.at, b.id)`,
		`update attache.bindings set chat = $2 where chat = $1`,
	} {
		if err == nil {
			_, err = tx.Exec(ctx, sql, m.From, m.To)
		}
	}
	if err != nil {
		return fmt.Errorf("the bindings of %v cannot be moved to %v: %w", m.From, m.To, err)
	}
	return nil
}
