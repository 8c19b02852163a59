package gateway

import (
	"context"
	"maps"
	"slices"

	"attache"
	"attache/internal/store"
)

// key notes under which key each message of a batch came. It is asked before they are
// stored, so that what is bound anew meanwhile is not theirs. Bindings that cannot be
// read stop no bot: nobody knows the key of these messages then, and no later turn
// shows them as lines of the room.
func (in *intake) key(ctx context.Context, rows []kept) error {
	at := map[attache.Place]bool{}
	for _, k := range rows {
		for _, i := range k.inputs {
			at[i.message.Place] = true
		}
	}
	if len(at) == 0 {
		return nil
	}
	keys, err := in.g.o.Keys(ctx, slices.Collect(maps.Keys(at)))
	if err != nil {
		if store.Transient(err) || ctx.Err() != nil {
			return err
		}
		in.g.log.Error("what chats are bound to cannot be read, so what is heard in them now is kept from later turns", "bot", in.bot.ID, "err", err)
	}
	for _, k := range rows {
		for i := range k.inputs {
			if key, known := keys[k.inputs[i].message.Place]; known {
				k.inputs[i].key = &key
			}
		}
	}
	return nil
}
