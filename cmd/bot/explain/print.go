package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"attache"
	"attache/access"
	"attache/constitution"
	"attache/contexts"
	"attache/gateway/carried"
	"attache/gateway/mind"
	"attache/internal/brain"
)

// Answer is what came of a dry run. Its JSON is fixed (interface § 1); what
// JSON has no place for is for people.
type Answer struct {
	Rule    *Spot                                    `json:"rule"`
	Role    attache.RoleID                           `json:"role"`
	Engaged bool                                     `json:"engaged"`
	Pin     map[attache.ContextID]*attache.EntityKey `json:"pin"` // null: held to no key
	Links   []Link                                   `json:"links"`
	Tail    string                                   `json:"tail"`

	// Of a run that posts its final answer: what a reply to it would bring back, or why
	// it would not be posted (decisions § 2).
	Origin  *attache.Origin `json:"origin,omitempty"`
	Refusal string          `json:"refusal,omitempty"`

	// Notes tell how this came about: what could not be looked at, what was guessed.
	Notes []string `json:"-"`

	brain        *brain.Brain
	run          *attache.Run // nil: a message
	path         string       // of the run's file
	message      attache.Message
	unread       bool // what tools bound cannot be known
	ruling       access.Ruling
	why          string // why it is engaged, or why not
	asked        contexts.Turn
	instructions int // code points of the static prompt
	input        int
}

// Spot is where a rule stands.
type Spot struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// Link is what one context, with one key, came to.
type Link struct {
	Context attache.ContextID `json:"context"`
	Entity  attache.EntityKey `json:"entity"`
	Link    attache.Link      `json:"link"`
	Status  string            `json:"status"`
	Why     string            `json:"why"`
	Knob    string            `json:"knob"`
	Chars   int               `json:"chars"`
}

func newAnswer(b *brain.Brain) *Answer {
	return &Answer{brain: b, Pin: map[attache.ContextID]*attache.EntityKey{}, Links: []Link{}}
}

// hold notes what the place holds a bot to.
func (x *Answer) hold(p attache.Pin) {
	x.unread = p.Unread
	for id, key := range p.Bound {
		x.Pin[id] = nil
		if key != "" {
			x.Pin[id] = &key
		}
	}
}

// carry takes over what the turn would carry.
func (x *Answer) carry(p mind.Preview) {
	x.Tail = string(p.Tail)
	for _, c := range p.Carried {
		l := Link{Context: c.Context, Entity: c.Entity, Link: c.Link, Status: c.Status, Why: c.Why, Knob: c.Knob, Chars: c.Chars}
		if c.Status != "refused" {
			l.Why = whyLinked(c)
		}
		x.Links = append(x.Links, l)
	}
}

// whyLinked tells every link that led to a context, and what its budget left out.
func whyLinked(c carried.Record) string {
	var whys []string
	for i, m := range c.Links {
		if why := m.Why; i == 0 {
			whys = append(whys, why)
		} else {
			whys = append(whys, fmt.Sprintf("also %s: %s", m.Link, why))
		}
	}
	if c.Why != "" {
		whys = append(whys, c.Why)
	}
	if c.Knob != "" {
		whys = append(whys, "there is no room for it")
	}
	return strings.Join(whys, "; ")
}

// PrintJSON prints the fixed form.
func (x *Answer) PrintJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(x)
}

// Print tells it to a person, in the order in which it was decided.
func (x *Answer) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	m := x.message
	if x.run != nil {
		line("run", "%s, %s, %s", x.run, x.path, where(m.Place))
	} else {
		line("message", "%s writes to %s in %s, topic %d", m.From.ID, m.Place.Bot, m.Place.Chat, m.Place.Thread)
	}
	if m.Place.Chat != 0 {
		line("rule", "%s", x.rule())
	}
	if x.Role != "" && x.run == nil {
		_, why := x.ruling.Admits(m.From.ID)
		line("people", "%s", why)
	}
	if x.Role != "" {
		line("role", "%s", x.role())
	}
	line("engaged", "%s", yesNo(x.Engaged, x.why))
	line("pin", "%s", x.pins())
	if x.run != nil && x.Engaged {
		line("answer", "%s", x.answer())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if x.Engaged {
		if err := x.printLinks(w); err != nil {
			return err
		}
	}
	for i, note := range x.Notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, "note: "+note); err != nil {
			return err
		}
	}
	if x.Engaged {
		return x.printTail(w)
	}
	return nil
}

// where tells the place of a run.
func where(p attache.Place) string {
	if p.Chat == 0 {
		return "without a place"
	}
	return fmt.Sprintf("as %s in %s, topic %d", p.Bot, p.Chat, p.Thread)
}

// answer tells what becomes of a run's final answer.
func (x *Answer) answer() string {
	switch {
	case x.Refusal != "":
		return "refused: " + x.Refusal
	case x.Origin == nil:
		return "posted nowhere: the run has no place; its tools may post"
	case len(x.Origin.Reach) == 0:
		return "posted; a reply to it links to nothing"
	}
	// The role of the place answers a reply, and its list must let the context in.
	there := x.brain.Admission(x.ruling.Role)
	var back, kept []string
	for _, e := range x.Origin.Reach {
		fact, why := x.brain.Contexts.Fact(e.Context)
		if why == "" && fact.Holds(attache.LinkReply) && there.Admits(e.Context) {
			back = append(back, e.String())
		} else {
			kept = append(kept, e.String())
		}
	}
	say := "posted; a reply to it links to nothing"
	if len(back) > 0 {
		say = "posted; a reply to it brings back " + strings.Join(back, ", ")
	}
	if len(kept) > 0 {
		say += fmt.Sprintf("; it remembers %s, which no reply brings back: its when has no reply, or the role %s does not list it", strings.Join(kept, ", "), x.ruling.Role)
	}
	return say
}

func (x *Answer) rule() string {
	if x.Rule == nil {
		return "none: " + x.ruling.Why
	}
	what := string(x.ruling.Kind)
	if x.ruling.Silenced {
		what = "silenced"
	}
	return fmt.Sprintf("%s:%d (%s)", x.Rule.File, x.Rule.Line, what)
}

func (x *Answer) role() string {
	if r, ok := x.brain.Frame.Role(x.Role); ok {
		return string(x.Role) + ", " + r.Path
	}
	return string(x.Role)
}

func yesNo(yes bool, why string) string {
	if yes {
		return "yes: " + why
	}
	return "no: " + why
}

// pins says what the place is held to.
func (x *Answer) pins() string {
	var out []string
	for id, key := range x.Pin {
		if key == nil {
			out = append(out, string(id)+" to no key")
		} else {
			out = append(out, fmt.Sprintf("%s to %q", id, *key))
		}
	}
	slices.Sort(out)
	told := strings.Join(out, ", ")
	switch {
	case x.unread:
		return cmp.Or(told, "unknown") + "; what tools bound cannot be read, so no context with a key attaches"
	case x.message.Place.Chat == 0:
		return "none: a run without a place is held to nothing"
	}
	return cmp.Or(told, "none: this place is bound to nothing")
}

// printLinks tells which contexts are linked and which are not.
func (x *Answer) printLinks(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nlinks")
	for _, l := range x.Links {
		name := attache.ReachEntry{Context: l.Context, Key: l.Entity}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", statusWords(l), name, l.Link, x.linkWords(l))
	}
	if len(x.Links) == 0 {
		fmt.Fprintln(t, "  none")
	}
	if idle := x.unlinked(); len(idle) > 0 {
		fmt.Fprintln(t, "\nnot linked")
		for _, line := range idle {
			fmt.Fprintln(t, "  "+line)
		}
	}
	return t.Flush()
}

// printTail ends with what the model would read behind the message.
func (x *Answer) printTail(w io.Writer) error {
	what := "message"
	if x.run != nil {
		what = "input"
	}
	fmt.Fprintf(w, "\nsizes: instructions %d, %s %d, tail %d characters\n", x.instructions, what, x.input, len([]rune(x.Tail)))
	if x.Tail == "" {
		_, err := fmt.Fprintln(w, "tail: nothing")
		return err
	}
	_, err := fmt.Fprintf(w, "tail, byte for byte:\n%s\n", x.Tail)
	return err
}

// statusWords says in words what became of a link.
func statusWords(l Link) string {
	if l.Status == "stub" {
		return "not attached"
	}
	return l.Status
}

// linkWords tells why, and for a stub what to do about it.
func (x *Answer) linkWords(l Link) string {
	file, _ := x.brain.Contexts.File(l.Context)
	switch {
	case l.Status == "attached":
		return fmt.Sprintf("%d of at most %d characters: %s", l.Chars, file.Chars.Value, l.Why)
	case l.Status == "stub":
		return fmt.Sprintf("%s — raise %s", l.Why, x.knob(l, file))
	case file != nil && l.Link == attache.LinkChat && !file.Holds(l.Link):
		return fmt.Sprintf("%s — add it in %s", l.Why, file.Path)
	}
	return l.Why
}

// knob names a knob with its value now and the file to write it in.
func (x *Answer) knob(l Link, file *contexts.File) string {
	m, role := x.brain.Frame.Manifest.Contexts, x.asked.Role
	name, key, _ := strings.Cut(l.Knob, ".")
	if strings.Contains(l.Knob, " of ") { // of a file that is named already
		return fmt.Sprintf("%s, now %d", l.Knob, file.Chars.Value)
	}
	where, now := constitution.ManifestPath, map[string]int{"chars": file.Chars.Value, "maxActive": m.MaxActive, "turnChars": m.TurnChars}[key]
	if name == "contextBudget" {
		r, _ := x.brain.Frame.Role(x.Role)
		where, now = r.Path, *map[string]*int{"maxActive": role.MaxActive, "turnChars": role.TurnChars}[key]
	}
	return fmt.Sprintf("%s in %s, now %d", l.Knob, where, now)
}
