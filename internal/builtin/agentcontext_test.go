package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"attache"
	"attache/gateway/carried"
	"attache/internal/tools"
)

// uses is a window with one of everything.
func uses() carried.Window {
	return carried.Window{
		Roles: []carried.RoleUse{{Role: "account", Turns: 4, Contexts: []carried.ContextUse{
			{Context: "client", Attached: 3, Share: .75, Stubbed: 1, MeanChars: 812, Links: map[attache.Link]int{"chat": 2, "reply": 1}}}}},
		Findings: []carried.Stubbed{{Finding: "context-stubbed", Context: "client", Knob: "contexts.maxActive", Times: 1}},
	}
}

// row G8
func TestAgentContext(t *testing.T) {
	here := attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
	const data = `"findings":[{"finding":"context-stubbed","context":"client","knob":"contexts.maxActive","times":1}],"ok":true,` +
		`"roles":[{"role":"account","turns":4,"contexts":[{"context":"client","attached":3,"share":0.75,"stubbed":1,"meanChars":812,"links":{"chat":2,"reply":1}}]}]`
	for name, c := range map[string]struct {
		args   string
		place  attache.Place
		pinned bool
		unread error
		away   error
		want   string
		window string
		at     attache.Place
		role   attache.RoleID
	}{
		"everything":         {args: `{}`, place: here, want: `{` + data + `,"window":"7d"}`, window: "7d"},
		"a day, one role":    {args: `{"window":"24h","role":"account"}`, place: here, want: `{` + data + `,"window":"24h"}`, window: "24h", role: "account"},
		"a pinned place":     {args: `{}`, place: here, pinned: true, want: `{"chat":"tg:chat:-1001",` + data + `,"window":"7d"}`, window: "7d", at: here},
		"a run without one":  {args: `{}`, pinned: true, want: `{` + data + `,"window":"7d"}`, window: "7d"},
		"a pin out of reach": {args: `{}`, place: here, unread: errors.New("away"), want: `{"error":"what this place is bound to cannot be read now, so nothing is told of what turns carried; try again later","ok":false}`},
		"records away":       {args: `{}`, place: here, away: errors.New("away"), window: "7d", want: `{"error":"the records cannot be read now; try again later","ok":false}`},
		"no such window":     {args: `{"window":"1y"}`, place: here, want: `{"error":"\"1y\" is no window; give one of 24h, 7d, 30d","ok":false}`},
	} {
		var window string
		var at attache.Place
		var role attache.RoleID
		r, err := tools.New(LedgerTools(Ledger{Windows: []string{"24h", "7d", "30d"}, Default: "7d",
			Uses: func(_ context.Context, w string, p attache.Place, r attache.RoleID) (carried.Window, error) {
				window, at, role = w, p, r
				return uses(), c.away
			},
			Pinned: func(context.Context, attache.Place) (bool, error) { return c.pinned, c.unread },
		}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(t.Context(), attache.Call{ID: "1", Tool: "agent_context", Args: json.RawMessage(c.args), Place: c.place}, tools.Grant{Capabilities: []string{"context:read"}})
		if err != nil || got.Text != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got.Text, err, c.want)
		}
		if window != c.window || at != c.at || role != c.role {
			t.Errorf("%s: it asks for %q at %v of %q", name, window, at, role)
		}
	}
}
