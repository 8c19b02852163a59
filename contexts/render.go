package contexts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"attache"
)

// Tail is what one turn carries.
type Tail struct {
	Bytes    []byte    // what the model reads, to be sent as they are in each call of the turn; nil for nothing
	Manifest []Carried // what they hold, in their order; stubs that are only counted in them too
}

// Carried is one context in a tail, attached or as a stub. It is stored in the
// ledger (matrix G7), so fields are only added.
type Carried struct {
	Context attache.ContextID `json:"context"`
	Feature attache.FeatureID `json:"feature"`
	Key     attache.EntityKey `json:"entity,omitempty"`
	Link    attache.Link      `json:"link"`            // the strongest of Links
	Links   []Made            `json:"links"`           // every link that led to it, strongest first
	Chars   int               `json:"chars,omitempty"` // code points of the block; 0 for a stub
	Knob    string            `json:"knob,omitempty"`  // a stub's: what to raise; "" when it is attached
	Cut     []string          `json:"cut,omitempty"`   // what chars left out of the block, one clause each
}

// mostStubs is how many stubs a tail prints (decisions § 2).
const mostStubs = 10

// Needs lists what the choice must be given to be rendered, each once: of every
// context that may be attached, and of the agent state.
func (c Choice) Needs() []Need {
	var out []Need
	if c.lib.frame.Rows > 0 {
		for _, view := range c.state[:min(len(c.state), c.lib.frame.Views)] {
			out = append(out, Need{View: view})
		}
	}
	places := 0
	for _, b := range c.blocks {
		if b.tooLong() || !c.opened && places >= c.maxActive().Value {
			continue // nothing of its data will be shown
		}
		if b.file.Chars.Value <= c.turnChars().Value {
			places++ // one that may turn out too large for the turn leaves its place to the next
		}
		for _, d := range b.file.Data {
			if d.View == "" || c.lib.frame.Rows > 0 && (d.By == "" || b.entry.Key != "") {
				out = append(out, b.need(d))
			}
		}
		if b.file.Code != "" {
			out = append(out, b.code())
		}
	}
	return unique(out)
}

func unique(needs []Need) []Need {
	seen := make(map[Need]bool, len(needs))
	return slices.DeleteFunc(needs, func(n Need) bool {
		twice := seen[n]
		seen[n] = true
		return twice
	})
}

// Render fits the choice into its budgets and writes the tail (decisions § 3, § 5).
// Of an opened context it is the one block alone.
func (c Choice) Render(given map[Need]Given) Tail {
	if c.opened {
		return c.answer(given)
	}
	var attached, stubs []Carried
	var blocks []string
	var p purse
	for _, b := range c.blocks {
		item := b.carried()
		text, cut, knob := c.pay(&p, b, given)
		if knob != "" {
			item.Knob = knob
			stubs = append(stubs, item)
			continue
		}
		item.Chars, item.Cut = utf8.RuneCountInString(text), cut
		attached, blocks = append(attached, item), append(blocks, text)
	}
	return Tail{Bytes: c.join(c.agentState(given), blocks, stubs), Manifest: append(attached, stubs...)}
}

// purse is what the blocks before one have used up.
type purse struct {
	places int  // of maxActive
	chars  int  // of turnChars
	full   bool // a block found no room: all that are weaker go with it
}

// pay gives the block as it is attached, or the knob that keeps it out. The weakest
// go first: where turnChars ends, it ends for all that follow. Only a block that
// fits into no turn at all keeps nothing else out, and takes no place.
func (c Choice) pay(p *purse, b block, given map[Need]Given) (text string, cut []string, knob string) {
	switch {
	case b.tooLong():
		return "", nil, b.file.Chars.Name
	case p.places >= c.maxActive().Value:
		return "", nil, c.maxActive().Name
	case p.full:
		p.places++
		return "", nil, c.turnChars().Name
	}
	text, cut = c.lib.block(b, given)
	size := utf8.RuneCountInString(text)
	if size > c.turnChars().Value {
		return "", nil, c.turnChars().Name
	}
	p.places++
	if p.full = p.chars+size > c.turnChars().Value; p.full {
		return "", nil, c.turnChars().Name
	}
	p.chars += size
	return text, cut, ""
}

// answer is what context_open answers (decisions § 3.16).
func (c Choice) answer(given map[Need]Given) Tail {
	b := c.blocks[0]
	item := b.carried()
	text, cut := c.lib.block(b, given)
	item.Chars, item.Cut = utf8.RuneCountInString(text), cut
	return Tail{Bytes: []byte(text), Manifest: []Carried{item}}
}

func (c Choice) maxActive() Knob {
	if own := c.turn.Role.MaxActive; own != nil {
		return Knob{*own, "contextBudget.maxActive"}
	}
	return Knob{c.lib.frame.MaxActive, "contexts.maxActive"}
}

func (c Choice) turnChars() Knob {
	if own := c.turn.Role.TurnChars; own != nil {
		return Knob{*own, "contextBudget.turnChars"}
	}
	return Knob{c.lib.frame.TurnChars, "contexts.turnChars"}
}

func (b block) carried() Carried {
	out := Carried{Context: b.entry.Context, Feature: b.file.Feature, Key: b.entry.Key, Link: b.links[0].Link}
	for _, made := range b.links {
		out.Links = append(out.Links, made.Made)
	}
	return out
}

const blockEnd = "</feature-context>"

// settle orders the links of a block, all of which are there now, and finds what
// its instructions leave of chars.
func (b *block) settle() {
	slices.SortStableFunc(b.links, stronger)
	b.open = tag("feature-context", "name", string(b.file.ID), "feature", string(b.file.Feature), "entity", string(b.entry.Key), "link", string(b.links[0].Link))
	b.left = b.file.Chars.Value - utf8.RuneCountInString(b.open) - 1 - b.file.size - len(blockEnd)
}

// tooLong reports whether the instructions alone are over chars: they are never
// cut, because half a rule reads as the whole rule (matrix G3).
func (b block) tooLong() bool { return b.left < 0 }

// block writes one context: the instructions whole, then each section within what
// chars leaves, keeping room for the ones after it to say at least that they are
// missing. Instructions that are too long leave a stub of every section; the block
// is then written for context_open only.
func (l *Library) block(b block, given map[Need]Given) (text string, cut []string) {
	parts := l.parts(b, given)
	room := b.left
	for _, p := range parts {
		room -= l.least(p) + 1 // the line break after it
	}
	out := b.open + "\n" + b.file.instructions
	for _, p := range parts {
		least := l.least(p)
		section, why := l.fit(p, room+least)
		if b.tooLong() {
			section, why = l.stub(p.name, "chars"), p.name+": no room in chars"
		}
		if why != "" {
			cut = append(cut, why)
		}
		room += least - utf8.RuneCountInString(section)
		out += section + "\n"
	}
	return out + blockEnd, cut
}

// stub is the one line of a context that a budget keeps out, with the way to it.
func (c Choice) stub(m Carried) string {
	text := c.lib.words.say("raise", "knob", m.Knob)
	if c.turn.Role.CanOpen {
		args := quoted(string(m.Context))
		if m.Key != "" {
			args += ", " + quoted(string(m.Key))
		}
		text = c.lib.words.say("open", "call", args)
	}
	return tag("feature-context", "name", string(m.Context), "feature", string(m.Feature), "entity", string(m.Key),
		"attached", "no", "reason", "budget", "knob", m.Knob) + escape(text) + blockEnd
}

var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoted writes a text as an argument of context_open.
func quoted(s string) string { return `"` + inQuotes.Replace(s) + `"` }

// agentState writes the views of the role's own state that no context claims, "" for
// none. Views past state.views are stubs.
func (c Choice) agentState(given map[Need]Given) string {
	var sections []string
	for i, view := range c.state {
		switch got, ok := given[Need{View: view}]; {
		case i >= c.lib.frame.Views:
			sections = append(sections, c.lib.stub(view, "state.views"))
		case c.lib.frame.Rows == 0:
			sections = append(sections, c.lib.noRows(view, "off").fixed)
		case !ok || got.Failed:
			sections = append(sections, c.lib.unread(view).fixed)
		default:
			p := c.lib.viewPart(view, got)
			text, _ := c.lib.fit(p, math.MaxInt)
			sections = append(sections, text)
		}
	}
	if len(sections) == 0 {
		return ""
	}
	return "<agent-state>" + strings.Join(sections, "\n") + "</agent-state>"
}

// join puts the tail's blocks in their order (decisions § 5).
func (c Choice) join(state string, blocks []string, stubs []Carried) []byte {
	var all []string
	if state != "" {
		all = append(all, state)
	}
	all = append(all, blocks...)
	for _, m := range stubs[:min(len(stubs), mostStubs)] {
		all = append(all, c.stub(m))
	}
	if more := len(stubs) - mostStubs; more > 0 {
		all = append(all, c.lib.words.say("rest", "n", strconv.Itoa(more)))
	}
	if c.closed {
		all = append(all, escape(c.lib.words.say("unpinned")))
	}
	if len(all) == 0 {
		return nil
	}
	return []byte(strings.Join(all, "\n"))
}

// Line is the line of /context on what a turn carried (interface § 5).
func Line(manifest []Carried) string {
	var items []string
	for _, m := range manifest {
		name := attache.ReachEntry{Context: m.Context, Key: m.Key}.String()
		if m.Knob != "" {
			items = append(items, fmt.Sprintf("%s (not attached — budget: %s)", name, m.Knob))
		} else {
			items = append(items, fmt.Sprintf("%s (%s, %d)", name, m.Link, m.Chars))
		}
	}
	if len(items) == 0 {
		return "Contexts: none"
	}
	return "Contexts: " + strings.Join(items, " · ")
}
