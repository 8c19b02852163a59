// Package journal keeps what the requests of a turn are made of, and makes them: the
// first time and, as long as the turn is kept, again (attache replay).
//
// Most of it is the bytes of internal/conversation: static prompt with its tools,
// snapshots, history, input, tail. The rest is this package's table, turn_journal: a
// Frame, which holds for every request of the turn, and a Round for each answer of the
// model that another request follows.
package journal

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"attache"
	"attache/internal/conversation"
	"attache/internal/model"
	"attache/internal/prompt"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the package's table up to date; commands that only read call it too.
func Migrate(ctx context.Context, db *store.DB) error {
	if err := db.Migrate(ctx, "journal", migrations); err != nil {
		return fmt.Errorf("the table of what models were asked: %w", err)
	}
	return nil
}

// Forget deletes what was written down before a moment.
func Forget(ctx context.Context, db *store.DB, before time.Time) error {
	_, err := db.Pool().Exec(ctx, `delete from attache.turn_journal where at < $1`, before)
	return err
}

// Frame is what holds for every request of a turn and stands nowhere else.
type Frame struct {
	Kept     int     `json:"kept"`            // entries of the session's history that were sent, the newest
	Files    int     `json:"files,omitempty"` // that came with the input; they are fetched, sent, and not kept
	CacheKey string  `json:"cacheKey"`
	Models   []Model `json:"models"` // the role's, then what it falls back to
}

// Model is a profile without its address and key: what Encode looks at.
type Model struct {
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

// Models gives a profile and, behind it, what it falls back to.
func Models(p model.Profile) []Model {
	var out []Model
	for _, p := range append([]model.Profile{p}, p.Fallback...) {
		out = append(out, Model{p.Name, p.Model, p.Dialect, p.ContextRole, p.Temperature, p.MaxTokens, p.Vision, p.Files, p.Extra})
	}
	return out
}

func (s Model) profile() model.Profile {
	return model.Profile{Name: s.Name, Model: s.Model, Dialect: s.Dialect, ContextRole: s.ContextRole, Temperature: s.Temperature,
		MaxTokens: s.MaxTokens, Vision: s.Vision, Files: s.Files, Extra: s.Extra}
}

// Round is what one request added to the next: the model's answer, and what its tools
// gave or why a run's last words were refused.
type Round struct {
	Text    string           `json:"text,omitempty"`
	Calls   []model.ToolCall `json:"calls,omitempty"`
	Results []string         `json:"results,omitempty"` // of the calls, in their order
	Refusal string           `json:"refusal,omitempty"`
}

// Messages gives what the next request has behind this one. Bytes that are no text are
// replaced here, as JSON would replace them in the table, so that what is sent and what
// is sent again are the same.
func (r Round) Messages() []model.Message {
	calls := make([]model.ToolCall, len(r.Calls))
	for i, c := range r.Calls {
		calls[i] = model.ToolCall{ID: valid(c.ID), Name: valid(c.Name), Arguments: valid(c.Arguments)}
	}
	out := []model.Message{{Role: model.RoleAssistant, Text: valid(r.Text), ToolCalls: calls}}
	for i, result := range r.Results {
		out = append(out, model.Message{Role: model.RoleTool, Text: valid(result), ToolCallID: calls[i].ID})
	}
	if r.Refusal != "" {
		out = append(out, model.Message{Role: model.RoleSystem, Text: valid(r.Refusal)})
	}
	return out
}

// valid makes a text of a string that may be none.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// Begin writes the frame of a turn down; a later attempt at the turn writes its own
// over it.
func Begin(ctx context.Context, db *store.DB, turn int64, f Frame) error {
	return write(ctx, db, turn, 0, f)
}

// Add writes down what followed request n of a turn, from 1.
func Add(ctx context.Context, db *store.DB, turn int64, n int, r Round) error {
	return write(ctx, db, turn, n, r)
}

// write puts an entry into the table. Losing one to a crash of the database costs a
// replay and nothing else, so nobody waits for the disk.
func write(ctx context.Context, db *store.DB, turn int64, n int, entry any) error {
	raw, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	return db.Retry(ctx, "writing down what a model was asked", func(ctx context.Context) error {
		_, err := db.Pool().Exec(ctx, `insert into attache.turn_journal (turn, n, entry)
			select $1, $2, $3 from set_config('synchronous_commit', 'off', true)
			on conflict (turn, n) do update set entry = excluded.entry, at = now()`, turn, n, raw)
		return err
	})
}

// Prompt gives what the messages of a turn are made of (decisions § 4).
func Prompt(x conversation.Exchange, past []conversation.Past) prompt.Request {
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

// First gives a turn's first request as it is without files: every word of it was
// written down before. Its tools are those of the epoch, whatever the brain has now.
func First(x conversation.Exchange, messages []prompt.Message, cacheKey string) (model.Request, error) {
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

// toolEntry is one tool of the list that the model gets.
type toolEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// ListTools gives the exact list that the model gets, as the epoch's identity and for
// First. It keeps every character as it is.
func ListTools(list []attache.Tool) ([]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]toolEntry, len(list))
	for i, t := range list {
		out[i] = toolEntry{t.Name, t.Description, t.Schema}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return bytes.TrimSpace(b.Bytes()), err
}
