package cliagent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"attache"
)

// Options are the knobs of a Pool.
type Options struct {
	Most    int           // processes that live at once; 0: 8
	Env     []string      // their environment: without the program's own secrets
	Secrets []string      // values that the log must not show, whoever writes them
	Start   time.Duration // how long an agent may take to name its session; 0: 60 s
	Stop    time.Duration // how long it may take to end when it is asked; 0: 5 s
	Log     *slog.Logger
}

// Pool is the living processes of agents, at most one for each session.
type Pool struct {
	o       Options
	nursery *nursery
	emptied sync.Once // closes the nursery

	mu     sync.Mutex
	live   map[int64]*Agent // by the conversation's session
	change chan struct{}    // closed when a place may have become free
	closed bool
}

// Spec says which process a turn needs.
type Spec struct {
	Key     int64    // the conversation's session
	Place   string   // another session of the same place is over; "" for one of its own
	Command []string // the program and its arguments
	Dir     string   // where it works; made when it is missing
	System  string   // its instructions, told when it starts
	Session string   // the agent's session to go on with, "" for a new one
	Last    string   // the turn that session was asked last: a process that knows another is out of date
	Idle    time.Duration
}

// New makes an empty pool. Close ends what belongs to it.
func New(o Options) *Pool {
	if o.Most == 0 {
		o.Most = 8
	}
	if o.Start == 0 {
		o.Start = time.Minute
	}
	if o.Stop == 0 {
		o.Stop = 5 * time.Second
	}
	return &Pool{o: o, nursery: newNursery(), live: map[int64]*Agent{}, change: make(chan struct{})}
}

// Take gives the process of a session to its caller alone, until Release. It goes on
// with the living one if that fits, starts one otherwise, and makes room by ending
// the one that was idle for longest. When all are busy it waits.
func (p *Pool) Take(ctx context.Context, s Spec) (*Agent, error) {
	for {
		a, wait, err := p.claim(s)
		switch {
		case err != nil:
			return nil, err
		case wait == nil && a.proc != nil:
			return a, nil
		case wait == nil:
			return p.begin(ctx, a)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claim looks for the session's process under the lock: one that fits, a place for a
// new one, which has no process yet, or what to wait for.
func (p *Pool) claim(s Spec) (a *Agent, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errors.New("the program is stopping, so no agent is started")
	}
	for _, other := range p.live {
		if s.Place != "" && other.spec.Place == s.Place && other.spec.Key != s.Key && !other.busy {
			p.end(other)
		}
	}
	if a := p.live[s.Key]; a != nil {
		if a.busy {
			return nil, p.change, nil
		}
		if a.idle.Stop(); a.fits(s) {
			a.busy, a.spec = true, s
			return a, nil, nil
		}
		p.end(a)
		return nil, p.change, nil
	}
	if len(p.live) >= p.o.Most {
		p.evict()
		return nil, p.change, nil
	}
	a = &Agent{pool: p, spec: s, busy: true, log: p.o.Log}
	p.live[s.Key] = a
	return a, nil, nil
}

// fits reports whether a living process can go on.
func (a *Agent) fits(s Spec) bool {
	if !slices.Equal(a.spec.Command, s.Command) || a.spec.Dir != s.Dir || a.spec.System != s.System || a.session != s.Session || a.last != s.Last {
		return false
	}
	// One with another session is asked for the old one by the next turn's process,
	// which learns what it has.
	session, err := a.idling()
	return err == nil && session == a.session
}

// evict ends the process that was idle for longest, if one is.
func (p *Pool) evict() {
	var oldest *Agent
	for _, a := range p.live {
		if !a.busy && (oldest == nil || a.since.Before(oldest.since)) {
			oldest = a
		}
	}
	if oldest != nil {
		p.end(oldest)
	}
}

// begin starts the process of a claimed place. An agent that cannot go on with its
// session gets to start a new one: it has lost it, and is told everything again.
func (p *Pool) begin(ctx context.Context, a *Agent) (*Agent, error) {
	err := a.launch(ctx)
	if err != nil && a.spec.Session != "" && ctx.Err() == nil {
		p.o.Log.Warn("an agent does not go on with its session, so it starts a new one", "err", err)
		a.leave()
		a.spec.Session = ""
		err = a.launch(ctx)
	}
	if err != nil {
		a.leave()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.remove(a)
		return nil, err
	}
	return a, nil
}

// launch starts the process and its session.
func (a *Agent) launch(ctx context.Context) error {
	proc, err := launch(a.spec.Command, a.spec.Dir, a.pool.o.Env, a.pool.nursery.start)
	if err != nil {
		return &attache.Error{Kind: attache.KindOutside, Say: "the program that thinks for me cannot be started", Cause: err}
	}
	p := a.pool
	p.mu.Lock()
	a.proc = proc // Close ends it from now on
	if p.closed {
		p.end(a)
	}
	p.mu.Unlock()
	return a.start(ctx)
}

// leave ends a process that did not start well and waits for its end.
func (a *Agent) leave() {
	if a.proc != nil {
		a.proc.dismiss(a.pool.o.Stop, true)
		<-a.proc.ended
	}
}

// Release gives the process back. It waits for the next turn of its session, unless
// it is of no use any more.
func (a *Agent) Release() {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	a.busy, a.since = false, time.Now()
	if a.broken || a.spec.Idle <= 0 || p.closed {
		p.end(a)
		return
	}
	a.idle = time.AfterFunc(a.spec.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !a.busy && p.live[a.spec.Key] == a {
			p.end(a)
		}
	})
	p.announce()
}

// End ends the idle process of a session that is over.
func (p *Pool) End(key int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.live[key]; a != nil && !a.busy {
		p.end(a)
	}
}

// end asks a process to end. Its place is free when it is gone, so that no two
// processes ever have one session. The lock is held.
func (p *Pool) end(a *Agent) {
	a.busy = true // nobody else takes it
	if a.idle != nil {
		a.idle.Stop()
	}
	a.proc.dismiss(p.o.Stop, a.broken)
	go func() {
		<-a.proc.ended
		p.mu.Lock()
		defer p.mu.Unlock()
		p.remove(a)
	}()
}

// remove and announce let those who wait look again. The lock is held.
func (p *Pool) remove(a *Agent) {
	if p.live[a.spec.Key] == a {
		delete(p.live, a.spec.Key)
	}
	p.announce()
}

func (p *Pool) announce() {
	close(p.change)
	p.change = make(chan struct{})
}

// Close ends every process and waits until they are gone. Turns that still run see
// their agents end.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, a := range p.live {
		if a.proc != nil {
			p.end(a)
		}
	}
	for len(p.live) > 0 {
		wait := p.change
		p.mu.Unlock()
		<-wait
		p.mu.Lock()
	}
	p.mu.Unlock()
	p.emptied.Do(p.nursery.close)
}

// redact takes secrets out of what an agent wrote.
func (p *Pool) redact(text string) string {
	for _, s := range p.o.Secrets {
		if len(s) >= 8 {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	return text
}
