package tools

import (
	"testing"

	"attache"
)

// The bytes stand at the very front of every prompt, so they are pinned here: a
// library that orders keys otherwise would cost every cache (decisions § 4.1).
func TestSchemaBytes(t *testing.T) {
	type inner struct {
		Label string `json:"label"`
	}
	type args struct {
		Zeta   string         `json:"zeta" jsonschema:"the last, which comes first"`
		Alpha  *int           `json:"alpha,omitempty"`
		List   []string       `json:"list"`
		Rows   [][]inner      `json:"rows,omitempty"`
		Set    map[string]any `json:"set,omitempty"`
		Chat   Chat           `json:"chat,omitzero" jsonschema:"where, as tg:chat:<number>"`
		Thread *Thread        `json:"thread,omitempty"`
		On     bool           `json:"on,omitempty"`
		Share  float64        `json:"share,omitempty"`
		hidden int
	}
	_ = args{}.hidden
	const want = `{"type":"object","properties":{` +
		`"zeta":{"type":"string","description":"the last, which comes first"},` +
		`"alpha":{"type":"integer"},` +
		`"list":{"type":"array","items":{"type":"string"}},` +
		`"rows":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string"}},"required":["label"],"additionalProperties":false}}},` +
		`"set":{"type":"object","additionalProperties":true},` +
		`"chat":{"type":["string","integer"],"description":"where, as tg:chat:\u003cnumber\u003e"},` +
		`"thread":{"type":["string","integer"]},` +
		`"on":{"type":"boolean"},` +
		`"share":{"type":"number"}},` +
		`"required":["zeta","list"],"additionalProperties":false}`
	for range 20 {
		if got := string(Schema[args]()); got != want {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
	}
	if got, want := string(Schema[struct{}]()), `{"type":"object","additionalProperties":false}`; got != want {
		t.Errorf("no arguments: %s, want %s", got, want)
	}
}

func TestSchemaRefusesWhatHasNone(t *testing.T) {
	type loop struct {
		Next *loop `json:"next"`
	}
	for name, schema := range map[string]func(){
		"channel": func() { Schema[struct{ C chan int }]() },
		"cycle":   func() { Schema[loop]() },
		"string":  func() { Schema[string]() },
		"list":    func() { Schema[[]string]() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s has a schema", name)
				}
			}()
			schema()
		}()
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]attache.ChatID{
		`"tg:chat:-1001"`: -1001, `"-1001"`: -1001, `-1001`: -1001, `5`: 5, `"tg:chat:5"`: 5,
		`""`: 0, `0`: 0, `"tg:user:5"`: 0, `5.0`: 0, `"5 "`: 0, `9223372036854775808`: 0,
	} {
		var c Chat
		err := c.UnmarshalJSON([]byte(text))
		if attache.ChatID(c) != want || (err == nil) != (want != 0) {
			t.Errorf("%s is chat %d, %v", text, c, err)
		}
	}
	for text, want := range map[string]int64{
		`"42"`: 42, `42`: 42, `0`: 0, `"0"`: 0, `1`: 0, `"1"`: 0,
		`""`: -1, `"x"`: -1, `-5`: -1, `4.5`: -1, `9223372036854775808`: -1,
	} {
		var thread Thread
		err := thread.UnmarshalJSON([]byte(text))
		if (err != nil) != (want < 0) || err == nil && int64(thread) != want {
			t.Errorf("%s is thread %d, %v", text, thread, err)
		}
	}
}
