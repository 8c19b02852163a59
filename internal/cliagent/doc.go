// Package cliagent runs agents that keep their own state as child processes and
// speaks JSON lines with them (interface § 4, CLI agent protocol).
//
// The data is a [Pool] of processes, each under the conversation's session that it
// answers for: one process a session, many turns a process. A process that nobody
// needs for a while is asked to end, and the next turn starts another one with the
// agent's own name of the session, so that the agent goes on where it was. What the
// agent was told so far is not known here: package sent decides it, and the caller
// stores it.
//
// An agent is a program of somebody else. What it writes is taken for words and
// never for orders: its lines and their number are bounded, one that is no message or
// belongs to no turn is logged and passed over, and at the end of a turn that did not end
// well the process and everything it has started are ended.
package cliagent

import (
	"encoding/json"

	"attache/internal/cliagent/sent"
)

// Turn is what an agent is told of one turn.
type Turn struct {
	ID       string    `json:"id"`
	Context  []sent.Op `json:"context"`
	Snapshot string    `json:"snapshot"`
	Input    string    `json:"input"`
	Tools    []Tool    `json:"tools"`
}

// Tool is a function that the agent may call during the turn.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON schema of the arguments
}

// Call is the agent asking for a tool.
type Call struct {
	ID        string // the agent's own; its result names it again
	Name      string
	Arguments string // one JSON value, or whatever else the agent wrote
}

// Host is what the caller does for an agent while a turn runs. All of it is called on
// the goroutine of the turn.
type Host struct {
	Delta func(text string) // words of the answer as they come: for drafts only
	// Call carries a tool out. An error ends the turn and the process.
	Call func(c Call) (result string, err error)
	// Whole gives everything that the turn carries: the agent has compacted its memory
	// and gets it before the next result of a tool.
	Whole func() []sent.Op
}

// Usage is what an agent says that a turn took. In holds CacheRead and CacheWrite.
type Usage struct {
	Model      string   `json:"model"`
	In         int      `json:"in"`
	CacheRead  int      `json:"cacheRead"`
	CacheWrite int      `json:"cacheWrite"`
	Out        int      `json:"out"`
	Reasoning  int      `json:"reasoning"`
	Cost       *float64 `json:"cost"` // nil: it does not say
}

// Done is the end of a turn.
type Done struct {
	Text      string
	Usage     *Usage // nil: the agent says nothing of it
	Compacted bool   // its memory was compacted after it was last told everything
	Bytes     []byte // the line that the turn was asked with
}

// out is a line to an agent: start, turn, tool_result or stop.
type out struct {
	Type string `json:"type"`

	// A tool_result. Context stands first: after a compaction the whole set is there
	// before the result is.
	Context []sent.Op `json:"context,omitempty"`
	ID      string    `json:"id,omitempty"`
	Content *string   `json:"content,omitempty"`
}

type startLine struct {
	Type    string  `json:"type"`
	Session *string `json:"session"` // null: a new one
	System  string  `json:"system"`
}

type turnLine struct {
	Type string `json:"type"`
	Turn
}

// in is a line of an agent.
type in struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Turn      string          `json:"turn"` // the turn that it belongs to; "": the one that runs
	Text      string          `json:"text"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Message   string          `json:"message"`
	Usage     *Usage          `json:"usage"`
}

// ofTurn reports whether the line is part of a turn; the others are about the session.
func (l in) ofTurn() bool { return l.Type != "session" && l.Type != "compacted" }

// foreign reports whether the line belongs to another turn than the one with this id.
func (l in) foreign(turn string) bool { return l.Turn != "" && l.Turn != turn }

// arguments gives what a tool is called with; some agents write the JSON as a text.
func (l in) arguments() string {
	var text string
	if json.Unmarshal(l.Arguments, &text) == nil && len(l.Arguments) > 0 && l.Arguments[0] == '"' {
		return text
	}
	if len(l.Arguments) == 0 || string(l.Arguments) == "null" {
		return "{}"
	}
	return string(l.Arguments)
}
