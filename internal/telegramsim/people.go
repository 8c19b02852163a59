package telegramsim

import (
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"attache"
	"attache/internal/telegramsim/format"
)

// Line is what a person says: the whole of it, where Say has only the words.
type Line struct {
	From     *User
	As       *Chat // speaks as a chat: the group itself (an anonymous admin) or a channel
	Text     string
	Marks    []attache.Mark // nil: mentions, commands and addresses are found as Telegram does
	Thread   attache.ThreadID
	ReplyTo  attache.MessageID
	ReplyIn  *Chat  // the parent stands in this other chat
	Quote    string // the part of the parent that is quoted
	File     *File  // Text is its caption then
	Album    string // media_group_id
	Forward  *User  // the line is a forward of this user's words
	ViaBot   *User  // written through this inline bot
	Silently bool   // put it into the chat without telling any bot, as history
}

// File is a file in a message. Kind is photo, voice, audio, video or document.
type File struct {
	Kind string
	Name string
	MIME string
	Data []byte
}

// Say is a plain line of text. It panics where Send has an error, since a test's
// script is wrong then.
func (c *Chat) Say(from *User, text string) attache.MessageID {
	id, err := c.Send(Line{From: from, Text: text})
	if err != nil {
		panic("telegramsim: " + err.Error())
	}
	return id
}

// Send puts a person's line into the chat and tells the bots that may see it. It
// refuses what a client would: no member, an unknown parent or topic, a topic that
// is closed, words over Telegram's limit (SayLong splits them as clients do).
func (c *Chat) Send(l Line) (attache.MessageID, error) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m, err := c.compose(l)
	if err != nil {
		return 0, err
	}
	c.put(m)
	if !l.Silently {
		c.sim.publish(m, false)
	}
	if c.linked != nil {
		c.forwardToGroup(m)
	}
	c.sim.change()
	return attache.MessageID(m.ID), nil
}

// SayLong says a text of any length in as many messages as a client would make of
// it, each at most 4,096 UTF-16 units.
func (c *Chat) SayLong(from *User, text string) []attache.MessageID {
	units := utf16.Encode([]rune(text))
	var ids []attache.MessageID
	for len(units) > 0 {
		end := min(len(units), 4096)
		if end < len(units) && utf16.IsSurrogate(rune(units[end])) && units[end] >= 0xDC00 {
			end-- // a pair stays together
		}
		ids = append(ids, c.Say(from, string(utf16.Decode(units[:end]))))
		units = units[end:]
	}
	return ids
}

// compose makes a message of a line, with every check before the chat changes.
func (c *Chat) compose(l Line) (*message, error) {
	m := &message{by: l.From}
	if err := c.speaker(m, l); err != nil {
		return nil, err
	}
	if err := c.words(m, l); err != nil {
		return nil, err
	}
	thread := int64(l.Thread)
	if t := c.topics[thread]; thread != 0 && (t == nil || !c.forum) {
		return nil, fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	} else if t != nil && t.closed && l.From != nil && !c.admin(l.From) {
		return nil, fmt.Errorf("topic %d of chat %d is closed", thread, c.ID)
	}
	var parent *message
	if l.ReplyIn != nil && l.ReplyIn != c {
		if err := m.external(l); err != nil {
			return nil, err
		}
	} else if l.ReplyTo != 0 {
		if parent = c.find(int64(l.ReplyTo)); parent == nil {
			return nil, fmt.Errorf("chat %d has no message %d to reply to", c.ID, l.ReplyTo)
		}
		if thread == 0 && parent.IsTopic {
			thread = parent.Thread
		}
	}
	c.place(m, thread, parent)
	if l.Quote != "" {
		m.Quote = &wireQuote{Text: l.Quote, Manual: true}
	}
	if l.Forward != nil {
		m.ForwardOrigin = &wireOrigin{Type: "user", Date: c.sim.now(), User: l.Forward.wire()}
	}
	if l.ViaBot != nil {
		m.ViaBot = l.ViaBot.wire()
	}
	return m, nil
}

// speaker sets who the message is from: a member, or a chat that speaks as itself
// with the stand-in user that Telegram puts beside it.
func (c *Chat) speaker(m *message, l Line) error {
	switch {
	case c.Kind == channel:
		w := c.wire()
		m.SenderChat = &w
		return nil
	case l.As == c:
		w := c.wire()
		m.SenderChat, m.From = &w, &wireUser{ID: 1087968824, IsBot: true, First: "Group", Username: "GroupAnonymousBot"}
		m.by = nil
		return nil
	case l.As != nil:
		w := l.As.wire()
		m.SenderChat, m.From = &w, &wireUser{ID: 136817688, IsBot: true, First: "Channel", Username: "Channel_Bot"}
		m.by = nil
		return nil
	case l.From == nil:
		return fmt.Errorf("a line needs From or As")
	case !present(c.status(l.From)):
		return fmt.Errorf("%s is not in chat %d (%s)", l.From.Name, c.ID, c.status(l.From))
	}
	m.From = l.From.wire()
	return nil
}

// words sets text or caption. Given marks take the place of found ones, so that a
// test can put a name into code.
func (c *Chat) words(m *message, l Line) error {
	limit, entities := 4096, c.sim.detector.Detect(l.Text)
	if l.Marks != nil {
		entities = c.sim.entities(l.Marks)
	}
	m.Album = l.Album
	if l.File != nil {
		limit = 1024
		m.Caption, m.CaptionEntities = l.Text, entities
		m.attach(c.sim.store(*l.File))
	} else {
		m.Text, m.Entities = l.Text, entities
	}
	if n := format.Units(l.Text); n > limit || n == 0 && l.File == nil {
		return fmt.Errorf("a text of %d UTF-16 units cannot be sent; 1 to %d can", n, limit)
	}
	return nil
}

// external shows a parent of another chat: its number only where that chat is a
// supergroup or a channel.
func (m *message) external(l Line) error {
	parent := l.ReplyIn.find(int64(l.ReplyTo))
	if parent == nil {
		return fmt.Errorf("chat %d has no message %d to reply to", l.ReplyIn.ID, l.ReplyTo)
	}
	m.External = &wireExternal{Origin: wireOrigin{Type: "user", Date: parent.Date, User: parent.From}}
	if kind := l.ReplyIn.Kind; kind != private && kind != basic {
		w := l.ReplyIn.wire()
		m.External.Chat, m.External.MessageID = &w, parent.ID
	}
	if parent.From == nil {
		m.External.Origin = wireOrigin{Type: "channel", Date: parent.Date, Chat: parent.SenderChat, MessageID: parent.ID}
	}
	return nil
}

// forwardToGroup is what Telegram does with a channel's post in its discussion
// group.
func (c *Chat) forwardToGroup(post *message) {
	copied := &message{wireMessage: post.wireMessage, file: post.file, rich: post.rich}
	copied.From = &wireUser{ID: 777000, First: "Telegram"}
	copied.AutoForward = true
	copied.ForwardOrigin = &wireOrigin{Type: "channel", Date: post.Date, Chat: post.SenderChat, MessageID: post.ID}
	c.linked.put(copied)
	c.sim.publish(copied, false)
}

// Edit replaces the words of a person's own message and tells of the edit. Only
// Text and Marks of the line count.
func (c *Chat) Edit(id attache.MessageID, l Line) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.find(int64(id))
	if m == nil || m.method != "" {
		return fmt.Errorf("chat %d has no message %d that a person wrote", c.ID, id)
	}
	entities := c.sim.detector.Detect(l.Text)
	if l.Marks != nil {
		entities = c.sim.entities(l.Marks)
	}
	if m.file != nil {
		m.Caption, m.CaptionEntities = l.Text, entities
	} else {
		m.Text, m.Entities = l.Text, entities
	}
	m.EditDate = c.sim.now()
	m.edits++
	c.sim.publish(m, true)
	c.sim.change()
	return nil
}

// Remove deletes a message of anybody's. Telegram tells bots nothing of it.
func (c *Chat) Remove(id attache.MessageID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.find(int64(id))
	if m == nil {
		return fmt.Errorf("chat %d has no message %d", c.ID, id)
	}
	m.deleted = true
	c.sim.change()
	return nil
}

// Press presses the button of a post whose label or data is given, and returns the
// number of the callback query, which ExpireQuery takes.
func (c *Chat) Press(by *User, id attache.MessageID, button string) (string, error) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.find(int64(id))
	if m == nil || m.by == nil || m.by.bot == nil {
		return "", fmt.Errorf("chat %d has no bot's post %d", c.ID, id)
	}
	for _, row := range keyboard(m.ReplyMarkup) {
		for _, b := range row {
			if b.Data != "" && (b.Text == button || b.Data == button) {
				return c.sim.press(by, m, b.Data), nil
			}
		}
	}
	return "", fmt.Errorf("post %d of chat %d has no button %q", id, c.ID, button)
}

// press is told to the post's own bot only, with the post as it looks now.
func (s *Server) press(by *User, m *message, data string) string {
	id := fmt.Sprint(4000000000000000 + s.next())
	s.queries[id] = m.by
	s.tell(m.by, "callback_query", struct {
		ID       string       `json:"id"`
		From     *wireUser    `json:"from"`
		Message  *wireMessage `json:"message"`
		Instance string       `json:"chat_instance"`
		Data     string       `json:"data"`
	}{id, by.wire(), &m.wireMessage, fmt.Sprint(m.chat.ID), data})
	return id
}

// ExpireQuery makes a callback query too old to be answered.
func (s *Server) ExpireQuery(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queries, id)
}

// StopDraft presses the native stop button below the newest draft that shows one,
// in the given topic of a private chat.
func (c *Chat) StopDraft(thread attache.ThreadID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	for i := len(c.drafts) - 1; i >= 0; i-- {
		d := c.drafts[i]
		if d.thread != int64(thread) || d.over || !d.canStop {
			continue
		}
		d.over = true
		c.sim.tell(c.bot, "stopped_message_generation", struct {
			Chat   wireChat `json:"chat"`
			Thread int64    `json:"message_thread_id,omitempty"`
			Draft  int64    `json:"draft_id"`
		}{c.wire(), d.thread, d.id})
		return nil
	}
	return fmt.Errorf("chat %d shows no draft with a stop button in topic %d", c.ID, thread)
}

// CreateTopic opens a topic, as a person does, and gives its number.
func (c *Chat) CreateTopic(by *User, name string) attache.ThreadID {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	return attache.ThreadID(c.openTopic(by, name, 7322096, "").id)
}

// openTopic is done by people and bots alike. The creation message stands in the
// topic that it opens and gives it its number.
func (c *Chat) openTopic(by *User, name string, color int64, method string) *topic {
	m := &message{by: by, method: method}
	m.From = by.wire()
	m.TopicCreated = &wireTopic{Name: name, Color: color}
	m.Thread, m.IsTopic = c.lastID+1, true
	c.put(m)
	t := &topic{id: m.ID, name: name, color: color}
	c.topics[t.id] = t
	c.sim.publish(m, false)
	c.sim.change()
	return t
}

// CloseTopic closes a topic or opens it again; members cannot write in a closed one.
func (c *Chat) CloseTopic(by *User, thread attache.ThreadID, closed bool) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	t := c.topics[int64(thread)]
	if t == nil {
		return fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	}
	c.shutTopic(by, t, closed)
	return nil
}

// shutTopic leaves the service message that tells of it inside the topic.
func (c *Chat) shutTopic(by *User, t *topic, closed bool) {
	t.closed = closed
	m := &message{by: by}
	m.From = by.wire()
	if closed {
		m.TopicClosed = &struct{}{}
	} else {
		m.TopicReopened = &struct{}{}
	}
	c.place(m, t.id, nil)
	c.put(m)
	c.sim.publish(m, false)
	c.sim.change()
}

// DeleteTopic deletes a topic with all its messages. Telegram tells bots nothing.
func (c *Chat) DeleteTopic(thread attache.ThreadID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	if c.topics[int64(thread)] == nil {
		return fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	}
	c.dropTopic(int64(thread))
	return nil
}

// dropTopic takes a topic's messages along, so replies to them find nothing.
func (c *Chat) dropTopic(id int64) {
	delete(c.topics, id)
	for _, m := range c.messages {
		if m.IsTopic && m.Thread == id {
			m.deleted = true
		}
	}
	c.sim.change()
}

// SetStatus changes a user's standing and tells of it: "member" joins, "left" goes
// by itself, "kicked" is thrown out (in a private chat: blocks the bot, "member"
// lifts that), "administrator", "creator" and "restricted" as they say.
func (c *Chat) SetStatus(by, who *User, status string) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	was := c.status(who)
	m := c.members[who.ID]
	if m == nil {
		m = &member{user: who}
		c.members[who.ID] = m
	}
	m.status = status
	c.tellStanding(by, who, was, status)
	if c.group() && present(was) != present(status) {
		note := &message{by: by}
		note.From = by.wire()
		if present(status) {
			note.NewMembers = []*wireUser{who.wire()}
		} else {
			note.LeftMember = who.wire()
		}
		c.put(note)
		c.sim.publish(note, false)
	}
	c.sim.change()
}

// tellStanding tells the bot concerned by my_chat_member, and by chat_member those
// bots that are administrators and asked for it.
func (c *Chat) tellStanding(by, who *User, was, now string) {
	change := struct {
		Chat wireChat        `json:"chat"`
		From *wireUser       `json:"from"`
		Date int64           `json:"date"`
		Old  json.RawMessage `json:"old_chat_member"`
		New  json.RawMessage `json:"new_chat_member"`
	}{c.wire(), by.wire(), c.sim.now(), standing(who, was), standing(who, now)}
	if who.bot != nil {
		c.sim.tell(who, "my_chat_member", change)
	}
	for _, k := range c.sortedMembers() {
		if k.user.bot != nil && k.user != who && c.admin(k.user) {
			c.sim.tell(k.user, "chat_member", change)
		}
	}
}

// Migrate makes a supergroup of a group: members move, the number changes, both
// chats carry a service message, and the old number refuses calls.
func (c *Chat) Migrate() *Chat {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	to := c.sim.addChat(Chat{ID: -1000000000000 - attache.ChatID(c.sim.next()), Kind: supergroup, Title: c.Title}, 0)
	for id, m := range c.members {
		to.members[id] = &member{m.user, m.status}
	}
	owner := &wireUser{ID: 1087968824, IsBot: true, First: "Group", Username: "GroupAnonymousBot"}
	gone, here := &message{}, &message{}
	gone.From, gone.MigrateTo = owner, int64(to.ID)
	here.From, here.MigrateFrom = owner, int64(c.ID)
	c.put(gone)
	to.put(here)
	c.sim.publish(gone, false)
	c.sim.publish(here, false)
	c.movedTo = to
	c.sim.change()
	return to
}
