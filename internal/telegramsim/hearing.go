package telegramsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache/internal/telegramsim/format"
	"attache/internal/telegramsim/updates"
)

// robot is what a user has more when it is a bot.
type robot struct {
	privacy  bool
	queue    *updates.Queue
	paced    []int64 // when the bot sent, in milliseconds, for Options.Pace
	commands map[string]json.RawMessage
}

func (s *Server) newRobot() *robot {
	return &robot{privacy: true, commands: map[string]json.RawMessage{}, queue: updates.NewQueue(updates.Options{
		Keep: s.options.Keep, Retry: s.options.WebhookRetry, Now: s.options.Now, Changed: s.change,
		Odd: func(what string) { s.violate("%s", what) },
	})}
}

// tell queues an update for a bot. It is made JSON at once: what is said in an update
// is how the world was then, whenever the bot comes to fetch it.
func (s *Server) tell(bot *User, kind string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("telegramsim: %s: %v", kind, err)) // our own structs always marshal
	}
	bot.bot.queue.Tell(kind, bindFiles(raw, bot))
}

// publish tells every bot that may see a message of it.
func (s *Server) publish(m *message, edited bool) {
	kind := "message"
	if m.chat.Kind == channel {
		kind = "channel_post"
	}
	if edited {
		kind = "edited_" + kind
	}
	var raw []byte
	for _, k := range m.chat.sortedMembers() {
		if k.user.bot == nil || !present(k.status) || !m.chat.visible(m, k.user) {
			continue
		}
		if raw == nil {
			raw, _ = json.Marshal(m.wireMessage) // a plain struct always marshals
		}
		k.user.bot.queue.Tell(kind, bindFiles(raw, k.user))
	}
}

// sortedMembers gives the members in the order of their numbers, so that two runs of
// a test tell their bots in the same order.
func (c *Chat) sortedMembers() []*member {
	out := make([]*member, 0, len(c.members))
	for _, k := range c.members {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *member) int { return int(a.user.ID - b.user.ID) })
	return out
}

// visible says whether a bot receives a message: never its own, nor another bot's
// unless Options.BotsHear, and in groups under privacy mode only service messages,
// commands and mentions meant for it, replies to it and what was written through it.
// Every message of a topic has the topic's creation as its parent (place); in a topic
// that the bot made, that is no reply to the bot.
func (c *Chat) visible(m *message, bot *User) bool {
	if m.by == bot || m.by != nil && m.by.bot != nil && m.service() == "" && !c.sim.options.BotsHear {
		return false
	}
	if !c.group() || m.service() != "" || !bot.bot.privacy || c.admin(bot) {
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
			var u wireUser
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

// allowed gives the call's allowed_updates, nil when it names none.
func allowed(req *request) (*[]string, error) {
	if !req.params.Has("allowed_updates") {
		return nil, nil
	}
	kinds := []string{}
	if err := req.params.Decode("allowed_updates", &kinds); err != nil {
		return nil, badRequest(err.Error())
	}
	return &kinds, nil
}

// getUpdates waits, so it is the one method that runs without the world's lock.
func (s *Server) getUpdates(ctx context.Context, req *request) (json.RawMessage, error) {
	kinds, err := allowed(req)
	if err != nil {
		return nil, err
	}
	batch, err := req.bot.bot.queue.Poll(ctx, updates.Wish{
		Offset: req.params.Int("offset"), Limit: int(req.params.Int("limit")),
		Timeout: time.Duration(req.params.Int("timeout")) * time.Second, Allowed: kinds,
	})
	var c updates.Conflict
	if errors.As(err, &c) {
		return nil, conflict(string(c))
	}
	return batch, err
}

func conflict(text string) error { return &refusal{code: 409, text: "Conflict: " + text} }

// setWebhook starts deliveries; an empty URL ends them.
func (s *Server) setWebhook(req *request) (any, error) {
	q, drop := req.bot.bot.queue, req.params.Bool("drop_pending_updates")
	url := req.params.Text("url")
	if url == "" {
		q.Unhook(drop)
		return true, nil
	}
	kinds, err := allowed(req)
	if err != nil {
		return nil, err
	}
	q.SetHook(url, req.params.Text("secret_token"), kinds, drop)
	return true, nil
}

func (s *Server) deleteWebhook(req *request) (any, error) {
	req.bot.bot.queue.Unhook(req.params.Bool("drop_pending_updates"))
	return true, nil
}

func (s *Server) getWebhookInfo(req *request) (any, error) { return req.bot.bot.queue.Info(), nil }

// Inject queues raw JSON as an update for a bot, whatever it is, and gives its
// number: hostile, unknown or truncated. An object without update_id gets the next
// one; anything else is sent as it stands, and what is no JSON at all is delivered
// once.
func (s *Server) Inject(bot *User, raw string) int64 { return bot.bot.queue.Inject(raw) }

// Redeliver queues an update again that was delivered before, with its old number,
// as Telegram does when its own record of a confirmation is lost.
func (s *Server) Redeliver(bot *User, id int64) error { return bot.bot.queue.Redeliver(id) }

// Pending gives the number of updates that wait for a bot.
func (s *Server) Pending(bot *User) int { return bot.bot.queue.Pending() }

// pace refuses a send that is faster than Telegram allows, when Options.Pace is on:
// one a second and chat, 20 a minute and group, 30 a second and bot. A send that is
// refused here does not count: who waits as long as it was told is let through.
func (s *Server) pace(bot *User, c *Chat) error {
	if !s.options.Pace {
		return nil
	}
	now := s.options.Now().UnixMilli()
	c.sent, bot.bot.paced = recent(c.sent, now-60000), recent(bot.bot.paced, now-1000)
	switch {
	case c.group() && len(c.sent) >= 20:
		return flood(int((c.sent[len(c.sent)-20]+60000-now)/1000) + 1)
	case len(recent(c.sent, now-1000)) >= 1, len(bot.bot.paced) >= 30:
		return flood(1)
	}
	c.sent, bot.bot.paced = append(c.sent, now), append(bot.bot.paced, now)
	return nil
}

// recent gives the times after a moment.
func recent(times []int64, after int64) []int64 {
	for len(times) > 0 && times[0] <= after {
		times = times[1:]
	}
	return times
}
