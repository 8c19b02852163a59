package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"attache"
	"attache/access"
	"attache/gateway"
	"attache/gateway/mind"
	"attache/gateway/posts"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/cliagent"
	"attache/internal/conversation"
	"attache/internal/engine"
	"attache/internal/store"
	"attache/internal/telegram/richtext"
	"attache/internal/telegram/updates"
	"attache/internal/usage"
	"attache/internal/views"
	"attache/origins"
)

// program is a running Attaché: the wiring of `run` and `demo`. The order of its
// life is the order of the functions below: prepare, run, close.
type program struct {
	log     *slog.Logger
	flags   *flags
	db      *database
	engine  *engine.Engine
	gateway *gateway.Gateway
	bots    []*bot
	webhook *updates.Webhook // for all of them
	brain   *brain.Holder
	began   *brain.Brain // what it began with: some of it is read at the start only
	talks   *conversation.Store
	origins *origins.Store
	ties    *access.Store // bindings that tools made
	mind    *mind.Mind
	agents  *cliagent.Pool
	beats   *heartbeat.Runner
	clock   heartbeat.Clock              // nil: the machine's
	views   atomic.Pointer[views.Reader] // nil until the brain names a view

	sqlTools executor
	metrics  *metrics
	operator *operator // nil without HTTP
	windows  windows
	token    attache.Secret      // of the operator: pages, their JSON, /metrics
	getenv   func(string) string // where a brain's env: settings are read
	clients  struct {
		sync.Mutex
		byName map[string]modelClient
	}
}

// settings are what differs between `run` and `demo`.
type settings struct {
	brain  *brain.Holder
	tokens map[attache.BotID]attache.Secret
	say    func(string) // progress for the person at the terminal
	getenv func(string) string
	anew   bool // forget what an earlier run left: its Telegram is gone too
}

// newProgram opens the database and prepares everything that can fail before a
// bot speaks.
func newProgram(ctx context.Context, f *flags, s settings, log *slog.Logger) (*program, error) {
	db, err := openDatabase(ctx, f, true, log, s.say)
	if err != nil {
		return nil, err
	}
	if s.anew {
		if err := db.forget(ctx); err != nil {
			db.Close()
			return nil, err
		}
	}
	p := &program{log: log, flags: f, clock: f.Clock, db: db, brain: s.brain, began: s.brain.Current(), getenv: s.getenv, metrics: newMetrics()}
	if p.getenv == nil {
		p.getenv = lookup
	}
	if f.Listen != "off" {
		if p.token, err = adminToken(s.say); err != nil {
			p.close()
			return nil, err
		}
	}
	if err := p.prepare(ctx, s.tokens); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// prepare makes the engine, the gateway and the bots. The engine lives on until
// close, so that turns in progress can end after ctx has.
func (p *program) prepare(ctx context.Context, tokens map[attache.BotID]attache.Secret) (err error) {
	executor := rand.Text()
	p.engine, err = engine.New(context.WithoutCancel(ctx), engine.Options{Pool: p.db.Pool(), Executor: executor, Log: p.log})
	if err != nil {
		return err
	}
	if err := p.openViews(ctx); err != nil {
		return fmt.Errorf("state views: %w", err)
	}
	if p.talks, err = conversation.Open(ctx, p.db.DB); err != nil {
		return err
	}
	if p.origins, err = origins.Open(ctx, p.db.DB); err != nil {
		return err
	}
	if p.ties, err = access.OpenStore(ctx, p.db.DB); err != nil {
		return err
	}
	if p.mind, err = p.newMind(ctx); err != nil {
		return err
	}
	p.gateway, err = gateway.New(ctx, gateway.Options{
		DB: p.db.DB, Engine: p.engine, Executor: executor, Alone: p.db.alone(), Log: p.log,
		Forms:  posts.Forms{Compose: richtext.Compose, Simpler: richtext.Simpler, Retarget: richtext.Retarget},
		Answer: p.answer,
		New: func(ctx context.Context, tx store.Tx, at attache.Place) error {
			return p.talks.Reset(ctx, tx, at, "new")
		},
		Moved:       p.moved,
		Dropped:     func(ctx context.Context, turn int64) error { return p.talks.Drop(ctx, turn) },
		Posted:      p.posted,
		RunEnded:    p.runEnded,
		CountUpdate: p.metrics.update, CountTurn: p.metrics.turn, CountPost: p.metrics.post,
		Keep:   p.keep,
		Forget: p.forget,
	})
	if err != nil {
		return err
	}
	if p.beats, err = p.newRunner(ctx); err != nil {
		return err
	}
	for id, token := range tokens {
		b, err := p.newBot(ctx, id, token)
		if err != nil {
			return err
		}
		p.bots = append(p.bots, b)
	}
	p.webhook = p.newWebhook()
	if !p.token.Empty() {
		if p.operator, err = p.newOperator(ctx); err != nil {
			return err
		}
	}
	return p.engine.Launch()
}

// keep gives the brain's retention as it is now.
func (p *program) keep() gateway.Retention {
	r := p.brain.Current().Frame.Manifest.Retention
	return gateway.Retention{Updates: r.Updates, Room: r.Room, Turns: r.Turns}
}

// forget deletes what other owners keep of turns.
func (p *program) forget(ctx context.Context, before time.Time) error {
	for {
		n, err := usage.Forget(ctx, p.db.Pool(), before)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if err := p.mind.Forget(ctx, before); err != nil {
		return err
	}
	for {
		n, err := heartbeat.Forget(ctx, p.db.Pool(), before)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if err := p.origins.Forget(ctx, p.brain.Current().Frame.Manifest.MessageOrigins.RetentionDays); err != nil {
		return err
	}
	return p.talks.Forget(ctx, before)
}

// moved carries what other owners keep of a group to its new number.
func (p *program) moved(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error {
	if err := p.talks.Migrate(ctx, tx, bot, m.From, m.To); err != nil {
		return err
	}
	if err := p.origins.Move(ctx, tx, bot, m); err != nil {
		return err
	}
	if err := p.ties.Move(ctx, tx, bot, m); err != nil {
		return err
	}
	return usage.Move(ctx, tx, bot, m)
}

// run serves until ctx ends, then lets turns in progress end.
func (p *program) run(ctx context.Context) error {
	listener, err := p.listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	if listener != nil {
		p.log.Info("the operator's pages are served", "why", "http://"+listener.Addr().String()+"/")
		server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
		wg.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				p.log.Error("HTTP ended", "err", err)
			}
		})
		wg.Go(func() {
			<-ctx.Done()
			patience, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			_ = server.Shutdown(patience)
		})
	}
	wg.Go(func() {
		p.brain.Watch(ctx, func(b *brain.Brain) {
			p.allow(ctx, b)
			p.beats.Changed()
		})
	})
	wg.Go(func() { p.beats.Run(ctx) })
	for _, b := range p.bots {
		wg.Go(func() { b.run(ctx) })
	}
	err = p.gateway.Run(ctx)
	cancel() // if it could not begin, the others end too
	wg.Wait()
	return err
}

// close ends what prepare began, in reverse.
func (p *program) close() {
	if p.engine != nil {
		if err := p.engine.Close(2 * time.Second); err != nil {
			p.log.Warn("work in progress did not stop in time; the next start goes on with it", "err", err)
		}
	}
	if p.agents != nil {
		p.agents.Close()
	}
	if p.operator != nil {
		p.operator.doctor.wait()
	}
	if reader := p.views.Load(); reader != nil {
		reader.Close()
	}
	p.sqlTools.close()
	p.db.Close()
}

// listen opens the HTTP address; nil without one.
func (p *program) listen() (net.Listener, error) {
	if p.flags.Listen == "off" {
		if p.flags.PublicURL != "" {
			return nil, misused("--public-url needs HTTP: Telegram brings the updates there; leave --listen off out")
		}
		return nil, nil
	}
	l, err := net.Listen("tcp", p.flags.Listen)
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be listened on: %w; choose another with --listen, or --listen off", p.flags.Listen, err)
	}
	return l, nil
}
