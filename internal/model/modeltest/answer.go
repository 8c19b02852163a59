package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is what goes wrong with a streamed answer, after Answer.After pieces.
type Fault string

// The faults.
const (
	FaultNone   Fault = ""
	FaultCut    Fault = "cut"    // the connection breaks
	FaultEnd    Fault = "end"    // the stream ends cleanly, without finish reason and [DONE]
	FaultStall  Fault = "stall"  // nothing comes any more
	FaultObject Fault = "object" // an error object in the stream
	FaultString Fault = "string" // an error object whose error is a string
	FaultEvent  Fault = "event"  // an error event whose data has no "error" key
	FaultBad    Fault = "bad"    // an event that is no JSON
)

// Call is a tool call that an answer makes.
type Call struct {
	ID   string // "": made from the request's number
	Name string
	Args string // as it stands; need not be JSON
}

// Answer is what the model does.
type Answer struct {
	Text   string
	Calls  []Call
	Finish string // the finish reason; "": stop, or tool_calls when there are calls

	Status int               // an answer that is no stream: this status, Header and Body
	Header map[string]string // also on streams
	Body   string

	Fault     Fault
	After     int             // pieces before the fault; a piece is a word or a part of a call
	NoDone    bool            // no [DONE] at the end
	NoUsage   bool            // no usage at the end
	Linger    bool            // the stream stays open behind its end
	KeepAlive int             // comments sent before the first piece
	Hold      <-chan struct{} // nothing is sent before this is closed or received from
	Step      <-chan struct{} // each piece waits for one receive
	Delay     time.Duration   // the time before each piece; for bubbles with their own clock
}

// Text is a plain answer, streamed word by word.
func Text(s string) Answer { return Answer{Text: s} }

// Speech gives what the model answers to words that it is to say aloud: the beginning
// of a recording as Telegram wants it, and the words where the sound would be.
func Speech(words string) []byte {
	head := append([]byte("OggS"), make([]byte, 24)...)
	return append(append(head, "OpusHead"...), words...)
}

// Use is an answer that calls one tool.
func Use(tool, args string) Answer { return Answer{Calls: []Call{{Name: tool, Args: args}}} }

// Status is an HTTP status with OpenAI's form of an error.
func Status(code int, message string) Answer {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "test"}})
	return Answer{Status: code, Body: string(body)}
}

// Busy is a 429 that asks to wait; seconds may be anything a header can hold.
func Busy(seconds string) Answer {
	a := Status(http.StatusTooManyRequests, "slow down")
	a.Header = map[string]string{"Retry-After": seconds}
	return a
}

// HTML is a login page with status 200, as captive proxies answer.
func HTML() Answer {
	return Answer{
		Status: http.StatusOK, Body: "<html><body>Please log in\n</body></html>",
		Header: map[string]string{"Content-Type": "text/html"},
	}
}

// send plays the answer.
func (a Answer) send(w http.ResponseWriter, r *http.Request, req Request) {
	if !wait(r, a.Hold) {
		return
	}
	kind := "application/json"
	switch {
	case a.Status != 0, req.Audio != nil:
	case req.Speak != "":
		kind = "audio/ogg"
	default:
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	switch {
	case a.Status != 0:
		w.WriteHeader(a.Status)
		fmt.Fprint(w, a.Body)
	case req.Audio != nil:
		_ = json.NewEncoder(w).Encode(map[string]string{"text": a.Text})
	case req.Speak != "":
		_, _ = w.Write(Speech(a.Text))
	default:
		a.stream(w, r, req)
	}
}

// stream sends the pieces, then the fault or the end.
func (a Answer) stream(w http.ResponseWriter, r *http.Request, req Request) {
	out := http.NewResponseController(w)
	event := func(v any) {
		raw, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", raw)
		out.Flush()
	}
	out.Flush()
	for range a.KeepAlive {
		fmt.Fprint(w, ": still thinking\n\n")
	}
	deltas := a.deltas(req.N)
	for i, delta := range deltas {
		if a.Fault != FaultNone && i == a.After {
			break
		}
		time.Sleep(a.Delay)
		if !wait(r, a.Step) {
			return
		}
		event(chunk(req.Model, delta, ""))
	}
	if a.Fault != FaultNone {
		a.fail(w, r, out)
		return
	}
	event(chunk(req.Model, map[string]any{}, a.finish()))
	if !a.NoUsage {
		event(usage(req, len(deltas)))
	}
	if !a.NoDone {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
	if a.Linger {
		out.Flush()
		<-r.Context().Done()
	}
}

// fail breaks the stream in the way of its fault.
func (a Answer) fail(w http.ResponseWriter, r *http.Request, out *http.ResponseController) {
	switch a.Fault {
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultStall:
		<-r.Context().Done()
	case FaultObject:
		fmt.Fprint(w, "data: {\"error\":{\"message\":\"upstream fell over\",\"code\":502}}\n\n")
	case FaultString:
		fmt.Fprint(w, "data: {\"error\":\"upstream fell over\"}\n\n")
	case FaultEvent:
		fmt.Fprint(w, "event: error\ndata: {\"message\":\"upstream fell over\"}\n\n")
	case FaultBad:
		fmt.Fprint(w, "data: {\"choices\":[{\"del\n\n")
	}
	out.Flush()
}

func (a Answer) finish() string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(a.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// deltas cuts an answer into pieces as providers do: words, then for each call its
// head and its arguments in two halves that carry only the index.
func (a Answer) deltas(n int) []map[string]any {
	var all []map[string]any
	for _, word := range strings.SplitAfter(a.Text, " ") {
		if word != "" {
			all = append(all, map[string]any{"content": word})
		}
	}
	for i, c := range a.Calls {
		if c.ID == "" {
			c.ID = "call_" + strconv.Itoa(n) + "_" + strconv.Itoa(i+1)
		}
		half := len(c.Args) / 2
		all = append(all,
			callDelta(map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}),
			callDelta(map[string]any{"index": i, "function": map[string]any{"arguments": c.Args[:half]}}),
			callDelta(map[string]any{"index": i, "function": map[string]any{"arguments": c.Args[half:]}}))
	}
	return all
}

func callDelta(call map[string]any) map[string]any {
	return map[string]any{"tool_calls": []any{call}}
}

func chunk(model string, delta map[string]any, finish string) map[string]any {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	return map[string]any{"id": "test", "object": "chat.completion.chunk", "model": model, "choices": []any{choice}}
}

func usage(req Request, out int) map[string]any {
	return map[string]any{"choices": []any{}, "usage": map[string]any{
		"prompt_tokens": req.Spend.Prompt, "completion_tokens": out,
		"prompt_tokens_details": map[string]any{"cached_tokens": req.Spend.Cached, "cache_write_tokens": req.Spend.Written},
	}}
}

// wait blocks until ch lets it pass; false means that the client left first.
func wait(r *http.Request, ch <-chan struct{}) bool {
	if ch == nil {
		return true
	}
	select {
	case <-ch:
		return true
	case <-r.Context().Done():
		return false
	}
}
