package contexts

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed text/words.txt
var wordsText string

// words are the sentences of text/words.txt by name. A library parses them once.
type words map[string]string

func readWords() words {
	w := words{}
	for line := range strings.Lines(wordsText) {
		name, sentence, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if ok && !strings.HasPrefix(line, "#") {
			w[name] = sentence
		}
	}
	return w
}

// say gives a sentence with its pairs of name and value filled in. Each place is
// filled once, so a value cannot bring places of its own. The text is compiled in:
// a missing name is a mistake of the build, which every test of it meets.
func (w words) say(name string, pairs ...string) string {
	rest, ok := w[name]
	if !ok {
		panic("contexts: text/words.txt has no " + name)
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		place, after, _ := strings.Cut(after, "}")
		b.WriteString(pairs[slices.Index(pairs, place)+1])
		rest = after
	}
}
