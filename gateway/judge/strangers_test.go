package judge

import (
	"testing"

	"attache"
)

// A crowd fills neither the log nor the memory.
func TestACrowdOfStrangers(t *testing.T) {
	var s strangers
	chats, people := 0, 0
	for i := range 10 * mostStrangers {
		if s.chat(Stranger{Title: "x", Place: attache.Place{Bot: "nova", Chat: attache.ChatID(-1 - i)}}) {
			chats++
		}
		if s.person(strangerKey{chat: 5, person: attache.UserID(int64(i))}) {
			people++
		}
	}
	if chats != mostStrangers || people != mostStrangers || len(s.known) > 2*mostStrangers {
		t.Errorf("%d chats, %d people, %d remembered; want %d of each", chats, people, len(s.known), mostStrangers)
	}
}
