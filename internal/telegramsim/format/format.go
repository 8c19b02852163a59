// Package format holds what Telegram knows of formatted text: finding mentions,
// commands and addresses in what a person typed, judging the entities that a bot
// gives, and reading the two parse modes. All offsets count UTF-16 code units.
package format

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// Entity is a message entity as it stands on the wire.
type Entity struct {
	Type        string          `json:"type"`
	Offset      int             `json:"offset"`
	Length      int             `json:"length"`
	URL         string          `json:"url,omitempty"`
	User        json.RawMessage `json:"user,omitempty"`
	Language    string          `json:"language,omitempty"`
	CustomEmoji string          `json:"custom_emoji_id,omitempty"`
	UnixTime    int64           `json:"unix_time,omitempty"`
	TimeFormat  string          `json:"date_time_format,omitempty"`
}

// Detector finds the entities that Telegram adds to typed text by itself.
type Detector struct{ kinds []pattern }

type pattern struct {
	kind string
	find *regexp.Regexp // group 1 is the entity
}

// NewDetector compiles the patterns once; a Detector may be shared.
func NewDetector() *Detector {
	const before = `(?:^|[^\pL\pN_@/])`
	return &Detector{[]pattern{
		{"url", regexp.MustCompile(`(?:^|[^\pL\pN_@/.])((?:https?://[^\s<>"]*[^\s<>".,;:!?)]|(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|dev|de|app)(?:/[^\s<>"]*[^\s<>".,;:!?)])?))(?:$|[^\pL\pN_@-])`)},
		{"email", regexp.MustCompile(before + `([A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})`)},
		{"mention", regexp.MustCompile(before + `(@[A-Za-z][A-Za-z0-9_]{2,31})(?:$|[^\pL\pN_@])`)},
		{"bot_command", regexp.MustCompile(`(?:^|[^\pL\pN_@/<>])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z][A-Za-z0-9_]{2,31})?)(?:$|[^\pL\pN_@/])`)},
		{"hashtag", regexp.MustCompile(`(?:^|[^\pL\pN_@/#])(#[\pL\pN_]*[\pL_][\pL\pN_]*)`)},
	}}
}

// Detect finds entities in plain text, ordered by offset, none inside another.
func (d *Detector) Detect(s string) []Entity {
	if !strings.ContainsAny(s, "@/.#") {
		return nil
	}
	var out []Entity
	for _, p := range d.kinds {
		for at := 0; at < len(s); {
			m := p.find.FindStringSubmatchIndex(s[at:])
			if m == nil {
				break
			}
			from, to := at+m[2], at+m[3]
			out = add(out, Entity{Type: p.kind, Offset: Units(s[:from]), Length: Units(s[from:to])})
			at = to
		}
	}
	slices.SortFunc(out, func(a, b Entity) int { return a.Offset - b.Offset })
	return out
}

// add leaves out what overlaps an entity that was found by an earlier pattern.
func add(list []Entity, e Entity) []Entity {
	for _, o := range list {
		if e.Offset < o.Offset+o.Length && o.Offset < e.Offset+e.Length {
			return list
		}
	}
	return append(list, e)
}

// Valid judges given entities: they must lie in the text, cut no surrogate pair
// in two, and nest or stand apart, never cross.
func Valid(s string, list []Entity) error {
	text := utf16.Encode([]rune(s))
	for i, e := range list {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(text) {
			return fmt.Errorf("entity %d (%s at %d+%d) lies outside the text of %d UTF-16 units", i, e.Type, e.Offset, e.Length, len(text))
		}
		if splits(text, e.Offset) || splits(text, e.Offset+e.Length) {
			return fmt.Errorf("entity %d (%s at %d+%d) cuts a surrogate pair in two", i, e.Type, e.Offset, e.Length)
		}
		for j, o := range list[:i] {
			if e.Offset < o.Offset && o.Offset < e.Offset+e.Length && e.Offset+e.Length < o.Offset+o.Length ||
				o.Offset < e.Offset && e.Offset < o.Offset+o.Length && o.Offset+o.Length < e.Offset+e.Length {
				return fmt.Errorf("entities %d (%s) and %d (%s) cross", j, o.Type, i, e.Type)
			}
		}
	}
	return nil
}

func splits(text []uint16, at int) bool {
	return at > 0 && at < len(text) && text[at] >= 0xDC00 && text[at] <= 0xDFFF && text[at-1] >= 0xD800 && text[at-1] <= 0xDBFF
}

// Units gives the length of s in UTF-16 code units; a broken byte counts as one,
// as its replacement character does.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Slice cuts a range of UTF-16 units out of s; a range outside gives "".
func Slice(s string, offset, length int) string {
	text := utf16.Encode([]rune(s))
	if offset < 0 || length < 0 || offset+length > len(text) {
		return ""
	}
	return string(utf16.Decode(text[offset : offset+length]))
}
