package playground_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attache"
	"attache/internal/web"
	"attache/internal/web/playground"
)

// toy is a Telegram made of plain values, so that a test can show the page anything,
// also what no Telegram would.
type toy struct {
	mu    sync.Mutex
	bell  chan struct{}
	chats []playground.Chat
	acts  []playground.Action
	turns map[attache.MessageID]web.Turn
	bad   []attache.Problem
}

func (w *toy) Look() []playground.Chat {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Clone(w.chats)
	for i := range out {
		out[i].Posts = slices.Clone(out[i].Posts)
	}
	return out
}

// Wait takes the bell before it asks, as telegramsim does.
func (w *toy) Wait(ctx context.Context, cond func() bool) error {
	for {
		w.mu.Lock()
		bell := w.bell
		w.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-bell:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change does something to the world and tells of it.
func (w *toy) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.bell)
	w.bell = make(chan struct{})
}

func (w *toy) chat(key string) *playground.Chat {
	for i := range w.chats {
		if w.chats[i].Key == key {
			return &w.chats[i]
		}
	}
	panic("the toy has no chat " + key)
}

// post adds a message and gives its number.
func (w *toy) post(chat string, p playground.Post) (id attache.MessageID) {
	w.change(func() {
		c := w.chat(chat)
		p.ID = attache.MessageID(len(c.Posts) + 1)
		if p.At.IsZero() {
			p.At = time.Now()
		}
		id = p.ID
		c.Posts = append(c.Posts, p)
	})
	return id
}

func (w *toy) Act(a playground.Action) error {
	if a.Text == "refuse me" {
		return errors.New("the toy was told to <b>refuse</b>")
	}
	w.change(func() { w.acts = append(w.acts, a) })
	switch a.Do {
	case playground.Say:
		w.post(a.Chat, playground.Post{Thread: a.Thread, From: attache.Person{ID: a.Person.ID, Name: a.Person.Name}, Text: a.Text,
			ReplyTo: a.ReplyTo, Quote: a.Quote, File: a.File})
	case playground.Edit:
		w.change(func() {
			for i, p := range w.chat(a.Chat).Posts {
				if p.ID == a.Message {
					w.chat(a.Chat).Posts[i].Text, w.chat(a.Chat).Posts[i].Edits = a.Text, p.Edits+1
				}
			}
		})
	case playground.Stop:
		w.change(func() { w.chat(a.Chat).Signs = nil })
	}
	return nil
}

// done gives the deeds so far.
func (w *toy) done() []playground.Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acts)
}

func (w *toy) turn(_ context.Context, _ attache.Place, id attache.MessageID) (web.Turn, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.turns[id]
	return t, ok, nil
}

func (w *toy) problems() []attache.Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bad)
}

func ann() attache.Person  { return attache.Person{ID: "tg:user:101", Name: "Ann"} }
func bo() attache.Person   { return attache.Person{ID: "tg:user:102", Name: "Bo"} }
func nova() attache.Person { return attache.Person{ID: "tg:user:900", Name: "Nova", IsBot: true} }

func people() []playground.Person {
	return []playground.Person{{Key: "ann", ID: "tg:user:101", Name: "Ann", Note: "owner"}, {Key: "bo", ID: "tg:user:102", Name: "Bo"},
		{Key: "cleo", ID: "tg:user:103", Name: "Cleo"}}
}

func newToy() *toy {
	w := &toy{bell: make(chan struct{}), turns: map[attache.MessageID]web.Turn{}}
	for _, who := range people() {
		w.chats = append(w.chats, playground.Chat{Key: "nova-" + who.Key, ID: 101, Bot: "nova", Title: "Nova", Kind: "private", People: []string{who.Key},
			About: "your private chat with Nova", Try: []string{"hello", "what can you do?"}})
	}
	w.chats = append(w.chats,
		playground.Chat{Key: "family", ID: -1001, Bot: "nova", Title: "Family", Kind: "group", About: "a group; every message is for Nova",
			Try: []string{"what is on the shopping list?"}},
		playground.Chat{Key: "desk", ID: -1002, Bot: "nova", Title: "Desk", Kind: "forum", About: "a forum: each topic is a conversation of its own",
			Topics: []playground.Topic{{ID: 2, Name: "Billing"}, {ID: 3, Name: "Repairs"}}})
	return w
}

// serve puts the page on a loopback port.
func serve(t *testing.T, w *toy) (*playground.Playground, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p, err := playground.New(ctx, playground.Options{World: w, People: people(), Turn: w.turn, Problems: w.problems,
		Brain: "/home/ann/brain-example", Model: "the rehearsal model", Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		cancel()
		s.Close()
	})
	return p, s.URL
}

// scene fills the toy with a conversation that shows what the page can do.
func scene(w *toy) {
	day := time.Now()
	at := func(minute int) time.Time { return day.Add(time.Duration(minute-30) * time.Minute) }
	w.post("nova-ann", playground.Post{From: ann(), Text: "Morning! Anything open from yesterday?", At: at(0)})
	w.post("nova-ann", playground.Post{From: nova(), Bot: true, Text: "One thing: INV-2041 is still unpaid.", At: at(0)})
	w.post("family", playground.Post{From: bo(), Text: "milk, eggs and the good bread", At: at(3)})
	w.post("family", playground.Post{From: nova(), Bot: true, Text: "Added. The list has 9 things now.", At: at(3)})
	w.post("desk", playground.Post{From: ann(), Service: "forum_topic_created", At: at(-20)})
	w.post("desk", playground.Post{Thread: 2, From: ann(), Service: "forum_topic_created", At: at(-20)})
	w.post("desk", playground.Post{Thread: 3, From: bo(), Text: "The tandem of Mrs. de Wit is ready", At: at(1)})
	asked := w.post("desk", playground.Post{Thread: 2, From: bo(), Text: "@nova_bot which invoices are overdue?", Marks: []attache.Mark{{Kind: "mention", Offset: 0, Length: 9}}, At: at(5)})
	nine := w.post("desk", playground.Post{Thread: 2, From: nova(), Bot: true, ReplyTo: asked, At: at(5),
		Rich: "Two are past their date:\n\n| invoice | client | due | amount |\n| --- | --- | --- | ---: |\n| INV-2041 | Acme | 14 days ago | 1 240.00 |\n| INV-2043 | Globex | 3 days ago | 310.50 |\n\nShall I **remind** them? Acme answered the last reminder with a ||promise||."})
	w.change(func() {
		c := w.chat("desk")
		c.Posts[nine-1].Buttons = [][]attache.Button{{{Text: "Remind Acme", Data: "remind:2041"}, {Text: "Remind both", Data: "remind:all"}}, {{Text: "Open the ledger", URL: "https://example.com/ledger"}}}
	})
	ten := w.post("desk", playground.Post{Thread: 2, From: ann(), ReplyTo: nine, Quote: "INV-2041", Text: "What did they promise?", At: at(7)})
	eleven := w.post("desk", playground.Post{Thread: 2, From: nova(), Bot: true, ReplyTo: ten, At: at(7),
		Text:  "Payment by the 28th, in the mail of 12 November:\n\nWe will transfer it with the next run.\n\nThe run is SELECT max(due) FROM payments.",
		Marks: []attache.Mark{{Kind: "bold", Offset: 0, Length: 19}, {Kind: "blockquote", Offset: 50, Length: 38}, {Kind: "code", Offset: 101, Length: 29}}})
	last := w.post("desk", playground.Post{Thread: 2, From: ann(), Text: "Good, then remind both and put me on copy.", At: at(9)})
	turn := web.Turn{ID: 42, Status: "answered", Took: 1340 * time.Millisecond, Role: "desk", Engaged: "a reply to a post of this bot", Epoch: "9f31c2",
		Links: []web.Link{
			{Context: "invoice", Entity: "INV-2041", Link: "reply", Status: "attached", Chars: 1284},
			{Context: "client", Entity: "acme", Link: "chat", Status: "attached", Chars: 812},
			{Context: "policy", Link: "always", Status: "stub", Why: "not attached: budget", Knob: "contexts.maxActive"},
			{Context: "client", Entity: "globex", Link: "ask", Status: "refused", Why: "this topic is pinned to acme"},
		},
		Prompt: []web.Message{{Role: "developer", What: "instructions", Text: lorem(5200)}, {Role: "system", What: "session", Text: lorem(900)},
			{Role: "user", What: "input of turn 41", Text: lorem(320)}, {Role: "assistant", What: "answer of turn 41", Text: lorem(700)},
			{Role: "system", What: "clock", Text: `<turn_context v="1"><clock kind="data" local="2026-11-30T10:15:00+01:00"/></turn_context>`},
			{Role: "user", What: "input", Text: `<message id="10" from="tg:user:101" name="Ann" reply_to="9">What did they promise?</message>`},
			{Role: "system", What: "tail", Text: `<feature-context name="invoice" feature="billing" entity="INV-2041" link="reply">` + lorem(1900)}},
		Tools: []web.Tool{{Name: "context_open", Status: "refused", Args: `{"name":"client","entity":"globex"}`, Result: `{"ok":false,"error":"this topic is pinned to acme"}`, Took: 2 * time.Millisecond}},
		Calls: []web.Call{{Model: "gpt-5-mini", Status: "ok", In: 2841, Cached: 2304, Out: 38, Reported: true, Took: 610 * time.Millisecond, Cost: ptr(0.00034)},
			{Model: "gpt-5-mini", Status: "ok", In: 2956, Cached: 2816, Out: 71, Reported: true, Took: 702 * time.Millisecond, Cost: ptr(0.00031)}},
		Posts: []web.Post{{State: "sent", Text: "Payment by the 28th, in the mail of 12 November"}},
	}
	w.change(func() {
		earlier := turn
		earlier.ID, earlier.Links = 41, earlier.Links[1:2]
		w.turns[nine], w.turns[asked], w.turns[eleven], w.turns[ten] = earlier, earlier, turn, turn
		w.turns[last] = web.Turn{ID: 43, Status: "running", Role: "desk"}
		w.chat("desk").Signs = []playground.Sign{{Thread: 2, Who: nova()}}
	})
}

func ptr[T any](v T) *T { return &v }

func lorem(n int) string {
	s := ""
	for i := 1; len(s) < n; i++ {
		s += fmt.Sprintf("%d. You are the desk of a bicycle shop and answer in short sentences.\n", i)
	}
	return s[:n]
}

// swap is an address whose server can go and be another one.
type swap struct {
	url string
	now atomic.Pointer[playground.Playground]
	srv *httptest.Server
}

func newSwitch(t *testing.T, p *playground.Playground) *swap {
	s := &swap{}
	s.now.Store(p)
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := s.now.Load(); p != nil {
			p.ServeHTTP(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	s.url = s.srv.URL
	t.Cleanup(func() {
		s.srv.CloseClientConnections()
		s.srv.Close()
	})
	return s
}

// set changes the server; every connection to the one before breaks.
func (s *swap) set(p *playground.Playground) {
	s.now.Store(p)
	s.srv.CloseClientConnections()
}
