package program

import (
	"context"
	"log/slog"

	"attache/contexts"
	"attache/internal/brain"
	"attache/internal/knowledge"
	"attache/internal/store"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// openViews applies the features' schema.sql and opens the login that state views
// are read over. A brain that names no view needs neither role nor rights.
func (p *Program) openViews(ctx context.Context) error {
	b := p.brain.Current()
	schemas := Schemas(b)
	if len(schemas) > 0 {
		if err := p.db.Migrate(ctx, "views", sql.Migrations()); err != nil {
			return err
		}
		problems, err := sql.Apply(ctx, p.db.Pool(), schemas)
		if err != nil {
			return err
		}
		for _, problem := range problems {
			p.log.Error("a schema was not applied", "err", problem)
		}
	}
	names := b.Views()
	if len(names) == 0 {
		return nil
	}
	return p.db.Retry(ctx, "letting in the views that the brain names", func(ctx context.Context) error {
		reader := p.views.Load()
		if reader == nil {
			opened, err := views.OpenReader(ctx, p.db.Pool(), views.Options{Log: p.log})
			if err != nil {
				return err
			}
			p.views.Store(opened)
			reader = opened
		}
		return reader.Allow(ctx, names)
	})
}

// allow names the views of an edited brain. The first view that a running brain
// gets opens the login; its schema.sql needs a restart all the same (interface § 3).
func (p *Program) allow(ctx context.Context, b *brain.Brain) {
	names := b.Views()
	reader := p.views.Load()
	if reader == nil && len(names) > 0 {
		opened, err := views.OpenReader(ctx, p.db.Pool(), views.Options{Log: p.log})
		if err != nil {
			p.log.Error("state views cannot be read", "err", err)
			return
		}
		p.views.Store(opened)
		reader = opened
	}
	if reader == nil {
		return
	}
	if err := reader.Allow(ctx, names); err != nil && ctx.Err() == nil {
		p.log.Error("the views that the brain names could not be let in", "err", err)
	}
}

// Schemas lists the schema.sql of every feature that is switched on.
func Schemas(b *brain.Brain) []sql.Schema {
	var out []sql.Schema
	for _, f := range b.Frame.Features {
		path := "features/" + string(f.ID) + "/schema.sql"
		if file := b.Tree.File(path); file != nil && f.Enabled {
			out = append(out, sql.Schema{Feature: f.ID, File: path, Text: file.Text})
		}
	}
	return out
}

// read reads what contexts need: views in one snapshot, as the brain's knobs say, and
// documents as the reading lists that they are bounded to.
func (p *Program) read(ctx context.Context, b *brain.Brain, needs []contexts.Need) map[contexts.Need]contexts.Given {
	out := make(map[contexts.Need]contexts.Given, len(needs))
	var asked []contexts.Need
	var queries []views.Query
	for _, n := range needs {
		switch {
		case n.Document != "":
			out[n] = p.document(b, n)
			continue
		case n.View == "":
			out[n] = contexts.Given{Failed: true}
			continue
		}
		asked = append(asked, n)
		queries = append(queries, views.Query{View: n.View, By: n.By, Key: string(n.Key)})
	}
	reader := p.views.Load()
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
			p.log.Warn("a state view could not be read", "why", n.View, "err", r.Cause)
			out[n] = contexts.Given{Failed: true}
			continue
		}
		out[n] = contexts.Given{Columns: r.Columns, Values: r.Rows, More: r.More}
	}
	return out
}

// document reads a document of the knowledge with what must be read before it. Its
// text is that of the turn's beginning, like every file of the brain.
func (p *Program) document(b *brain.Brain, n contexts.Need) contexts.Given {
	list, err := b.Knowledge().ReadingList(n.Document, knowledge.Options{MaxTokens: n.MaxTokens})
	if err != nil {
		p.log.Warn("a document could not be read", "part", n.Document, "err", err)
		return contexts.Given{Failed: true}
	}
	return contexts.Given{Text: list.String()}
}

// Look reads what contexts need as a turn does, for a dry run: as the owner of the
// database, without making a login for it. db is nil where there is none to look at.
func Look(ctx context.Context, db *store.DB, log *slog.Logger, b *brain.Brain, needs []contexts.Need) (map[contexts.Need]contexts.Given, error) {
	p := &Program{log: log}
	if names := b.Views(); db != nil && len(names) > 0 {
		reader, err := views.OpenReader(ctx, db.Pool(), views.Options{Log: log, Look: true})
		if err != nil {
			return nil, err
		}
		defer reader.Close()
		if err := reader.Allow(ctx, names); err != nil {
			return nil, err
		}
		p.views.Store(reader)
	}
	return p.read(ctx, b, needs), nil
}
