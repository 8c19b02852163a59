// Package lookback is what the program remembers of the past, for the pages and the
// tools that tell the same numbers: stretches of time that are over, so that a look back
// over a month reads what is new of it.
package lookback

import (
	"context"
	"sync"
	"time"

	"attache"
	"attache/gateway/carried"
	"attache/internal/conversation"
	"attache/internal/store"
	"attache/internal/usage"
)

// memo remembers the pieces of a window that are over: nothing is added to them any
// more, so that a look back over a month reads what is new of it.
type memo[V any] struct {
	mu    sync.Mutex
	known map[piece]V
}

// piece is a stretch of time, in microseconds since 1970, as the database has it.
type piece struct{ from, to int64 }

const (
	// settled is how long after its end a piece is taken to be whole: what the
	// database could not be told at once is told later.
	settled = time.Hour
	// oldest is how far back pieces are remembered: the longest window, and a day.
	oldest = 31 * 24 * time.Hour
)

// of gives the pieces between the neighbours of edges, of which it reads those that
// it does not know.
func (m *memo[V]) of(ctx context.Context, edges []time.Time, now time.Time, read func(context.Context, []time.Time) ([]V, error)) ([]V, error) {
	all := make([]V, len(edges)-1)
	first, last := len(all), -1
	m.mu.Lock()
	for i := range all {
		v, ok := m.known[piece{edges[i].UnixMicro(), edges[i+1].UnixMicro()}]
		if all[i] = v; !ok {
			first, last = min(first, i), i
		}
	}
	m.mu.Unlock()
	if last < 0 {
		return all, nil
	}
	got, err := read(ctx, edges[first:last+2])
	if err != nil {
		return nil, err
	}
	copy(all[first:], got)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[piece]V{}
	}
	for p := range m.known {
		if p.to < now.Add(-oldest).UnixMicro() {
			delete(m.known, p)
		}
	}
	for i := first; i <= last; i++ {
		if edges[i+1].Before(now.Add(-settled)) {
			m.known[piece{edges[i].UnixMicro(), edges[i+1].UnixMicro()}] = all[i]
		}
	}
	return all, nil
}

// Windows tells what was, from two owners' tables, and remembers what is over.
type Windows struct {
	db       *store.DB
	talks    *conversation.Store
	contexts memo[carried.Stretch]
	calls    memo[usage.Stretch]
}

// New makes Windows that remember nothing yet.
func New(db *store.DB, talks *conversation.Store) *Windows {
	return &Windows{db: db, talks: talks}
}

// Uses tells what contexts did between the first and the last of edges, of one role
// unless it is "" and of one chat of a bot unless that is 0. Only what is asked of
// all chats is remembered.
func (w *Windows) Uses(ctx context.Context, edges []time.Time, at attache.Place, role attache.RoleID) (carried.Window, error) {
	read := func(ctx context.Context, edges []time.Time) ([]carried.Stretch, error) {
		return carried.Stretches(ctx, w.db, w.talks, edges, at.Bot, at.Chat)
	}
	var all []carried.Stretch
	var err error
	if at.Chat != 0 {
		all, err = read(ctx, edges)
	} else {
		all, err = w.contexts.of(ctx, edges, time.Now(), read)
	}
	return carried.Sum(all, role), err
}

// Calls tells what models took in each piece between the neighbours of edges.
func (w *Windows) Calls(ctx context.Context, edges []time.Time) ([]usage.Stretch, error) {
	return w.calls.of(ctx, edges, time.Now(), func(ctx context.Context, edges []time.Time) ([]usage.Stretch, error) {
		return usage.Series(ctx, w.db.Pool(), edges, 0)
	})
}
