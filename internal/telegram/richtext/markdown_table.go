package richtext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// maxPadded is the width beyond which a cell is no longer padded, so that one
// long cell does not fill every row with spaces.
const maxPadded = 60

// table writes a table as aligned text in a pre, the only columns that entities
// have.
func (w *writer) table(n *extast.Table) {
	w.doc.structured = true
	w.doc.columns = max(w.doc.columns, len(n.Alignments))
	var rows [][]string
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		rows = append(rows, w.cells(row))
	}
	widths := make([]int, len(n.Alignments))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = min(max(widths[i], width(cell)), maxPadded)
		}
	}
	var lines []string
	for r, row := range rows {
		for i := range row {
			row[i] = pad(row[i], widths[i], n.Alignments[i])
		}
		lines = append(lines, strings.TrimRight(strings.Join(row, " | "), " "))
		if r == 0 {
			lines = append(lines, ruler(widths))
		}
	}
	w.unindented(func() {
		w.flush()
		w.mark("pre", "", func() { w.text(strings.Join(lines, "\n")) })
	})
}

// cells gives a row's cells as plain text; no more than the table has columns.
func (w *writer) cells(row ast.Node) []string {
	inner := writer{src: w.src, flat: true}
	var cells []string
	for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
		inner.out = inner.out[:0]
		inner.inlines(cell)
		cells = append(cells, strings.TrimSpace(string(inner.out)))
	}
	w.doc.active = append(w.doc.active, inner.doc.active...)
	w.doc.activeElsewhere = w.doc.activeElsewhere || inner.doc.activeElsewhere
	return cells
}

func ruler(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("-", n)
	}
	return strings.Join(parts, "-+-")
}

// pad fills a cell to its column's width.
func pad(cell string, to int, align extast.Alignment) string {
	n := max(to-width(cell), 0)
	left, right := 0, n
	switch align {
	case extast.AlignRight:
		left, right = n, 0
	case extast.AlignCenter:
		left, right = n/2, n-n/2
	}
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", right)
}

// width is how many columns of a fixed-width font a text takes: none for marks
// that combine, two for East Asian characters and emoji.
func width(s string) int {
	if len(s) == utf8.RuneCountInString(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
			r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
			n += 2
		default:
			n++
		}
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }
