package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"attache/internal/rehearsal"
)

// Request is one request as it arrived.
type Request struct {
	N        int // from 1
	Path     string
	Header   http.Header
	Raw      []byte // the exact body
	Model    string
	CacheKey string
	Tools    []string // names, in the order of the body
	Messages []Message
	Audio    []byte          // the recording, of a transcription only
	File     string          // the recording's file name
	Speak    string          // what is to be said aloud, of a speech only
	Spend    rehearsal.Spend // what its prompt cost, by prefix
}

// Message is one message of a request, with the bytes it stood in.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Raw json.RawMessage `json:"-"`
}

// Text gives the words of a message, those of all its text parts together.
func (m Message) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // neither text nor parts: no words
	var words []string
	for _, p := range parts {
		if p.Text != "" {
			words = append(words, p.Text)
		}
	}
	return strings.Join(words, "\n")
}

// LastUser gives the text of the last user message.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text()
		}
	}
	return ""
}

// LastTool gives the name of the tool whose result is the last message, "?" if no
// call of the request has its id, and "" if the last message is no result.
func (r Request) LastTool() string {
	if len(r.Messages) == 0 || r.Messages[len(r.Messages)-1].Role != "tool" {
		return ""
	}
	id := r.Messages[len(r.Messages)-1].ToolCallID
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			if c.ID == id {
				return c.Function.Name
			}
		}
	}
	return "?"
}

// Until gives the bytes of the body up to the end of message i: what a later
// request of the same conversation must begin with.
func (r Request) Until(i int) []byte {
	rest := string(r.Raw)
	at := strings.Index(rest, `"messages":[`) + len(`"messages":[`)
	for n := 0; n <= i; n++ {
		at += strings.Index(rest[at:], string(r.Messages[n].Raw)) + len(r.Messages[n].Raw)
	}
	return r.Raw[:at]
}

func read(r *http.Request, body []byte) Request {
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Raw: body}
	if strings.HasSuffix(r.URL.Path, "/audio/transcriptions") {
		req.readAudio(r, body)
		return req
	}
	var wire struct {
		Model    string            `json:"model"`
		Input    json.RawMessage   `json:"input"`
		CacheKey string            `json:"prompt_cache_key"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(body, &wire) // what is no request has no messages, and a test sees that
	req.Model, req.CacheKey = wire.Model, wire.CacheKey
	if strings.HasSuffix(r.URL.Path, "/audio/speech") {
		_ = json.Unmarshal(wire.Input, &req.Speak)
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for _, raw := range wire.Messages {
		m := Message{Raw: raw}
		_ = json.Unmarshal(raw, &m)
		req.Messages = append(req.Messages, m)
	}
	return req
}

func (r *Request) readAudio(sent *http.Request, body []byte) {
	sent.Body = io.NopCloser(strings.NewReader(string(body)))
	r.Audio = []byte{}
	r.Model = sent.FormValue("model")
	file, head, err := sent.FormFile("file")
	if err != nil {
		return
	}
	defer file.Close()
	r.Audio, _ = io.ReadAll(file)
	r.File = head.Filename
}
