package gateway

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// stopChannel carries ids of running turns that another process must end.
const stopChannel = "attache_stop"

// begin remembers how to stop a running turn; false when this process is doing it
// already, so that no turn is done twice side by side.
func (g *Gateway) begin(id int64, cancel context.CancelFunc) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancels[id] != nil {
		return false
	}
	g.cancels[id] = cancel
	if _, told := g.told[id]; told {
		cancel()
	}
	return true
}

// end forgets a turn that this process is done with, for good or for now. The sweep
// finds one that is still open a few seconds later.
func (g *Gateway) end(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.cancels, id)
	delete(g.fresh, id)
	delete(g.redone, id)
}

// cancel stops a turn if this process runs it, or is just about to: between the
// claim in the database and the work in the engine a turn is nowhere to be found
// here, so the word is kept until it begins. A word for a turn of another process
// is kept in vain, for a minute.
func (g *Gateway) cancel(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stop := g.cancels[id]; stop != nil {
		stop()
		return
	}
	for other, when := range g.told {
		if time.Since(when) > time.Minute {
			delete(g.told, other)
		}
	}
	g.told[id] = time.Now()
}

// heardStop ends a turn that another process was told to stop. An empty payload
// follows a broken connection: what was missed meanwhile is looked up.
func (g *Gateway) heardStop(payload string) {
	if id, err := strconv.ParseInt(payload, 10, 64); err == nil {
		g.cancel(id)
		return
	}
	rows, err := g.db.Pool().Query(g.ctx, `select id from attache.turns where state = 'running' and stop and executor = $1`, g.o.Executor)
	if err != nil {
		return // the database is away again; the next connection asks again
	}
	ids, _ := collect[int64](rows) // what was read of it is told to stop all the same
	for _, id := range ids {
		g.cancel(id)
	}
}

// stopTurns ends the waiting turn of a place, with its messages, and names the
// running one. Other processes hear of it when the transaction commits; one that
// does not, because its connection is broken just then, reads the mark `stop` in
// the row. What the room said stays: nobody asked for it to be answered. A run that
// waits stays too: it is no burst, and nobody in the chat began it.
func (g *Gateway) stopTurns(ctx context.Context, tx store.Tx, p attache.Place) (waiting int, running []int64, err error) {
	rows, err := tx.Query(ctx, `
		update attache.turns set
			state = case state when 'waiting' then 'stopped' else state end,
			ended = case state when 'waiting' then now() end,
			stop = true, why = 'stopped by a person'
		where bot = $1 and chat = $2 and thread = $3 and (state = 'running' or state = 'waiting' and task is null) returning id, state`, p.Bot, p.Chat, p.Thread)
	if err != nil {
		return 0, nil, err
	}
	var id int64
	var state string
	_, err = pgx.ForEachRow(rows, []any{&id, &state}, func() error {
		if state == "stopped" {
			waiting++
		} else {
			running = append(running, id)
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	if waiting > 0 {
		if _, err := tx.Exec(ctx, `delete from attache.messages where bot = $1 and chat = $2 and thread = $3 and turn is null and role = 'input'`,
			p.Bot, p.Chat, p.Thread); err != nil {
			return 0, nil, err
		}
	}
	for _, id := range running {
		if err := store.Notify(ctx, tx, stopChannel, fmt.Sprint(id)); err != nil {
			return 0, nil, err
		}
	}
	return waiting, running, nil
}
