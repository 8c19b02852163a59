package telegram

import (
	"context"
	"errors"
	"sync"
	"time"

	"attache"
)

// Telegram shows "typing" for five seconds; a little earlier it is said again.
// When the pace has no room at the moment, it is tried again soon after.
const (
	typingEvery = 4500 * time.Millisecond
	typingSoon  = time.Second
)

// generalThread is the topic that every forum has; Telegram refuses its number in
// a call, and names it in an answer (decisions § 7.2).
const generalThread attache.ThreadID = 1

// typists holds one clock for each chat in which the bot types, so that the
// topics of a chat do not add up (design/traps.md, "typing per session").
type typists struct {
	mu    sync.Mutex
	chats map[attache.ChatID]*typist
}

// typist types in the topics of one chat.
type typist struct {
	topics map[attache.ThreadID]*typingTopic
	wake   chan struct{} // something changed; holds one
}

type typingTopic struct {
	holders int
	due     time.Time
}

// Typing shows in a place that the bot is typing, at once if the pace has room and
// then until stop is called; several may hold one place. It is cosmetic: during a
// hold it is left out, a failure is forgotten, and it never delays a post. Stop
// may be called more than once.
func (s *Sender) Typing(place attache.Place) (stop func()) {
	thread := place.Thread
	if thread == generalThread {
		thread = 0
	}
	s.typing.mu.Lock()
	defer s.typing.mu.Unlock()
	t := s.typing.chats[place.Chat]
	if t == nil {
		t = &typist{topics: map[attache.ThreadID]*typingTopic{}, wake: make(chan struct{}, 1)}
		s.typing.chats[place.Chat] = t
		go s.runTypist(place.Chat, t)
	}
	if t.topics[thread] == nil {
		t.topics[thread] = &typingTopic{due: time.Now()}
	}
	t.topics[thread].holders++
	t.stir()
	return sync.OnceFunc(func() { s.stopTyping(t, thread) })
}

func (s *Sender) stopTyping(t *typist, thread attache.ThreadID) {
	s.typing.mu.Lock()
	defer s.typing.mu.Unlock()
	topic := t.topics[thread]
	topic.holders--
	if topic.holders == 0 {
		delete(t.topics, thread)
		t.stir()
	}
}

func (t *typist) stir() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// runTypist is the clock of a chat. It ends when nobody types there any more.
func (s *Sender) runTypist(chat attache.ChatID, t *typist) {
	for {
		thread, wait, ok := s.nextTopic(chat, t)
		switch {
		case !ok:
			return
		case wait > 0:
			select {
			case <-time.After(wait):
			case <-t.wake:
			}
		default:
			s.sendTyping(chat, thread)
		}
	}
}

// nextTopic gives the topic whose turn it is to be typed in, or how long to wait
// for it. A topic for which there is no room now is put off, never queued.
func (s *Sender) nextTopic(chat attache.ChatID, t *typist) (attache.ThreadID, time.Duration, bool) {
	s.typing.mu.Lock()
	defer s.typing.mu.Unlock()
	if len(t.topics) == 0 {
		delete(s.typing.chats, chat)
		return 0, 0, false
	}
	now := time.Now()
	var first *typingTopic
	var thread attache.ThreadID
	for id, topic := range t.topics {
		if first == nil || topic.due.Before(first.due) || topic.due.Equal(first.due) && id < thread {
			first, thread = topic, id
		}
	}
	if wait := first.due.Sub(now); wait > 0 {
		return 0, wait, true
	}
	if !s.gate.ready(chat, UrgencyTyping) {
		first.due = now.Add(typingSoon)
		return 0, typingSoon, true
	}
	first.due = now.Add(typingEvery)
	return thread, 0, true
}

// sendTyping makes one chat action. When Telegram asks for a pause, the chat's
// typing rests for that time; its posts do not, as they are counted apart.
func (s *Sender) sendTyping(chat attache.ChatID, thread attache.ThreadID) {
	params := struct {
		ChatID   attache.ChatID   `json:"chat_id"`
		ThreadID attache.ThreadID `json:"message_thread_id,omitempty"`
		Action   string           `json:"action"`
	}{chat, thread, "typing"}
	err := s.client.Call(context.Background(), "sendChatAction", params, nil)
	if e, ok := errors.AsType[*CallError](err); ok {
		rest := typingEvery
		if e.Code == 429 {
			rest = max(e.RetryAfter, floodPause)
		}
		s.gate.hush(chat, time.Now().Add(rest))
	}
}
