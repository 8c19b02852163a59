package store_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"attache/internal/store"
	"attache/internal/store/storetest"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"
)

func TestOpenNeverShowsThePassword(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:hunter2@host:notaport/db",
		"postgres://u:hunter2/x@host/db",
		"postgres://u:12/hunter2@host/db",
		"postgres://u:hunter2%zz@host/db",
		"host=h password=hunter2 port=x",
		"password='hunter2",
		"hunter2",
	} {
		_, err := store.Open(t.Context(), dsn, store.Options{})
		if err == nil {
			t.Errorf("%s was taken", dsn)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in the error: %v", err)
		}
	}
}

// A string of any form: whatever Open or the first connection say, the password
// is not in it.
func TestNoErrorShowsAPassword(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`Q[a-z/@:%?#=' ]{4,12}Z`).Draw(t, "secret")
		form := rapid.SampledFrom([]string{
			"postgres://u:%s@127.0.0.1:1/db", "host=127.0.0.1 port=1 user=u password=%s", "host=127.0.0.1 port=1 password='%s'",
		}).Draw(t, "form")
		db, err := store.Open(t.Context(), strings.Replace(form, "%s", secret, 1), store.Options{})
		if err == nil {
			defer db.Close()
			err = db.Ping(t.Context())
		}
		if err == nil {
			t.Fatal("nothing listens on port 1, yet there is no error")
		}
		if strings.Contains(err.Error(), secret) {
			t.Fatalf("the password is in the error: %v", err)
		}
	})
}

// Over TCP, as with DATABASE_URL, the options of the socket must be taken too.
func TestConnectsOverTCP(t *testing.T) {
	unix := storetest.DSN(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config, err := pgconn.ParseConfig(unix)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // a wire from TCP to the test's server, for one connection
		in, err := listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", config.Host+"/.s.PGSQL.5432")
		if err != nil {
			_ = in.Close()
			return
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	db, err := store.Open(t.Context(), fmt.Sprintf("postgres://attache@%s/%s?sslmode=disable", listener.Addr(), config.Database), store.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestInTxCommitsOrLeavesNothing(t *testing.T) {
	db := storetest.New(t)
	if _, err := db.Pool().Exec(t.Context(), `create table things (n int)`); err != nil {
		t.Fatal(err)
	}
	insert := func(after error) error {
		return db.InTx(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Exec(t.Context(), `insert into things values (1)`); err != nil {
				return err
			}
			return after
		})
	}
	no := errors.New("no")
	if err := insert(no); !errors.Is(err, no) {
		t.Fatalf("the error of fn is lost: %v", err)
	}
	if err := insert(nil); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = db.InTx(t.Context(), func(tx store.Tx) error {
			if _, err := tx.Exec(t.Context(), `insert into things values (2)`); err != nil {
				return err
			}
			panic("a mistake of ours")
		})
	}()
	var n int
	if err := db.Pool().QueryRow(t.Context(), `select count(*) from things`).Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d rows, want 1: %v", n, err)
	}
}
