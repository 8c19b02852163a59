package sent

import (
	"html"
	"strings"
)

// The tags of a tail (decisions § 5).
const (
	contextOpen = "<feature-context "
	contextEnd  = "</feature-context>"
	stateOpen   = "<agent-state"
	stateEnd    = "</agent-state>"
	sectionEnd  = "</section>"
)

// split takes a tail apart. What stands outside of every element becomes one block of
// notes; so does a text that is no tail, which is then told whole whenever it changes.
func split(tail string) []Block {
	var blocks []Block
	var notes []string
	for rest := tail; rest != ""; {
		if b, after, ok := element(rest); ok {
			blocks, rest = append(blocks, b), strings.TrimPrefix(after, "\n")
			continue
		}
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		notes = append(notes, line)
	}
	if len(notes) > 0 {
		text := strings.Join(notes, "\n")
		blocks = append(blocks, Block{Kind: notesKind, Name: notesKind, Line: digest(text), text: text})
	}
	return blocks
}

// element takes the block off that a text begins with.
func element(s string) (b Block, rest string, ok bool) {
	b, end := Block{Kind: contextKind}, contextEnd
	if strings.HasPrefix(s, stateOpen) {
		b, end = Block{Kind: stateKind, Name: "agent-state"}, stateEnd
	} else if !strings.HasPrefix(s, contextOpen) {
		return Block{}, s, false
	}
	head := strings.Index(s, ">") + 1
	tail := strings.Index(s, end)
	if head == 0 || tail < head {
		return Block{}, s, false
	}
	b.open, b.text, rest = s[:head], s[:tail+len(end)], s[tail+len(end):]
	if b.Kind == contextKind {
		b.Name, b.Entity, b.Feature = attribute(b.open, "name"), attribute(b.open, "entity"), attribute(b.open, "feature")
	}
	if attribute(b.open, "attached") == "no" {
		b.Line = digest(b.text)
		return b, rest, true
	}
	b.Sections = sections(s[head:tail])
	return b, rest, true
}

// sections takes the inside of a block apart.
func sections(s string) (parts []Part) {
	for {
		text, rest, ok := strings.Cut(s, sectionEnd)
		if !ok {
			return parts
		}
		text = strings.TrimPrefix(text, "\n") + sectionEnd
		parts = append(parts, Part{Name: attribute(text[:strings.Index(text, ">")+1], "name"), Sum: digest(text), text: text})
		s = rest
	}
}

// attribute reads a value off a tag, "" for none. A value holds no quotes.
func attribute(tag, name string) string {
	_, after, ok := strings.Cut(tag, " "+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(after, `"`)
	return html.UnescapeString(value)
}
