package richtext

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// halfLink is what may become a link and ends with the text: a label, perhaps with
// its bracket and a part of the address.
var halfLink = regexp.MustCompile(`^\[([^\[\]\n]*)(\](\([^()\s]*)?)?$`)

// sign is what opened emphasis or a spoiler, and where.
type sign struct {
	at  int
	run string
}

// inlines follows what is open in a block, by the rules of Markdown as far as a
// draft needs them.
type inlines struct {
	block string
	open  []sign // outermost first
}

// settleInline closes the code, emphasis and spoilers that a block leaves open, and
// shows an unfinished link as its label.
func settleInline(block string) string {
	in := inlines{block: strings.TrimRight(block, " \t")}
	for i := 0; i < len(in.block); {
		size, done := in.step(i)
		if done {
			break
		}
		i += size
	}
	return in.closed()
}

// step reads what stands at byte i and gives its size; it is done when it has made
// out of the rest of the block what there is to make.
func (in *inlines) step(i int) (size int, done bool) {
	rest := in.block[i:]
	switch rest[0] {
	case '\\':
		if len(rest) == 1 {
			in.block = in.block[:i]
			return 0, true
		}
		_, size := utf8.DecodeRuneInString(rest[1:])
		return 1 + size, false
	case '`':
		run := leadingRun(rest)
		end := closingRun(rest[len(run):], run)
		if end < 0 {
			in.block = in.block[:i] + closedCode(rest, run)
			return 0, true
		}
		return len(run) + end + len(run), false
	case '*', '_', '~', '|':
		run := leadingRun(rest)
		if len(run) == len(rest) && (len(in.open) == 0 || in.open[len(in.open)-1].run != run) {
			in.block = in.block[:i] // it opens nothing yet, or is half of what closes
			return 0, true
		}
		in.toggle(i, run)
		return len(run), false
	case '[':
		m := halfLink.FindStringSubmatch(rest)
		if before, _ := utf8.DecodeLastRuneInString(in.block[:i]); m == nil || isWord(before) {
			return 1, false
		}
		if len(m[1]) <= 1 {
			m[1] = "" // perhaps a task's box
		}
		in.block = strings.TrimSuffix(in.block[:i], "!") + m[1]
		return 0, true
	}
	return 1, false
}

// closingRun gives where in s the run that ends a code span stands, or -1.
func closingRun(s, run string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		r := leadingRun(s[i:])
		if len(r) == len(run) {
			return i
		}
		i += len(r) - 1
	}
	return -1
}

// closedCode ends a code span, or takes its sign away while there is nothing in it.
func closedCode(span, run string) string {
	content := strings.TrimRight(span[len(run):], "` \t\n")
	if content == "" {
		return ""
	}
	return run + content + run
}

// toggle notes what a sign closes or opens: it closes after a word and opens before
// one. Between two letters, as in 2*3, it is taken for neither.
func (in *inlines) toggle(i int, run string) {
	before, _ := utf8.DecodeLastRuneInString(in.block[:i])
	after, _ := utf8.DecodeRuneInString(in.block[i+len(run):])
	left := len(run)
	if i > 0 && !unicode.IsSpace(before) && !(isWord(before) && isWord(after)) {
		for n := len(in.open); n > 0 && in.open[n-1].run[0] == run[0] && len(in.open[n-1].run) <= left; n-- {
			left -= len(in.open[n-1].run)
			in.open = in.open[:n-1]
		}
	}
	opens := i+len(run) < len(in.block) && !unicode.IsSpace(after) && !isWord(before)
	double := run[0] == '|' || run[0] == '~'
	known := slices.ContainsFunc(in.open, func(s sign) bool { return s.run == run })
	if left == len(run) && opens && !known && left <= 3 && (!double || left == 2) {
		in.open = append(in.open, sign{i, run})
	}
}

// closed gives the block with everything closed. A sign with nothing behind it is
// taken away instead.
func (in *inlines) closed() string {
	block := in.block
	for _, s := range slices.Backward(in.open) {
		block = strings.TrimRight(block, " \t\n")
		if len(block) <= s.at+len(s.run) {
			block = block[:min(len(block), s.at)]
			continue
		}
		block += s.run
	}
	return block
}
