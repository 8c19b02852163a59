// Package engine is the durable execution of work: a thin port over DBOS Transact.
//
// A piece of work has a name (what function does it), an id (the same id runs
// once, whoever asks and however often) and an input. The function is made of
// steps; the outcome of each step is journaled in Postgres, so that work which a
// killed process left behind goes on in a living one from its last finished step.
// A step may run twice towards the outside: whoever calls the outside world
// writes down the intent before and the result after (architecture § 3).
//
// The journal lives in schema `dbos`, which nobody else reads or writes.
package engine

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shape names the shape of all work functions. It changes when a function gets
// other steps, so that a journal of the old shape is never replayed by the new
// one (architecture § 3, ApplicationVersion).
const shape = "1"

// Options says where the journal lives and who executes.
type Options struct {
	Pool     *pgxpool.Pool // shared with the rest of the program
	Executor string        // new for every process start (architecture § 3)
	Log      *slog.Logger
}

// Engine runs named work durably.
type Engine struct {
	dbos  dbos.Context
	works map[string]Work
}

// Work is a function of steps. It may run again from the top after a crash, with
// finished steps answered from the journal, so everything that acts or that can
// come out differently belongs into a Step.
type Work func(run Run, input string) error

// Run is one execution of a piece of work.
type Run struct {
	ctx dbos.Context
	ID  string // the id that Start was given
}

// Context ends when the process shuts down or the work is cancelled.
func (r Run) Context() context.Context { return r.ctx }

// task is what the journal keeps as the input of the one DBOS workflow: all work
// goes through it, because DBOS tells workflows apart by function and not by name.
type task struct {
	Work  string `json:"work"`
	Input string `json:"input"`
}

// New connects the journal, creating or migrating its tables. Work is registered
// between New and Launch.
func New(ctx context.Context, o Options) (*Engine, error) {
	gob.Register(failure{})
	open, err := alone(ctx, o.Pool)
	if err != nil {
		return nil, fmt.Errorf("the journal of work cannot be opened: %w", err)
	}
	defer open()
	d, err := dbos.NewContext(ctx, dbos.Config{
		AppName:                      "attache",
		SystemDBPool:                 o.Pool,
		ApplicationVersion:           shape,
		ExecutorID:                   o.Executor,
		Logger:                       slog.New(quiet{Handler: o.Log.Handler()}),
		NotificationCoalesceInterval: time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("the journal of work cannot be opened: %w", err)
	}
	e := &Engine{dbos: d, works: map[string]Work{}}
	dbos.RegisterWorkflow(d, e.run, dbos.WithWorkflowName("work"), dbos.WithMaxRecoveryAttempts(1000))
	return e, nil
}

// alone waits until no other process makes or migrates the journal's tables, which
// DBOS does without a lock: two replicas that start side by side on a new database
// would meet there. done lets the next one go on. The connection is none of the
// pool's, whose last one it might be. It asks again and again and does not wait in
// a statement: DBOS makes indexes concurrently, which waits for every statement.
func alone(ctx context.Context, pool *pgxpool.Pool) (done func(), err error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	done = func() { _ = conn.Close(context.WithoutCancel(ctx)) } // the end of the session gives the lock back
	for {
		var got bool
		if err := conn.QueryRow(ctx, `select pg_try_advisory_lock(hashtext('attache.journal'), 0)`).Scan(&got); err != nil {
			done()
			return nil, err
		}
		if got {
			return done, nil
		}
		select {
		case <-ctx.Done():
			done()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Register names a function; it must be done before Launch.
func (e *Engine) Register(name string, fn Work) { e.works[name] = fn }

// Launch starts execution: work of this executor can be started, and work that
// Resume hands over is picked up within a second.
func (e *Engine) Launch() error {
	if err := dbos.Launch(e.dbos); err != nil {
		return fmt.Errorf("the journal of work cannot be opened: %w", err)
	}
	return nil
}

// Start runs the named work under an id. The same id runs once: a second Start of
// it does nothing, whether the first is running or done.
func (e *Engine) Start(name, id, input string) error {
	if _, ok := e.works[name]; !ok {
		return fmt.Errorf("no work is registered under the name %q", name)
	}
	_, err := dbos.RunWorkflow(e.dbos, e.run, task{name, input}, dbos.WithWorkflowID(id))
	return err
}

// Resume hands the work with this id, begun by an executor that is dead, to
// whoever is alive. It reports false when no unfinished work has that id.
func (e *Engine) Resume(id string) (bool, error) {
	found, err := dbos.ListWorkflows(e.dbos, dbos.WithFilterWorkflowIDs(id), dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return false, err
	}
	if len(found) == 0 || found[0].Status == dbos.WorkflowStatusSuccess || found[0].Status == dbos.WorkflowStatusError {
		return false, nil
	}
	if _, err := dbos.ResumeWorkflow[string](e.dbos, id); err != nil {
		return false, err
	}
	return true, nil
}

// Forget deletes the journal of work that ended before a moment; it is asked for
// regularly, since DBOS keeps everything for ever. It deletes at most a thousand
// pieces and reports how many, so that a long list never holds the database.
func (e *Engine) Forget(before time.Time) (int, error) {
	done, err := dbos.ListWorkflows(e.dbos,
		dbos.WithFilterStatus(dbos.WorkflowStatusSuccess, dbos.WorkflowStatusError, dbos.WorkflowStatusCancelled),
		dbos.WithFilterCompletedBefore(before), dbos.WithFilterLimit(1000),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil || len(done) == 0 {
		return 0, err
	}
	ids := make([]string, len(done))
	for i, w := range done {
		ids[i] = w.ID
	}
	return len(ids), dbos.DeleteWorkflows(e.dbos, ids)
}

// Close stops execution. Work in progress sees its context end and stays in the
// journal for the next start.
func (e *Engine) Close(patience time.Duration) error { return dbos.Shutdown(e.dbos, patience) }

func (e *Engine) run(ctx dbos.Context, t task) (string, error) {
	fn, ok := e.works[t.Work]
	if !ok {
		return "", fmt.Errorf("no work is registered under the name %q", t.Work)
	}
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return "", err
	}
	return "", fn(Run{ctx: ctx, ID: id}, t.Input)
}

// Step does one part of a run and journals its result as JSON: done once, it is
// answered from the journal ever after. An error of fn is journaled too, so fn
// returns an error only for an outcome that must not be tried again.
func Step[R any](run Run, name string, fn func(ctx context.Context) (R, error)) (R, error) {
	var zero R
	raw, err := dbos.RunAsStep(run.ctx, func(ctx context.Context) (json.RawMessage, error) {
		r, err := fn(ctx)
		if err != nil {
			return nil, failure{err.Error(), err}
		}
		return json.Marshal(r)
	}, dbos.WithStepName(name))
	if err != nil {
		return zero, err
	}
	var r R
	if err := json.Unmarshal(raw, &r); err != nil {
		return zero, fmt.Errorf("the journal of step %s does not read back: %w", name, err)
	}
	return r, nil
}

// failure is an error in a form that the journal keeps without a warning: its words.
// As long as this process lives it is still the error that fn returned.
type failure struct {
	Text  string
	cause error
}

func (f failure) Error() string { return f.Text }

func (f failure) Unwrap() error { return f.cause }

// quiet passes the journal's warnings and errors on and drops its chatter. What
// its background loops meet is told for debugging only: they try again each second
// by themselves, a database that is away has its own line in the log, and a stop
// of the process is no error.
type quiet struct {
	slog.Handler
	loop bool // the records are of a background loop
}

// Enabled drops everything below a warning.
func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && q.Handler.Enabled(ctx, l)
}

// Handle lowers what is of a background loop.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if q.loop || r.Message == "Failed to cancel timed-out workflows" {
		if !q.Handler.Enabled(ctx, slog.LevelDebug) {
			return nil
		}
		r.Level = slog.LevelDebug
	}
	return q.Handler.Handle(ctx, r)
}

// WithAttrs keeps the threshold; the embedded handler alone would lose it.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	loop := q.loop || slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "service" && a.Value.String() == "queue_runner" })
	return quiet{q.Handler.WithAttrs(attrs), loop}
}

// WithGroup keeps the threshold.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.loop} }
