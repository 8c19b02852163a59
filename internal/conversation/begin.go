package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"attache"
)

// tries bounds how often a beginning starts over because its place changed under
// it. A /new or a second caller that comes between costs one each.
const tries = 5

// Begin writes down what a turn is sent, before its first model call, in one
// transaction: it goes on with the place's open session or, when that one has been
// silent for too long or was another role's, engine's or key's, ends it and opens
// a new one. A turn that has begun before gets what was stored then, clock and
// all, whatever o says now, and nothing is written (matrix J7). Going on takes one
// round trip, a retry two, a new session three; none commits more than once.
//
// Asides that wait in the place are heard by this turn and stand before it from
// now on; those from under another key are never shown.
func (s *Store) Begin(ctx context.Context, o Opening) (x Exchange, err error) {
	o.Epoch.Tools, o.Snapshot, o.Input = full(o.Epoch.Tools), full(o.Snapshot), full(o.Input)
	err = s.db.Retry(ctx, fmt.Sprintf("turn %d cannot begin in %v", o.Turn, o.Place), func(ctx context.Context) error {
		for range tries {
			if o.Alone {
				x, err = s.beginAlone(ctx, o)
			} else {
				x, err = s.begin(ctx, o)
			}
			if !errors.Is(err, errMoved) {
				return err
			}
		}
		return err
	})
	return x, err
}

// errMoved says that the place changed between the steps of one try.
var errMoved = errors.New("its session was changed under it again and again; " +
	"see whether another process serves this place with another brain")

// begin tries once.
func (s *Store) begin(ctx context.Context, o Opening) (Exchange, error) {
	x, err := s.write(ctx, o, &pgx.Batch{})
	if !errors.Is(err, errMoved) {
		return x, err
	}
	x, fits, err := s.find(ctx, o)
	if err != nil || x.Turn != 0 {
		return x, err
	}
	var b pgx.Batch
	o.queueEpoch(&b)
	if !fits {
		snapshot, err := o.Session(ctx)
		if err != nil {
			return Exchange{}, fmt.Errorf("the session's snapshot: %w", err)
		}
		o.queueSession(&b, full(snapshot))
	}
	return s.write(ctx, o, &b)
}

// full makes bytes that are stored as none and not as null.
func full(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// common gives the arguments $1 to $7 of every statement of a beginning.
func (o Opening) common(more ...any) []any {
	return append([]any{o.Place.Bot, o.Place.Chat, o.Place.Thread, o.Role, o.Engine, o.Key, o.Turn}, more...)
}

// idle gives the longest silence, null when there is none.
func (o Opening) idle() *time.Duration {
	if o.Idle <= 0 {
		return nil
	}
	return &o.Idle
}

// The parts that statements share. Here picks the open session of the place, fits
// is true for one that the turn can go on with, and begun for a turn that has
// begun before.
const (
	here  = `bot = $1 and chat = $2 and thread = $3 and ended is null`
	fits  = `(role = $4 and engine = $5 and key = $6 and ($8::interval is null or last >= now() - $8::interval))`
	begun = `exists (select from attache.exchanges where turn = $7)`
)

// write runs a batch as one transaction, with the statement at its end that goes
// on with a session that fits and writes the exchange. It gives errMoved when that
// statement found nothing to do: no session fits, the epoch is not stored, or the
// turn has begun.
//
// The update locks the session's row first. So two attempts at one turn come one
// after the other, and the second writes nothing; and a /new comes either before
// or after the whole of it.
func (s *Store) write(ctx context.Context, o Opening, b *pgx.Batch) (Exchange, error) {
	x := Exchange{Turn: o.Turn, Epoch: o.Epoch, Snapshot: o.Snapshot, Input: o.Input, Tail: o.Tail, Fresh: true}
	written := false
	b.Queue(`
		with fit as (
			update attache.sessions set last = now()
			where `+here+` and `+fits+` and not `+begun+` and exists (select from attache.epochs where id = $9)
			returning id, snapshot, first, opened),
		put as (
			insert into attache.exchanges (turn, session, epoch, snapshot, input, tail)
			select $7::bigint, id, $9::text, $10::bytea, $11::bytea, $12::bytea from fit
			on conflict (turn) do nothing returning turn, at),
		heard as (
			update attache.asides a set turn = put.turn, session = case when a.key = $6 then fit.id end
			from put, fit where a.bot = $1 and a.chat = $2 and a.thread = $3 and a.turn is null)
		select fit.id, fit.snapshot, case when fit.first = put.turn then fit.opened else '' end, put.at from fit, put`,
		o.common(o.idle(), o.Epoch.ID, o.Snapshot, o.Input, o.Tail)...).QueryRow(func(r pgx.Row) error {
		err := r.Scan(&x.Session.ID, &x.Session.Snapshot, &x.Session.Opened, &x.At)
		written = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	err := s.db.Pool().SendBatch(ctx, b).Close()
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "23503": // Forget took an old epoch at this very moment
		return Exchange{}, errMoved
	case err != nil:
		return Exchange{}, err
	case !written:
		return Exchange{}, errMoved
	}
	return x, nil
}

// find reads the exchange of a turn that has begun; Turn is 0 when it has not.
// Then fit says whether the place's open session is one to go on with.
func (s *Store) find(ctx context.Context, o Opening) (x Exchange, fit bool, err error) {
	var b pgx.Batch
	b.Queue(selectExchange+` where e.turn = $1`, o.Turn).Query(func(rows pgx.Rows) error {
		x, _, err = one(rows)
		return err
	})
	b.Queue(`select exists (select from attache.sessions where `+here+` and `+fits+` and $7::bigint is not null)`,
		o.common(o.idle())...).QueryRow(func(r pgx.Row) error { return r.Scan(&fit) })
	err = s.db.Pool().SendBatch(ctx, &b).Close()
	return x, fit, err
}

// queueEpoch stores the epoch, unless it is known. Its bytes are many and travel
// only when it is new.
func (o Opening) queueEpoch(b *pgx.Batch) {
	b.Queue(`insert into attache.epochs (id, text, tools) values ($1, $2, $3) on conflict do nothing`,
		o.Epoch.ID, []byte(o.Epoch.Text), o.Epoch.Tools)
}

// queueSession ends the place's session if it does not fit and opens a new one if
// none is open then. The two locks are taken before anything is judged: the chat's
// keeps away others that open or move a session, the row's those that go on with
// the one that is open. What is judged after them is what is.
func (o Opening) queueSession(b *pgx.Batch, snapshot []byte) {
	queueLock(b, o.Place.Bot, o.Place.Chat)
	b.Queue(`select from attache.sessions where `+here+` for update`, o.Place.Bot, o.Place.Chat, o.Place.Thread)
	b.Queue(`
		update attache.sessions set ended = now(),
			why = case when key <> $6 then 'key' when role <> $4 then 'role' when engine <> $5 then 'engine' else 'idle' end
		where `+here+` and not `+fits+` and not `+begun, o.common(o.idle())...)
	b.Queue(`
		insert into attache.sessions (bot, chat, thread, role, engine, key, first, opened, snapshot)
		select $1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, $7::bigint,
			coalesce((select why from attache.sessions where bot = $1 and chat = $2 and thread = $3 and ended is not null and why <> '`+alone+`'
				order by ended desc, id desc limit 1), 'first'), $8::bytea
		where not `+begun+`
		on conflict (bot, chat, thread) where ended is null do nothing`, o.common(snapshot)...)
}

// queueLock holds off, until the transaction ends, others that open sessions in
// these chats or move them.
func queueLock(b *pgx.Batch, bot attache.BotID, chats ...attache.ChatID) {
	b.Queue(`
		select pg_advisory_xact_lock(hashtext('attache.conversation'), k)
		from (select distinct hashtext($1::text || '/' || chat) as k from unnest($2::bigint[]) as chat order by k) keys`, bot, chats)
}
