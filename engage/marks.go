package engage

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"attache"
)

// mentioned reports whether a mark of the message points at the bot: @name, a
// mention by number of somebody without a name, or a command with @name.
func mentioned(m attache.Message, self Self) bool {
	for _, mark := range m.Marks {
		text, ok := attache.UTF16Slice(m.Text, mark.Offset, mark.Length)
		if !ok || hiddenBy(m, mark) {
			continue
		}
		switch mark.Kind {
		case "mention":
			if self.Username != "" && strings.EqualFold(text, "@"+self.Username) {
				return true
			}
		case "text_mention":
			if self.wrote(mark.User) {
				return true
			}
		case "bot_command":
			if _, name, ok := strings.Cut(text, "@"); ok && self.Username != "" && strings.EqualFold(name, self.Username) {
				return true
			}
		}
	}
	return false
}

// hiddenBy reports whether a mark lies in a piece of code. Telegram does not send
// such, but whoever forges an update might.
func hiddenBy(m attache.Message, mark attache.Mark) bool {
	for _, over := range m.Marks {
		if (over.Kind == "code" || over.Kind == "pre") && over.Offset < mark.Offset+mark.Length && mark.Offset < over.Offset+over.Length {
			return true
		}
	}
	return false
}

// commandOf gives the username that the message's opening command is for, "" when
// it has none or names nobody.
func commandOf(m attache.Message) string {
	word, ok := opening(m)
	if !ok {
		return ""
	}
	_, username, _ := strings.Cut(word, "@")
	return username
}

// opening gives the command that a message begins with, as written.
func opening(m attache.Message) (string, bool) {
	for _, mark := range m.Marks {
		if mark.Kind != "bot_command" || mark.Offset != 0 || hiddenBy(m, mark) {
			continue
		}
		if word, ok := attache.UTF16Slice(m.Text, 0, mark.Length); ok && len(word) > 1 && word[0] == '/' {
			return word, true
		}
	}
	return "", false
}

// Command reads the command that a message begins with, when it is for this bot:
// `/name` alone or with the bot's own @username. The name comes in lower case
// without the slash, args is everything after the word, trimmed. An edit is no
// command, so that a redelivered edit never runs one again, and neither is a
// forward, since somebody else wrote it.
func Command(m attache.Message, username string) (name, args string, ok bool) {
	word, ok := opening(m)
	if !ok || !m.EditedAt.IsZero() || m.Forward != "" || m.ViaBot != "" {
		return "", "", false
	}
	name, target, aimed := strings.Cut(word[1:], "@")
	if name == "" || aimed && !strings.EqualFold(target, username) {
		return "", "", false
	}
	return strings.ToLower(name), strings.TrimSpace(m.Text[len(word):]), true
}

// spoken gives the name of the list that the message says as a whole word in its
// plain text, "" for none.
func spoken(m attache.Message, names []string) string {
	marked := ranges(m)
	for _, name := range names {
		if says(m.Text, name, marked) {
			return name
		}
	}
	return ""
}

// span is a range of bytes.
type span struct{ from, to int }

// ranges gives the parts of a text in which a word is no name: code, addresses and
// what names somebody else.
func ranges(m attache.Message) []span {
	var out []span
	for _, mark := range m.Marks {
		switch mark.Kind {
		case "code", "pre", "url", "email", "mention", "text_mention", "bot_command", "hashtag", "cashtag":
		default:
			continue
		}
		before, ok := attache.UTF16Slice(m.Text, 0, mark.Offset)
		text, whole := attache.UTF16Slice(m.Text, mark.Offset, mark.Length)
		if ok && whole {
			out = append(out, span{len(before), len(before) + len(text)})
		}
	}
	return out
}

// says looks for a name as a whole word outside the marked ranges, in upper or
// lower case.
func says(text, name string, marked []span) bool {
	letters := utf8.RuneCountInString(name)
	if letters == 0 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	before := rune(0)
	for at, r := range text {
		end := 0
		if unicode.ToLower(r) == unicode.ToLower(first) && parted(before, first) {
			end = after(text, at, letters)
		}
		if end > 0 && strings.EqualFold(text[at:end], name) {
			next := rune(0)
			if end < len(text) {
				next, _ = utf8.DecodeRuneInString(text[end:])
			}
			if parted(last, next) && !overlaps(marked, span{at, end}) {
				return true
			}
		}
		before = r
	}
	return false
}

// after gives the offset behind n letters from at, or 0 when there are fewer.
func after(text string, at, n int) int {
	for ; n > 0; n-- {
		if at >= len(text) {
			return 0
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

func overlaps(marked []span, s span) bool {
	for _, m := range marked {
		if m.from < s.to && s.from < m.to {
			return true
		}
	}
	return false
}

// parted reports whether a word ends between two letters. Scripts that put no
// space between words have no such end to see, so a name in one of them, or beside
// one, is found wherever it stands.
func parted(a, b rune) bool {
	return !inWord(a) || !inWord(b) || unspaced(a) || unspaced(b)
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
