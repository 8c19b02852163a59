package richtext

import (
	"regexp"
	"slices"
	"strings"
)

// What a line may begin with: a block of its own, or the signs around a code fence.
var (
	beginsBlock = regexp.MustCompile(`^[ \t]*([-+*>#|]|[0-9]{1,9}[.)])`)
	beforeFence = regexp.MustCompile(`^[ \t>]*(([-+*]|[0-9]{1,9}[.)])[ \t]+)?[ \t]*`)
	signsAlone  = regexp.MustCompile("^[ \t]*([-+*=_~`|:> \t]+|#{1,6}|[0-9]{1,3}|[0-9]{1,9}[.)])[ \t]*$")
)

// settle makes Markdown that may end anywhere look as it will when its end is
// there: signs whose meaning is not clear yet are held back, and what is open is
// closed. It is for drafts; a wrong guess is mended by the next one.
func settle(src string) string {
	src = strings.TrimSuffix(src, "\uFFFD") // half a character, as normalise left it
	lines := strings.Split(src, "\n")
	open, after := openFence(lines)
	if open != nil {
		return open.settle(lines)
	}
	if after == len(lines) {
		return src
	}
	if from := after + tableHead(lines[after:]); from < len(lines) {
		return strings.Join(lines[:from], "\n")
	}
	block := after + lastBlock(lines[after:])
	tail := settleInline(strings.Join(lines[block:], "\n"))
	above, last := "", tail
	if at := strings.LastIndexByte(tail, '\n'); at >= 0 {
		above, last = tail[:at], tail[at+1:]
	}
	if signsAlone.MatchString(last) {
		tail = above
	}
	return strings.Join(append(slices.Clip(lines[:block]), tail), "\n")
}

// fence is a code block that is not closed.
type fence struct {
	line    int    // on which it begins
	sign    byte   // ` or ~
	size    int    // how many of them
	closing string // the line that would end it
}

// openFence gives the code block in which the lines end, nil when they do not, and
// the line after the last one that is closed.
func openFence(lines []string) (open *fence, after int) {
	for i, line := range lines {
		prefix := beforeFence.FindString(line)
		body := line[len(prefix):]
		run := leadingRun(body)
		if len(run) < 3 || run[0] != '`' && run[0] != '~' {
			continue
		}
		rest := body[len(run):]
		switch {
		case open == nil && (run[0] == '~' || !strings.Contains(rest, "`")):
			open = &fence{line: i, sign: run[0], size: len(run), closing: blank(prefix) + run}
		case open != nil && run[0] == open.sign && len(run) >= open.size && strings.TrimSpace(rest) == "":
			open, after = nil, i+1
		}
	}
	return open, after
}

// blank gives the indent of the lines that follow in the same item or quote.
func blank(prefix string) string {
	return strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, prefix)
}

// leadingRun gives the equal bytes that a text begins with.
func leadingRun(s string) string {
	n := 0
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return s[:n]
}

// settle closes the code block. Half of its own closing line is held back, and so
// is the whole block while it has no code: the language may not be whole yet.
func (f *fence) settle(lines []string) string {
	code := lines[f.line+1:]
	if n := len(code); n > 0 && strings.Trim(code[n-1], " \t>"+string(f.sign)) == "" {
		code = code[:n-1]
	}
	if !slices.ContainsFunc(code, func(l string) bool { return strings.TrimSpace(l) != "" }) {
		return strings.Join(lines[:f.line], "\n")
	}
	return strings.Join(append(slices.Clip(lines[:f.line+1+len(code)]), f.closing), "\n")
}

// tableHead gives the line from which the text may be the head of a table, and the
// number of lines when it is not: until the row of dashes is whole, it would be
// shown as bars and words. A spoiler begins with two bars.
func tableHead(lines []string) int {
	end := len(lines)
	if lines[end-1] == "" {
		end-- // what ended is a line, not one begun
	}
	from := end
	for from > 0 && isRow(lines[from-1]) {
		from--
	}
	rows := end - from
	if rows == 1 || rows == 2 && end == len(lines) && signsAlone.MatchString(lines[end-1]) {
		return from
	}
	return len(lines)
}

func isRow(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	return strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "||")
}

// lastBlock gives the line at which the last paragraph, item, heading or row
// begins: nothing that is open at the end was opened before it.
func lastBlock(lines []string) int {
	empty := func(i int) bool { return strings.TrimSpace(lines[i]) == "" }
	at := len(lines) - 1
	if at > 0 && empty(at) {
		at-- // a paragraph may go on in the next line
	}
	for at > 0 && !empty(at) && !empty(at-1) && !beginsBlock.MatchString(lines[at]) {
		at--
	}
	return at
}
