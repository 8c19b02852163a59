package views

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"attache/internal/store"
	"attache/internal/store/storetest"
	"attache/internal/views/sql"
)

// database gives a database in which the package's table exists.
func database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	db := storetest.New(t)
	migrated(t, db)
	return db.Pool()
}

func migrated(t testing.TB, db *store.DB) {
	t.Helper()
	if err := db.Migrate(t.Context(), "views", sql.Migrations()); err != nil {
		t.Fatal(err)
	}
}

// prepare runs statements as the owner, in the schema where features have theirs.
func prepare(t testing.TB, owner *pgxpool.Pool, statements string) {
	t.Helper()
	if _, err := owner.Exec(t.Context(), "set search_path = public;"+statements+";reset search_path"); err != nil {
		t.Fatal(err)
	}
}

// reader gives a reader that may read the named views.
func reader(t testing.TB, owner *pgxpool.Pool, o Options, views ...string) *Reader {
	t.Helper()
	r, err := OpenReader(t.Context(), owner, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Allow(t.Context(), views); err != nil {
		t.Fatal(err)
	}
	return r
}

// read reads one view in UTC.
func read(t testing.TB, r *Reader, q Query, rows int) Result {
	t.Helper()
	return r.Read(t.Context(), []Query{q}, rows, "UTC")[0]
}
