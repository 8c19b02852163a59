package updates

import (
	"strings"
	"unicode"

	"attache"
)

// The in… types are the fields of the Bot API that Attaché reads, and no others.
// The library's whole models.Update decodes as fast (11 µs an update), but refuses
// one for a wrong type or a new block anywhere in it, read or not.

type inUpdate struct {
	ID                int64      `json:"update_id"`
	Message           *inMessage `json:"message"`
	EditedMessage     *inMessage `json:"edited_message"`
	ChannelPost       *inMessage `json:"channel_post"`
	EditedChannelPost *inMessage `json:"edited_channel_post"`
	CallbackQuery     *inPress   `json:"callback_query"`
	MyChatMember      *inMember  `json:"my_chat_member"`
	ChatMember        *inMember  `json:"chat_member"`
	Stopped           *inStopped `json:"stopped_message_generation"`
}

type inMessage struct {
	ID                 int64       `json:"message_id"`
	ThreadID           int64       `json:"message_thread_id"`
	IsTopic            bool        `json:"is_topic_message"`
	IsAutoForward      bool        `json:"is_automatic_forward"`
	Date               int64       `json:"date"`
	EditDate           int64       `json:"edit_date"`
	Chat               inChat      `json:"chat"`
	From               *inUser     `json:"from"`
	SenderChat         *inChat     `json:"sender_chat"`
	BusinessConnection string      `json:"business_connection_id"`
	GuestQuery         string      `json:"guest_query_id"`
	Album              string      `json:"media_group_id"`
	Text               string      `json:"text"`
	Entities           []inMark    `json:"entities"`
	Caption            string      `json:"caption"`
	CaptionEntities    []inMark    `json:"caption_entities"`
	ReplyTo            *inParent   `json:"reply_to_message"`
	External           *inExternal `json:"external_reply"`
	Quote              *inQuote    `json:"quote"`
	ReplyToStory       present     `json:"reply_to_story"`
	ViaBot             *inUser     `json:"via_bot"`
	Forward            *inOrigin   `json:"forward_origin"`
	Photo              []inFile    `json:"photo"`
	Voice              *inFile     `json:"voice"`
	Audio              *inFile     `json:"audio"`
	Document           *inFile     `json:"document"`
	Video              *inFile     `json:"video"`
	VideoNote          *inFile     `json:"video_note"`
	Animation          *inFile     `json:"animation"`
	Sticker            *inFile     `json:"sticker"`
	LivePhoto          present     `json:"live_photo"`
	Joined             []inUser    `json:"new_chat_members"`
	LeftBy             *inUser     `json:"left_chat_member"`
	TopicCreated       *inTopic    `json:"forum_topic_created"`
	MigrateTo          int64       `json:"migrate_to_chat_id"`
	MigrateFrom        int64       `json:"migrate_from_chat_id"`
}

// inParent is a replied-to message. It has no parent of its own, so no answer of
// a server makes the decoder recurse.
type inParent struct {
	ID           int64    `json:"message_id"`
	Date         int64    `json:"date"`
	Chat         inChat   `json:"chat"`
	From         *inUser  `json:"from"`
	SenderChat   *inChat  `json:"sender_chat"`
	Text         string   `json:"text"`
	Caption      string   `json:"caption"`
	Photo        []inFile `json:"photo"`
	Voice        *inFile  `json:"voice"`
	Audio        *inFile  `json:"audio"`
	Document     *inFile  `json:"document"`
	Video        *inFile  `json:"video"`
	TopicCreated present  `json:"forum_topic_created"`
}

// words are what stands in a message, with what stands for its file: who answers a
// recording or a document without words answers that.
func (p *inParent) words() string {
	label := ""
	name := func(kind string, f *inFile) {
		if f != nil && label == "" {
			label = "[" + strings.TrimSpace(kind+" "+oneLine(f.Name)) + "]"
		}
	}
	if len(p.Photo) > 0 {
		label = "[photo]"
	}
	name("voice", p.Voice)
	name("audio", p.Audio)
	name("video", p.Video)
	name("document", p.Document)
	text := p.Text + p.Caption // a message has one of them
	if label != "" && text != "" {
		label += "\n"
	}
	return clean(label + text)
}

// oneLine takes what could look like another line, or end the brackets, out of a
// file's name.
func oneLine(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '[' || r == ']' }), " ")
}

type inExternal struct {
	ID     int64    `json:"message_id"`
	Chat   *inChat  `json:"chat"`
	Origin inOrigin `json:"origin"`
}

// inOrigin is MessageOrigin: four forms, told apart by which field is there.
type inOrigin struct {
	Date     int64   `json:"date"`
	User     *inUser `json:"sender_user"`
	UserName string  `json:"sender_user_name"`
	Sender   *inChat `json:"sender_chat"`
	Channel  *inChat `json:"chat"`
}

type inQuote struct {
	Text string `json:"text"`
}

type inTopic struct {
	Name string `json:"name"`
}

type inChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	Username  string `json:"username"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	IsForum   bool   `json:"is_forum"`
}

type inUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type inMark struct {
	Type     string  `json:"type"`
	Offset   int     `json:"offset"`
	Length   int     `json:"length"`
	URL      string  `json:"url"`
	User     *inUser `json:"user"`
	Language string  `json:"language"`
}

// inFile is any of the file types; they share these names.
type inFile struct {
	FileID   string `json:"file_id"`
	UniqueID string `json:"file_unique_id"`
	Name     string `json:"file_name"`
	MIME     string `json:"mime_type"`
	Size     int64  `json:"file_size"`
	Width    int64  `json:"width"`
	Height   int64  `json:"height"`
	Emoji    string `json:"emoji"`
}

type inPress struct {
	ID      string  `json:"id"`
	From    inUser  `json:"from"`
	Data    string  `json:"data"`
	Message *inPost `json:"message"`
}

// inPost is the post below which a button was pressed, whole or inaccessible.
type inPost struct {
	ID                 int64  `json:"message_id"`
	ThreadID           int64  `json:"message_thread_id"`
	IsTopic            bool   `json:"is_topic_message"`
	Chat               inChat `json:"chat"`
	BusinessConnection string `json:"business_connection_id"`
	Markup             struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
		} `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

type inMember struct {
	Chat inChat     `json:"chat"`
	Old  inStanding `json:"old_chat_member"`
	New  inStanding `json:"new_chat_member"`
}

type inStanding struct {
	Status   string `json:"status"`
	User     inUser `json:"user"`
	IsMember *bool  `json:"is_member"`
}

type inStopped struct {
	Chat     inChat `json:"chat"`
	ThreadID int64  `json:"message_thread_id"`
}

// present tells that a field is there, whatever is in it.
type present bool

// UnmarshalJSON notes the presence; null and false are absence.
func (p *present) UnmarshalJSON(b []byte) error {
	*p = string(b) != "null" && string(b) != "false"
	return nil
}

// person gives the address of a user; without a number there is none.
func (u *inUser) person() attache.Person {
	if u == nil || u.ID == 0 {
		return attache.Person{}
	}
	return attache.Person{
		ID:       attache.UserID(u.ID),
		Name:     fullName(u.FirstName, u.LastName),
		Username: clean(u.Username),
		IsBot:    u.IsBot,
	}
}

// person gives the address of a chat that speaks as itself. It is no bot, though
// the stand-in user that Telegram puts into `from` beside it is one.
func (c *inChat) person() attache.Person {
	if c == nil || c.ID == 0 {
		return attache.Person{}
	}
	return attache.Person{ID: attache.SenderChatID(attache.ChatID(c.ID)), Name: c.name(), Username: clean(c.Username)}
}

func (c *inChat) name() string {
	if c.Title != "" {
		return clean(c.Title)
	}
	return fullName(c.FirstName, c.LastName)
}

func (c *inChat) chat() attache.Chat {
	return attache.Chat{Kind: clean(c.Type), Title: c.name(), Forum: c.IsForum}
}

// name says who wrote a forwarded message first.
func (o *inOrigin) name() string {
	switch {
	case o == nil:
		return ""
	case o.User != nil:
		return o.User.person().Name
	case o.UserName != "":
		return clean(o.UserName)
	case o.Sender != nil:
		return o.Sender.name()
	case o.Channel != nil:
		return o.Channel.name()
	}
	return ""
}

func (o *inOrigin) person() attache.Person {
	switch {
	case o.User != nil:
		return o.User.person()
	case o.Sender != nil:
		return o.Sender.person()
	case o.Channel != nil:
		return o.Channel.person()
	}
	return attache.Person{Name: clean(o.UserName)}
}

func fullName(first, last string) string {
	return strings.TrimSpace(clean(first) + " " + clean(last))
}
