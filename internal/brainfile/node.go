package brainfile

import (
	"cmp"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"attache"
)

// Node is a value in a YAML text that knows where it stands. The zero value of a
// file, an empty one, is an empty mapping on its first line.
type Node struct {
	file *File
	yaml *yaml.Node
	key  string // that it is the value of, "" for none
	top  bool   // the whole of a YAML text
}

// Pair is one key of a mapping with its value.
type Pair struct {
	Key   Word
	Value Node
}

// Word is a text with its place: line and column count from the file's first. A
// struct field of this type takes a text and remembers where it stood.
type Word struct {
	Text      string
	Line, Col int
}

// Lines is a field by which a struct learns the line of each key that was given.
type Lines map[string]int

// Line gives the line that the value begins on; the whole of a file begins on its
// first, whatever comes before its first key.
func (n Node) Line() int {
	if n.yaml == nil || n.top && n.IsMap() {
		return 1
	}
	return n.yaml.Line
}

func (n Node) col() int {
	if n.yaml == nil || n.top && n.IsMap() {
		return 1
	}
	return n.yaml.Column
}

// Wrong makes a problem that stands at the value.
func (n Node) Wrong(what, do string) attache.Problem {
	return n.file.Wrong(n.Line(), n.col(), what, do)
}

// WrongAt makes a problem that stands at a word of the same file.
func (n Node) WrongAt(w Word, what, do string) attache.Problem {
	return n.file.Wrong(w.Line, w.Col, what, do)
}

// Empty reports whether nothing is given: no value, null or ~.
func (n Node) Empty() bool { return n.yaml == nil || isNull(n.yaml) }

// IsMap reports whether the value is a mapping; an empty file is one.
func (n Node) IsMap() bool { return n.yaml == nil || n.yaml.Kind == yaml.MappingNode }

// Text gives a scalar as it is written, with its place; false for anything else
// and for nothing.
func (n Node) Text() (Word, bool) {
	if n.yaml == nil || n.yaml.Kind != yaml.ScalarNode || isNull(n.yaml) {
		return Word{}, false
	}
	return Word{n.yaml.Value, n.yaml.Line, n.yaml.Column}, true
}

// Items gives the values of a list; false for anything else.
func (n Node) Items() ([]Node, bool) {
	if n.yaml == nil || n.yaml.Kind != yaml.SequenceNode {
		return nil, false
	}
	out := make([]Node, len(n.yaml.Content))
	for i, c := range n.yaml.Content {
		out[i] = Node{file: n.file, yaml: c}
	}
	return out, true
}

// Pairs gives the keys of a mapping in the order in which they stand. A key that
// stands twice is a problem, and both stand in the pairs: whoever reads them
// decides what the doubt silences. What is no mapping, or has a key that is no
// text, is a problem too.
func (n Node) Pairs() ([]Pair, []attache.Problem) {
	if n.yaml == nil {
		return nil, nil
	}
	if n.yaml.Kind != yaml.MappingNode {
		return nil, []attache.Problem{n.Wrong(n.name()+" must be keys with values, not "+n.kind(), "write it as key: value, one on a line")}
	}
	var out []Pair
	var problems []attache.Problem
	first := map[string]int{}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		k := Node{file: n.file, yaml: n.yaml.Content[i]}
		word, ok := k.Text()
		switch line, twice := first[word.Text]; {
		case !ok:
			problems = append(problems, k.Wrong("a key must be text, not "+k.kind(), "put it in quotes"))
			continue
		case twice:
			problems = append(problems, k.Wrong(fmt.Sprintf("the key %q stands here twice, first on line %d", word.Text, line), "keep one of them"))
		default:
			first[word.Text] = word.Line
		}
		out = append(out, Pair{word, Node{file: n.file, yaml: n.yaml.Content[i+1], key: word.Text}})
	}
	return out, problems
}

// name is what messages call the value: its key, when it has one.
func (n Node) name() string { return cmp.Or(brief(n.key), "this") }

// kind says in a person's words what a value is.
func (n Node) kind() string {
	switch {
	case n.yaml == nil || isNull(n.yaml):
		return "nothing"
	case n.yaml.Kind == yaml.MappingNode:
		return "keys with values"
	case n.yaml.Kind == yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", brief(n.yaml.Value))
}

// brief cuts a value for a message.
func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
