// Package state is agent state in a running program: the tables of the features'
// schema.sql, the views that contexts read of them, and the statements of SQL tools.
//
// It holds two logins that may do little, both opened when they are first needed, so
// that a brain without state needs neither role nor rights in its database.
package state

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"attache"
	"attache/contexts"
	"attache/internal/brain"
	"attache/internal/knowledge/reading"
	"attache/internal/store"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// State reads and changes agent state.
type State struct {
	db     *store.DB
	log    *slog.Logger
	brain  func() *brain.Brain          // as it is now
	reader atomic.Pointer[views.Reader] // nil until the brain names a view

	mu       sync.Mutex
	executor *views.Executor // nil until the first SQL tool is called
}

// Open applies the features' schema.sql and opens the login that state views are read
// over, if the brain names a view.
func Open(ctx context.Context, db *store.DB, current func() *brain.Brain, log *slog.Logger) (*State, error) {
	s := &State{db: db, log: log, brain: current}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes both logins.
func (s *State) Close() {
	if reader := s.reader.Load(); reader != nil {
		reader.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.executor != nil {
		s.executor.Close()
	}
}

func (s *State) open(ctx context.Context) error {
	b := s.brain()
	schemas := b.Schemas()
	if len(schemas) > 0 {
		if err := s.db.Migrate(ctx, "views", sql.Migrations()); err != nil {
			return err
		}
		problems, err := sql.Apply(ctx, s.db.Pool(), schemas)
		if err != nil {
			return err
		}
		for _, problem := range problems {
			s.log.Error("a schema was not applied", "err", problem)
		}
	}
	names := b.Views()
	if len(names) == 0 {
		return nil
	}
	return s.db.Retry(ctx, "letting in the views that the brain names", func(ctx context.Context) error {
		reader := s.reader.Load()
		if reader == nil {
			opened, err := views.OpenReader(ctx, s.db.Pool(), views.Options{Log: s.log})
			if err != nil {
				return err
			}
			s.reader.Store(opened)
			reader = opened
		}
		return reader.Allow(ctx, names)
	})
}

// Allow names the views of an edited brain. The first view that a running brain
// gets opens the login; its schema.sql needs a restart all the same (interface § 3).
func (s *State) Allow(ctx context.Context, b *brain.Brain) {
	names := b.Views()
	reader := s.reader.Load()
	if reader == nil && len(names) > 0 {
		opened, err := views.OpenReader(ctx, s.db.Pool(), views.Options{Log: s.log})
		if err != nil {
			s.log.Error("state views cannot be read", "err", err)
			return
		}
		s.reader.Store(opened)
		reader = opened
	}
	if reader == nil {
		return
	}
	if err := reader.Allow(ctx, names); err != nil && ctx.Err() == nil {
		s.log.Error("the views that the brain names could not be let in", "err", err)
	}
}

// Read reads what contexts need: views in one snapshot, as the brain's knobs say, and
// documents as the reading lists that they are bounded to.
func (s *State) Read(ctx context.Context, b *brain.Brain, needs []contexts.Need) map[contexts.Need]contexts.Given {
	out := make(map[contexts.Need]contexts.Given, len(needs))
	var asked []contexts.Need
	var queries []views.Query
	for _, n := range needs {
		switch {
		case n.Document != "":
			out[n] = s.document(b, n)
			continue
		case n.View == "":
			out[n] = contexts.Given{Failed: true}
			continue
		}
		asked = append(asked, n)
		queries = append(queries, views.Query{View: n.View, By: n.By, Key: string(n.Key)})
	}
	reader := s.reader.Load()
	if len(queries) == 0 || reader == nil {
		for _, n := range asked {
			out[n] = contexts.Given{Failed: true}
		}
		return out
	}
	manifest := b.Frame.Manifest
	for i, r := range reader.Read(ctx, queries, manifest.State.Rows, manifest.Zone.String()) {
		n := asked[i]
		if r.Err != "" {
			s.log.Warn("a state view could not be read", "part", n.View, "err", r.Cause)
			out[n] = contexts.Given{Failed: true}
			continue
		}
		out[n] = contexts.Given{Columns: r.Columns, Values: r.Rows, More: r.More}
	}
	return out
}

// document reads a document of the knowledge with what must be read before it. Its
// text is that of the turn's beginning, like every file of the brain.
func (s *State) document(b *brain.Brain, n contexts.Need) contexts.Given {
	list, err := b.Knowledge().ReadingList(n.Document, reading.Options{MaxTokens: n.MaxTokens})
	if err != nil {
		s.log.Warn("a document could not be read", "part", n.Document, "err", err)
		return contexts.Given{Failed: true}
	}
	return contexts.Given{Text: list.String()}
}

// Look reads what contexts need as a turn does, for a dry run: as the owner of the
// database, without making a login for it. db is nil where there is none to look at.
func Look(ctx context.Context, db *store.DB, log *slog.Logger, b *brain.Brain, needs []contexts.Need) (map[contexts.Need]contexts.Given, error) {
	s := &State{log: log}
	if names := b.Views(); db != nil && len(names) > 0 {
		reader, err := views.OpenReader(ctx, db.Pool(), views.Options{Log: log, Look: true})
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		if err := reader.Allow(ctx, names); err != nil {
			return nil, err
		}
		s.reader.Store(reader)
	}
	return s.Read(ctx, b, needs), nil
}

// Execute carries out the statement of a SQL tool.
func (s *State) Execute(ctx context.Context, statement sql.Statement, args map[string]any, readOnly bool) (views.Outcome, error) {
	e, err := s.login(ctx)
	if err != nil {
		return views.Outcome{}, err
	}
	manifest := s.brain().Frame.Manifest
	return e.Run(ctx, statement, args, readOnly, manifest.State.Rows, manifest.Zone.String())
}

// login gives the login of SQL tools.
func (s *State) login(ctx context.Context) (*views.Executor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.executor != nil {
		return s.executor, nil
	}
	e, err := views.OpenExecutor(ctx, s.db.Pool(), views.Options{Log: s.log})
	if err != nil {
		return nil, &attache.Error{Kind: attache.KindOutside, Say: "the database does not answer, so nothing was done", Cause: err}
	}
	s.executor = e
	return e, nil
}
