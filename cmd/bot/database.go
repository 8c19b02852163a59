package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"attache/internal/postgres"
	"attache/internal/store"
)

// database is the Postgres that a command works on, private or one's own.
type database struct {
	*store.DB
	server *postgres.Server // nil with one's own
}

// openDatabase gives the database: DATABASE_URL, or a private server in the data
// folder. hold is for commands that keep the folder to themselves (architecture § 4).
func openDatabase(ctx context.Context, f *flags, hold bool, log *slog.Logger, say func(string)) (*database, error) {
	d := &database{}
	dsn := f.DatabaseURL
	if dsn == "" && !f.Private {
		url, err := secretEnv("DATABASE_URL")
		if err != nil {
			return nil, err
		}
		dsn = url.Reveal()
	}
	if dsn == "" {
		server, err := postgres.Open(ctx, postgres.Options{Data: f.data(), Hold: hold, Log: log, Say: say})
		if err != nil {
			return nil, err
		}
		d.server, dsn = server, server.DSN()
	}
	db, err := store.Open(ctx, dsn, store.Options{Log: log, MaxConns: 16})
	if err == nil {
		d.DB = db
		err = reach(ctx, db)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// reach waits for the database to answer. One that is still starting is waited
// for; a wrong password is said at once.
func reach(ctx context.Context, db *store.DB) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := db.Retry(ctx, "reaching the database", db.Ping)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the database of DATABASE_URL does not answer; is it running, and is the address right?")
	}
	if err != nil {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	return nil
}

// alone reports whether no other process can be working on this database.
func (d *database) alone() bool { return d.server != nil && d.server.Alone() }

// Close ends the connections and the private server, where this command may.
func (d *database) Close() {
	if d.DB != nil {
		d.DB.Close()
	}
	if d.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = d.server.Close(ctx) // it says itself what went wrong
	}
}

// data is the folder of the program's own things (interface § 2).
func (f *flags) data() string {
	if f.Data != "" {
		return f.Data
	}
	return filepath.Join(f.Brain, ".attache")
}
