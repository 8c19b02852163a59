package demo

import (
	"context"
	"slices"
	"sync"

	"attache"
	"attache/cmd/bot/sheets"
	"attache/engage"
	"attache/gateway/ledger"
	"attache/internal/telegramsim"
	"attache/internal/web"
)

// Records are what a turn is told from.
type Records = sheets.Records

// finder finds the turn behind a message of the playground and tells it as the
// page shows it.
type finder struct {
	r Records
	w *client

	mu    sync.Mutex
	turns map[message]int64 // of messages and posts that were met
	over  map[int64]bool    // turns whose messages are all known
}

// message is one message of the world: numbers count within a chat.
type message struct {
	chat attache.ChatID
	id   attache.MessageID
}

func newFinder(r Records, w *client) *finder {
	return &finder{r: r, w: w, turns: map[message]int64{}, over: map[int64]bool{}}
}

// recent is how many of a chat's turns are looked through for a message.
const recent = 40

// of gives the turn of a post, or of a message that is or was part of its input. A
// message that by today's rules is for nobody has a turn without a number, which
// says why.
func (s *finder) of(ctx context.Context, place attache.Place, id attache.MessageID) (web.Turn, bool, error) {
	turn, err := s.find(ctx, message{place.Chat, id})
	if err != nil {
		return web.Turn{}, false, err
	}
	if turn == 0 {
		t, ok := s.unheard(place, id)
		return t, ok, nil
	}
	r, ok, err := ledger.ReadTurn(ctx, s.r.DB, turn)
	if err != nil || !ok {
		return web.Turn{}, false, err
	}
	t, err := s.r.Tell(ctx, r)
	return t, err == nil, err
}

// find gives the number of a message's turn, 0 for none. Newer turns are looked
// through first, and one that is over only once: the page asks for every message that
// it shows.
func (s *finder) find(ctx context.Context, m message) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := s.turns[m]; id != 0 {
		return id, nil
	}
	list, err := ledger.ReadTurns(ctx, s.r.DB, m.chat, recent)
	if err != nil {
		return 0, err
	}
	for _, r := range slices.Backward(list) {
		if s.over[r.ID] {
			continue
		}
		whole, ok, err := ledger.ReadTurn(ctx, s.r.DB, r.ID)
		if err != nil || !ok {
			return 0, err
		}
		s.meet(whole)
	}
	return s.turns[m], nil
}

// meet notes which messages belong to a turn.
func (s *finder) meet(r ledger.Record) {
	for _, m := range r.Input {
		s.turns[message{m.Place.Chat, m.ID}] = r.ID
	}
	for _, p := range r.Posts {
		for _, id := range p.Messages {
			s.turns[message{p.Place.Chat, attache.MessageID(id)}] = r.ID
		}
	}
	s.over[r.ID] = web.Turn{Status: r.Status}.Over()
}

// unheard tells of a message that is for nobody; false when it is for the bot, whose
// turn then only has to come, or a command.
func (s *finder) unheard(place attache.Place, id attache.MessageID) (web.Turn, bool) {
	m, ok := s.w.message(place, id)
	if !ok {
		return web.Turn{}, false
	}
	act, _, why := s.r.Judge(m)
	switch act {
	case engage.Observe:
		return web.Turn{Status: "observed", Why: why}, true
	case engage.Ignore:
		return web.Turn{Status: "ignored", Why: why}, true
	}
	return web.Turn{}, false
}

// message gives a person's message as the gateway would read it, as far as rules ask.
func (w *client) message(place attache.Place, id attache.MessageID) (m attache.Message, ok bool) {
	w.rooms(func(_ string, c *Chat) {
		if c.Room.ID != place.Chat {
			return
		}
		for _, p := range c.Room.History() {
			if p.ID == id && p.Bot == "" && p.Service == "" && !p.Deleted {
				m, ok = attache.Message{Place: place, ID: p.ID, From: p.From, At: p.At, Text: p.Text, Marks: p.Marks,
					Chat: attache.Chat{Kind: kindOf(c.Room), Title: c.Room.Title}}, true
				if p.ReplyTo != 0 {
					m.Reply = &attache.Reply{ID: p.ReplyTo, External: p.External}
				}
			}
		}
		if !ok || m.Reply == nil {
			return
		}
		for _, p := range c.Room.History() {
			if p.ID == m.Reply.ID {
				m.Reply.From = p.From
			}
		}
	})
	return m, ok
}

// kindOf gives a chat's kind as Telegram tells it: a forum is a supergroup.
func kindOf(c *telegramsim.Chat) string {
	if c.Kind == "forum" {
		return "supergroup"
	}
	return c.Kind
}
