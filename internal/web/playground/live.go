package playground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// How often a stream says that it lives, which is also how soon a mended or broken
// file is seen, and how long changes gather before they are looked at: a burst of
// calls is one change to the eye.
const (
	streamAlive  = 2 * time.Second
	streamGather = 25 * time.Millisecond
)

// change is what a stream tells: the pieces that are not as they were.
type change struct {
	Title string            `json:"title,omitempty"`
	Put   map[string]string `json:"put,omitempty"`
	Order []string          `json:"order,omitempty"` // of the conversation, when it changed
}

// live streams changes of a seat's page as events, the whole page first: what
// happened between the page and its stream is in there.
func (p *Playground) live(w http.ResponseWriter, r *http.Request) {
	s, ok := p.sit(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	out := http.NewResponseController(w)
	// A stream is longer than any server's patience; where there is none, no matter.
	_ = out.SetReadDeadline(time.Time{})
	_ = out.SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // a server that shuts down does not wait for a page to be closed
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	fmt.Fprintf(w, "retry: 500\nevent: hello\ndata: %q\n\n", p.boot)
	var last frame
	for out.Flush() == nil {
		next, err := p.await(ctx, s, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.broken(w, err)
			return
		case next.same(last):
			fmt.Fprint(w, ": alive\n\n")
			continue
		}
		data, err := json.Marshal(next.since(last))
		if err != nil {
			return
		}
		fmt.Fprintf(w, "event: change\ndata: %s\n\n", data)
		last = next
	}
}

// await gives the next frame that differs from the last, or the same when nothing
// came for a while. The world is looked at inside of its own Wait, so a change that
// comes meanwhile is not missed.
func (p *Playground) await(ctx context.Context, s seat, last frame) (next frame, err error) {
	for deadline := time.Now().Add(streamAlive); ; {
		spell, cancel := context.WithDeadline(ctx, deadline)
		first := true
		_ = p.o.World.Wait(spell, func() bool { // an error only means that the spell is over
			if !first { // the world has changed, and most likely goes on changing
				pause(spell, streamGather)
			}
			next, err = p.look(ctx, s)
			if first && next.open { // nobody tells when a turn moves on or a sign fades: the spell is cut short to look again
				time.AfterFunc(turnAgain, cancel)
			}
			first = false
			return err != nil || !next.same(last)
		})
		cancel()
		if ctx.Err() != nil || err != nil || !next.same(last) || time.Now().After(deadline) {
			return next, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// look renders the place as it is now. A place that is gone keeps its last look.
func (p *Playground) look(ctx context.Context, s seat) (frame, error) {
	s.chats = p.o.World.Look()
	if !s.find(s.chat.Key) {
		return frame{}, errors.New("this place is gone")
	}
	p.see(s)
	return p.frame(ctx, s)
}

// same reports whether two frames look alike.
func (f frame) same(g frame) bool {
	if f.Title != g.Title || !slices.Equal(f.Order, g.Order) || len(f.Pieces) != len(g.Pieces) {
		return false
	}
	for id, html := range f.Pieces {
		if g.Pieces[id] != html {
			return false
		}
	}
	return true
}

// since gives what changed from an earlier frame. Entries that are gone need no word:
// the new order is without them.
func (f frame) since(g frame) change {
	c := change{Put: map[string]string{}}
	if f.Title != g.Title {
		c.Title = f.Title
	}
	if !slices.Equal(f.Order, g.Order) || g.Pieces == nil {
		c.Order = f.Order
	}
	for id, html := range f.Pieces {
		if old, ok := g.Pieces[id]; !ok || old != html {
			c.Put[id] = html
		}
	}
	return c
}
