package access

import (
	"fmt"
	"time"

	"attache"
)

// Spot is what a tool binds: a chat or one thread of it, for one bot or for every
// bot of the brain.
type Spot struct {
	Chat   attache.ChatID
	Thread attache.ThreadID // when not Whole; 0 is General
	Whole  bool             // the whole chat
	Bot    attache.BotID    // "": every bot
}

// String tells the spot in a sentence: "the whole of tg:chat:-1001 for every bot".
func (s Spot) String() string {
	where := fmt.Sprintf("thread %d of %s", s.Thread, s.Chat)
	if s.Whole {
		where = "the whole of " + s.Chat.String()
	}
	if s.Bot == "" {
		return where + " for every bot"
	}
	return fmt.Sprintf("%s for %s", where, s.Bot)
}

// covers reports whether a binding of the spot concerns a bot's turns in a thread.
func (s Spot) covers(bot attache.BotID, thread attache.ThreadID) bool {
	return (s.Whole || s.Thread == thread) && (s.Bot == "" || s.Bot == bot)
}

// Tie is a binding that a tool made, with who made it.
type Tie struct {
	Spot
	Context attache.ContextID
	Key     attache.EntityKey // "": a context that is about no entity
	Role    attache.RoleID    // whose turn bound it
	Turn    int64             // that did; 0 for none
	At      time.Time         // when, by the database's clock
}

// Plain gives the tie in the form in which it links and pins.
func (t Tie) Plain() attache.Binding {
	b := attache.Binding{Context: t.Context, Key: t.Key, Thread: !t.Whole}
	if t.Bot != "" {
		b.Bots = []attache.BotID{t.Bot}
	}
	return b
}

// String tells the tie in a sentence: `ticket@T-1 in thread 42 of tg:chat:-1001 for
// every bot`.
func (t Tie) String() string {
	return attache.ReachEntry{Context: t.Context, Key: t.Key}.String() + " in " + t.Spot.String()
}
