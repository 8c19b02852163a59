package web

import (
	"time"

	"attache"
)

// Turn is what a page shows of one turn. Its statuses are those of `attache turns`
// (interface § 1), "waiting" before it begins, and "ignored" or "observed" for a
// message that is not for the bot and so begins no turn; such a one has no ID.
type Turn struct {
	ID      int64
	Status  string
	Why     string        // of the status, in a sentence; may be empty
	At      time.Time     // when it began; zero: unknown
	Took    time.Duration // 0 while it runs
	Role    attache.RoleID
	Engaged string // why the bot took the message for its own
	Epoch   string // of the static prompt
	Session int64  // that it belongs to; 0: it never began

	Links  []Link // every link that was made, refused or cut, strongest first
	Prompt []Message
	Calls  []Call
	Tools  []Tool
	Posts  []Post
}

// Over reports whether nothing of the turn will change any more.
func (t Turn) Over() bool { return t.Status != "running" && t.Status != "waiting" }

// LeftOut counts the links that were cut or refused.
func (t Turn) LeftOut() int { return len(split(t.Links, false)) }

// Link is one context that a turn carried, stubbed or refused (decisions § 2).
type Link struct {
	Context string
	Entity  string // the key; empty without one
	Link    string // chat, reply, run, ask, code or always
	Status  string // attached, stub or refused
	Chars   int
	Why     string // of a stub or a refusal
	Knob    string // what to change to have it attached
}

// Message is one message of the prompt, exactly as the model was sent it.
type Message struct {
	Role string // system, user, assistant or tool
	What string // which part of the prompt it is, in a word or two
	Text string
}

// Call is one call of a model. Without Reported the server told no tokens; a nil
// Cost is unknown, not nothing.
type Call struct {
	Model    string
	Status   string // "ok", or what went wrong in a word
	Why      string
	In       int64 // tokens
	Cached   int64 // of In, read from the server's cache
	Out      int64
	Reported bool
	Took     time.Duration
	Cost     *float64
}

// Tool is one call of a tool.
type Tool struct {
	Name   string
	Status string // done, refused, waiting or unknown
	Args   string // JSON
	Result string
	Took   time.Duration
}

// Post is one part of what was posted, and its fate.
type Post struct {
	State string // sent, refused, unknown, waiting
	Text  string
	Why   string
}
