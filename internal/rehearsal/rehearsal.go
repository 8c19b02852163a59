// Package rehearsal is a model that is none: an OpenAI-compatible endpoint which
// answers by reading back what it was given. It lets the whole engine be watched
// without a key: which people and rows reached the model, which contexts were
// attached and by which link, which were not and which knob decided it. It calls a
// tool when a message asks for one by name, and it says what it would need.
//
// The same request always gets the same words. Only the cached share of the usage
// depends on earlier requests, as with a real provider (see Cache).
//
// The data it reads is the prompt itself, in the forms of decisions § 4 and § 5.
package rehearsal

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/template"
	"time"

	"attache/internal/telegram/richtext"
)

// Name is the model's name at this endpoint; it answers to any other as well.
const Name = "rehearsal"

const maxBody = 64 << 20 // bytes of a request, pictures included

//go:embed words.tmpl
var words embed.FS

// Model is the endpoint: POST …/chat/completions, with and without streaming, and
// GET …/models, below any path.
type Model struct {
	pace   time.Duration
	words  *template.Template
	wishes wishes
	cache  Cache
}

// New makes the endpoint. pace is the time between two words of a stream, so that
// drafts can be seen to grow; 0 sends them at once.
func New(pace time.Duration) *Model {
	funcs := template.FuncMap{"md": richtext.Literal, "cut": cut, "code": codeSpan}
	return &Model{
		pace: pace, wishes: newWishes(),
		words: template.Must(template.New("").Funcs(funcs).ParseFS(words, "words.tmpl")),
	}
}

// request is a chat completion as far as it is read.
type request struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// reply is the answer: words or one tool call.
type reply struct {
	Text string
	Call *toolCall
}

type toolCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function toolCallFunction `json:"function"`
}

type toolCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ServeHTTP answers one request. Any key, or none, is accepted: the endpoint
// guards nothing and spends nothing.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": Name, "object": "model"}}})
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		refuse(w, http.StatusNotFound, "the rehearsal model only knows POST …/chat/completions")
	case r.Method != http.MethodPost:
		refuse(w, http.StatusMethodNotAllowed, "chat completions are asked for with POST")
	default:
		m.complete(w, r)
	}
}

// complete checks a request as a real server would, so that a mistake of the engine
// shows in a rehearsal too, and answers it.
func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request does not arrive whole: %v", err))
		return
	}
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("the request is not a chat completion: %v", err))
		return
	}
	if len(req.Messages) == 0 {
		refuse(w, http.StatusBadRequest, "the request holds no messages")
		return
	}
	spend, err := m.cache.Take(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	answer := m.answer(req)
	usage := usageOf(spend, answer)
	if req.Stream {
		m.stream(w, r, req, answer, usage)
		return
	}
	message := map[string]any{"role": "assistant", "content": answer.Text}
	if answer.Call != nil {
		message["content"], message["tool_calls"] = nil, []any{answer.Call}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "rehearsal", "object": "chat.completion", "model": req.Model, "usage": usage,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": answer.finish()}},
	})
}

// finish gives the finish reason.
func (a reply) finish() string {
	if a.Call != nil {
		return "tool_calls"
	}
	return "stop"
}

// usageOf estimates tokens as four bytes each; it is no bill.
func usageOf(s Spend, a reply) map[string]any {
	out := len(a.Text)/4 + 1
	if a.Call != nil {
		out = len(a.Call.Function.Arguments)/4 + 1
	}
	return map[string]any{
		"prompt_tokens": s.Prompt, "completion_tokens": out, "total_tokens": s.Prompt + out,
		"prompt_tokens_details": map[string]any{"cached_tokens": s.Cached},
	}
}

// stream sends an answer word by word, in the events of OpenAI's API.
func (m *Model) stream(w http.ResponseWriter, r *http.Request, req request, a reply, usage map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(v map[string]any) {
		v["id"], v["object"], v["model"] = "rehearsal", "chat.completion.chunk", req.Model
		raw, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", raw)
		out.Flush()
	}
	choice := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	for _, word := range strings.SplitAfter(a.Text, " ") {
		if word == "" {
			continue
		}
		send(choice(map[string]any{"content": word}, nil))
		select {
		case <-time.After(m.pace):
		case <-r.Context().Done():
			return
		}
	}
	if a.Call != nil {
		call := map[string]any{"index": 0, "id": a.Call.ID, "type": "function", "function": a.Call.Function}
		send(choice(map[string]any{"tool_calls": []any{call}}, nil))
	}
	send(choice(map[string]any{}, a.finish()))
	if req.StreamOptions.IncludeUsage {
		send(map[string]any{"choices": []any{}, "usage": usage})
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the other side may have gone
}

// refuse answers in OpenAI's form of an error.
func refuse(w http.ResponseWriter, status int, why string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": why, "type": "rehearsal"}})
}
