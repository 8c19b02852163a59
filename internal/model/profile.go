// Package model talks to OpenAI-compatible models and hides them behind a few
// plain values.
//
// A Request is what the engine wants to say: tools and messages. Encode turns it,
// for one Profile, into the exact bytes of an HTTP body, and these bytes are the
// package's main data: they are the same for the same request in every process,
// they are repeated unchanged by every retry, and they begin alike for two
// requests that share a beginning, so that a provider's prompt cache can be hit
// (decisions § 4). A Client sends them, repeats and falls back as "Model faults"
// in decisions § 4 says, and gives a Result. Every single try is told to the
// caller as an Attempt, so that nothing that may have cost money goes unrecorded.
//
// The library go-openai makes the HTTP request, reads the event stream and decodes
// errors; its request types are not used. They drop what must be sent (temperature
// 0, an empty tool result), cannot say what is needed (files, prompt_cache_key),
// refuse models by their name, and put the messages before the tools.
package model

import (
	"encoding/json"
	"fmt"

	"attache"
)

// Profile says which model to ask and how to write to it: one entry of `models:`
// in MANIFEST.yaml, with secrets resolved (interface § 3).
type Profile struct {
	Name     string         // the entry's name, as in "default"; for records and errors
	Model    string         // the model's name at its provider
	BaseURL  string         // up to and without "/chat/completions"; "" is OpenAI's own
	APIKey   attache.Secret // empty: no Authorization header is sent
	Fallback []Profile      // asked in order when this one fails; their own fallbacks are not followed

	Dialect     Dialect
	ContextRole Role                       // role of context messages: RoleSystem ("" too) or RoleUser
	Temperature *float64                   // nil: not sent; 0 is sent as 0
	MaxTokens   int                        // most tokens of an answer; 0: not sent
	Vision      bool                       // takes pictures; else a sentence stands in their place
	Files       bool                       // takes documents; else a sentence stands in their place
	Extra       map[string]json.RawMessage // more fields of the body, as {"reasoning_effort": "none"}

	Price *Price // nil: costs are unknown, never 0
}

// Price is what a million tokens cost, in the currency the user thinks in.
type Price struct {
	In     float64  // prompt tokens
	Cached *float64 // prompt tokens read from the provider's cache; nil: as In
	Out    float64  // answer tokens, reasoning included
}

// Dialect names the habits of a server, since "OpenAI-compatible" means several
// things. It is the `profile:` of a model's entry.
type Dialect string

// The dialects. DialectAuto sends the static prompt as system and chooses the
// field of MaxTokens by the model's name; DialectOpenAI speaks as api.openai.com
// documents it, with the developer role; DialectPlain sends nothing that a strict
// older server could refuse: no prompt_cache_key, no stream_options.
const (
	DialectAuto   Dialect = ""
	DialectOpenAI Dialect = "openai"
	DialectPlain  Dialect = "plain"
)

// ParseDialect reads the `profile:` of a model's entry; "auto" and "" are the same.
func ParseDialect(s string) (Dialect, error) {
	switch s {
	case "", "auto":
		return DialectAuto, nil
	case string(DialectOpenAI), string(DialectPlain):
		return Dialect(s), nil
	}
	return "", fmt.Errorf("%q is not a model profile; write auto, openai or plain", s)
}

// cost gives the price of a call and whether it is known at all: it is not when
// the profile has no price or the server reported no usage.
func (p Profile) cost(u Usage) (float64, bool) {
	if p.Price == nil || !u.Reported {
		return 0, false
	}
	cached := p.Price.In
	if p.Price.Cached != nil {
		cached = *p.Price.Cached
	}
	total := float64(u.In-u.Cached)*p.Price.In + float64(u.Cached)*cached + float64(u.Out)*p.Price.Out
	return total / 1e6, true
}
