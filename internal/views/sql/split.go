package sql

import (
	"fmt"
	"slices"
	"strings"

	"attache"
)

// split gives the first token of each statement of a schema, and refuses what
// would end or leave the one transaction that it runs in.
func split(text string) ([]token, *mistake) {
	tokens, wrong := lex(text)
	if wrong != nil {
		return nil, wrong
	}
	var out []token
	for _, statement := range statements(tokens) {
		first := statement[0]
		switch {
		case first.is("begin", "commit", "rollback", "end", "abort", "start", "savepoint", "release", "prepare"):
			return nil, &mistake{first.at, fmt.Sprintf("%s has no place here: the file runs in one transaction of its own", strings.ToUpper(first.text)), "leave it out"}
		case first.is("copy") && slices.ContainsFunc(statement, func(t token) bool { return t.is("stdin", "stdout") }):
			return nil, &mistake{first.at, "rows cannot be copied from a file that only holds SQL", "write insert into … values …"}
		}
		out = append(out, first)
	}
	return out, nil
}

// statements cuts tokens at the semicolons between statements. Those inside of a
// function's body BEGIN ATOMIC … END belong to it.
func statements(tokens []token) [][]token {
	var out [][]token
	var now []token
	depth := 0
	for i, t := range tokens {
		switch {
		case t.is("atomic") && i > 0 && tokens[i-1].is("begin"):
			depth = 1
		case depth > 0 && t.is("case"):
			depth++
		case depth > 0 && t.is("end"):
			depth--
		}
		if t.kind == sign && t.text == ";" && depth == 0 {
			if len(now) > 0 {
				out = append(out, now)
			}
			now = nil
			continue
		}
		now = append(now, t)
	}
	if len(now) > 0 {
		out = append(out, now)
	}
	return out
}

// viewsIn lists the views that a text creates in public, as tokens whose text is
// the name as Postgres keeps it.
func viewsIn(tokens []token) []token {
	var out []token
	for _, s := range statements(tokens) {
		i := 0
		next := func(words ...string) bool {
			if i < len(s) && s[i].is(words...) {
				i++
				return true
			}
			return false
		}
		if !next("create") {
			continue
		}
		if next("or") {
			next("replace")
		}
		if next("temp", "temporary", "local", "global") {
			continue // gone with the session
		}
		next("recursive")
		next("materialized")
		if !next("view") {
			continue
		}
		if next("if") {
			next("not")
			next("exists")
		}
		if name, ok := nameAt(s[i:]); ok {
			out = append(out, name)
		}
	}
	return out
}

// nameAt reads the name of a relation in public at the front.
func nameAt(s []token) (token, bool) {
	if len(s) == 0 || s[0].kind != word && s[0].kind != quotedName {
		return token{}, false
	}
	name := s[0]
	if len(s) > 2 && s[1].text == "." {
		if unquoted(s[0]) != "public" {
			return token{}, false
		}
		name = s[2]
	}
	name.text = unquoted(name)
	return name, true
}

// unquoted gives a name as Postgres keeps it.
func unquoted(t token) string {
	if t.kind == quotedName {
		return strings.ReplaceAll(t.text[1:len(t.text)-1], `""`, `"`)
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, t.text)
}

// sound leaves out the schemas that define a view which another one defines too;
// each of them gets a problem that names the others.
func (c *changes) sound() []Schema {
	by := map[string][]int{}
	at := map[string]map[int]token{}
	for i, s := range c.all {
		tokens, _ := lex(s.Text) // a mistake is found when the text runs
		for _, v := range viewsIn(tokens) {
			if at[v.text] == nil {
				at[v.text] = map[int]token{}
			}
			if _, twice := at[v.text][i]; !twice {
				by[v.text] = append(by[v.text], i)
				at[v.text][i] = v
			}
		}
	}
	out := map[int]bool{}
	for view, defining := range by {
		if len(defining) < 2 {
			continue
		}
		for _, i := range defining {
			out[i] = true
			s := c.all[i]
			c.problems = append(c.problems, problemAt(s.File, s.Text, twice(at[view][i].at, view, c.files(defining, i))))
		}
	}
	slices.SortFunc(c.problems, func(a, b attache.Problem) int { return strings.Compare(a.Error(), b.Error()) })
	var sound []Schema
	for i, s := range c.all {
		if !out[i] {
			sound = append(sound, s)
		}
	}
	return sound
}

// twice is the mistake of a view that two features define.
func twice(at int, view, others string) mistake {
	return mistake{at, fmt.Sprintf("the view %s is also defined in %s, so neither file is applied", view, others), "keep it in one of them, or rename it"}
}

// files names the files of some schemas but one.
func (c *changes) files(of []int, but int) string {
	var out []string
	for _, i := range of {
		if i != but {
			out = append(out, c.all[i].File)
		}
	}
	return strings.Join(out, " and ")
}

// clash is a view of another feature that a text defines in a way that only running
// it shows.
type clash struct{ both []attache.Problem }

func (c *clash) Error() string { return "two features define one view" }

// others refuses views that another feature has defined.
func (c *changes) others(s Schema, views []string, records map[attache.FeatureID]record) error {
	for _, v := range views {
		owner, known := ownerOf(v, records)
		other, here := c.schema(owner)
		if known && here && owner != s.Feature {
			return &clash{[]attache.Problem{
				problemAt(s.File, s.Text, mistake{0, fmt.Sprintf("the view %s is also defined in %s; nothing of this file was applied", v, other.File), "keep it in one of them, or rename it"}),
				problemAt(other.File, other.Text, mistake{0, fmt.Sprintf("the view %s is also defined in %s, which was not applied", v, s.File), "keep it in one of them, or rename it"}),
			}}
		}
	}
	return nil
}
