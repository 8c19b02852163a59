package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"attache/internal/brainfile"

	"github.com/google/jsonschema-go/jsonschema"
)

// explain finds words for the first misfit of a value below a schema, in an order
// that does not change, or gives "" when it knows none. It decides nothing: the
// value is known not to fit.
func explain(s *jsonschema.Schema, value any, at string) string {
	if s == nil {
		return ""
	}
	if want := types(s); len(want) > 0 && !isOneOf(value, want) {
		return fmt.Sprintf("%s and must be %s", is(at, value), either(want))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return jsonschema.Equal(e, value) }) {
		return fmt.Sprintf("%s is %s and must be one of %s", subject(at), literal(value), literals(s.Enum))
	}
	switch v := value.(type) {
	case map[string]any:
		return explainObject(s, v, at)
	case []any:
		return explainArray(s, v, at)
	case string:
		return explainString(s, v, at)
	case float64:
		return explainNumber(s, v, at)
	}
	return ""
}

// explainObject looks at unknown keys first: a mistyped name explains the missing
// one beside it.
func explainObject(s *jsonschema.Schema, v map[string]any, at string) string {
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if _, ok := s.Properties[key]; !ok && closed(s) {
			return unknownKey(key, known, at)
		}
	}
	for _, key := range s.Required {
		if _, ok := v[key]; !ok {
			return missing(s.Properties[key], field(at, key))
		}
	}
	for _, key := range known {
		if inner, given := v[key]; given {
			if what := explain(s.Properties[key], inner, field(at, key)); what != "" {
				return what
			}
		}
	}
	return ""
}

// closed reports whether a schema takes no keys but those it names.
func closed(s *jsonschema.Schema) bool {
	more := s.AdditionalProperties
	return more != nil && more.Not != nil && len(s.PatternProperties) == 0
}

func unknownKey(key string, known []string, at string) string {
	if len(known) == 0 {
		return fmt.Sprintf("%s takes no arguments, not even %q", orTool(at), shown(key))
	}
	advice := brainfile.Suggest(key, known, "see its schema")
	if at == "" {
		return fmt.Sprintf("there is no argument %q; %s", shown(key), advice)
	}
	return fmt.Sprintf("argument %s has no field %q; %s", at, shown(key), advice)
}

func orTool(at string) string {
	if at == "" {
		return "it"
	}
	return "argument " + at
}

func missing(s *jsonschema.Schema, at string) string {
	if s == nil || len(types(s)) == 0 {
		return fmt.Sprintf("argument %s is missing; give it", at)
	}
	return fmt.Sprintf("argument %s is missing; it must be %s", at, either(types(s)))
}

func explainArray(s *jsonschema.Schema, v []any, at string) string {
	switch {
	case s.MinItems != nil && len(v) < *s.MinItems:
		return fmt.Sprintf("%s has %d items and must have at least %d", subject(at), len(v), *s.MinItems)
	case s.MaxItems != nil && len(v) > *s.MaxItems:
		return fmt.Sprintf("%s has %d items and may have at most %d", subject(at), len(v), *s.MaxItems)
	}
	for i, inner := range v {
		if what := explain(s.Items, inner, item(at, i)); what != "" {
			return what
		}
	}
	return ""
}

func explainString(s *jsonschema.Schema, v, at string) string {
	n := utf8.RuneCountInString(v)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Sprintf("%s has %d characters and must have at least %d", subject(at), n, *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("%s has %d characters and may have at most %d", subject(at), n, *s.MaxLength)
	case s.Pattern != "" && !matches(s.Pattern, v):
		return fmt.Sprintf("%s is %s and must have the form %s", subject(at), literal(v), s.Pattern)
	}
	return ""
}

// matches reports whether a text has the form that a schema asks for.
func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return ok && err == nil
}

func explainNumber(s *jsonschema.Schema, v float64, at string) string {
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		return fmt.Sprintf("%s is %v and must be at least %v", subject(at), v, *s.Minimum)
	case s.Maximum != nil && v > *s.Maximum:
		return fmt.Sprintf("%s is %v and may be at most %v", subject(at), v, *s.Maximum)
	}
	return ""
}

// types gives the JSON types that a schema names, none when it takes any.
func types(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// typeOf gives the JSON type of a decoded value; a number without a fraction is
// an integer, as JSON Schema counts.
func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

func isOneOf(value any, want []string) bool {
	got := typeOf(value)
	return slices.Contains(want, got) || got == "integer" && slices.Contains(want, "number")
}

// is says what a value is, as "argument text is a number".
func is(at string, value any) string {
	if at == "" {
		return "its arguments are " + either([]string{typeOf(value)})
	}
	return subject(at) + " is " + either([]string{typeOf(value)})
}

func subject(at string) string {
	if at == "" {
		return "the whole of its arguments"
	}
	return "argument " + at
}

// either joins types with their articles: "a string or an integer".
func either(want []string) string {
	words := make([]string, len(want))
	for i, w := range want {
		switch w {
		case "null":
			words[i] = w
		case "array", "object", "integer":
			words[i] = "an " + w
		default:
			words[i] = "a " + w
		}
	}
	return strings.Join(words, " or ")
}

// literal writes a value as JSON, cut to fit into a sentence.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(shown(text))
	}
	b, err := json.Marshal(value)
	if err != nil {
		return typeOf(value)
	}
	return shown(string(b))
}

// literals lists the values of an enum, the first ones when there are many.
func literals(values []any) string {
	const most = 24
	var words []string
	for _, v := range values[:min(len(values), most)] {
		words = append(words, literal(v))
	}
	if len(values) > most {
		words = append(words, fmt.Sprintf("… (%d in all)", len(values)))
	}
	return strings.Join(words, ", ")
}
