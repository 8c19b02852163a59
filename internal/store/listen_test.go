package store_test

import (
	"context"
	"testing"

	"attache/internal/store"
	"attache/internal/store/storetest"

	"go.uber.org/goleak"
)

// listen hears a channel until the test is over.
func listen(t *testing.T, db *store.DB, channel string) <-chan string {
	t.Helper()
	heard := make(chan string, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		db.Listen(ctx, channel, func(payload string) { heard <- payload })
	}()
	t.Cleanup(func() { stop(); <-ended })
	return heard
}

func notify(t *testing.T, db *store.DB, channel, payload string) {
	t.Helper()
	err := db.InTx(t.Context(), func(tx store.Tx) error { return store.Notify(t.Context(), tx, channel, payload) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestListenHearsInOrderAndAfterABreak(t *testing.T) {
	db := storetest.New(t)
	heard := listen(t, db, `odd "name`)
	expect := func(want string) {
		t.Helper()
		if got := <-heard; got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	expect("")
	notify(t, db, `odd "name`, "a")
	notify(t, db, "another", "x")
	notify(t, db, `odd "name`, "b")
	expect("a")
	expect("b")
	killBackends(t, db, `%listen %`)
	expect("")
	notify(t, db, `odd "name`, "c")
	expect("c")
}

func TestListenOutlastsAKilledServer(t *testing.T) {
	server := storetest.NewDurable(t)
	log := &lines{}
	db := server.Open(log.logger())
	heard := listen(t, db, "turns")
	<-heard
	server.Kill()
	storetest.Until(t, "the outage has its line", func() bool { return log.count("work waits") == 1 })
	server.Start()
	if got := <-heard; got != "" {
		t.Fatalf("heard %q first after the outage", got)
	}
	if log.count("is back") != 1 {
		t.Error("the log does not say that the database is back")
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	dsn := storetest.DSN(t)
	before := goleak.IgnoreCurrent()
	db, err := store.Open(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := db.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	take(t, l, "a", true)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); db.Listen(ctx, "c", func(string) { stop() }) }()
	<-ended
	l.Close()
	db.Close()
	goleak.VerifyNone(t, before)
}
