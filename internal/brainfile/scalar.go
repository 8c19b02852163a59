package brainfile

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"attache"
)

// text takes a scalar as it is written, whatever YAML would make of it.
func (d *decoder) text(n Node, name string) (Word, bool) {
	word, ok := n.Text()
	if !ok {
		d.wrong(n, fmt.Sprintf("%s must be text, not %s", name, n.kind()), "write one value")
	}
	return word, ok
}

// allowed checks a text against the words that its tag names.
func (d *decoder) allowed(n Node, text, name string, tag reflect.StructTag) bool {
	words := strings.Split(tag.Get("oneof"), ",")
	if tag.Get("oneof") == "" || slices.Contains(words, text) {
		return true
	}
	d.wrong(n, fmt.Sprintf("%s does not take %q", name, brief(text)), Suggest(text, words, ""))
	return false
}

// own lets a type read itself. An error that is a Problem lends its advice.
func (d *decoder) own(n Node, into encoding.TextUnmarshaler, name string) {
	word, ok := d.text(n, name)
	if !ok {
		return
	}
	err := into.UnmarshalText([]byte(word.Text))
	var p attache.Problem
	switch {
	case errors.As(err, &p):
		d.wrong(n, p.What, p.Do)
	case err != nil:
		d.wrong(n, name+": "+err.Error(), "")
	}
}

func (d *decoder) truth(n Node, v reflect.Value, name string) {
	word, ok := n.Text()
	if !ok || n.quoted() || word.Text != "true" && word.Text != "false" {
		d.wrong(n, fmt.Sprintf("%s must be true or false, not %s", name, n.kind()), "write true or false, without quotes")
		return
	}
	v.SetBool(word.Text == "true")
}

var (
	digits  = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	span    = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d))+$`)
	spans   = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
)

// number takes plain digits only: what YAML reads as another number than it looks
// like (010, 1_000, 0x1F, 1e3) is a mistake, and so is a number in quotes.
func (d *decoder) number(n Node, v reflect.Value, name string, tag reflect.StructTag) {
	word, ok := n.Text()
	whole := v.Kind() != reflect.Float64
	pattern, wanted, do := decimal, "a number", "write it in digits, as in 0.25"
	if whole {
		pattern, wanted, do = digits, "a whole number", "write it in digits, as in 3000"
	}
	switch {
	case !ok:
		d.wrong(n, fmt.Sprintf("%s must be %s, not %s", name, wanted, n.kind()), do)
		return
	case n.quoted():
		d.wrong(n, fmt.Sprintf("%s must be %s, not text in quotes", name, wanted), "take the quotes away")
		return
	case strings.HasPrefix(word.Text, "-") && pattern.MatchString(word.Text[1:]):
		d.wrong(n, name+" must not be negative", "write 0 or more")
		return
	case !pattern.MatchString(word.Text):
		d.wrong(n, fmt.Sprintf("%s must be %s, not %s", name, wanted, n.kind()), do)
		return
	}
	if !whole {
		f, _ := strconv.ParseFloat(word.Text, 64)
		v.SetFloat(f)
		return
	}
	i, err := strconv.ParseInt(word.Text, 10, 64)
	if err != nil || i > 1<<53 {
		d.wrong(n, name+" is too large a number", "write a smaller one")
		return
	}
	if least, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil && i < least {
		d.wrong(n, fmt.Sprintf("%s must be at least %d", name, least), "write a larger number")
		return
	}
	v.SetInt(i)
}

// maxSpan is ten years: longer is a slip of the unit.
const maxSpan = 3653 * 24 * time.Hour

// duration takes whole numbers with units, 0 alone without one. A day has 24 hours.
func (d *decoder) duration(n Node, into *time.Duration, name string, tag reflect.StructTag) {
	word, ok := n.Text()
	switch {
	case ok && word.Text == "0":
		*into = 0
	case ok && digits.MatchString(word.Text):
		d.wrong(n, fmt.Sprintf("%s needs a unit after %s", name, word.Text), "write ms, s, m, h or d after it, as in 1200ms, 2s or 7d")
		return
	case ok && strings.HasPrefix(word.Text, "-"):
		d.wrong(n, name+" must not be negative", "write 0 or more")
		return
	case !ok || !span.MatchString(word.Text):
		d.wrong(n, fmt.Sprintf("%s must be a length of time, not %s", name, n.kind()), "write whole numbers with ms, s, m, h or d, as in 1200ms, 2s or 7d")
		return
	default:
		sum, fits := length(word.Text)
		if !fits {
			d.wrong(n, name+" is too long a time", "write at most ten years")
			return
		}
		*into = sum
	}
	if least, err := time.ParseDuration(tag.Get("min")); err == nil && *into < least {
		d.wrong(n, fmt.Sprintf("%s must be at least %s", name, least), "write a longer time")
	}
}

// length adds up a text that span matches, as long as the sum stays in bounds.
func length(text string) (time.Duration, bool) {
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	var sum time.Duration
	for _, m := range spans.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > int64(maxSpan/units[m[2]]) {
			return 0, false
		}
		if sum += time.Duration(n) * units[m[2]]; sum > maxSpan {
			return 0, false
		}
	}
	return sum, true
}

func (n Node) quoted() bool {
	return n.yaml != nil && n.yaml.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// plain gives a value as JSON would hold it: map[string]any, []any, string,
// float64, int64, bool or nil. Only what is unmistakably a number is one.
func (d *decoder) plain(n Node) any {
	if n.Empty() {
		return nil
	}
	switch n.yaml.Kind {
	case yaml.MappingNode:
		pairs, problems := n.Pairs()
		d.problems = append(d.problems, problems...)
		out := make(map[string]any, len(pairs))
		for _, p := range pairs {
			out[p.Key.Text] = d.plain(p.Value)
		}
		return out
	case yaml.SequenceNode:
		items, _ := n.Items()
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = d.plain(item)
		}
		return out
	}
	return n.plainScalar()
}

func (n Node) plainScalar() any {
	text := n.yaml.Value
	unsigned := strings.TrimPrefix(text, "-")
	switch {
	case n.quoted():
		return text
	case text == "true" || text == "false":
		return text == "true"
	case digits.MatchString(unsigned):
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i
		}
	case decimal.MatchString(unsigned):
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}

// names lists the keys of a struct for a suggestion.
func names(known map[string]field) []string { return slices.Sorted(maps.Keys(known)) }

// required lists the keys that must be there, sorted.
func required(known map[string]field) []string {
	return slices.DeleteFunc(names(known), func(name string) bool { return !known[name].required })
}
