// Package world is what stands behind a Telegram in the process: users, chats, messages
// and files, and the rule by which a bot is told of a message.
//
// A [World] knows neither HTTP nor how a call is written, and it has no lock: whoever
// owns it holds one around everything here. Both sides act on it with the same methods,
// people by way of telegramsim and bots by way of package methods, so that a topic that
// a person opens and one that a bot opens are the same thing.
//
// Numbers are Telegram's in form: those of bots do not fit 32 bits, those of supergroups
// begin with -100, a topic's is that of its creation message. A message is kept with its
// chat ([Chat]) as bots see it ([wire.Message]) and with what only the world knows of it
// ([Message]). What a bot is told becomes JSON when it happens, because an update tells
// how the world was then, whenever the bot comes to fetch it.
package world

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"
	"time"

	"attache"
	"attache/internal/telegramsim/format"
	"attache/internal/telegramsim/updates"
)

// Rules are how a world behaves. Every field but Queue must be set where it matters; there
// are no defaults here.
type Rules struct {
	Keep     int  // messages of each chat that are remembered; 0: all
	Pace     bool // refuse what is faster than Telegram allows
	BotsHear bool // bots of a group hear one another
	Now      func() time.Time
	Queue    updates.Options // of each bot
}

// World is all there is. It is not safe for concurrent use.
type World struct {
	rules    Rules
	detector *format.Detector
	users    map[int64]*User
	chats    map[chatKey]*Chat
	files    map[string]*Stored
	queries  map[string]*User // bots that a pressed button waits for, by query
	last     int64            // source of numbers for users, chats, files and queries
}

// chatKey finds a chat: every bot has its own private chat with a person.
type chatKey struct {
	id  int64
	bot int64 // private chats only
}

// New makes an empty world.
func New(r Rules) *World {
	return &World{
		rules: r, detector: format.NewDetector(), last: 1000,
		users: map[int64]*User{}, chats: map[chatKey]*Chat{}, files: map[string]*Stored{}, queries: map[string]*User{},
	}
}

// Number gives a number that was not given before.
func (w *World) Number() int64 {
	w.last++
	return w.last
}

// Now is the time in seconds, as messages carry it.
func (w *World) Now() int64 { return w.rules.Now().Unix() }

// AddUser takes a user in, who has a number of his own or gets one above base, which
// keeps people and bots apart. It panics on a number that is taken: the test's script is
// wrong.
func (w *World) AddUser(u *User, base int64) {
	if u.ID == 0 {
		u.ID = base + w.Number()
	}
	if u.Name == "" {
		u.Name = "User " + strconv.FormatInt(u.ID, 10)
	}
	if w.users[u.ID] != nil {
		panic(fmt.Sprintf("telegramsim: there is a user %d already", u.ID))
	}
	w.users[u.ID] = u
}

// User gives a user by number, nil for none.
func (w *World) User(id int64) *User { return w.users[id] }

// AddChat takes a chat in, a private one under its bot. It panics on a number that is
// taken: the test's script is wrong.
func (w *World) AddChat(c *Chat) {
	key := chatKey{id: int64(c.ID)}
	if c.Bot != nil {
		key.bot = c.Bot.ID
	}
	if w.chats[key] != nil {
		panic(fmt.Sprintf("telegramsim: there is a chat %d already", c.ID))
	}
	c.world, c.Forum = w, c.Kind == forum
	if c.Forum {
		c.lastID = 1 // General's number is 1, so no topic's can be
	}
	c.members, c.Topics, c.messages = map[int64]*Member{}, map[int64]*Topic{}, map[int64]*Message{}
	w.chats[key] = c
}

// DM gives the private chat of a person and a bot, and makes it at the first time.
func (w *World) DM(person, bot *User) *Chat {
	if c := w.chats[chatKey{person.ID, bot.ID}]; c != nil {
		return c
	}
	c := &Chat{ID: attache.ChatID(person.ID), Kind: private, Username: person.Username, Person: person, Bot: bot}
	w.AddChat(c)
	c.Admit(person, "member")
	c.Admit(bot, "member")
	return c
}

// Chats goes through every chat, in no order.
func (w *World) Chats() iter.Seq[*Chat] { return maps.Values(w.chats) }

// Lookup finds a chat by number or @username, as this bot knows it; nil for none. A
// person who never wrote to the bot is no chat yet.
func (w *World) Lookup(bot *User, id string) *Chat {
	if name, ok := strings.CutPrefix(id, "@"); ok {
		for _, c := range w.chats {
			if c.Kind != private && c.Username != "" && strings.EqualFold(c.Username, name) {
				return c
			}
		}
		return nil
	}
	chat, err := attache.ParseChat(id)
	if err != nil {
		return nil
	}
	if c := w.chats[chatKey{int64(chat), 0}]; c != nil {
		return c
	}
	return w.chats[chatKey{int64(chat), bot.ID}]
}

// Marked gives the entities of a person's words: the given marks, or those that Telegram
// finds by itself when there are none given (nil).
func (w *World) Marked(text string, marks []attache.Mark) []format.Entity {
	if marks == nil {
		return w.detector.Detect(text)
	}
	out := make([]format.Entity, 0, len(marks))
	for _, k := range marks {
		e := format.Entity{Type: k.Kind, Offset: k.Offset, Length: k.Length, URL: k.URL, Language: k.Language}
		for _, u := range w.users {
			if k.User != "" && attache.UserID(u.ID) == k.User {
				e.User, _ = json.Marshal(u.Wire()) // a plain struct always marshals
			}
		}
		out = append(out, e)
	}
	return out
}

// Query gives the bot whose answer a pressed button waits for, nil for a query that was
// answered, is too old or never was.
func (w *World) Query(id string) *User { return w.queries[id] }

// EndQuery makes a query one that nobody waits for.
func (w *World) EndQuery(id string) { delete(w.queries, id) }
