package richtext

import "strings"

// What a Markdown text may cost at most. goldmark's time grows with the square of
// some signs in one paragraph (2.6 s were measured for 60 kB of "*a_"), with the
// depth of nesting and with a table's area; at these bounds a text of the worst
// kind takes some 20 ms. No answer that a person would read comes near them.
const (
	maxMarkdown   = 256 << 10  // bytes
	maxEmphasis   = 25_000_000 // sum over paragraphs of (emphasis signs)²
	maxBrackets   = 4_000_000  // sum over paragraphs of (opening brackets)²
	maxTableArea  = 50_000     // sum over paragraphs of lines × bars of the fullest line
	maxMarkers    = 40         // quote and list signs at the beginning of one line
	maxMarkersSum = 20_000     // sum over lines of (such signs)²
)

// tooCostly reports whether parsing might take long. It reads the text once.
func tooCostly(src string) bool {
	if len(src) > maxMarkdown {
		return true
	}
	var emphasis, brackets, area, markers int
	for paragraph := range strings.SplitSeq(src, "\n\n") {
		lines, bars, e, b := 0, 0, 0, 0
		for line := range strings.SplitSeq(paragraph, "\n") {
			m := leadingMarkers(line)
			if m > maxMarkers {
				return true
			}
			markers += m * m
			lines++
			bars = max(bars, strings.Count(line, "|"))
			b += strings.Count(line, "[")
			e += strings.Count(line, "*") + strings.Count(line, "_") + strings.Count(line, "~") + strings.Count(line, "||")
		}
		emphasis += e * e
		brackets += b * b
		area += lines * bars
	}
	return emphasis > maxEmphasis || brackets > maxBrackets || area > maxTableArea || markers > maxMarkersSum
}

// leadingMarkers counts what might open containers at the beginning of a line.
func leadingMarkers(line string) int {
	head := line[:len(line)-len(strings.TrimLeft(line, " \t>-*+0123456789.)"))]
	if len(head) <= maxMarkers {
		return 0
	}
	n := 0
	for i := range len(head) {
		switch head[i] {
		case '>', '+':
			n++
		case '-', '*', '.', ')':
			if i+1 < len(head) && (head[i+1] == ' ' || head[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}
