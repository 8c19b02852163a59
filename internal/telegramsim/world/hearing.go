package world

import (
	"encoding/json"
	"fmt"
	"strings"

	"attache/internal/telegramsim/format"
	"attache/internal/telegramsim/wire"
)

// Tell queues an update for a bot. It is made JSON at once: what is said in an update
// is how the world was then, whenever the bot comes to fetch it.
func (w *World) Tell(bot *User, kind string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("telegramsim: %s: %v", kind, err)) // our own structs always marshal
	}
	bot.Robot.Queue.Tell(kind, BindFiles(raw, bot))
}

// Press tells the post's own bot, and no other, that a button was pressed, with the post
// as it looks now. It gives the number of the query that the bot is to answer.
func (w *World) Press(by *User, m *Message, data string) string {
	id := fmt.Sprint(4000000000000000 + w.Number())
	w.queries[id] = m.By
	w.Tell(m.By, "callback_query", struct {
		ID       string        `json:"id"`
		From     *wire.User    `json:"from"`
		Message  *wire.Message `json:"message"`
		Instance string        `json:"chat_instance"`
		Data     string        `json:"data"`
	}{id, by.Wire(), &m.Message, fmt.Sprint(m.In.ID), data})
	return id
}

// Publish tells every bot that may see a message of it.
func (w *World) Publish(m *Message, edited bool) {
	kind := "message"
	if m.In.Kind == channel {
		kind = "channel_post"
	}
	if edited {
		kind = "edited_" + kind
	}
	var raw []byte
	for _, k := range m.In.Members() {
		if k.User.Robot == nil || !Present(k.Status) || !m.In.visible(m, k.User) {
			continue
		}
		if raw == nil {
			raw, _ = json.Marshal(m.Message) // a plain struct always marshals
		}
		k.User.Robot.Queue.Tell(kind, BindFiles(raw, k.User))
	}
}

// visible says whether a bot receives a message: never its own, nor another bot's
// unless Rules.BotsHear, and in groups under privacy mode only service messages,
// commands and mentions meant for it, replies to it and what was written through it.
// Every message of a topic has the topic's creation as its parent (Place); in a topic
// that the bot made, that is no reply to the bot.
func (c *Chat) visible(m *Message, bot *User) bool {
	if m.By == bot || m.By != nil && m.By.Robot != nil && m.Service() == "" && !c.world.rules.BotsHear {
		return false
	}
	if !c.Group() || m.Service() != "" || !bot.Robot.Privacy || c.Admin(bot) {
		return true
	}
	if m.ViaBot != nil && m.ViaBot.ID == bot.ID {
		return true
	}
	if m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == bot.ID && m.ReplyTo.TopicCreated == nil {
		return true
	}
	return c.addressed(m.Text, m.Entities, bot) || c.addressed(m.Caption, m.CaptionEntities, bot)
}

// addressed finds a mention of the bot or a command for it. A command without a
// name is for the bot that spoke last.
func (c *Chat) addressed(text string, entities []format.Entity, bot *User) bool {
	for _, e := range entities {
		said := format.Slice(text, e.Offset, e.Length)
		switch e.Type {
		case "mention":
			if strings.EqualFold(said, "@"+bot.Username) {
				return true
			}
		case "text_mention":
			var u wire.User
			if json.Unmarshal(e.User, &u) == nil && u.ID == bot.ID {
				return true
			}
		case "bot_command":
			_, name, named := strings.Cut(said, "@")
			if named && strings.EqualFold(name, bot.Username) || !named && (c.lastBot == nil || c.lastBot == bot) {
				return true
			}
		}
	}
	return false
}

// Pace gives the seconds that a bot has to wait before it may send here, 0 for none and
// when Rules.Pace is off: one a second and chat, 20 a minute and group, 30 a second and
// bot. A send that has to wait does not count: who waits as long as it was told is let
// through.
func (c *Chat) Pace(bot *User) (wait int) {
	if !c.world.rules.Pace {
		return 0
	}
	now, robot := c.world.rules.Now().UnixMilli(), bot.Robot
	c.sent, robot.paced = recent(c.sent, now-60000), recent(robot.paced, now-1000)
	switch {
	case c.Group() && len(c.sent) >= 20:
		return int((c.sent[len(c.sent)-20]+60000-now)/1000) + 1
	case len(recent(c.sent, now-1000)) >= 1, len(robot.paced) >= 30:
		return 1
	}
	c.sent, robot.paced = append(c.sent, now), append(robot.paced, now)
	return 0
}

// recent gives the times after a moment.
func recent(times []int64, after int64) []int64 {
	for len(times) > 0 && times[0] <= after {
		times = times[1:]
	}
	return times
}
