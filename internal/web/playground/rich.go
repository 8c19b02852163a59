package playground

import (
	"bytes"
	"html/template"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What a text may have at most to be laid out; goldmark takes time in the square of
// the signs and of the depth (stack.md § 7). A text that has more is shown as it was
// written.
const (
	longestRich = 128 << 10 // bytes
	mostSigns   = 4000      // that could be emphasis or links
	deepest     = 60        // bytes that could open quotes and lists, in one line
)

// rich makes markup of a rich message's Markdown: GitHub's kind, with ||spoilers||.
// HTML in it is shown as the letters that it is, links lead only where a chat's do,
// and a picture is a link, for the page loads nothing from elsewhere.
func rich(markdown string) template.HTML {
	var out bytes.Buffer
	if costly(markdown) || layout().Convert([]byte(markdown), &out) != nil {
		return marked(markdown, nil)
	}
	return template.HTML(out.String()) // goldmark escapes, and own renders what it would pass on
}

func costly(s string) bool {
	signs := 0
	for line := range strings.Lines(s) {
		if len(line)-len(strings.TrimLeft(line, " \t>-*+0123456789.)")) > deepest {
			return true
		}
		for _, sign := range []string{"*", "_", "~", "|", "["} {
			signs += strings.Count(line, sign)
		}
	}
	return len(s) > longestRich || signs > mostSigns
}

// layouts keeps what was laid out: every page that is open shows the same messages
// again at each change.
type layouts struct {
	mu    sync.Mutex
	known map[string]template.HTML
}

// of gives the markup of a Markdown text.
func (l *layouts) of(markdown string) template.HTML {
	l.mu.Lock()
	out, ok := l.known[markdown]
	l.mu.Unlock()
	if ok {
		return out
	}
	out = rich(markdown)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= 1000 {
		l.known = map[string]template.HTML{}
	}
	l.known[markdown] = out
	return out
}

// layout is made for each text: a parser is not safe to share and cheap to make.
func layout() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.TaskList, extension.Linkify),
		goldmark.WithParserOptions(
			parser.WithASTTransformers(util.Prioritized(tamer{}, 900)),
			parser.WithInlineParsers(util.Prioritized(bars{}, 600))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(own{}, 100))))
}

// tamer makes links open elsewhere, and takes the address from those that are not
// harmless.
type tamer struct{}

// Transform walks the parsed text.
func (tamer) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker gives no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if !harmless(string(n.Destination)) {
				n.Destination = nil
			}
			outward(n)
		case *ast.Image:
			if !harmless(string(n.Destination)) {
				n.Destination = nil
			}
		}
		return ast.WalkContinue, nil
	})
}

func outward(n ast.Node) {
	n.SetAttributeString("target", []byte("_blank"))
	n.SetAttributeString("rel", []byte("noopener noreferrer"))
}

// own renders the few nodes that goldmark would render differently.
type own struct{}

// RegisterFuncs names them.
func (own) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			escape(w, n.(*ast.RawHTML).Segments, src)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		b := n.(*ast.HTMLBlock)
		if entering {
			_, _ = w.WriteString("<p>")
			escape(w, b.Lines(), src)
			if b.HasClosure() {
				_, _ = w.Write(util.EscapeHTML(b.ClosureLine.Value(src)))
			}
			_, _ = w.WriteString("</p>\n")
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		n := node.(*ast.AutoLink)
		address := string(n.URL(src))
		if n.AutoLinkType == ast.AutoLinkEmail {
			address = "mailto:" + strings.TrimPrefix(address, "mailto:")
		}
		if open, close := anchor(address); entering {
			_, _ = w.WriteString(open)
			_, _ = w.Write(util.EscapeHTML(n.Label(src)))
			_, _ = w.WriteString(close)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		open, close := anchor(string(n.(*ast.Image).Destination))
		if entering {
			_, _ = w.WriteString(open + "🖼 ")
		} else {
			_, _ = w.WriteString(close)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindEmphasis, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		open, close := "<em>", "</em>"
		switch n.(*ast.Emphasis).Level {
		case 2:
			open, close = "<strong>", "</strong>"
		case hidden:
			open, close = spoilerOpen, "</span>"
		}
		if !entering {
			open = close
		}
		_, _ = w.WriteString(open)
		return ast.WalkContinue, nil
	})
}

func escape(w util.BufWriter, lines *text.Segments, src []byte) {
	for i := range lines.Len() {
		line := lines.At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(src))) // the buffer keeps its first error
	}
}

// hidden is the level of emphasis that stands for ||hidden text||: a node kind of
// its own would have to be registered in a variable of goldmark's.
const hidden = 3

// bars finds the two bars on either side of hidden text.
type bars struct{}

// Trigger names the byte that may begin one.
func (bars) Trigger() []byte { return []byte{'|'} }

// Parse takes exactly two bars.
func (bars) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 2, bars{})
	if d == nil || d.OriginalLength != 2 || before == '|' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + 2)
	block.Advance(2)
	pc.PushDelimiter(d)
	return d
}

// IsDelimiter reports whether b is a bar.
func (bars) IsDelimiter(b byte) bool { return b == '|' }

// CanOpenCloser pairs bars with bars.
func (bars) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }

// OnMatch makes the node around what stands between a pair.
func (bars) OnMatch(int) ast.Node { return ast.NewEmphasis(hidden) }
