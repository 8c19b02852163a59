package playground

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"

	"attache"
)

// span is a mark with its range in bytes.
type span struct {
	start, end int
	open       string
	close      string
	block      bool // stands outside of what is only letters
}

// marked makes markup of a text with entities. Ranges count UTF-16 units; one that
// does not lie in the text, or would split a pair, is left out. Entities may cross
// each other, as Telegram's never do: then the inner one is closed and opened again.
func marked(text string, marks []attache.Mark) template.HTML {
	spans := spansOf(text, marks)
	cuts := []int{0, len(text)}
	for _, s := range spans {
		cuts = append(cuts, s.start, s.end)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out strings.Builder
	var open []span
	for i, at := range cuts {
		open = closeUntil(&out, open, at)
		for _, s := range spans {
			if s.start == at {
				out.WriteString(s.open)
				open = append(open, s)
			}
		}
		if i+1 < len(cuts) {
			template.HTMLEscape(&out, []byte(piece(text, spans, at, cuts[i+1])))
		}
	}
	return template.HTML(out.String()) // escaped piece by piece above
}

// piece gives the words between two cuts, without the line break that a block beside
// them makes by itself.
func piece(text string, spans []span, start, end int) string {
	words := text[start:end]
	for _, s := range spans {
		if s.block && s.end == start {
			words = strings.TrimPrefix(words, "\n")
			break
		}
	}
	for _, s := range spans {
		if s.block && s.start == end {
			return strings.TrimSuffix(words, "\n")
		}
	}
	return words
}

// closeUntil closes what ends here, and for its sake what was opened later, which is
// opened again.
func closeUntil(out *strings.Builder, open []span, at int) []span {
	first := slices.IndexFunc(open, func(s span) bool { return s.end == at })
	if first < 0 {
		return open
	}
	for _, s := range slices.Backward(open[first:]) {
		out.WriteString(s.close)
	}
	kept := open[:first:first]
	for _, s := range open[first:] {
		if s.end != at {
			out.WriteString(s.open)
			kept = append(kept, s)
		}
	}
	return kept
}

// spansOf gives the marks that can be shown, outer ones first.
func spansOf(text string, marks []attache.Mark) []span {
	if len(marks) == 0 {
		return nil
	}
	bytes := byteOffsets(text)
	var out []span
	for _, m := range marks {
		if m.Offset < 0 || m.Length <= 0 || m.Offset > len(bytes)-1-m.Length {
			continue
		}
		start, end := bytes[m.Offset], bytes[m.Offset+m.Length]
		if start < 0 || end < 0 {
			continue
		}
		open, close := tags(m, text[start:end])
		if open != "" {
			out = append(out, span{start, end, open, close, m.Kind == "pre" || strings.HasSuffix(m.Kind, "blockquote")})
		}
	}
	slices.SortStableFunc(out, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), boolCompare(b.block, a.block))
	})
	return out
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// byteOffsets gives the byte at which each UTF-16 unit of a text begins, and the
// end; -1 inside a pair.
func byteOffsets(text string) []int {
	out := make([]int, 0, len(text)+1)
	for i, r := range text {
		out = append(out, i)
		if utf16.RuneLen(r) == 2 {
			out = append(out, -1)
		}
	}
	return append(out, len(text))
}

// tags gives what an entity opens and closes with, nothing for a kind that has no
// look of its own.
func tags(m attache.Mark, words string) (open, close string) {
	switch m.Kind {
	case "bold":
		return "<strong>", "</strong>"
	case "italic":
		return "<em>", "</em>"
	case "underline":
		return "<u>", "</u>"
	case "strikethrough":
		return "<s>", "</s>"
	case "spoiler":
		return spoilerOpen, "</span>"
	case "code":
		return "<code>", "</code>"
	case "pre":
		if m.Language != "" {
			return `<pre data-language="` + template.HTMLEscapeString(m.Language) + `"><code>`, "</code></pre>"
		}
		return "<pre><code>", "</code></pre>"
	case "blockquote", "expandable_blockquote":
		return "<blockquote>", "</blockquote>"
	case "mention", "text_mention", "hashtag", "cashtag", "bot_command":
		return `<span class="at">`, "</span>"
	case "text_link":
		return anchor(m.URL)
	case "url":
		if !strings.Contains(words, "://") {
			words = "https://" + words
		}
		return anchor(words)
	case "email":
		return anchor("mailto:" + words)
	case "phone_number":
		return anchor("tel:" + words)
	}
	return "", ""
}

// spoilerOpen begins hidden words; they show when they have had the focus.
const spoilerOpen = `<span class="spoiler" tabindex="0" title="hidden; press to read">`

// anchor gives a link's tags, nothing where the address leads nowhere safe.
func anchor(address string) (open, close string) {
	if !harmless(address) {
		return "", ""
	}
	return `<a href="` + template.HTMLEscapeString(address) + `" target="_blank" rel="noopener noreferrer">`, "</a>"
}

// harmless reports whether following an address runs nothing here.
func harmless(address string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains([]string{"http", "https", "mailto", "tel", "tg"}, strings.ToLower(u.Scheme))
}
