package contexts

import (
	"strings"
	"unicode/utf8"
)

// escape makes s fit to stand between tags: markup signs escaped, line ends as LF,
// and every code point that XML 1.0 forbids, and every broken byte, as U+FFFD.
// Nothing in it can open or close a block afterwards (decisions § 5).
func escape(s string) string { return rewrite(s, textSign) }

// escapeAttr also escapes what would end an attribute's value or be folded in it.
func escapeAttr(s string) string { return rewrite(s, attrSign) }

// escapeCell makes a value fit to stand in one cell of a Markdown table: bars and
// line breaks of every kind are escaped too. Backslashes directly before a bar are
// doubled, else they would take its escape away.
func escapeCell(s string) string { return rewrite(doubled(s), cellSign) }

// rewrite replaces what sign gives a text for. Most texts need nothing replaced and
// are not copied.
func rewrite(s string, sign func(r rune) string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	from := 0
	var b strings.Builder
	for i, r := range s {
		to := sign(r)
		if r == utf8.RuneError {
			_, n := utf8.DecodeRuneInString(s[i:])
			if n == 1 {
				to = "\ufffd" // a broken byte
			}
		}
		if to == "" {
			continue
		}
		b.WriteString(s[from:i])
		b.WriteString(to)
		_, n := utf8.DecodeRuneInString(s[i:])
		from = i + n
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// textSign gives what a sign is written as between tags, "" for itself.
func textSign(r rune) string {
	switch {
	case r == '&':
		return "&amp;"
	case r == '<':
		return "&lt;"
	case r == '>':
		return "&gt;"
	case r == '\r':
		return "\n"
	case r < 0x20 && r != '\t' && r != '\n', r == 0xFFFE, r == 0xFFFF:
		return "\ufffd"
	}
	return ""
}

func attrSign(r rune) string {
	switch r {
	case '"':
		return "&quot;"
	case '\'':
		return "&#39;"
	case '\n', '\r':
		return "&#10;"
	case '\t':
		return "&#9;"
	}
	return textSign(r)
}

func cellSign(r rune) string {
	switch r {
	case '|':
		return `\|`
	case '\n', '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		return `\n`
	}
	return textSign(r)
}

// doubled doubles each run of backslashes that stands before a bar.
func doubled(s string) string {
	if !strings.Contains(s, `\|`) {
		return s
	}
	var b strings.Builder
	run := 0
	for _, c := range []byte(s) {
		if c == '|' {
			b.WriteString(strings.Repeat(`\`, run))
		}
		run++
		if c != '\\' {
			run = 0
		}
		b.WriteByte(c)
	}
	return b.String()
}

// tag opens an element: attributes as pairs of name and value in the order given,
// empty ones left out.
func tag(name string, attrs ...string) string {
	var b strings.Builder
	b.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			b.WriteString(" " + attrs[i] + `="` + escapeAttr(attrs[i+1]) + `"`)
		}
	}
	return b.String() + ">"
}

// section writes one section around a text that is already escaped.
func section(inside string, attrs ...string) string {
	return tag("section", attrs...) + inside + "</section>"
}
