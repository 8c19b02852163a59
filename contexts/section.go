package contexts

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"attache"
)

// Need is something that a choice needs from outside before it can be rendered: the
// rows of a view, a document, or the sections that a context's code renders. Equal
// needs are read once.
type Need struct {
	View      string            // a view; whole when By is empty
	By        string            // the column that Key filters, as a bound parameter
	Key       attache.EntityKey // never empty with By; with Code what render is asked about
	Document  string            // a document of the knowledge
	MaxTokens int               // of the document; 0 for no limit of its own
	Code      attache.ContextID // the context whose code renders
}

// Given is what was read for a need. What a need is not given for is said to be
// missing, never left out.
type Given struct {
	Columns  []string
	Values   [][]string // one for each row, as Postgres prints them; null is empty
	More     bool       // the view has more rows than these
	Text     string     // of a document
	Sections []Section  // that code rendered; checked with File.CheckSections
	Failed   bool       // it could not be read, or the code did not answer
}

// Section is one section that a context's code rendered.
type Section struct {
	Key  string
	Text string
}

// part is one section of a block on its way to being fitted in.
type part struct {
	name  string
	fixed string // written whatever room is left: it is short and says why there is nothing
	whole string // written when it fits, when there are no lines
	lines []string
	more  bool // there are more rows than lines has
}

// parts lists the sections of a block after the instructions: its data in the
// order of the file, then what its code rendered.
func (l *Library) parts(b block, given map[Need]Given) []part {
	var out []part
	for _, d := range b.file.Data {
		out = append(out, l.dataPart(b, d, given))
	}
	if b.file.Code == "" {
		return out
	}
	code, ok := given[b.code()]
	if !ok || code.Failed || b.file.CheckSections(code.Sections) != nil {
		missing := escape(l.words.say("code", "file", path.Base(b.file.Code)))
		return append(out, part{name: "code", fixed: section(missing, "name", "code", "kind", "data", "stub", "code")})
	}
	for _, s := range code.Sections {
		out = append(out, part{name: s.Key, whole: section(escape(s.Text), "name", s.Key, "kind", "data")})
	}
	return out
}

// dataPart makes the section of one entry of data.
func (l *Library) dataPart(b block, d Data, given map[Need]Given) part {
	if d.View != "" && l.frame.Rows == 0 {
		return l.noRows(d.View, "off")
	}
	if d.By != "" && b.entry.Key == "" {
		kind := b.file.KeyKind
		if kind == "" {
			kind = "entity"
		}
		return l.noRows(d.View, "unkeyed", "kind", kind)
	}
	got, ok := given[b.need(d)]
	if !ok || got.Failed {
		return l.unread(d.Name())
	}
	if d.View == "" {
		return part{name: d.Document, whole: section(escape(strings.TrimSpace(got.Text)), "name", d.Document, "kind", "data")}
	}
	return l.viewPart(d.View, got)
}

// viewPart makes the section of a view's rows, at most as many as state.rows says.
func (l *Library) viewPart(name string, got Given) part {
	if len(got.Values) == 0 {
		return l.noRows(name, "empty")
	}
	p := part{name: name, lines: table(got.Columns, got.Values), more: got.More}
	if most := l.frame.Rows + headLines; len(p.lines) > most {
		p.lines, p.more = p.lines[:most], true
	}
	return p
}

// noRows is the section of a view that shows none, and why.
func (l *Library) noRows(view, why string, pairs ...string) part {
	return part{name: view, fixed: section(escape(l.words.say(why, pairs...)), "name", view, "kind", "data", "rows", "0")}
}

// unread is the section of data that could not be read; why is in the log.
func (l *Library) unread(name string) part {
	return part{name: name, fixed: section(escape(l.words.say("unread")), "name", name, "kind", "data", "stub", "unread")}
}

// need is what an entry of data must be given.
func (b block) need(d Data) Need {
	n := Need{View: d.View, By: d.By, Document: d.Document}
	if d.By != "" {
		n.Key = b.entry.Key
	}
	if d.MaxTokens != nil {
		n.MaxTokens = *d.MaxTokens
	}
	return n
}

func (b block) code() Need { return Need{Code: b.entry.Context, Key: b.entry.Key} }

// headLines is how many lines of a table stand before its rows.
const headLines = 2

// table writes rows as a Markdown table with a header line, one line each.
func table(columns []string, values [][]string) []string {
	lines := make([]string, 0, len(values)+headLines)
	lines = append(lines, line(columns, len(columns)), "|"+strings.Repeat(" --- |", len(columns)))
	for _, row := range values {
		lines = append(lines, line(row, len(columns)))
	}
	return lines
}

// line writes one row; one that is too short is filled up.
func line(cells []string, width int) string {
	var b strings.Builder
	b.WriteByte('|')
	for i := range max(len(cells), width) {
		b.WriteByte(' ')
		if i < len(cells) {
			b.WriteString(escapeCell(cells[i]))
		}
		b.WriteString(" |")
	}
	return b.String()
}

// stub stands in place of a section that has no room.
func (l *Library) stub(name, why string) string {
	word := "room"
	if why != "chars" {
		word = "views"
	}
	return section(escape(l.words.say(word)), "name", name, "kind", "data", "stub", why)
}

// rows writes the first n rows of a view.
func (l *Library) rows(p part, n int) string {
	inside := strings.Join(p.lines[:n+headLines], "\n")
	if !p.more && n+headLines == len(p.lines) {
		return section(inside, "name", p.name, "kind", "data", "rows", strconv.Itoa(n))
	}
	return section(inside+"\n"+escape(l.words.say("more")), "name", p.name, "kind", "data", "rows", strconv.Itoa(n), "more", "yes")
}

// least is the smallest size that a section can be fitted into.
func (l *Library) least(p part) int {
	size := utf8.RuneCountInString(l.stub(p.name, "chars"))
	switch {
	case p.fixed != "":
		return utf8.RuneCountInString(p.fixed)
	case p.whole != "":
		return min(size, utf8.RuneCountInString(p.whole))
	}
	return min(size, utf8.RuneCountInString(l.rows(p, len(p.lines)-headLines)))
}

// fit writes a section within room code points: rows from the first on as far as
// they go, anything else whole, else a stub in its place. What is no longer than
// the stub always has room. cut says what was left out, "" for nothing.
func (l *Library) fit(p part, room int) (text, cut string) {
	stub := l.stub(p.name, "chars")
	room = max(room, utf8.RuneCountInString(stub))
	switch {
	case p.fixed != "":
		return p.fixed, ""
	case p.whole != "" && utf8.RuneCountInString(p.whole) <= room:
		return p.whole, ""
	case p.whole != "":
		return stub, fmt.Sprintf("%s: no room in chars", p.name)
	}
	all := len(p.lines) - headLines
	if whole := l.rows(p, all); utf8.RuneCountInString(whole) <= room {
		return whole, ""
	}
	n := l.fitting(p, room)
	if n == 0 {
		return stub, fmt.Sprintf("%s: no room for a row in chars", p.name)
	}
	return l.rows(p, n), fmt.Sprintf("%s: %d of %d rows fit in chars", p.name, n, all)
}

// fitting gives how many rows fit when some are cut, 0 for none.
func (l *Library) fitting(p part, room int) int {
	cut := p
	cut.more = true
	size := utf8.RuneCountInString(l.rows(cut, 0)) - 1 // all of it but the rows and the digits of their number
	fits := 0
	for n := 1; n+headLines < len(p.lines); n++ {
		size += utf8.RuneCountInString(p.lines[n+headLines-1]) + 1
		if size+len(strconv.Itoa(n)) > room {
			break
		}
		fits = n
	}
	return fits
}
