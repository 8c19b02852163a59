package model

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// page answers every request with one body.
type page string

func (p page) RoundTrip(*http.Request) (*http.Response, error) {
	head := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: head, Body: io.NopCloser(strings.NewReader(string(p)))}, nil
}

// readPage reads one stream, without repeats, and gives why it failed.
func readPage(ctx context.Context, body string) (Result, string) {
	c := New(Profile{Name: "m"}, Options{
		Transport: page(body),
		Wait:      func(context.Context, time.Duration) error { return errors.New("once is enough") },
	})
	why := ""
	r, _ := c.Complete(ctx, Request{}, nil, func(a Attempt) { why = a.Why })
	return r, why
}

func deltas(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + p + "}]}\n\n")
	}
	return b.String()
}

const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// row L10: the ways in which servers stream a tool call.
func TestToolCallDeltas(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []ToolCall
	}{
		"indexes interleaved": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":""}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"y"}}]}`,
			`{"tool_calls":[{"index":0,"type":"","function":{"arguments":"{\"n\""}},{"index":1,"function":{"arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
			[]ToolCall{{"a", "x", `{"n":1}`}, {"b", "y", "{}"}}},
		"no index, whole calls": {deltas(
			`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"name":"x","arguments":"{}"}}]}`),
			[]ToolCall{{"a", "x", "{}"}, {"b", "x", "{}"}}},
		"no index, pieces": {deltas(
			`{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"n\":"}}]}`,
			`{"tool_calls":[{"function":{"arguments":"1}"}}]}`),
			[]ToolCall{{"a", "x", `{"n":1}`}}},
		"name and id in every piece": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"}"}}]}`),
			[]ToolCall{{"a", "x", "{}"}}},
		"name in pieces": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"context_"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"open"}}]}`),
			[]ToolCall{{"a", "context_open", "{}"}}},
		"no id": {deltas(`{"tool_calls":[{"index":0,"function":{"name":"x","arguments":"{}"}}]}`),
			[]ToolCall{{"call_1", "x", "{}"}}},
		"far index": {deltas(`{"tool_calls":[{"index":1000000000,"id":"a","function":{"name":"x"}}]}`),
			[]ToolCall{{"a", "x", "{}"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, why := readPage(t.Context(), c.body+end)
			if why != "" {
				t.Fatal(why)
			}
			if diff := cmp.Diff(c.want, r.ToolCalls); diff != "" {
				t.Error(diff)
			}
			if r.Finish != "tool_calls" { // the server said stop; there are calls
				t.Errorf("finish is %s", r.Finish)
			}
		})
	}
	if _, why := readPage(t.Context(), deltas(`{"tool_calls":[{"index":0,"id":"a"}]}`)+end); why != "the answer asks for a tool without a name" {
		t.Errorf("nameless: %q", why)
	}
}

func TestStreamShapes(t *testing.T) {
	text := deltas(`{"role":"assistant","content":""}`, `{"content":"Hi "}`, `{"content":null,"reasoning_content":"hm"}`, `{"content":"Ann"}`)
	for name, body := range map[string]string{
		"plain":            text + end,
		"carriage returns": strings.ReplaceAll(text+end, "\n", "\r\n"),
		"no space":         strings.ReplaceAll(text+end, "data: ", "data:"),
		"ids and events":   strings.ReplaceAll(text+end, "data: ", "id: 7\nevent: message\nretry: 5\ndata: "),
		"other choices":    text + `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + end,
		"no last line end": strings.TrimRight(text+strings.Replace(end, "data: [DONE]", "", 1), "\n"),
		"usage null":       strings.ReplaceAll(text, `"choices"`, `"usage":null,"choices"`) + end,
		"wild usage":       text + `data: {"choices":[],"usage":"lots"}` + "\n\n" + end,
		"junk behind":      text + strings.Replace(end, "[DONE]", "{oops", 1),
	} {
		t.Run(name, func(t *testing.T) {
			r, why := readPage(t.Context(), body)
			if why != "" || r.Text != "Hi Ann" || r.Finish != "stop" || r.Usage.Reported {
				t.Errorf("%+v, %q", r, why)
			}
		})
	}
	if r, why := readPage(t.Context(), deltas(`{"refusal":"I will not."}`)+end); r.Text != "I will not." {
		t.Errorf("refusal: %+v, %q", r, why)
	}
}

// row L10: where servers keep the counts of their cache.
func TestUsageShapes(t *testing.T) {
	for raw, want := range map[string]Usage{
		`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":80},"completion_tokens_details":{"reasoning_tokens":4}}`: {true, 100, 80, 0, 9, 4},
		`{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":null}`:                                                                    {true, 100, 0, 0, 9, 0},
		`{"prompt_tokens":100.0,"completion_tokens":9,"prompt_cache_hit_tokens":70,"prompt_cache_miss_tokens":30}`:                                    {true, 100, 70, 0, 9, 0},
		`{"prompt_tokens":100,"completion_tokens":9,"cached_tokens":60}`:                                                                              {true, 100, 60, 0, 9, 0},
		`{"prompt_tokens":100,"completion_tokens":9,"cache_read_input_tokens":50,"cache_creation_input_tokens":20}`:                                   {true, 100, 50, 20, 9, 0},
		`{"prompt_tokens":10,"completion_tokens":1,"cached_tokens":9000,"cache_creation_input_tokens":5}`:                                             {true, 10, 10, 0, 1, 0},
		`{"prompt_tokens":-1,"completion_tokens":1}`:                                                                                                  {},
		`{}`:   {},
		`[1]`:  {},
		`null`: {},
		``:     {},
	} {
		got, ok := readUsage([]byte(raw))
		if got != want || ok != want.Reported {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

// A stream without end is cut off instead of filling the memory.
func TestEndlessLine(t *testing.T) {
	c := New(Profile{Name: "m"}, Options{
		Transport: endless{},
		Wait:      func(context.Context, time.Duration) error { return errors.New("once is enough") },
	})
	why := ""
	_, err := c.Complete(t.Context(), Request{}, nil, func(a Attempt) { why = a.Why })
	if err == nil || !strings.Contains(why, "longer than a chat answer can be") {
		t.Errorf("%v, %q", err, why)
	}
}

type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(letters{})}, nil
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Whatever a server sends, the answer is whole or there is a reason, never both
// and never neither.
func FuzzStream(f *testing.F) {
	f.Add(deltas(`{"content":"Hi"}`) + end)
	f.Add(deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]}`) + end)
	f.Add("data: {\"error\":\"x\"}\n\n")
	f.Add(": ping\n\nevent: error\ndata: {\"message\":\"x\"}")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, body string) {
		r, why := readPage(t.Context(), body)
		if (why == "") != (r.Finish != "") {
			t.Errorf("finish %q and reason %q", r.Finish, why)
		}
		if n := len([]rune(why)); n > shownChars {
			t.Errorf("a reason of %d characters", n)
		}
		for _, call := range r.ToolCalls {
			if call.ID == "" || call.Name == "" || call.Arguments == "" {
				t.Errorf("half a call: %+v", call)
			}
		}
	})
}
