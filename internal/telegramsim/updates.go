package telegramsim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache/internal/telegramsim/format"
)

// inbox is what waits for one bot, and how the bot wants to be told.
type inbox struct {
	privacy bool
	queue   []*update
	seen    []*update // delivered ones, for Redeliver; bounded by Options.Keep
	lastID  int64
	allowed []string // nil: Telegram's default kinds
	wake    chan struct{}
	poll    *poll
	hook    webhook
	paced   []int64 // when the bot sent, in milliseconds, for Pace
	names   map[string]json.RawMessage
}

// update is one update in the queue. A stubborn one is delivered once whatever the
// offset says (a redelivery); a broken one is delivered once and then gone, since
// no offset could ever confirm it.
type update struct {
	id        int64
	raw       []byte
	stubborn  bool
	broken    bool
	delivered bool
}

// poll is one getUpdates call that waits.
type poll struct {
	ended chan struct{}
	why   string
}

func newInbox() *inbox {
	return &inbox{privacy: true, lastID: 100000000, wake: make(chan struct{}, 1), names: map[string]json.RawMessage{}}
}

// wants reports whether the bot asked for a kind of update.
func (b *inbox) wants(kind string) bool {
	if len(b.allowed) == 0 {
		return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
	}
	return slices.Contains(b.allowed, kind)
}

// tell queues an update for a bot.
func (s *Server) tell(bot *User, kind string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("telegramsim: %s: %v", kind, err)) // our own structs always marshal
	}
	s.tellRaw(bot, kind, raw)
}

func (s *Server) tellRaw(bot *User, kind string, raw []byte) {
	if !bot.bot.wants(kind) {
		return
	}
	b := bot.bot
	b.lastID++
	text := fmt.Appendf(nil, `{"update_id":%d,"%s":`, b.lastID, kind)
	text = append(append(text, bindFiles(raw, bot)...), '}')
	s.enqueue(bot, &update{id: b.lastID, raw: text})
}

func (s *Server) enqueue(bot *User, u *update) {
	bot.bot.queue = append(bot.bot.queue, u)
	bot.bot.ring()
	s.change()
}

// ring wakes whoever delivers the queue.
func (b *inbox) ring() {
	select {
	case b.wake <- struct{}{}:
	default: // a signal is on its way already
	}
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
		s.tellRaw(k.user, kind, raw)
	}
}

func (c *Chat) sortedMembers() []*member {
	out := make([]*member, 0, len(c.members))
	for _, k := range c.members {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *member) int { return int(a.user.ID - b.user.ID) })
	return out
}

// visible says whether a bot receives a message: never its own or another bot's,
// and in groups under privacy mode only service messages, commands and mentions
// meant for it, replies to it and what was written through it.
func (c *Chat) visible(m *message, bot *User) bool {
	if m.by == bot || m.by != nil && m.by.bot != nil && m.service() == "" {
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

// getUpdates is Telegram's long poll: an offset confirms everything below it, a
// newer poll ends an older one, a webhook forbids it.
func (s *Server) getUpdates(ctx context.Context, req *request) (json.RawMessage, error) {
	s.mu.Lock()
	b := req.bot.bot
	if b.hook.url != "" {
		s.mu.Unlock()
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	b.confirm(req.params.Int("offset"))
	if raw := req.params.Raw("allowed_updates"); raw != nil {
		b.allowed = nil
		if err := json.Unmarshal(raw, &b.allowed); err != nil {
			s.mu.Unlock()
			return nil, badRequest(err.Error())
		}
	}
	b.endPoll("terminated by other getUpdates request; make sure that only one bot instance is running")
	mine := &poll{ended: make(chan struct{})}
	b.poll = mine
	s.change()
	s.mu.Unlock()

	limit := int(req.params.Int("limit"))
	if limit == 0 {
		limit = 100
	}
	timeout := time.NewTimer(time.Duration(req.params.Int("timeout")) * time.Second)
	defer timeout.Stop()
	return s.wait(ctx, req.bot, mine, limit, timeout.C, req.params.Int("timeout") > 0)
}

func (s *Server) wait(ctx context.Context, bot *User, mine *poll, limit int, timeout <-chan time.Time, long bool) (json.RawMessage, error) {
	b := bot.bot
	for {
		s.mu.Lock()
		if b.poll != mine {
			b.ring() // this poll may have swallowed the newer one's signal
			s.mu.Unlock()
			return nil, conflict(mine.why)
		}
		if len(b.queue) > 0 || !long {
			batch := s.take(b, limit)
			b.poll = nil
			s.mu.Unlock()
			return batch, nil
		}
		s.mu.Unlock()
		select {
		case <-b.wake:
		case <-mine.ended:
		case <-timeout:
			long = false
		case <-ctx.Done():
			s.leave(b, mine)
			return nil, context.Canceled
		case <-s.closed:
			s.leave(b, mine)
			return nil, context.Canceled
		}
	}
}

func (s *Server) leave(b *inbox, mine *poll) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.poll == mine {
		b.poll = nil
	}
}

func conflict(text string) error { return &refusal{code: 409, text: "Conflict: " + text} }

func (b *inbox) endPoll(why string) {
	if b.poll == nil {
		return
	}
	b.poll.why = why
	close(b.poll.ended)
	b.poll = nil
}

// confirm forgets what an offset confirms. A negative offset keeps only the last
// ones, as Telegram does.
func (b *inbox) confirm(offset int64) {
	if offset < 0 {
		b.queue = b.queue[max(0, len(b.queue)+int(offset)):]
		return
	}
	b.queue = slices.DeleteFunc(b.queue, func(u *update) bool {
		return u.broken && u.delivered || u.id < offset && (!u.stubborn || u.delivered)
	})
}

// take gives the oldest updates as one JSON array; they stay until confirmed.
func (s *Server) take(b *inbox, limit int) json.RawMessage {
	out := []byte{'['}
	for i, u := range b.queue[:min(limit, len(b.queue))] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, u.raw...)
		b.remember(u, s.options.Keep)
	}
	return append(out, ']')
}

func (b *inbox) remember(u *update, keep int) {
	if u.delivered {
		return
	}
	u.delivered = true
	b.seen = append(b.seen, u)
	if keep > 0 && len(b.seen) > 2*keep {
		b.seen = append([]*update(nil), b.seen[len(b.seen)-keep:]...)
	}
}
