package gateway

import (
	"context"
	"errors"
	"time"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
)

// row is one row of attache.posts: a part and how far it has come.
type row struct {
	id       int64
	part     int
	state    string
	place    attache.Place
	messages []attache.MessageID // that it became, once it is sent
	attache.Part
}

// errTaken means that another process owns the turn now; this one stops quietly.
var errTaken = errors.New("another process took this turn over")

// posting is the work of saying one answer.
type posting struct {
	g      *Gateway
	turn   Turn
	bot    Bot
	answer Answer
	rows   []row
	marked bool // the first row is `sending` by this execution's own hand
	sent   int  // parts that Telegram took, or may have taken
	out    outcome
}

// post says an answer: intents first, then one call after the other, each with
// its result, and with the last result the turn is closed in the same
// transaction. Posts that an earlier execution of this turn wrote are gone on
// with, not written again.
func (g *Gateway) post(ctx context.Context, t Turn, bot Bot, a Answer, state string) (outcome, error) {
	p := &posting{g: g, turn: t, bot: bot, answer: a, out: outcome{state: state, why: a.Why}}
	if err := p.intend(ctx); err != nil {
		return p.out, err
	}
	engine.KillPoint("post.intended")
	for i := 0; i < len(p.rows); i++ {
		if err := p.one(ctx, i); err != nil {
			return p.out, err
		}
	}
	p.out.parts = len(p.rows)
	if !p.out.closed && p.sent == 0 {
		p.out.state = "failed"
	}
	return p.out, nil
}

// intend writes the parts of the answer down. The first is marked `sending` in
// the same transaction when its turn at the gate is free right now.
func (p *posting) intend(ctx context.Context) error {
	if !p.turn.fresh {
		rows, err := p.g.postsOf(ctx, p.turn.ID, "")
		if err != nil || len(rows) > 0 {
			p.rows = rows
			return err
		}
	}
	parts := p.g.o.Compose(attache.Outgoing{
		Place: p.turn.Place, Markdown: p.answer.Markdown, ReplyTo: replyTarget(p.turn), Format: p.answer.Format,
	})
	if len(parts) == 0 {
		p.out.state, p.out.why = "silent", "the answer is empty once it is formatted"
		return nil
	}
	p.marked = p.bot.Courier.Ready(p.turn.Place.Chat)
	rows, err := p.g.putParts(ctx, p.turn.ID, "", p.turn.Place, parts, p.marked)
	p.rows = rows
	return err
}

// one brings part i to its end.
func (p *posting) one(ctx context.Context, i int) error {
	r := &p.rows[i]
	mine := i == 0 && p.marked
	switch {
	case r.state == "sent" || r.state == "unknown":
		p.sent++
		return p.last(ctx, i)
	case r.state == "sending" && !mine:
		p.sent++
		p.g.tell(*r, attache.Delivery{Fate: attache.FateUnknown, Why: "the process ended during the call"})
		return p.record(ctx, i, attache.Delivery{Fate: attache.FateUnknown, Why: "the process ended during the call"})
	case r.state == "refused" || r.state == "dropped":
		return p.last(ctx, i)
	}
	for reworked := 0; ; reworked++ {
		d, err := p.g.send(ctx, p.bot, r, mine && reworked == 0)
		if err != nil {
			return err
		}
		if d.Fate == attache.FateRefused && reworked < 3 {
			again, err := p.rework(ctx, i, d)
			if err != nil {
				return err
			}
			if again {
				r = &p.rows[i]
				continue
			}
		}
		if d.Fate != attache.FateRefused {
			p.sent++
		}
		if d.Fate != attache.FateSent {
			p.g.tell(*r, d)
		}
		return p.record(ctx, i, d)
	}
}

// send makes one call, and makes it again for as long as Telegram certainly did
// not take it and asks to wait. marked says that the row is `sending` already.
func (g *Gateway) send(ctx context.Context, bot Bot, r *row, marked bool) (attache.Delivery, error) {
	for try := 0; ; try++ {
		if !marked {
			if err := bot.Courier.Clear(ctx, r.place.Chat); err != nil {
				return attache.Delivery{}, err
			}
			if err := g.markSending(ctx, r.id); err != nil {
				return attache.Delivery{}, err
			}
		}
		engine.KillPoint("post.sending")
		// The call is not tied to the turn's end: once it is on its way its outcome
		// must be recorded, or it would be unknown for no reason.
		d := bot.Courier.Deliver(context.WithoutCancel(ctx), r.Part)
		engine.KillPoint("post.sent")
		g.count(Event{Kind: EventPost, Bot: bot.ID, What: string(d.Fate)})
		if d.Fate != attache.FateHeld {
			return d, nil
		}
		marked = false
		if try == 0 {
			g.log.Warn("a post waits: Telegram did not take it", "bot", bot.ID, "chat", r.place.Chat,
				"thread", r.place.Thread, "part", r.id, "ms", d.After.Milliseconds(), "why", d.Why)
		}
		if err := g.markHeld(ctx, r.id, d); err != nil {
			return d, err
		}
		if err := pause(ctx, d.After); err != nil {
			return d, err
		}
	}
}

// record writes a result down; with the last one the turn is closed in the same
// transaction. It is tied to no turn's end: a result is always written.
func (p *posting) record(ctx context.Context, i int, d attache.Delivery) error {
	ctx = context.WithoutCancel(ctx)
	if d.Fate != attache.FateSent {
		p.out.why = d.Why
	}
	last := i == len(p.rows)-1
	err := p.g.db.Retry(ctx, "recording a post", func(ctx context.Context) error {
		return p.g.db.InTx(ctx, func(tx store.Tx) error {
			if err := putResult(ctx, tx, p.rows[i].id, d); err != nil || !last {
				return err
			}
			return p.close(ctx, tx)
		})
	})
	p.out.closed = err == nil && last
	p.out.parts = len(p.rows)
	engine.KillPoint("post.recorded")
	return err
}

// last closes the turn after a part that an earlier execution had brought to its
// end, if it is the last.
func (p *posting) last(ctx context.Context, i int) error {
	if i < len(p.rows)-1 {
		return nil
	}
	err := p.g.db.Retry(ctx, "closing a turn", func(ctx context.Context) error { return p.close(ctx, p.g.db.Pool()) })
	p.out.closed = err == nil
	return err
}

func (p *posting) close(ctx context.Context, q querier) (err error) {
	if p.sent == 0 {
		p.out.state = "failed"
		if p.g.o.Dropped != nil {
			if err := p.g.o.Dropped(ctx, p.turn.ID); err != nil {
				return err
			}
		}
	}
	p.out.next, p.out.wait, err = p.g.closeTurn(ctx, q, p.turn.ID, p.out.state, p.out.why)
	return err
}

// rework puts a refused part, and where need be those behind it, into another
// form or another place, and says whether there is something to send again.
func (p *posting) rework(ctx context.Context, i int, d attache.Delivery) (bool, error) {
	r := p.rows[i]
	rows := append([]row(nil), p.rows...)
	var more []attache.Part
	switch d.Refusal {
	case attache.RefusalFormat:
		parts := p.g.o.Simpler(r.Part)
		if len(parts) == 0 || len(parts) > 1 && i < len(rows)-1 {
			return false, nil // nothing is simpler, or the order of parts would suffer
		}
		rows[i].Part, more = parts[0], parts[1:]
	case attache.RefusalMigrated:
		p.retarget(rows[i:], attache.Place{Bot: r.place.Bot, Chat: d.MovedTo, Thread: r.place.Thread})
		if err := p.g.moved(ctx, r.place.Bot, attache.Migration{From: r.place.Chat, To: d.MovedTo}); err != nil {
			return false, err
		}
	case attache.RefusalThread:
		if p.answer.Gone != "chat" || r.place.Thread == 0 {
			return false, nil
		}
		p.retarget(rows[i:], attache.Place{Bot: r.place.Bot, Chat: r.place.Chat})
	default:
		return false, nil
	}
	p.g.log.Info("a post is sent in another form or place", "bot", p.bot.ID, "chat", r.place.Chat, "thread", r.place.Thread, "part", r.id, "why", d.Why)
	rows, err := p.g.rewrite(context.WithoutCancel(ctx), p.turn, rows, i, more)
	if err == nil {
		p.rows = rows
	}
	return err == nil, err
}

// retarget points parts at another place.
func (p *posting) retarget(rows []row, to attache.Place) {
	for i := range rows {
		rows[i].place, rows[i].Part = to, p.g.o.Retarget(rows[i].Part, to)
	}
}

// tell lets the operator know of a post that did not arrive, or may not have.
func (g *Gateway) tell(r row, d attache.Delivery) {
	say := "Telegram refused a post"
	if d.Fate == attache.FateUnknown {
		say = "the fate of a post is unknown; it is not repeated"
	}
	g.log.Warn(say, "bot", r.place.Bot, "chat", r.place.Chat, "thread", r.place.Thread, "part", r.id, "why", d.Why)
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
