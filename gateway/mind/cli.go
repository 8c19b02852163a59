package mind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"attache"
	"attache/constitution"
	"attache/internal/cliagent"
	"attache/internal/cliagent/sent"
	"attache/internal/engine"
	"attache/internal/model"
)

// engineOf is how a session is known by what answers its turns: another one, or the
// same with another command, ends it (decisions § 4).
func engineOf(r constitution.Role) string {
	if len(r.Engine.Command) == 0 {
		return "api"
	}
	raw, _ := json.Marshal(r.Engine.Command) // strings always marshal
	sum := sha256.Sum256(raw)
	return "cli:" + hex.EncodeToString(sum[:8])
}

// alone reports whether the turn has a session of its own, which is over with it.
func (th *thought) alone() bool { return th.turn.Task != nil || th.asked.Unread }

// converse answers a turn by an agent that keeps its state (text 1 § 4): it is told
// what is new since its last turn, calls tools, and answers. Each part of the turn is
// journaled; a crash in the middle of one repeats it, and the calls of tools that it
// makes again with the same arguments are answered from the record.
func (th *thought) converse(ctx context.Context, limits constitution.Limits) (string, error) {
	draft := th.draft()
	defer draft.End()
	th.mine = len(th.made)
	if th.alone() {
		defer th.m.o.Agents.End(th.talk.Session.ID)
	}
	input := string(th.talk.Input) + th.words(ctx)
	for part := 1; ; part++ {
		got, err := th.part(ctx, part, input, limits, draft)
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(got.Text)
		refusal, again := th.refuses(text)
		switch {
		case again:
			input = refusal
		case refusal != "":
			return "", nil
		default:
			return text, nil
		}
	}
}

// words gives the text files that came with the input. An agent is given no others:
// the input says that they are left out.
func (th *thought) words(ctx context.Context) string {
	var b strings.Builder
	for _, p := range th.attached(ctx) {
		b.WriteString("\n" + p.Text)
	}
	return b.String()
}

// part does one part of a turn, journaled: after a crash its end is read and nothing
// is done again.
func (th *thought) part(ctx context.Context, n int, input string, limits constitution.Limits, draft Draft) (spoken, error) {
	got, err := engine.Step(th.run, fmt.Sprintf("agent %d", n), func(context.Context) (spoken, error) {
		got, err := th.consult(ctx, n, input, limits, draft)
		if err == nil || ctx.Err() != nil {
			return got, err
		}
		r := failure(err)
		var e *attache.Error
		return spoken{Say: r.Say, Cause: r.Cause, Refused: errors.As(err, &e) && e.Kind == attache.KindRefused}, nil
	})
	if err != nil {
		return spoken{}, err
	}
	if got.Say != "" {
		kind := attache.KindOutside
		if got.Refused {
			kind = attache.KindRefused
		}
		return spoken{}, &attache.Error{Kind: kind, Say: got.Say, Cause: errors.New(got.Cause)}
	}
	th.spent += got.Cost
	th.made = append(th.made[:th.mine:th.mine], got.Made...) // also when the journal gave them
	th.last.about = th.last.about || got.About
	return got, nil
}

// consult asks the agent one part of the turn. What it is about to be told is written
// down first as uncertain, and as certain when it has answered.
func (th *thought) consult(ctx context.Context, n int, input string, limits constitution.Limits, draft Draft) (spoken, error) {
	t, err := th.readTold(ctx)
	if err != nil {
		return spoken{}, err
	}
	if t.Turn == th.turn.ID && t.Part == n && t.Reply != nil {
		return *t.Reply, nil // a crash came between the record and the journal
	}
	process, err := th.spec(t)
	if err != nil {
		return spoken{}, err
	}
	agent, err := th.m.o.Agents.Take(ctx, process)
	if err != nil {
		return spoken{}, err
	}
	defer agent.Release()
	if agent.Session() != t.Agent {
		t = told{Certain: true} // a new session, or a lost one: it knows nothing
	} else if agent.Compacted() {
		t.Sent, t.Certain = sent.State{}, true
	}
	c := &consultation{thought: th, agent: agent, limits: limits, draft: draft, n: n, input: input}
	done, err := c.ask(ctx, t)
	if errors.Is(err, cliagent.ErrLost) {
		th.m.o.Log.Warn("an agent has lost its session and is told everything again", "turn", th.turn.ID, "chat", th.turn.Place.Chat)
		done, err = c.ask(ctx, told{Certain: true})
	}
	if err != nil {
		return spoken{}, err
	}
	got := spoken{Text: done.Text, Cost: c.account(ctx, done), Made: th.made[th.mine:], About: th.last.about}
	after := told{Agent: agent.Session(), Turn: th.turn.ID, Part: n, Certain: true, Sent: c.after, Reply: &got}
	if done.Compacted {
		after.Sent = sent.State{}
	}
	err = th.writeTold(context.WithoutCancel(ctx), after)
	engine.KillPoint("agent.answered")
	return got, err
}

// spec says which process the turn needs. There is none while nobody knows what the
// place is held to: it would find the files of any key.
func (th *thought) spec(t told) (cliagent.Spec, error) {
	dir, ok := th.m.o.Folder(th.turn.Place, th.pin())
	if !ok {
		return cliagent.Spec{}, &attache.Error{Kind: attache.KindOutside, Say: "what this chat is bound to cannot be read now, and so not which files are its own; try again later"}
	}
	e := th.role.Engine
	s := cliagent.Spec{
		Key: th.talk.Session.ID, Place: th.turn.Place.String(), Command: e.Command, Dir: dir, Idle: e.Idle,
		System: th.talk.Epoch.Text + "\n\n" + string(th.talk.Session.Snapshot), Session: t.Agent,
	}
	if t.Turn != 0 {
		s.Last = partID(t.Turn, t.Part)
	}
	if th.alone() {
		s.Place = "" // the place's own goes on beside it
	}
	return s, nil
}

// partID names a part of a turn to an agent: the turn's number, and from the second
// part on which it is.
func partID(turn int64, part int) string {
	id := strconv.FormatInt(turn, 10)
	if part > 1 {
		id += "." + strconv.Itoa(part)
	}
	return id
}

// consultation is one part of a turn while an agent has it.
type consultation struct {
	*thought
	agent  *cliagent.Agent
	limits constitution.Limits
	draft  Draft
	n      int
	input  string
	after  sent.State     // what the agent has when the turn ends well
	calls  map[string]int // how often a tool was called with the same arguments
	count  int            // of calls in all
	begun  time.Time
}

// ask tells the agent what is new and waits for its answer.
func (c *consultation) ask(ctx context.Context, t told) (cliagent.Done, error) {
	th := c.thought
	c.calls, c.count, c.begun, th.made = map[string]int{}, 0, th.m.o.Now(), th.made[:th.mine:th.mine]
	ops, after := sent.Next(t.Sent, th.talk.Tail, !t.Certain)
	c.after = after
	before := told{Agent: c.agent.Session(), Turn: th.turn.ID, Part: c.n, Sent: t.Sent.With(th.talk.Tail)}
	if err := th.writeTold(ctx, before); err != nil {
		return cliagent.Done{}, err
	}
	engine.KillPoint("agent.asked")
	snapshot := string(th.talk.Snapshot)
	if c.n == 1 {
		missed, err := th.missed(ctx, t)
		if err != nil {
			return cliagent.Done{}, err
		}
		snapshot = missed + snapshot
	}
	list, err := c.tools()
	if err != nil {
		return cliagent.Done{}, err
	}
	var shown strings.Builder
	return c.agent.Turn(ctx, cliagent.Turn{
		ID: partID(th.turn.ID, c.n), Context: ops, Snapshot: snapshot, Input: c.input, Tools: list,
	}, cliagent.Host{
		Delta: func(text string) {
			shown.WriteString(text)
			c.draft.Show(shown.String())
		},
		Call: func(call cliagent.Call) (string, error) {
			shown.Reset() // what was said before a call is no part of the answer
			return c.call(ctx, call)
		},
		Whole: func() (ops []sent.Op) {
			ops, c.after = sent.Next(sent.State{}, th.talk.Tail, true)
			return ops
		},
	})
}

// tools lists what the agent may call: the epoch's, whatever the brain has now.
func (c *consultation) tools() ([]cliagent.Tool, error) {
	list := []cliagent.Tool{}
	if len(c.talk.Epoch.Tools) == 0 {
		return list, nil
	}
	return list, json.Unmarshal(c.talk.Epoch.Tools, &list)
}

// call carries a tool out for the agent. Its record is named by what is called and
// how often that was called before: an agent that does a turn again after a crash
// gives other names to the same calls.
func (c *consultation) call(ctx context.Context, call cliagent.Call) (string, error) {
	if c.count++; c.count > c.limits.Calls {
		return "", &attache.Error{Kind: attache.KindRefused, Say: "it took more steps than this brain allows for one answer",
			Cause: fmt.Errorf("the agent called %d tools; limits.calls is %d", c.count, c.limits.Calls)}
	}
	what := sha256.Sum256([]byte(call.Name + "\x00" + call.Arguments))
	id := fmt.Sprintf("%d.%s", c.n, hex.EncodeToString(what[:4]))
	c.calls[id]++
	result, err := c.thought.call(ctx, fmt.Sprintf("%s.%d", id, c.calls[id]), model.ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	if err == nil && call.Name == openName && strings.HasPrefix(result, "<feature-context") {
		c.after = c.after.With([]byte(result)) // it has that now: a later turn tells only what changes
	}
	return result, err
}

// account records what the part took, and gives what it cost.
func (c *consultation) account(ctx context.Context, done cliagent.Done) (cost float64) {
	a := model.Attempt{Profile: "cli", Model: filepath.Base(c.role.Engine.Command[0]), Try: 1, Status: 200, Took: c.m.o.Now().Sub(c.begun), Request: done.Bytes}
	if u := done.Usage; u != nil {
		a.Usage = model.Usage{Reported: true, In: u.In, Cached: u.CacheRead, CacheWrite: u.CacheWrite, Out: u.Out, Reasoning: u.Reasoning}
		if u.Model != "" {
			a.Model = u.Model
		}
		if u.Cost != nil {
			a.Cost, a.CostKnown = *u.Cost, true
		}
	}
	c.thought.account(ctx, c.n, a)
	if c.limits.Cost > 0 && a.Cost > c.limits.Cost {
		c.m.o.Log.Warn("a turn of an agent cost more than limits.cost: what it costs is known when it has answered", "turn", c.turn.ID,
			"why", fmt.Sprintf("it cost %.4f; limits.cost is %.4f", a.Cost, c.limits.Cost))
	}
	return a.Cost
}
