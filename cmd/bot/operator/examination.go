package operator

import (
	"context"
	"sync"
	"time"

	"attache"
	"attache/internal/web/pages"
)

// examination keeps what the doctor found last. It asks servers of others, which may
// take seconds; a page shows what was found and sees to it that it is looked again.
type examination struct {
	examine func(context.Context) []pages.Finding

	mu      sync.Mutex
	found   []pages.Finding
	at      time.Time
	looking chan struct{} // closed when the look that is under way is over; nil: none is
}

const (
	stale   = 20 * time.Second // after which a page's look makes the doctor look again
	longest = 15 * time.Second // of one examination
	moment  = 100 * time.Millisecond
)

// latest gives what was found last and when. With fresh it looks now; without, it
// waits a moment for the first look of all.
func (e *examination) latest(ctx context.Context, fresh bool) ([]pages.Finding, time.Time, error) {
	if !fresh {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, moment)
		defer cancel()
	}
	e.mu.Lock()
	if e.looking == nil && (fresh || time.Since(e.at) > stale) {
		e.looking = make(chan struct{})
		go e.look(context.WithoutCancel(ctx), e.looking)
	}
	wait, known := e.looking, !e.at.IsZero()
	e.mu.Unlock()
	if wait != nil && (fresh || !known) {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, time.Time{}, &attache.Error{Kind: attache.KindOutside, Say: "The doctor is still looking; load this page again in a moment."}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.found, e.at, nil
}

func (e *examination) look(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	found := e.examine(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found, e.at, e.looking = found, time.Now(), nil
	close(done)
}

// wait returns when no look is under way.
func (e *examination) wait() {
	e.mu.Lock()
	looking := e.looking
	e.mu.Unlock()
	if looking != nil {
		<-looking
	}
}
