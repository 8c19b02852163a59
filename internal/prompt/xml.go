package prompt

import (
	"strings"
	"unicode/utf8"
)

// escapeText makes s fit to stand between tags: markup signs escaped, line ends
// as LF, and every code point that XML 1.0 forbids, and every broken byte, as
// U+FFFD. Nothing in it can open or close an element afterwards.
func escapeText(s string) string { return escape(s, false) }

// escapeAttr also escapes what would end an attribute's value or be folded in it.
func escapeAttr(s string) string { return escape(s, true) }

func escape(s string, attr bool) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '\r':
			b.WriteString(lineEnd(attr))
		case attr && r == '\n':
			b.WriteString(lineEnd(attr))
		case attr && r == '\t':
			b.WriteString("&#9;")
		case attr && r == '"':
			b.WriteString("&quot;")
		case attr && r == '\'':
			b.WriteString("&#39;")
		case !allowed(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func lineEnd(attr bool) string {
	if attr {
		return "&#10;"
	}
	return "\n"
}

// allowed reports whether XML 1.0 allows a code point.
func allowed(r rune) bool {
	return r == '\t' || r == '\n' || r >= 0x20 && r != 0xFFFE && r != 0xFFFF
}

// element writes one element: attributes as pairs of name and value in the order
// given, empty ones left out, and inside, which is already escaped. Without
// anything inside it closes itself.
func element(name, inside string, attrs ...string) string {
	var b strings.Builder
	b.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			b.WriteString(" " + attrs[i] + `="` + escapeAttr(attrs[i+1]) + `"`)
		}
	}
	if inside == "" {
		b.WriteString("/>")
		return b.String()
	}
	b.WriteString(">" + inside + "</" + name + ">")
	return b.String()
}

// nested puts children inside an element, each on a line of its own and indented
// by two spaces more than the element, which stands at depth.
func nested(depth int, children []string) string {
	if len(children) == 0 {
		return ""
	}
	in := "\n" + strings.Repeat("  ", depth+1)
	return in + strings.Join(children, in) + "\n" + strings.Repeat("  ", depth)
}
