package mind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/engine"
	"attache/internal/model"
	"attache/internal/store"
	"attache/internal/tools"
)

// call runs one tool and gives the text that the model gets. A call is written
// down before it acts; one that acts on the outside and whose result a crash hid
// is reported to the model as unknown and not made again (architecture § 3).
func (th *thought) call(ctx context.Context, id string, c model.ToolCall) (string, error) {
	call := attache.Call{ID: id, Tool: c.Name, Args: json.RawMessage(c.Arguments), Turn: th.turn.ID, Place: th.turn.Place, Role: th.role.ID, Run: th.asked.Run, Pin: th.pin()}
	if n := len(th.turn.Messages); n > 0 {
		call.Person = th.turn.Messages[n-1].From.ID
	}
	tool, refusal, ok := th.known.Check(call, th.grant)
	if !ok {
		return refusal.Text, nil // decided by the call alone: the same again on a replay
	}
	state, result, err := th.started(ctx, call)
	if err != nil {
		return "", err
	}
	switch {
	case state == "done":
		th.opened(call.Tool, call.Args, result)
		th.spoke(call, result)
		return result, nil
	case state == "started" && tool.Effects && !tool.Keyed:
		r := tools.Unknown(fmt.Sprintf("nobody knows whether this call of %s was carried out; it is not made again by itself", tool.Name))
		return r.Text, th.done(ctx, call, r)
	}
	engine.KillPoint("tool.started")
	r, err := th.known.Run(ctx, call, th.grant)
	if ctx.Err() != nil {
		return "", ctx.Err() // stopped or shut down: the result says nothing
	}
	if err != nil {
		th.m.o.Log.Error("a tool did not end well", "turn", th.turn.ID, "part", tool.Name, "err", err)
	}
	th.opened(call.Tool, call.Args, r.Text)
	th.spoke(call, r.Text)
	engine.KillPoint("tool.ran")
	return r.Text, th.done(ctx, call, r)
}

// started writes a call down, or gives how far it had come before: "" is new.
func (th *thought) started(ctx context.Context, c attache.Call) (state, result string, err error) {
	err = th.m.o.DB.Retry(ctx, "writing a tool call down", func(ctx context.Context) error {
		tag, err := th.m.o.DB.Pool().Exec(ctx, `insert into attache.tool_calls (turn, call, tool, args, state) values ($1, $2, $3, $4, 'started')
			on conflict do nothing`, c.Turn, c.ID, c.Tool, printable(c.Args))
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		err = th.m.o.DB.Pool().QueryRow(ctx, `select state, result from attache.tool_calls where turn = $1 and call = $2`, c.Turn, c.ID).Scan(&state, &result)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return state, result, err
}

// done writes a call's result down.
func (th *thought) done(ctx context.Context, c attache.Call, r attache.Result) error {
	ctx = context.WithoutCancel(ctx)
	return th.m.o.DB.Retry(ctx, "recording a tool call", func(ctx context.Context) error {
		_, err := th.m.o.DB.Pool().Exec(ctx, `update attache.tool_calls set state = 'done', result = $3, done = now() where turn = $1 and call = $2`,
			c.Turn, c.ID, printable([]byte(r.Text)))
		return err
	})
}

// printable makes text that Postgres takes.
func printable(b []byte) string {
	out := make([]rune, 0, len(b))
	for _, r := range string(b) {
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}

// CallRecord is one call of a tool as it was written down.
type CallRecord struct {
	ID     string        `json:"id"` // round and place, as 1.0
	Tool   string        `json:"tool"`
	Args   string        `json:"args"`             // as the model wrote them
	State  string        `json:"state"`            // started or done
	Result string        `json:"result,omitempty"` // what the model got
	Took   time.Duration `json:"-"`
}

// Calls gives the calls of tools of a turn in the order they were made. A call that
// was refused before it began is none of them.
func Calls(ctx context.Context, db *store.DB, turn int64) ([]CallRecord, error) {
	rows, err := db.Pool().Query(ctx, `select call, tool, args, state, result, coalesce(done, at) - at
		from attache.tool_calls where turn = $1 order by at, call`, turn)
	if err != nil {
		return nil, fmt.Errorf("the tool calls of turn %d cannot be read: %w", turn, err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[CallRecord])
}
