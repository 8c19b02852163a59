package mind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/contexts"
	"attache/internal/brain"
	"attache/internal/conversation"
	"attache/internal/store"
)

// Preview is what a turn would carry: what its ledger and its tail would say.
type Preview struct {
	Carried []CarriedRecord // in the tail's order, what was refused behind
	Tail    []byte          // what the model would read; nil for nothing
	Pin     attache.Pin     // what the place holds the bot to
}

// Foresee chooses and renders as a turn does, and does nothing else: it writes no
// tail, no ledger and no holds (matrix N6). read is asked for what the choice needs;
// what it does not give is said to be missing in the tail.
func Foresee(b *brain.Brain, t contexts.Turn, read func(needs []contexts.Need) map[contexts.Need]contexts.Given) Preview {
	p := Preview{Pin: attache.NewPin(t.Bot, t.Bindings)}
	p.Pin.Unread = t.Unread
	choice := b.Contexts.Choose(t)
	var given map[contexts.Need]contexts.Given
	if needs := choice.Needs(); len(needs) > 0 {
		given = read(needs)
	}
	tail := choice.Render(given)
	p.Carried, p.Tail = records(tail.Manifest, choice.Refused), tail.Bytes
	return p
}

// Held reads the links that earlier turns left for the next turn of a role in a
// place: none if it would open a new session. It only reads.
func Held(ctx context.Context, db *store.DB, b *brain.Brain, at attache.Place, role attache.RoleID, bindings []attache.Binding) ([]contexts.Hold, error) {
	who, _ := b.Frame.Role(role)
	session, ok, err := conversation.Going(ctx, db, conversation.Opening{
		Place: at, Role: role, Engine: engineOf(who), Idle: b.Frame.Manifest.Sessions.Idle, Key: attache.NewPin(at.Bot, bindings).String(),
	})
	if err != nil || !ok {
		return nil, err
	}
	return holdsOf(ctx, db, session)
}

// holdsOf reads the holds of a session.
func holdsOf(ctx context.Context, db *store.DB, session int64) (holds []contexts.Hold, err error) {
	var raw []byte
	err = db.Pool().QueryRow(ctx, `select holds from attache.context_holds where session = $1`, session).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &holds)
	}
	if err != nil {
		return nil, fmt.Errorf("what session %d holds cannot be read: %w", session, err)
	}
	return holds, nil
}
