package richtext

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// document is an answer after parsing: what entities can say of it, and what
// decides whether it should go out as a native rich message instead.
type document struct {
	text   styled
	costly bool // too costly to parse: text is the Markdown itself, unmarked

	structured      bool // has what entities cannot say: a table, a heading, a nested list
	blocks, depth   int
	columns         int   // of the widest table
	active          []int // offsets of HTML tags and images, which a rich message would act on
	activeElsewhere bool  // there is one whose offset is not known
}

// parse reads Markdown (GitHub's kind, with ||spoilers||) that normalise has been
// over.
func parse(src string) document {
	if tooCostly(src) {
		return document{text: styled{text: src}.trim(), costly: true}
	}
	md := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithInlineParsers(util.Prioritized(spoilerParser{}, 600))))
	root := md.Parser().Parse(text.NewReader([]byte(src)))
	w := writer{src: []byte(src)}
	w.blocks(root, 2, 0)
	w.doc.text = w.finish()
	if w.doc.text.text == "" { // nothing but definitions: say them rather than nothing
		w.doc.text = styled{text: src}.trim()
	}
	return w.doc
}

// normalise makes text that Telegram would take unchanged: valid UTF-8, line
// feeds only, and a space for each other control character but the tab.
func normalise(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t' || r == 0x7f:
			return ' '
		}
		return r
	}, s)
}

// writer turns the parsed tree into text with spans. It writes block by block and
// keeps the breaks between blocks pending until there is something to break from.
type writer struct {
	src     []byte
	doc     document
	out     []byte
	spans   []span
	pending int    // line breaks owed before the next text
	indent  string // of list items, written after each line break
	open    []int  // the spans that formatting now open belongs to, outermost first
	link    bool   // inside a link
	quotes  int    // how many quotes deep
	flat    bool   // inside a table cell: one line, no spans
}

// span is a mark in bytes of the text that it belongs to.
type span struct {
	kind     string
	from, to int
	detail   string // URL of a text_link, language of a pre
}

func (w *writer) blocks(parent ast.Node, gap, depth int) {
	w.doc.depth = max(w.doc.depth, depth)
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.doc.blocks++
		w.block(n, depth+1)
		w.pending = gap
	}
}

func (w *writer) block(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Heading:
		w.doc.structured = true
		w.flush()
		w.styled("bold", func() { w.inlines(n) })
	case *ast.Blockquote:
		w.quote(n, depth)
	case *ast.List:
		w.list(n, depth)
	case *ast.FencedCodeBlock:
		w.pre(lines(n, w.src), string(n.Language(w.src)))
	case *ast.CodeBlock:
		w.pre(lines(n, w.src), "")
	case *ast.HTMLBlock:
		w.html(n)
	case *ast.ThematicBreak:
		w.flush()
		w.text("———")
	case *extast.Table:
		w.table(n)
	case *ast.LinkReferenceDefinition:
		w.doc.blocks--
	default: // Paragraph, TextBlock
		w.flush()
		w.inlines(n)
	}
}

// flush writes the line breaks that are owed and the indent of the new line.
func (w *writer) flush() {
	if len(w.out) > 0 && w.pending > 0 {
		w.out = append(w.out, strings.Repeat("\n", w.pending)...)
		w.out = append(w.out, w.indent...)
	}
	w.pending = 0
}

// text writes text that may have line breaks.
func (w *writer) text(s string) {
	switch {
	case w.flat:
		s = strings.ReplaceAll(s, "\n", " ")
	case w.indent != "":
		s = strings.ReplaceAll(s, "\n", "\n"+w.indent)
	}
	w.out = append(w.out, s...)
}

// mark writes what fill writes as one span.
func (w *writer) mark(kind, detail string, fill func()) {
	at := len(w.spans)
	w.spans = append(w.spans, span{kind: kind, from: len(w.out), detail: detail})
	fill()
	w.spans[at].to = len(w.out)
}

// styled writes what fill writes in bold, italic and the like. Telegram knows no
// bold inside bold, so what is already on stays as it is.
func (w *writer) styled(kind string, fill func()) {
	on := slices.ContainsFunc(w.open, func(i int) bool { return w.spans[i].kind == kind })
	if on || w.flat {
		fill()
		return
	}
	w.open = append(w.open, len(w.spans))
	w.spans = append(w.spans, span{kind: kind, from: len(w.out)})
	fill()
	last := len(w.open) - 1
	w.spans[w.open[last]].to = len(w.out)
	w.open = w.open[:last]
}

// code writes a code span. Code holds no other formatting and is in none, so what
// is open ends before it and begins again after it; in a link it is only text.
func (w *writer) code(s string) {
	if w.link || w.flat || s == "" {
		w.text(s)
		return
	}
	for _, i := range w.open {
		w.spans[i].to = len(w.out)
	}
	w.mark("code", "", func() { w.text(s) })
	for k, i := range w.open {
		w.open[k] = len(w.spans)
		w.spans = append(w.spans, span{kind: w.spans[i].kind, from: len(w.out)})
	}
}

// unindented runs fill for a block whose lines are not indented, which Telegram
// draws as a box of its own.
func (w *writer) unindented(fill func()) {
	indent := w.indent
	w.indent = ""
	fill()
	w.indent = indent
}

// pre writes a code block. Tabs become four spaces, as Telegram would make one of
// each.
func (w *writer) pre(s, language string) {
	s = strings.ReplaceAll(strings.TrimRight(s, "\n"), "\t", "    ")
	if strings.TrimSpace(s) == "" {
		return
	}
	w.unindented(func() {
		w.flush()
		w.mark("pre", language, func() { w.text(s) })
	})
}

// quote writes a quote. Telegram has one level of them; deeper ones show their
// own sign.
func (w *writer) quote(n ast.Node, depth int) {
	w.quotes++
	if w.quotes > 1 {
		indent := w.indent
		w.flush()
		w.text("> ")
		w.indent += "> "
		w.blocks(n, 1, depth)
		w.indent = indent
	} else {
		w.unindented(func() {
			w.flush()
			w.mark("blockquote", "", func() { w.blocks(n, 2, depth) })
		})
	}
	w.quotes--
}

func (w *writer) list(n *ast.List, depth int) {
	if n.Parent() != nil && n.Parent().Kind() == ast.KindListItem {
		w.doc.structured = true
	}
	gap := 2
	if n.IsTight {
		gap = 1
	}
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		w.doc.blocks++
		marker := "• "
		if n.IsOrdered() {
			marker = itoa(number) + ". "
			number++
		}
		indent := w.indent
		w.flush()
		if !isTask(item) {
			w.text(marker)
		}
		w.indent += strings.Repeat(" ", len([]rune(marker)))
		w.blocks(item, gap, depth+1)
		w.indent = indent
		w.pending = gap
	}
}

// isTask reports whether a list item begins with a task box, which stands in the
// bullet's place.
func isTask(item ast.Node) bool {
	first := item.FirstChild()
	return first != nil && first.FirstChild() != nil && first.FirstChild().Kind() == extast.KindTaskCheckBox
}

// html writes an HTML block as the text it is.
func (w *writer) html(n *ast.HTMLBlock) {
	w.flush()
	raw := lines(n, w.src)
	if n.HasClosure() {
		raw += string(n.ClosureLine.Value(w.src))
	}
	w.text(strings.TrimRight(raw, "\n"))
	segments := n.Lines().Sliced(0, n.Lines().Len())
	if n.HasClosure() {
		segments = append(segments, n.ClosureLine)
	}
	for _, s := range segments {
		for at := s.Start; at < s.Stop; at++ {
			if w.src[at] == '<' {
				w.doc.active = append(w.doc.active, at)
			}
		}
	}
}

func (w *writer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n)
	}
}

func (w *writer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Segment.Value(w.src))
		if !n.IsRaw() {
			value = unescape(value)
		}
		w.text(value)
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.text("\n")
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		w.code(codeText(n, w.src))
	case *ast.Emphasis:
		w.styled([]string{"italic", "bold"}[min(n.Level, 2)-1], func() { w.inlines(n) })
	case *extast.Strikethrough:
		w.styled("strikethrough", func() { w.inlines(n) })
	case *spoiler:
		w.styled("spoiler", func() { w.inlines(n) })
	case *extast.TaskCheckBox:
		w.text(map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked])
	case *ast.AutoLink: // Telegram finds addresses in a text by itself
		w.text(string(n.Label(w.src)))
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			w.text(string(s.Value(w.src)))
		}
		w.doc.active = append(w.doc.active, n.Segments.At(0).Start)
	case *ast.Link:
		w.linked(n, string(n.Destination))
	case *ast.Image:
		w.image(n)
	default:
		w.inlines(n)
	}
}

// image writes a picture as a link to it.
func (w *writer) image(n *ast.Image) {
	at := n.Pos()
	if at > 0 && at < len(w.src) && w.src[at] == '[' {
		at--
	}
	if at >= 0 && at < len(w.src) && w.src[at] == '!' {
		w.doc.active = append(w.doc.active, at)
	} else {
		w.doc.activeElsewhere = true
	}
	w.linked(n, string(n.Destination))
}

// linked writes a link. An address that Telegram does not open stands in the text
// behind the label, so that nothing the answer says is hidden or lost.
func (w *writer) linked(n ast.Node, dest string) {
	dest = unescape(dest)
	from := len(w.out)
	switch {
	case w.flat || w.link:
		w.inlines(n)
		w.address(from, dest)
	case opens(dest):
		w.link = true
		w.mark("text_link", dest, func() {
			w.inlines(n)
			if len(bytes.TrimSpace(w.out[from:])) == 0 {
				w.text(dest)
			}
		})
		w.link = false
	default:
		w.inlines(n)
		w.address(from, dest)
	}
}

// address writes a link's address behind its label, unless the label says it.
func (w *writer) address(from int, dest string) {
	label := string(w.out[from:])
	switch {
	case label == "":
		w.text(dest)
	case dest != "" && label != dest && !strings.HasPrefix(dest, "#"):
		w.text(" (" + dest + ")")
	}
}

// opens reports whether Telegram opens such an address from a text link.
func opens(dest string) bool {
	u, err := url.Parse(dest)
	if err != nil || strings.ContainsFunc(dest, unicode.IsSpace) {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "tg", "mailto":
		return len(dest) > len(u.Scheme)+1
	}
	return false
}

// finish gives the text and its spans, in the order in which they open.
func (w *writer) finish() styled {
	spans := slices.DeleteFunc(w.spans, func(s span) bool { return s.from >= s.to })
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return styled{text: string(w.out), spans: spans}.trim()
}

// lines gives the lines of a block as they stand in the source.
func lines(n ast.Node, src []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(src))
	}
	return b.String()
}

// codeText gives the text of a code span on one line.
func codeText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(src))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// unescape resolves backslash escapes and HTML entities, in one pass so that an
// escaped & begins no entity.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]) {
			i++
			b.WriteByte(s[i])
			continue
		}
		if s[i] == '&' {
			if end := strings.IndexByte(s[i:min(len(s), i+40)], ';'); end > 0 {
				b.WriteString(entity(s[i : i+end+1]))
				i += end
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// entity resolves one "&…;", or gives it back when it is none. What it stands for
// may be no more than what any other text may be.
func entity(s string) string {
	resolved := util.ResolveEntityNames(util.ResolveNumericReferences([]byte(s)))
	if !utf8.Valid(resolved) {
		return s
	}
	return normalise(string(resolved))
}
