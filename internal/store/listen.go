package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Listen calls fn with the payload of every NOTIFY on a channel, one after the
// other, on a connection of its own, until ctx ends. A notification sent while
// nobody listened is gone, so fn is also called with "" whenever listening has
// begun, first and after each break: the listener then reads the tables anew.
func (db *DB) Listen(ctx context.Context, channel string, fn func(payload string)) {
	said := false // one line for a row of refusals
	for ctx.Err() == nil {
		var conn *pgx.Conn
		err := db.Retry(ctx, "listen on "+channel, func(ctx context.Context) (err error) {
			conn, err = db.listener(ctx, channel)
			return err
		})
		if err == nil {
			said = false
			hear(ctx, conn, fn)
			continue
		}
		if !said && ctx.Err() == nil {
			said = true
			db.log.Error("the database refuses a connection for notifications; trying on", "part", channel, "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lastWait):
		}
	}
}

// hear reports notifications until the connection breaks or ctx ends, and closes it.
func hear(ctx context.Context, conn *pgx.Conn, fn func(payload string)) {
	defer hangUp(conn)
	fn("")
	for {
		note, err := conn.WaitForNotification(ctx)
		if err != nil {
			return // the caller connects again, or ctx has ended
		}
		fn(note.Payload)
	}
}

// hangUp closes a connection without waiting long for a server that may be gone.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing is left to do about a connection that does not close
}

// listener opens a connection that listens.
func (db *DB) listener(ctx context.Context, channel string) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `set idle_session_timeout = 0; listen `+pgx.Identifier{channel}.Sanitize()); err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// Notify sends a payload (under 8000 bytes) to every listener of a channel when
// tx commits.
func Notify(ctx context.Context, tx Tx, channel, payload string) error {
	if _, err := tx.Exec(ctx, `select pg_notify($1, $2)`, channel, payload); err != nil {
		return fmt.Errorf("notify %s: %w", channel, err)
	}
	return nil
}
