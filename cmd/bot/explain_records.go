package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"attache/contexts"
	"attache/internal/views"
)

// records are what earlier turns left, as far as they can be looked at. The zero
// value has none and says why.
type records struct {
	*database
	views *program // that reads them, nil without any
	away  string   // why they are not looked at, "" when they are
	none  bool     // because there never were any
	log   *slog.Logger
}

// Close ends what lookAtRecords began.
func (r *records) Close() {
	if r.views != nil {
		if reader := r.views.views.Load(); reader != nil {
			reader.Close()
		}
	}
	if r.database != nil {
		r.database.Close()
	}
}

// lookAtRecords opens the database if there is one, the private one of a running
// program too. A dry run is worth having without: then views are not read, and what
// earlier turns left is unknown.
func lookAtRecords(ctx context.Context, f *flags, io stdio) (r *records, err error) {
	r = new(records)
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.log, err = newLog(io.err, "text,warn", nil); err != nil { // why a view cannot be read is worth a line
		return r, err
	}
	quiet, err := newLog(io.err, "text,error", nil)
	if err != nil {
		return r, err
	}
	url, err := secretEnv("DATABASE_URL")
	if err != nil {
		return r, err
	}
	patience := 5 * time.Second
	if f.DatabaseURL == "" && url.Empty() {
		if _, err := os.Stat(filepath.Join(f.data(), "postgres", "PG_VERSION")); errors.Is(err, fs.ErrNotExist) {
			r.away, r.none = "there is no database yet, attache run makes it", true
			return r, nil
		}
		patience = time.Minute // a private server that was killed recovers first
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := openDatabase(within, f, false, quiet, func(s string) { fmt.Fprintln(io.err, s) })
	switch {
	case err == nil:
		r.database = db
	case within.Err() != nil:
		r.away = fmt.Sprintf("the database did not answer within %v", patience)
	default:
		r.away = "the database cannot be used: " + err.Error()
	}
	return r, ctx.Err()
}

// unmade reports an error of a database whose tables no program has made yet.
func unmade(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") // no table, no schema
}

// read reads views as a turn does, but as the owner and without making a login.
func (d *dryRun) read(needs []contexts.Need) (map[contexts.Need]contexts.Given, error) {
	p := &program{db: d.records.database, log: d.records.log}
	if names := viewsOf(d.brain); p.db != nil && len(names) > 0 {
		reader, err := views.OpenReader(d.ctx, p.db.Pool(), views.Options{Log: p.log, Look: true})
		if err == nil {
			d.records.views = p
			p.views.Store(reader)
			err = reader.Allow(d.ctx, names)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.read(d.ctx, d.brain, needs), nil
}
