package posts

import (
	"context"
	"time"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
)

// posting is the work of saying one thing: parts in order, each brought to its end
// before the next is begun, so that a chat never reads them in another order.
type posting struct {
	o       *Office
	courier Courier
	turn    int64  // 0: chrome
	call    string // the tool call that posts; empty for an answer
	rows    []row
	marked  bool // the first row is `sending` by this execution's own hand
	toChat  bool
	close   func(context.Context, store.Tx, Said) error // may be nil
	said    Said
}

// all brings every part to its end. Rework may append parts on the way.
func (p *posting) all(ctx context.Context) error {
	for i := 0; i < len(p.rows); i++ {
		if err := p.one(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// one brings part i to its end.
func (p *posting) one(ctx context.Context, i int) error {
	r := p.rows[i]
	mine := i == 0 && p.marked
	switch {
	case r.ended():
		return p.passed(ctx, i)
	case r.state == "sending" && !mine:
		d := interrupted()
		p.o.count(r.place.Bot, d.Fate)
		return p.record(ctx, i, d)
	}
	d, err := p.deliver(ctx, i, mine)
	if err != nil {
		return err
	}
	return p.record(ctx, i, d)
}

// reworks is how often a refused part is put into another form or place before
// the refusal stands: rich, entities and plain are three forms, and a moved group
// is one place more. Without an end two of them could take turns for ever.
const reworks = 3

// deliver sends part i, and sends it again in the next form or place for as long
// as Telegram refuses it for a reason that another form or place cures.
func (p *posting) deliver(ctx context.Context, i int, marked bool) (attache.Delivery, error) {
	for n := 0; ; n++ {
		d, err := p.send(ctx, p.rows[i], marked && n == 0)
		if err != nil || d.Fate != attache.FateRefused || n == reworks {
			return d, err
		}
		again, err := p.rework(ctx, i, d)
		if err != nil || !again {
			return d, err
		}
	}
}

// send makes one call, and makes it again for as long as Telegram certainly did
// not take it and asks to wait. marked says that the row is `sending` already.
func (p *posting) send(ctx context.Context, r row, marked bool) (attache.Delivery, error) {
	for try := 0; ; try++ {
		if !marked {
			// Waiting comes before the mark: a process that dies in the queue at the
			// gate leaves an intent, which is sent, and not a post of unknown fate.
			if err := p.courier.Clear(ctx, r.place.Chat); err != nil {
				return attache.Delivery{}, err
			}
			if err := p.o.markSending(ctx, r.id); err != nil {
				return attache.Delivery{}, err
			}
		}
		engine.KillPoint("post.sending")
		// The call is not tied to the turn's end: once it is on its way its outcome
		// must be recorded, or it would be unknown for no reason.
		d := p.courier.Deliver(context.WithoutCancel(ctx), r.Part)
		engine.KillPoint("post.sent")
		p.o.count(r.place.Bot, d.Fate)
		if d.Fate != attache.FateHeld {
			return d, nil
		}
		marked = false
		if try == 0 { // one line a post, however long the pause goes on
			p.o.log.Warn("a post waits: Telegram did not take it", "bot", r.place.Bot, "chat", r.place.Chat,
				"thread", r.place.Thread, "part", r.id, "ms", d.After.Milliseconds(), "why", d.Why)
		}
		if err := p.o.markHeld(ctx, r.id, d); err != nil {
			return d, err
		}
		if err := pause(ctx, d.After); err != nil {
			return d, err
		}
	}
}

// record writes a result down; with the last one the turn is closed in the same
// transaction, so that no turn is open whose answer is out. It is tied to no
// turn's end: a result is always written.
func (p *posting) record(ctx context.Context, i int, d attache.Delivery) error {
	r := p.rows[i]
	p.o.tell(r, d)
	p.note(r, d)
	err := p.finish(context.WithoutCancel(ctx), i, func(ctx context.Context, tx store.Tx) error { return p.o.putResult(ctx, tx, r, d) })
	engine.KillPoint("post.recorded")
	return err
}

// passed goes by a part that an earlier execution brought to its end. If it is the
// last, that execution died before it closed the turn.
func (p *posting) passed(ctx context.Context, i int) error {
	p.note(p.rows[i], p.rows[i].delivery())
	if p.close == nil || i < len(p.rows)-1 {
		return nil
	}
	return p.finish(ctx, i, func(context.Context, store.Tx) error { return nil })
}

// finish does something about part i and, after the last part, closes the turn in
// the same transaction.
func (p *posting) finish(ctx context.Context, i int, put func(context.Context, store.Tx) error) error {
	last := p.close != nil && i == len(p.rows)-1
	return p.o.db.Retry(ctx, "recording a post", func(ctx context.Context) error {
		return p.o.db.InTx(ctx, func(tx store.Tx) error {
			if err := put(ctx, tx); err != nil || !last {
				return err
			}
			return p.close(ctx, tx, p.said)
		})
	})
}

// note adds what became of a part to what is said. An unknown part outweighs a
// refused one: it may be there to be read.
func (p *posting) note(r row, d attache.Delivery) {
	p.said.Place, p.said.Origin = r.place, r.origin
	p.said.Parts = len(p.rows)
	p.said.Messages = append(p.said.Messages, d.Messages...)
	if d.Fate == attache.FateSent || d.Fate == attache.FateUnknown {
		p.said.Taken++
	}
	if d.Fate != attache.FateSent && p.said.Fate != attache.FateUnknown {
		p.said.Fate, p.said.Why = d.Fate, d.Why
	}
}

// rework puts a refused part, and where need be those behind it, into another
// form or another place, and says whether there is something to send again. What
// it changes is written down first, so that a crash goes on with the new form.
func (p *posting) rework(ctx context.Context, i int, d attache.Delivery) (bool, error) {
	r := p.rows[i]
	rows := append([]row(nil), p.rows...)
	var more []attache.Part
	switch d.Refusal {
	case attache.RefusalFormat:
		parts := p.o.forms.Simpler(r.Part)
		// More parts than one go behind the last one only, or the order of parts would
		// suffer; and chrome has no key that keeps a second part from being written twice.
		if len(parts) == 0 || len(parts) > 1 && (i < len(rows)-1 || p.turn == 0) {
			return false, nil
		}
		rows[i].Part, more = parts[0], parts[1:]
	case attache.RefusalMigrated:
		p.retarget(rows[i:], attache.Place{Bot: r.place.Bot, Chat: d.MovedTo, Thread: r.place.Thread})
		if err := p.o.moved(ctx, r.place.Bot, attache.Migration{From: r.place.Chat, To: d.MovedTo}); err != nil {
			return false, err
		}
	case attache.RefusalThread:
		if !p.toChat || r.place.Thread == 0 {
			return false, nil
		}
		p.retarget(rows[i:], attache.Place{Bot: r.place.Bot, Chat: r.place.Chat})
	default:
		return false, nil
	}
	p.o.log.Info("a post is sent in another form or place", "bot", r.place.Bot, "chat", r.place.Chat, "thread", r.place.Thread, "part", r.id, "why", d.Why)
	return true, p.rewrite(context.WithoutCancel(ctx), rows, i, more)
}

// retarget points parts at another place.
func (p *posting) retarget(rows []row, to attache.Place) {
	for i := range rows {
		rows[i].place, rows[i].Part = to, p.o.forms.Retarget(rows[i].Part, to)
	}
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
