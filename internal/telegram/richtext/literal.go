package richtext

import "strings"

// Literal writes one line of text so that nothing in it acts as Markdown, for names
// and titles that others chose: a link in one would be the bot's own word. Only the
// signs that act inside a line are escaped, and no others, so that a rich message,
// which Telegram itself reads, shows no stray backslash.
func Literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune("\\`*_[]<>|~&#$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
