package gateway

import (
	"time"

	"attache"
)

// EventKind says what an Event tells of.
type EventKind string

// The kinds of an Event.
const (
	EventUpdate EventKind = "update" // What: the act on its message, the update's kind for any other, or broken
	EventTurn   EventKind = "turn"   // What: the state it ended in
	EventPost   EventKind = "post"   // What: its fate
)

// Event is something that happened here, for counting.
type Event struct {
	Kind EventKind
	Bot  attache.BotID
	What string
	Took time.Duration // of a turn
}

// count tells of an event, if anybody counts.
func (g *Gateway) count(e Event) {
	if g.o.Count != nil {
		g.o.Count(e)
	}
}
