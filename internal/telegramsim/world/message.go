package world

import (
	"fmt"
	"iter"

	"attache/internal/telegramsim/wire"
)

// Message is a message with what only the world knows of it. Its wire form is what bots
// are shown, as it is now.
type Message struct {
	wire.Message
	By      *User  // who wrote it; nil for Telegram itself
	In      *Chat  // set by Put or Show
	Method  string // the Bot API method that made it, "" for people
	Source  string // of a rich message: Markdown, HTML or the blocks' JSON
	File    *Stored
	Edits   int
	Deleted bool
}

// Draft is one draft call that a private chat has seen. It is no message: it has no
// number and nobody can reply to it.
type Draft struct {
	ID, Thread int64
	Words      *Message // what it showed; in no chat's history
	CanStop    bool     // it shows a native stop button
	Over       bool     // stopped, or replaced by a message
}

// Put numbers a message, keeps it and forgets the oldest beyond Rules.Keep: many at
// a time, once twice as many are there, so that a long run pays little for each, and
// into a new array, so that the old one's memory is given back.
func (c *Chat) Put(m *Message) {
	c.lastID++
	m.ID, m.In, m.Chat, m.Date = c.lastID, c, c.Wire(), c.world.Now()
	c.messages[m.ID] = m
	c.order = append(c.order, m.ID)
	if keep := c.world.rules.Keep; keep > 0 && len(c.order) > 2*keep {
		for _, id := range c.order[:len(c.order)-keep] {
			delete(c.messages, id)
		}
		c.order = append([]int64(nil), c.order[len(c.order)-keep:]...)
	}
}

// Find gives a message that is still there, nil for none.
func (c *Chat) Find(id int64) *Message {
	m := c.messages[id]
	if m == nil || m.Deleted {
		return nil
	}
	return m
}

// Messages goes through what is remembered, oldest first, deleted ones included.
func (c *Chat) Messages() iter.Seq[*Message] {
	return func(yield func(*Message) bool) {
		for _, id := range c.order {
			if m := c.messages[id]; m != nil && !yield(m) {
				return
			}
		}
	}
}

// Place sets the thread of a message and, where Telegram does so, the parent that
// it implies: the creation message of a topic stands as the parent of whatever is
// no other reply, and in a supergroup without topics a reply carries a stray
// thread id (decisions § 7.2, traps "Topics and threads").
func (c *Chat) Place(m *Message, thread int64, parent *Message) {
	if parent != nil {
		m.ReplyTo = parent.Shown()
	}
	switch {
	case c.Forum && thread != 0:
		m.Thread, m.IsTopic = thread, true
		if root := c.messages[thread]; parent == nil && root != nil && c.Kind != private {
			m.ReplyTo = root.Shown()
		}
	case !c.Forum && c.Group() && c.Kind != basic && parent != nil:
		m.Thread = parent.ID
		if parent.Thread != 0 {
			m.Thread = parent.Thread
		}
	}
}

// ReplyOutside makes a message a reply to one of another chat. That one's number is shown
// only where its chat is a supergroup or a channel.
func (m *Message) ReplyOutside(in *Chat, id int64) error {
	parent := in.Find(id)
	if parent == nil {
		return fmt.Errorf("chat %d has no message %d to reply to", in.ID, id)
	}
	m.External = &wire.External{Origin: wire.Origin{Type: "user", Date: parent.Date, User: parent.From}}
	if in.Kind != private && in.Kind != basic {
		w := in.Wire()
		m.External.Chat, m.External.MessageID = &w, parent.ID
	}
	if parent.From == nil {
		m.External.Origin = wire.Origin{Type: "channel", Date: parent.Date, Chat: parent.SenderChat, MessageID: parent.ID}
	}
	return nil
}

// Show takes a draft that a bot shows, and forgets the oldest as Put does.
func (c *Chat) Show(d *Draft) {
	d.Words.In, d.Words.Chat, d.Words.Date = c, c.Wire(), c.world.Now()
	c.Drafts = append(c.Drafts, d)
	if keep := c.world.rules.Keep; keep > 0 && len(c.Drafts) > 2*keep {
		c.Drafts = append([]*Draft(nil), c.Drafts[len(c.Drafts)-keep:]...)
	}
}

// Deliver puts a bot's finished post into its chat. A client takes the drafts of a place
// away when the message that they were of comes.
func (c *Chat) Deliver(m *Message) {
	c.Put(m)
	c.lastBot = m.By
	c.Posted++
	for _, d := range c.Drafts {
		if d.Thread == m.Thread {
			d.Over = true
		}
	}
	c.world.Publish(m, false)
	c.Forward(m)
}

// Forward is what Telegram does with a channel's post in its discussion group, and
// nothing where there is none.
func (c *Chat) Forward(post *Message) {
	if c.Linked == nil {
		return
	}
	copied := &Message{Message: post.Message, File: post.File, Source: post.Source}
	copied.From = &wire.User{ID: 777000, First: "Telegram"}
	copied.AutoForward = true
	copied.ForwardOrigin = &wire.Origin{Type: "channel", Date: post.Date, Chat: post.SenderChat, MessageID: post.ID}
	c.Linked.Put(copied)
	c.world.Publish(copied, false)
}
