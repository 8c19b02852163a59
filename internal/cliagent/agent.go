package cliagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"attache"
)

// ErrLost says that the agent names another session in the middle of a turn: it has
// forgotten everything, this turn included. Session gives the new name; the turn may
// be asked again with all that it carries.
var ErrLost = errors.New("the agent has lost its session")

var (
	errSilent = errors.New("it has not answered start with its session")
	errOver   = errors.New("its output is over")
)

// mostNoise is how many lines of one turn, or between two, may be no message.
const mostNoise = 10000

// toldNoise is how many of them the log shows.
const toldNoise = 20

// mostShown is how many bytes of an answer may be shown before it is there: no answer
// is longer than a line.
const mostShown = longestLine

// Agent is one process of a pool while its taker has it.
type Agent struct {
	pool      *Pool
	spec      Spec
	proc      *process
	log       *slog.Logger
	session   string
	last      string    // the turn that it was asked last
	asked     int64     // how many turns the process was asked
	compacted bool      // and not told everything since
	broken    bool      // of no use any more
	busy      bool      // its taker has it; the pool's
	since     time.Time // it was released; the pool's
	idle      *time.Timer
}

// Session is the agent's own name of its session. Another one than it was asked for
// says that it begins anew and knows nothing.
func (a *Agent) Session() string { return a.session }

// Compacted reports whether the agent has compacted its memory since it was last told
// everything.
func (a *Agent) Compacted() bool { return a.compacted }

// start hands over the instructions and waits for the session's name.
func (a *Agent) start(ctx context.Context) error {
	line := startLine{Type: "start", System: a.spec.System}
	if a.spec.Session != "" {
		line.Session = &a.spec.Session
	}
	if err := a.send(line); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.pool.o.Start, errSilent)
	defer cancel()
	noise := 0
	for a.session == "" {
		l, err := a.next(ctx, &noise)
		switch {
		case errors.Is(err, errSilent):
			return a.fault(fmt.Errorf("%w within %s", err, a.pool.o.Start))
		case err != nil:
			return err
		case l.Type == "session":
			a.session = l.ID
		case l.Type == "error":
			return a.fault(errors.New("it refuses to start: " + cut(l.Message)))
		}
	}
	return nil
}

// Turn asks a turn and serves the agent until its answer. An error leaves the process
// of no use, unless the agent said it itself: Release then ends it. Of the causes of
// ctx's end the error is one.
func (a *Agent) Turn(ctx context.Context, t Turn, h Host) (Done, error) {
	a.broken = true // until it has ended well
	a.last, a.compacted = t.ID, false
	if err := a.ready(); err != nil {
		return Done{}, err
	}
	line, err := json.Marshal(turnLine{"turn", t})
	if err != nil {
		return Done{}, err
	}
	if err := a.queue(line, true); err != nil {
		return Done{}, err
	}
	a.asked++
	noise, shown := 0, 0
	for {
		l, err := a.next(ctx, &noise)
		if err != nil {
			return Done{}, err
		}
		switch l.Type {
		case "delta":
			if shown += len(l.Text); shown > mostShown {
				return Done{}, a.fault(fmt.Errorf("it shows an answer of more than %d bytes and does not end it", mostShown))
			}
			h.Delta(l.Text)
		case "compacted":
			a.compacted = true
		case "session":
			if l.ID != a.session && l.ID != "" {
				a.session, a.broken = l.ID, false
				return Done{}, ErrLost
			}
		case "tool_call":
			shown = 0 // what was said before a call is no part of the answer
			if err := a.serve(l, h); err != nil {
				return Done{}, err
			}
		case "done":
			a.broken = false
			return Done{Text: l.Text, Usage: l.Usage, Compacted: a.compacted, Bytes: line}, nil
		case "error":
			a.broken = false
			return Done{}, a.fault(errors.New("it says: " + cut(l.Message)))
		}
	}
}

// serve carries a tool out for the agent.
func (a *Agent) serve(l in, h Host) error {
	result, err := h.Call(Call{ID: l.ID, Name: l.Name, Arguments: l.arguments()})
	if err != nil {
		return err
	}
	answer := out{Type: "tool_result", ID: l.ID, Content: &result}
	if a.compacted {
		answer.Context, a.compacted = h.Whole(), false
	}
	return a.send(answer)
}

// next gives the agent's next message.
func (a *Agent) next(ctx context.Context, noise *int) (in, error) {
	for {
		select {
		case <-ctx.Done():
			return in{}, context.Cause(ctx)
		case h, ok := <-a.proc.lines:
			if !ok {
				return in{}, a.died()
			}
			l, known := message(h.line)
			if known && (!l.ofTurn() || h.turns == a.asked && !l.foreign(a.last)) {
				return l, nil
			}
			if *noise++; *noise > mostNoise {
				return in{}, a.fault(fmt.Errorf("it has written %d lines that are no messages of this turn", *noise))
			}
			a.tell(h.line, known, *noise)
		}
	}
}

// message reads a line; ok is false for one that is no message of the protocol.
func message(raw []byte) (l in, ok bool) {
	if json.Unmarshal(raw, &l) != nil {
		return in{}, false
	}
	switch l.Type {
	case "session", "delta", "tool_call", "compacted", "done", "error":
		return l, true
	}
	return in{}, false
}

// tell logs a line that is passed over: no message, or one of no turn that runs.
func (a *Agent) tell(line []byte, known bool, nth int) {
	text := strings.TrimSpace(cut(string(line)))
	switch text = a.pool.redact(text); {
	case text == "" || nth > toldNoise:
	case known:
		a.log.Info("an agent wrote a line that belongs to another turn or to none", "turn", a.last, "why", text)
	default:
		a.log.Info("an agent wrote a line that is no message", "turn", a.last, "why", text)
	}
}

// died says how the process ended.
func (a *Agent) died() error {
	if _, fault := a.proc.last(); fault != nil {
		return a.fault(fault)
	}
	a.proc.dismiss(a.pool.o.Stop, false) // its output is over: it may still be there
	<-a.proc.ended
	return a.fault(fmt.Errorf("it ended in the middle of its work: %v", a.proc.cmd.ProcessState))
}

// fault makes an error of what the agent did, with its last words for the log.
func (a *Agent) fault(err error) error {
	var words []string
	if a.proc != nil {
		a.broken = a.broken || a.proc.gone()
		words, _ = a.proc.last()
	}
	what := fmt.Errorf("the agent %s: %w", filepath.Base(a.spec.Command[0]), err)
	if len(words) > 0 {
		what = fmt.Errorf("%w; its last words: %s", what, a.pool.redact(strings.Join(words, " / ")))
	}
	return &attache.Error{Kind: attache.KindOutside, Say: "the program that thinks for me did not end its work", Cause: what}
}

func (a *Agent) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.queue(line, false)
}

func (a *Agent) queue(line []byte, turn bool) error {
	select {
	case a.proc.in <- told{append(line[:len(line):len(line)], '\n'), turn}:
		return nil
	default:
		return a.fault(errors.New("it does not read what it is told"))
	}
}

// idling takes in what an agent wrote while no turn ran, which belongs to none: an
// answer that comes late or twice must not answer what is asked next. It gives the
// session that the agent has now, or why it cannot go on; it does not wait.
func (a *Agent) idling() (session string, err error) {
	session = a.session
	for n := 1; ; n++ {
		select {
		case h, ok := <-a.proc.lines:
			l, known := message(h.line)
			switch {
			case !ok:
				return session, errOver
			case n > mostNoise: // it may write for ever, and the pool waits
				return session, fmt.Errorf("it has written more than %d lines between two turns", mostNoise)
			case known && l.Type == "compacted":
				a.compacted = true
			case known && l.Type == "session" && l.ID != "":
				session = l.ID
			default:
				a.tell(h.line, known, n)
			}
		default:
			if a.proc.gone() {
				err = errOver
			}
			return session, err
		}
	}
}

// ready makes the agent one that has nothing to say any more before a turn is asked.
func (a *Agent) ready() error {
	session, err := a.idling()
	switch {
	case errors.Is(err, errOver):
		return a.died()
	case err != nil:
		return a.fault(err)
	case session != a.session:
		a.session, a.broken = session, false
		return ErrLost
	}
	return nil
}
