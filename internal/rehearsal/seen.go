package rehearsal

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
)

// message is one message of the request.
type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []toolCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

// seen is everything the rehearsal model found in a request and can speak of. The
// templates of words.tmpl read it.
type seen struct {
	Agent     string // the role's name, from the session snapshot
	Workspace string
	Memories  int
	Kind      string // the turn's execution type, from the turn snapshot
	Routine   string // id of the beat or scenario, if the turn is one's run
	Earlier   int    // inputs of earlier turns

	Lines    []spoken // the messages of the input
	Room     []spoken // lines of the room before them
	Quoted   *spoken  // what the input replies to
	Plain    string   // an input without elements, such as a beat's prompt
	Pictures int
	Files    int

	Contexts []block // attached
	Stubs    []block // known, and not attached
	More     string  // "and N more"
	State    []section

	Results []result // what the tools called in this turn answered
	Refused string   // why the engine did not take the answer before
	Tools   []tool
}

// spoken is something a person or a bot said.
type spoken struct {
	From, Name, Text, Age string
}

// Who gives the name, or the address of one who has none.
func (s spoken) Who() string {
	if s.Name != "" {
		return s.Name
	}
	return s.From
}

// block is one feature context.
type block struct {
	Name, Feature, Entity, Link string
	Reason, Knob                string // of a stub
	Rules                       string
	Sections                    []section
}

// section is one view or rendered text of a block.
type section struct {
	Name, Rows, Stub, Text string
	More                   bool
	Table                  [][]cell // at most the first rows
}

// cell is a value under its column.
type cell struct{ Column, Value string }

// result is the answer of one tool.
type result struct {
	Tool, Error, Approval, Asked, Expires, Text string
	OK                                          bool
	Opened                                      []block
}

// read finds the turn in a request: the input is the last user message that the
// engine did not make itself; before it stand the snapshots, behind it the tail and
// the tool loop (decisions § 4).
func read(req request) seen {
	s := seen{}
	input := -1
	for i, m := range req.Messages {
		text, _, _ := m.text()
		if m.Role == "user" && !isEngine(text) {
			if input >= 0 {
				s.Earlier++
			}
			input = i
		}
	}
	calls := map[string]string{}
	for i, m := range req.Messages {
		text, pictures, files := m.text()
		switch {
		case i == input:
			s.Pictures, s.Files = pictures, files
			s.readInput(text)
		case i > input && m.Role == "tool":
			s.Results = append(s.Results, readResult(calls[m.ToolCallID], text))
		case i > input && m.Role == "assistant":
			for _, c := range m.ToolCalls {
				calls[c.ID] = c.Function.Name
			}
			s.Refused = "" // of an answer before this one
		case isEngine(text):
			s.readEngine(text, i > input)
		case i > input && input >= 0 && m.Role == "system":
			s.Refused = text
		}
	}
	for _, t := range req.Tools {
		s.Tools = append(s.Tools, readTool(t.Function.Name, t.Function.Parameters))
	}
	return s
}

// text gives a message's words, and how many pictures and files it carries.
func (m message) text() (text string, pictures, files int) {
	if json.Unmarshal(m.Content, &text) == nil {
		return text, 0, 0
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(m.Content, &parts) // neither text nor parts: no words
	var all []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			all = append(all, p.Text)
		case "image_url":
			pictures++
		case "file":
			files++
		}
	}
	return strings.Join(all, "\n"), pictures, files
}

// isEngine tells the engine's own messages from what people write. People cannot
// begin with these elements: their angle brackets arrive escaped (decisions § 5).
func isEngine(text string) bool {
	for _, start := range []string{"<session_context", "<turn_context", "<agent-state", "<feature-context"} {
		if strings.HasPrefix(strings.TrimSpace(text), start) {
			return true
		}
	}
	return false
}

// node is an element of the prompt.
type node struct {
	name  string
	attrs map[string]string
	kids  []*node
	text  string
}

// deepest bounds how far elements may stand inside each other; the engine's own
// are three deep.
const deepest = 50

// parse reads elements. Broken ones end the reading; what stands before them is
// kept, since half a report is better than none. Tokens are read
// raw: an end without its beginning is passed by here and is an error otherwise.
func parse(text string) *node {
	root := &node{}
	open := []*node{root}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false
	for {
		token, err := d.RawToken()
		if err != nil {
			return root
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(open) > deepest {
				return root
			}
			n := &node{name: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			top.kids = append(top.kids, n)
			open = append(open, n)
		case xml.EndElement:
			if len(open) > 1 {
				open = open[:len(open)-1]
			}
		case xml.CharData:
			top.text += string(t)
		}
	}
}

// all gives the elements of a name, at any depth, in order.
func (n *node) all(name string) []*node {
	var found []*node
	for _, kid := range n.kids {
		if kid.name == name {
			found = append(found, kid)
		} else {
			found = append(found, kid.all(name)...)
		}
	}
	return found
}

// spoken reads an element of the input's envelope (decisions § 5).
func (n *node) spoken() spoken {
	return spoken{From: n.attrs["from"], Name: n.attrs["name"], Age: n.attrs["age"], Text: strings.TrimSpace(n.text)}
}

// readInput reads the envelope of a chat input, or takes the input of a run, which
// has none, as it stands.
func (s *seen) readInput(text string) {
	root := parse(text)
	for _, kid := range root.kids {
		switch kid.name {
		case "room":
			for _, m := range kid.all("message") {
				s.Room = append(s.Room, m.spoken())
			}
		case "quoted":
			q := kid.spoken()
			s.Quoted = &q
		case "message":
			s.Lines = append(s.Lines, kid.spoken())
		}
	}
	if len(s.Lines) == 0 {
		s.Plain = strings.TrimSpace(text)
	}
}

// readEngine reads a snapshot, or the tail when it stands behind the input.
func (s *seen) readEngine(text string, behind bool) {
	// Later snapshots replace earlier ones: the last before the input is this turn's.
	// A turn that is no routine's says so by having no element for it.
	root := parse(text)
	for _, a := range root.all("agent") {
		s.Agent = a.attrs["name"]
		if s.Agent == "" {
			s.Agent = a.attrs["slug"]
		}
	}
	for _, w := range root.all("workspace") {
		s.Workspace = w.attrs["name"]
	}
	for _, m := range root.all("memories") {
		s.Memories = len(m.kids)
	}
	for _, e := range root.all("execution") {
		s.Kind, s.Routine = e.attrs["type"], ""
	}
	for _, r := range root.all("routine") {
		s.Routine = r.attrs["id"]
	}
	if !behind {
		return
	}
	for _, state := range root.all("agent-state") {
		for _, x := range state.all("section") {
			s.State = append(s.State, readSection(x))
		}
	}
	attached, stubs := readBlocks(root)
	s.Contexts, s.Stubs = append(s.Contexts, attached...), append(s.Stubs, stubs...)
	if more := strings.TrimSpace(root.text); strings.HasPrefix(more, "and ") {
		s.More = more
	}
}

// readBlocks reads feature contexts, attached ones and stubs apart.
func readBlocks(root *node) (attached, stubs []block) {
	for _, n := range root.all("feature-context") {
		b := block{
			Name: n.attrs["name"], Feature: n.attrs["feature"], Entity: n.attrs["entity"], Link: n.attrs["link"],
			Reason: n.attrs["reason"], Knob: n.attrs["knob"],
		}
		if n.attrs["attached"] == "no" {
			stubs = append(stubs, b)
			continue
		}
		for _, x := range n.all("section") {
			if x.attrs["name"] == "instructions" {
				b.Rules = strings.TrimSpace(x.text)
				continue
			}
			b.Sections = append(b.Sections, readSection(x))
		}
		attached = append(attached, b)
	}
	return attached, stubs
}

// shownRows limits how many rows of a view an answer repeats.
const shownRows = 3

// readSection reads a view's table: a header line, a line of dashes, rows.
func readSection(n *node) section {
	x := section{Name: n.attrs["name"], Rows: n.attrs["rows"], Stub: n.attrs["stub"], More: n.attrs["more"] == "yes", Text: strings.TrimSpace(n.text)}
	var columns []string
	for _, line := range strings.Split(x.Text, "\n") {
		values := tableLine(line)
		switch {
		case values == nil || strings.Trim(strings.Join(values, ""), "-: ") == "" && columns != nil && x.Table == nil:
		case columns == nil:
			columns = values
		case len(x.Table) < shownRows:
			var row []cell
			for i, v := range values {
				if i < len(columns) && v != "" {
					row = append(row, cell{columns[i], v})
				}
			}
			x.Table = append(x.Table, row)
		}
	}
	return x
}

// tableLine cuts "| a | b |" into its values; nil is no line of a table.
func tableLine(line string) []string {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil
	}
	var values []string
	value := ""
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line):
			i++
			value += string(line[i])
		case line[i] == '|':
			values = append(values, strings.TrimSpace(value))
			value = ""
		default:
			value += string(line[i])
		}
	}
	return values
}

// readResult reads a tool's answer: a JSON object, or the block of context_open
// (interface § 4).
func readResult(tool, text string) result {
	r := result{Tool: tool, Text: strings.TrimSpace(text)}
	if isEngine(text) {
		r.OK = true
		r.Opened, _ = readBlocks(parse(text))
		return r
	}
	var v struct {
		OK       *bool    `json:"ok"`
		Error    string   `json:"error"`
		Status   string   `json:"status"`
		Approval string   `json:"approval"`
		Asked    []string `json:"asked"`
		Expires  string   `json:"expires"`
	}
	if json.Unmarshal([]byte(text), &v) != nil {
		return r
	}
	r.OK = v.OK != nil && *v.OK
	r.Error = v.Error
	if v.OK != nil && !*v.OK && v.Error == "" {
		r.Error = fmt.Sprintf("no reason given, only %s", r.Text)
	}
	if v.Status == "waiting" {
		r.Approval, r.Asked, r.Expires = v.Approval, strings.Join(v.Asked, ", "), v.Expires
	}
	return r
}
