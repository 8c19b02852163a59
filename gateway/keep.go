package gateway

import (
	"context"
	"fmt"

	"attache"
)

// Offset gives the update id to ask Telegram for next: one more than the newest
// kept id; 0 when none is kept, or none in the last six days, because Telegram
// begins its numbers anew after a week of silence and a stale number would hide
// the new ones. 0 asks for everything unconfirmed and loses nothing.
func (g *Gateway) Offset(ctx context.Context, bot attache.BotID) (int64, error) {
	var next int64
	err := g.db.Pool().QueryRow(ctx,
		`select coalesce((select update_id + 1 from attache.updates where bot = $1 and at > now() - interval '6 days' order by seq desc limit 1), 0)`, bot).Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("the last kept update of %s cannot be read: %w", bot, err)
	}
	return next, nil
}

// Keep stores updates as they arrived, in one transaction, before anybody may
// confirm them to Telegram (decisions § 7.1). One seen before is left as it is.
func (g *Gateway) Keep(ctx context.Context, bot attache.BotID, updates []attache.RawUpdate) error {
	ids := make([]int64, len(updates))
	raws := make([][]byte, len(updates))
	for i, u := range updates {
		ids[i], raws[i] = u.ID, u.JSON
	}
	_, err := g.db.Pool().Exec(ctx, `
		insert into attache.updates (bot, update_id, raw)
		select $1, u.id, u.raw from unnest($2::bigint[], $3::bytea[]) with ordinality as u(id, raw, n) order by u.n
		on conflict do nothing`, bot, ids, raws)
	if err != nil {
		return fmt.Errorf("updates of %s cannot be kept: %w", bot, err)
	}
	if in := g.intake(bot); in != nil {
		in.poke()
	}
	return nil
}
