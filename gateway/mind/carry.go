package mind

import (
	"context"

	"attache/contexts"
	"attache/gateway/carried"
	"attache/internal/store"
)

// carry decides what the turn carries and writes it down, tail and ledger in one
// transaction, before the first call of the model. A turn that was begun before
// sends the tail of then, byte for byte (decisions § 4).
func (th *thought) carry(ctx context.Context) error {
	o := th.m.o
	if !th.papers() {
		return nil
	}
	if th.turn.Task == nil { // a run has no holds of its place
		var err error
		if th.holds, err = th.readHolds(ctx); err != nil {
			return err
		}
	}
	th.asked.Holds = th.holds
	choice := th.brain.Contexts.Choose(th.asked)
	th.made = choice.Holds()
	if th.talk.Tail != nil {
		return nil
	}
	tail := choice.Render(th.given(ctx, choice))
	return o.DB.Retry(ctx, "writing down what a turn carries", func(ctx context.Context) error {
		return o.DB.InTx(ctx, func(tx store.Tx) error {
			stored, mine, err := o.Talks.SetTail(ctx, tx, th.turn.ID, append([]byte{}, tail.Bytes...))
			if err != nil {
				return err
			}
			th.talk.Tail = stored
			if !mine {
				return nil
			}
			return carried.Write(ctx, tx, th.turn.ID, th.role.ID, carried.Records(tail.Manifest, choice.Refused))
		})
	})
}

// papers reports whether there is anything that a turn of this role could carry: a
// brain without contexts and state pays for none of this.
func (th *thought) papers() bool {
	for range th.brain.Contexts.Files() {
		return true
	}
	return len(th.asked.Role.State) > 0
}

// given reads what a choice needs from outside.
func (th *thought) given(ctx context.Context, c contexts.Choice) map[contexts.Need]contexts.Given {
	needs := c.Needs()
	if len(needs) == 0 {
		return nil
	}
	return th.m.o.Read(ctx, th.brain, needs)
}

// readHolds reads the links that earlier turns of the session left.
func (th *thought) readHolds(ctx context.Context) (holds []contexts.Hold, err error) {
	err = th.m.o.DB.Retry(ctx, "reading held contexts", func(ctx context.Context) error {
		holds, err = carried.Holds(ctx, th.m.o.DB, th.talk.Session.ID)
		return err
	})
	return holds, err
}

// keep counts the held links down and adds those of this turn, once it is known
// whether the agent answered it (decisions § 3.5). A turn that a crash makes end
// twice is counted once.
func (th *thought) keep(ctx context.Context, answered bool) error {
	if len(th.holds)+len(th.made) == 0 || th.turn.Task != nil {
		return nil
	}
	return carried.Keep(ctx, th.m.o.DB, th.talk.Session.ID, th.turn.ID, th.brain.Contexts.Keep(th.holds, th.made, answered))
}
