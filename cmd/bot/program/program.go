// Package program is a running Attaché: the wiring of `attache run` and of the demo.
//
// It owns no data. What it knows beyond a call is in memory: its bots with their gates
// and the clients of the models. Everything else is handed from one owner to the next,
// as plain values and as functions that close over the Program; each file here is one
// such seam.
package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"attache"
	"attache/access"
	"attache/cmd/bot/lookback"
	"attache/cmd/bot/metrics"
	"attache/cmd/bot/operator"
	"attache/cmd/bot/state"
	"attache/gateway"
	"attache/gateway/mind"
	"attache/gateway/posts"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/cliagent"
	"attache/internal/conversation"
	"attache/internal/doctor"
	"attache/internal/engine"
	"attache/internal/store"
	"attache/internal/telegram/richtext"
	"attache/internal/telegram/updates"
	"attache/internal/usage"
	"attache/origins"
)

// Program is the running program. The order of its life is the order of the functions
// below: New, Run, Close.
type Program struct {
	s        Settings
	log      *slog.Logger
	db       *store.DB
	engine   *engine.Engine
	gateway  *gateway.Gateway
	bots     []*bot
	webhook  *updates.Webhook // for all of them
	brain    *brain.Holder
	began    *brain.Brain    // what it began with: some of it is read at the start only
	waiting  map[string]bool // edits that wait for the next start, as the log told them; of the watch alone
	talks    *conversation.Store
	origins  *origins.Store
	ties     *access.Store // bindings that tools made
	mind     *mind.Mind
	agents   *cliagent.Pool
	beats    *heartbeat.Runner
	state    *state.State
	metrics  *metrics.Metrics
	operator *operator.Operator // nil without HTTP
	lookback *lookback.Windows
	clients  struct {
		sync.Mutex
		byName map[string]modelClient
	}
}

// Settings are what the command line and the environment say, as values. All of them
// are required but where it is said what leaving one out means.
type Settings struct {
	DB     *store.DB
	Alone  bool // no other process can be working on this database
	Brain  *brain.Holder
	Tokens map[attache.BotID]attache.Secret
	Log    *slog.Logger
	Clock  heartbeat.Clock // nil: the machine's

	TelegramAPI string         // the Bot API server
	PublicURL   string         // under which Telegram reaches this process; "": it polls
	Listen      string         // address for HTTP; off: none
	Admin       attache.Secret // of the operator: pages, their JSON, /metrics; empty: none of these
	Files       string         // the folder below which each place has one of its own

	// Getenv gives the environment in which a brain's env: settings are read.
	Getenv func(string) string
	// Variable names the variable that a bot's token was read from: what to mend.
	Variable func(attache.BotID) string
	// Env is what agents of their own get of the environment, and Hidden are the values
	// in it that no log may show.
	Env    []string
	Hidden []string
	// Subject gives what the doctor examines besides the bots, and Bot one of those.
	Subject func(b *brain.Brain, problems []attache.Problem) doctor.Subject
	Bot     func(id attache.BotID, client doctor.Telegram) doctor.Bot
}

// New prepares everything that can fail before a bot speaks. The database stays the
// caller's: it is closed after Close.
func New(ctx context.Context, s Settings) (*Program, error) {
	p := &Program{s: s, log: s.Log, db: s.DB, brain: s.Brain, began: s.Brain.Current(), metrics: metrics.New(), waiting: map[string]bool{}}
	if err := p.prepare(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// prepare makes the engine, the gateway and the bots. The engine lives on until
// close, so that turns in progress can end after ctx has.
func (p *Program) prepare(ctx context.Context) (err error) {
	executor := rand.Text()
	p.engine, err = engine.New(context.WithoutCancel(ctx), engine.Options{Pool: p.db.Pool(), Executor: executor, Log: p.log})
	if err != nil {
		return err
	}
	if p.state, err = state.Open(ctx, p.db, p.brain.Current, p.log); err != nil {
		return fmt.Errorf("state views: %w", err)
	}
	if p.talks, err = conversation.Open(ctx, p.db); err != nil {
		return err
	}
	p.lookback = lookback.New(p.db, p.talks)
	if p.origins, err = origins.Open(ctx, p.db); err != nil {
		return err
	}
	if p.ties, err = access.OpenStore(ctx, p.db); err != nil {
		return err
	}
	if p.mind, err = p.newMind(ctx); err != nil {
		return err
	}
	p.gateway, err = gateway.New(ctx, gateway.Options{
		DB: p.db, Engine: p.engine, Executor: executor, Alone: p.s.Alone, Log: p.log,
		Forms:  posts.Forms{Compose: richtext.Compose, Simpler: richtext.Simpler, Retarget: richtext.Retarget},
		Answer: p.answer, Keys: p.keys,
		New: func(ctx context.Context, tx store.Tx, at attache.Place) error {
			return p.talks.Reset(ctx, tx, at, "new")
		},
		Moved:       p.moved,
		Dropped:     func(ctx context.Context, turn int64) error { return p.talks.Drop(ctx, turn) },
		Posted:      p.posted,
		RunEnded:    p.runEnded,
		CountUpdate: p.metrics.Update, CountTurn: p.metrics.Turn, CountPost: p.metrics.Post,
		Keep:   p.keep,
		Forget: p.forget,
	})
	if err != nil {
		return err
	}
	if p.beats, err = p.newRunner(ctx); err != nil {
		return err
	}
	for id, token := range p.s.Tokens {
		b, err := p.newBot(ctx, id, token)
		if err != nil {
			return err
		}
		p.bots = append(p.bots, b)
	}
	p.webhook = p.newWebhook()
	if !p.s.Admin.Empty() {
		if p.operator, err = p.newOperator(ctx); err != nil {
			return err
		}
	}
	return p.engine.Launch()
}

// keep gives the brain's retention as it is now.
func (p *Program) keep() gateway.Retention {
	r := p.brain.Current().Frame.Manifest.Retention
	return gateway.Retention{Updates: r.Updates, Room: r.Room, Turns: r.Turns}
}

// forget deletes what other owners keep of turns.
func (p *Program) forget(ctx context.Context, before time.Time) error {
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
func (p *Program) moved(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error {
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

// Run serves until ctx ends, then lets turns in progress end.
func (p *Program) Run(ctx context.Context) error {
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
		wg.Go(func() { p.remember(ctx) })
		wg.Go(func() {
			<-ctx.Done()
			patience, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			_ = server.Shutdown(patience)
		})
	}
	wg.Go(func() {
		p.brain.Watch(ctx, func(b *brain.Brain) {
			p.state.Allow(ctx, b)
			p.beats.Changed()
			p.waits(b)
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

// Close ends what New began, in reverse.
func (p *Program) Close() {
	if p.engine != nil {
		if err := p.engine.Close(2 * time.Second); err != nil {
			p.log.Warn("work in progress did not stop in time; the next start goes on with it", "err", err)
		}
	}
	if p.agents != nil {
		p.agents.Close()
	}
	if p.operator != nil {
		p.operator.Close()
	}
	if p.state != nil {
		p.state.Close()
	}
}

// listen opens the HTTP address; nil without one.
func (p *Program) listen() (net.Listener, error) {
	if p.s.Listen == "off" {
		if p.s.PublicURL != "" {
			return nil, &attache.Error{Kind: attache.KindUsage, Say: "--public-url needs HTTP: Telegram brings the updates there; leave --listen off out"}
		}
		return nil, nil
	}
	l, err := net.Listen("tcp", p.s.Listen)
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be listened on: %w; choose another with --listen, or --listen off", p.s.Listen, err)
	}
	return l, nil
}
