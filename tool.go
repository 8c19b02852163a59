package attache

import (
	"context"
	"encoding/json"
)

// Risk says how a tool is let run: safe runs, moderate runs and is recorded,
// dangerous waits for an approval (interface § 4).
type Risk string

// The risks.
const (
	RiskSafe      Risk = "safe"
	RiskModerate  Risk = "moderate"
	RiskDangerous Risk = "dangerous"
)

// Tool is something that an agent can call.
type Tool struct {
	Name        string
	Description string          // what the model reads
	Schema      json.RawMessage // JSON schema of the arguments: an object, keys in a fixed order
	Capability  string          // what a role must have to see and call it
	Risk        Risk

	// Effects says that a call acts outside of the turn. If a crash hides whether
	// such a call was carried out, its result is "unknown" and it is not repeated;
	// a tool without effects is simply called again.
	Effects bool

	// Keyed says that the tool itself carries a call out at most once for its turn
	// and id, so that after a crash it is called again and tells what became of it.
	Keyed bool

	// Run carries out one call whose arguments fit the schema.
	Run func(ctx context.Context, c Call) Result
}

// Call is one call of a tool: what is asked, and on whose behalf.
type Call struct {
	ID     string // unique within the turn
	Tool   string
	Args   json.RawMessage
	Turn   int64
	Place  Place // where the turn answers
	Role   RoleID
	Person PersonID // who wrote the newest message of the input; empty in a run
	Run    *Run     // that the turn is; nil for a turn that is none
	Pin    Pin      // what held the place when the turn began: a tool may change what holds it now, not what the turn knows
}

// Result is what a tool answers: one JSON object as text, {"ok":true,…} or
// {"ok":false,"error":"…"} (interface § 4).
type Result struct{ Text string }

// OK makes a result of fields, which must marshal to a JSON object; nil means
// {"ok":true} alone.
func OK(fields map[string]any) Result {
	out := map[string]any{"ok": true}
	for k, v := range fields {
		out[k] = v
	}
	return object(out)
}

// Refused makes a result that says no, in one sentence: what, why, what to do.
func Refused(sentence string) Result {
	return object(map[string]any{"ok": false, "error": sentence})
}

// object marshals with sorted keys, so equal results are equal bytes.
func object(fields map[string]any) Result {
	b, err := json.Marshal(fields)
	if err != nil {
		return Result{`{"error":"the tool's result does not marshal; please report it","ok":false}`}
	}
	return Result{string(b)}
}
