package gateway

import (
	"context"
	"fmt"

	"attache"
	"attache/internal/store"
)

// Said is what became of a post that a tool made.
type Said struct {
	Place    attache.Place // where it went: a migrated group has another number now
	Messages []attache.MessageID
	Fate     attache.Fate // sent only if every part was; unknown if that of any part is
	Why      string
}

// Say posts for a tool call of a running turn, durably: intents before, results
// after. The same call of the same turn is said once, however often it is asked
// for; one that a crash interrupted is of unknown fate (decisions § 7.5).
func (g *Gateway) Say(ctx context.Context, turn int64, call string, o attache.Outgoing) (Said, error) {
	in := g.intake(o.Place.Bot)
	if in == nil {
		return Said{}, &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("this program does not serve the bot %s", o.Place.Bot)}
	}
	rows, err := g.postsOf(ctx, turn, call)
	if err != nil {
		return Said{}, err
	}
	if len(rows) == 0 {
		parts := g.o.Compose(o)
		if len(parts) == 0 {
			return Said{}, &attache.Error{Kind: attache.KindUsage, Say: "the text is empty; write something"}
		}
		if rows, err = g.putParts(ctx, turn, call, o.Place, parts, false); err != nil {
			return Said{}, err
		}
	}
	said := Said{Place: o.Place, Fate: attache.FateSent}
	for i := range rows {
		if err := g.sayPart(ctx, in.bot, &rows[i], &said); err != nil {
			return said, err
		}
	}
	return said, nil
}

// sayPart brings one part to its end and adds it to what was said.
func (g *Gateway) sayPart(ctx context.Context, b Bot, r *row, said *Said) error {
	d := attache.Delivery{Fate: attache.Fate(r.state), Messages: r.messages}
	switch r.state {
	case "sending":
		d = attache.Delivery{Fate: attache.FateUnknown, Why: "the process ended during the call"}
	case "intent":
		var err error
		if d, err = g.send(ctx, b, r, false); err != nil {
			return err
		}
		for d.Refusal == attache.RefusalFormat {
			simpler := g.o.Simpler(r.Part)
			if len(simpler) != 1 {
				break
			}
			r.Part = simpler[0]
			if d, err = g.send(ctx, b, r, false); err != nil {
				return err
			}
		}
	}
	if r.state == "intent" || r.state == "sending" {
		if d.Fate != attache.FateSent {
			g.tell(*r, d)
		}
		err := g.db.Retry(context.WithoutCancel(ctx), "recording a post", func(ctx context.Context) error {
			return g.db.InTx(ctx, func(tx store.Tx) error { return putResult(ctx, tx, r.id, d) })
		})
		if err != nil {
			return err
		}
	}
	said.Messages = append(said.Messages, d.Messages...)
	if d.Fate != attache.FateSent && said.Fate != attache.FateUnknown {
		said.Fate, said.Why = d.Fate, d.Why
	}
	return nil
}
