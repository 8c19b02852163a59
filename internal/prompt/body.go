package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"attache"
)

// Values is what the body of a beat, a hook, a scenario or a slash command may
// name (interface § 3). Each is one JSON value, empty when there is none.
type Values struct {
	Event json.RawMessage   // {{ event.… }}: what happened
	Vars  json.RawMessage   // {{ vars.… }}: what the gate answered
	Input json.RawMessage   // {{ input.… }}: what was typed after a command
	Args  map[string]string // {{ args.… }}: MANIFEST args by dotted name
}

func bodyHeads() []string { return []string{"event", "vars", "input", "args"} }

// RenderBody puts values into the body of a beat, a hook, a scenario or a slash
// command and gives the input of its turn. The problems depend on the text and on
// Args alone, so a loader can check a body without an event. A field that an
// event does not have is empty.
//
// Values are put in once and never read for selectors again (matrix J10). Those
// of events, gates and people are escaped as in the envelope, so that they cannot
// open or close a block; Args are the author's own words and stand as they are.
// Objects and lists are printed as JSON with sorted keys.
func RenderBody(t Text, v Values) (string, []attache.Problem) {
	roots, problems := decode(t, v)
	args := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(v.Args)) {
		args[argName(name)] = v.Args[name]
	}
	var out strings.Builder
	for _, tok := range scan(t.Body) {
		if tok.mark == "" {
			out.WriteString(strings.ReplaceAll(tok.text, "\r\n", "\n"))
			continue
		}
		sel, wrong := read(t, tok, bodyHeads(), false)
		if wrong != nil {
			problems = append(problems, wrong...)
			continue
		}
		value, p := bodyValue(t, sel, roots, args)
		if p != nil {
			problems = append(problems, *p)
		}
		out.WriteString(value)
	}
	return out.String(), problems
}

// decode reads the JSON values; numbers keep their digits, so that a chat's
// number is never rounded.
func decode(t Text, v Values) (map[string]any, []attache.Problem) {
	roots := map[string]any{}
	var problems []attache.Problem
	for head, raw := range map[string]json.RawMessage{"event": v.Event, "vars": v.Vars, "input": v.Input} {
		roots[head] = nil
		if len(raw) == 0 {
			continue
		}
		var value any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			problems = append(problems, t.problem(0, "the value of "+head+" is not JSON: "+err.Error(), "give it as one JSON value"))
			continue
		}
		roots[head] = value
	}
	slices.SortFunc(problems, func(a, b attache.Problem) int { return strings.Compare(a.What, b.What) })
	return roots, problems
}

func bodyValue(t Text, sel selector, roots map[string]any, args map[string]string) (string, *attache.Problem) {
	head, _, _ := strings.Cut(sel.name, ".")
	root, known := roots[head]
	switch {
	case known:
		return escapeText(printed(walk(root, strings.Split(sel.raw, ".")[1:]))), nil
	case head == "args" && sel.name != "args":
		value, ok := tree(args, sel.name, "\n")
		if ok {
			return value, nil
		}
		p := t.problem(sel.at, "{{ "+sel.raw+" }} is not declared",
			suggest(nearest(sel.name, slices.Sorted(maps.Keys(args))), "declare it under args in MANIFEST.yaml"))
		return "", &p
	}
	p := t.problem(sel.at, "{{ "+sel.raw+" }} is no selector of a body",
		suggest(otherHead(sel.name, head, bodyHeads()),
			`begin it with event., vars., input. or args., or write \{{ for the braces themselves`))
	return "", &p
}

// walk follows a path into a JSON value. A key is taken as written, else the
// first by name that reads the same with case and - ignored.
func walk(value any, path []string) any {
	for _, part := range path {
		switch v := value.(type) {
		case map[string]any:
			value = field(v, part)
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func field(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	want, _ := normalise("_" + name)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if got, ok := normalise("_" + key); ok && got == want {
			return object[key]
		}
	}
	return nil
}

// printed gives a JSON value as a person would write it in a sentence.
func printed(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Sprint(value) // cannot happen: the value came out of JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}
