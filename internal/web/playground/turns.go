package playground

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"attache"
	"attache/internal/web"
)

// How often a turn that is not over is looked up again, and for how long one that
// does not exist may still come: a message can wait for a burst to end.
const (
	turnAgain = 300 * time.Millisecond
	turnLate  = 15 * time.Second
)

// turns looks turns up and keeps those that are over: they do not change.
type turns struct {
	read func(context.Context, attache.Place, attache.MessageID) (web.Turn, bool, error)
	log  *slog.Logger

	mu    sync.Mutex
	known map[turnKey]knownTurn
}

type turnKey struct {
	place   attache.Place
	message attache.MessageID
}

type knownTurn struct {
	turn  web.Turn
	found bool
	final bool // looked up for the last time
	at    time.Time
}

// keptTurns is how many are kept; then all are forgotten and looked up anew.
const keptTurns = 5000

// of gives the turn of a post. final says that asking later gives nothing else.
func (t *turns) of(ctx context.Context, place attache.Place, post Post) knownTurn {
	if t.read == nil {
		return knownTurn{final: true}
	}
	key := turnKey{place, post.ID}
	t.mu.Lock()
	k, ok := t.known[key]
	t.mu.Unlock()
	if ok && (k.final || time.Since(k.at) < turnAgain) {
		return k
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	turn, found, err := t.read(ctx, place, post.ID)
	if err != nil {
		if t.log != nil && ctx.Err() == nil {
			t.log.Warn("a turn cannot be shown", "chat", place.Chat, "err", err)
		}
		found = false
	}
	k = knownTurn{turn: turn, found: found, at: time.Now()}
	// An error says nothing about the turn, so it is never the last word.
	k.final = found && turn.Over() || err == nil && !found && time.Since(post.At) > turnLate
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= keptTurns {
		clear(t.known)
	}
	t.known[key] = k
	return k
}
