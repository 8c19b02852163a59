package model

import (
	"encoding/json"
	"time"
)

// Request is one call of a model in our own words. It holds no reference to a
// provider, so it can be journaled and sent to each fallback alike.
type Request struct {
	Messages []Message
	Tools    []Tool // in any order: Encode sorts them by name (decisions § 4.1)
	CacheKey string // prompt_cache_key: a hash of bot, role and epoch (decisions § 4)
}

// Role says whose words a message is.
type Role string

// The roles. RoleDeveloper is the static prompt, message 1: servers without that
// role get it as system. RoleSystem is every other message of the engine itself,
// such as a snapshot or the tail (decisions § 4, "Roles").
const (
	RoleDeveloper Role = "developer"
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a request.
type Message struct {
	Role       Role       `json:"role"`
	Text       string     `json:"text,omitempty"`
	Parts      []Part     `json:"parts,omitempty"`      // after Text, for user messages
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`  // what an assistant message asks for
	ToolCallID string     `json:"toolCallId,omitempty"` // the call that a tool message answers
	Name       string     `json:"name,omitempty"`       // letters, digits, _ and - only, or the server refuses it
}

// Part is a piece of a message that is more than text.
type Part struct {
	Kind PartKind `json:"kind"`
	Text string   `json:"text,omitempty"` // PartText
	URL  string   `json:"url,omitempty"`  // PartImage, PartFile: a data URL
	Name string   `json:"name,omitempty"` // PartFile: the file's name
}

// PartKind says what a Part is.
type PartKind string

// The kinds of a Part.
const (
	PartText  PartKind = "text"
	PartImage PartKind = "image"
	PartFile  PartKind = "file"
)

// Tool is a function the model may ask for.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments; its key order is kept, so give it a fixed one
}

// ToolCall is the model asking for a tool.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`      // may be a tool that does not exist
	Arguments string `json:"arguments"` // as the model wrote them; may be no JSON at all
}

// Usage counts the tokens of one call. In holds Cached and CacheWrite, and Out
// holds Reasoning, as OpenAI counts them.
type Usage struct {
	Reported   bool `json:"reported"` // false: the server said nothing, the numbers mean nothing
	In         int  `json:"in"`
	Cached     int  `json:"cached"`
	CacheWrite int  `json:"cacheWrite"`
	Out        int  `json:"out"`
	Reasoning  int  `json:"reasoning"`
}

// Result is a whole answer. An answer that broke off is never a Result.
type Result struct {
	Text         string
	ToolCalls    []ToolCall
	Finish       string // stop, tool_calls, length, content_filter or the server's own word
	Usage        Usage
	Cost         float64 // only if CostKnown
	CostKnown    bool
	Profile      string // which profile answered
	Model        string
	RequestBytes []byte // the exact body that got this answer
}

// EventKind says what an Event tells.
type EventKind string

// The kinds of an Event. EventReset takes back all text told so far: the stream
// broke, and another try begins.
const (
	EventText  EventKind = "text"
	EventReset EventKind = "reset"
	EventCall  EventKind = "call"
	EventUsage EventKind = "usage"
	EventDone  EventKind = "done"
)

// Event is told while an answer arrives, for drafts and pages. Only the Result
// counts: text told here may still be taken back by an EventReset.
type Event struct {
	Kind  EventKind
	Text  string   // EventText: what is new
	Call  ToolCall // EventCall: whole, after the last piece arrived
	Usage Usage    // EventUsage
}

// Attempt is one HTTP exchange with a model, successful or not: a row of
// attache.model_calls.
type Attempt struct {
	Profile   string
	Model     string
	Try       int // from 1, counted for each profile anew
	Status    int // HTTP status; 0 when none arrived
	Took      time.Duration
	Usage     Usage
	Cost      float64 // only if CostKnown; what a failed try cost is unknown
	CostKnown bool
	Why       string // why it failed, one clause without secrets; "" when it did not
	Request   []byte // the exact body; nil for a transcription
}
