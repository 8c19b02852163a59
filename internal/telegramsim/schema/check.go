package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Problem is one thing that is wrong with a call. Rule is for code: unknown,
// required, type, enum, min, max or prose.
type Problem struct {
	Param string // path, such as reply_markup.inline_keyboard[0][0].callback_data
	Rule  string
	What  string // a whole sentence without its full stop
}

// checker collects the problems of one value and the files it names.
type checker struct {
	problems []Problem
	attached map[string]bool
	lax      bool // reading our own output: shapes and allowed values, no limits, no prose
}

func (c *checker) add(param, rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{param, rule, fmt.Sprintf(format, args...)})
}

// Check judges a call against the description (telegram/README steps 3-8) and
// turns form texts into JSON of the proper types. The result is empty for a call
// that the documentation allows.
func (m *Method) Check(p *Params) []Problem {
	c := &checker{}
	decoded := make(map[string]any, len(p.values))
	for name, raw := range p.values {
		f := m.params.fields[name]
		if f == nil {
			c.add(name, "unknown", "%s has no parameter %q", m.Name, name)
			continue
		}
		value, canonical, drop := c.fromForm(f, raw)
		if drop {
			delete(p.values, name)
			continue
		}
		p.values[name] = canonical
		decoded[name] = value
		c.field(f, value, name, isParsed(p.values, name))
	}
	for _, f := range m.params.order {
		_, file := p.Files[f.Name]
		if _, value := decoded[f.Name]; f.Required && !value && !file && p.values[f.Name] == nil {
			c.add(f.Name, "required", "%s needs %q", m.Name, f.Name)
		}
	}
	c.files(m, p)
	c.prose(m, decoded)
	slices.SortFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Param+a.Rule, b.Param+b.Rule) })
	return c.problems
}

// CheckType judges a JSON value against a named type, for the simulator's own
// updates and answers. "Array of X" and alternatives in returns are understood.
func (a *API) CheckType(names []string, raw []byte) []Problem {
	alts, err := a.resolve(names)
	if err != nil {
		return []Problem{{Rule: "type", What: err.Error()}}
	}
	v, err := decode(raw)
	if err != nil {
		return []Problem{{Rule: "type", What: err.Error()}}
	}
	c := &checker{lax: true}
	c.value(join(alts), v, names[0])
	return c.problems
}

// isParsed reports whether a parse mode will shorten the text of a parameter.
func isParsed(values map[string]json.RawMessage, name string) bool {
	_, plain := values["parse_mode"]
	_, own := values[name+"_parse_mode"]
	return plain || own
}

// fromForm turns a text into the JSON its parameter wants. An empty text for an
// optional parameter is none at all, as clients send it.
func (c *checker) fromForm(f *field, raw json.RawMessage) (value any, canonical json.RawMessage, drop bool) {
	value, err := decode(raw)
	if err != nil {
		c.add(f.Name, "type", "parameter %q is not JSON: %v", f.Name, err)
		return nil, raw, false
	}
	s, isText := value.(string)
	if !isText {
		return value, raw, false
	}
	if s == "" && !f.Required {
		return nil, nil, true
	}
	if accepts(f.shape, integer) {
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			return json.Number(s), json.RawMessage(s), false
		}
	}
	if accepts(f.shape, text) || accepts(f.shape, upload) {
		return s, raw, false
	}
	if f.shape.kind == boolean {
		return c.truth(f, s, raw)
	}
	inner, err := decode([]byte(s))
	if err != nil {
		c.add(f.Name, "type", "parameter %q must be %s and its text is not: %v", f.Name, f.shape.name, err)
		return s, raw, false
	}
	return inner, json.RawMessage(s), false
}

func (c *checker) truth(f *field, s string, raw json.RawMessage) (any, json.RawMessage, bool) {
	switch strings.ToLower(s) {
	case "true", "1", "yes":
		return true, json.RawMessage("true"), false
	case "false", "0", "no":
		return false, json.RawMessage("false"), false
	}
	return s, raw, false
}

func accepts(s *shape, k kind) bool {
	if s.kind != union {
		return s.kind == k
	}
	return slices.ContainsFunc(s.alts, func(a *shape) bool { return a.kind == k })
}

func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON value")
	}
	return v, nil
}

// field checks a value against its field: type, allowed values and limits.
func (c *checker) field(f *field, v any, path string, parsed bool) {
	before := len(c.problems)
	c.value(f.shape, v, path)
	if len(c.problems) > before {
		return
	}
	if f.allowed != nil && !f.allowed[word(v)] {
		c.add(path, "enum", "parameter %q is %q; it must be one of %v", path, word(v), f.Enum)
	}
	if !c.lax {
		c.limits(f, v, path, parsed)
	}
}

func (c *checker) limits(f *field, v any, path string, parsed bool) {
	if f.Unit == "" {
		return
	}
	n := 0
	switch v := v.(type) {
	case string:
		if n = len(v); f.Unit != "bytes" {
			n = units(v)
		}
	case []any:
		n = len(v)
	case json.Number:
		whole, err := v.Int64()
		if err != nil {
			return
		}
		n = int(whole)
	}
	switch {
	case n < f.Min:
		c.add(path, "min", "parameter %q has %d %s; %d-%d are allowed", path, n, f.Unit, f.Min, f.Max)
	case n > f.Max && !(f.Unit == "parsed" && parsed):
		c.add(path, "max", "parameter %q has %d %s; %d-%d are allowed", path, n, f.Unit, f.Min, f.Max)
	}
}

// value checks a decoded value against a shape.
func (c *checker) value(s *shape, v any, path string) {
	switch s.kind {
	case object:
		c.object(s, v, path)
	case union:
		c.union(s, v, path)
	case array:
		items, ok := v.([]any)
		if !ok {
			c.wrong(s, v, path)
			return
		}
		for i, item := range items {
			c.value(s.elem, item, path+"["+strconv.Itoa(i)+"]")
		}
	default:
		c.scalar(s, v, path)
	}
}

func (c *checker) scalar(s *shape, v any, path string) {
	ok := false
	switch s.kind {
	case integer:
		if n, is := v.(json.Number); is {
			_, err := n.Int64()
			ok = err == nil
		}
	case float:
		_, ok = v.(json.Number)
	case boolean:
		_, ok = v.(bool)
	case text:
		var t string
		if t, ok = v.(string); ok {
			c.attach(t)
		}
	case upload:
		var t string
		if t, ok = v.(string); ok {
			ok = strings.HasPrefix(t, "attach://")
			c.attach(t)
		}
	}
	if !ok {
		c.wrong(s, v, path)
	}
}

func (c *checker) attach(t string) {
	if name, ok := strings.CutPrefix(t, "attach://"); ok {
		if c.attached == nil {
			c.attached = map[string]bool{}
		}
		c.attached[name] = true
	}
}

func (c *checker) wrong(s *shape, v any, path string) {
	short := fmt.Sprint(v)
	if len(short) > 60 {
		short = short[:60] + "…"
	}
	c.add(path, "type", "parameter %q is %q; it must be %s", path, short, s.name)
}

func (c *checker) object(s *shape, v any, path string) {
	m, ok := v.(map[string]any)
	if !ok {
		c.wrong(s, v, path)
		return
	}
	_, parsed := m["parse_mode"]
	for _, name := range slices.Sorted(keys(m)) {
		f := s.fields[name]
		if f == nil {
			c.add(path+"."+name, "unknown", "%s has no field %q (at %s)", s.name, name, path)
			continue
		}
		if m[name] != nil {
			c.field(f, m[name], path+"."+name, parsed || m[name+"_parse_mode"] != nil)
		}
	}
	for _, f := range s.order {
		if f.Required && m[f.Name] == nil {
			c.add(path+"."+f.Name, "required", "%s needs %q (at %s)", s.name, f.Name, path)
		}
	}
	if !c.lax {
		c.proseOf(s, m, path)
	}
}

// union takes the alternatives that the value's own type, status or source names,
// else all of them, and reports the problems of the one that fits best.
func (c *checker) union(s *shape, v any, path string) {
	var best *checker
	for _, alt := range candidates(s.alts, v) {
		try := &checker{lax: c.lax}
		try.value(alt, v, path)
		if best == nil || len(try.problems) < len(best.problems) {
			best = try
		}
		if len(try.problems) == 0 {
			break
		}
	}
	if best == nil {
		c.wrong(s, v, path)
		return
	}
	c.problems = append(c.problems, best.problems...)
	for name := range best.attached {
		c.attach("attach://" + name)
	}
}

// candidates never tries an alternative that goes by a name which the object does
// not give: trying them all, level by level, would take a nested value forever.
func candidates(alts []*shape, v any) []*shape {
	m, isObject := v.(map[string]any)
	var free, named []*shape
	for _, alt := range alts {
		switch {
		case isObject != (alt.kind == object || alt.kind == union):
		case isObject && alt.tagged():
			if alt.named(m) {
				named = append(named, alt)
			}
		default:
			free = append(free, alt)
		}
	}
	if len(named) > 0 {
		return named
	}
	return free
}

// tagged reports whether objects of this shape name themselves.
func (s *shape) tagged() bool {
	if s.kind == union {
		return slices.ContainsFunc(s.alts, (*shape).tagged)
	}
	return s.tag() != nil
}

// named reports whether an object says by its type, status or source that it is
// of this shape.
func (s *shape) named(m map[string]any) bool {
	if s.kind == union {
		return slices.ContainsFunc(s.alts, func(a *shape) bool { return a.named(m) })
	}
	f := s.tag()
	return f != nil && word(m[f.Name]) == word(f.Enum[0])
}

// tag gives the field by which objects of this shape name themselves, if any.
func (s *shape) tag() *field {
	for _, name := range []string{"type", "status", "source"} {
		if f := s.fields[name]; f != nil && len(f.Enum) == 1 {
			return f
		}
	}
	return nil
}

// files checks that every upload is wanted and every attach:// name is there.
func (c *checker) files(m *Method, p *Params) {
	for name := range p.Files {
		if f := m.params.fields[name]; f != nil && accepts(f.shape, upload) || c.attached[name] {
			continue
		}
		c.add(name, "unknown", "%s uploads a file %q that no parameter names", m.Name, name)
	}
	for name := range c.attached {
		if _, there := p.Files[name]; !there {
			c.add(name, "required", "attach://%s names a file that was not uploaded", name)
		}
	}
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// units counts UTF-16 code units, Telegram's unit of length.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
