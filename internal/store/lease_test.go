package store_test

import (
	"testing"

	"attache/internal/store"
	"attache/internal/store/storetest"
)

// leases opens the leases of one more process.
func leases(t *testing.T, db *store.DB) *store.Leases {
	t.Helper()
	l, err := db.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func take(t *testing.T, l *store.Leases, name string, want bool) *store.Lease {
	t.Helper()
	lease, got, err := l.Take(t.Context(), name)
	if err != nil || got != want || (lease != nil) != want {
		t.Fatalf("Take(%s) = %v, %v; want %v", name, got, err, want)
	}
	return lease
}

func free(t *testing.T, db *store.DB, name string, want bool) {
	t.Helper()
	got, err := db.Free(t.Context(), name)
	if err != nil || got != want {
		t.Fatalf("Free(%s) = %v, %v; want %v", name, got, err, want)
	}
}

func TestLeaseIsHeldByOne(t *testing.T) {
	db := storetest.New(t)
	a, b := leases(t, db), leases(t, db)
	free(t, db, "poll:nova", true)
	held := take(t, a, "poll:nova", true)
	free(t, db, "poll:nova", false)
	take(t, b, "poll:nova", false)
	take(t, a, "poll:nova", false) // twice in one process is not twice held
	take(t, b, "poll:orion", true)
	held.Release()
	held.Release()
	free(t, db, "poll:nova", true)
	take(t, b, "poll:nova", true)
	select {
	case <-held.Lost():
		t.Error("a released lease counts as lost")
	default:
	}
}

func TestLeasesAreLostWithTheirConnection(t *testing.T) {
	db := storetest.New(t)
	a, b := leases(t, db), leases(t, db)
	one, two := take(t, a, "one", true), take(t, a, "two", true)
	other := take(t, b, "other", true)
	killBackends(t, db, `%pg_try_advisory_lock%`)
	<-one.Lost()
	<-two.Lost()
	<-other.Lost()
	again := take(t, b, "one", true) // connects anew
	one.Release()                    // of a name that is another's by now
	free(t, db, "one", false)
	take(t, a, "two", true)
	again.Release()
	free(t, db, "one", true)
}

func TestLeasesOutlastAKilledServer(t *testing.T) {
	server := storetest.NewDurable(t)
	db := server.Open(nil)
	l := leases(t, db)
	lease := take(t, l, "executor", true)
	server.Kill()
	<-lease.Lost()
	if _, got, err := l.Take(t.Context(), "executor"); err == nil || got || !store.Transient(err) {
		t.Fatalf("a lease was got from a dead server: %v, %v", got, err)
	}
	server.Start()
	take(t, l, "executor", true)
}

func TestCloseGivesLeasesBack(t *testing.T) {
	db := storetest.New(t)
	l := leases(t, db)
	lease := take(t, l, "executor", true)
	l.Close()
	<-lease.Lost()
	storetest.Until(t, "the name is free", func() bool {
		ok, err := db.Free(t.Context(), "executor")
		return err == nil && ok
	})
}
