package access

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

var (
	numbers = regexp.MustCompile(`^-?[1-9][0-9]*$`)
	botName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
)

// groupsBegin is where the numbers of groups and channels begin, their minus left out.
// Those of people are far below it, so a longer one has lost its minus.
const groupsBegin = 1_000_000_000_000

// number reads Telegram's number in a text such as "tg:user:5", as it is written
// and no other way, so that one person has one spelling.
func number(text, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok || !numbers.MatchString(digits) {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// chatKey reads the address of a group's rule.
func chatKey(top brainfile.Node, w brainfile.Word) (attache.ChatID, []attache.Problem) {
	n, ok := number(w.Text, "tg:chat:")
	switch bare, isNumber := number(w.Text, ""); {
	case ok && n < 0:
		return attache.ChatID(n), nil
	case ok && n >= groupsBegin:
		return 0, one(top.WrongAt(w, w.Text+" is a private chat", fmt.Sprintf("rule private chats with dm; or did you mean tg:chat:-%d?", n)))
	case ok:
		return 0, one(top.WrongAt(w, w.Text+" is a private chat", "rule private chats with dm"))
	case isNumber && bare < 0:
		return 0, one(top.WrongAt(w, fmt.Sprintf("%q is not the address of a chat", w.Text), fmt.Sprintf(`write "tg:chat:%d"`, bare)))
	}
	return 0, one(top.WrongAt(w, fmt.Sprintf("%q is not the address of a chat", w.Text), `write "tg:chat:-100…", the number that /doctor or the chats page shows`))
}

// threadKey reads the number of a topic. Telegram's number 1 for General never
// reaches a place, so a rule for it would silently rule nothing.
func threadKey(top brainfile.Node, w brainfile.Word) (attache.ThreadID, []attache.Problem) {
	n, ok := number(w.Text, "")
	switch {
	case w.Text == "0":
		return 0, nil
	case ok && n == 1:
		return 0, one(top.WrongAt(w, "a thread 1 does not exist", `General is "0"`))
	case ok && n > 0:
		return attache.ThreadID(n), nil
	}
	return 0, one(top.WrongAt(w, fmt.Sprintf("%q is not the number of a thread", w.Text), `write its digits, as in "42"; General is "0"`))
}

// owner reads the address of an owner, who is always a person.
func owner(n brainfile.Node) (attache.PersonID, []attache.Problem) {
	word, ok := n.Text()
	if id, isUser := number(word.Text, "tg:user:"); ok && isUser && id > 0 {
		return attache.UserID(id), nil
	}
	return "", one(n.Wrong(fmt.Sprintf("%q is not the address of a person", word.Text), advice(word.Text)))
}

// person reads one entry of `people`: a person, a chat that speaks as itself, or
// one of the brain's own bots.
func person(n brainfile.Node) (attache.PersonID, []attache.Problem) {
	word, ok := n.Text()
	if !ok {
		return "", one(n.Wrong("an entry of people is no address", "write addresses such as tg:user:111111"))
	}
	user, isUser := number(word.Text, "tg:user:")
	chat, isChat := number(word.Text, "tg:chat:")
	bot, isBot := strings.CutPrefix(word.Text, "bot:")
	switch {
	case isUser && user > 0, isChat && chat < 0, isBot && botName.MatchString(bot):
		return attache.PersonID(word.Text), nil
	case word.Text == "everyone":
		return "", one(n.Wrong("everyone stands alone, not in a list", "write people: everyone"))
	}
	return "", one(n.Wrong(fmt.Sprintf("%q is not the address of a person", word.Text), advice(word.Text)))
}

// advice says how a person is written.
func advice(text string) string {
	if n, ok := number(text, ""); ok && n > 0 {
		return fmt.Sprintf("write tg:user:%d", n)
	}
	if strings.HasPrefix(text, "@") {
		return "write tg:user: and the person's number, because a name can change hands"
	}
	return "write tg:user: and the person's number; an anonymous admin or a channel is tg:chat: and its number"
}

func one(p attache.Problem) []attache.Problem { return []attache.Problem{p} }
