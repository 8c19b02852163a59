// Package wire has the shapes in which Telegram shows users, chats and messages to bots:
// the JSON of updates and of answers, field for field and no more than a gateway reads.
//
// A shape is what stood there at one moment. It is copied whenever it is shown, so that a
// later edit changes nothing in an update that waits already, as at Telegram. What only
// the world behind a message knows, such as who may see it, is in package world.
package wire

import (
	"encoding/json"

	"attache"
	"attache/internal/telegramsim/format"
)

// User is a person or a bot.
type User struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Username string `json:"username,omitempty"`
}

// Chat shows a forum as what it is here: a supergroup with a flag.
type Chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title,omitempty"`
	Username string `json:"username,omitempty"`
	First    string `json:"first_name,omitempty"`
	IsForum  bool   `json:"is_forum,omitempty"`
}

// Message is a message as updates and answers show it.
type Message struct {
	ID              int64           `json:"message_id"`
	Thread          int64           `json:"message_thread_id,omitempty"`
	From            *User           `json:"from,omitempty"`
	SenderChat      *Chat           `json:"sender_chat,omitempty"`
	Signature       string          `json:"author_signature,omitempty"`
	Date            int64           `json:"date"`
	Chat            Chat            `json:"chat"`
	ForwardOrigin   *Origin         `json:"forward_origin,omitempty"`
	IsTopic         bool            `json:"is_topic_message,omitempty"`
	AutoForward     bool            `json:"is_automatic_forward,omitempty"`
	ReplyTo         *Message        `json:"reply_to_message,omitempty"`
	External        *External       `json:"external_reply,omitempty"`
	Quote           *Quote          `json:"quote,omitempty"`
	ViaBot          *User           `json:"via_bot,omitempty"`
	EditDate        int64           `json:"edit_date,omitempty"`
	Album           string          `json:"media_group_id,omitempty"`
	Text            string          `json:"text,omitempty"`
	Entities        []format.Entity `json:"entities,omitempty"`
	Rich            json.RawMessage `json:"rich_message,omitempty"`
	Caption         string          `json:"caption,omitempty"`
	CaptionEntities []format.Entity `json:"caption_entities,omitempty"`
	Photo           []File          `json:"photo,omitempty"`
	Voice           *File           `json:"voice,omitempty"`
	Audio           *File           `json:"audio,omitempty"`
	Video           *File           `json:"video,omitempty"`
	Document        *File           `json:"document,omitempty"`
	NewMembers      []*User         `json:"new_chat_members,omitempty"`
	LeftMember      *User           `json:"left_chat_member,omitempty"`
	MigrateTo       int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom     int64           `json:"migrate_from_chat_id,omitempty"`
	TopicCreated    *Topic          `json:"forum_topic_created,omitempty"`
	TopicEdited     *Topic          `json:"forum_topic_edited,omitempty"`
	TopicClosed     *struct{}       `json:"forum_topic_closed,omitempty"`
	TopicReopened   *struct{}       `json:"forum_topic_reopened,omitempty"`
	ReplyMarkup     json.RawMessage `json:"reply_markup,omitempty"`
}

// Topic is what a service message tells of a topic that is made or renamed.
type Topic struct {
	Name  string `json:"name,omitempty"`
	Color int64  `json:"icon_color,omitempty"`
}

// Origin is where forwarded words come from.
type Origin struct {
	Type      string `json:"type"`
	Date      int64  `json:"date"`
	User      *User  `json:"sender_user,omitempty"`
	Chat      *Chat  `json:"chat,omitempty"`
	MessageID int64  `json:"message_id,omitempty"`
}

// External is a parent that stands in another chat.
type External struct {
	Origin    Origin `json:"origin"`
	Chat      *Chat  `json:"chat,omitempty"`
	MessageID int64  `json:"message_id,omitempty"`
}

// Quote is the part of a parent that a reply is about.
type Quote struct {
	Text     string `json:"text"`
	Position int    `json:"position"`
	Manual   bool   `json:"is_manual,omitempty"`
}

// File is a file of any kind. Fields that a kind has not are absent, those that it always
// has are there even when they are 0.
type File struct {
	FileID   string `json:"file_id"`
	Unique   string `json:"file_unique_id"`
	Width    *int   `json:"width,omitempty"`
	Height   *int   `json:"height,omitempty"`
	Duration *int   `json:"duration,omitempty"`
	Name     string `json:"file_name,omitempty"`
	MIME     string `json:"mime_type,omitempty"`
	Size     int    `json:"file_size,omitempty"`
}

// Service gives Telegram's field name of the event that a message tells of, ""
// when it carries words.
func (m *Message) Service() string {
	switch {
	case m.NewMembers != nil:
		return "new_chat_members"
	case m.LeftMember != nil:
		return "left_chat_member"
	case m.MigrateTo != 0:
		return "migrate_to_chat_id"
	case m.MigrateFrom != 0:
		return "migrate_from_chat_id"
	case m.TopicCreated != nil:
		return "forum_topic_created"
	case m.TopicEdited != nil:
		return "forum_topic_edited"
	case m.TopicClosed != nil:
		return "forum_topic_closed"
	case m.TopicReopened != nil:
		return "forum_topic_reopened"
	}
	return ""
}

// Shown gives the message as a reply shows its parent: without the parent's own, and
// as it is now. A later edit of the parent does not change what the reply showed.
func (m *Message) Shown() *Message {
	w := *m
	w.ReplyTo = nil
	return &w
}

// Sender gives who a message is from: the chat that speaks as itself, else the user.
func (m *Message) Sender() attache.Person {
	if c := m.SenderChat; c != nil {
		return attache.Person{ID: attache.SenderChatID(attache.ChatID(c.ID)), Name: c.Title, Username: c.Username}
	}
	if u := m.From; u != nil {
		return attache.Person{ID: attache.UserID(u.ID), Name: u.First, Username: u.Username, IsBot: u.IsBot}
	}
	return attache.Person{}
}
