package richtext

import (
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// spoiler is ||hidden text||, which Telegram's own Markdown knows and GitHub's
// does not.
type spoiler struct{ ast.BaseInline }

// Kind is that of any inline node: nothing here asks for it.
func (*spoiler) Kind() ast.NodeKind { return ast.KindString }

// Dump has nothing to print.
func (*spoiler) Dump([]byte, int) {}

// spoilerParser finds the bars. Two bars between letters, as in a||b, are an
// operator and no spoiler.
type spoilerParser struct{}

// Trigger names the byte that may begin a bar.
func (spoilerParser) Trigger() []byte { return []byte{'|'} }

// Parse takes exactly two bars.
func (spoilerParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, spoilerDelimiters{})
	if node == nil || node.OriginalLength != 2 || before == '|' {
		return nil
	}
	after := []rune(string(line[2:min(len(line), 6)]))
	if isWord(before) && len(after) > 0 && isWord(after[0]) {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + 2)
	block.Advance(2)
	pc.PushDelimiter(node)
	return node
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// spoilerDelimiters tells goldmark how bars pair up.
type spoilerDelimiters struct{}

// IsDelimiter reports whether b is a bar.
func (spoilerDelimiters) IsDelimiter(b byte) bool { return b == '|' }

// CanOpenCloser pairs bars with bars.
func (spoilerDelimiters) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch makes the node around what stands between a pair.
func (spoilerDelimiters) OnMatch(int) ast.Node { return &spoiler{} }
