package contexts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"attache"
	"attache/internal/brainfile"
)

// File is one *.context.md that loads (interface § 3 "Context").
type File struct {
	attache.ContextFact
	Path        string // from the brain's root
	Folder      string // that it stands in: its reach begins there
	Description string // one line; what the catalog says of it
	Data        []Data // in the order of the file
	Body        string // the instructions, trimmed, as written
	BodyLine    int    // the line of the file that the body begins on
	Lines       brainfile.Lines
	Code        string // path of the *.context.ts beside it, "" for none
	Chars       Knob   // code points of its block
	Keep        Knob   // turns that a reply, code or ask link stays
	Timeout     Knob   // milliseconds of one call of its code

	instructions string // the section as it is sent, with its line break; "" for an empty body
	size         int    // code points of instructions
}

// Data is one entry of `data:`: a view, whole or filtered by the entity key, or a
// document of the knowledge.
type Data struct {
	View      string `yaml:"view"`
	By        string `yaml:"by"` // the column that the key filters; "" shows the view whole
	Document  string `yaml:"document"`
	MaxTokens *int   `yaml:"maxTokens" min:"1"` // of the document's reading list; nil: no limit of its own
	Line, Col int
}

// Name is the name of the entry's section.
func (d Data) Name() string {
	if d.View != "" {
		return d.View
	}
	return d.Document
}

// Knob is a number with the name of the tier that gave it, as a stub tells which
// knob to raise (decisions § 5).
type Knob struct {
	Value int
	Name  string // "contexts.chars", "chars of features/a/b.context.md"
}

// head is the frontmatter as it is written.
type head struct {
	brainfile.Lines
	Description string           `yaml:"description"`
	Entity      *string          `yaml:"entity"`
	When        []brainfile.Word `yaml:"when,required" oneof:"run,chat,reply,ask,always"`
	Data        []brainfile.Node `yaml:"data"`
	Chars       *int             `yaml:"chars" min:"1"`
	Keep        *int             `yaml:"keep"`
}

// parsed is what one file gives by itself, with the tier of knobs that it holds.
type parsed struct {
	file        File
	chars, keep *int
	claims      []string // views that its data names, also when it does not load
	problems    []attache.Problem
}

var sqlName = regexp.MustCompile(`^[\pL_][\pL\pN_$]*$`)

// parse reads one file. What depends on other files is settled by Read.
func parse(f *brainfile.File) parsed {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	out := parsed{problems: problems}
	out.file.ID, out.file.Feature = attache.ContextID(ident.ID), attache.FeatureID(ident.Feature)
	if len(problems) > 0 {
		return out
	}
	var h head
	out.problems = advise(front.Head.Decode(&h))
	out.chars, out.keep = h.Chars, h.Keep
	out.claims = claims(front.Head)
	out.file = File{
		ContextFact: attache.ContextFact{ID: attache.ContextID(ident.ID), Feature: attache.FeatureID(ident.Feature)},
		Path:        f.Path, Folder: ident.Folder, Lines: h.Lines,
		Description: oneLine(h.Description),
		Body:        strings.TrimSpace(front.Body), BodyLine: front.BodyLine,
	}
	out.problems = append(out.problems, out.file.settle(h, front.Head)...)
	if out.file.Body != "" {
		out.file.instructions = section(escape(out.file.Body), "name", ownName, "kind", "control") + "\n"
		out.file.size = utf8.RuneCountInString(out.file.instructions)
	}
	return out
}

// advise says what to do where the general advice about keys would mislead.
func advise(problems []attache.Problem) []attache.Problem {
	for i, p := range problems {
		switch p.What {
		case `the key "enabled" is not known here`:
			problems[i].Do = "remove it: a context is switched off with its feature, by enabled: false in FEATURE.md"
		case `the key "when" is missing`:
			problems[i].Do = "say when it attaches, with some of run, chat, reply, ask and always"
		}
	}
	return problems
}

// settle checks and takes what tags cannot say.
func (file *File) settle(h head, top brainfile.Node) []attache.Problem {
	var problems []attache.Problem
	if h.Entity != nil {
		file.KeyKind = oneLine(*h.Entity)
		if file.KeyKind == "" {
			problems = append(problems, at(top, "entity", "entity is blank", "say what its key is, as in ticket id, or leave it out"))
		}
	}
	for _, w := range h.When {
		if w.Text == "" {
			continue // said already
		}
		if slices.Contains(file.When, attache.Link(w.Text)) {
			problems = append(problems, top.WrongAt(w, fmt.Sprintf("when names %s twice", w.Text), "keep one of them"))
		}
		file.When = append(file.When, attache.Link(w.Text))
	}
	if h.When != nil && len(h.When) == 0 {
		problems = append(problems, at(top, "when", "when is empty, so the context would never attach", "name some of run, chat, reply, ask and always, or switch its feature off"))
	}
	for _, n := range h.Data {
		d, wrong := readData(n)
		if len(wrong) == 0 {
			wrong = file.clash(d, n)
		}
		problems = append(problems, wrong...)
		file.Data = append(file.Data, d)
	}
	return problems
}

// at makes a problem that stands at a key of the frontmatter.
func at(top brainfile.Node, key, what, do string) attache.Problem {
	pairs, _ := top.Pairs()
	for _, p := range pairs {
		if p.Key.Text == key {
			return top.WrongAt(p.Key, what, do)
		}
	}
	return top.Wrong(what, do)
}

// readData reads one entry: the name of a view, or keys.
func readData(n brainfile.Node) (Data, []attache.Problem) {
	pos := n.Wrong("", "")
	d := Data{Line: pos.Line, Col: pos.Col}
	if word, ok := n.Text(); ok {
		d.View = word.Text
	} else if !n.IsMap() || n.Empty() {
		return d, one(n.Wrong("an entry of data is neither a view nor keys", "write the name of a view, { view: name, by: column } or { document: id }"))
	} else if problems := n.Decode(&d); len(problems) > 0 {
		return d, problems
	}
	switch {
	case d.View == "" && d.Document == "" || d.View != "" && d.Document != "":
		return d, one(n.Wrong("an entry of data names either a view or a document", "write { view: name, by: column } or { document: id, maxTokens: 2000 }"))
	case d.By != "" && d.View == "":
		return d, one(n.Wrong("by filters a view, and this entry names none", "add view, or take by out"))
	case d.MaxTokens != nil && d.Document == "":
		return d, one(n.Wrong("maxTokens is for a document, and this entry names none", "take it out; the rows of a view are bounded by chars and state.rows"))
	case d.View != "" && !sqlName.MatchString(d.View):
		return d, one(n.Wrong(fmt.Sprintf("%q is no name of a view", d.View), "write the name alone, in letters, digits and _"))
	case d.By != "" && !sqlName.MatchString(d.By):
		return d, one(n.Wrong(fmt.Sprintf("%q is no name of a column", d.By), "write the name alone, in letters, digits and _"))
	case d.View == "" && strings.TrimSpace(d.Document) == "":
		return d, one(n.Wrong("the id of the document is blank", "write the id of a document of the knowledge"))
	}
	return d, nil
}

// clash refuses an entry whose section would have the name of another one.
func (file *File) clash(d Data, n brainfile.Node) []attache.Problem {
	if d.Name() == ownName {
		return one(n.Wrong("a view may not be named instructions, because that is the section of the context's own text", "give the view another name"))
	}
	for _, other := range file.Data {
		if other.Name() == d.Name() {
			return one(n.Wrong(fmt.Sprintf("data names %s twice, first on line %d", d.Name(), other.Line), "keep one of them"))
		}
	}
	return nil
}

// claims lists the views that a file's data names, as far as they can be read: a
// slip in a context must not send its rows back into the role's agent state, where
// no key filters them. So a misspelt `data` claims as well.
func claims(top brainfile.Node) []string {
	var out []string
	pairs, _ := top.Pairs()
	for _, p := range pairs {
		if brainfile.Nearest(p.Key.Text, []string{"data"}) == "" {
			continue
		}
		items, _ := p.Value.Items()
		for _, n := range items {
			if word, ok := n.Text(); ok {
				out = append(out, word.Text)
				continue
			}
			keys, _ := n.Pairs()
			for _, k := range keys {
				if word, ok := k.Value.Text(); ok && k.Key.Text == "view" {
					out = append(out, word.Text)
				}
			}
		}
	}
	return out
}

// CheckSections judges what a *.context.ts rendered: keys are lower-case
// identifiers, none twice, none `instructions` or the name of other data of the
// context (matrix E4). The error is one clause; nothing of the answer is to be used.
func (file *File) CheckSections(list []Section) error {
	seen := map[string]bool{}
	for _, s := range list {
		switch {
		case !sectionKey.MatchString(s.Key):
			return fmt.Errorf("render answers a section %q; a key is a lower-case identifier such as sla_line", s.Key)
		case s.Key == ownName || slices.ContainsFunc(file.Data, func(d Data) bool { return d.Name() == s.Key }):
			return fmt.Errorf("render answers a section %q, which the context has already; give it another key", s.Key)
		case seen[s.Key]:
			return fmt.Errorf("render answers two sections %q; give them different keys", s.Key)
		}
		seen[s.Key] = true
	}
	return nil
}

var sectionKey = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// ownName is the name of the section that holds a context's own text.
const ownName = "instructions"

// CodeTimeout is the limit of one call of the context's code, its load included.
func (file *File) CodeTimeout() time.Duration {
	return time.Duration(file.Timeout.Value) * time.Millisecond
}

// oneLine keeps a list a list.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func one(p attache.Problem) []attache.Problem { return []attache.Problem{p} }
