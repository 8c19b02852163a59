package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/gateway/carried"
	"attache/internal/tools"
)

//go:embed words/agent_context.md
var agentContextWords string

// Ledger is where agent_context reads; all of it is needed.
type Ledger struct {
	// Uses tells what contexts did over a window, one of Windows; of one role unless it
	// is "", and of one chat unless the place is zero.
	Uses    func(ctx context.Context, window string, at attache.Place, role attache.RoleID) (carried.Window, error)
	Windows []string // the words for a window, the shortest first
	Default string   // the one that is taken when none is named

	// Pinned reports whether a place is held to keys: what is told there is of its chat
	// alone (decisions § 3.15). An error tells nothing.
	Pinned func(ctx context.Context, at attache.Place) (bool, error)
}

// LedgerTools gives the tools that read the ledger.
func LedgerTools(l Ledger) tools.Owned {
	return tools.Owned{Owner: "internal/builtin", Tools: []attache.Tool{tools.Make(attache.Tool{
		Name: "agent_context", Description: words(agentContextWords), Capability: "context:read", Risk: attache.RiskSafe,
	}, l.tell)}}
}

// agentContextArgs are the arguments of agent_context (interface § 4).
type agentContextArgs struct {
	Window string         `json:"window,omitempty" jsonschema:"24h, 7d or 30d; left out: 7d"`
	Role   attache.RoleID `json:"role,omitempty" jsonschema:"only the turns of this role; left out: of every role"`
}

// tell answers with the numbers of the page System → Context (text 1 § 5.1).
func (l Ledger) tell(ctx context.Context, c attache.Call, args agentContextArgs) attache.Result {
	if args.Window == "" {
		args.Window = l.Default
	}
	if !slices.Contains(l.Windows, args.Window) {
		return attache.Refused(fmt.Sprintf("%q is no window; give one of %s", args.Window, strings.Join(l.Windows, ", ")))
	}
	var at attache.Place
	if c.Place.Chat != 0 {
		pinned, err := l.Pinned(ctx, c.Place)
		if err != nil {
			return attache.Refused("what this place is bound to cannot be read now, so nothing is told of what turns carried; try again later")
		}
		if pinned || len(c.Pin.Bound) > 0 || c.Pin.Unread {
			at = c.Place
		}
	}
	w, err := l.Uses(ctx, args.Window, at, args.Role)
	if err != nil {
		return attache.Refused("the records cannot be read now; try again later")
	}
	said := map[string]any{"window": args.Window, "roles": w.Roles, "findings": w.Findings}
	if at.Chat != 0 {
		said["chat"] = at.Chat.String()
	}
	return attache.OK(said)
}
