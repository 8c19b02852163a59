package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxArguments is the most bytes of a call's arguments. A model that writes more
// than this is lost in a loop, or puts a file where a file's name belongs.
const maxArguments = 64 << 10

// maxDepth is how deep arguments may be nested. The work of a check and its words
// grow with the depth, and nothing that a tool needs is deeper.
const maxDepth = 32

// arguments gives what a model wrote as one JSON value. Several servers write
// nothing or null for a tool without arguments, which is the empty object.
func arguments(raw json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage(`{}`)
	}
	return trimmed
}

// present gives arguments without those that are null where the tool knows no null and
// needs no value: many models write null for what they leave out. Anything else stays
// as it is, byte for byte.
func (t entry) present(raw json.RawMessage) json.RawMessage {
	raw = arguments(raw)
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw
	}
	n := len(all)
	maps.DeleteFunc(all, func(name string, value json.RawMessage) bool { return string(value) == "null" && t.spares(name) })
	if len(all) == n {
		return raw
	}
	out, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return out
}

// spares reports whether null as an argument says nothing: it may be left out, and its
// types do not have null.
func (t entry) spares(name string) bool {
	s := t.schema.Schema()
	p := s.Properties[name]
	return p != nil && !slices.Contains(s.Required, name) && (p.Type != "" || len(p.Types) > 0) && p.Type != "null" && !slices.Contains(p.Types, "null")
}

// misfit says why arguments do not fit the schema, "" when they do. The schema's
// own library judges; explain only finds the words. A panic of the library is a
// no like any other.
func (t entry) misfit(raw json.RawMessage) (what string) {
	defer func() {
		if p := recover(); p != nil {
			what = "its arguments cannot be checked; call it with simpler ones"
		}
	}()
	if len(raw) > maxArguments {
		return fmt.Sprintf("its arguments are %d bytes long and at most %d are taken; write less, or in several calls", len(raw), maxArguments)
	}
	raw = arguments(raw)
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return notJSON(err)
	}
	if what := disorder(raw); what != "" {
		return what
	}
	if all, ok := value.(map[string]any); ok {
		maps.DeleteFunc(all, func(name string, v any) bool { return v == nil && t.spares(name) }) // as present does
	}
	err := t.schema.Validate(value)
	if err == nil {
		return ""
	}
	if what := explain(t.schema.Schema(), value, ""); what != "" {
		return what
	}
	return foreign(err)
}

// notJSON is the sentence on arguments that no JSON reader takes.
func notJSON(err error) string {
	const do = `write one JSON object, such as {"name":"value"}`
	var syntax *json.SyntaxError
	var number *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return "its arguments end before their JSON does; " + do + ", and less text if it was cut off"
	case errors.As(err, &syntax):
		return fmt.Sprintf("its arguments are not JSON at byte %d: %s; %s", syntax.Offset, syntax, do)
	case errors.As(err, &number):
		return "its arguments hold a number that is too large: " + shown(number.Value)
	}
	return "its arguments are not JSON; " + do
}

// disorder says what is wrong with arguments that are JSON and should not be used
// all the same: a key that an object holds twice, since readers disagree on which
// of the two counts and a person could be shown one and the tool do the other; and
// nesting without end.
func disorder(raw json.RawMessage) string {
	what, _ := disorderIn(json.NewDecoder(bytes.NewReader(raw)), "", 0)
	return what
}

// disorderIn reads one value. The text was read before, so an error only ends it.
func disorderIn(d *json.Decoder, at string, depth int) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	open, _ := token.(json.Delim)
	if open == 0 {
		return "", nil
	}
	if depth == maxDepth {
		return fmt.Sprintf("its arguments are nested deeper than %d levels; write them flatter", maxDepth), nil
	}
	seen := map[string]bool{}
	for i := 0; d.More(); i++ {
		inner := item(at, i)
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return "", err
			}
			key, _ := token.(string)
			inner = field(at, key)
			if seen[key] {
				return fmt.Sprintf("argument %s is given twice; give it once", inner), nil
			}
			seen[key] = true
		}
		if what, err := disorderIn(d, inner, depth+1); what != "" || err != nil {
			return what, err
		}
	}
	_, err = d.Token() // the closing bracket
	return "", err
}

// field and item give the path of what stands inside at, as in buttons[0][1].text.
func field(at, name string) string {
	if at == "" {
		return shown(name)
	}
	return at + "." + shown(name)
}

func item(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// foreign is the sentence on a misfit that only the schema's library has words
// for: combinations such as anyOf, in schemas that are not ours.
func foreign(err error) string {
	text := err.Error()
	where := "its arguments do not fit the schema"
	if _, after, ok := strings.Cut(text, "/properties/"); ok {
		if end := strings.IndexAny(after, "/:"); end > 0 {
			where = "argument " + shown(after[:end]) + " does not fit the schema"
		}
	}
	if i := strings.LastIndex(text, "validating "); i >= 0 {
		if _, rest, ok := strings.Cut(text[i:], ": "); ok {
			text = rest
		}
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return where + " (" + text + ")"
}
