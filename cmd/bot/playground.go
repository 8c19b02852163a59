package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"attache"
	"attache/internal/telegramsim"
	"attache/internal/web/playground"
)

// playWorld is the demo's Telegram as the playground shows it. What a client knows
// and the simulator does not say in one place (who types, which draft still stands,
// what answers a pressed button) it reads out of the bot's own calls.
type playWorld struct {
	*demoWorld

	mu      sync.Mutex
	stopped map[playPlace]time.Time // when a draft was stopped
	pressed map[string]playPress    // by callback query
}

type playPlace struct {
	chat   *telegramsim.Chat
	thread attache.ThreadID
}

type playPress struct {
	at     playPlace
	person attache.PersonID
}

func newPlayWorld(w *demoWorld) *playWorld {
	return &playWorld{demoWorld: w, stopped: map[playPlace]time.Time{}, pressed: map[string]playPress{}}
}

// voices lists the people to speak as.
func (w *playWorld) voices() []playground.Person {
	var out []playground.Person
	for _, p := range w.people {
		out = append(out, playground.Person{Key: p.key, ID: attache.UserID(p.user.ID), Name: p.user.Name, Note: p.note})
	}
	return out
}

// rooms gives every chat under the key that its address has: the private ones
// first, each person's own.
func (w *playWorld) rooms(do func(key string, c *demoChat)) {
	for _, p := range w.people {
		do("nova-"+p.key, &p.dm)
	}
	for _, c := range w.chats {
		do(c.key, c)
	}
}

// Look gives every chat as it is now.
func (w *playWorld) Look() []playground.Chat {
	var out []playground.Chat
	w.rooms(func(key string, c *demoChat) {
		x := playground.Chat{Key: key, ID: c.chat.ID, Bot: "nova", Title: c.chat.Title, Kind: c.chat.Kind, About: c.about, Try: c.try}
		if c.chat.Person() != nil {
			x.Title = w.bot.Name
		}
		for _, p := range c.people {
			x.People = append(x.People, p.key)
		}
		for _, t := range c.chat.Topics() {
			x.Topics = append(x.Topics, playground.Topic{ID: t.ID, Name: t.Name, Closed: t.Closed})
		}
		for _, p := range c.chat.History() {
			x.Posts = append(x.Posts, shownPost(p))
		}
		x.Signs = w.signs(c.chat)
		out = append(out, x)
	})
	return out
}

func shownPost(p telegramsim.Post) playground.Post {
	out := playground.Post{
		ID: p.ID, Thread: p.Thread, From: p.From, Bot: p.Bot != "", Service: p.Service, Text: p.Text, Marks: p.Marks, Rich: p.Rich,
		ReplyTo: p.ReplyTo, External: p.External, Quote: p.Quote, Buttons: p.Buttons, At: p.At, Edits: p.Edits, Deleted: p.Deleted,
	}
	if p.File != nil {
		out.File = &playground.File{Kind: p.File.Kind, Name: p.File.Name, MIME: p.File.MIME, Data: p.File.Data}
	}
	return out
}

// How long Telegram shows a draft, typing, and the answer to a pressed button.
const (
	draftShown  = 30 * time.Second
	typingShown = 5 * time.Second
	noticeShown = 5 * time.Second
)

// signs tells what the bot shows in a chat beside its posts. Its calls are gone
// through from the newest: a post ends whatever was shown in its topic before.
func (w *playWorld) signs(c *telegramsim.Chat) []playground.Sign {
	var out []playground.Sign
	bot, settled, now := w.nova(), map[attache.ThreadID]bool{}, time.Now()
	typing := map[attache.ThreadID]bool{}
	for _, call := range slices.Backward(w.sim.Calls(telegramsim.Filter{Bot: w.bot, Chat: c.ID})) {
		age := now.Sub(call.At)
		if age > draftShown {
			break
		}
		thread := threadOf(call)
		switch {
		case settled[thread] || call.Done && !call.OK:
		case call.Method == "sendChatAction":
			typing[thread] = typing[thread] || age < typingShown
		case call.Method == "sendMessageDraft", call.Method == "sendRichMessageDraft":
			settled[thread] = true
			if draft := w.draft(c, thread, call.At); draft != nil {
				out = append(out, playground.Sign{Thread: thread, Who: bot, Draft: draft, CanStop: string(call.Params["can_stop"]) == "true"})
				delete(typing, thread)
			}
		case strings.HasPrefix(call.Method, "send"):
			settled[thread] = true
			delete(typing, thread)
		}
	}
	for thread, on := range typing {
		if on {
			out = append(out, playground.Sign{Thread: thread, Who: bot})
		}
	}
	slices.SortFunc(out, func(a, b playground.Sign) int { return int(a.Thread - b.Thread) })
	return append(out, w.notices(c, now)...)
}

func (w *playWorld) nova() attache.Person {
	return attache.Person{ID: attache.UserID(w.bot.ID), Name: w.bot.Name, Username: w.bot.Username, IsBot: true}
}

// threadOf gives the topic of a call; typing names General by its number 1.
func threadOf(c telegramsim.Call) attache.ThreadID {
	var n int64
	if _, err := fmt.Sscan(strings.Trim(string(c.Params["message_thread_id"]), `"`), &n); err != nil || n == 1 {
		return 0
	}
	return attache.ThreadID(n)
}

// draft gives the newest draft of a topic as it looks, nil when it was stopped.
func (w *playWorld) draft(c *telegramsim.Chat, thread attache.ThreadID, at time.Time) *playground.Post {
	w.mu.Lock()
	stopped := w.stopped[playPlace{c, thread}]
	w.mu.Unlock()
	if !at.After(stopped) {
		return nil
	}
	for _, d := range slices.Backward(c.Drafts()) {
		if d.Thread == thread {
			post := shownPost(d)
			return &post
		}
	}
	return nil
}

// notices gives the answers to pressed buttons that still show.
func (w *playWorld) notices(c *telegramsim.Chat, now time.Time) (out []playground.Sign) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pressed) == 0 {
		return nil
	}
	for _, call := range w.sim.Calls(telegramsim.Filter{Bot: w.bot, Method: "answerCallbackQuery"}) {
		p, ok := w.pressed[text(call, "callback_query_id")]
		if words := text(call, "text"); ok && p.at.chat == c && words != "" && now.Sub(call.At) < noticeShown {
			out = append(out, playground.Sign{Thread: p.at.thread, Notice: words, For: p.person})
		}
	}
	return out
}

// text gives a parameter of a call that is a text.
func text(c telegramsim.Call, name string) (s string) {
	_ = json.Unmarshal(c.Params[name], &s) // what is none is ""
	return s
}

// Wait returns once cond is true.
func (w *playWorld) Wait(ctx context.Context, cond func() bool) error { return w.sim.Wait(ctx, cond) }

// Act does what a person does.
func (w *playWorld) Act(a playground.Action) error {
	var chat *telegramsim.Chat
	w.rooms(func(key string, c *demoChat) {
		if key == a.Chat {
			chat = c.chat
		}
	})
	who := w.person(a.Person.Key)
	if chat == nil || who == nil {
		return errors.New("there is no such person or chat")
	}
	at := playPlace{chat, a.Thread}
	switch a.Do {
	case playground.Say:
		return say(chat, who.user, a)
	case playground.Edit:
		if !slices.ContainsFunc(chat.History(), func(p telegramsim.Post) bool { return p.ID == a.Message && p.From.ID == a.Person.ID }) {
			return errors.New("only your own messages can be edited")
		}
		return chat.Edit(a.Message, telegramsim.Line{Text: a.Text})
	case playground.Press:
		w.mu.Lock() // an answer may come before Press returns; it is looked for under the lock
		defer w.mu.Unlock()
		query, err := chat.Press(who.user, a.Message, a.Button)
		w.pressed[query] = playPress{at, a.Person.ID}
		return err
	case playground.Stop:
		w.mu.Lock()
		w.stopped[at] = time.Now()
		w.mu.Unlock()
		return chat.StopDraft(a.Thread)
	}
	return fmt.Errorf("nobody can %s", a.Do)
}

// say says a text of any length as clients do: in as many messages as it takes.
func say(c *telegramsim.Chat, who *telegramsim.User, a playground.Action) error {
	line := telegramsim.Line{From: who, Thread: a.Thread, ReplyTo: a.ReplyTo, Quote: a.Quote}
	if a.File != nil {
		line.Text, line.File = a.Text, &telegramsim.File{Kind: a.File.Kind, Name: a.File.Name, MIME: a.File.MIME, Data: a.File.Data}
		_, err := c.Send(line)
		return err
	}
	for rest := a.Text; rest != ""; {
		line.Text, rest = cutUnits(rest, longestMessage)
		if _, err := c.Send(line); err != nil {
			return err
		}
		line.ReplyTo, line.Quote = 0, ""
	}
	return nil
}

// longestMessage is Telegram's limit of a text, in UTF-16 units.
const longestMessage = 4096

// cutUnits cuts the first n UTF-16 units off a text, or one less where a pair would
// be split.
func cutUnits(s string, n int) (head, rest string) {
	for i, r := range s {
		if n -= attache.UTF16Len(string(r)); n < 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// servePlayground serves the page of the demo until ctx ends, on the address that is
// wished for or, if that is taken, on a free one. end waits for the server to end.
func servePlayground(ctx context.Context, p *program, w *demoWorld, address, model string) (url string, end func(), err error) {
	world := newPlayWorld(w)
	sheets := newSheets(p, world)
	page, err := playground.New(ctx, playground.Options{World: world, People: world.voices(), Turn: sheets.of,
		Problems: p.brain.Problems, Brain: p.brain.Current().Dir, Model: model, Log: p.log})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", nil, fmt.Errorf("the demo's page cannot be served on this machine: %w", err)
		}
	}
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends by Shutdown below
	}()
	stop := context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(patience) // the page's streams end with ctx
	})
	return "http://" + l.Addr().String() + "/", func() {
		stop()
		_ = server.Close()
		<-ended
	}, nil
}
