package gateway

import (
	"context"

	"attache"
	"attache/internal/store"
)

// Line posts what a person says through the bot from outside of the chat, as the
// operator's pages do: no turn's words, durable like any post. When it returns
// without an error the line is written down, and on its way.
func (g *Gateway) Line(ctx context.Context, what attache.Outgoing) error {
	if g.intake(what.Place.Bot) == nil {
		return &attache.Error{Kind: attache.KindRefused, Say: "this program does not serve the bot " + string(what.Place.Bot) + ", or it is still starting; try again in a moment"}
	}
	err := g.o.DB.InTx(ctx, func(tx store.Tx) error { return g.posts.PutChrome(ctx, tx, what) })
	if err == nil {
		g.posts.SendChrome(g.ctx)
	}
	return err
}
