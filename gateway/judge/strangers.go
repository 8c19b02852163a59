package judge

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"attache"
	"attache/access"
)

// strangers are the chats that no rule lets in and the people whom a rule does not
// list. Nobody is written to; the log names each once, and /doctor names the chats
// (decisions § 6.1): that is how the writer of a brain learns their numbers. What
// they wrote is not here.
type strangers struct {
	mu     sync.Mutex
	known  map[strangerKey]bool
	chats  []Stranger
	people int
}

// strangerKey is a chat, or a person in it.
type strangerKey struct {
	chat   attache.ChatID
	person attache.PersonID
}

// Stranger is a chat that no rule let in when somebody wrote there.
type Stranger struct {
	Place attache.Place // of the whole chat
	Kind  string        // Telegram's word for the chat
	Title string
}

// Strangers lists the chats that were met with silence since the start. One of them
// may have a rule by now.
func (j *Judge) Strangers() []Stranger {
	j.strangers.mu.Lock()
	defer j.strangers.mu.Unlock()
	return slices.Clone(j.strangers.chats)
}

// mostStrangers bounds what a crowd can put into the log and the memory, for chats
// and for people each.
const mostStrangers = 200

// stranger names the chat or the person of a message that is met with silence. A
// rule that a mistake silences is told as that mistake.
func (j *Judge) stranger(m attache.Message, r access.Ruling) {
	switch {
	case r.Silenced || m.Channel && r.Ruled():
	case !r.Ruled():
		s := Stranger{Place: attache.Place{Bot: j.o.Bot, Chat: m.Place.Chat}, Kind: m.Chat.Kind, Title: m.Chat.Title}
		if j.strangers.chat(s) {
			j.o.Log.Info("a chat without a rule is met with silence", "bot", j.o.Bot, "chat", s.Place.Chat, "person", m.From.ID, "why", s.Who()+"; "+s.Do())
		}
	case !m.From.IsBot && j.strangers.person(strangerKey{m.Place.Chat, m.From.ID}):
		j.o.Log.Info("a person whom no rule lets in is met with silence", "bot", j.o.Bot, "chat", m.Place.Chat, "person", m.From.ID,
			"why", fmt.Sprintf("%s is not in people of the rule on line %d of %s; add %s there to answer them", named(m.From.Name), r.Line, r.File, m.From.ID))
	}
}

// chat reports whether a chat is new here and there is room for it.
func (s *strangers) chat(one Stranger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chats) == mostStrangers || !s.learn(strangerKey{chat: one.Place.Chat}) {
		return false
	}
	s.chats = append(s.chats, one)
	return true
}

func (s *strangers) person(key strangerKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.people == mostStrangers || !s.learn(key) {
		return false
	}
	s.people++
	return true
}

func (s *strangers) learn(key strangerKey) bool {
	if s.known == nil {
		s.known = map[strangerKey]bool{}
	}
	known := s.known[key]
	s.known[key] = true
	return !known
}

// Who names the chat for a person.
func (s Stranger) Who() string {
	if s.Place.Chat.Private() {
		return "the private chat of " + named(s.Title)
	}
	return "the " + s.Kind + " " + named(s.Title)
}

// Do says how the chat gets a rule.
func (s Stranger) Do() string {
	if s.Place.Chat.Private() {
		return fmt.Sprintf("to answer there, write  dm: { role: ROLE, people: ['tg:user:%d'] }  below bots.%s in access.yaml", int64(s.Place.Chat), s.Place.Bot)
	}
	return fmt.Sprintf("to answer there, write  '%s': { role: ROLE, people: everyone }  below bots.%s.chats in access.yaml", s.Place.Chat, s.Place.Bot)
}

// named gives a name that a stranger chose: on one line, and not endless.
func named(name string) string {
	r := []rune(strings.Join(strings.Fields(name), " "))
	if len(r) > 60 {
		r = append(r[:60], '…')
	}
	return "‘" + string(r) + "’"
}
