package model

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed words/empty-result.txt
var emptyResult string

//go:embed words/no-image.txt
var noImage string

//go:embed words/no-file.txt
var noFile string

// Encode gives the exact body of a request for one profile. It is a pure function
// of its arguments. The messages stand last and everything before them is the same
// within an epoch, so two bodies with a shared history are equal byte for byte up
// to the end of that history. An error means that the request itself is wrong: a
// tool's schema is no JSON, or two tools share a name.
func Encode(p Profile, r Request) ([]byte, error) {
	tools, err := wireTools(r.Tools)
	if err != nil {
		return nil, err
	}
	b := &object{seen: map[string]bool{}}
	b.add("model", p.Model)
	b.add("stream", true)
	if p.Dialect != DialectPlain {
		b.add("stream_options", map[string]bool{"include_usage": true})
	}
	if p.MaxTokens > 0 {
		b.add(p.maxTokensField(), p.MaxTokens)
	}
	if p.Temperature != nil {
		b.add("temperature", *p.Temperature)
	}
	if r.CacheKey != "" && p.Dialect != DialectPlain {
		b.add("prompt_cache_key", r.CacheKey)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		b.add(name, p.Extra[name])
	}
	if len(tools) > 0 {
		b.add("tools", tools)
	}
	messages := make([]wireMessage, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = p.wireMessage(m)
	}
	b.add("messages", messages)
	if b.err != nil {
		return nil, fmt.Errorf("model %s: %w", p.Name, b.err)
	}
	return append(b.buf.Bytes(), '}'), nil
}

// maxTokensField chooses between the two names of one limit. OpenAI's reasoning
// models refuse the old name, most other servers do not know the new one.
func (p Profile) maxTokensField() string {
	if p.Dialect == DialectOpenAI {
		return "max_completion_tokens"
	}
	if p.Dialect == DialectAuto {
		for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
			if strings.HasPrefix(p.Model, family) {
				return "max_completion_tokens"
			}
		}
	}
	return "max_tokens"
}

// object writes a JSON object field by field, in the order given. A map would
// sort them and a struct cannot take the profile's extra fields.
type object struct {
	buf  bytes.Buffer
	seen map[string]bool
	err  error
}

// add writes one field. The first mistake is kept and ends the writing, so that
// Encode can list its fields without a check behind each.
func (o *object) add(name string, value any) {
	if o.err != nil {
		return
	}
	if o.seen[name] {
		o.err = fmt.Errorf("the extra field %q is written by Attaché itself; take it out of the entry", name)
		return
	}
	o.seen[name] = true
	raw, err := marshal(value)
	if err != nil {
		o.err = fmt.Errorf("field %q is not JSON: %w", name, err)
		return
	}
	o.buf.WriteByte("{,"[min(o.buf.Len(), 1)])
	key, _ := json.Marshal(name)
	o.buf.Write(key)
	o.buf.WriteByte(':')
	o.buf.Write(raw)
}

// marshal writes compact JSON without the HTML escapes of encoding/json, which
// would cost tokens on servers that count bytes.
func marshal(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// The wire types write their fields in this order, which is a part of the bytes
// that caches and golden files rely on: fields are only added, behind the others.
type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// wireTools sorts a copy of the tools by name, so that the order in which a
// registry lists them never breaks the cache.
func wireTools(tools []Tool) ([]wireTool, error) {
	sorted := slices.SortedFunc(slices.Values(tools), func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	wire := make([]wireTool, len(sorted))
	for i, t := range sorted {
		if i > 0 && sorted[i-1].Name == t.Name {
			return nil, fmt.Errorf("two tools are named %q; a model can call only one of them", t.Name)
		}
		schema := t.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(schema) {
			return nil, fmt.Errorf("the schema of tool %q is not JSON", t.Name)
		}
		wire[i] = wireTool{"function", wireFunction{t.Name, t.Description, schema}}
	}
	return wire, nil
}

type wireMessage struct {
	Role       Role       `json:"role"`
	Name       string     `json:"name,omitempty"`
	Content    any        `json:"content"` // string, []wirePart, or nil beside tool calls
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function wireCallFunction `json:"function"`
}

type wireCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// wireMessage writes one message. It looks at nothing but the message and the
// profile, so a message has the same bytes wherever it stands.
func (p Profile) wireMessage(m Message) wireMessage {
	w := wireMessage{Role: p.wireRole(m.Role), Name: m.Name, Content: m.Text, ToolCallID: m.ToolCallID}
	switch {
	case len(m.Parts) > 0:
		w.Content = p.wireParts(m)
	case m.Role == RoleTool && m.Text == "":
		w.Content = strings.TrimSpace(emptyResult) // most servers refuse an empty one
	case m.Text == "" && len(m.ToolCalls) > 0:
		w.Content = nil
	}
	for _, c := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireCall{c.ID, "function", wireCallFunction{c.Name, c.Arguments}})
	}
	return w
}

// wireRole translates our roles: which servers know which is the profile's matter.
func (p Profile) wireRole(r Role) Role {
	switch {
	case r == RoleDeveloper && p.Dialect != DialectOpenAI:
		return RoleSystem
	case r == RoleSystem && p.ContextRole != "":
		return p.ContextRole
	}
	return r
}

type wirePart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text,omitempty"`
	ImageURL *wireImage `json:"image_url,omitempty"`
	File     *wireFile  `json:"file,omitempty"`
}

type wireImage struct {
	URL string `json:"url"`
}

type wireFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// wireParts writes a message of several parts. A fallback gets the same messages
// as the first model; where it cannot see, it is told what it does not see.
func (p Profile) wireParts(m Message) []wirePart {
	var parts []wirePart
	if m.Text != "" {
		parts = append(parts, wirePart{Type: "text", Text: m.Text})
	}
	for _, x := range m.Parts {
		switch {
		case x.Kind == PartImage && p.Vision:
			parts = append(parts, wirePart{Type: "image_url", ImageURL: &wireImage{x.URL}})
		case x.Kind == PartImage:
			parts = append(parts, wirePart{Type: "text", Text: strings.TrimSpace(noImage)})
		case x.Kind == PartFile && p.Files:
			parts = append(parts, wirePart{Type: "file", File: &wireFile{x.Name, x.URL}})
		case x.Kind == PartFile:
			parts = append(parts, wirePart{Type: "text", Text: strings.TrimSpace(strings.ReplaceAll(noFile, "{name}", x.Name))})
		default:
			parts = append(parts, wirePart{Type: "text", Text: x.Text})
		}
	}
	return parts
}
