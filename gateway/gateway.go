// Package gateway is the order of steps: an update is kept, read, judged and put
// into the turn of its place; a turn gathers its messages, is answered and posted.
//
// The data, all in tables that this package makes (migrations/): `messages` that wait or
// were taken, `turns` of which one waits and one runs in a place, `executors`, the living
// processes; and `updates` as they arrived, which gateway/inbox keeps, and `chat_aliases`
// of migrated groups, which gateway/aliases does. What is said lies in gateway/posts, how
// a turn is answered in gateway/mind, what commands read of all this in gateway/ledger.
//
// Each step is one transaction and every step can be the last one before a crash:
// what is found half done is taken up, except a call whose outcome nobody knows,
// which is reported (decisions § 7.5). So the database is the truth, and whatever
// this process remembers besides only saves it a look: timers that start turns
// early, turns that it just gathered, turns that it runs and can stop. A process
// that forgets all of it loses a second, until the next sweep.
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
	"attache/gateway/aliases"
	"attache/gateway/posts"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the tables of the gateway and of its posts up to date. Commands
// that only read call it too, so that they work on a database that no `run` has
// seen.
func Migrate(ctx context.Context, db *store.DB) error {
	if err := db.Migrate(ctx, "gateway", migrations); err != nil {
		return err
	}
	return posts.Migrate(ctx, db)
}

// Gateway serves all bots of a process.
type Gateway struct {
	o      Options
	db     *store.DB
	log    *slog.Logger
	posts  *posts.Office
	former *aliases.Known

	mu      sync.Mutex // of the maps below
	bots    map[attache.BotID]*intake
	awaited map[attache.BotID]chan struct{} // bots that will be served, closed when they are
	timers  map[int64]*time.Timer           // waiting turns that this process will start
	fresh   map[int64]Turn                  // gathered here and not yet begun
	cancels map[int64]context.CancelFunc    // running turns of this process
	told    map[int64]time.Time             // turns that were told to stop while they did not run here, and when
	redone  map[int64]time.Time             // turns that were handed to the engine again, and when

	swept time.Time // when the last sweep ended; only the beat's goroutine uses it
	trust time.Time // until when no other process is held for dead; likewise

	stopped atomic.Bool // Run ends: nothing new is begun
	working sync.WaitGroup
	ctx     context.Context // ends when Run ends; work that is not a turn's own hangs on it
	quit    context.CancelFunc
}

// New migrates the tables and registers the turn's work with the engine, which
// is launched afterwards: a journal that goes on before its work is known could
// not.
func New(ctx context.Context, o Options) (*Gateway, error) {
	if err := Migrate(ctx, o.DB); err != nil {
		return nil, err
	}
	g := &Gateway{
		o: o, db: o.DB, log: o.Log,
		former:  aliases.New(o.DB),
		bots:    map[attache.BotID]*intake{},
		awaited: map[attache.BotID]chan struct{}{},
		timers:  map[int64]*time.Timer{},
		fresh:   map[int64]Turn{},
		cancels: map[int64]context.CancelFunc{},
		told:    map[int64]time.Time{},
		redone:  map[int64]time.Time{},
	}
	g.posts = posts.New(posts.Options{
		DB: o.DB, Executor: o.Executor, Log: o.Log, Forms: o.Forms, Owned: owned, Moved: g.heardOfMove, Count: o.CountPost, Posted: o.Posted,
	})
	// The loops outlive the caller's context: when it ends, Run still lets turns in
	// progress come to their end.
	g.ctx, g.quit = context.WithCancel(context.WithoutCancel(ctx))
	if err := g.former.Load(ctx); err != nil {
		return nil, err
	}
	// Before any work can begin: a turn of a process that nobody ever heard of would
	// belong to nobody who could be found dead.
	if err := g.register(ctx); err != nil {
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
	g.posts.Serve(b.ID, b.Courier) // before the intake, which may have something to say at once
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
		if ctx.Err() != nil {
			return nil // it was told to stop before it had begun
		}
		return err
	}
	g.working.Go(func() { g.db.Listen(ctx, stopChannel, g.heardStop) })
	g.working.Go(func() { g.forget(ctx) })
	lease := g.beat(ctx)
	// First nothing new is begun, then the loops end, then what runs may end. In any
	// other order an intake could still start a turn behind the back of drain.
	g.stopped.Store(true)
	g.quit()
	g.working.Wait()
	g.drain()
	// Only now: as long as this lock is held, no other process takes this one for dead
	// and does the turns that are ending here a second time.
	if lease != nil {
		lease.Release()
	}
	return nil
}

// patience is how long a stopping process waits for turns in progress. A model may
// take minutes; who stops a program wants it stopped, and nothing is lost by it.
const patience = 10 * time.Second

// drain waits for turns in progress, and for chrome that is on its way. It looks now
// and then, which costs nothing in the last seconds of a process.
func (g *Gateway) drain() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		g.mu.Lock()
		n := len(g.cancels) + len(g.fresh)
		g.mu.Unlock()
		if n == 0 && g.posts.Idle() {
			return
		}
	}
}

// served gives the intake of a bot that a turn needs, and waits for it if the bot is
// expected; nil when it is not, or when ctx or the gateway ends first. A turn that waits
// here holds its place only; others go on.
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

// Say posts for a tool call of a running turn, once however often it is asked for;
// see posts.Office.
func (g *Gateway) Say(ctx context.Context, turn int64, call string, what attache.Outgoing) (posts.Said, error) {
	return g.posts.Say(ctx, turn, call, what)
}

// Again tells what became of a tool call that an earlier execution of its turn
// posted for, and goes on with it; false: it had not. See posts.Office.
func (g *Gateway) Again(ctx context.Context, turn int64, call string) (posts.Said, bool, error) {
	return g.posts.Again(ctx, turn, call)
}

// Hold keeps a pause that Telegram asked for. It is tied to no call: the pause
// outlives what ran into it.
func (g *Gateway) Hold(h attache.Hold) { g.posts.Hold(g.ctx, h) }

// Holds gives the pauses of a bot that are not over, for a sender that starts.
func (g *Gateway) Holds(ctx context.Context, bot attache.BotID) ([]attache.Hold, error) {
	return g.posts.Holds(ctx, bot)
}
