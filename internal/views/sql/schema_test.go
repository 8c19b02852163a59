package sql

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// of makes schemas from names of features and texts.
func of(pairs ...string) []Schema {
	var out []Schema
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Schema{attache.FeatureID(pairs[i]), "features/" + pairs[i] + "/schema.sql", pairs[i+1]})
	}
	return out
}

// apply applies schemas and gives the problems as lines.
func apply(t testing.TB, owner *pgxpool.Pool, schemas []Schema) []string {
	t.Helper()
	problems, err := Apply(t.Context(), owner, schemas)
	if err != nil {
		t.Fatal(err)
	}
	return lines(problems)
}

func lines(problems []attache.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

// clean expects no problem.
func clean(t testing.TB, owner *pgxpool.Pool, schemas []Schema) {
	t.Helper()
	if got := apply(t, owner, schemas); got != nil {
		t.Fatal(got)
	}
}

// one expects one problem that holds all of some words.
func one(t testing.TB, got []string, words ...string) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%d problems: %q, want %q", len(got), got, words)
	}
	for _, w := range words {
		if !strings.Contains(got[0], w) {
			t.Errorf("%q does not say %q", got[0], w)
		}
	}
}

// looks gives the columns of a view, "" when there is none.
func looks(t testing.TB, owner *pgxpool.Pool, view string) string {
	t.Helper()
	var out string
	err := owner.QueryRow(t.Context(), `select coalesce(string_agg(a.attname, ' ' order by attnum), '') from pg_attribute a where attrelid = to_regclass('public.' || quote_ident($1)) and attnum > 0 and not attisdropped`, view).Scan(&out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const support = `
create table if not exists tickets (id text primary key, title text);
create view card as select id, title from tickets;`

func TestApplyRunsWhatHasChanged(t *testing.T) {
	owner := database(t)
	clean(t, owner, of("support", support))
	if got := looks(t, owner, "card"); got != "id title" {
		t.Errorf("the view has %q", got)
	}
	// The same text is not run again: it would fail.
	counted := support + `create table runs ();`
	clean(t, owner, of("support", counted))
	for range 2 {
		clean(t, owner, of("support", counted))
	}
	// Another list of columns, in another order; the view is dropped first.
	clean(t, owner, of("support", `alter table tickets add column if not exists owner text; create view card as select owner, id from tickets; create materialized view kept as select 1 as one`))
	if looks(t, owner, "card") != "owner id" || looks(t, owner, "kept") != "one" {
		t.Errorf("the views have %q and %q", looks(t, owner, "card"), looks(t, owner, "kept"))
	}
	clean(t, owner, of("support", `create view card as select id from tickets`))
	if looks(t, owner, "card") != "id" || looks(t, owner, "kept") != "" {
		t.Error("a view that the text no longer has is still there")
	}
	// What only creates or replaces is the feature's too.
	clean(t, owner, of("support", `create or replace view card as select id from tickets`))
	clean(t, owner, of("support", `create or replace view card as select title from tickets`))
	if looks(t, owner, "card") != "title" {
		t.Error("a replaced view was not dropped first")
	}
	clean(t, owner, of("support", "  -- nothing\n"))
	if looks(t, owner, "card") != "" || looks(t, owner, "tickets") == "" {
		t.Error("the view stays, or the table goes")
	}
}

// On the private server the login is called attache, like our schema: what a
// feature makes must not land there.
func TestApplyWorksInPublic(t *testing.T) {
	owner := database(t)
	clean(t, owner, of("support", support+`create function f() returns int language sql as 'select 1'`))
	var where string
	err := owner.QueryRow(t.Context(), `select string_agg(distinct n.nspname, ' ') from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relname in ('tickets', 'card')`).Scan(&where)
	if err != nil || where != "public" {
		t.Errorf("%q, %v", where, err)
	}
	// A text as pg_dump writes them changes its own session only.
	clean(t, owner, of("dump", `set statement_timeout = 0; select pg_catalog.set_config('search_path', '', false); create table public.dumped (x int); set role pg_monitor`))
	var path string
	if err := owner.QueryRow(t.Context(), `show search_path`).Scan(&path); err != nil || path == "" {
		t.Errorf("%q, %v", path, err)
	}
}

// What is wrong is told with its line and column, and nothing of it stays.
func TestMistakesOfSchemas(t *testing.T) {
	for _, c := range []struct {
		name, text string
		words      []string
	}{
		{"grammar", "create table a (x int);\n\n  creat table b ();", []string{"features/f/schema.sql:3:3: ", `syntax error at or near "creat"`}},
		{"unknown column", "create table a (x int);\ncreate view v as\nselect y from a;", []string{":3:8: ", `column "y" does not exist`}},
		{"characters", "create table a (x text); -- üüü 🙂\ninsert into a values ('é🙂'), (z);", []string{":2:31: ", `column "z" does not exist`}},
		{"at run time", "create table a (x int unique);\ninsert into a values (1);\n  insert into a values (1);\nselect 1;", []string{":3:3: ", "duplicate key"}},
		{"inside a function", "create table a (x int);\ndo $$ begin perform 1 / 0; end $$;", []string{":2:1: ", "division by zero"}},
		{"at the end", "create table a (x int unique deferrable initially deferred);\ninsert into a values (1), (1);", []string{":1:1: ", "duplicate key"}},
		{"twice", "create table a (x int);\ncreate table a (x int);", []string{":2:1: ", `"a" already exists`, "if not exists"}},
		{"column twice", "create table a (x int);\nalter table a add column x int;", []string{":2:1: ", "add column if not exists"}},
		{"commit", "create table a (x int);\ncommit;", []string{":2:1: ", "COMMIT has no place here"}},
		{"begin", "begin; create table a (x int);", []string{":1:1: ", "BEGIN has no place here"}},
		{"rollback", "create table a (x int); /* x */ rollback", []string{":1:33: ", "ROLLBACK has no place"}},
		{"savepoint", "savepoint x", []string{"SAVEPOINT has no place"}},
		{"copy", "create table a (x int);\ncopy a from stdin;\n1\n\\.\n", []string{":2:1: ", "rows cannot be copied"}},
		{"quote", "create table a (x int);\ninsert into a values ('x);", []string{":2:23: ", "never closed"}},
		{"concurrently", "create table a (x int);\ncreate index concurrently on a (x);", []string{":2:1: ", "cannot run inside a transaction block"}},
		{"a table under a view", "create table a (x int); create view v as select x from a;\ndrop table a;", []string{":2:1: ", "other objects depend on it", "a schema.sql takes no table or column away, and the data with it: take this statement out"}},
		{"a column under a view", "create table a (x int, y int); create view v as select x from a;\nalter table a drop column x;", []string{":2:1: ", "a schema.sql takes no table or column away"}},
		{"a view under a view", "create view v as select 1 as x; create view w as select x from v;\ndrop view v;", []string{":2:1: ", "something that this file makes, or something outside of the brain's schemas, is built on it"}},
		{"hidden commit", "create table a (x int); create procedure p() language plpgsql as 'begin commit; end';\ncall p();", []string{":2:1: ", "invalid transaction termination"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			owner := database(t)
			one(t, apply(t, owner, of("f", c.text, "good", "create view fine as select 1 as x")), append(c.words, "features/f/schema.sql")...)
			if looks(t, owner, "a") != "" {
				t.Error("half a schema stayed")
			}
			if looks(t, owner, "fine") != "x" {
				t.Error("a broken schema stops another")
			}
			_, problems, err := Check(t.Context(), owner, of("f", c.text), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.name != "at the end" { // which only a commit can tell
				one(t, lines(problems), c.words...)
			}
		})
	}
}

func TestFunctionsWithABody(t *testing.T) {
	owner := database(t)
	clean(t, owner, of("f", `create function f(x int) returns int begin atomic select case when x > 0 then 1 else 2 end; select 3; end;
		create function g() returns int language plpgsql as $$ begin return 1; end; $$; create view v as select f(1), g()`))
	if looks(t, owner, "v") != "f g" {
		t.Error("the view is not there")
	}
}

// Data does not disappear because somebody edited a text.
func TestNothingIsLost(t *testing.T) {
	for name, change := range map[string]string{
		"table":   `drop table tickets cascade`,
		"column":  `alter table tickets drop column title cascade`,
		"rename":  `alter table tickets rename to cards`,
		"column2": `alter table tickets rename title to name`,
		"engine":  `drop table attache.schemas`,
		"schema":  `drop schema attache cascade`,
		"anew":    `drop table tickets cascade; create table tickets (id text)`,
		"same":    `drop table tickets cascade; create table tickets (id text primary key, title text)`,
		"refill":  `alter table tickets drop column title cascade; alter table tickets add column title text`,
		"foreign": `drop table apps.own`,
		"moved":   `alter table tickets set schema apps`,
	} {
		t.Run(name, func(t *testing.T) {
			owner := database(t)
			prepare(t, owner, `create schema apps; create table apps.own (x int)`)
			clean(t, owner, of("support", support))
			prepare(t, owner, `insert into tickets values ('T-1', 'One')`)
			got := apply(t, owner, of("support", "create table if not exists more (x int);"+change))
			if len(got) != 1 || !strings.Contains(got[0], "features/support/schema.sql:1:1: it would take away the ") && !strings.Contains(got[0], "refuses") {
				t.Fatal(got)
			}
			var rows int
			if err := owner.QueryRow(t.Context(), `select count(*) from public.card where title = 'One'`).Scan(&rows); err != nil || rows != 1 || looks(t, owner, "more") != "" {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
	owner := database(t)
	clean(t, owner, of("support", support))
	one(t, apply(t, owner, of("support", `alter table tickets drop column title cascade`)), "it would take away the column tickets.title, and the data with it; nothing of the file was applied", "by hand in psql")
	clean(t, owner, of("support", `create temp table x (a int); drop table x; alter table tickets alter column title type varchar(100)`))
}

// Features may build on each other, in whatever order they stand.
func TestFeaturesBuildOnEachOther(t *testing.T) {
	owner := database(t)
	base := `create table if not exists base (id int, n int); create view b1 as select id from base;`
	top := `create view a1 as select id from b1; create view a2 as select id from a1;`
	clean(t, owner, of("a", top, "b", base))
	if looks(t, owner, "a2") != "id" {
		t.Fatal("the view on a view is not there")
	}
	// A change below runs again what stands on it.
	clean(t, owner, of("a", top, "b", base+`create view b2 as select n from base;`))
	if looks(t, owner, "a2") != "id" || looks(t, owner, "b2") != "n" {
		t.Error("the views above are gone")
	}
	// One that takes away what others need is refused, and all stays.
	one(t, apply(t, owner, of("a", top, "b", `create view b1 as select n from base;`)), "features/a/schema.sql:1:26: ", `column "id" does not exist`)
	if looks(t, owner, "a2") != "id" || looks(t, owner, "b2") != "n" {
		t.Error("something is gone")
	}
	// A feature that is switched off does not stand in the way, and comes back whole.
	clean(t, owner, of("b", `create view b1 as select n as id from base;`))
	if looks(t, owner, "a2") != "" {
		t.Error("the views of a feature that is off stand in the way")
	}
	clean(t, owner, of("a", top, "b", `create view b1 as select n as id from base;`))
	if looks(t, owner, "a2") != "id" {
		t.Error("they have not come back")
	}
	// A view of nobody's is not dropped.
	prepare(t, owner, `create view foreign_view as select * from b1`)
	one(t, apply(t, owner, of("a", top, "b", base)), "features/b/schema.sql:1:1: the view foreign_view, which no schema.sql defines, is built on a view of this file")
	if looks(t, owner, "foreign_view") != "id" || looks(t, owner, "a2") != "id" {
		t.Error("it is gone")
	}
}

// row H7
func TestTwoFeaturesDefineOneView(t *testing.T) {
	owner := database(t)
	got := apply(t, owner, of("a", "create view v as select 1 as a;\ncreate view own as select 1 as x", "b", "\n create or replace  VIEW \"v\" as select 2 as b", "c", "create materialized view if not exists public.V as select 3", "d", "create view d as select 1 as d; create temp view v as select 1"))
	want := []string{
		"features/a/schema.sql:1:13: the view v is also defined in features/b/schema.sql and features/c/schema.sql, so neither file is applied; keep it in one of them, or rename it",
		"features/b/schema.sql:2:26: the view v is also defined in features/a/schema.sql and features/c/schema.sql, so neither file is applied; keep it in one of them, or rename it",
		"features/c/schema.sql:1:47: the view v is also defined in features/a/schema.sql and features/b/schema.sql, so neither file is applied; keep it in one of them, or rename it",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if looks(t, owner, "own") != "" || looks(t, owner, "d") != "d" {
		t.Error("a file of the clash was applied, or another was not")
	}
	// Where only running it shows the clash.
	clean(t, owner, of("a", "create view v as select 1 as a"))
	got = apply(t, owner, of("a", "create view v as select 1 as a", "b", "create table mine (x int); do $$ begin execute 'create or replace view v as select 2 as a'; end $$"))
	if len(got) != 2 || !strings.Contains(got[0], "features/b/schema.sql:1:1: the view v is also defined in features/a/schema.sql") || !strings.Contains(got[1], "features/a/schema.sql:1:1: the view v is also defined in features/b/schema.sql") {
		t.Errorf("%q", got)
	}
	if looks(t, owner, "mine") != "" {
		t.Error("a file of the clash was applied")
	}
	// A feature that is gone leaves its views to whoever defines them.
	clean(t, owner, of("renamed", "create view v as select 1 as x, 2 as y"))
	if looks(t, owner, "v") != "x y" {
		t.Error("the view was not taken over")
	}
}

// The doctor's look: what Apply would say and what the views would look like.
// row H7
func TestCheckChangesNothing(t *testing.T) {
	db := storetest.New(t) // also where no bot has run yet
	schemas := of("a", `create view a1 as select id from b1`, "b", `create table b (id int, n int); create view b1 as select id, n from b; create view odd as select 1`, "bad", "create view x as select * from nothing")
	for range 2 {
		found, problems, err := Check(t.Context(), db.Pool(), schemas, []string{"a1", "b1", "x", "b"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		one(t, lines(problems), "features/bad/schema.sql:1:32", `relation "nothing" does not exist`)
		if want := map[string][]string{"a1": {"id"}, "b1": {"id", "n"}, "b": {"id", "n"}}; !reflect.DeepEqual(found.Columns, want) {
			t.Errorf("%v", found)
		}
	}
	if looks(t, db.Pool(), "b") != "" {
		t.Error("a check has made a table")
	}
	migrated(t, db)
	clean(t, db.Pool(), schemas[:2])
	schemas[1].Text = `create table if not exists b (id int, n int); create view b1 as select id, n, 1 as one from b`
	found, problems, err := Check(t.Context(), db.Pool(), schemas[:2], []string{"a1", "b1", "odd"}, nil)
	if want := map[string][]string{"a1": {"id"}, "b1": {"id", "n", "one"}}; err != nil || problems != nil || !reflect.DeepEqual(found.Columns, want) {
		t.Errorf("%v %v %v", found, problems, err)
	}
	if looks(t, db.Pool(), "b1") != "id n" || looks(t, db.Pool(), "odd") == "" {
		t.Error("a check has changed a view")
	}
}

// A check does not wait long for a table that the bot works on.
func TestApplyMeetsALock(t *testing.T) {
	owner := database(t)
	clean(t, owner, of("support", support))
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `select from public.card`); err != nil {
		t.Fatal(err)
	}
	_, problems, err := Check(t.Context(), owner, of("support", support+"select 1"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	one(t, lines(problems), "lock timeout", "another process works on the table")
}

// Replicas that start together apply each text once.
func TestApplyTogether(t *testing.T) {
	owner := database(t)
	done := make(chan error)
	for range 5 {
		go func() {
			problems, err := Apply(context.Background(), owner, of("a", "create table a (x int)", "b", "create table b (x int); create view v as select * from a"))
			if len(problems) > 0 {
				err = problems[0]
			}
			done <- err
		}()
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A database that is away is an error, not a problem of somebody's file.
func TestApplyWithoutADatabase(t *testing.T) {
	server := storetest.NewDurable(t)
	db := server.Open(nil)
	migrated(t, db)
	server.Kill()
	problems, err := Apply(t.Context(), db.Pool(), of("support", support))
	if err == nil || problems != nil || !store.Transient(err) {
		t.Errorf("%v, %v", problems, err)
	}
	if _, _, err := Check(t.Context(), db.Pool(), of("support", support), nil, nil); err == nil {
		t.Error("a check without a database is content")
	}
}

func BenchmarkApplyNothing(b *testing.B) {
	owner := database(b)
	var schemas []Schema
	for i := range 20 {
		schemas = append(schemas, of(fmt.Sprintf("f%d", i), fmt.Sprintf("create view v%d as select 1 as x", i))...)
	}
	clean(b, owner, schemas)
	for b.Loop() {
		clean(b, owner, schemas)
	}
}
