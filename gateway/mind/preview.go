package mind

import (
	"context"

	"attache"
	"attache/contexts"
	"attache/gateway/carried"
	"attache/internal/brain"
	"attache/internal/conversation"
	"attache/internal/store"
)

// Preview is what a turn would carry: what its ledger and its tail would say.
type Preview struct {
	Carried []carried.Record // in the tail's order, what was refused behind
	Tail    []byte           // what the model would read; nil for nothing
	Pin     attache.Pin      // what the place holds the bot to
}

// Foresee chooses and renders as a turn does, and does nothing else: it writes no
// tail, no ledger and no holds (matrix N6). read is asked for what the choice needs;
// what it does not give is said to be missing in the tail.
func Foresee(b *brain.Brain, t contexts.Turn, read func(needs []contexts.Need) map[contexts.Need]contexts.Given) Preview {
	p := Preview{Pin: attache.NewPin(t.Bot, t.Bindings).Keyed(b.Contexts.Keyed)}
	p.Pin.Unread = t.Unread
	choice := b.Contexts.Choose(t)
	var given map[contexts.Need]contexts.Given
	if needs := choice.Needs(); len(needs) > 0 {
		given = read(needs)
	}
	tail := choice.Render(given)
	p.Carried, p.Tail = carried.Records(tail.Manifest, choice.Refused), tail.Bytes
	return p
}

// Held reads the links that earlier turns left for the next turn of a role in a
// place: none if it would open a new session. It only reads.
func Held(ctx context.Context, db *store.DB, b *brain.Brain, at attache.Place, role attache.RoleID, bindings []attache.Binding) ([]contexts.Hold, error) {
	who, _ := b.Frame.Role(role)
	session, ok, err := conversation.Going(ctx, db, conversation.Opening{
		Place: at, Role: role, Engine: engineOf(who), Idle: b.Frame.Manifest.Sessions.Idle, Key: attache.NewPin(at.Bot, bindings).Keyed(b.Contexts.Keyed).String(),
	})
	if err != nil || !ok {
		return nil, err
	}
	return carried.Holds(ctx, db, session)
}
