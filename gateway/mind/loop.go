package mind

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"attache"
	"attache/constitution"
	"attache/gateway/journal"
	"attache/internal/engine"
	"attache/internal/model"
	"attache/internal/prompt"
)

// mostCalls is how many calls of one reply are carried out: limits.calls counts
// requests, and one reply can hold any number of calls.
const mostCalls = 32

// tooMany is what a model gets for each call of a reply that is not carried out any
// more. Every call needs a result, or the next request is none that a model takes.
func tooMany(n int) string {
	return attache.Refused(fmt.Sprintf("this reply asked for %d calls and at most %d are carried out; ask for the rest in the next", n, mostCalls)).Text
}

// loop asks the model, runs the tools it calls, and asks again, until it answers
// in words or a limit ends it.
func (th *thought) loop(ctx context.Context, limits constitution.Limits) (string, error) {
	request, err := th.request(ctx)
	if err != nil {
		return "", err
	}
	draft := th.draft()
	defer draft.End()
	for n := 1; n <= limits.Calls; n++ {
		if limits.Cost > 0 && th.spent >= limits.Cost {
			return "", &attache.Error{Kind: attache.KindRefused, Say: "it would cost more than this brain allows for one answer",
				Cause: fmt.Errorf("%.4f were spent; limits.cost is %.4f", th.spent, limits.Cost)}
		}
		reply, err := th.ask(ctx, n, request, draft)
		if err != nil {
			return "", err
		}
		made := journal.Round{Text: reply.Text, Calls: reply.ToolCalls}
		if len(reply.ToolCalls) == 0 {
			text := strings.TrimSpace(reply.Text)
			refusal, again := th.refuses(text)
			if !again && refusal != "" {
				text = ""
			}
			if !again {
				return text, nil
			}
			made.Refusal = refusal
		}
		for i, call := range reply.ToolCalls {
			if i >= mostCalls {
				made.Results = append(made.Results, tooMany(len(reply.ToolCalls)))
				continue
			}
			result, err := th.call(ctx, fmt.Sprintf("%d.%d", n, i), call)
			if err != nil {
				return "", err
			}
			made.Results = append(made.Results, result)
		}
		if err := journal.Add(ctx, th.m.o.DB, th.turn.ID, n, made); err != nil {
			return "", err
		}
		request.Messages = append(request.Messages, made.Messages()...)
	}
	return "", &attache.Error{Kind: attache.KindRefused, Say: "it took more steps than this brain allows for one answer",
		Cause: fmt.Errorf("the model was asked %d times; limits.calls is %d", limits.Calls, limits.Calls)}
}

// request assembles the first request of the turn (decisions § 4).
func (th *thought) request(ctx context.Context) (model.Request, error) {
	past, err := th.m.o.Talks.History(ctx, th.talk.Session.ID, th.turn.ID)
	if err != nil {
		return model.Request{}, err
	}
	parts := journal.Prompt(th.talk, past)
	parts.Budget = th.brain.Frame.Manifest.Sessions.HistoryTokens
	assembled, cut := prompt.Assemble(parts)
	if cut > 0 {
		th.m.o.Log.Info("the oldest turns of a conversation are left out", "turn", th.turn.ID, "chat", th.turn.Place.Chat,
			"why", fmt.Sprintf("%d entries; sessions.historyTokens is %d", cut, parts.Budget))
		since := past[cut-1].Turn + 1
		if cut < len(past) {
			since = past[cut].Turn
		}
		if err := th.m.o.Talks.Trim(ctx, th.talk.Session.ID, since); err != nil {
			return model.Request{}, err
		}
	}
	f := journal.Frame{Kept: len(past) - cut, CacheKey: prompt.CacheKey(th.turn.Place.Bot, th.role.ID, parts.Epoch), Models: journal.Models(th.profile)}
	r, err := journal.First(th.talk, assembled, f.CacheKey)
	if err != nil {
		return r, err
	}
	if files := th.attached(ctx); len(files) > 0 {
		// A message of its own behind the input: the next turn replays the input's
		// bytes without it, and shares the prefix up to the input's end.
		r.Messages = append(r.Messages, model.Message{Role: model.RoleUser, Text: "[the files of the input above]", Parts: files})
		f.Files = len(files)
	}
	return r, journal.Begin(ctx, th.m.o.DB, th.turn.ID, f)
}

// reply is what the journal keeps of one answer of the model.
type reply struct {
	Text      string
	ToolCalls []model.ToolCall
	Cost      float64
	Say       string // the sentence of a failure that no repetition cures
	Cause     string
}

// ask makes one call of the model, journaled: after a crash its answer is read and
// not paid for again.
func (th *thought) ask(ctx context.Context, n int, r model.Request, draft Draft) (reply, error) {
	got, err := engine.Step(th.run, fmt.Sprintf("model %d", n), func(context.Context) (reply, error) {
		var shown strings.Builder
		result, err := th.client.Complete(ctx, r, func(e model.Event) {
			switch e.Kind {
			case model.EventText:
				shown.WriteString(e.Text)
				draft.Show(shown.String())
			case model.EventReset:
				shown.Reset()
			}
		}, func(a model.Attempt) { th.account(ctx, n, a) })
		if err != nil {
			if ctx.Err() != nil {
				return reply{}, err
			}
			return failure(err), nil
		}
		return reply{Text: result.Text, ToolCalls: result.ToolCalls, Cost: result.Cost}, nil
	})
	if err != nil {
		return reply{}, err
	}
	if got.Say != "" {
		return reply{}, &attache.Error{Kind: attache.KindOutside, Say: got.Say, Cause: errors.New(got.Cause)}
	}
	th.spent += got.Cost
	return got, nil
}

// failure keeps an error that no repetition cures: the sentence for the chat, and
// for the log what lies behind it.
func failure(err error) reply {
	r := reply{Say: attache.Sentence(err), Cause: err.Error()}
	var e *attache.Error
	if errors.As(err, &e) && e.Cause != nil {
		r.Cause = e.Cause.Error()
	}
	return r
}

// account records what one exchange took and cost. A record that cannot be written
// is told of and does not fail the turn.
func (th *thought) account(ctx context.Context, n int, a model.Attempt) {
	o := th.m.o
	if a.Why != "" && ctx.Err() == nil { // a person's /stop is no fault of a model
		o.Log.Warn("a model did not answer", "turn", th.turn.ID, "why", a.Profile+": "+a.Why, "ms", a.Took.Milliseconds())
	}
	if o.Usage == nil {
		return
	}
	x := Exchange{Turn: th.turn.ID, N: n, Place: th.turn.Place, Role: th.role.ID, At: o.Now(), Attempt: a}
	if err := o.Usage(context.WithoutCancel(ctx), x); err != nil {
		o.Log.Warn("the record of a model call could not be written", "turn", th.turn.ID, "err", err)
	}
}

// draft begins the draft of a private answer; elsewhere one that shows nothing.
func (th *thought) draft() Draft {
	if th.m.o.Draft == nil || !th.turn.Place.Chat.Private() || th.turn.Task != nil {
		return none{}
	}
	return th.m.o.Draft(th.turn.Place, th.turn.ID, th.ruling.Format)
}

// none is the draft of a place that has none.
type none struct{}

func (none) Show(string) {}
func (none) End()        {}
