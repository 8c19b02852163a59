package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// chunk is one event of a stream, as far as it is read.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content   string      `json:"content"`
			Refusal   string      `json:"refusal"`
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"` // an error without its envelope
}

// callDelta is a piece of a tool call. Later pieces often carry only the index.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// answer grows from the chunks of a stream.
type answer struct {
	text   strings.Builder
	calls  []*ToolCall
	places map[int]*ToolCall // by the index of the deltas
	finish string
	usage  Usage
}

// stream sends the exchange's bytes and reads the whole answer. Only a finish
// reason makes it whole: a stream that merely ends, with or without [DONE], was cut
// (stack.md § 7). What comes after the finish reason, such as usage, is welcome but
// not waited for long.
func (x *exchange) stream(ctx context.Context, p Profile, tell func(Event)) (*answer, error) {
	// The library marshals this empty request; Do replaces it by the real bytes.
	stream, err := x.library(p).CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	a := &answer{places: map[int]*ToolCall{}}
	for {
		raw, err := stream.RecvRaw()
		if err == nil && len(raw) == 0 { // an error object of a shape the library does not know
			raw = x.events.last
		}
		if err == nil {
			err = a.take(raw, tell)
		}
		if a.finish != "" && err != nil {
			x.finish()
			return a, a.close()
		}
		if errors.Is(err, io.EOF) {
			return nil, x.noFinish()
		}
		if err != nil {
			return nil, err
		}
		if a.finish != "" {
			x.watch.expect(min(x.idle, afterEnd), errStalled)
		}
	}
}

// noFinish says what it was that ended without a finish reason.
func (x *exchange) noFinish() error {
	kind, _, _ := mime.ParseMediaType(x.header.Get("Content-Type"))
	if kind != "" && kind != "text/event-stream" {
		return fmt.Errorf("the server answered %d with %s instead of an event stream; look at baseUrl", x.status, kind)
	}
	return errors.New("the stream ended before the answer was complete")
}

// take adds one event to the answer.
func (a *answer) take(raw []byte, tell func(Event)) error {
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("the stream holds something that is not a chunk: %s", raw[:min(len(raw), shownChars)])
	}
	if message := c.errorMessage(); message != "" {
		return fmt.Errorf("the stream broke: %s", message)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if text := choice.Delta.Content + choice.Delta.Refusal; text != "" {
			a.text.WriteString(text)
			tell(Event{Kind: EventText, Text: text})
		}
		for _, d := range choice.Delta.ToolCalls {
			a.merge(d)
		}
		// Some servers write "" or "null" while they go on, and one proxy ends a broken
		// upstream with "error" and no error object.
		switch choice.FinishReason {
		case "", "null":
		case "error":
			return errors.New("the provider ended the answer with an error")
		default:
			a.finish = choice.FinishReason
		}
	}
	if u, ok := readUsage(c.Usage); ok {
		a.usage = u
	}
	return nil
}

// errorMessage reads the two forms of an error inside a stream that the library
// lets through as an ordinary event.
func (c *chunk) errorMessage() string {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		var full struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(c.Error, &full) == nil && full.Message != "" {
			return full.Message
		}
		var short string
		if json.Unmarshal(c.Error, &short) == nil {
			return short
		}
		return string(c.Error)
	}
	if c.Choices == nil && c.Usage == nil {
		return c.Message
	}
	return ""
}

// merge adds a piece to the call it belongs to: the one of its index, or without
// an index the one of its id, or the latest. Servers without indexes send calls
// whole, each with an id.
func (a *answer) merge(d callDelta) {
	call := a.callOf(d)
	if call.ID == "" {
		call.ID = d.ID
	}
	if d.Function.Name != call.Name { // some servers repeat the whole name in every piece
		call.Name += d.Function.Name
	}
	call.Arguments += d.Function.Arguments
}

// callOf finds the call that a piece belongs to, or begins a new one. Calls are
// kept in the order of their first pieces, whatever their indexes: an index is a
// name here and never a position, or a hostile one could ask for much memory.
func (a *answer) callOf(d callDelta) *ToolCall {
	if d.Index != nil {
		if call := a.places[*d.Index]; call != nil {
			return call
		}
	} else if n := len(a.calls); n > 0 && (d.ID == "" || d.ID == a.calls[n-1].ID) {
		return a.calls[n-1]
	}
	call := &ToolCall{}
	a.calls = append(a.calls, call)
	if d.Index != nil {
		a.places[*d.Index] = call
	}
	return call
}

// close makes the answer ready to be used and checks that it holds what its
// finish reason promises.
func (a *answer) close() error {
	for i, call := range a.calls {
		if call.Name == "" {
			return errors.New("the answer asks for a tool without a name")
		}
		if call.ID == "" { // the result must name its call, so an id is needed
			call.ID = "call_" + strconv.Itoa(i+1)
		}
		if call.Arguments == "" {
			call.Arguments = "{}"
		}
	}
	if a.finish == "tool_calls" && len(a.calls) == 0 {
		return errors.New("the answer announces tool calls and holds none")
	}
	if a.finish == "stop" && len(a.calls) > 0 {
		a.finish = "tool_calls"
	}
	return nil
}

// readUsage reads the counts of a call, wherever the server keeps those of its
// cache. Usage that makes no sense counts as not reported; it must never cost an
// answer.
func readUsage(raw json.RawMessage) (Usage, bool) {
	var u struct {
		In        float64 `json:"prompt_tokens"`
		Out       float64 `json:"completion_tokens"`
		InDetails struct {
			Cached float64 `json:"cached_tokens"`
			Write  float64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		OutDetails struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		CacheHit    float64 `json:"prompt_cache_hit_tokens"`
		Cached      float64 `json:"cached_tokens"`
		CacheRead   float64 `json:"cache_read_input_tokens"`
		CacheCreate float64 `json:"cache_creation_input_tokens"`
	}
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &u) != nil || u.In < 0 || u.Out < 0 || u.In+u.Out == 0 {
		return Usage{}, false
	}
	in := int(u.In)
	cached := min(max(int(u.InDetails.Cached), int(u.CacheHit), int(u.Cached), int(u.CacheRead), 0), in)
	return Usage{
		Reported:   true,
		In:         in,
		Cached:     cached,
		CacheWrite: min(max(int(u.InDetails.Write), int(u.CacheCreate), 0), in-cached),
		Out:        int(u.Out),
		Reasoning:  min(max(int(u.OutDetails.Reasoning), 0), int(u.Out)),
	}, true
}
