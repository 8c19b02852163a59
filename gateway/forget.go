package gateway

import (
	"context"
	"time"

	"attache/internal/store"
)

// forget deletes what is older than its retention, at the start and each hour.
// Every replica does it, which is harmless: each deletes what it still finds.
func (g *Gateway) forget(ctx context.Context) {
	hour := time.NewTicker(time.Hour)
	defer hour.Stop()
	for {
		if err := g.forgetOnce(ctx); err != nil && ctx.Err() == nil && !store.Transient(err) {
			g.log.Error("old rows could not be deleted; it is tried again in an hour", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-hour.C:
		}
	}
}

// forgetOnce deletes handled updates, lines of rooms, ended turns with their
// messages and posts, what others keep of turns, and the engine's journal of ended
// work after an hour (architecture § 3). Messages go before their turns, by whose
// end their age is known.
func (g *Gateway) forgetOnce(ctx context.Context) error {
	keep := g.o.Keep()
	for _, old := range []struct {
		sql  string
		keep time.Duration
	}{
		{`delete from attache.updates where (bot, update_id) in (
			select bot, update_id from attache.updates where state <> 'new' and at < now() - $1::interval limit $2)`, keep.Updates},
		{`delete from attache.messages where seq in (select seq from attache.messages
			where turn is null and role = 'room' and at < now() - $1::interval limit $2)`, keep.Room},
		{`delete from attache.messages where seq in (select m.seq from attache.messages m join attache.turns t on t.id = m.turn
			where t.ended < now() - $1::interval limit $2)`, keep.Turns},
		{`delete from attache.turns where id in (select id from attache.turns where ended < now() - $1::interval limit $2)`, keep.Turns},
	} {
		if err := g.bites(ctx, old.sql, old.keep); err != nil {
			return err
		}
	}
	if err := g.posts.Forget(ctx, keep.Turns); err != nil {
		return err
	}
	if err := g.o.Forget(ctx, time.Now().Add(-keep.Turns)); err != nil {
		return err
	}
	// Nothing reads the journal of a turn that has ended; an hour is for a person who
	// looks into it.
	for {
		n, err := g.o.Engine.Forget(time.Now().Add(-time.Hour))
		if err != nil || n == 0 {
			return err
		}
	}
}

// bite is how many rows one statement deletes: a long one would hold its locks for
// as long, and the intake would wait behind it.
const bite = 5000

// bites repeats a deletion until it finds less than a bite.
func (g *Gateway) bites(ctx context.Context, sql string, keep time.Duration) error {
	for {
		tag, err := g.db.Pool().Exec(ctx, sql, keep, bite)
		if err != nil || tag.RowsAffected() < bite {
			return err
		}
	}
}
