package sql

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"attache"
)

// Statement is one SQL statement whose named parameters were made positional. The
// zero Statement is none.
type Statement struct {
	SQL    string   // with $1, $2, … in place of the names
	Params []string // the names in that order, each once
	Reads  bool     // it has no word that changes rows; a function that it calls may still do so
}

// verbs are the words that a tool's statement may begin with: those that read or
// change rows. The shape of tables belongs into schema.sql, and transactions and
// sessions are not a statement's to change.
func verbs() []string {
	return []string{"select", "with", "values", "table", "insert", "update", "delete", "merge", "call"}
}

// Parse reads the one statement of a SQL tool and gives :name parameters their
// numbers (interface § 3, SQL tool). Text in strings, quoted names and comments is
// left as it is, and so are casts (::) and := . Whatever could be meant in two ways
// is a problem; its line and column count from the text's first, and its File is
// empty.
func Parse(sql string) (Statement, *attache.Problem) {
	tokens, wrong := lex(sql)
	if wrong == nil {
		tokens, wrong = single(tokens)
	}
	var s Statement
	if wrong == nil {
		s, wrong = numbered(sql, tokens)
	}
	if wrong != nil {
		p := problemAt("", sql, *wrong)
		return Statement{}, &p
	}
	return s, nil
}

// problemAt puts a mistake at its line and column.
func problemAt(file, text string, m mistake) attache.Problem {
	before := text[:min(m.at, len(text))]
	line := strings.Count(before, "\n") + 1
	col := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return attache.Problem{File: file, Line: line, Col: col, What: m.what, Do: m.do}
}

// single takes the semicolon off the end and refuses what is not one statement
// about rows.
func single(tokens []token) ([]token, *mistake) {
	end := slices.IndexFunc(tokens, func(t token) bool { return t.text == ";" && t.kind == sign })
	if end >= 0 {
		for _, t := range tokens[end:] {
			if t.kind != sign || t.text != ";" {
				return nil, &mistake{t.at, "a second statement begins here, and a tool has one", "make a tool of its own of it, or write both as one statement with WITH"}
			}
		}
		tokens = tokens[:end]
	}
	if len(tokens) == 0 {
		return nil, &mistake{0, "there is no statement", "write one SQL statement"}
	}
	first := slices.IndexFunc(tokens, func(t token) bool { return t.kind != sign || t.text != "(" })
	if first < 0 || !tokens[first].is(verbs()...) {
		return nil, &mistake{tokens[0].at, "a tool reads or changes rows, and this statement does something else", "begin it with one of " + strings.Join(verbs(), ", ") + "; tables and views are made in schema.sql"}
	}
	return tokens, nil
}

// numbered numbers the parameters from $1. What is between the tokens is copied as
// it stands.
func numbered(sql string, tokens []token) (Statement, *mistake) {
	s := Statement{Reads: !slices.ContainsFunc(tokens, func(t token) bool { return t.is("insert", "update", "delete", "merge", "call") })}
	var out strings.Builder
	var in brackets
	copied := 0
	for i, t := range tokens {
		if wrong := in.refuse(tokens, i); wrong != nil {
			return Statement{}, wrong
		}
		in.step(tokens, i)
		if t.kind != colonName {
			continue
		}
		out.WriteString(sql[copied:t.at])
		if t.at > 0 && within(sql[t.at-1]) {
			out.WriteByte(' ') // or the number would become a part of the word before it
		}
		out.WriteString("$" + strconv.Itoa(s.take(t.text[1:])))
		copied = t.end
	}
	end := tokens[len(tokens)-1].end
	out.WriteString(sql[copied:max(copied, end)])
	s.SQL = out.String()
	return s, nil
}

// take gives the number of a name, a new one when it is new.
func (s *Statement) take(name string) int {
	at := slices.Index(s.Params, name)
	if at < 0 {
		s.Params = append(s.Params, name)
		at = len(s.Params) - 1
	}
	return at + 1
}

// brackets remembers what is open around a token: '(' , 's' for the subscript in
// a[1:2], 'a' for the constructor in array[1, 2].
type brackets []byte

func (b brackets) top() byte {
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

// step takes the i-th token into account.
func (b *brackets) step(tokens []token, i int) {
	if tokens[i].kind != sign {
		return
	}
	switch tokens[i].text {
	case "(":
		*b = append(*b, '(')
	case "[":
		*b = append(*b, b.opening(tokens, i))
	case ")", "]":
		*b = (*b)[:max(len(*b)-1, 0)]
	}
}

// opening tells a subscript from a constructor. array is a reserved word, so only
// after a dot it is a name.
func (b brackets) opening(tokens []token, i int) byte {
	before := func(n int) token {
		if i < n {
			return token{}
		}
		return tokens[i-n]
	}
	named := before(1).is("array") && before(2).text != "."
	nested := b.top() == 'a' && before(1).kind == sign && (before(1).text == "[" || before(1).text == ",")
	if named || nested {
		return 'a'
	}
	return 's'
}

// refuse tells tokens that could be meant in two ways or cannot be meant at all.
func (b brackets) refuse(tokens []token, i int) *mistake {
	t := tokens[i]
	switch {
	case t.kind == positional:
		return &mistake{t.at, "parameters have names here, and " + t.text + " has none", "write it as :name and declare the name in args"}
	case t.kind != colonName:
		return nil
	case span(t.text[1:], plain) != len(t.text)-1:
		return &mistake{t.at, "the name of a parameter has only letters from a to z, digits and _", "rename it"}
	case b.top() == 's':
		return &mistake{t.at, "this could be a parameter or the end of a slice", "write (" + t.text + ") for a parameter, or a space after the colon for a slice"}
	case i > 0 && ends(tokens[i-1]):
		return &mistake{t.at, "no parameter can stand directly after " + tokens[i-1].text, "join the two with an operator or a comma; write a space after the colon if it is no parameter"}
	}
	return nil
}

// ends reports whether a token is the end of a value for certain, so that another
// value cannot follow it.
func ends(t token) bool {
	switch t.kind {
	case quotedName, literal, numeral, colonName:
		return true
	case sign:
		return t.text == ")" || t.text == "]"
	}
	return false
}
