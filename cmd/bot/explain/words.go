package explain

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"attache"
)

var (
	mentions = regexp.MustCompile(`@[A-Za-z0-9_]{2,32}`)
	command  = regexp.MustCompile(`^/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]+)?`)
)

// marksOf finds what Telegram would mark of a text that is typed at a terminal, as
// far as rules look at it: the command in front, and @names.
func marksOf(text string) []attache.Mark {
	var out []attache.Mark
	front := command.FindString(text)
	if front != "" {
		out = append(out, attache.Mark{Kind: "bot_command", Length: attache.UTF16Len(front)})
	}
	for _, at := range mentions.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		if at[0] < len(front) || at[0] > 0 && (unicode.IsLetter(before) || unicode.IsDigit(before) || before == '_') {
			continue // of the command, or of an address such as ann@example.org
		}
		out = append(out, attache.Mark{Kind: "mention", Offset: attache.UTF16Len(text[:at[0]]), Length: attache.UTF16Len(text[at[0]:at[1]])})
	}
	return out
}

// username gives the bot's @name for a text in which it may matter: Telegram's word
// where there is a token, else what the text most likely means by it, with a note.
func (d *dryRun) username(text string) string {
	names := mentions.FindAllString(text, -1)
	if len(names) == 0 {
		return ""
	}
	if name := d.Username(d.ctx, d.place.Bot); name != "" {
		return name
	}
	only := len(d.Brain.Policy.Bots()) <= 1
	for _, name := range names {
		if name = name[1:]; meant(name, d.place.Bot, only) {
			d.note("@%s is taken for the bot's name: without its token it cannot be asked for", name)
			return name
		}
	}
	d.note("the bot's @name is not known without its token; @%s would be taken for it", d.place.Bot)
	return ""
}

// meant reports whether a name can be a bot's: its id, or the name of a bot (they
// end in "bot") that holds the id or is the only one there is.
func meant(name string, id attache.BotID, only bool) bool {
	plain := func(s string) string { return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s)) }
	n, bot := plain(name), plain(string(id))
	return n == bot || strings.HasSuffix(n, "bot") && (only || strings.Contains(n, bot))
}

// parsePerson reads an address of a person, or a bare number: a chat's if it is
// negative, as that of an anonymous admin is.
func parsePerson(s string) (attache.PersonID, error) {
	id := attache.PersonID(s)
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err == nil && n > 0:
		id = attache.UserID(n)
	case err == nil && n < 0:
		id = attache.SenderChatID(attache.ChatID(n))
	}
	if !address.MatchString(string(id)) {
		return "", fmt.Errorf("%q is nobody's address; write tg:user:<number> or the number alone", s)
	}
	return id, nil
}

var address = regexp.MustCompile(`^(?:tg:user:[1-9]\d*|tg:chat:-[1-9]\d*|bot:[A-Za-z0-9][A-Za-z0-9_-]*)$`)

// kindOfChat guesses Telegram's word from the number: supergroups and channels begin
// with -100, and of the two a message most likely stands in a supergroup.
func kindOfChat(chat attache.ChatID) string {
	switch {
	case chat.Private():
		return "private"
	case chat <= -1_000_000_000_000:
		return "supergroup"
	}
	return "group"
}

// many says a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
