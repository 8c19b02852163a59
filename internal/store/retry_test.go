package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"attache/internal/store"
	"attache/internal/store/storetest"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestTransient(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("ours"), false},
		{context.Canceled, false},
		{context.DeadlineExceeded, false},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{syscall.ECONNRESET, true},
		{pgconn.ErrConnClosed, true},
		{pg("57P01"), true},  // shut down by an administrator
		{pg("57P03"), true},  // starting up
		{pg("53300"), true},  // too many connections
		{pg("53100"), true},  // disk full
		{pg("25006"), true},  // read-only
		{pg("40001"), true},  // serialization
		{pg("40P01"), true},  // deadlock
		{pg("08006"), true},  // connection failure
		{pg("57014"), false}, // statement_timeout
		{pg("23505"), false}, // unique violation
		{pg("42601"), false}, // syntax
		{pg("28P01"), false}, // wrong password
		{pg("3D000"), false}, // no such database
	} {
		if got := store.Transient(c.err); got != c.want {
			t.Errorf("Transient(%v) = %v", c.err, got)
		}
	}
}

func pg(code string) error { return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code}) }

// Twenty callers live through a kill of the server: all finish, and the log tells
// it once.
func TestRetryOutlastsAKilledServer(t *testing.T) {
	server := storetest.NewDurable(t)
	log := &lines{}
	db := server.Open(log.logger())
	if _, err := db.Pool().Exec(t.Context(), `create table counted (id int primary key)`); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var all sync.WaitGroup
	failures := make(chan error, 20)
	for id := range 20 {
		all.Go(func() {
			failures <- db.Retry(t.Context(), "count", func(ctx context.Context) error {
				_, err := db.Pool().Exec(ctx, `insert into counted values ($1) on conflict do nothing`, id)
				return err
			})
		})
	}
	storetest.Until(t, "the outage has its line", func() bool { return log.count("work waits") == 1 })
	server.Start()
	all.Wait()
	for range 20 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	var n int
	if err := db.Pool().QueryRow(t.Context(), `select count(*) from counted`).Scan(&n); err != nil || n != 20 {
		t.Errorf("%d rows: %v", n, err)
	}
	if away, back := log.count("work waits"), log.count("is back"); away != 1 || back != 1 {
		t.Errorf("%d lines that it went, %d that it came back; want one each\n%s", away, back, log.buf.String())
	}
}

// A full disk or a read-only server refuses writes while reads go on: the reads
// do not announce an end that has not come.
func TestOutageOfWritesOnly(t *testing.T) {
	log := &lines{}
	db, err := store.Open(t.Context(), storetest.DSN(t), store.Options{Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	failing, mended := make(chan struct{}), make(chan struct{})
	refused := sync.OnceFunc(func() { close(failing) })
	done := make(chan error, 1)
	go func() {
		done <- db.Retry(t.Context(), "write", func(ctx context.Context) error {
			select {
			case <-mended:
				return nil
			default:
				refused()
				return pg("53100")
			}
		})
	}()
	<-failing
	storetest.Until(t, "the outage has its line", func() bool { return log.count("work waits") == 1 })
	for range 5 {
		if err := db.Retry(t.Context(), "read", db.Ping); err != nil {
			t.Fatal(err)
		}
	}
	if log.count("is back") != 0 {
		t.Error("a read announced the end of an outage of writes")
	}
	close(mended)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if log.count("is back") != 1 {
		t.Error("the end of the outage is not in the log")
	}
}

func TestRetryStopsWhereWaitingHelpsNot(t *testing.T) {
	log := &lines{}
	db, err := store.Open(t.Context(), storetest.DSN(t), store.Options{Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	tries := 0
	err = db.Retry(t.Context(), "say", func(ctx context.Context) error {
		tries++
		_, err := db.Pool().Exec(ctx, `selekt 1`)
		return err
	})
	if err == nil || tries != 1 || store.Transient(err) {
		t.Errorf("a mistake was tried %d times: %v", tries, err)
	}
	conflicts := 0
	err = db.Retry(t.Context(), "meet", func(context.Context) error {
		if conflicts++; conflicts < 3 {
			return pg("40001")
		}
		return nil
	})
	if err != nil || log.count("work waits") != 0 {
		t.Errorf("two transactions that met are no outage: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = db.Retry(ctx, "wait", func(context.Context) error { return pg("57P03") })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the end of the context is not in the error: %v", err)
	}
}
