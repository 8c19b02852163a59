package mind

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"attache"
	"attache/internal/tools"
)

//go:embed open.txt
var openWords string

// openName is the tool behind `ask` (text 1 § 4).
const openName = "context_open"

type openArgs struct {
	Name   string `json:"name" jsonschema:"the context's name, as the catalog or a stub gives it"`
	Entity string `json:"entity,omitempty" jsonschema:"the one thing it is about, for a context that is about one; left out: the one that this chat is bound to"`
}

// ownTools are the tools that need the turn they are called in.
func (m *Mind) ownTools() tools.Owned {
	open := tools.Make(attache.Tool{
		Name: openName, Description: strings.TrimSpace(openWords), Capability: "context:read", Risk: attache.RiskSafe,
	}, m.open)
	return tools.Owned{Owner: "contexts", Tools: []attache.Tool{open}}
}

// open answers at once with what the tail would carry (decisions § 3.16): the files
// of the turn's beginning, the rows of this moment.
func (m *Mind) open(ctx context.Context, c attache.Call, args openArgs) attache.Result {
	m.mu.Lock()
	th := m.thinking[c.Turn]
	m.mu.Unlock()
	if th == nil {
		return attache.Refused("context_open works only while a turn is being answered")
	}
	choice, refusal := th.brain.Contexts.Open(th.asked, args.Name, args.Entity)
	if refusal != "" {
		return attache.Refused(refusal)
	}
	return attache.Result{Text: string(choice.Render(th.given(ctx, choice)).Bytes)}
}

// opened notes the hold that a successful open leaves. It is worked out from the
// call alone, so that a call which is answered from the record leaves it too.
func (th *thought) opened(tool string, args json.RawMessage, result string) {
	var a openArgs
	if tool != openName || !strings.HasPrefix(result, "<feature-context") || json.Unmarshal(args, &a) != nil {
		return
	}
	if choice, refusal := th.brain.Contexts.Open(th.asked, a.Name, a.Entity); refusal == "" {
		th.made = append(th.made, choice.Holds()...)
	}
}
