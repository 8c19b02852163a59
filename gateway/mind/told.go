package mind

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"

	"attache/contexts"
	"attache/internal/cliagent/sent"
)

// told is what the agent of a session is known to have been told. It is written
// before the agent is told more and again at the turn's end, so a crash in between
// leaves it uncertain, and everything is told again.
type told struct {
	Agent   string // the agent's own name of its session, "" before it gave one
	Turn    int64  // that it was asked last
	Part    int    // of that turn
	Certain bool   // Sent is what it has; else it may have it, or some of it, or none
	Sent    sent.State
	Reply   *spoken // how that turn ended; nil while it has not
}

// spoken is how a part of a turn ended. It is journaled, and stored with what the
// agent was told, since a crash may hide the one and not the other.
type spoken struct {
	Text    string          `json:"text,omitempty"`
	Cost    float64         `json:"cost,omitempty"`
	Made    []contexts.Hold `json:"made,omitempty"`  // the links that its calls of tools leave
	About   bool            `json:"about,omitempty"` // it said something with `about`
	Refused bool            `json:"refused,omitempty"`
	Say     string          `json:"say,omitempty"` // the sentence of a failure that no repetition cures
	Cause   string          `json:"cause,omitempty"`
}

// readTold reads what the agent of the turn's session was told.
func (th *thought) readTold(ctx context.Context) (t told, err error) {
	err = th.m.o.DB.Retry(ctx, "reading what an agent was told", func(ctx context.Context) error {
		t = told{Certain: true}
		var state, reply []byte
		err := th.m.o.DB.Pool().QueryRow(ctx, `select agent, turn, part, certain, sent, reply from attache.cli_sessions where session = $1`,
			th.talk.Session.ID).Scan(&t.Agent, &t.Turn, &t.Part, &t.Certain, &state, &reply)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = json.Unmarshal(state, &t.Sent)
		}
		if err == nil && reply != nil {
			err = json.Unmarshal(reply, &t.Reply)
		}
		return err
	})
	return t, err
}

// writeTold writes down what the agent was, or is about to be, told.
func (th *thought) writeTold(ctx context.Context, t told) error {
	state, err := json.Marshal(t.Sent)
	if err != nil {
		return err
	}
	var reply []byte
	if t.Reply != nil {
		if reply, err = json.Marshal(t.Reply); err != nil {
			return err
		}
	}
	return th.m.o.DB.Retry(ctx, "writing down what an agent is told", func(ctx context.Context) error {
		_, err := th.m.o.DB.Pool().Exec(ctx, `insert into attache.cli_sessions (session, agent, turn, part, certain, sent, reply)
			values ($1, $2, $3, $4, $5, $6, $7)
			on conflict (session) do update set agent = excluded.agent, turn = excluded.turn, part = excluded.part,
				certain = excluded.certain, sent = excluded.sent, reply = excluded.reply, at = now()`,
			th.talk.Session.ID, printable([]byte(t.Agent)), t.Turn, t.Part, t.Certain, state, reply)
		return err
	})
}
