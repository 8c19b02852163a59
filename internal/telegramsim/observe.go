package telegramsim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"attache"
	"attache/internal/telegramsim/methods"
	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
)

// Post is a message as it looks now: a bot's, or in History anybody's.
type Post struct {
	Bot      string         // username, "" when a person or a chat wrote it
	From     attache.Person // who it is from, as Telegram shows it
	Chat     attache.ChatID
	Thread   attache.ThreadID
	ID       attache.MessageID
	Method   string // that made it, such as sendRichMessage; "" for people
	Service  string // Telegram's field name when it tells of an event, such as new_chat_members
	Text     string // text or caption
	Marks    []attache.Mark
	Rich     string // source of a rich message: Markdown, HTML or the blocks' JSON
	ReplyTo  attache.MessageID
	Quote    string
	Buttons  [][]attache.Button
	File     *File
	Draft    int64 // the draft's number, in Drafts only
	At       time.Time
	Edits    int
	Deleted  bool
	External bool // ReplyTo stands in another chat
}

// Words gives the text a person reads: Text, or the source of a rich message.
func (p Post) Words() string {
	if p.Rich != "" {
		return p.Rich
	}
	return p.Text
}

// Posts gives what bots posted in the chat, oldest first, deleted ones included;
// with threads only what stands in those (0 is General or no topic).
func (c *Chat) Posts(threads ...attache.ThreadID) []Post {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	return c.look(threads, func(m *world.Message) bool { return m.Method != "" && m.Service() == "" })
}

// PostCount gives how many posts bots have made in the chat, forgotten and deleted
// ones included. It costs nothing, so a bench may ask at every change.
func (c *Chat) PostCount() int {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	return c.in.Posted
}

// History gives everything that was said or happened in the chat, by anybody.
func (c *Chat) History(threads ...attache.ThreadID) []Post {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	return c.look(threads, func(*world.Message) bool { return true })
}

func (c *Chat) look(threads []attache.ThreadID, wanted func(*world.Message) bool) []Post {
	var out []Post
	for m := range c.in.Messages() {
		if !wanted(m) {
			continue
		}
		if p := shown(m); len(threads) == 0 || slices.Contains(threads, p.Thread) {
			out = append(out, p)
		}
	}
	return out
}

// Topic is a topic of a forum or of a private chat with topics.
type Topic struct {
	ID     attache.ThreadID
	Name   string
	Closed bool
}

// Topics gives the chat's topics, oldest first, without General.
func (c *Chat) Topics() []Topic {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	out := []Topic{}
	for _, t := range c.in.Topics {
		out = append(out, Topic{attache.ThreadID(t.ID), t.Name, t.Closed})
	}
	slices.SortFunc(out, func(a, b Topic) int { return int(a.ID - b.ID) })
	return out
}

// Drafts gives every draft call that the private chat has seen, oldest first.
func (c *Chat) Drafts() []Post {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	var out []Post
	for _, d := range c.in.Drafts {
		p := shown(d.Words)
		p.Draft = d.ID
		out = append(out, p)
	}
	return out
}

// shown gives a message as a Post. A stray thread id is not the post's topic.
func shown(m *world.Message) Post {
	p := Post{
		From: m.Sender(), Chat: m.In.ID, ID: attache.MessageID(m.ID), Method: m.Method, Service: m.Service(), Text: m.Text + m.Caption,
		Marks: wire.Marks(append(m.Entities[:len(m.Entities):len(m.Entities)], m.CaptionEntities...)), Rich: m.Source,
		Buttons: wire.Keyboard(m.ReplyMarkup), At: time.Unix(m.Date, 0), Edits: m.Edits, Deleted: m.Deleted,
	}
	if m.By != nil && m.By.Robot != nil {
		p.Bot = m.By.Username
	}
	if m.IsTopic || m.ID == 0 {
		p.Thread = attache.ThreadID(m.Thread)
	}
	if m.ReplyTo != nil && m.ReplyTo.TopicCreated == nil {
		p.ReplyTo = attache.MessageID(m.ReplyTo.ID)
	}
	if m.External != nil {
		p.ReplyTo, p.External = attache.MessageID(m.External.MessageID), true
	}
	if m.Quote != nil {
		p.Quote = m.Quote.Text
	}
	if m.File != nil {
		f := File(m.File.File)
		p.File = &f
	}
	return p
}

// Call is one call as it came in, and what became of it.
type Call struct {
	At       time.Time
	Bot      string // username
	Method   string
	Chat     attache.ChatID             // 0 when the call names none by number
	Params   map[string]json.RawMessage // JSON of the proper types
	Files    []string                   // names of the form's file parts
	Done     bool                       // whether the call has ended
	Took     time.Duration              // set when Done
	OK       bool                       // whether it took effect
	Result   json.RawMessage            // set when OK; not for getUpdates
	Error    string                     // description of the refusal
	FaultHit FaultKind                  // the fault that met it, "" for none
}

// Filter picks calls; empty fields pick all.
type Filter struct {
	Bot    *User
	Method string
	Chat   attache.ChatID
}

// Calls gives the calls in the order of their arrival. Without a Method in the
// filter, getUpdates is left out.
func (s *Server) Calls(f Filter) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if f.Method == "" && c.Method == "getUpdates" || f.Method != "" && c.Method != f.Method ||
			f.Bot != nil && c.Bot != f.Bot.Username || f.Chat != 0 && c.Chat != f.Chat {
			continue
		}
		out = append(out, *c)
	}
	return out
}

// begin records a call and finds the fault that meets it.
func (s *Server) begin(req *methods.Request) (*Call, *armed) {
	c := &Call{At: s.options.Now(), Bot: req.Bot.Username, Method: req.Method, Params: req.Params.Values()}
	if chat, err := attache.ParseChat(req.Params.Text("chat_id")); err == nil {
		c.Chat = chat
	}
	for name := range req.Params.Files {
		c.Files = append(c.Files, name)
	}
	slices.Sort(c.Files)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	if keep := s.options.Keep; keep > 0 && len(s.calls) > 2*keep {
		s.calls = append([]*Call(nil), s.calls[len(s.calls)-keep:]...)
	}
	fault := s.meets(req, c.Chat)
	if fault != nil {
		c.FaultHit = fault.Kind
	}
	s.change()
	return c, fault
}

func (s *Server) finish(c *Call, result json.RawMessage, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Done, c.Took, c.OK = true, s.options.Now().Sub(c.At), problem == nil
	if problem != nil {
		c.Error = problem.Error()
	} else if c.Method != "getUpdates" {
		c.Result = result
	}
	s.change()
}

// Violations gives what no correct bot would have sent, in order. A test ends with
// a look at it.
func (s *Server) Violations() []string {
	s.judge.Lock()
	defer s.judge.Unlock()
	return slices.Clone(s.violations)
}

// violate may be called with and without the world's lock, so it has its own.
func (s *Server) violate(format string, args ...any) {
	s.judge.Lock()
	defer s.judge.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// Wait returns once cond is true, looking again after every change of the world
// instead of after a pause. It gives the context's error when that ends first.
// cond may use the server's methods.
func (s *Server) Wait(ctx context.Context, cond func() bool) error {
	for {
		next := s.changed.next()
		if cond() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change tells those who Wait. It needs no lock and may be called under any.
func (s *Server) change() { s.changed.ring() }

// signal wakes all who wait for the next change, and costs next to nothing while
// nobody does.
type signal struct {
	mu sync.Mutex
	ch chan struct{} // nil when nobody waits
}

func (g *signal) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

func (g *signal) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}
