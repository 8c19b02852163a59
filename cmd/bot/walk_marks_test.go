package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"attache"
)

// opening is the beginning of a mark as walks write it: {bold|…}, {pre go|…},
// {text_link https://example.org|…}, {text_mention ann|…}.
var opening = regexp.MustCompile(`^\{([a-z_]+)(?: ([^|{}\n]+))?\|`)

// readMarks takes the marks out of a text. \{, \} and \\ stand for themselves.
func readMarks(s string) (text string, marks []attache.Mark) {
	var out strings.Builder
	var open []int // of marks
	units := 0
	write := func(piece string) {
		out.WriteString(piece)
		units += attache.UTF16Len(piece)
	}
	for len(s) > 0 {
		m := opening.FindStringSubmatch(s)
		switch {
		case m != nil:
			open = append(open, len(marks))
			marks = append(marks, withArgument(attache.Mark{Kind: m[1], Offset: units}, m[2]))
			s = s[len(m[0]):]
		case s[0] == '}' && len(open) > 0:
			last := open[len(open)-1]
			open = open[:len(open)-1]
			marks[last].Length = units - marks[last].Offset
			s = s[1:]
		case s[0] == '\\' && len(s) > 1 && strings.ContainsRune(`\{}`, rune(s[1])):
			write(s[1:2])
			s = s[2:]
		default:
			_, size := utf8.DecodeRuneInString(s)
			write(s[:size])
			s = s[size:]
		}
	}
	for _, i := range open { // never closed: to the end
		marks[i].Length = units - marks[i].Offset
	}
	return out.String(), marks
}

// withArgument puts a mark's argument where its kind keeps it. A mentioned user is
// still a name here.
func withArgument(m attache.Mark, argument string) attache.Mark {
	switch m.Kind {
	case "pre":
		m.Language = argument
	case "text_mention":
		m.User = attache.PersonID(argument)
	default:
		m.URL = argument
	}
	return m
}

// writeMarks is the inverse of readMarks.
func writeMarks(text string, marks []attache.Mark) string {
	marks = slices.Clone(marks)
	slices.SortStableFunc(marks, func(a, b attache.Mark) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	units := utf16.Encode([]rune(text))
	var out strings.Builder
	var ends []int
	at := 0
	upTo := func(end int) {
		end = min(max(end, at), len(units))
		out.WriteString(escapeMarks(string(utf16.Decode(units[at:end])), len(ends) > 0))
		at = end
	}
	closeUntil := func(limit int) {
		for len(ends) > 0 && ends[len(ends)-1] <= limit {
			upTo(ends[len(ends)-1])
			out.WriteByte('}')
			ends = ends[:len(ends)-1]
		}
	}
	for _, m := range marks {
		closeUntil(m.Offset)
		upTo(m.Offset)
		out.WriteString("{" + m.Kind)
		if argument := m.URL + m.Language + string(m.User); argument != "" {
			out.WriteString(" " + argument)
		}
		out.WriteByte('|')
		ends = append(ends, m.Offset+m.Length)
	}
	closeUntil(len(units))
	upTo(len(units))
	return out.String()
}

// escapeMarks protects what readMarks would take for a mark.
func escapeMarks(s string, inside bool) string {
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == '\\' && i+1 < len(s) && strings.ContainsRune(`\{}`, rune(s[i+1])),
			r == '\\' && i+1 == len(s), // what follows may be a brace
			r == '{' && opening.MatchString(s[i:]),
			r == '}' && inside:
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

func TestWalkMarks(t *testing.T) {
	for _, c := range []struct {
		s, text string
		marks   []attache.Mark
	}{
		{"hello", "hello", nil},
		{"👍 {bold|a {italic|b}} c", "👍 a b c", []attache.Mark{{Kind: "bold", Offset: 3, Length: 3}, {Kind: "italic", Offset: 5, Length: 1}}},
		{"{text_mention ann|Ann}!", "Ann!", []attache.Mark{{Kind: "text_mention", Length: 3, User: "ann"}}},
		{`{pre go|x := T\{\}}`, "x := T{}", []attache.Mark{{Kind: "pre", Length: 8, Language: "go"}}},
		{`{"a":{}} \{bold|x}`, `{"a":{}} {bold|x}`, nil},
	} {
		text, marks := readMarks(c.s)
		if text != c.text || cmp.Diff(c.marks, marks) != "" {
			t.Errorf("%s is read as %q %+v", c.s, text, marks)
		}
	}
}

// What was written reads back, whatever braces the text has.
func TestWalkMarksReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "{", "}", "\\", "|", "bold|", "{code|", "😀", "\n", " "}), 0, 9).Draw(t, "text")
		text := strings.Join(pieces, "")
		n := attache.UTF16Len(text)
		var marks []attache.Mark
		from, to := 0, n
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			from = rapid.IntRange(from, to).Draw(t, "from")
			to = rapid.IntRange(from, to).Draw(t, "to")
			if _, ok := attache.UTF16Slice(text, from, to-from); !ok || from == to {
				break
			}
			marks = append(marks, attache.Mark{Kind: "bold", Offset: from, Length: to - from})
		}
		written := writeMarks(text, marks)
		got, gotMarks := readMarks(written)
		if got != text || cmp.Diff(marks, gotMarks) != "" {
			t.Fatalf("%q %+v is written %q and read back %q %+v", text, marks, written, got, gotMarks)
		}
	})
}
