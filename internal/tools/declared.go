package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// declared is the `args` of a SQL tool: JSON schemas by name, in the order of the
// file.
type declared struct {
	list     []argument
	defaults map[string]any
	samples  map[string]any
}

type argument struct {
	name     brainfile.Word
	schema   map[string]any
	optional bool
}

// argumentName is what can stand after a colon in SQL.
var argumentName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,62}$`)

// keywords are those of JSON schema that mean something here. An unknown one would
// be passed over in silence.
func keywords() []string {
	return []string{"type", "description", "title", "default", "examples", "enum", "const", "format", "pattern", "minLength", "maxLength",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "items", "minItems", "maxItems", "uniqueItems",
		"properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "not"}
}

// readArguments reads args; nothing is no arguments.
func readArguments(n brainfile.Node) (declared, []attache.Problem) {
	out := declared{defaults: map[string]any{}, samples: map[string]any{}}
	if n == (brainfile.Node{}) {
		return out, nil
	}
	pairs, problems := n.Pairs()
	for _, p := range pairs {
		if out.has(p.Key.Text) {
			continue // twice, which Pairs has said
		}
		arg, wrong := readArgument(n, p)
		problems = append(problems, wrong...)
		out.list = append(out.list, arg)
		out.samples[p.Key.Text] = sample(arg.schema)
		if arg.optional {
			out.defaults[p.Key.Text] = arg.schema["default"]
			if arg.schema["default"] == nil {
				delete(arg.schema, "default") // null: an argument that is left out is null in SQL
			}
		}
	}
	return out, problems
}

// readArgument reads and judges one schema.
func readArgument(n brainfile.Node, p brainfile.Pair) (argument, []attache.Problem) {
	arg := argument{name: p.Key, schema: map[string]any{}}
	bad := func(what, do string) (argument, []attache.Problem) {
		return arg, []attache.Problem{n.WrongAt(p.Key, what, do)}
	}
	if !argumentName.MatchString(p.Key.Text) {
		return bad(fmt.Sprintf("%q cannot be the name of an argument", shown(p.Key.Text)), "use letters from a to z, digits and _")
	}
	if p.Value.Empty() || !p.Value.IsMap() {
		return bad(fmt.Sprintf("the argument %s has no schema", p.Key.Text), "write it as "+p.Key.Text+": { type: string, description: … }")
	}
	if problems := p.Value.Decode(&arg.schema); len(problems) > 0 {
		return arg, problems
	}
	keys, _ := p.Value.Pairs()
	for _, k := range keys {
		if !slices.Contains(keywords(), k.Key.Text) {
			return arg, []attache.Problem{n.WrongAt(k.Key, fmt.Sprintf("JSON schema has no %q here", shown(k.Key.Text)), brainfile.Suggest(k.Key.Text, keywords(), "remove it"))}
		}
	}
	if what, do := arg.misfit(); what != "" {
		return bad(what, do)
	}
	_, arg.optional = arg.schema["default"]
	return arg, nil
}

// misfit says what is wrong with a schema or its default.
func (a argument) misfit() (what, do string) {
	types := []string{"string", "integer", "number", "boolean", "array", "object", "null"}
	listed, _ := a.schema["type"].([]any)
	for _, t := range append(listed, a.schema["type"]) {
		if word, ok := t.(string); ok && !slices.Contains(types, word) {
			return fmt.Sprintf("the argument %s has the type %q", a.name.Text, shown(word)), brainfile.Suggest(word, types, "")
		}
	}
	if a.schema["type"] == nil && a.schema["enum"] == nil && a.schema["anyOf"] == nil && a.schema["oneOf"] == nil && a.schema["const"] == nil {
		return fmt.Sprintf("the argument %s has no type", a.name.Text), "add type: " + strings.Join(types[:4], ", ") + ", array or object"
	}
	whole := declared{list: []argument{a}}
	schema, err := resolve(whole.schema())
	if err != nil {
		return fmt.Sprintf("the schema of the argument %s cannot be used: %v", a.name.Text, err), "mend it"
	}
	given, ok := a.schema["default"]
	if !ok || given == nil {
		return "", ""
	}
	if err := check(schema, map[string]any{a.name.Text: given}); err != nil {
		return fmt.Sprintf("the default of the argument %s does not fit its own schema", a.name.Text), "change one of the two"
	}
	return "", ""
}

// check validates a value that was read from YAML as if it had come as JSON. A
// panic of the library is a no.
func check(schema interface{ Validate(any) error }, value any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be checked")
		}
	}()
	var plain any
	if err := json.Unmarshal([]byte(marshal(value)), &plain); err != nil {
		return err
	}
	return schema.Validate(plain)
}

func (d declared) has(name string) bool {
	return slices.ContainsFunc(d.list, func(a argument) bool { return a.name.Text == name })
}

// names lists the arguments.
func (d declared) names() []string {
	var out []string
	for _, a := range d.list {
		out = append(out, a.name.Text)
	}
	return out
}

// schema writes the JSON schema of all arguments: properties in the order of the
// file, everything else sorted, so that it is the same bytes in every process
// (decisions § 4.1).
func (d declared) schema() json.RawMessage {
	var properties, required []string
	for _, a := range d.list {
		properties = append(properties, marshal(a.name.Text)+":"+marshal(a.schema))
		if _, given := a.schema["default"]; !given && !a.optional {
			required = append(required, marshal(a.name.Text))
		}
	}
	out := `{"type":"object"`
	if len(properties) > 0 {
		out += `,"properties":{` + strings.Join(properties, ",") + `}`
	}
	if len(required) > 0 {
		out += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(out + `,"additionalProperties":false}`)
}

// sample gives some value of a schema's type.
func sample(schema map[string]any) any {
	word, _ := schema["type"].(string)
	if list, ok := schema["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	switch word {
	case "integer", "number":
		return json.Number("1")
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return "x"
}
