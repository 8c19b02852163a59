package gateway

import (
	"context"

	"attache"
	"attache/gateway/inbox"
)

// Offset gives the update id to ask Telegram for next; see inbox.Offset.
func (g *Gateway) Offset(ctx context.Context, bot attache.BotID) (int64, error) {
	return inbox.Offset(ctx, g.db, bot)
}

// Keep stores updates as they arrived, before anybody may confirm them to Telegram
// (decisions § 7.1), and wakes the intake of their bot.
func (g *Gateway) Keep(ctx context.Context, bot attache.BotID, updates []attache.RawUpdate) error {
	if err := inbox.Keep(ctx, g.db, bot, updates); err != nil {
		return err
	}
	if in := g.intake(bot); in != nil {
		in.poke()
	}
	return nil
}
