package attache

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// BotID is the brain's own name of a bot, such as "nova": a key under `bots:`
// in access.yaml. It is unique in a brain and is never Telegram's numeric id.
type BotID string

// ChatID is Telegram's number of a chat: positive for a private chat (it equals
// the person's number), negative for groups and channels. It is unique across
// Telegram, but changes when a group becomes a supergroup.
type ChatID int64

// String gives the address form "tg:chat:-1001".
func (c ChatID) String() string { return "tg:chat:" + strconv.FormatInt(int64(c), 10) }

// Private reports whether the chat is a private one (a DM).
func (c ChatID) Private() bool { return c > 0 }

// ParseBot checks a bot's id that came from outside: letters, digits, - and _, the
// first a letter or a digit, as access.yaml takes them.
func ParseBot(s string) (BotID, error) {
	for i, c := range []byte(s) {
		word := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !word && (i == 0 || c != '-' && c != '_') {
			return "", fmt.Errorf("%q is no id of a bot; write letters, digits, - and _ only", s)
		}
	}
	if s == "" {
		return "", errors.New("the id of the bot is missing; write letters, digits, - and _ only")
	}
	return BotID(s), nil
}

// ParseChat reads "tg:chat:<number>" or a bare number, as commands and tools
// accept both (interface § 3). As in access.yaml a number has one spelling: neither
// a plus nor leading zeros.
func ParseChat(s string) (ChatID, error) {
	n, ok := number(strings.TrimPrefix(s, "tg:chat:"))
	if !ok || n == 0 {
		return 0, fmt.Errorf("%q is not a chat; write tg:chat:<number> or the number alone", s)
	}
	return ChatID(n), nil
}

// number reads a number that is written as strconv writes it, and no other way.
func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// ThreadID is the number of a topic inside a chat. General and "no topic" are
// both 0 (decisions § 1), so one place has one form.
type ThreadID int64

// MessageID is Telegram's number of a message. It is unique only within a chat
// as one bot sees it: two bots count the same private chat differently.
type MessageID int64

// PersonID says who speaks: "tg:user:5" for a person, "tg:chat:-1001" for an
// anonymous admin or a channel, "bot:nova" for one of the brain's own bots.
type PersonID string

// UserID makes the address of a person from Telegram's number of a user.
func UserID(n int64) PersonID { return PersonID("tg:user:" + strconv.FormatInt(n, 10)) }

// SenderChatID makes the address of a chat that speaks as itself: an anonymous
// admin or a channel.
func SenderChatID(c ChatID) PersonID { return PersonID(c.String()) }

// RoleID is the file name of an *.agent.md, unique in the brain.
type RoleID string

// FeatureID is the name of a folder below features/, unique in the brain.
type FeatureID string

// ContextID is the file name of a *.context.md, unique in the brain.
type ContextID string

// EntityKey is the opaque string that a link carries: the one ticket, client or
// prospect the turn is about. 1 to 200 characters, no control characters
// (decisions § 1).
type EntityKey string

// Place is the address of a conversation and of every send: the bot that
// speaks, the chat, and the topic inside it (decisions § 1).
type Place struct {
	Bot    BotID    `json:"bot"`
	Chat   ChatID   `json:"chat"`
	Thread ThreadID `json:"thread"`
}

// String gives the one canonical form of a place, "nova/-1001/42", used as a key
// in logs and tables and read back by ParsePlace.
func (p Place) String() string {
	return string(p.Bot) + "/" + strconv.FormatInt(int64(p.Chat), 10) + "/" + strconv.FormatInt(int64(p.Thread), 10)
}

// ParsePlace reads what Place.String wrote, and nothing else.
func ParsePlace(s string) (Place, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || parts[0] == "" {
		return Place{}, fmt.Errorf("%q is not a place; write <bot>/<chat>/<thread>, as in nova/-1001/0", s)
	}
	bot, err := ParseBot(parts[0])
	if err != nil {
		return Place{}, fmt.Errorf("%q is not a place: %w", s, err)
	}
	chat, ok := number(parts[1])
	if !ok {
		return Place{}, fmt.Errorf("%q is not a place: %q is not a chat's number", s, parts[1])
	}
	thread, ok := number(parts[2])
	if !ok || thread < 0 {
		return Place{}, fmt.Errorf("%q is not a place: %q is not a thread's number", s, parts[2])
	}
	return Place{bot, ChatID(chat), ThreadID(thread)}, nil
}
