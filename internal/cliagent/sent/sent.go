// Package sent decides what an agent that keeps its session is told of a turn's
// tail, given what it was told before (text 1 § 4): a context's instructions once, a
// view again only when its rows have changed, and one line for a context that is no
// longer attached.
//
// The data is a [State]: of each block that the agent has, its parts and a digest of
// each. It is stored between turns and says nothing of what the parts held. A tail is
// taken apart by its own tags, which nothing inside it can open or close (decisions
// § 5), so the bytes that a turn was given are the one source: what an agent without
// a memory is sent, and what the ledger counts, is the same text.
//
// For every State and every tail, an agent that carries the operations out has what
// the tail holds, and nothing else: a property test says so.
package sent

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"html"
	"slices"
	"strings"
)

//go:embed words.txt
var wordsText string

// What an operation does.
const (
	Attach   = "attach"   // the whole block is there from now on, in place of what was there of it
	View     = "view"     // one section of a block has changed; the others stay
	Withdraw = "withdraw" // the block is not there (any more); the text is one line that says so
)

// Op is one operation on what an agent has (interface § 4, CLI agent protocol).
type Op struct {
	Op     string `json:"op"`
	Name   string `json:"name"`   // the context's, or agent-state, or notes
	Entity string `json:"entity"` // the context's key, empty without one
	Text   string `json:"text"`   // to be shown to the agent as it is
}

// The kinds of a Block.
const (
	contextKind = "context"
	stateKind   = "state" // <agent-state>
	notesKind   = "notes" // lines outside of every element
)

// State is what an agent has been told. It is stored, so fields are only added.
type State struct {
	Blocks []Block `json:"blocks,omitempty"`
}

// Block is one block of a tail as an agent has it.
type Block struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Entity   string `json:"entity,omitempty"`
	Feature  string `json:"feature,omitempty"`
	Line     string `json:"line,omitempty"` // digest of a stub's line; "" for a block that is attached
	Sections []Part `json:"sections,omitempty"`

	text string // as the tail has it
	open string // its first tag
}

// Part is one section of a block.
type Part struct {
	Name string `json:"name"`
	Sum  string `json:"sum"` // digest of its text, tags included

	text string
}

// Next gives what an agent that has before is told, so that it has what tail holds,
// and the state after that. whole says that it is not certain what it has of before:
// everything is attached again, and what before holds and the tail does not is
// withdrawn.
func Next(before State, tail []byte, whole bool) ([]Op, State) {
	after := State{Blocks: split(string(tail))}
	ops := []Op{}
	for _, old := range before.Blocks {
		if after.find(old) < 0 {
			ops = append(ops, old.withdraw())
		}
	}
	for _, b := range after.Blocks {
		at := before.find(b)
		switch {
		case whole || at < 0:
			ops = append(ops, b.tell())
		default:
			ops = append(ops, b.changes(before.Blocks[at])...)
		}
	}
	return ops, after
}

// With gives the state of an agent that may have been told a tail besides: a turn that
// did not come to its end, or a context that it opened itself.
func (s State) With(tail []byte) State {
	all := slices.Clone(s.Blocks)
	for _, b := range split(string(tail)) {
		if at := (State{all}).find(b); at >= 0 {
			all[at] = b
		} else {
			all = append(all, b)
		}
	}
	return State{all}
}

func (s State) find(b Block) int {
	return slices.IndexFunc(s.Blocks, func(x Block) bool { return x.Kind == b.Kind && x.Name == b.Name && x.Entity == b.Entity })
}

// tell gives the operation that tells a block anew.
func (b Block) tell() Op {
	if b.Line != "" && b.Kind == contextKind {
		return Op{Withdraw, b.Name, b.Entity, b.text}
	}
	return Op{Attach, b.Name, b.Entity, b.text}
}

// changes gives the operations that make an old block this one. A file that was
// edited shows in its instructions, so then it is told anew.
func (b Block) changes(old Block) (ops []Op) {
	if b.Line != old.Line || b.sum(instructions) != old.sum(instructions) {
		return []Op{b.tell()}
	}
	for _, p := range b.Sections {
		if old.sum(p.Name) != p.Sum {
			ops = append(ops, b.view(p.text))
		}
	}
	for _, p := range old.Sections {
		if b.sum(p.Name) == "" {
			ops = append(ops, b.view(`<section name="`+escape(p.Name)+`" kind="data" stub="gone">`+say("gone")+`</section>`))
		}
	}
	return ops
}

// instructions is the section that no view may be named after (text 1 § 5).
const instructions = "instructions"

func (b Block) sum(section string) string {
	for _, p := range b.Sections {
		if p.Name == section {
			return p.Sum
		}
	}
	return ""
}

// view tells one section, within its block's tags: an agent that shows its model the
// text alone must not mistake one ticket for another.
func (b Block) view(section string) Op {
	text := b.open + section + stateEnd
	if b.Kind == contextKind {
		text = b.open + "\n" + section + "\n" + contextEnd
	}
	return Op{View, b.Name, b.Entity, text}
}

func (b Block) withdraw() Op {
	text := say("withdrawn")
	switch b.Kind {
	case stateKind:
		text = `<agent-state attached="no">` + text + stateEnd
	case contextKind:
		tag := `<feature-context name="` + escape(b.Name) + `" feature="` + escape(b.Feature) + `"`
		if b.Entity != "" {
			tag += ` entity="` + escape(b.Entity) + `"`
		}
		text = tag + ` attached="no" reason="withdrawn">` + text + contextEnd
	}
	return Op{Withdraw, b.Name, b.Entity, text}
}

// escape writes an attribute's value; names and keys hold no control characters.
func escape(s string) string { return html.EscapeString(s) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// say gives a sentence of words.txt.
func say(name string) string {
	for line := range strings.Lines(wordsText) {
		if sentence, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(sentence)
		}
	}
	panic("sent: words.txt has no " + name)
}
