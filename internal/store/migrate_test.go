package store_test

import (
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"attache/internal/store"
	"attache/internal/store/storetest"
)

// files makes a folder of migrations out of names and texts.
func files(pairs ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fs["migrations/"+pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fs
}

const first, second = "create table attache.first (n int); create index on attache.first (n);", "alter table attache.first add m int;"

func TestMigrateRunsEachFileOnce(t *testing.T) {
	db := storetest.New(t)
	if err := db.Migrate(t.Context(), "one", files("0001_first.sql", first)); err != nil {
		t.Fatal(err)
	}
	both := files("0001_first.sql", first, "0002_more.sql", second)
	for range 2 {
		if err := db.Migrate(t.Context(), "one", both); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Migrate(t.Context(), "two", files("0001_own.sql", "create table attache.other (n int)")); err != nil {
		t.Fatalf("numbers of two owners are apart: %v", err)
	}
	if _, err := db.Pool().Exec(t.Context(), `insert into attache.first (n, m) values (1, 2)`); err != nil {
		t.Fatal(err)
	}
}

func TestMigrateRefuses(t *testing.T) {
	for _, c := range []struct {
		why   string
		then  fstest.MapFS
		words string
	}{
		{"a changed file", files("0001_first.sql", first+" "), "0001_first.sql was changed"},
		{"a gap", files("0001_first.sql", first, "0003_x.sql", second), "number 0002 is due"},
		{"two of one number", files("0001_first.sql", first, "0001_again.sql", second), "number 0002 is due"},
		{"an odd name", files("1-first.sql", first), "must look like"},
		{"an older program", files(), "newer attache"},
		{"wrong SQL", files("0001_first.sql", first, "0002_bad.sql", "create table attache.half (n int); selekt"), "0002_bad.sql"},
	} {
		t.Run(c.why, func(t *testing.T) {
			db := storetest.New(t)
			if err := db.Migrate(t.Context(), "one", files("0001_first.sql", first)); err != nil {
				t.Fatal(err)
			}
			err := db.Migrate(t.Context(), "one", c.then)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("the error is %v", err)
			}
			var n int
			if err := db.Pool().QueryRow(t.Context(), `select count(*) from attache.migrations`).Scan(&n); err != nil || n != 1 {
				t.Errorf("%d files count as applied: %v", n, err)
			}
			var half *string
			if err := db.Pool().QueryRow(t.Context(), `select to_regclass('attache.half')::text`).Scan(&half); err != nil || half != nil {
				t.Errorf("half a migration stayed: %v", err)
			}
		})
	}
}

func TestMigrateForgivesLineEnds(t *testing.T) {
	db := storetest.New(t)
	for _, end := range []string{"\n", "\r\n"} {
		if err := db.Migrate(t.Context(), "one", files("0001_first.sql", first+end)); err != nil {
			t.Fatal(err)
		}
	}
}

// Replicas that start together migrate one database together.
func TestMigrateTogether(t *testing.T) {
	dsn := storetest.DSN(t)
	both := files("0001_first.sql", first, "0002_more.sql", second)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			db, err := store.Open(t.Context(), dsn, store.Options{MaxConns: 2})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if err := db.Migrate(t.Context(), "one", both); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
