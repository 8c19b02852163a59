package telegramsim

import (
	"fmt"
	"unicode/utf16"

	"attache"
	"attache/internal/telegramsim/format"
	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
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
	c.in.Put(m)
	if !l.Silently {
		c.sim.world.Publish(m, false)
	}
	c.in.Forward(m)
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
func (c *Chat) compose(l Line) (*world.Message, error) {
	m := &world.Message{}
	if l.From != nil {
		m.By = l.From.in
	}
	if err := c.speaker(m, l); err != nil {
		return nil, err
	}
	if err := c.words(m, l); err != nil {
		return nil, err
	}
	thread := int64(l.Thread)
	if t := c.in.Topics[thread]; thread != 0 && (t == nil || !c.in.Forum) {
		return nil, fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	} else if t != nil && t.Closed && l.From != nil && !c.in.Admin(l.From.in) {
		return nil, fmt.Errorf("topic %d of chat %d is closed", thread, c.ID)
	}
	var parent *world.Message
	if l.ReplyIn != nil && l.ReplyIn != c {
		if err := m.ReplyOutside(l.ReplyIn.in, int64(l.ReplyTo)); err != nil {
			return nil, err
		}
	} else if l.ReplyTo != 0 {
		if parent = c.in.Find(int64(l.ReplyTo)); parent == nil {
			return nil, fmt.Errorf("chat %d has no message %d to reply to", c.ID, l.ReplyTo)
		}
		if thread == 0 && parent.IsTopic {
			thread = parent.Thread
		}
	}
	c.in.Place(m, thread, parent)
	if l.Quote != "" {
		m.Quote = &wire.Quote{Text: l.Quote, Manual: true}
	}
	if l.Forward != nil {
		m.ForwardOrigin = &wire.Origin{Type: "user", Date: c.sim.world.Now(), User: l.Forward.in.Wire()}
	}
	if l.ViaBot != nil {
		m.ViaBot = l.ViaBot.in.Wire()
	}
	return m, nil
}

// speaker sets who the message is from: a member, or a chat that speaks as itself
// with the stand-in user that Telegram puts beside it.
func (c *Chat) speaker(m *world.Message, l Line) error {
	switch {
	case c.in.Channel():
		w := c.in.Wire()
		m.SenderChat = &w
		return nil
	case l.As == c:
		w := c.in.Wire()
		m.SenderChat, m.From = &w, &wire.User{ID: 1087968824, IsBot: true, First: "Group", Username: "GroupAnonymousBot"}
		m.By = nil
		return nil
	case l.As != nil:
		w := l.As.in.Wire()
		m.SenderChat, m.From = &w, &wire.User{ID: 136817688, IsBot: true, First: "Channel", Username: "Channel_Bot"}
		m.By = nil
		return nil
	case l.From == nil:
		return fmt.Errorf("a line needs From or As")
	case !world.Present(c.in.Status(l.From.in)):
		return fmt.Errorf("%s is not in chat %d (%s)", l.From.Name, c.ID, c.in.Status(l.From.in))
	}
	m.From = l.From.in.Wire()
	return nil
}

// words sets text or caption. Given marks take the place of found ones, so that a
// test can put a name into code.
func (c *Chat) words(m *world.Message, l Line) error {
	limit, entities := 4096, c.sim.world.Marked(l.Text, l.Marks)
	m.Album = l.Album
	if l.File != nil {
		limit = 1024
		m.Caption, m.CaptionEntities = l.Text, entities
		m.Attach(c.sim.world.Store(world.File(*l.File)))
	} else {
		m.Text, m.Entities = l.Text, entities
	}
	if n := format.Units(l.Text); n > limit || n == 0 && l.File == nil {
		return fmt.Errorf("a text of %d UTF-16 units cannot be sent; 1 to %d can", n, limit)
	}
	return nil
}

// Edit replaces the words of a person's own message and tells of the edit. Only
// Text and Marks of the line count.
func (c *Chat) Edit(id attache.MessageID, l Line) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.in.Find(int64(id))
	if m == nil || m.Method != "" {
		return fmt.Errorf("chat %d has no message %d that a person wrote", c.ID, id)
	}
	entities := c.sim.world.Marked(l.Text, l.Marks)
	if m.File != nil {
		m.Caption, m.CaptionEntities = l.Text, entities
	} else {
		m.Text, m.Entities = l.Text, entities
	}
	m.EditDate = c.sim.world.Now()
	m.Edits++
	c.sim.world.Publish(m, true)
	c.sim.change()
	return nil
}

// Remove deletes a message of anybody's. Telegram tells bots nothing of it.
func (c *Chat) Remove(id attache.MessageID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.in.Find(int64(id))
	if m == nil {
		return fmt.Errorf("chat %d has no message %d", c.ID, id)
	}
	m.Deleted = true
	c.sim.change()
	return nil
}

// Press presses the button of a post whose label or data is given, and returns the
// number of the callback query, which ExpireQuery takes.
func (c *Chat) Press(by *User, id attache.MessageID, button string) (string, error) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	m := c.in.Find(int64(id))
	if m == nil || m.By == nil || m.By.Robot == nil {
		return "", fmt.Errorf("chat %d has no bot's post %d", c.ID, id)
	}
	for _, row := range wire.Keyboard(m.ReplyMarkup) {
		for _, b := range row {
			if b.Data != "" && (b.Text == button || b.Data == button) {
				return c.sim.world.Press(by.in, m, b.Data), nil
			}
		}
	}
	return "", fmt.Errorf("post %d of chat %d has no button %q", id, c.ID, button)
}

// ExpireQuery makes a callback query too old to be answered.
func (s *Server) ExpireQuery(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.EndQuery(id)
}

// StopDraft presses the native stop button below the newest draft that shows one,
// in the given topic of a private chat.
func (c *Chat) StopDraft(thread attache.ThreadID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	for i := len(c.in.Drafts) - 1; i >= 0; i-- {
		d := c.in.Drafts[i]
		if d.Thread != int64(thread) || d.Over || !d.CanStop {
			continue
		}
		d.Over = true
		c.sim.world.Tell(c.in.Bot, "stopped_message_generation", struct {
			Chat   wire.Chat `json:"chat"`
			Thread int64     `json:"message_thread_id,omitempty"`
			Draft  int64     `json:"draft_id"`
		}{c.in.Wire(), d.Thread, d.ID})
		return nil
	}
	return fmt.Errorf("chat %d shows no draft with a stop button in topic %d", c.ID, thread)
}

// CreateTopic opens a topic, as a person does, and gives its number.
func (c *Chat) CreateTopic(by *User, name string) attache.ThreadID {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	t := c.in.OpenTopic(by.in, name, 7322096, "")
	c.sim.change()
	return attache.ThreadID(t.ID)
}

// CloseTopic closes a topic or opens it again; members cannot write in a closed one.
func (c *Chat) CloseTopic(by *User, thread attache.ThreadID, closed bool) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	t := c.in.Topics[int64(thread)]
	if t == nil {
		return fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	}
	c.in.ShutTopic(by.in, t, closed)
	c.sim.change()
	return nil
}

// DeleteTopic deletes a topic with all its messages. Telegram tells bots nothing.
func (c *Chat) DeleteTopic(thread attache.ThreadID) error {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	if c.in.Topics[int64(thread)] == nil {
		return fmt.Errorf("chat %d has no topic %d", c.ID, thread)
	}
	c.in.DropTopic(int64(thread))
	c.sim.change()
	return nil
}

// SetStatus changes a user's standing and tells of it: "member" joins, "left" goes
// by itself, "kicked" is thrown out (in a private chat: blocks the bot, "member"
// lifts that), "administrator", "creator" and "restricted" as they say.
func (c *Chat) SetStatus(by, who *User, status string) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	was := c.in.Stand(by.in, who.in, status)
	if c.in.Group() && world.Present(was) != world.Present(status) {
		note := &world.Message{By: by.in}
		note.From = by.in.Wire()
		if world.Present(status) {
			note.NewMembers = []*wire.User{who.in.Wire()}
		} else {
			note.LeftMember = who.in.Wire()
		}
		c.in.Put(note)
		c.sim.world.Publish(note, false)
	}
	c.sim.change()
}

// Migrate makes a supergroup of a group: members move, the number changes, both
// chats carry a service message, and the old number refuses calls.
func (c *Chat) Migrate() *Chat {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	to := c.in.Migrate()
	c.sim.change()
	return c.sim.handle(to)
}
