// Package schema knows the Bot API as data: which methods there are, which
// parameters they take, and whether a value is what the API says it is.
//
// It reads a small copy of the official description (README.md beside this file)
// once into linked shapes, so that checking a call costs microseconds: the
// simulator answers thousands of calls a second. It is a package of its own
// because it knows nothing of chats or people: the simulator uses it to judge
// calls, and its tests use it to judge the simulator's own updates and answers.
package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:generate go run ../trim -from ../../../../shared/telegram/bot-api-10.3.json -to bot-api.json

//go:embed bot-api.json
var description []byte

// API is the whole description, linked and ready to check calls.
type API struct {
	Version string // such as "Bot API 10.3"
	methods map[string]*Method
	shapes  map[string]*shape
}

// Method is one method: its proper name and what it returns.
type Method struct {
	Name    string
	Returns []string // alternatives, in the description's words: "Message", "Array of Update"
	params  *shape
	updates map[string]bool // kinds of update, for allowed_updates
}

// kind says how a shape is checked.
type kind int

const (
	object kind = iota
	integer
	float
	text
	boolean
	upload
	array
	union
)

// shape is a type with its parts linked instead of named.
type shape struct {
	kind   kind
	name   string
	fields map[string]*field
	order  []*field
	elem   *shape   // of an array
	alts   []*shape // of a union
}

// field is one field of an object or one parameter of a method.
type field struct {
	Name     string   `json:"name"`
	Types    []string `json:"types"`
	Required bool     `json:"required"`
	Enum     []any    `json:"enum"`
	Min      int      `json:"min"`
	Max      int      `json:"max"`
	Unit     string   `json:"unit"` // what Min and Max count: chars, parsed, bytes, items, value
	shape    *shape
	allowed  map[string]bool // Enum as text
}

type definition struct {
	Fields  []*field `json:"fields"`
	Union   []string `json:"union"`
	Returns []string `json:"returns"`
}

// Load reads the embedded description. Its error can only mean that the embedded
// file was damaged.
func Load() (*API, error) {
	var file struct {
		Version string                 `json:"version"`
		Methods map[string]*definition `json:"methods"`
		Types   map[string]*definition `json:"types"`
	}
	if err := json.Unmarshal(description, &file); err != nil {
		return nil, fmt.Errorf("bot-api.json: %w", err)
	}
	api := &API{Version: file.Version, methods: map[string]*Method{}, shapes: map[string]*shape{
		"Integer": {kind: integer, name: "Integer"}, "Float": {kind: float, name: "Float"},
		"String": {kind: text, name: "String"}, "Boolean": {kind: boolean, name: "Boolean"},
		"InputFile": {kind: upload, name: "InputFile"},
	}}
	for name := range file.Types {
		if api.shapes[name] == nil {
			api.shapes[name] = &shape{kind: object, name: name}
		}
	}
	for name, d := range file.Types {
		if err := api.link(api.shapes[name], d); err != nil {
			return nil, fmt.Errorf("bot-api.json: %s: %w", name, err)
		}
	}
	updates := map[string]bool{}
	for _, f := range api.shapes["Update"].order {
		updates[f.Name] = f.Name != "update_id"
	}
	for name, d := range file.Methods {
		m := &Method{Name: name, Returns: d.Returns, params: &shape{kind: object, name: name}, updates: updates}
		if err := api.link(m.params, d); err != nil {
			return nil, fmt.Errorf("bot-api.json: %s: %w", name, err)
		}
		api.methods[strings.ToLower(name)] = m
	}
	return api, nil
}

// Method finds a method without regard to case, as Telegram does.
func (a *API) Method(name string) (*Method, bool) {
	m, ok := a.methods[strings.ToLower(name)]
	return m, ok
}

// link fills a shape from its definition.
func (a *API) link(s *shape, d *definition) error {
	if s.kind != object {
		return nil
	}
	if len(d.Union) > 0 {
		alts, err := a.resolve(d.Union)
		s.kind, s.alts = union, alts
		return err
	}
	s.fields = make(map[string]*field, len(d.Fields))
	for _, f := range d.Fields {
		alts, err := a.resolve(f.Types)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		f.shape = join(alts)
		if len(f.Enum) > 0 {
			f.allowed = map[string]bool{}
			for _, v := range f.Enum {
				f.allowed[word(v)] = true
			}
		}
		s.fields[f.Name] = f
		s.order = append(s.order, f)
	}
	return nil
}

// join makes one shape of alternatives. "Array of A or array of B" is an array
// whose items may be either, as Telegram mixes them in an album.
func join(alts []*shape) *shape {
	if len(alts) == 1 {
		return alts[0]
	}
	items := &shape{kind: union, name: "item"}
	for _, a := range alts {
		if a.kind != array {
			return &shape{kind: union, name: "one of several", alts: alts}
		}
		items.alts = append(items.alts, a.elem)
	}
	return &shape{kind: array, name: "array", elem: items}
}

func (a *API) resolve(names []string) ([]*shape, error) {
	var out []*shape
	for _, name := range names {
		if of, ok := strings.CutPrefix(name, "Array of "); ok {
			elem, err := a.resolve([]string{of})
			if err != nil {
				return nil, err
			}
			out = append(out, &shape{kind: array, name: name, elem: elem[0]})
			continue
		}
		s := a.shapes[name]
		if s == nil {
			return nil, fmt.Errorf("type %q is not described", name)
		}
		out = append(out, s)
	}
	return out, nil
}

// word gives a JSON scalar as the text that a form would carry.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.0f", v)
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(v)
}
