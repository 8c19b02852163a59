package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"attache/gateway"
	"attache/heartbeat"
	"attache/internal/archivetest"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// records gives a database with the tables that the doctor reads.
func records(t *testing.T) *store.DB {
	t.Helper()
	db := storetest.New(t)
	if err := gateway.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := heartbeat.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// nothing is an environment with no variables.
func nothing(string) string { return "" }

// Views and their columns are looked up as the schema.sql of the brain would make
// them; nothing of that stays.
//
// row H7
func TestMistakesOfViews(t *testing.T) {
	db := records(t)
	archivetest.Run(t, "views", 3, 1, func(t *testing.T, in []txtar.File) []string {
		b, problems := load(t, unpack(t, in))
		got := lines(Examine(t.Context(), Subject{Brain: b, Problems: problems, Now: time.Now, Getenv: nothing, DB: db}))
		var tables int
		if err := db.Pool().QueryRow(t.Context(), `select count(*) from pg_class where relnamespace = 'public'::regnamespace`).Scan(&tables); err != nil || tables != 0 {
			t.Errorf("%d tables and views stay behind: %v", tables, err)
		}
		return []string{got}
	})
}

// Without a database, or with one that does not answer, the view checks say that they
// did not look, and nothing fails.
//
// row H11
func TestWithoutADatabaseViewsAreNotLookedAt(t *testing.T) {
	b, problems := load(t, unpack(t, []txtar.File{
		{Name: "features/a/r.agent.md", Data: []byte("---\ncontexts: [c]\n---\n")},
		{Name: "features/a/c.context.md", Data: []byte("---\nwhen: [always]\ndata: [no_such_view]\n---\n")},
	}))
	s := Subject{Brain: b, Problems: problems, Now: time.Now, Getenv: nothing, Gap: Finding{Level: Skipped, What: "it is far away"}}
	found := Examine(t.Context(), s)
	want := "skipped  Feature contexts  the views that contexts and roles name, and their columns, were not looked at, because that needs the database: it is far away; " +
		"run the doctor where the database can be reached, or ask doctor_check or /doctor of the running bot\nskipped  Database  it is far away\n"
	if got := lines(found); got != want || !OK(found) {
		t.Errorf("got  %swant %s", got, want)
	}
	b, problems = load(t, unpack(t, []txtar.File{
		{Name: "features/a/c.tool.md", Data: []byte("---\ndescription: C.\ncapability: c:read\nrisk: safe\nsql: select 1\n---\n")},
	}))
	want = "skipped  SQL tools  the statements of SQL tools were not looked at, because that needs the database: it is far away; " +
		"run the doctor where the database can be reached, or ask doctor_check or /doctor of the running bot\nskipped  Database  it is far away\n"
	if got := lines(Examine(t.Context(), Subject{Brain: b, Problems: problems, Now: time.Now, Getenv: nothing, Gap: s.Gap})); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	db, err := store.Open(t.Context(), "postgres://nobody:pass@127.0.0.1:1/none", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s.DB = db
	for _, f := range Examine(t.Context(), s) {
		if f.Level != Skipped {
			t.Error(f)
		}
	}
	if got := lines(Examine(t.Context(), s)); !strings.Contains(got, "skipped  Feature contexts  the views") || !strings.Contains(got, "skipped  Turns") || !strings.Contains(got, "skipped  Deliveries") || strings.Contains(got, "pass@") {
		t.Error(got)
	}
}
