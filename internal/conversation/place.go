package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Reset ends the open session of a place and forgets the asides that wait there,
// in the caller's transaction; why becomes the reason of the next session, such as
// "new". It ends no running turn (interface § 5): one that has begun keeps its
// session, its history and its retries, and its answer is not replayed to later
// turns. Every turn that begins after the commit, also one whose first message
// came before it, begins a new session. Without an open session it does nothing.
func (s *Store) Reset(ctx context.Context, tx store.Tx, p attache.Place, why string) error {
	var b pgx.Batch
	b.Queue(`update attache.sessions set ended = now(), why = $4 where `+here, p.Bot, p.Chat, p.Thread, why)
	b.Queue(`delete from attache.asides where bot = $1 and chat = $2 and thread = $3 and turn is null`, p.Bot, p.Chat, p.Thread)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("the session in %v cannot be ended: %w", p, err)
	}
	return nil
}

// Migrate takes the conversations of a group along to the number it has as a
// supergroup, in the transaction that records the move (decisions § 3.8). Where
// both chats have an open session in a thread, the one that was spoken in last
// goes on and the other ends; a turn that runs in it keeps it. The second time
// there is nothing left to do.
func (s *Store) Migrate(ctx context.Context, tx store.Tx, bot attache.BotID, from, to attache.ChatID) error {
	var b pgx.Batch
	queueLock(&b, bot, from, to)
	b.Queue(`select from attache.sessions where bot = $1 and chat in ($2, $3) and ended is null order by id for update`, bot, from, to)
	b.Queue(`
		update attache.sessions a set ended = now(), why = 'migrated' from attache.sessions b
		where a.bot = $1 and b.bot = $1 and a.thread = b.thread and a.ended is null and b.ended is null
			and (a.chat = $2 and b.chat = $3 and a.last <= b.last or a.chat = $3 and b.chat = $2 and a.last < b.last)`, bot, from, to)
	b.Queue(`update attache.sessions set chat = $3 where bot = $1 and chat = $2`, bot, from, to)
	b.Queue(`update attache.asides set chat = $3 where bot = $1 and chat = $2`, bot, from, to)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("the conversation in %v cannot be moved to %v: %w", from, to, err)
	}
	return nil
}

// selectExchange reads exchanges as readExchange wants them; a condition follows.
const selectExchange = `
	select e.turn, s.id, s.snapshot, case when s.first = e.turn then s.opened else '' end,
		p.id, p.text, p.tools, e.snapshot, e.input, e.tail, e.at
	from attache.exchanges e join attache.sessions s on s.id = e.session join attache.epochs p on p.id = e.epoch`

func readExchange(r pgx.CollectableRow) (Exchange, error) {
	var x Exchange
	var text []byte
	err := r.Scan(&x.Turn, &x.Session.ID, &x.Session.Snapshot, &x.Session.Opened,
		&x.Epoch.ID, &text, &x.Epoch.Tools, &x.Snapshot, &x.Input, &x.Tail, &x.At)
	x.Epoch.Text = string(text)
	return x, err
}

// one reads at most one exchange.
func one(rows pgx.Rows) (Exchange, bool, error) {
	all, err := pgx.CollectRows(rows, readExchange)
	if err != nil || len(all) == 0 {
		return Exchange{}, false, err
	}
	return all[0], true, nil
}

// Latest gives the turn that began last in a place under a key (Opening.Key),
// whatever became of it, for /context; false when there is none. What was said under
// another key is not told of (decisions § 3.14), and a run is no turn here: it is not
// what people there talk with. It asks the database once.
func (s *Store) Latest(ctx context.Context, p attache.Place, key string) (Exchange, bool, error) {
	rows, err := s.db.Pool().Query(ctx, selectExchange+` where e.turn = (
		select max(l.turn) from attache.sessions o, lateral (
			select turn from attache.exchanges where session = o.id order by turn desc limit 1) l
		where o.bot = $1 and o.chat = $2 and o.thread = $3 and o.key = $4 and o.opened <> '`+alone+`')`, p.Bot, p.Chat, p.Thread, key)
	if err != nil {
		return Exchange{}, false, fmt.Errorf("the latest turn in %v cannot be read: %w", p, err)
	}
	x, ok, err := one(rows)
	if err != nil {
		return Exchange{}, false, fmt.Errorf("the latest turn in %v cannot be read: %w", p, err)
	}
	return x, ok, nil
}

// Of gives the exchange of a turn; false when the turn never began one. It asks the
// database once.
func (s *Store) Of(ctx context.Context, turn int64) (Exchange, bool, error) {
	rows, err := s.db.Pool().Query(ctx, selectExchange+` where e.turn = $1`, turn)
	if err != nil {
		return Exchange{}, false, fmt.Errorf("the bytes of turn %d cannot be read: %w", turn, err)
	}
	x, ok, err := one(rows)
	if err != nil {
		return Exchange{}, false, fmt.Errorf("the bytes of turn %d cannot be read: %w", turn, err)
	}
	return x, ok, nil
}

// SetTail keeps what a turn carries, within a transaction, and gives what is kept:
// the first one told stands, so that every attempt at the turn sends the same. mine
// says whether it was this one. nil bytes are kept as empty ones.
func (s *Store) SetTail(ctx context.Context, tx store.Tx, turn int64, tail []byte) (stored []byte, mine bool, err error) {
	if tail == nil {
		tail = []byte{}
	}
	tag, err := tx.Exec(ctx, `update attache.exchanges set tail = $2 where turn = $1 and tail is null`, turn, tail)
	if err != nil {
		return nil, false, fmt.Errorf("the tail of turn %d cannot be kept: %w", turn, err)
	}
	if tag.RowsAffected() == 1 {
		return tail, true, nil
	}
	if err := tx.QueryRow(ctx, `select tail from attache.exchanges where turn = $1`, turn).Scan(&stored); err != nil {
		return nil, false, fmt.Errorf("the tail of turn %d cannot be read: %w", turn, err)
	}
	return stored, false, nil
}

// bite is the most rows that one statement of Forget deletes, so that it never
// locks for long.
const bite = 5000

// Forget deletes the turns that began before a moment and the asides from before
// it, then the sessions and the epochs from before it that nothing belongs to any
// more (interface § 3, retention.turns). It asks the database once a statement.
func (s *Store) Forget(ctx context.Context, before time.Time) error {
	for _, sql := range []string{
		`delete from attache.exchanges where turn in (select turn from attache.exchanges where at < $1 limit $2)`,
		`delete from attache.asides where id in (select id from attache.asides where at < $1 limit $2)`,
		// A turn that begins meanwhile has set last: the row is looked at again then.
		`delete from attache.sessions where last < $1 and id in (select id from attache.sessions s
			where last < $1 and not exists (select from attache.exchanges where session = s.id) limit $2)`,
		`delete from attache.epochs where id in (select id from attache.epochs p
			where at < $1 and not exists (select from attache.exchanges where epoch = p.id) limit $2)`,
	} {
		for {
			tag, err := s.db.Pool().Exec(ctx, sql, before, bite)
			if err != nil {
				return fmt.Errorf("old turns cannot be deleted: %w", err)
			}
			if tag.RowsAffected() < bite {
				break
			}
		}
	}
	return nil
}
