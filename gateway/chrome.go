package gateway

import (
	"context"

	"attache/internal/store"
)

// sendChrome sends the chrome of this process that waits, each piece by itself:
// a chat that Telegram put on hold does not keep the others from an answer.
func (g *Gateway) sendChrome(ctx context.Context) {
	var rows []row
	err := g.db.Retry(ctx, "reading chrome", func(ctx context.Context) (err error) {
		rows, err = g.waitingChrome(ctx)
		return err
	})
	if err != nil {
		return
	}
	for _, r := range rows {
		in := g.intake(r.place.Bot)
		if in == nil || !g.begin(r.id) {
			continue
		}
		go func() {
			defer g.end(r.id)
			g.oneChrome(ctx, in.bot, r)
		}()
	}
}

// oneChrome sends one piece. What is refused or of unknown fate is told to the
// operator like any post; if the process ends first, a living one takes it up.
func (g *Gateway) oneChrome(ctx context.Context, b Bot, r row) {
	d, err := g.send(ctx, b, &r, false)
	if err != nil {
		return
	}
	if d.Fate != "sent" {
		g.tell(r, d)
	}
	err = g.db.Retry(context.WithoutCancel(ctx), "recording a post", func(ctx context.Context) error {
		return g.db.InTx(ctx, func(tx store.Tx) error { return putResult(ctx, tx, r.id, d) })
	})
	if err != nil {
		g.log.Error("a post's result could not be recorded", "bot", b.ID, "part", r.id, "err", err)
	}
}

// begin notes that this process is sending a piece of chrome; false: it already is.
func (g *Gateway) begin(id int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.chrome[id] {
		return false
	}
	g.chrome[id] = true
	return true
}

func (g *Gateway) end(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.chrome, id)
}
