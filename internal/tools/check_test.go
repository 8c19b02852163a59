package tools

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"attache"

	"pgregory.net/rapid"
)

// Every mistake has its sentence, the tool is not run, and one sentence is all.
func TestMistakes(t *testing.T) {
	var runs atomic.Int64
	none := Make(attache.Tool{Name: "none", Capability: "note:write", Risk: attache.RiskSafe}, func(_ context.Context, _ attache.Call, _ struct{}) attache.Result {
		runs.Add(1)
		return attache.OK(nil)
	})
	foreign := tool("mcp__find", "note:write", attache.RiskSafe, nil)
	foreign.Schema = json.RawMessage(`{"type":"object","properties":{
		"kind":{"enum":["bug","wish",3]},"n":{"type":"number","minimum":1,"maximum":9},"id":{"type":"string","pattern":"^T-[0-9]+$"},
		"s":{"type":"string","minLength":2,"maxLength":3},"l":{"type":"array","minItems":1,"maxItems":2},
		"who":{"anyOf":[{"type":"string"},{"type":"integer"}]},"when":{"type":["string","null"]}},"required":["id"]}`)
	r := registry(t, noted("note", &runs), none, foreign,
		tool("wide", "access:widen", attache.RiskSafe, nil))
	grant := Grant{Capabilities: []string{"note:write"}}
	for _, c := range []struct{ tool, args, want string }{
		{"nota", `{}`, `there is no tool "nota"; did you mean note?`},
		{"wild", `{}`, `there is no tool "wild"; the right ones are mcp__find, none, note`}, // never a tool it may not call
		{strings.Repeat("é", 99), `{}`, `there is no tool "` + strings.Repeat("é", 64) + `…"; the right ones are mcp__find, none, note`},
		{"wide", `{}`, "wide was not run: the role support lacks the capability access:widen, which only the role's file can give; do without it"},

		{"note", `{"text":"a"`, `note was not run: its arguments end before their JSON does; write one JSON object, such as {"name":"value"}, and less text if it was cut off`},
		{"note", `{"text":"a"}}`, `note was not run: its arguments are not JSON at byte 13: invalid character '}' after top-level value; write one JSON object, such as {"name":"value"}`},
		{"note", `{"text":"a"}{"text":"b"}`, `note was not run: its arguments are not JSON at byte 13: invalid character '{' after top-level value; write one JSON object, such as {"name":"value"}`},
		{"note", `{text:"a"}`, `note was not run: its arguments are not JSON at byte 2: invalid character 't' looking for beginning of object key string; write one JSON object, such as {"name":"value"}`},
		{"note", `{"text":"a","n":1e999}`, `note was not run: its arguments hold a number that is too large: number 1e999`},
		{"note", `["a"]`, "note was not run: its arguments are an array and must be an object"},
		{"note", `"text"`, "note was not run: its arguments are a string and must be an object"},
		{"note", `7`, "note was not run: its arguments are an integer and must be an object"},

		{"note", ``, "note was not run: argument text is missing; it must be a string"},
		{"note", ` null `, "note was not run: argument text is missing; it must be a string"},
		{"note", `{}`, "note was not run: argument text is missing; it must be a string"},
		{"note", `{"txt":"a"}`, `note was not run: there is no argument "txt"; did you mean text?`},
		{"note", `{"Text":"a"}`, `note was not run: there is no argument "Text"; did you mean text?`},
		{"note", `{"text":"a","zebra":1,"about":2}`, `note was not run: there is no argument "about"; the right ones are chat, kind, n, rows, tags, text, thread`},
		{"none", `{"a":1}`, `none was not run: it takes no arguments, not even "a"`},
		{"note", `{"text":5}`, "note was not run: argument text is an integer and must be a string"},
		{"note", `{"text":null}`, "note was not run: argument text is null and must be a string"},
		{"note", `{"text":"a","n":1.5}`, "note was not run: argument n is a number and must be an integer"},
		{"note", `{"text":"a","n":"1"}`, "note was not run: argument n is a string and must be an integer"},
		{"note", `{"text":"a","tags":[null]}`, "note was not run: argument tags[0] is null and must be a string"},
		{"note", `{"text":"a","none":null}`, `note was not run: there is no argument "none"; the right ones are chat, kind, n, rows, tags, text, thread`},
		{"note", `{"text":"a","tags":"x"}`, "note was not run: argument tags is a string and must be an array"},
		{"note", `{"text":"a","tags":["x",{}]}`, "note was not run: argument tags[1] is an object and must be a string"},
		{"note", `{"text":"a","rows":[[{"text":"b"},{"label":"c"}]]}`, `note was not run: argument rows[0][1] has no field "label"; the right ones are text, url`},
		{"note", `{"text":"a","rows":[[],[{"url":"c"}]]}`, `note was not run: argument rows[1][0].text is missing; it must be a string`},
		{"note", `{"text":"a","chat":true}`, "note was not run: argument chat is a boolean and must be a string or an integer"},
		{"note", `{"text":"a","text":"b"}`, "note was not run: argument text is given twice; give it once"},
		{"note", `{"text":"a","rows":[[{"text":"b","te\u0078t":"c"}]]}`, "note was not run: argument rows[0][0].text is given twice; give it once"},
		{"note", `{"text":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`, "note was not run: its arguments are nested deeper than 32 levels; write them flatter"},
		{"note", `{"text":"` + strings.Repeat("a", 64<<10) + `"}`, "note was not run: its arguments are 65547 bytes long and at most 65536 are taken; write less, or in several calls"},

		{"mcp__find", `{"kind":"bog","id":"T-1"}`, `mcp__find was not run: argument kind is "bog" and must be one of "bug", "wish", 3`},
		{"mcp__find", `{"n":0.5,"id":"T-1"}`, "mcp__find was not run: argument n is 0.5 and must be at least 1"},
		{"mcp__find", `{"n":10,"id":"T-1"}`, "mcp__find was not run: argument n is 10 and may be at most 9"},
		{"mcp__find", `{"id":"481"}`, `mcp__find was not run: argument id is "481" and must have the form ^T-[0-9]+$`},
		{"mcp__find", `{"id":"T-1","s":"ü"}`, "mcp__find was not run: argument s has 1 characters and must have at least 2"},
		{"mcp__find", `{"id":"T-1","s":"üüüü"}`, "mcp__find was not run: argument s has 4 characters and may have at most 3"},
		{"mcp__find", `{"id":"T-1","l":[]}`, "mcp__find was not run: argument l has 0 items and must have at least 1"},
		{"mcp__find", `{"id":"T-1","l":[1,2,3]}`, "mcp__find was not run: argument l has 3 items and may have at most 2"},
		{"mcp__find", `{"id":"T-1","when":5}`, "mcp__find was not run: argument when is an integer and must be a string or null"},
		{"mcp__find", `{"id":"T-1","who":[]}`, `mcp__find was not run: argument who does not fit the schema (type: [] has type "array", want "integer")`},
	} {
		result, err := r.Run(t.Context(), call(c.tool, c.args), grant)
		if got := sentence(t, result); got != c.want || err != nil {
			t.Errorf("%s %.80s:\n got %s (%v)\nwant %s", c.tool, c.args, got, err, c.want)
		}
	}
	if n := runs.Load(); n != 0 {
		t.Errorf("%d refused calls were run", n)
	}
}

func TestRightArgumentsRun(t *testing.T) {
	var runs atomic.Int64
	r := registry(t, noted("note", &runs))
	for i, args := range []string{
		`{"text":""}`,
		` {"text":"a","kind":"b","n":-3,"tags":[],"rows":[[{"text":"c"}],[]],"chat":"tg:chat:-1001","thread":"0"} `,
		`{"text":"a","chat":-1001,"thread":42}`,
		`{"text":"a","kind":null,"n":null,"tags":null,"rows":null,"chat":null,"thread":null}`,
		`{"text":"` + strings.Repeat("a", 64<<10-11) + `"}`,
	} {
		result, err := r.Run(t.Context(), call("note", args), all())
		if err != nil || result.Text != `{"ok":true}` || runs.Load() != int64(i+1) {
			t.Errorf("%.80s: %s %v, %d runs", args, result.Text, err, runs.Load())
		}
	}
}

// What fits a schema and not a Go type is a refusal of its own.
func TestArgumentsThatOnlyTheSchemaTakes(t *testing.T) {
	var runs atomic.Int64
	r := registry(t, noted("note", &runs))
	for args, want := range map[string]string{
		`{"text":"a","n":1.0}`:                                  "note was not run: argument n is number 1.0; write it as a plain number without fraction or exponent",
		`{"text":"a","n":123456789012345678901234567890}`:       "note was not run: argument n is number 123456789012345678901234567890; write it as a plain number without fraction or exponent",
		`{"text":"a","chat":"the other one"}`:                   `note was not run: "the other one" is not a chat; write tg:chat:<number> or the number alone`,
		`{"text":"a","chat":0}`:                                 `note was not run: "0" is not a chat; write tg:chat:<number> or the number alone`,
		`{"text":"a","chat":1e3}`:                               `note was not run: "1e3" is not a chat; write tg:chat:<number> or the number alone`,
		`{"text":"a","thread":"general"}`:                       `note was not run: "general" is not a thread; write the topic's number, or 0 for General`,
		`{"text":"a","thread":-1}`:                              `note was not run: "-1" is not a thread; write the topic's number, or 0 for General`,
		`{"text":"a","chat":"` + strings.Repeat("9", 40) + `"}`: `note was not run: "` + strings.Repeat("9", 40) + `" is not a chat; write tg:chat:<number> or the number alone`,
	} {
		result, err := r.Run(t.Context(), call("note", args), all())
		if got := sentence(t, result); got != want || err != nil {
			t.Errorf("%s:\n got %s (%v)\nwant %s", args, got, err, want)
		}
	}
	if n := runs.Load(); n != 0 {
		t.Errorf("%d refused calls were run", n)
	}
}

// Nobody can approve yet, so what needs an approval is refused at once; a role's
// word counts, except on access_widen, and a word that nobody knows frees nothing.
func TestApprovalsFailClosed(t *testing.T) {
	var runs atomic.Int64
	count := noted("x", &runs).Run
	with := func(name string, risk attache.Risk) attache.Tool {
		tool := noted(name, &runs)
		tool.Risk, tool.Run = risk, count
		return tool
	}
	r := registry(t, with("safe", attache.RiskSafe), with("moderate", attache.RiskModerate), with("dangerous", attache.RiskDangerous),
		with("access_widen", attache.RiskSafe)) // even if somebody calls it safe
	for _, c := range []struct {
		tool, word string
		runs       bool
	}{
		{"safe", "", true}, {"moderate", "", true}, {"dangerous", "", false}, {"access_widen", "", false},
		{"safe", "ask", false}, {"moderate", "ask", false}, {"dangerous", "ask", false}, {"access_widen", "ask", false},
		{"safe", "never", true}, {"moderate", "never", true}, {"dangerous", "never", true}, {"access_widen", "never", false},
		{"safe", "maybe", false}, {"dangerous", "Never", false},
	} {
		runs.Store(0)
		g := all()
		if c.word != "" {
			g.Approvals = map[string]string{c.tool: c.word}
		}
		result, err := r.Run(t.Context(), call(c.tool, `{"text":"a"}`), g)
		want := ""
		if !c.runs {
			want = c.tool + " was not run: it needs an approval and nobody can approve here; do without it, and say what you would have done"
		}
		if got := sentence(t, result); got != want || err != nil || (runs.Load() == 1) != c.runs {
			t.Errorf("%s with %q: %q (%v), %d runs", c.tool, c.word, got, err, runs.Load())
		}
	}
}

// Whatever a model writes: no panic, a JSON object as result, and a tool that was
// refused was not run.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{``, `null`, `{}`, `{"text":"a"}`, `{"text":1}`, `{"text":"a","rows":[[{"text":"b"}]]}`, `[[[[`, `{"text":"a","n":1e308}`,
		`{"text":"\ud800"}`, "{\"text\":\"\xff\"}", `{"text":"a","chat":"tg:chat:-1"}`, `{"":{}}`, `{"text":"a","text":"b"}`, strings.Repeat(`{"a":`, 9999)} {
		f.Add(s)
	}
	var runs atomic.Int64
	r := registry(f, noted("note", &runs))
	f.Fuzz(func(t *testing.T, args string) {
		before := runs.Load()
		result, err := r.Run(t.Context(), call("note", args), all())
		ran := runs.Load() - before
		if got := sentence(t, result); err != nil || ran != 0 && got != "" || ran != 1 && got == "" {
			t.Errorf("%q: %d runs and %q (%v)", args, ran, got, err)
		}
		if ran == 1 {
			var n note
			if json.Unmarshal(arguments(json.RawMessage(args)), &n) != nil {
				t.Errorf("%q was run", args)
			}
		}
	})
}

// Schemas that are not ours may say anything, and so may the model.
func TestAnySchemaAnyArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema := marshal(schemas(2).Draw(t, "schema"))
		value := marshal(values(3).Draw(t, "arguments"))
		ran := 0
		tool := tool("any", "x", attache.RiskSafe, func(context.Context, attache.Call) attache.Result {
			ran++
			return attache.OK(nil)
		})
		tool.Schema = json.RawMessage(`{"type":"object","properties":{"a":` + schema + `,"b":` + schema + `},"required":["a"],"additionalProperties":false}`)
		r, err := New(Owned{"rapid", []attache.Tool{tool}})
		if err != nil {
			t.Skip(err)
		}
		result, err := r.Run(t.Context(), call("any", value), all())
		var fields struct {
			OK    bool
			Error string
		}
		if json.Unmarshal([]byte(result.Text), &fields) != nil || fields.OK != (ran == 1) || fields.OK == (fields.Error != "") || err != nil {
			t.Fatalf("%s on %s: %d runs, %s (%v)", value, tool.Schema, ran, result.Text, err)
		}
	})
}

// values draws a JSON value, often an object with the keys that schemas name.
func values(deep int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.StringN(0, 4, 9), toAny[string]),
		rapid.Map(rapid.Int64(), toAny[int64]), rapid.Map(rapid.Float64(), toAny[float64]),
	}
	if deep == 0 {
		return rapid.OneOf(scalars...)
	}
	key := rapid.SampledFrom([]string{"a", "b", "c", ""})
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(values(deep-1), 0, 3), toAny[[]any]),
		rapid.Map(rapid.MapOfN(key, values(deep-1), 0, 3), toAny[map[string]any]),
		rapid.Map(rapid.MapOfN(key, values(deep-1), 0, 3), toAny[map[string]any]))...)
}

// schemas draws a schema from the keywords that servers use.
func schemas(deep int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		s := map[string]any{}
		for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"type", "types", "enum", "const", "minimum", "multipleOf", "maxLength", "pattern", "items", "uniqueItems", "properties", "closed", "anyOf", "not", "ref", "required"}), 0, 4, rapid.ID[string]).Draw(t, "words") {
			switch word {
			case "type":
				s["type"] = rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "array", "object", "null"}).Draw(t, word)
			case "types":
				s["type"] = []string{"null", "array"}
			case "enum":
				s["enum"] = rapid.SliceOfN(values(1), 0, 3).Draw(t, word)
			case "const":
				s["const"] = values(1).Draw(t, word)
			case "minimum", "multipleOf":
				s[word] = rapid.Float64Range(-9, 9).Draw(t, word)
			case "maxLength":
				s[word] = rapid.IntRange(0, 3).Draw(t, word)
			case "pattern":
				s[word] = "^[a-" + strconv.Itoa(rapid.IntRange(0, 9).Draw(t, word)) + "z]*$"
			case "uniqueItems":
				s[word] = true
			case "closed":
				s["additionalProperties"] = false
			case "required":
				s[word] = []string{"a"}
			case "ref":
				s["$ref"] = rapid.SampledFrom([]string{"#", "#/properties/a", "#/properties/b", "#/properties/a/items", "#/properties/b/anyOf/0"}).Draw(t, word)
			default:
				if deep == 0 {
					continue
				}
				inner := schemas(deep-1).Draw(t, word)
				switch word {
				case "items", "not":
					s[word] = inner
				case "properties":
					s[word] = map[string]any{"a": inner, "c": inner}
				case "anyOf":
					s[word] = []any{inner, map[string]any{"type": "string"}}
				}
			}
		}
		return s
	})
}

func toAny[T any](v T) any { return v }
