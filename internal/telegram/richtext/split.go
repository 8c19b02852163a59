package richtext

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"attache"
)

// Telegram's limits of one text message. More marks than that are thrown away by
// Telegram without a word.
const (
	maxUnits = 4096 // UTF-16 code units
	maxMarks = 100
)

// styled is a text with its spans in bytes: nested or apart, never crossing, in
// the order in which they open.
type styled struct {
	text  string
	spans []span
}

// trim takes white space off both ends, as Telegram does. The indent of code at
// the beginning stays: Telegram trims up to the first mark only.
func (t styled) trim() styled {
	from := len(t.text) - len(strings.TrimLeftFunc(t.text, unicode.IsSpace))
	for _, s := range t.spans {
		if s.kind == "pre" {
			from = min(from, s.from)
			break
		}
	}
	return t.cut(from, len(strings.TrimRightFunc(t.text, unicode.IsSpace)))
}

// cut gives the text from one byte to another with what of its spans lies there.
func (t styled) cut(from, to int) styled {
	if from >= to {
		return styled{}
	}
	part := styled{text: t.text[from:to]}
	for _, s := range t.spans {
		s.from, s.to = max(s.from, from)-from, min(s.to, to)-from
		if s.from < s.to {
			part.spans = append(part.spans, s)
		}
	}
	return part
}

// marks gives the spans in UTF-16 code units, as Telegram counts.
func (t styled) marks() []attache.Mark {
	if len(t.spans) == 0 {
		return nil
	}
	units := make([]int, len(t.text)+1)
	n := 0
	for i, r := range t.text {
		units[i] = n
		n += runeUnits(r)
	}
	units[len(t.text)] = n
	marks := make([]attache.Mark, len(t.spans))
	for i, s := range t.spans {
		m := attache.Mark{Kind: s.kind, Offset: units[s.from], Length: units[s.to] - units[s.from]}
		switch s.kind {
		case "text_link":
			m.URL = s.detail
		case "pre":
			m.Language = s.detail
		}
		marks[i] = m
	}
	return marks
}

// runeUnits is how many UTF-16 code units a character takes.
func runeUnits(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// fits reports whether the text is one message.
func (t styled) fits() bool {
	return attache.UTF16Len(t.text) <= maxUnits && len(t.spans) <= maxMarks
}

// split cuts a text into parts of one message each. The parts, put together, are
// the text: between one and the next only white space of the text is left out
// (all of it at the cut; inside a pre one line break, so that code keeps its
// indent and its empty lines), and a part that would be white space alone is left
// out as well. A span that lies across a cut goes on in the next part; so a cut
// pre is opened again with its language.
func (t styled) split() []styled {
	t = t.trim()
	c := cutter{styled: t}
	for _, s := range t.spans {
		if s.kind == "pre" {
			c.pres = append(c.pres, s)
		}
	}
	var parts []styled
	for from := 0; from < len(t.text); {
		at := c.border(from, c.reach(from))
		if end := from + len(strings.TrimRightFunc(t.text[from:at], unicode.IsSpace)); end > from {
			parts = append(parts, c.part(from, end))
		}
		from = c.resume(at)
	}
	return parts
}

// cutter cuts one text from front to back, so that a long text with many spans
// takes one walk and not one for each part. All places are bytes of the text.
type cutter struct {
	styled
	pres []span // the code blocks, apart from each other
	low  int    // spans before this one end before the next part begins
}

// part gives the text of one part with what of the spans lies there.
func (c *cutter) part(from, to int) styled {
	for c.low < len(c.spans) && c.spans[c.low].to <= from {
		c.low++
	}
	high := c.low + sort.Search(len(c.spans)-c.low, func(i int) bool { return c.spans[c.low+i].from >= to })
	return styled{text: c.text, spans: c.spans[c.low:high]}.cut(from, to)
}

// reach gives the first place that a part beginning at from cannot hold.
func (c *cutter) reach(from int) int {
	limit, units := len(c.text), 0
	for i, r := range c.text[from:] {
		if units += runeUnits(r); units > maxUnits {
			limit = from + i
			break
		}
	}
	marks := 0
	for _, s := range c.spans[c.low:] {
		if s.from >= limit {
			break
		}
		if s.to <= from {
			continue
		}
		if marks++; marks > maxMarks && s.from > from {
			return s.from
		}
	}
	return limit
}

// resume gives where the next part begins after a cut.
func (c *cutter) resume(at int) int {
	if _, in := c.pre(at); in {
		if c.text[at] == '\n' {
			return at + 1
		}
		return at
	}
	end := len(c.text) - len(strings.TrimLeftFunc(c.text[at:], unicode.IsSpace))
	if next, _ := c.pre(at); next < len(c.pres) {
		end = min(end, c.pres[next].from)
	}
	return end
}

// pre gives the first code block that does not end before a cut, and whether the
// cut goes through it.
func (c *cutter) pre(at int) (int, bool) {
	i := sort.Search(len(c.pres), func(i int) bool { return c.pres[i].to > at })
	return i, i < len(c.pres) && c.pres[i].from < at
}

// Kinds of border, from the last resort to the best.
const (
	borderNone = iota
	borderSpace
	borderSentence
	borderCodeLine
	borderLine
	borderBlank
)

// border chooses where to end a part that may reach up to limit: the last border
// of the best kind in its last three quarters, else the last border between
// characters as people see them. It is more than from and at most limit.
func (c *cutter) border(from, limit int) int {
	if limit == len(c.text) {
		return limit
	}
	best, kind := 0, borderNone
	for at := limit; at > from+(limit-from)/4 && kind < borderBlank; at-- {
		if k := c.kind(at); k > kind {
			best, kind = at, k
		}
	}
	if kind != borderNone {
		return best
	}
	return from + graphemeBorder(c.text[from:], limit-from)
}

// kind says what a cut before byte at would cut.
func (c *cutter) kind(at int) int {
	switch c.text[at] {
	case '\n':
		if _, in := c.pre(at); in {
			return borderCodeLine
		}
		if strings.HasPrefix(c.text[at:], "\n\n") {
			return borderBlank
		}
		return borderLine
	case ' ':
		last, _ := utf8.DecodeLastRuneInString(c.text[:at])
		if _, in := c.pre(at); !in && strings.ContainsRune(".!?…:;", last) {
			return borderSentence
		}
		return borderSpace
	}
	return borderNone
}

// graphemeBorder gives the last byte up to limit at which no character is cut, nor
// what is joined to one: accents, joined emoji, flags. A text that goes on joining
// for too long is cut between code points.
func graphemeBorder(s string, limit int) int {
	at := limit
	for range 64 {
		if at <= 0 {
			break
		}
		after, _ := utf8.DecodeRuneInString(s[at:])
		before, size := utf8.DecodeLastRuneInString(s[:at])
		if !joins(before, after) && !halvesFlag(s[:at], after) {
			return at
		}
		at -= size
	}
	return limit
}

// joins reports whether two characters in a row are shown as one.
func joins(before, after rune) bool {
	const joiner = '\u200d'
	return before == joiner || after == joiner || unicode.In(after, unicode.M) ||
		after >= 0x1f3fb && after <= 0x1f3ff || after >= 0xe0020 && after <= 0xe007f
}

// halvesFlag reports whether a cut would part the two letters of a flag.
func halvesFlag(before string, after rune) bool {
	if !isFlagLetter(after) {
		return false
	}
	n := 0
	for range 64 {
		r, size := utf8.DecodeLastRuneInString(before)
		if !isFlagLetter(r) {
			break
		}
		n++
		before = before[:len(before)-size]
	}
	return n%2 == 1
}

func isFlagLetter(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
