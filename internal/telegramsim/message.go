package telegramsim

import (
	"bytes"
	"encoding/json"
	"strconv"

	"attache"
	"attache/internal/telegramsim/format"
)

// wireUser and wireChat are a user and a chat as updates show them.
type wireUser struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	First    string `json:"first_name"`
	Username string `json:"username,omitempty"`
}

type wireChat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title,omitempty"`
	Username string `json:"username,omitempty"`
	First    string `json:"first_name,omitempty"`
	IsForum  bool   `json:"is_forum,omitempty"`
}

// wireMessage is a message as updates and answers show it.
type wireMessage struct {
	ID              int64           `json:"message_id"`
	Thread          int64           `json:"message_thread_id,omitempty"`
	From            *wireUser       `json:"from,omitempty"`
	SenderChat      *wireChat       `json:"sender_chat,omitempty"`
	Signature       string          `json:"author_signature,omitempty"`
	Date            int64           `json:"date"`
	Chat            wireChat        `json:"chat"`
	ForwardOrigin   *wireOrigin     `json:"forward_origin,omitempty"`
	IsTopic         bool            `json:"is_topic_message,omitempty"`
	AutoForward     bool            `json:"is_automatic_forward,omitempty"`
	ReplyTo         *wireMessage    `json:"reply_to_message,omitempty"`
	External        *wireExternal   `json:"external_reply,omitempty"`
	Quote           *wireQuote      `json:"quote,omitempty"`
	ViaBot          *wireUser       `json:"via_bot,omitempty"`
	EditDate        int64           `json:"edit_date,omitempty"`
	Album           string          `json:"media_group_id,omitempty"`
	Text            string          `json:"text,omitempty"`
	Entities        []format.Entity `json:"entities,omitempty"`
	Rich            json.RawMessage `json:"rich_message,omitempty"`
	Caption         string          `json:"caption,omitempty"`
	CaptionEntities []format.Entity `json:"caption_entities,omitempty"`
	Photo           []wireFile      `json:"photo,omitempty"`
	Voice           *wireFile       `json:"voice,omitempty"`
	Audio           *wireFile       `json:"audio,omitempty"`
	Video           *wireFile       `json:"video,omitempty"`
	Document        *wireFile       `json:"document,omitempty"`
	NewMembers      []*wireUser     `json:"new_chat_members,omitempty"`
	LeftMember      *wireUser       `json:"left_chat_member,omitempty"`
	MigrateTo       int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom     int64           `json:"migrate_from_chat_id,omitempty"`
	TopicCreated    *wireTopic      `json:"forum_topic_created,omitempty"`
	TopicEdited     *wireTopic      `json:"forum_topic_edited,omitempty"`
	TopicClosed     *struct{}       `json:"forum_topic_closed,omitempty"`
	TopicReopened   *struct{}       `json:"forum_topic_reopened,omitempty"`
	ReplyMarkup     json.RawMessage `json:"reply_markup,omitempty"`
}

type wireTopic struct {
	Name  string `json:"name,omitempty"`
	Color int64  `json:"icon_color,omitempty"`
}

type wireOrigin struct {
	Type      string    `json:"type"`
	Date      int64     `json:"date"`
	User      *wireUser `json:"sender_user,omitempty"`
	Chat      *wireChat `json:"chat,omitempty"`
	MessageID int64     `json:"message_id,omitempty"`
}

type wireExternal struct {
	Origin    wireOrigin `json:"origin"`
	Chat      *wireChat  `json:"chat,omitempty"`
	MessageID int64      `json:"message_id,omitempty"`
}

type wireQuote struct {
	Text     string `json:"text"`
	Position int    `json:"position"`
	Manual   bool   `json:"is_manual,omitempty"`
}

type wireFile struct {
	FileID   string `json:"file_id"`
	Unique   string `json:"file_unique_id"`
	Width    *int   `json:"width,omitempty"`
	Height   *int   `json:"height,omitempty"`
	Duration *int   `json:"duration,omitempty"`
	Name     string `json:"file_name,omitempty"`
	MIME     string `json:"mime_type,omitempty"`
	Size     int    `json:"file_size,omitempty"`
}

// message is a message with what only the world knows of it.
type message struct {
	wireMessage
	by      *User // who wrote it; nil for Telegram itself
	chat    *Chat
	method  string // the Bot API method that made it, "" for people
	rich    string // source of a rich message: Markdown, HTML or the blocks' JSON
	file    *stored
	edits   int
	deleted bool
}

// service gives Telegram's field name of the event that a message tells of, ""
// when it carries words.
func (m *message) service() string {
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

// shown gives the message as a reply shows its parent: without the parent's own, and
// as it is now. A later edit of the parent does not change what the reply showed.
func (m *message) shown() *wireMessage {
	w := m.wireMessage
	w.ReplyTo = nil
	return &w
}

// put numbers a message, keeps it and forgets the oldest beyond Options.Keep: many at
// a time, once twice as many are there, so that a long run pays little for each, and
// into a new array, so that the old one's memory is given back.
func (c *Chat) put(m *message) {
	c.lastID++
	m.ID, m.chat, m.Chat, m.Date = c.lastID, c, c.wire(), c.sim.now()
	c.messages[m.ID] = m
	c.order = append(c.order, m.ID)
	if keep := c.sim.options.Keep; keep > 0 && len(c.order) > 2*keep {
		for _, id := range c.order[:len(c.order)-keep] {
			delete(c.messages, id)
		}
		c.order = append([]int64(nil), c.order[len(c.order)-keep:]...)
	}
}

// find gives a message that is still there.
func (c *Chat) find(id int64) *message {
	m := c.messages[id]
	if m == nil || m.deleted {
		return nil
	}
	return m
}

// place sets the thread of a message and, where Telegram does so, the parent that
// it implies: the creation message of a topic stands as the parent of whatever is
// no other reply, and in a supergroup without topics a reply carries a stray
// thread id (decisions § 7.2, traps "Topics and threads").
func (c *Chat) place(m *message, thread int64, parent *message) {
	if parent != nil {
		m.ReplyTo = parent.shown()
	}
	switch {
	case c.forum && thread != 0:
		m.Thread, m.IsTopic = thread, true
		if root := c.messages[thread]; parent == nil && root != nil && c.Kind != private {
			m.ReplyTo = root.shown()
		}
	case !c.forum && c.group() && c.Kind != basic && parent != nil:
		m.Thread = parent.ID
		if parent.Thread != 0 {
			m.Thread = parent.Thread
		}
	}
}

// botMark stands in the frozen JSON for the number of the bot that reads it,
// because a file's id is good for one bot only.
const botMark = "\u2060bot\u2060"

// bindFiles gives JSON its reader's file ids.
func bindFiles(raw []byte, bot *User) []byte {
	if !bytes.Contains(raw, []byte(botMark)) {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte(botMark), []byte(strconv.FormatInt(bot.ID, 10)))
}

// entities turns a test's marks into wire entities.
func (s *Server) entities(marks []attache.Mark) []format.Entity {
	out := make([]format.Entity, 0, len(marks))
	for _, k := range marks {
		e := format.Entity{Type: k.Kind, Offset: k.Offset, Length: k.Length, URL: k.URL, Language: k.Language}
		for _, u := range s.users {
			if k.User != "" && attache.UserID(u.ID) == k.User {
				e.User, _ = json.Marshal(u.wire()) // a plain struct always marshals
			}
		}
		out = append(out, e)
	}
	return out
}

// marks turns wire entities into the root package's marks.
func marks(list []format.Entity) []attache.Mark {
	var out []attache.Mark
	for _, e := range list {
		k := attache.Mark{Kind: e.Type, Offset: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language}
		var u wireUser
		if json.Unmarshal(e.User, &u) == nil && u.ID != 0 {
			k.User = attache.UserID(u.ID)
		}
		out = append(out, k)
	}
	return out
}
