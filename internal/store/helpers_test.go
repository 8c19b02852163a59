package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"attache/internal/store"
)

// lines is a log that a test reads while others write.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), part)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// killBackends ends the server's side of every connection whose last statement is
// like a pattern, as an administrator would.
func killBackends(t *testing.T, db *store.DB, like string) {
	t.Helper()
	var n int
	err := db.Pool().QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
		where pid <> pg_backend_pid() and datname = current_database() and query like $1`, like).Scan(&n)
	if err != nil || n == 0 {
		t.Fatalf("%d connections ended: %v", n, err)
	}
}
