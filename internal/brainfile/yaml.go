package brainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"attache"
)

// Front is a file of frontmatter and body, as every `<id>.<kind>.md` of a brain.
type Front struct {
	Head     Node
	Body     string // everything after the closing ---, untrimmed
	BodyLine int    // the line of the file that Body begins on
}

// YAML reads the whole file as one YAML mapping. An empty file is an empty one. A
// file that is no YAML gives one problem; mistakes of keys and values are found by
// [Node.Decode].
func (f *File) YAML() (Node, []attache.Problem) {
	if f.Trouble != nil {
		return Node{file: f}, []attache.Problem{*f.Trouble}
	}
	return f.parse(f.Text)
}

// Frontmatter reads the YAML between a first line --- and the next one, and gives
// what follows as the body. Lines count from the file's first.
func (f *File) Frontmatter() (Front, []attache.Problem) {
	if f.Trouble != nil {
		return Front{Head: Node{file: f}, BodyLine: 1}, []attache.Problem{*f.Trouble}
	}
	none := func(what, do string) (Front, []attache.Problem) {
		return Front{Head: Node{file: f}, BodyLine: 1}, []attache.Problem{f.Wrong(1, 1, what, do)}
	}
	if strings.TrimSpace(f.Text) == "" {
		return none("the file is empty", "begin it with a line ---, the keys, and another line ---")
	}
	open, rest, _ := strings.Cut(f.Text, "\n")
	if !fence(open) {
		return none("the file has no frontmatter", "begin it with a line ---, the keys, and another line ---")
	}
	head, line := "\n", 2 // the empty line stands for the opening fence, so that lines count from the file's first
	for rest != "" {
		var text string
		text, rest, _ = strings.Cut(rest, "\n")
		if fence(text) {
			node, problems := f.parse(head)
			return Front{Head: node, Body: rest, BodyLine: line + 1}, problems
		}
		head += text + "\n"
		line++
	}
	return none("the frontmatter that opens here is never closed", "add a line --- after its last key")
}

// fence reports whether a line opens or closes frontmatter.
func fence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// parse reads one YAML document and refuses what no brain file may hold.
func (f *File) parse(text string) (Node, []attache.Problem) {
	top := Node{file: f, top: true}
	doc, more, err := document(text)
	if err != nil {
		return top, []attache.Problem{f.syntax(text, err)}
	}
	if more > 0 {
		return top, []attache.Problem{f.Wrong(more, 1, "a second YAML document begins here", "remove the line ---, or put the text in a file of its own")}
	}
	if doc == nil || len(doc.Content) == 0 || isNull(doc.Content[0]) && doc.Content[0].Value == "" {
		return top, nil
	}
	top.yaml = doc.Content[0]
	if problems := f.foreign(top.yaml, 0); len(problems) > 0 {
		return Node{file: f, top: true}, problems
	}
	return top, nil
}

// document reads the first YAML document of a text and the line on which a second
// one begins, 0 for none. The YAML library panics on some texts; that is one more
// way of saying that a text is no YAML.
func document(text string) (doc *yaml.Node, more int, err error) {
	defer func() {
		if p := recover(); p != nil {
			doc, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	doc = new(yaml.Node)
	if err := dec.Decode(doc); errors.Is(err, io.EOF) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); errors.Is(err, io.EOF) {
		return doc, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	return doc, max(second.Line, 1), nil
}

// maxDepth bounds nesting: no format of a brain goes deeper than a JSON schema of
// a tool's arguments does.
const maxDepth = 50

// foreign finds anchors, aliases, tags and nesting without end anywhere below n.
func (f *File) foreign(n *yaml.Node, depth int) []attache.Problem {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return []attache.Problem{f.Wrong(n.Line, n.Column, "anchors (&name) and aliases (*name) are not used in a brain", "write the value out; text that begins with & or * goes in quotes")}
	case n.Style&yaml.TaggedStyle != 0:
		return []attache.Problem{f.Wrong(n.Line, n.Column, fmt.Sprintf("the tag %s is not used in a brain", n.Tag), "remove it; text that begins with ! goes in quotes")}
	case depth > maxDepth:
		return []attache.Problem{f.Wrong(n.Line, n.Column, fmt.Sprintf("values are nested more than %d deep here", maxDepth), "write it flatter")}
	}
	var out []attache.Problem
	for _, c := range n.Content {
		out = append(out, f.foreign(c, depth+1)...)
	}
	return out
}

// syntax turns the library's complaint into a problem at the line where the text
// stops being YAML. The library itself often names the end of the file, or the
// start of the value around the mistake.
func (f *File) syntax(text string, err error) attache.Problem {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	said := 0
	if n, scanErr := fmt.Sscanf(what, "line %d: ", &said); n == 1 && scanErr == nil {
		_, what, _ = strings.Cut(what, ": ")
	}
	line := lastGood(text, said) + 1
	lines := strings.Split(text, "\n")
	at := ""
	if line-1 < len(lines) {
		at = lines[line-1]
	}
	col := len(at) - len(strings.TrimLeft(at, " \t")) + 1
	return f.Wrong(line, col, "this is not YAML: "+what, hint(what, at))
}

// lastGood gives the number of lines that are YAML when they stand alone: what
// follows them is where the mistake begins. It looks back from the end, or from
// shortly after the line that the library names when the text is long.
func lastGood(text string, said int) int {
	const reach = 300
	var ends []int
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			ends = append(ends, len(text))
			break
		}
		at += next + 1
		ends = append(ends, at)
	}
	from := len(ends) - 1
	if from > reach && said > 0 {
		from = min(from, said+2)
	}
	for n := from; n > 0 && n > from-reach; n-- {
		if _, _, err := document(text[:ends[n-1]]); err == nil {
			return n
		}
	}
	return max(min(said, len(ends))-1, 0)
}

// hint says what most likely mends a line.
func hint(what, line string) string {
	blank := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(blank, "\t"):
		return "indent with spaces, not with tabs"
	case strings.Contains(what, "mapping values are not allowed"):
		return "put the text after the first colon in quotes, or mend the indentation"
	case strings.Contains(what, "cannot start any token"), strings.Contains(what, "alphabetic or numeric character"), strings.Contains(what, "unknown anchor"):
		return "put the value in quotes"
	case strings.Contains(what, "',' or"):
		return "close the bracket, or put a comma between the values"
	case strings.Contains(what, "unexpected end of stream"), strings.Contains(what, "end of stream"):
		return "close the quotes or the bracket that open here"
	case strings.Contains(what, "could not find expected ':'"):
		return "write it as key: value"
	}
	return "look at quotes, brackets and indentation here"
}

// isNull reports whether a scalar stands for nothing: empty, ~ or null, unquoted.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
		bytes.Contains([]byte("|null|Null|NULL|~||"), []byte("|"+n.Value+"|"))
}
