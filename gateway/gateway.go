// Package gateway is the order of steps: an update is kept, read, judged and put
// into the turn of its place; a turn gathers its messages, is answered and posted.
//
// The data, all in this package's tables (migrations/): `updates` as they arrived,
// `messages` that wait or were taken, `turns` of which one waits and one runs in a
// place, `posts` with the intent before each call and the result after it,
// `holds` that Telegram asked for, `chat_aliases` of migrated groups, and
// `executors`, the living processes. Each step is one transaction and every step
// can be the last one before a crash: what is found half done is taken up, except
// a call whose outcome nobody knows, which is reported (decisions § 7.5).
//
// The package knows neither Telegram's wire nor a model: it gets both as values.
package gateway

import (
	"context"
	"embed"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Courier carries posts of one bot to Telegram. Clear waits for the post's turn
// at the gate; Ready takes that turn only if it is free this moment; Deliver makes
// the call and never reports an outcome that it does not know.
type Courier interface {
	Ready(chat attache.ChatID) bool
	Clear(ctx context.Context, chat attache.ChatID) error
	Deliver(ctx context.Context, part attache.Part) attache.Delivery
}

// Bot is one bot that the gateway serves, as values.
type Bot struct {
	ID      attache.BotID
	Courier Courier
	// Typing shows "typing…" in a place until stop is called; cosmetic, so it never
	// fails anything. May be nil.
	Typing func(attache.Place) (stop func())
	// Decode reads one raw update.
	Decode func(raw []byte) (attache.Update, error)
	// Judge says what is to be done with a message, and why.
	Judge func(attache.Message) Verdict
	// Press makes the input of a button's press, judges it, and acknowledges it.
	Press func(p attache.Press, update int64) (attache.Message, Verdict)
}

// Act is what is done with a message.
type Act string

// The acts. ActSilence means that no rule lets the chat in: the raw update is
// emptied (decisions § 6.1).
const (
	ActAnswer  Act = "answer"
	ActObserve Act = "observe"
	ActIgnore  Act = "ignore"
	ActSilence Act = "silence"
	ActStop    Act = "stop"  // the command /stop
	ActNew     Act = "new"   // the command /new: Verdict.Say, and a new session
	ActReply   Act = "reply" // a command that is answered with Verdict.Say at once
)

// Verdict is a judged message: the act, why, and what its rule sets.
type Verdict struct {
	Act   Act
	Why   string
	Quiet time.Duration // time without a further message that ends the burst; see engage.Quiet
	Say   string        // with ActReply and ActNew: chrome to post at once
}

// Answer is what a turn came to.
type Answer struct {
	Markdown string         `json:"markdown"` // empty: the turn is silent
	Format   attache.Format `json:"format"`
	Gone     string         `json:"gone,omitempty"` // `chat`: an answer whose topic is gone goes to the chat
	Why      string         `json:"why,omitempty"`  // why silent or failed; for the log and ledger
	Failed   bool           `json:"failed,omitempty"`
}

// Turn is what an answer is made from.
type Turn struct {
	ID       int64
	Place    attache.Place
	Room     []attache.Message // lines of the room that ride along, before the input
	Messages []attache.Message // the input, in the order of the conversation
	fresh    bool              // gathered by this process just now: nothing was done yet
	stop     bool              // a person stopped it before this execution began
}

// Options wires a gateway.
type Options struct {
	DB       *store.DB
	Engine   *engine.Engine
	Executor string // the id that the engine was given
	Alone    bool   // no other process can live on this database: all other executors are dead
	Log      *slog.Logger
	// Compose cuts an outgoing text into parts. Simpler says a refused part in the
	// next simpler form, nil when there is none. Retarget points a part at another
	// place, without its reply.
	Compose  func(attache.Outgoing) []attache.Part
	Simpler  func(attache.Part) []attache.Part
	Retarget func(attache.Part, attache.Place) attache.Part
	// Answer makes a turn's answer; it may use steps of run. ctx ends when the turn
	// is stopped or the process shuts down.
	Answer func(ctx context.Context, run engine.Run, t Turn) (Answer, error)
	// New ends the session of a place in the transaction that handles /new; Moved
	// tells of a migrated group in the transaction that records it. Dropped is told
	// of a turn that ends without an answer, before it is closed: it leaves nothing
	// in the history. Each may be nil.
	New     func(ctx context.Context, tx store.Tx, p attache.Place) error
	Moved   func(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error
	Dropped func(ctx context.Context, turn int64) error
	// Count is told of everything that is worth counting; may be nil.
	Count func(Event)
	// Keep gives the retention of handled updates, of a room's lines that no turn
	// took, and of ended turns with their messages and posts; it is asked each time,
	// since the brain may change. Forget deletes what other owners keep of turns.
	Keep   func() Retention
	Forget func(ctx context.Context, before time.Time) error
}

// Retention is how long things are kept (interface § 3, `retention:`).
type Retention struct{ Updates, Room, Turns time.Duration }

// Gateway serves all bots of a process.
type Gateway struct {
	o    Options
	db   *store.DB
	log  *slog.Logger
	bots map[attache.BotID]*intake

	mu      sync.Mutex
	timers  map[int64]*time.Timer        // waiting turns that this process will start
	cancels map[int64]context.CancelFunc // running turns of this process
	fresh   map[int64]Turn               // gathered here and not yet begun
	chrome  map[int64]bool               // posts of the engine itself that are on their way
	redone  map[int64]time.Time          // turns that were handed to the engine again, and when
	swept   time.Time                    // when the last sweep ended; only the beat's goroutine uses it
	trust   time.Time                    // until when no other process is held for dead; likewise
	stopped atomic.Bool
	working sync.WaitGroup
	former  map[formerKey]attache.ChatID    // the old numbers of migrated groups
	met     map[formerKey]bool              // groups whose old number, if any, is known
	told    map[int64]time.Time             // turns that were told to stop while they did not run here, and when
	awaited map[attache.BotID]chan struct{} // bots that will be served, closed when they are
	ctx     context.Context                 // ends when Run ends; work that is not a turn's own hangs on it
	quit    context.CancelFunc
}

// New migrates the tables and registers the turn's work with the engine, which
// is launched afterwards.
func New(ctx context.Context, o Options) (*Gateway, error) {
	if err := Migrate(ctx, o.DB); err != nil {
		return nil, err
	}
	g := &Gateway{
		o: o, db: o.DB, log: o.Log,
		bots:    map[attache.BotID]*intake{},
		timers:  map[int64]*time.Timer{},
		cancels: map[int64]context.CancelFunc{},
		fresh:   map[int64]Turn{},
		chrome:  map[int64]bool{},
		redone:  map[int64]time.Time{},
		former:  map[formerKey]attache.ChatID{},
		met:     map[formerKey]bool{},
		told:    map[int64]time.Time{},
		awaited: map[attache.BotID]chan struct{}{},
	}
	g.ctx, g.quit = context.WithCancel(context.WithoutCancel(ctx))
	if err := g.loadFormer(ctx); err != nil {
		return nil, err
	}
	o.Engine.Register("turn", g.turn)
	return g, nil
}

// Expect says that a bot will be served as soon as it is known, which may take as
// long as Telegram is out of reach: its turns that a dead process left wait for it.
func (g *Gateway) Expect(bot attache.BotID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.awaited[bot] = make(chan struct{})
}

// Serve begins the intake of a bot: what was kept before is handled first. It may
// be called while Run works, as soon as the bot is known.
func (g *Gateway) Serve(b Bot) {
	in := &intake{g: g, bot: b, wake: make(chan struct{}, 1)}
	g.mu.Lock()
	g.bots[b.ID] = in
	if ready := g.awaited[b.ID]; ready != nil {
		close(ready)
		delete(g.awaited, b.ID)
	}
	g.mu.Unlock()
	g.working.Go(func() { in.run(g.ctx) })
	in.poke()
}

// Run keeps the gateway going until ctx ends: it registers this process, recovers
// what dead ones left, starts waiting turns whose time has come, and forgets what
// is old. It returns when all intakes have stopped and the turns in progress have
// ended, or have been waited for long enough: then the next start goes on with
// them.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.quit()
	if err := g.register(ctx); err != nil {
		return err
	}
	g.working.Go(func() { g.db.Listen(ctx, stopChannel, g.heardStop) })
	g.working.Go(func() { g.forget(ctx) })
	g.beat(ctx)
	g.stopped.Store(true)
	g.quit()
	g.working.Wait()
	return g.drain()
}

// patience is how long a stopping process waits for turns in progress.
const patience = 10 * time.Second

// drain waits for turns in progress.
func (g *Gateway) drain() error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		g.mu.Lock()
		n := len(g.cancels) + len(g.fresh) + len(g.chrome)
		g.mu.Unlock()
		if n == 0 {
			return nil
		}
	}
	return nil
}

// served gives the intake of a bot, and waits for it if the bot is expected; nil
// when it is not, or when ctx or the gateway ends first.
func (g *Gateway) served(ctx context.Context, bot attache.BotID) *intake {
	g.mu.Lock()
	ready := g.awaited[bot]
	g.mu.Unlock()
	if ready != nil {
		select {
		case <-ready:
		case <-ctx.Done():
		case <-g.ctx.Done():
		}
	}
	return g.intake(bot)
}

func (g *Gateway) intake(bot attache.BotID) *intake {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bots[bot]
}
