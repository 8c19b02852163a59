package format

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Parse gives the plain text and entities of a text in a parse mode; without one
// it gives back what it got. Errors read like Telegram's, without its prefix. The
// legacy mode Markdown is taken as plain text, since nothing of ours writes it.
func Parse(mode, text string, entities []Entity) (string, []Entity, error) {
	switch mode {
	case "HTML":
		return parseHTML(text)
	case "MarkdownV2":
		return parseMarkdownV2(text)
	}
	return text, entities, nil
}

// builder collects plain text and the entities that are open in it.
type builder struct {
	text strings.Builder
	at   int // UTF-16 units so far
	open []openMark
	done []Entity
}

type openMark struct {
	name   string
	entity Entity
}

func (b *builder) write(s string) {
	b.text.WriteString(s)
	b.at += Units(s)
}

func (b *builder) start(name string, e Entity) {
	e.Offset = b.at
	b.open = append(b.open, openMark{name, e})
}

// end closes the innermost mark, which the caller has looked at; an empty one
// leaves no entity.
func (b *builder) end() {
	e := b.open[len(b.open)-1].entity
	b.open = b.open[:len(b.open)-1]
	if e.Length = b.at - e.Offset; e.Length > 0 && e.Type != "" {
		b.done = append(b.done, e)
	}
}

func (b *builder) inside(name string) bool {
	return slices.ContainsFunc(b.open, func(m openMark) bool { return m.name == name })
}

func (b *builder) top() string {
	if len(b.open) == 0 {
		return ""
	}
	return b.open[len(b.open)-1].name
}

func (b *builder) result() (string, []Entity) {
	slices.SortStableFunc(b.done, func(x, y Entity) int {
		if x.Offset != y.Offset {
			return x.Offset - y.Offset
		}
		return y.Length - x.Length
	})
	return b.text.String(), b.done
}

func parseHTML(s string) (string, []Entity, error) {
	var b builder
	for i := 0; i < len(s); {
		if s[i] != '<' {
			end := strings.IndexByte(s[i:], '<')
			if end < 0 {
				end = len(s) - i
			}
			b.write(html.UnescapeString(s[i : i+end]))
			i += end
			continue
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 {
			return "", nil, fmt.Errorf("Unclosed start tag at byte offset %d", i)
		}
		tag := s[i+1 : i+end]
		if err := b.tag(tag, i); err != nil {
			return "", nil, err
		}
		i += end + 1
	}
	if len(b.open) > 0 {
		return "", nil, fmt.Errorf("Can't find end tag corresponding to start tag %q", b.top())
	}
	text, entities := b.result()
	return text, entities, nil
}

// tag opens or closes one HTML tag.
func (b *builder) tag(tag string, at int) error {
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		if len(b.open) == 0 || b.top() != strings.TrimSpace(strings.ToLower(name)) {
			return fmt.Errorf("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", at, b.top(), name)
		}
		b.end()
		return nil
	}
	name, args, _ := strings.Cut(strings.TrimSpace(tag), " ")
	name = strings.ToLower(name)
	kinds := map[string]string{"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
		"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "code": "code", "pre": "pre",
		"blockquote": "blockquote", "tg-spoiler": "spoiler", "span": "spoiler", "a": "text_link", "tg-emoji": "custom_emoji"}
	kind, ok := kinds[name]
	if !ok {
		return fmt.Errorf("Unsupported start tag %q at byte offset %d", name, at)
	}
	e := Entity{Type: kind}
	value := attribute(args)
	switch {
	case name == "a":
		e.URL = value
	case name == "tg-emoji":
		e.CustomEmoji = value
	case name == "code" && b.top() == "pre" && strings.HasPrefix(value, "language-"):
		b.open[len(b.open)-1].entity.Language = strings.TrimPrefix(value, "language-")
		e.Type = "" // the pre around it says it all
	case name == "blockquote" && strings.Contains(args, "expandable"):
		e.Type = "expandable_blockquote"
	}
	b.start(name, e)
	return nil
}

// attribute gives the first quoted value of a tag.
func attribute(args string) string {
	_, rest, ok := strings.Cut(args, "=")
	if !ok {
		return ""
	}
	return html.UnescapeString(strings.Trim(strings.TrimSpace(rest), `"'`))
}

// reserved are the characters that MarkdownV2 wants escaped when they mean nothing.
const reserved = "_*[]()~`>#+-=|{}.!"

func parseMarkdownV2(s string) (string, []Entity, error) {
	var b builder
	for i := 0; i < len(s); {
		n, err := b.markdown(s, i)
		if err != nil {
			return "", nil, err
		}
		i += n
	}
	if b.top() == ">" {
		b.end() // a quotation ends with the text
	}
	if len(b.open) > 0 {
		return "", nil, fmt.Errorf("Can't find end of %s entity", b.open[len(b.open)-1].entity.Type)
	}
	text, entities := b.result()
	return text, entities, nil
}

// markdown reads one step of MarkdownV2 at i and gives its length in bytes.
func (b *builder) markdown(s string, i int) (int, error) {
	rest := s[i:]
	if rest[0] == '\\' && len(rest) > 1 && rest[1] < 127 {
		b.write(rest[1:2])
		return 2, nil
	}
	if strings.HasPrefix(rest, "```") || rest[0] == '`' {
		return b.code(rest, i)
	}
	for _, m := range []struct{ mark, kind string }{{"__", "underline"}, {"||", "spoiler"}, {"*", "bold"}, {"_", "italic"}, {"~", "strikethrough"}} {
		if !strings.HasPrefix(rest, m.mark) {
			continue
		}
		switch {
		case b.top() == m.mark:
			b.end()
		case b.inside(m.mark):
			return 0, fmt.Errorf("Can't find end of %s entity at byte offset %d", b.open[len(b.open)-1].entity.Type, i)
		default:
			b.start(m.mark, Entity{Type: m.kind})
		}
		return len(m.mark), nil
	}
	switch {
	case rest[0] == '[':
		b.start("[", Entity{Type: "text_link"})
		return 1, nil
	case rest[0] == ']' && b.top() == "[":
		return b.link(rest, i)
	case rest[0] == '>' && (i == 0 || s[i-1] == '\n'):
		return b.quote()
	case rest[0] == '\n' && b.top() == ">" && !strings.HasPrefix(rest, "\n>"):
		b.end()
		b.write("\n")
		return 1, nil
	case strings.IndexByte(reserved, rest[0]) >= 0:
		return 0, fmt.Errorf("Character '%c' is reserved and must be escaped with the preceding '\\'", rest[0])
	}
	n := strings.IndexAny(rest[1:], reserved+"\\\n")
	if n < 0 {
		n = len(rest) - 1
	}
	b.write(rest[:n+1])
	return n + 1, nil
}

func (b *builder) code(rest string, at int) (int, error) {
	mark, kind := "`", "code"
	if strings.HasPrefix(rest, "```") {
		mark, kind = "```", "pre"
	}
	body := rest[len(mark):]
	end := unescaped(body, mark)
	if end < 0 {
		return 0, fmt.Errorf("Can't find end of %s entity at byte offset %d", kind, at)
	}
	e, text := Entity{Type: kind}, body[:end]
	if first, after, ok := strings.Cut(text, "\n"); ok && kind == "pre" {
		e.Language, text = strings.TrimSpace(first), after
	}
	b.start(mark, e)
	b.write(strings.NewReplacer("\\`", "`", `\\`, `\`).Replace(text))
	b.end()
	return len(mark) + end + len(mark), nil
}

// unescaped finds the first mark that no backslash stands before.
func unescaped(s, mark string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.HasPrefix(s[i:], mark) {
			return i
		}
	}
	return -1
}

func (b *builder) link(rest string, at int) (int, error) {
	if !strings.HasPrefix(rest, "](") {
		return 0, fmt.Errorf("Character ']' is reserved and must be escaped with the preceding '\\'")
	}
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return 0, fmt.Errorf("Can't find end of a URL at byte offset %d", at+1)
	}
	b.open[len(b.open)-1].entity.URL = strings.ReplaceAll(rest[2:end], `\`, "")
	b.end()
	return end + 1, nil
}

// quote opens a block quotation at the start of its first line.
func (b *builder) quote() (int, error) {
	if b.top() != ">" {
		b.start(">", Entity{Type: "blockquote"})
	}
	return 1, nil
}
