package reading

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"attache/internal/brainfile"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/paths"
)

// count gives the size of a text in tokens of o200k (decisions § 8). The vocabulary takes 7 MB
// and 40 ms the first time; the library keeps it for the process, so a program that
// counts nothing pays nothing.
func count(text string) int {
	encoder, n := codec.NewO200kBase(), 0
	for text != "" {
		slice := text[:ahead(text)]
		text = text[len(slice):]
		more, err := encoder.Count(slice)
		if err != nil {
			more = (len(slice) + 3) / 4 // the splitting pattern gave up on it
		}
		n += more
	}
	return n
}

// longestBlank is how much white space is counted in one go. Over a run of it with
// line breaks the splitting pattern of o200k takes the square of its length: 17 s for
// 100 KB. Longer runs are counted in slices, which may be a token off at each cut.
const longestBlank = 512

// ahead gives how much of a text is counted next: up to the place where a run of
// white space has grown too long.
func ahead(text string) int {
	blank := 0
	for i, r := range text {
		if !unicode.IsSpace(r) {
			blank = 0
			continue
		}
		if blank++; blank == longestBlank {
			return i + utf8.RuneLen(r)
		}
	}
	return len(text)
}

// size is the number of tokens of a file's content, counted once while its text stays.
type size int

// tokensOf counts at the first time that somebody asks. Most lists have no limit, or most
// files no part in one, and counting is what takes longest.
func tokensOf(f *brainfile.File) int {
	text := content(f) // before, because it asks the same file for something else
	return int(brainfile.Once(f, func(*brainfile.File) size { return size(count(text)) }))
}

// content is what of a file is read: of a document everything but its frontmatter.
func content(f *brainfile.File) string {
	text := f.Text
	if paths.IsDocument(f.Path) {
		text = ods.Body(f)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
