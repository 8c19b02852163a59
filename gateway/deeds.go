package gateway

import (
	"context"

	"attache"
	"attache/internal/store"
)

// edit replaces the text of a message; see putEdit. It is judged by no rule again:
// an edit never wakes the bot, whatever was written into it.
func (in *intake) edit(m attache.Message, update int64) deed {
	return func(ctx context.Context, tx store.Tx, _ *settled) error { return in.g.putEdit(ctx, tx, m, update) }
}

// renew ends the session of a place. What was said before stays in the chat and in
// the ledger; the model is not told of it any more.
func (in *intake) renew(p attache.Place) deed {
	return func(ctx context.Context, tx store.Tx, _ *settled) error { return in.g.o.New(ctx, tx, p) }
}

// move records a group's new number. What waited there is due at once: the notice
// came in between, and a burst that it interrupts is over.
func (in *intake) move(m attache.Migration) deed {
	return func(ctx context.Context, tx store.Tx, after *settled) error {
		waiting, err := in.g.migrate(ctx, tx, in.bot.ID, m)
		for _, id := range waiting {
			after.due[id] = 0
		}
		return err
	}
}

// stop ends the waiting burst and the running turn of a place and says so, also
// when there was nothing to end (interface § 5).
func (in *intake) stop(p attache.Place) deed {
	return func(ctx context.Context, tx store.Tx, after *settled) error {
		waiting, running, err := in.g.stopTurns(ctx, tx, p)
		if err != nil {
			return err
		}
		after.stops = append(after.stops, running...)
		say := "Nothing is running here."
		if waiting+len(running) > 0 {
			say = "Stopped."
		}
		return in.chrome(p, say)(ctx, tx, after)
	}
}

// chrome says something that is no turn's answer. It is written with the reason for
// it and sent after the commit: nothing is said that is not so.
func (in *intake) chrome(p attache.Place, say string) deed {
	return func(ctx context.Context, tx store.Tx, after *settled) error {
		after.posts = true
		return in.g.posts.PutChrome(ctx, tx, attache.Outgoing{Place: p, Markdown: say, Format: attache.FormatEntities})
	}
}
