package posts

import (
	"context"
	"fmt"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
)

// Answer is a turn's answer.
type Answer struct {
	attache.Outgoing
	Turn int64
	// Fresh says that the turn is begun for the first time, so that nothing was
	// written before and it need not be looked for.
	Fresh bool
	// ToChat says that an answer whose topic is gone goes to the chat instead.
	ToChat bool
	// Close ends the turn in the transaction of the last result. It may run more
	// than once, since a transaction is repeated when its outcome was lost.
	Close func(ctx context.Context, tx store.Tx, s Said) error
}

// Said is what became of something that was said.
type Said struct {
	Place    attache.Place // where it went: a migrated group has another number now
	Messages []attache.MessageID
	Fate     attache.Fate    // sent only if every part was; unknown if that of any part is
	Why      string          // of the part that gave Fate; empty when all were sent
	Parts    int             // 0: nothing was left to say once the text was formatted
	Taken    int             // parts that Telegram took, or may have taken
	Origin   *attache.Origin // what the posts remember; nil for none
}

// Answer says a turn's answer. What an earlier execution of the turn wrote down is
// gone on with, not written again. Without an error the turn is closed, unless
// Said.Parts is 0: then nothing was done. ErrTaken means that another process
// answers.
func (o *Office) Answer(ctx context.Context, a Answer) (Said, error) {
	p, err := o.open(a.Turn, "", a.Place)
	if err != nil {
		return Said{}, err
	}
	p.toChat, p.close = a.ToChat, a.Close
	if !a.Fresh {
		if err := p.recall(ctx); err != nil {
			return p.said, err
		}
	}
	if len(p.rows) == 0 {
		parts := o.forms.Compose(a.Outgoing)
		if len(parts) == 0 {
			return p.said, nil
		}
		// When the gate is free, the intent of the first part is its mark as well:
		// most answers have one part, and so one statement less before their call.
		p.marked = p.courier.Ready(a.Place.Chat)
		if err := p.intend(ctx, parts, a.Origin); err != nil {
			return p.said, err
		}
	}
	engine.KillPoint("post.intended")
	err = p.all(ctx)
	return p.said, err
}

// Say posts for a tool call of a running turn. The same call of the same turn is
// said once, however often it is asked for, and answered alike each time; one that
// a crash interrupted is of unknown fate (decisions § 7.5). A refusal is no error.
func (o *Office) Say(ctx context.Context, turn int64, call string, what attache.Outgoing) (Said, error) {
	p, err := o.open(turn, call, what.Place)
	if err != nil {
		return Said{}, err
	}
	if err := p.recall(ctx); err != nil {
		return Said{}, err
	}
	if len(p.rows) == 0 {
		parts := o.forms.Compose(what)
		if len(parts) == 0 {
			return Said{}, &attache.Error{Kind: attache.KindUsage, Say: "the text is empty; write something"}
		}
		if err := p.intend(ctx, parts, what.Origin); err != nil {
			return Said{}, err
		}
	}
	err = p.all(ctx)
	return p.said, err
}

// Again goes on with what an earlier execution of a turn wrote down for a tool call,
// and tells what became of it. It is asked before the call is judged anew: what was
// said by the rules of its time stays said. false: nothing was written down.
func (o *Office) Again(ctx context.Context, turn int64, call string) (Said, bool, error) {
	p := &posting{o: o, turn: turn, call: call, said: Said{Fate: attache.FateSent}}
	if err := p.recall(ctx); err != nil || len(p.rows) == 0 {
		return Said{}, false, err
	}
	if p.courier = o.courier(p.rows[0].place.Bot); p.courier == nil {
		return Said{}, true, fmt.Errorf("what a tool said before is not gone on with: %w", notServed(p.rows[0].place.Bot))
	}
	err := p.all(ctx)
	return p.said, true, err
}

// open begins a posting in a place whose bot this process serves.
func (o *Office) open(turn int64, call string, at attache.Place) (*posting, error) {
	c := o.courier(at.Bot)
	if c == nil {
		return nil, notServed(at.Bot)
	}
	return &posting{o: o, courier: c, turn: turn, call: call, said: Said{Place: at, Fate: attache.FateSent}}, nil
}
