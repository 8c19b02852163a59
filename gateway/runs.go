package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"attache"
	"attache/internal/store"
)

// Begin puts a run into the lane of its place, in the transaction that decides on
// it: behind what runs there, beside the messages that wait (decisions § 3.11). A
// place without a chat shares no lane. A place that names a group by the number it
// had before is the supergroup's. after starts the run and is called after the
// commit; should it not be, the sweep starts it a second later.
func (g *Gateway) Begin(ctx context.Context, tx store.Tx, at attache.Place, t Task) (turn int64, after func(), err error) {
	task, err := json.Marshal(t)
	if err != nil {
		return 0, nil, fmt.Errorf("the work of %s cannot be stored: %w", t.Run, err)
	}
	err = tx.QueryRow(ctx, `
		insert into attache.turns (bot, chat, thread, kind, state, due, task)
		values ($1, coalesce((select new_chat from attache.chat_aliases where bot = $1 and old_chat = $2), $2), $3, $4, 'waiting', now(), $5)
		returning id`, at.Bot, at.Chat, at.Thread, t.Kind, task).Scan(&turn)
	if err != nil {
		return 0, nil, fmt.Errorf("the run %s cannot be put into the lane of %s: %w", t.Run, at, err)
	}
	return turn, func() { g.startAfter(turn, 0) }, nil
}
