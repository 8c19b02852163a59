package mind

import (
	"context"
	"encoding/json"

	"attache/internal/conversation"
	"attache/internal/model"
	"attache/internal/prompt"
)

// frame is what holds for every request of a turn and stands nowhere else.
type frame struct {
	Kept     int     `json:"kept"`            // entries of the session's history that were sent, the newest
	Files    int     `json:"files,omitempty"` // that came with the input; they are fetched, sent, and not kept
	CacheKey string  `json:"cacheKey"`
	Models   []shape `json:"models"` // the role's, then what it falls back to
}

// shape is a profile without its address and key: what Encode looks at.
type shape struct {
	Name        string                     `json:"name"`
	Model       string                     `json:"model"`
	Dialect     model.Dialect              `json:"dialect"`
	ContextRole model.Role                 `json:"contextRole,omitempty"`
	Temperature *float64                   `json:"temperature,omitempty"`
	MaxTokens   int                        `json:"maxTokens,omitempty"`
	Vision      bool                       `json:"vision,omitempty"`
	Files       bool                       `json:"files,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
}

func shapesOf(p model.Profile) []shape {
	var out []shape
	for _, p := range append([]model.Profile{p}, p.Fallback...) {
		out = append(out, shape{p.Name, p.Model, p.Dialect, p.ContextRole, p.Temperature, p.MaxTokens, p.Vision, p.Files, p.Extra})
	}
	return out
}

func (s shape) profile() model.Profile {
	return model.Profile{Name: s.Name, Model: s.Model, Dialect: s.Dialect, ContextRole: s.ContextRole, Temperature: s.Temperature,
		MaxTokens: s.MaxTokens, Vision: s.Vision, Files: s.Files, Extra: s.Extra}
}

// round is what one request added to the next: the model's answer, and what its tools
// gave or why a run's last words were refused.
type round struct {
	Text    string           `json:"text,omitempty"`
	Calls   []model.ToolCall `json:"calls,omitempty"`
	Results []string         `json:"results,omitempty"` // of the calls, in their order
	Refusal string           `json:"refusal,omitempty"`
}

func (r round) messages() []model.Message {
	out := []model.Message{{Role: model.RoleAssistant, Text: r.Text, ToolCalls: r.Calls}}
	for i, result := range r.Results {
		out = append(out, model.Message{Role: model.RoleTool, Text: result, ToolCallID: r.Calls[i].ID})
	}
	if r.Refusal != "" {
		out = append(out, model.Message{Role: model.RoleSystem, Text: r.Refusal})
	}
	return out
}

// write puts an entry into the turn's journal; a later attempt at the turn writes its
// own over it. Losing one to a crash of the database costs a replay and nothing else,
// so nobody waits for the disk.
func (th *thought) write(ctx context.Context, n int, entry any) error {
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	return th.m.o.DB.Retry(ctx, "writing down what a model was asked", func(ctx context.Context) error {
		_, err := th.m.o.DB.Pool().Exec(ctx, `insert into attache.turn_journal (turn, n, entry)
			select $1, $2, $3 from set_config('synchronous_commit', 'off', true)
			on conflict (turn, n) do update set entry = excluded.entry, at = now()`, th.turn.ID, n, raw)
		return err
	})
}

// promptOf gives what the messages of a turn are made of (decisions § 4).
func promptOf(x conversation.Exchange, past []conversation.Past) prompt.Request {
	history := make([]prompt.Past, len(past))
	for i, p := range past {
		history[i] = prompt.Past{Snapshot: p.Snapshot, Input: p.Input, Answer: p.Answer, Mark: p.Mark, Tokens: p.Tokens}
	}
	return prompt.Request{
		Epoch: prompt.Epoch{ID: x.Epoch.ID, Text: x.Epoch.Text}, Session: x.Session.Snapshot, History: history,
		Snapshot: x.Snapshot, Input: x.Input, Tail: x.Tail,
		StaticRole: string(model.RoleDeveloper), ContextRole: string(model.RoleSystem),
	}
}

// requestOf gives a turn's first request as it is without files: every word of it was
// written down before. Its tools are those of the epoch, whatever the brain has now.
func requestOf(x conversation.Exchange, messages []prompt.Message, cacheKey string) (model.Request, error) {
	r := model.Request{CacheKey: cacheKey}
	for _, m := range messages {
		r.Messages = append(r.Messages, model.Message{Role: model.Role(m.Role), Text: m.Text})
	}
	if len(x.Epoch.Tools) == 0 {
		return r, nil
	}
	var list []toolEntry
	err := json.Unmarshal(x.Epoch.Tools, &list)
	for _, t := range list {
		r.Tools = append(r.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return r, err
}
