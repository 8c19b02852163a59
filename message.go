package attache

import (
	"encoding/json"
	"time"
	"unicode/utf16"
)

// Message is one message as the gateway speaks of it: addressed, attributed and
// free of Telegram's wire form. It is stored as JSON, so fields are only added.
type Message struct {
	Place    Place     `json:"place"`
	ID       MessageID `json:"id"`
	Chat     Chat      `json:"chat"`
	From     Person    `json:"from"`
	At       time.Time `json:"at"`                // when Telegram says it was sent, whole seconds
	EditedAt time.Time `json:"editedAt,omitzero"` // zero unless this is an edit
	Text     string    `json:"text,omitempty"`    // text or caption, as typed
	Marks    []Mark    `json:"marks,omitempty"`   // entities of Text
	Album    string    `json:"album,omitempty"`   // media_group_id: items of one album share it
	Reply    *Reply    `json:"reply,omitempty"`   // what it natively replies to
	Media    []Media   `json:"media,omitempty"`   // photo, voice, document and the like
	ViaBot   string    `json:"viaBot,omitempty"`  // username of the inline bot that wrote it
	Forward  string    `json:"forward,omitempty"` // who wrote it first, when it is a forward
	Left     string    `json:"left,omitempty"`    // what of the message Attaché cannot carry, in words
	Service  string    `json:"service,omitempty"` // Telegram's field name when it is a service message
	Topic    string    `json:"topic,omitempty"`   // name of the topic that this service message created
	Joined   []Person  `json:"joined,omitempty"`  // people that this service message says have joined
	LeftBy   *Person   `json:"leftBy,omitempty"`  // the person that this service message says has left
	Channel  bool      `json:"channel,omitempty"` // a channel's post, forwarded automatically or posted as a channel
}

// Chat says what kind of chat a message stands in.
type Chat struct {
	Kind  string `json:"kind"`            // private, group, supergroup or channel
	Title string `json:"title,omitempty"` // group title, or the person's name in a private chat
	Forum bool   `json:"forum,omitempty"` // whether it has topics
}

// Person is who sent a message: a user, a bot, or a chat that speaks as itself.
type Person struct {
	ID       PersonID `json:"id"`
	Name     string   `json:"name,omitempty"`     // as shown to people; never trusted
	Username string   `json:"username,omitempty"` // without @
	IsBot    bool     `json:"isBot,omitempty"`
}

// Mark is a Telegram message entity: a range of Text with a meaning. Offset and
// Length count UTF-16 code units, as Telegram does (decisions § 7.3).
type Mark struct {
	Kind     string   `json:"kind"` // Telegram's type: mention, text_mention, bot_command, code, pre, …
	Offset   int      `json:"offset"`
	Length   int      `json:"length"`
	URL      string   `json:"url,omitempty"`      // text_link only
	User     PersonID `json:"user,omitempty"`     // text_mention only
	Language string   `json:"language,omitempty"` // pre only
}

// Reply is what a message natively replies to. A topic's creation message is not
// a reply target, and a message of another chat links to nothing, so both are
// told apart here (decisions § 3.9).
type Reply struct {
	ID       MessageID `json:"id"`
	From     Person    `json:"from,omitzero"`
	At       time.Time `json:"at,omitzero"`
	Text     string    `json:"text,omitempty"`     // the parent's text, as reference
	Quote    string    `json:"quote,omitempty"`    // the part the person quoted, if any
	External bool      `json:"external,omitempty"` // the parent stands in another chat
	Chat     ChatID    `json:"chat,omitempty"`     // that other chat, if Telegram names it
}

// Media is one file that came with a message.
type Media struct {
	Kind   string `json:"kind"`   // photo, voice, audio, document, video, sticker, …
	FileID string `json:"fileId"` // Telegram's handle for getFile, valid for this bot only
	Unique string `json:"unique,omitempty"`
	Name   string `json:"name,omitempty"`
	MIME   string `json:"mime,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes, 0 when Telegram does not say
}

// UTF16Len gives the length of s in UTF-16 code units, the unit of every offset
// and limit of Telegram.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// UTF16Slice cuts [offset, offset+length) UTF-16 code units out of s. It reports
// false when the range does not lie in s or would split a surrogate pair, so a
// hostile entity is ignored instead of trusted.
func UTF16Slice(s string, offset, length int) (string, bool) {
	if offset < 0 || length < 0 {
		return "", false
	}
	start, end, at := -1, -1, 0
	for i, r := range s {
		if at == offset {
			start = i
		}
		if at == offset+length {
			end = i
			break
		}
		at += utf16.RuneLen(r)
	}
	if start < 0 && at == offset {
		start = len(s)
	}
	if end < 0 && at == offset+length {
		end = len(s)
	}
	if start < 0 || end < start {
		return "", false
	}
	return s[start:end], true
}

// Update is one decoded update of a bot. Exactly one of the pointers is set for
// the kinds that Attaché knows; an unknown kind has none and is only counted.
type Update struct {
	Bot      BotID
	ID       int64
	Kind     string // Telegram's field name, such as "message" or "callback_query"
	Message  *Message
	Edited   *Message
	Press    *Press
	Migrated *Migration
	Member   *MemberChange
	Stopped  *Place // a person pressed Telegram's own stop button in this place
}

// Press is a button pressed below one of the bot's messages.
type Press struct {
	ID      string // callback_query id, answered once
	Place   Place
	Message MessageID // the post that carries the button
	From    Person
	Data    string
	Text    string // the button's label, when the post still shows it
}

// Migration tells that a group became a supergroup and changed its number.
type Migration struct {
	From, To ChatID
}

// MemberChange tells that a member's standing in a chat changed.
type MemberChange struct {
	Chat   ChatID
	Person Person
	Self   bool   // the member is the bot itself (my_chat_member)
	Was    string // Telegram's status words: member, administrator, left, kicked, …
	Now    string
}

// RawUpdate is an update as it arrived, kept until it is handled.
type RawUpdate struct {
	ID   int64
	JSON json.RawMessage
}
