package updates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"attache"
)

// split takes the `result` of getUpdates apart. Each update stands alone: an
// element whose update_id cannot be read is a problem and is left out, the others
// are given in Telegram's order, each id once. A result that is no list is one
// problem and no updates.
//
// The JSON of an update is made storable: PostgreSQL's jsonb refuses NUL, single
// surrogates, very deep nesting and numbers beyond its range, and one update that
// is refused for ever would hold up all that come after it.
func split(result []byte) ([]attache.RawUpdate, []error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(result, &elements); err != nil || elements == nil {
		return nil, []error{fmt.Errorf("getUpdates gave no list of updates (%d bytes)", len(result))}
	}
	updates := make([]attache.RawUpdate, 0, len(elements))
	seen := make(map[int64]bool, len(elements))
	var problems []error
	for i, e := range elements {
		u, ok := rawUpdate(e)
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("element %d of %d (%d bytes) has no readable update_id", i+1, len(elements), len(e)))
		case !seen[u.ID]:
			seen[u.ID] = true
			updates = append(updates, u)
		}
	}
	return updates, problems
}

// rawUpdate reads the id of one update and makes the rest storable.
func rawUpdate(raw []byte) (attache.RawUpdate, bool) {
	id, ok := updateID(raw)
	if !ok {
		return attache.RawUpdate{}, false
	}
	return attache.RawUpdate{ID: id, JSON: storable(id, raw)}, true
}

// updateID reads the update_id of an update that may otherwise be undecodable or
// even cut short. It reports false when there is none that could be an id.
func updateID(raw []byte) (int64, bool) {
	var in struct {
		ID json.RawMessage `json:"update_id"`
	}
	if json.Unmarshal(raw, &in) != nil {
		in.ID = leadingID(raw)
	}
	id, err := strconv.ParseInt(string(in.ID), 10, 64)
	if err != nil || id <= 0 || id > maxUpdateID {
		return 0, false
	}
	return id, true
}

// leadingID finds update_id among the top fields of broken JSON, up to where it
// breaks. Telegram writes it first.
func leadingID(raw []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		if name == "update_id" {
			return value
		}
	}
	return nil
}

// wrapped is the field of what storable has wrapped.
const wrapped = "undecodable"

// maxDepth is a nesting that no update has (a rich message has 16 levels) and that
// every parser on the way takes.
const maxDepth = 300

// storable gives the update as JSON that every jsonb column takes, unchanged in
// almost every case. What is no JSON, or nested beyond reason, is wrapped as a
// text, so that it can still be looked at.
func storable(id int64, raw []byte) json.RawMessage {
	if !json.Valid(raw) || depth(raw) > maxDepth {
		text := string(raw[:min(len(raw), 64<<10)])
		whole, _ := json.Marshal(struct { // cannot fail: a number and a text
			ID   int64  `json:"update_id"`
			Text string `json:"undecodable"` // wrapped, for Decode
		}{id, clean(text)})
		return whole
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return mend(raw)
}

// depth gives the deepest nesting of valid JSON.
func depth(raw []byte) int {
	deepest, now := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = endOfString(raw, i)
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest
}

// endOfString gives the index of the quote that closes the string opened at i.
func endOfString(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// mend replaces, in valid JSON, escapes that are no text (NUL and single
// surrogates) by U+FFFD and numbers beyond PostgreSQL's range by 0. It copies only
// when there is something to replace.
func mend(raw []byte) []byte {
	var out []byte
	from := 0
	replace := func(start, end int, with string) {
		out = append(append(out, raw[from:start]...), with...)
		from = end
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			end := endOfString(raw, i)
			for j := i + 1; j < end; j++ {
				if raw[j] != '\\' {
					continue
				}
				size, ok := escape(raw[j:end])
				if !ok {
					replace(j, j+size, `\ufffd`)
				}
				j += size - 1
			}
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := endOfNumber(raw, i)
			if tooLarge(raw[i:end]) {
				replace(i, end, "0")
			}
			i = end - 1
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[from:]...)
}

// escape measures the escape that s begins with and reports whether it is text. A
// pair of surrogates is one escape of twelve bytes.
func escape(s []byte) (size int, ok bool) {
	if len(s) < 2 || s[1] != 'u' {
		return 2, true
	}
	switch r := unit(s); {
	case r == 0:
		return 6, false
	case r < 0xD800 || r > 0xDFFF:
		return 6, true
	case r < 0xDC00 && len(s) >= 12 && s[6] == '\\' && s[7] == 'u':
		if low := unit(s[6:]); low >= 0xDC00 && low <= 0xDFFF {
			return 12, true
		}
	}
	return 6, false
}

// unit reads the four digits of an escape.
func unit(s []byte) uint64 {
	r, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return r
}

func endOfNumber(raw []byte, i int) int {
	for i < len(raw) && bytes.IndexByte([]byte("+-.eE0123456789"), raw[i]) >= 0 {
		i++
	}
	return i
}

// tooLarge reports whether a number is one that jsonb might refuse. Telegram's own
// have at most 16 digits.
func tooLarge(number []byte) bool {
	e := bytes.IndexAny(number, "eE")
	return len(number) > 100 || e >= 0 && len(number)-e > 4
}
