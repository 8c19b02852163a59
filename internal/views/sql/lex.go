package sql

import (
	"fmt"
	"strings"
)

// The lexer knows of SQL what is needed to see where strings, comments and quoted
// names begin and end, exactly as Postgres does with standard_conforming_strings
// on, which every connection of this package sets. What it takes for code is code,
// and what it takes for text is never touched.

// kind is what a token is.
type kind int

const (
	word       kind = iota // a keyword or a plain name
	quotedName             // "name"
	literal                // a string of any sort
	numeral
	colonName  // :name, a parameter or, in odd places, the second half of a slice
	positional // $1
	sign       // anything else, one character, or :: or :=
)

// token is a piece of SQL that is neither white space nor comment. at and end are
// byte offsets.
type token struct {
	kind    kind
	at, end int
	text    string
}

// is reports whether the token is a keyword, in any case of letters.
func (t token) is(words ...string) bool {
	if t.kind != word {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(t.text, w) {
			return true
		}
	}
	return false
}

// mistake is what is wrong at a byte of a text.
type mistake struct {
	at       int
	what, do string
}

// lexer reads one text.
type lexer struct {
	sql    string
	tokens []token
}

// lex cuts a text into tokens. The mistakes are those that would make everything
// after them a guess: something opens and is never closed.
func lex(sql string) ([]token, *mistake) {
	l := &lexer{sql: sql}
	for at := 0; at < len(sql); {
		end, k, wrong := l.next(at)
		if wrong != nil {
			return nil, wrong
		}
		if k >= 0 {
			l.tokens = append(l.tokens, token{k, at, end, sql[at:end]})
		}
		at = end
	}
	return l.tokens, nil
}

const skipped kind = -1 // white space and comments

// next gives the end and the kind of what begins at a byte.
func (l *lexer) next(at int) (int, kind, *mistake) {
	c, rest := l.sql[at], l.sql[at:]
	switch {
	case strings.ContainsRune(" \t\n\r\f\v", rune(c)):
		return at + 1, skipped, nil
	case strings.HasPrefix(rest, "--"):
		return at + lineLength(rest), skipped, nil
	case strings.HasPrefix(rest, "/*"):
		end, wrong := l.comment(at)
		return end, skipped, wrong
	case c == '\'':
		end, wrong := l.quoted(at, false)
		return end, literal, wrong
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		end, wrong := l.quoted(at+1, true)
		return end, literal, wrong
	case c == '"':
		end, wrong := l.name(at)
		return end, quotedName, wrong
	case c == '$':
		return l.dollar(at)
	case begins(c):
		return at + span(rest, within), word, nil
	case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
		return at + span(rest, func(c byte) bool { return plain(c) || c == '.' }), numeral, nil
	case strings.HasPrefix(rest, "::"), strings.HasPrefix(rest, ":="):
		return at + 2, sign, nil
	case c == ':' && len(rest) > 1 && begins(rest[1]):
		return at + 1 + span(rest[1:], within), colonName, nil
	}
	return at + 1, sign, nil
}

// begins, within and plain tell the bytes of a name as Postgres's own lexer does;
// any letter beyond ASCII counts.
func begins(c byte) bool { return c == '_' || c >= 0x80 || 'a' <= c|0x20 && c|0x20 <= 'z' }
func within(c byte) bool { return begins(c) || digit(c) || c == '$' }
func plain(c byte) bool  { return c < 0x80 && (begins(c) || digit(c)) }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// span gives how many bytes at the front are of a class.
func span(s string, of func(byte) bool) int {
	n := 0
	for n < len(s) && of(s[n]) {
		n++
	}
	return n
}

// lineLength gives the length of a line without its end; Postgres ends a comment
// at either of the two characters.
func lineLength(s string) int {
	if n := strings.IndexAny(s, "\n\r"); n >= 0 {
		return n
	}
	return len(s)
}

// comment gives the end of a block comment; they nest.
func (l *lexer) comment(at int) (int, *mistake) {
	depth := 0
	for i := at; i < len(l.sql); i++ {
		switch {
		case strings.HasPrefix(l.sql[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(l.sql[i:], "*/"):
			if depth--; depth == 0 {
				return i + 2, nil
			}
			i++
		}
	}
	return 0, &mistake{at, "the comment that opens here is never closed", "close it with */"}
}

// quoted gives the end of a string whose first quote is at a byte. With escapes a
// backslash takes the next character along. A string goes on after white space
// with a line break in it, and an escape string goes on as one.
func (l *lexer) quoted(at int, escapes bool) (int, *mistake) {
	for i := at + 1; i < len(l.sql); i++ {
		switch {
		case escapes && l.sql[i] == '\\':
			i++
		case l.sql[i] != '\'':
		case strings.HasPrefix(l.sql[i+1:], "'"):
			i++
		default:
			if more := continued(l.sql[i+1:]); more > 0 {
				i += more
				continue
			}
			return i + 1, nil
		}
	}
	return 0, &mistake{at, "the string that opens here is never closed", "close it with '"}
}

// continued gives how far away the quote is with which a string goes on, counted
// with it, 0 when it does not go on. Comments to the end of a line may stand
// between, and there must be a line break.
func continued(s string) int {
	broken := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n' || c == '\r':
			broken = true
		case c == ' ' || c == '\t' || c == '\f' || c == '\v':
		case strings.HasPrefix(s[i:], "--"):
			i += lineLength(s[i:]) - 1
		case c == '\'' && broken:
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// name gives the end of a quoted name.
func (l *lexer) name(at int) (int, *mistake) {
	for i := at + 1; i < len(l.sql); i++ {
		if l.sql[i] != '"' {
			continue
		}
		if strings.HasPrefix(l.sql[i+1:], `"`) {
			i++
			continue
		}
		return i + 1, nil
	}
	return 0, &mistake{at, `the name in " that opens here is never closed`, `close it with "`}
}

// dollar reads $1, a string between two equal $tag$, or a lone sign.
func (l *lexer) dollar(at int) (int, kind, *mistake) {
	rest := l.sql[at+1:]
	if n := span(rest, digit); n > 0 {
		return at + 1 + n, positional, nil
	}
	tag := 0
	if rest != "" && begins(rest[0]) {
		tag = span(rest, func(c byte) bool { return begins(c) || digit(c) })
	}
	if !strings.HasPrefix(rest[tag:], "$") {
		return at + 1, sign, nil
	}
	open := l.sql[at : at+tag+2]
	body := l.sql[at+len(open):]
	end := strings.Index(body, open)
	if end < 0 {
		return 0, 0, &mistake{at, fmt.Sprintf("the string that opens here with %s is never closed", open), "close it with " + open}
	}
	return at + len(open) + end + len(open), literal, nil
}
