package main

import (
	"fmt"
	"strings"
	"sync"

	"attache"
	"attache/access"
	"attache/internal/brain"
	"attache/internal/doctor"
)

// strangers are the chats that no rule lets in and the people whom a rule does not
// list. Nobody is written to; the log names each once, and /doctor names the chats
// (decisions § 6.1): that is how the writer of a brain learns their numbers. What
// they wrote is not here.
type strangers struct {
	mu     sync.Mutex
	known  map[strangerKey]bool
	chats  []stranger
	people int
}

// strangerKey is a chat, or a person in it.
type strangerKey struct {
	chat   attache.ChatID
	person attache.PersonID
}

type stranger struct {
	place attache.Place
	kind  string // of the chat
	title string
}

// mostStrangers bounds what a crowd can put into the log and the memory, for chats
// and for people each.
const mostStrangers = 200

// stranger names the chat or the person of a message that is met with silence. A
// rule that a mistake silences is told as that mistake.
func (b *bot) stranger(m attache.Message, r access.Ruling) {
	switch {
	case r.Silenced || m.Channel && r.Ruled():
	case !r.Ruled():
		s := stranger{place: attache.Place{Bot: b.id, Chat: m.Place.Chat}, kind: m.Chat.Kind, title: m.Chat.Title}
		if b.strangers.chat(s) {
			b.log.Info("a chat without a rule is met with silence", "bot", b.id, "chat", s.place.Chat, "person", m.From.ID, "why", s.who()+"; "+s.do())
		}
	case !m.From.IsBot && b.strangers.person(strangerKey{m.Place.Chat, m.From.ID}):
		b.log.Info("a person whom no rule lets in is met with silence", "bot", b.id, "chat", m.Place.Chat, "person", m.From.ID,
			"why", fmt.Sprintf("%s is not in people of the rule on line %d of %s; add %s there to answer them", named(m.From.Name), r.Line, r.File, m.From.ID))
	}
}

// chat reports whether a chat is new here and there is room for it.
func (s *strangers) chat(one stranger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.chats) == mostStrangers || !s.learn(strangerKey{chat: one.place.Chat}) {
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

// who names the chat for a person.
func (s stranger) who() string {
	if s.place.Chat.Private() {
		return "the private chat of " + named(s.title)
	}
	return "the " + s.kind + " " + named(s.title)
}

// do says how the chat gets a rule.
func (s stranger) do() string {
	if s.place.Chat.Private() {
		return fmt.Sprintf("to answer there, write  dm: { role: ROLE, people: ['tg:user:%d'] }  below bots.%s in access.yaml", int64(s.place.Chat), s.place.Bot)
	}
	return fmt.Sprintf("to answer there, write  '%s': { role: ROLE, people: everyone }  below bots.%s.chats in access.yaml", s.place.Chat, s.place.Bot)
}

// named gives a name that a stranger chose: on one line, and not endless.
func named(name string) string {
	r := []rune(strings.Join(strings.Fields(name), " "))
	if len(r) > 60 {
		r = append(r[:60], '…')
	}
	return "‘" + string(r) + "’"
}

// unruled finds the chats that were met with silence since the start and still are.
func (p *program) unruled(br *brain.Brain) []doctor.Finding {
	var found []doctor.Finding
	for _, b := range p.bots {
		b.strangers.mu.Lock()
		for _, s := range b.strangers.chats {
			if r := p.ruling(br, s.place, s.kind); !r.Ruled() && !r.Silenced {
				found = append(found, doctor.Finding{Level: doctor.Note, Check: "Chat access",
					What: fmt.Sprintf("%s, %s, has no rule for %s and is met with silence", s.place.Chat, s.who(), b.id), Do: s.do()})
			}
		}
		b.strangers.mu.Unlock()
	}
	return found
}
