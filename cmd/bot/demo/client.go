package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"attache"
	"attache/internal/telegramsim"
	"attache/internal/web/playground"
)

// client is the demo's Telegram as the playground shows it. What a client knows
// and the simulator does not say in one place (who types, which draft still stands,
// what answers a pressed button) it reads out of the bot's own calls: so the page
// cannot show what the bot did not do.
type client struct {
	*World

	mu      sync.Mutex
	stopped map[place]time.Time // when a draft was stopped
	pressed map[string]press    // by callback query
}

type place struct {
	chat   *telegramsim.Chat
	thread attache.ThreadID
}

type press struct {
	at     place
	person attache.PersonID
}

func newClient(w *World) *client {
	return &client{World: w, stopped: map[place]time.Time{}, pressed: map[string]press{}}
}

// voices lists the people to speak as.
func (w *client) voices() []playground.Person {
	var out []playground.Person
	for _, p := range w.People {
		out = append(out, playground.Person{Key: p.Key, ID: attache.UserID(p.User.ID), Name: p.User.Name, Note: p.Note})
	}
	return out
}

// rooms gives every chat under the key that its address has: the private ones
// first, each person's own.
func (w *client) rooms(do func(key string, c *Chat)) {
	for _, p := range w.People {
		do("nova-"+p.Key, &p.DM)
	}
	for _, c := range w.Chats {
		do(c.Key, c)
	}
}

// Look gives every chat as it is now.
func (w *client) Look() []playground.Chat {
	var out []playground.Chat
	w.rooms(func(key string, c *Chat) {
		x := playground.Chat{Key: key, ID: c.Room.ID, Bot: "nova", Title: c.Room.Title, Kind: c.Room.Kind, About: c.About, Try: c.Try}
		if c.Room.Person() != nil {
			x.Title = w.Bot.Name
		}
		for _, p := range c.People {
			x.People = append(x.People, p.Key)
		}
		for _, t := range c.Room.Topics() {
			x.Topics = append(x.Topics, playground.Topic{ID: t.ID, Name: t.Name, Closed: t.Closed})
		}
		for _, p := range c.Room.History() {
			x.Posts = append(x.Posts, shownPost(p))
		}
		x.Signs = w.signs(c.Room)
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
func (w *client) signs(c *telegramsim.Chat) []playground.Sign {
	var out []playground.Sign
	bot, settled, now := w.nova(), map[attache.ThreadID]bool{}, time.Now()
	typing := map[attache.ThreadID]bool{}
	for _, call := range slices.Backward(w.Sim.Calls(telegramsim.Filter{Bot: w.Bot, Chat: c.ID})) {
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

func (w *client) nova() attache.Person {
	return attache.Person{ID: attache.UserID(w.Bot.ID), Name: w.Bot.Name, Username: w.Bot.Username, IsBot: true}
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
func (w *client) draft(c *telegramsim.Chat, thread attache.ThreadID, at time.Time) *playground.Post {
	w.mu.Lock()
	stopped := w.stopped[place{c, thread}]
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
func (w *client) notices(c *telegramsim.Chat, now time.Time) (out []playground.Sign) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pressed) == 0 {
		return nil
	}
	for _, call := range w.Sim.Calls(telegramsim.Filter{Bot: w.Bot, Method: "answerCallbackQuery"}) {
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
func (w *client) Wait(ctx context.Context, cond func() bool) error { return w.Sim.Wait(ctx, cond) }

// Act does what a person does.
func (w *client) Act(a playground.Action) error {
	var chat *telegramsim.Chat
	w.rooms(func(key string, c *Chat) {
		if key == a.Chat {
			chat = c.Room
		}
	})
	who := w.Person(a.Person.Key)
	if chat == nil || who == nil {
		return errors.New("there is no such person or chat")
	}
	at := place{chat, a.Thread}
	switch a.Do {
	case playground.Say:
		return say(chat, who.User, a)
	case playground.Edit:
		if !slices.ContainsFunc(chat.History(), func(p telegramsim.Post) bool { return p.ID == a.Message && p.From.ID == a.Person.ID }) {
			return errors.New("only your own messages can be edited")
		}
		return chat.Edit(a.Message, telegramsim.Line{Text: a.Text})
	case playground.Press:
		w.mu.Lock() // an answer may come before Press returns; it is looked for under the lock
		defer w.mu.Unlock()
		query, err := chat.Press(who.User, a.Message, a.Button)
		w.pressed[query] = press{at, a.Person.ID}
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
