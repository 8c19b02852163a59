package builtin

import (
	"context"
	_ "embed"
	"errors"

	"attache"
	"attache/access"
	"attache/internal/tools"
)

var (
	//go:embed words/context_bind.md
	bindWords string

	//go:embed words/context_unbind.md
	unbindWords string
)

// spotArgs say where a binding holds (interface § 4).
type spotArgs struct {
	Chat   tools.Chat    `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: the chat that this turn is in"`
	Thread *tools.Thread `json:"thread,omitempty" jsonschema:"the number of one topic of the chat, 0 for General; left out: the whole chat with all of its topics"`
	Bot    string        `json:"bot,omitempty" jsonschema:"the id of the one bot that it is for; left out: every bot"`
}

type bindArgs struct {
	Context string  `json:"context" jsonschema:"the id of the context"`
	Entity  *string `json:"entity,omitempty" jsonschema:"the key of the one entity that the chat is about; left out only for a context that is about none"`
	spotArgs
}

type unbindArgs struct {
	Context string `json:"context" jsonschema:"the id of the context"`
	spotArgs
}

// bind is the tool context_bind. Doing it twice is doing it once, so after a crash
// it is called again.
func (r Rooms) bind() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "context_bind", Description: words(bindWords),
		Capability: "context:bind", Risk: attache.RiskModerate, Effects: true, Keyed: true,
	}, func(ctx context.Context, c attache.Call, args bindArgs) attache.Result {
		const nothing = "nothing was bound: "
		ask, ties, why := r.ask(ctx, c, args.Context, args.spotArgs)
		if why != "" {
			return attache.Refused(nothing + why)
		}
		ask.Entity = args.Entity
		tie, why := r.Rules().Bind(ask, ties)
		if why != "" {
			return attache.Refused(nothing + why)
		}
		tie.Role, tie.Turn = c.Role, c.Turn
		before, replaced, err := r.Bind(ctx, tie)
		if err != nil {
			return tools.Unknown("the database did not answer, so it is not known whether it was bound; look with access_explain, or bind it again in a later turn")
		}
		fields := boundAs(tie)
		fields["holds"] = "from the next turn on"
		if replaced && before.Key != tie.Key {
			fields["replaced"] = before.Key
		}
		if notes := r.notes(tie); len(notes) > 0 {
			fields["notes"] = notes
		}
		return attache.OK(fields)
	})
}

// unbind is the tool context_unbind. Called again after a crash it would tell that
// nothing is there, so its fate is told as unknown instead.
func (r Rooms) unbind() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "context_unbind", Description: words(unbindWords),
		Capability: "context:bind", Risk: attache.RiskModerate, Effects: true,
	}, func(ctx context.Context, c attache.Call, args unbindArgs) attache.Result {
		const nothing = "nothing was unbound: "
		ask, ties, why := r.ask(ctx, c, args.Context, args.spotArgs)
		if why == "" {
			why = r.Rules().Unbind(ask, ties)
		}
		if why != "" {
			return attache.Refused(nothing + why)
		}
		gone, err := r.Unbind(ctx, ask.Context, ask.Spot)
		var known *attache.Error
		switch {
		case errors.As(err, &known) && known.Kind == attache.KindNotFound:
			return attache.Refused(nothing + known.Say)
		case err != nil:
			return tools.Unknown("the database did not answer, so it is not known whether it was unbound; look with access_explain in a later turn")
		}
		fields := boundAs(gone)
		fields["holds"] = "from the next turn on"
		return attache.OK(fields)
	})
}

// ask fills in the defaults of a call and reads what is bound in its chat and in the
// turn's own.
func (r Rooms) ask(ctx context.Context, c attache.Call, id string, at spotArgs) (access.Ask, []access.Tie, string) {
	chat, why := r.chat(ctx, &c, at.Chat)
	if why != "" {
		return access.Ask{}, nil, why
	}
	ask := access.Ask{Context: attache.ContextID(id), From: c.Place, Pin: c.Pin, Spot: access.Spot{Chat: chat, Whole: at.Thread == nil, Bot: attache.BotID(at.Bot)}}
	if at.Thread != nil {
		ask.Thread = attache.ThreadID(*at.Thread)
	}
	ties, err := r.Ties(ctx, chat, c.Place.Chat)
	if err != nil {
		return access.Ask{}, nil, unread
	}
	return ask, ties, ""
}

// boundAs is how a tie is told to a model; what holds for all is null.
func boundAs(t access.Tie) map[string]any {
	out := map[string]any{"context": t.Context, "entity": t.Key, "chat": t.Chat.String(), "thread": nil, "bot": nil}
	if !t.Whole {
		out["thread"] = thread(t.Thread)
	}
	if t.Bot != "" {
		out["bot"] = t.Bot
	}
	return out
}
