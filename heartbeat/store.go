package heartbeat

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"attache/internal/store"
)

// Migrations of attache.beats and attache.fires.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the tables of this package up to date.
func Migrate(ctx context.Context, db *store.DB) error {
	return db.Migrate(ctx, "heartbeat", migrations)
}

// Querier is the pool or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Fire is one slot of a beat that was claimed: this process alone runs it.
type Fire struct {
	ID     int64     // of its row in attache.fires
	Slot   time.Time // in the beat's zone
	Missed int       // how many missed slots it stands for, 0 for one on time; beyond the last 24 an estimate from below
}

// State says what became of a fire.
type State string

// What becomes of a fire. Refused is for one whose run could not begin or whose
// answer may not be posted (decisions § 2).
const (
	stateFired   State = "fired"
	stateBlank   State = "blank"   // the beat has no body, so there is nothing to run
	stateSkipped State = "skipped" // it was missed, and catchUp is skip
	Refused      State = "refused"
)

// Began notes the turn that a fire began, in the transaction that inserts the turn.
func (f Fire) Began(ctx context.Context, tx store.Tx, turn int64) error {
	if _, err := tx.Exec(ctx, `update attache.fires set turn = $2 where id = $1`, f.ID, turn); err != nil {
		return fmt.Errorf("fire %d of turn %d: %w", f.ID, turn, err)
	}
	return nil
}

// Mark notes what became of the fire that began a turn, with the reason in one
// clause. It reports whether this is news: the entity's fire before it ended
// otherwise, so the log should say it; a beat that cannot post says so once and not
// every morning. A turn that no fire began is no news.
func Mark(ctx context.Context, q Querier, turn int64, s State, why string) (news bool, err error) {
	err = q.QueryRow(ctx, `
		with marked as (
			update attache.fires set state = $2, why = $3 where turn = $1 returning id, kind, entity)
		select coalesce((
			select (p.state, p.why) is distinct from ($2, $3) from attache.fires p
			where p.kind = m.kind and p.entity = m.entity and p.id < m.id and p.state <> 'skipped'
			order by p.id desc limit 1), true)
		from marked m`, turn, string(s), why).Scan(&news)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("what became of the fire of turn %d: %w", turn, err)
	}
	return news, nil
}

// Record is a row of attache.fires.
type Record struct {
	Kind, Entity string
	Slot         string
	State        State
	Why          string
	Turn         int64 // 0: none
	At           time.Time
}

// Latest gives the last fire of each entity that was not skipped, by kind and id:
// doctor names those that were refused.
func Latest(ctx context.Context, q Querier) ([]Record, error) {
	rows, err := q.Query(ctx, `
		select distinct on (kind, entity) kind, entity, slot, state, why, coalesce(turn, 0), at
		from attache.fires where state <> 'skipped' order by kind, entity, id desc`)
	if err != nil {
		return nil, fmt.Errorf("the latest fires: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Record])
}

// Forget deletes fires from before a moment, at most 10,000 at a time, and says how
// many; 0 means that none is left. No slot is fired again for it.
func Forget(ctx context.Context, q Querier, before time.Time) (int64, error) {
	tag, err := q.Exec(ctx, `
		delete from attache.fires where id in (select id from attache.fires where at < $1 order by at limit 10000)`, before)
	if err != nil {
		return 0, fmt.Errorf("old fires cannot be deleted: %w", err)
	}
	return tag.RowsAffected(), nil
}

// lock takes a beat's row to the end of the transaction, made with handled where
// there is none yet, and gives up to which instant its slots are dealt with.
func lock(ctx context.Context, tx store.Tx, id string, now, handled time.Time) (time.Time, error) {
	_, err := tx.Exec(ctx, `insert into attache.beats (id, known, handled) values ($1, $2, $3) on conflict (id) do nothing`, id, now, handled)
	if err == nil {
		err = tx.QueryRow(ctx, `select handled from attache.beats where id = $1 for update`, id).Scan(&handled)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("the slots of heartbeat:%s: %w", id, err)
	}
	return handled, nil
}

// handle moves a beat's mark on; it never goes back.
func handle(ctx context.Context, tx store.Tx, id string, handled time.Time) error {
	if _, err := tx.Exec(ctx, `update attache.beats set handled = greatest(handled, $2) where id = $1`, id, handled); err != nil {
		return fmt.Errorf("the slots of heartbeat:%s: %w", id, err)
	}
	return nil
}

// setBack puts a beat's mark where it should never have left: a clock was wrong.
func setBack(ctx context.Context, tx store.Tx, id string, handled time.Time) error {
	if _, err := tx.Exec(ctx, `update attache.beats set handled = $2 where id = $1`, id, handled); err != nil {
		return fmt.Errorf("the slots of heartbeat:%s: %w", id, err)
	}
	return nil
}

// claim takes one slot of an entity. It is fresh when nobody has taken it before.
func claim(ctx context.Context, tx store.Tx, kind, entity, slot string, s State, why string) (id int64, fresh bool, err error) {
	err = tx.QueryRow(ctx, `
		insert into attache.fires (kind, entity, slot, state, why) values ($1, $2, $3, $4, $5)
		on conflict (kind, entity, slot) do nothing returning id`, kind, entity, slot, string(s), why).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("the slot %s of %s:%s: %w", slot, kind, entity, err)
	}
	return id, true, nil
}

// keepOnly forgets every beat but those that run, so that one that is switched on
// again has missed nothing.
func keepOnly(ctx context.Context, q Querier, ids []string) error {
	if _, err := q.Exec(ctx, `delete from attache.beats where not (id = any($1))`, ids); err != nil {
		return fmt.Errorf("beats that are off: %w", err)
	}
	return nil
}
