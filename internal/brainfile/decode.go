package brainfile

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"attache"
)

// Decode fills the struct, map or slice that into points to, and gives every
// mistake that it finds on the way. What is not given keeps the value that into
// had, so defaults are filled in beforehand.
//
// A struct's fields are named by tags: `yaml:"chars" min:"1"`, `yaml:"role,required"`,
// `yaml:"format" oneof:"auto,rich,entities"`. Embedded structs lend their fields. A
// field takes text as written (string, [Word], an encoding.TextUnmarshaler),
// true and false, numbers in plain digits, a length of time with its unit
// (time.Duration: 1200ms, 2s, 7d), lists, mappings by name, a [Node] for its owner
// to look at, or plain values (any). A field of type [Words] takes one text or a
// list. Numbers and times are never negative. A pointer stays nil when the key is
// not there. Where the advice on a required key that is missing would else be to add
// it, a tag `do:"add agent: <role>"` says it better.
func (n Node) Decode(into any) []attache.Problem {
	d := decoder{}
	v := reflect.ValueOf(into).Elem()
	name := n.name()
	if n.yaml == nil && v.Kind() == reflect.Struct {
		d.record(n, v, name)
	} else {
		d.value(n, v, name, "")
	}
	slices.SortStableFunc(d.problems, func(a, b attache.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return d.problems
}

// Words takes one text or a list of texts.
type Words []Word

type decoder struct{ problems []attache.Problem }

func (d *decoder) wrong(n Node, what, do string) { d.problems = append(d.problems, n.Wrong(what, do)) }

// value fills v from n. name is what the messages call it.
func (d *decoder) value(n Node, v reflect.Value, name string, tag reflect.StructTag) {
	if node, ok := v.Addr().Interface().(*Node); ok {
		*node = n
		return
	}
	if v.Kind() == reflect.Interface {
		if plain := d.plain(n); plain != nil {
			v.Set(reflect.ValueOf(plain))
		}
		return
	}
	if n.Empty() {
		d.wrong(n, name+" has no value", "write one, or leave the key out")
		return
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		before := len(d.problems)
		if d.value(n, fresh.Elem(), name, tag); len(d.problems) == before {
			v.Set(fresh)
		}
		return
	}
	switch at := v.Addr().Interface().(type) {
	case *Word:
		if word, ok := d.text(n, name); ok && d.allowed(n, word.Text, name, tag) {
			*at = word
		}
	case *Words:
		d.words(n, at, name, tag)
	case *time.Duration:
		d.duration(n, at, name, tag)
	case encoding.TextUnmarshaler:
		d.own(n, at, name)
	default:
		d.plainKind(n, v, name, tag)
	}
}

// plainKind fills values of Go's own kinds.
func (d *decoder) plainKind(n Node, v reflect.Value, name string, tag reflect.StructTag) {
	switch v.Kind() {
	case reflect.Struct:
		d.record(n, v, name)
	case reflect.Map:
		d.table(n, v, name, tag)
	case reflect.Slice:
		d.list(n, v, name, tag)
	case reflect.String:
		if word, ok := d.text(n, name); ok && d.allowed(n, word.Text, name, tag) {
			v.SetString(word.Text)
		}
	case reflect.Bool:
		d.truth(n, v, name)
	case reflect.Int, reflect.Int64, reflect.Float64:
		d.number(n, v, name, tag)
	default:
		panic("brainfile: no way to read a " + v.Type().String())
	}
}

// A field is one key that a struct takes.
type field struct {
	value    reflect.Value
	tag      reflect.StructTag
	required bool
}

// fields lists the keys of a struct, those of embedded structs included, and sets
// each Lines among its fields to lines.
func fields(v reflect.Value, lines Lines, into map[string]field) map[string]field {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Type == reflect.TypeFor[Lines]():
			v.Field(i).Set(reflect.ValueOf(lines))
		case f.Anonymous && f.Type.Kind() == reflect.Struct && name == "":
			fields(v.Field(i), lines, into)
		case name != "":
			into[name] = field{v.Field(i), f.Tag, options == "required"}
		}
	}
	return into
}

// record fills a struct. It goes on after each mistake, so that all are found.
func (d *decoder) record(n Node, v reflect.Value, name string) {
	lines, meant := Lines{}, map[string]bool{}
	known := fields(v, lines, map[string]field{})
	if !n.IsMap() {
		d.noMap(n, name, known)
		return
	}
	pairs, problems := n.Pairs()
	d.problems = append(d.problems, problems...)
	for _, p := range pairs {
		f, ok := known[p.Key.Text]
		switch {
		case !ok:
			meant[Nearest(p.Key.Text, required(known))] = true // one mistake, one sentence
			d.problems = append(d.problems, n.WrongAt(p.Key, fmt.Sprintf("the key %q is not known here", brief(p.Key.Text)), Suggest(p.Key.Text, names(known), "remove it")))
		case lines[p.Key.Text] == 0:
			lines[p.Key.Text] = p.Key.Line
			d.value(placed(p), f.value, p.Key.Text, f.tag)
		}
	}
	for _, name := range required(known) {
		if lines[name] == 0 && !meant[name] {
			d.wrong(n, fmt.Sprintf("the key %q is missing", name), toAdd(name, known[name]))
		}
	}
}

// toAdd is the advice on a required key that is missing: what its owner says, else
// the words that it takes.
func toAdd(name string, f field) string {
	if do := f.tag.Get("do"); do != "" {
		return do
	}
	words := strings.Split(f.tag.Get("oneof"), ",")
	if last := len(words) - 1; last > 0 {
		return "add " + name + ": " + strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return "add it"
}

// noMap says that keys belong where something else stands; known are those keys. One
// text, where one key must be given, was most likely meant as its value.
func (d *decoder) noMap(n Node, name string, known map[string]field) {
	do := "write it as key: value, one on a line"
	word, isText := n.Text()
	if must := required(known); isText && len(must) == 1 && word.Text == brief(word.Text) && word.Text != "" {
		do = "{ " + must[0] + ": " + known[must[0]].written(word.Text) + " }"
		if n.key != "" {
			do = scalar(n.key) + ": " + do
		}
		do = "write it as " + do
	}
	d.wrong(n, fmt.Sprintf("%s must be keys with values, not %s", name, n.kind()), do)
}

// written gives a text as the value of the field.
func (f field) written(text string) string {
	if f.value.Kind() == reflect.Slice {
		return "[" + scalar(text) + "]"
	}
	return scalar(text)
}

var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// scalar gives a text as YAML takes it anywhere.
func scalar(text string) string {
	if bare.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// placed gives the value of a pair a place of its own: an empty value has none, so
// a complaint about it stands at its key.
func placed(p Pair) Node {
	if p.Value.Empty() && p.Value.yaml != nil && p.Value.yaml.Value == "" {
		at := *p.Value.yaml
		at.Line, at.Column = p.Key.Line, p.Key.Col
		return Node{file: p.Value.file, yaml: &at, key: p.Key.Text}
	}
	return p.Value
}

// table fills a map whose keys are texts.
func (d *decoder) table(n Node, v reflect.Value, name string, tag reflect.StructTag) {
	if !n.IsMap() {
		d.noMap(n, name, nil)
		return
	}
	pairs, problems := n.Pairs()
	d.problems = append(d.problems, problems...)
	out := reflect.MakeMapWithSize(v.Type(), len(pairs))
	for _, p := range pairs {
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(p.Key.Text)
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(placed(p), item, name+"."+p.Key.Text, tag)
		out.SetMapIndex(key, item)
	}
	v.Set(out)
}

// list fills a slice.
func (d *decoder) list(n Node, v reflect.Value, name string, tag reflect.StructTag) {
	items, ok := n.Items()
	if !ok {
		d.wrong(n, fmt.Sprintf("%s must be a list, not %s", name, n.kind()), "write it in brackets, as in [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(item, out.Index(i), "an entry of "+name, tag)
	}
	v.Set(out)
}

// words fills one text or a list of texts.
func (d *decoder) words(n Node, into *Words, name string, tag reflect.StructTag) {
	if _, ok := n.Items(); ok {
		d.list(n, reflect.ValueOf(into).Elem(), name, tag)
		return
	}
	if word, ok := d.text(n, name); ok && d.allowed(n, word.Text, name, tag) {
		*into = Words{word}
	}
}
