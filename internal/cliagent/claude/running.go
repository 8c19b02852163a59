package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"attache/internal/cliagent"
)

// running is one process of claude.
type running struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	begun bool    // it has said what it is, so it has its session
	cost  float64 // of all its turns: each result tells the sum
}

// event is one line of claude's, as far as it matters here.
type event struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Parent  *string `json:"parent_tool_use_id"` // of a sub-agent's words; null for its own
	Event   struct {
		Type  string `json:"type"`
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`
	Message struct {
		Model string `json:"model"`
	} `json:"message"`

	// A result.
	IsError bool     `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Cost    *float64 `json:"total_cost_usd"`
	Usage   *struct {
		In         int `json:"input_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		Out        int `json:"output_tokens"`
	} `json:"usage"`
}

// How a turn ends.
const (
	answered = "answered"
	failed   = "failed"
	lost     = "lost" // it does not know the session
)

// noSession is what claude says of a session that it does not have.
const noSession = "No conversation found"

// ask gives claude one turn and passes on what comes of it.
func (r *running) ask(t line, say func(line)) (end string, err error) {
	if err := json.NewEncoder(r.in).Encode(userMessage(t)); err != nil {
		return lost, fmt.Errorf("claude takes no input: %w", err)
	}
	model := ""
	for r.out.Scan() {
		var e event
		if json.Unmarshal(r.out.Bytes(), &e) != nil || e.Parent != nil {
			continue
		}
		switch e.Type {
		case "system":
			r.begun = r.begun || e.Subtype == "init"
			if e.Subtype == "compact_boundary" {
				say(line{Type: "compacted"})
			}
		case "stream_event":
			if e.Event.Type == "content_block_delta" && e.Event.Delta.Type == "text_delta" {
				say(line{Type: "delta", Text: e.Event.Delta.Text})
			}
		case "assistant":
			model = e.Message.Model
		case "result":
			return r.result(e, model, say)
		}
	}
	if err := r.out.Err(); err != nil {
		return failed, fmt.Errorf("the output of claude cannot be read: %w", err)
	}
	if !r.begun {
		return lost, errors.New("claude ended before it began; its last words say why")
	}
	return failed, errors.New("claude ended in the middle of a turn")
}

// result ends the turn.
func (r *running) result(e event, model string, say func(line)) (end string, err error) {
	if e.IsError || e.Subtype != "success" {
		why := strings.TrimSuffix(strings.Join(append(e.Errors, e.Result), "; "), "; ")
		if strings.Contains(why, noSession) {
			return lost, errors.New(why)
		}
		return failed, fmt.Errorf("claude could not answer (%s): %s", e.Subtype, why)
	}
	done := line{Type: "done", Text: e.Result}
	if u := e.Usage; u != nil {
		done.Usage = &cliagent.Usage{Model: model, In: u.In + u.CacheRead + u.CacheWrite, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Out: u.Out}
		if e.Cost != nil {
			cost := max(0, *e.Cost-r.cost)
			r.cost, done.Usage.Cost = *e.Cost, &cost
		}
	}
	say(done)
	return answered, nil
}

// userMessage makes one message of a turn: what is new of its contexts, the clock, and
// the input, each a text of its own.
func userMessage(t line) map[string]any {
	var texts []map[string]string
	add := func(text string) {
		if text != "" {
			texts = append(texts, map[string]string{"type": "text", "text": text})
		}
	}
	for _, o := range t.Context {
		add(o.Text)
	}
	add(t.Snapshot)
	add(t.Input)
	return map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": texts}}
}
