package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"attache"
)

// row H11 (the same as a tool)
func TestDoctorCheck(t *testing.T) {
	here := attache.Place{Bot: "nova", Chat: -1}
	var asked attache.Place
	found := Examination{Findings: []any{map[string]string{"what": "one"}}, OK: true, ThisChat: true}
	tool := DoctorCheck(func(_ context.Context, c attache.Call) Examination {
		at := c.Place
		asked = at
		return found
	})
	if tool.Capability != "doctor:read" || tool.Risk != attache.RiskSafe || tool.Effects {
		t.Errorf("%+v", tool)
	}
	call := func() string {
		return tool.Run(t.Context(), attache.Call{Place: here, Args: json.RawMessage(`{}`)}).Text
	}
	if got, want := call(), `{"about":"this chat only, because it is bound to one entity","findings":[{"what":"one"}],"healthy":true,"ok":true}`; got != want || asked != here {
		t.Errorf("got %s\nwant %s, asked for %v", got, want, asked)
	}
	found = Examination{OK: true}
	if got, want := call(), `{"findings":[],"healthy":true,"ok":true}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	found = Examination{Findings: make([]any, mostFindings+3)}
	if got := call(); !strings.Contains(got, `"more":3`) || strings.Count(got, "null") != mostFindings || !strings.Contains(got, `"healthy":false`) {
		t.Errorf("got %s", got)
	}
}
