package model_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache/internal/model"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func zero() *float64 { z := 0.0; return &z }

func turn() model.Request {
	return model.Request{
		CacheKey: "k-1",
		Tools: []model.Tool{
			{Name: "notification_send", Description: "Send a message.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"chat":{"type":"string"}},"required":["text"]}`)},
			{Name: "context_open", Description: "Open a context."},
		},
		Messages: []model.Message{
			{Role: model.RoleDeveloper, Text: "You are Nova."},
			{Role: model.RoleSystem, Text: `<session_context v="1">`},
			{Role: model.RoleUser, Text: "Hi <b> & \u2028 \xff"},
			{Role: model.RoleAssistant, Text: "Hello!"},
			{Role: model.RoleUser, Text: "see", Parts: []model.Part{
				{Kind: model.PartImage, URL: "data:image/png;base64,AA=="},
				{Kind: model.PartFile, URL: "data:application/pdf;base64,AA==", Name: "a.pdf"},
				{Kind: model.PartText, Text: "both"},
			}},
			{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "context_open", Arguments: `{"name": "policy"}`}}},
			{Role: model.RoleTool, ToolCallID: "c1"},
		},
	}
}

// row L10: the exact request, for each kind of server.
func TestGoldenRequests(t *testing.T) {
	profiles := map[string]model.Profile{
		"auto":      {Model: "gpt-5-mini", MaxTokens: 900, Temperature: zero()},
		"auto-old":  {Model: "llama-4", MaxTokens: 900, Vision: true, ContextRole: model.RoleUser},
		"openai":    {Model: "gpt-x", Dialect: model.DialectOpenAI, MaxTokens: 900, Vision: true, Files: true},
		"plain":     {Model: "mistral", Dialect: model.DialectPlain, MaxTokens: 900},
		"extra":     {Model: "gpt-6-sol", Extra: map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"none"`), "a": json.RawMessage(`{ "z": 1, "b": 2 }`)}},
		"reasoning": {Model: "o4-mini", MaxTokens: 10, ContextRole: model.RoleSystem},
	}
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			got, err := model.Encode(p, turn())
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got) {
				t.Fatalf("not JSON: %s", got)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSuffix(string(want), "\n"), string(got)); diff != "" {
				t.Errorf("request bytes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeMistakes(t *testing.T) {
	for want, change := range map[string]func(*model.Profile, *model.Request){
		`schema of tool "x" is not JSON`: func(_ *model.Profile, r *model.Request) { r.Tools = []model.Tool{{Name: "x", Schema: []byte("{")}} },
		`two tools are named "x"`: func(_ *model.Profile, r *model.Request) {
			r.Tools = []model.Tool{{Name: "x"}, {Name: "y"}, {Name: "x"}}
		},
		`extra field "messages"`: func(p *model.Profile, _ *model.Request) {
			p.Extra = map[string]json.RawMessage{"messages": json.RawMessage("[]")}
		},
		`field "e" is not JSON`: func(p *model.Profile, _ *model.Request) {
			p.Extra = map[string]json.RawMessage{"e": json.RawMessage("{")}
		},
	} {
		p, r := model.Profile{Name: "m"}, model.Request{}
		change(&p, &r)
		if _, err := model.Encode(p, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func messages() *rapid.Generator[model.Message] {
	return rapid.Custom(func(t *rapid.T) model.Message {
		m := model.Message{
			Role: rapid.SampledFrom([]model.Role{model.RoleDeveloper, model.RoleSystem, model.RoleUser, model.RoleAssistant, model.RoleTool}).Draw(t, "role"),
			Text: rapid.String().Draw(t, "text"),
		}
		switch m.Role {
		case model.RoleUser:
			if rapid.Bool().Draw(t, "image") {
				m.Parts = []model.Part{{Kind: model.PartImage, URL: "data:" + rapid.String().Draw(t, "url")}}
			}
		case model.RoleAssistant:
			if rapid.Bool().Draw(t, "calls") {
				m.ToolCalls = []model.ToolCall{{ID: "c", Name: "t", Arguments: rapid.String().Draw(t, "args")}}
			}
		}
		return m
	})
}

func tools() *rapid.Generator[[]model.Tool] {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) model.Tool {
		return model.Tool{Name: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "name"), Description: rapid.String().Draw(t, "about")}
	}), 0, 5, func(t model.Tool) string { return t.Name })
}

func profiles() *rapid.Generator[model.Profile] {
	return rapid.Custom(func(t *rapid.T) model.Profile {
		return model.Profile{
			Model:       rapid.SampledFrom([]string{"gpt-5", "llama"}).Draw(t, "model"),
			Dialect:     rapid.SampledFrom([]model.Dialect{model.DialectAuto, model.DialectOpenAI, model.DialectPlain}).Draw(t, "dialect"),
			Vision:      rapid.Bool().Draw(t, "vision"),
			ContextRole: rapid.SampledFrom([]model.Role{"", model.RoleUser}).Draw(t, "role"),
			MaxTokens:   rapid.IntRange(0, 2).Draw(t, "max"),
			Extra:       rapid.SampledFrom([]map[string]json.RawMessage{nil, {"b": json.RawMessage("1"), "a": json.RawMessage("2"), "c": json.RawMessage("3")}}).Draw(t, "extra"),
		}
	})
}

// row L10: equal requests have equal bytes, whatever the order of the tools.
func TestBytesAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profiles().Draw(t, "profile")
		r := model.Request{Tools: tools().Draw(t, "tools"), Messages: rapid.SliceOf(messages()).Draw(t, "messages")}
		again := r
		again.Tools = rapid.Permutation(r.Tools).Draw(t, "order")
		a, err := model.Encode(p, r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := model.Encode(p, again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("differ:\n%s\n%s", a, b)
		}
		if !json.Valid(a) {
			t.Fatalf("not JSON: %s", a)
		}
	})
}

// row L10: requests with a shared history share every byte of it (decisions § 4),
// so the tail of one turn never costs the next one its cache.
func TestSharedHistorySharesBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, kit := profiles().Draw(t, "profile"), tools().Draw(t, "tools")
		shared := rapid.SliceOfN(messages(), 1, 6).Draw(t, "history up to the input")
		encode := func(label string) []byte {
			rest := rapid.SliceOf(messages()).Draw(t, label)
			raw, err := model.Encode(p, model.Request{Tools: kit, CacheKey: "k", Messages: append(append([]model.Message{}, shared...), rest...)})
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		alone, err := model.Encode(p, model.Request{Tools: kit, CacheKey: "k", Messages: shared})
		if err != nil {
			t.Fatal(err)
		}
		prefix := bytes.TrimSuffix(alone, []byte("]}"))
		if first, second := encode("tail"), encode("next turn"); !bytes.HasPrefix(first, prefix) || !bytes.HasPrefix(second, prefix) {
			t.Fatalf("no shared prefix:\n%s\n%s\n%s", prefix, first, second)
		}
	})
}
