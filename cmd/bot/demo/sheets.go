package demo

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"attache"
	"attache/engage"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/conversation"
	"attache/internal/prompt"
	"attache/internal/store"
	"attache/internal/telegramsim"
	"attache/internal/usage"
	"attache/internal/web"
)

// Records are where the turn behind a message is found and told from: what the
// packages of the program wrote down of it, and the rules as they are now.
type Records struct {
	DB    *store.DB
	Talks *conversation.Store
	// Judge asks the rules what is done with a message, for which role and why, and
	// does nothing of what it says. A command counts as a message to answer.
	Judge func(attache.Message) (engage.Act, attache.RoleID, string)
}

// sheets finds the turn behind a message of the playground and tells it as the
// page shows it.
type sheets struct {
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

func newSheets(r Records, w *client) *sheets {
	return &sheets{r: r, w: w, turns: map[message]int64{}, over: map[int64]bool{}}
}

// recent is how many of a chat's turns are looked through for a message.
const recent = 40

// of gives the turn of a post, or of a message that is or was part of its input. A
// message that by today's rules is for nobody has a turn without a number, which
// says why.
func (s *sheets) of(ctx context.Context, place attache.Place, id attache.MessageID) (web.Turn, bool, error) {
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
	t, err := s.tell(ctx, r)
	return t, err == nil, err
}

// find gives the number of a message's turn, 0 for none. Newer turns are looked
// through first, and one that is over only once: the page asks for every message that
// it shows.
func (s *sheets) find(ctx context.Context, m message) (int64, error) {
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
func (s *sheets) meet(r ledger.Record) {
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

// tell gathers what the packages have written down of a turn.
func (s *sheets) tell(ctx context.Context, r ledger.Record) (web.Turn, error) {
	t := web.Turn{ID: r.ID, Status: r.Status, Why: r.Why, At: r.Opened}
	if !r.Ended.IsZero() {
		t.Took = r.Ended.Sub(r.Opened)
	}
	if n := len(r.Input); n > 0 {
		t.Role, t.Engaged = s.heard(r.Input[n-1])
	}
	for _, p := range r.Posts {
		t.Posts = append(t.Posts, web.Post{State: p.State, Text: p.Text, Why: p.Why})
	}
	calls, err := usage.OfTurn(ctx, s.r.DB.Pool(), r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range calls {
		t.Calls, t.Role = append(t.Calls, shownCall(c)), c.Role
	}
	carried, err := mind.Carried(ctx, s.r.DB, r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range carried[r.ID] {
		t.Links = append(t.Links, web.Link{Context: string(c.Context), Entity: string(c.Entity), Link: string(c.Link),
			Status: c.Status, Chars: c.Chars, Why: c.Why, Knob: c.Knob})
	}
	tools, err := mind.Calls(ctx, s.r.DB, r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range tools {
		t.Tools = append(t.Tools, shownTool(c))
	}
	err = s.told(ctx, &t)
	return t, err
}

// told adds what a turn's model was told, for a turn that has begun.
func (s *sheets) told(ctx context.Context, t *web.Turn) error {
	x, ok, err := s.r.Talks.Of(ctx, t.ID)
	if err != nil || !ok {
		return err
	}
	t.Epoch = x.Epoch.ID
	r, err := mind.Told(ctx, s.r.DB, s.r.Talks, x)
	t.Prompt = labelled(r)
	return err
}

// labelled gives a turn's messages, each with the name of the part that it is. They
// are assembled as the turn's own were. Assemble leaves out what is empty, and so do
// the names; should the two ever disagree in number, a message is only called by its
// role, which is less and not wrong.
func labelled(r prompt.Request) []web.Message {
	messages, cut := prompt.Assemble(r)
	var names []string
	name := func(what string, there bool) {
		if there {
			names = append(names, what)
		}
	}
	name("instructions", r.Epoch.Text != "")
	name("session", len(r.Session) > 0)
	for _, p := range r.History[cut:] {
		name("clock of then", len(p.Snapshot) > 0)
		name("earlier input", len(p.Input) > 0)
		name("its answer", p.Answer != "")
	}
	name("clock", len(r.Snapshot) > 0)
	name("input", len(r.Input) > 0)
	name("tail", len(r.Tail) > 0)
	out := make([]web.Message, len(messages))
	for i, m := range messages {
		out[i] = web.Message{Role: m.Role, What: m.Role, Text: m.Text}
		if len(names) == len(messages) {
			out[i].What = names[i]
		}
	}
	return out
}

// shownTool tells a tool's call by what its result says of it.
func shownTool(c mind.CallRecord) web.Tool {
	var said struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
	}
	t := web.Tool{Name: c.Tool, Args: c.Args, Result: c.Result, Took: c.Took, Status: "done"}
	switch err := json.Unmarshal([]byte(c.Result), &said); {
	case c.State == "started":
		t.Status = "waiting"
	case err == nil && said.Status != "":
		t.Status = said.Status
	case err == nil && !said.OK:
		t.Status = "refused"
	}
	return t
}

func shownCall(c usage.Call) web.Call {
	out := web.Call{Model: c.Model, Status: "ok", Why: c.Why, Took: c.Took, Cost: c.Cost}
	if c.Why != "" {
		out.Status = "failed"
		if c.Status != 0 {
			out.Status = strconv.Itoa(c.Status)
		}
	}
	if c.Tokens != nil {
		out.In, out.Cached, out.Out, out.Reported = c.Tokens.In, c.Tokens.Cached, c.Tokens.Out, true
	}
	return out
}

// heard says which role a message is for and why the bot takes it for its own, by
// the rules as they are now.
func (s *sheets) heard(m attache.Message) (attache.RoleID, string) {
	_, role, why := s.r.Judge(m)
	return role, why
}

// unheard tells of a message that is for nobody; false when it is for the bot, whose
// turn then only has to come, or a command.
func (s *sheets) unheard(place attache.Place, id attache.MessageID) (web.Turn, bool) {
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
