package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"attache"
	"attache/gateway/carried"
	"attache/internal/builtin"
	"attache/internal/usage"
	"attache/internal/web/pages"
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

// windows are what the program remembers of the past, for the pages and the tools
// that tell the same numbers.
type windows struct {
	contexts memo[carried.Stretch]
	calls    memo[usage.Stretch]
}

// uses tells what contexts did between the first and the last of edges, of one role
// unless it is "" and of one chat of a bot unless that is 0. Only what is asked of
// all chats is remembered.
func (p *program) uses(ctx context.Context, edges []time.Time, at attache.Place, role attache.RoleID) (carried.Window, error) {
	read := func(ctx context.Context, edges []time.Time) ([]carried.Stretch, error) {
		return carried.Stretches(ctx, p.db.DB, p.talks, edges, at.Bot, at.Chat)
	}
	var all []carried.Stretch
	var err error
	if at.Chat != 0 {
		all, err = read(ctx, edges)
	} else {
		all, err = p.windows.contexts.of(ctx, edges, time.Now(), read)
	}
	return carried.Sum(all, role), err
}

// calls tells what models took in each piece between the neighbours of edges.
func (p *program) calls(ctx context.Context, edges []time.Time) ([]usage.Stretch, error) {
	return p.windows.calls.of(ctx, edges, time.Now(), func(ctx context.Context, edges []time.Time) ([]usage.Stretch, error) {
		return usage.Series(ctx, p.db.Pool(), edges, 0)
	})
}

// ledger is where agent_context reads.
func (p *program) ledger() builtin.Ledger {
	return builtin.Ledger{Windows: pages.Windows(), Default: pages.DefaultWindow, Pinned: p.pinned,
		Uses: func(ctx context.Context, window string, at attache.Place, role attache.RoleID) (carried.Window, error) {
			edges, _ := p.edgesOf(window)
			return p.uses(ctx, edges, at, role)
		}}
}

// pinned reports whether a place is held to a key, or to none.
func (p *program) pinned(ctx context.Context, at attache.Place) (bool, error) {
	pin := p.pin(ctx, p.brain.Current(), at)
	if pin.Unread {
		return false, errors.New("what the place is bound to cannot be read")
	}
	return len(pin.Bound) > 0, nil
}

// edgesOf gives the edges of a window in the zone of the brain.
func (p *program) edgesOf(window string) ([]time.Time, bool) {
	return pages.Edges(window, p.now().In(p.zone()))
}

// zone is the zone of the brain, as it is now.
func (p *program) zone() *time.Location { return p.brain.Current().Frame.Manifest.Zone.Location }
