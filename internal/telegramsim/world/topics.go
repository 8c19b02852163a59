package world

import "attache/internal/telegramsim/wire"

// Topic has the number of its creation message. General is none of these.
type Topic struct {
	ID     int64
	Name   string
	Color  int64
	Closed bool
}

// OpenTopic is done by people and bots alike, method being the bot's call and "" for
// people. The creation message stands in the topic that it opens and gives it its number.
func (c *Chat) OpenTopic(by *User, name string, color int64, method string) *Topic {
	m := &Message{By: by, Method: method}
	m.From = by.Wire()
	m.TopicCreated = &wire.Topic{Name: name, Color: color}
	m.Thread, m.IsTopic = c.lastID+1, true
	c.Put(m)
	t := &Topic{ID: m.ID, Name: name, Color: color}
	c.Topics[t.ID] = t
	c.world.Publish(m, false)
	return t
}

// NameTopic gives a topic another name, which the service message inside it tells.
func (c *Chat) NameTopic(by *User, t *Topic, name string) {
	t.Name = name
	m := &Message{By: by}
	m.TopicEdited = &wire.Topic{Name: name}
	c.tellTopic(m, t)
}

// ShutTopic closes a topic or opens it again, and leaves the service message that tells
// of it inside the topic.
func (c *Chat) ShutTopic(by *User, t *Topic, closed bool) {
	t.Closed = closed
	m := &Message{By: by}
	if closed {
		m.TopicClosed = &struct{}{}
	} else {
		m.TopicReopened = &struct{}{}
	}
	c.tellTopic(m, t)
}

// tellTopic puts a service message into the topic that it tells of.
func (c *Chat) tellTopic(m *Message, t *Topic) {
	m.From = m.By.Wire()
	c.Place(m, t.ID, nil)
	c.Put(m)
	c.world.Publish(m, false)
}

// DropTopic takes a topic's messages along, so replies to them find nothing. Telegram
// tells bots nothing of it.
func (c *Chat) DropTopic(id int64) {
	delete(c.Topics, id)
	for _, m := range c.messages {
		if m.IsTopic && m.Thread == id {
			m.Deleted = true
		}
	}
}
