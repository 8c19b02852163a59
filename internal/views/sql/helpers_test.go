package sql

import (
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"attache/internal/store"
	"attache/internal/store/storetest"
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
	if err := db.Migrate(t.Context(), "views", Migrations()); err != nil {
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

// parameterName finds the parameters of a piece of code that holds no text.
var parameterName = regexp.MustCompile(`:[a-z]+`)
