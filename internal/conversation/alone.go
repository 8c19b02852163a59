package conversation

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// alone is why the session of one turn opened, and why it ended: it is closed from the
// beginning, so that no turn of its place goes on with it.
const alone = "alone"

// beginAlone tries once to begin a turn in a session of its own: without history,
// hearing no asides (decisions § 3.11).
func (s *Store) beginAlone(ctx context.Context, o Opening) (Exchange, error) {
	x, _, err := s.find(ctx, o)
	if err != nil || x.Turn != 0 {
		return x, err
	}
	snapshot, err := o.Session(ctx)
	if err != nil {
		return Exchange{}, fmt.Errorf("the session's snapshot: %w", err)
	}
	x = Exchange{Turn: o.Turn, Epoch: o.Epoch, Snapshot: o.Snapshot, Input: o.Input, Tail: o.Tail, Fresh: true}
	var b pgx.Batch
	o.queueEpoch(&b)
	written := false
	// Of two attempts at one turn that meet here, the later one's session stays empty
	// and Forget takes it away.
	b.Queue(`
		with own as (
			insert into attache.sessions (bot, chat, thread, role, engine, key, first, opened, snapshot, ended, why)
			select $1::text, $2::bigint, $3::bigint, $4::text, $5::text, $6::text, $7::bigint, '`+alone+`', $8::bytea, now(), '`+alone+`'
			where not `+begun+` returning id, snapshot, opened),
		put as (
			insert into attache.exchanges (turn, session, epoch, snapshot, input, tail)
			select $7::bigint, id, $9::text, $10::bytea, $11::bytea, $12::bytea from own
			on conflict (turn) do nothing returning turn, at)
		select own.id, own.snapshot, own.opened, put.at from own, put`,
		o.common(full(snapshot), o.Epoch.ID, o.Snapshot, o.Input, o.Tail)...).QueryRow(func(r pgx.Row) error {
		err := r.Scan(&x.Session.ID, &x.Session.Snapshot, &x.Session.Opened, &x.At)
		written = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err := s.db.Pool().SendBatch(ctx, &b).Close(); err != nil {
		return Exchange{}, err
	}
	if !written {
		return Exchange{}, errMoved
	}
	return x, nil
}
