package prompt

import (
	"strings"
	"unicode/utf8"

	"attache"
)

// Text is a text of the brain and where it was read, so that a mistake in it can
// be pointed at.
type Text struct {
	File string // path from the brain's root, forward slashes
	Line int    // line of the file on which Body begins; 0 is read as 1
	Body string
}

// problem makes a Problem at a byte of the body. Columns count characters.
func (t Text) problem(at int, what, do string) attache.Problem {
	before := t.Body[:at]
	start := strings.LastIndexByte(before, '\n') + 1
	return attache.Problem{
		File: t.File,
		Line: max(t.Line, 1) + strings.Count(before, "\n"),
		Col:  utf8.RuneCountInString(before[start:]) + 1,
		What: what,
		Do:   do,
	}
}

// The opening marks. Braces that stand alone, and {#, are text.
const (
	openValue = "{{"
	openTag   = "{%"
)

// token is a stretch of literal text or one tag of a template.
type token struct {
	text   string // literal text with its escapes resolved; only if mark is empty
	mark   string // openValue or openTag
	expr   string // what stands between the marks, spaces included
	at     int    // byte of the opening mark in the source
	closed bool   // the closing mark was found
}

// scan cuts a source into tokens. Backslashes directly before an opening mark
// halve; an odd number of them makes the mark literal (prompt-format, "escape
// ladder"). All other backslashes are text.
func scan(src string) []token {
	var tokens []token
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			tokens = append(tokens, token{text: literal.String()})
			literal.Reset()
		}
	}
	from := 0
	for {
		at := nextMark(src, from)
		if at < 0 {
			literal.WriteString(src[from:])
			flush()
			return tokens
		}
		slashes := trailingBackslashes(src[from:at])
		literal.WriteString(src[from : at-slashes])
		literal.WriteString(src[at-slashes : at-slashes+slashes/2])
		mark := src[at : at+2]
		from = at + 2
		if slashes%2 == 1 {
			literal.WriteString(mark)
			continue
		}
		flush()
		tag := readTag(src, at)
		tokens = append(tokens, tag)
		if tag.closed {
			from = at + 2 + len(tag.expr) + 2
		}
	}
}

// nextMark finds the first opening mark at or after from, or gives -1.
func nextMark(src string, from int) int {
	for i := from; i+1 < len(src); i++ {
		if src[i] == '{' && (src[i+1] == '{' || src[i+1] == '%') {
			return i
		}
	}
	return -1
}

func trailingBackslashes(s string) int {
	return len(s) - len(strings.TrimRight(s, `\`))
}

// readTag reads the tag whose mark stands at a byte. A tag that another opening
// mark interrupts was never closed: the mistake is then shown where it was made.
func readTag(src string, at int) token {
	mark, rest := src[at:at+2], src[at+2:]
	if next := nextMark(rest, 0); next >= 0 {
		rest = rest[:next]
	}
	end := strings.Index(rest, closing(mark))
	if end < 0 {
		return token{mark: mark, at: at}
	}
	return token{mark: mark, expr: rest[:end], at: at, closed: true}
}

func closing(mark string) string {
	if mark == openTag {
		return "%}"
	}
	return "}}"
}
