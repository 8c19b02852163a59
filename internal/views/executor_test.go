package views

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/views/sql"
)

// arguments reads JSON as the caller of Run does.
func arguments(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a statement with at most 3 rows.
func run(t testing.TB, e *Executor, statement, args string) (Outcome, error) {
	t.Helper()
	s, wrong := sql.Parse(statement)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return e.Run(t.Context(), s, arguments(t, args), false, 3, "Europe/Amsterdam")
}

// rowsOf joins rows for comparing.
func rowsOf(o Outcome) string {
	var out []string
	for _, r := range o.Rows {
		out = append(out, string(r))
	}
	return strings.Join(out, "\n")
}

func executor(t testing.TB, setup string) *Executor {
	t.Helper()
	owner := database(t)
	prepare(t, owner, setup)
	e, err := OpenExecutor(t.Context(), owner, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if w := e.Warnings(); len(w) > 0 {
		t.Fatal(w)
	}
	return e
}

const shopping = `create table items (id serial primary key, name text not null unique check (name <> ''), n int default 1, tags text[], extra jsonb, done bool default false, at timestamptz default '2026-11-30 09:00+00', price numeric)`

func TestRunGivesRowsAndCounts(t *testing.T) {
	e := executor(t, shopping)
	for _, c := range []struct{ statement, args, rows string }{
		{`insert into items (name, n, tags, extra, price) values (:name, :n, :tags, :extra, :price) returning id, name, n, tags, extra, done, at, price, null as nil`,
			`{"name":"milk <&> \"q\"","n":2,"tags":["a b","c\"d\\",null,"NULL"],"extra":{"k":[1,"<"]},"price":1.50}`,
			`{"id":1,"name":"milk <&> \"q\"","n":2,"tags":"{\"a b\",\"c\\\"d\\\\\",NULL,\"NULL\"}","extra":{"k": [1, "<"]},"done":false,"at":"2026-11-30 10:00:00+01","price":1.50,"nil":null}`},
		{`select 1 as a, 2 as a, 'NaN'::float8 as nan, :x::text`, `{"x":null}`, `{"a":1,"a_2":2,"nan":"NaN","text":null}`},
		{`select :x is null as gone, :y as text, :x as again`, `{"x":"v","y":5}`, `{"gone":false,"text":"5","again":"v"}`},
		{`select :n::int + 1 as next`, `{"n":4.0}`, `{"next":5}`},
		{`select sum(v) from unnest(:v::int[]) v`, `{"v":[1,2,3]}`, `{"sum":6}`},
		{`select (:m::int[])[2][1] as m`, `{"m":[[1,2],[3,4]]}`, `{"m":3}`},
		{`select :j::jsonb -> 1 as j`, `{"j":["a","b"]}`, `{"j":"b"}`},
		{`select n from items where name like :p || '%'; -- the end`, `{"p":"milk"}`, `{"n":2}`},
		{`select ':x' as a, $$ :y $$ as b, 1::text as c /* :z */ from items where id = any(array[:a, :b])`, `{"a":1,"b":2}`, `{"a":":x","b":" :y ","c":"1"}`},
		{`select * from items where false`, `{}`, ``},
		{`with x as (update items set done = :done where id = :id returning id) select id from x`, `{"done":true,"id":1}`, `{"id":1}`},
		{`values (:a::int), (:b)`, `{"a":1,"b":2}`, "{\"column1\":1}\n{\"column1\":2}"},
	} {
		out, err := run(t, e, c.statement, c.args)
		if err != nil || rowsOf(out) != c.rows || !out.Tabular || out.More {
			t.Errorf("%s\n got %s (%+v, %v)\nwant %s", c.statement, rowsOf(out), out, err, c.rows)
		}
		for _, row := range out.Rows {
			if !json.Valid(row) {
				t.Errorf("%s is no JSON", row)
			}
		}
	}
	out, err := run(t, e, `update items set n = n + :by`, `{"by":1}`)
	if err != nil || out.Affected != 1 || out.Tabular {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = run(t, e, `insert into items (name) select 'i' || i from generate_series(1, 10) i returning name`, `{}`)
	if err != nil || len(out.Rows) != 3 || !out.More || out.Affected != 10 {
		t.Errorf("%+v, %v", out, err)
	}
}

// Arguments are values, whatever is in them.
func TestHostileArguments(t *testing.T) {
	e := executor(t, shopping)
	for _, name := range []string{`x'); drop table items; --`, `'; delete from items; --`, `$1`, `:name`, `\`, `%s`, "\u202ereversed", "a\nb", "$$ x $$", strings.Repeat("ü", 100000)} {
		quoted, _ := json.Marshal(name)
		out, err := run(t, e, `insert into items (name) values (:name) returning name = :name as same`, `{"name":`+string(quoted)+`}`)
		if err != nil && len(name) < 1000 || err == nil && rowsOf(out) != `{"same":true}` {
			t.Errorf("%.40q: %s %v", name, rowsOf(out), err)
		}
	}
	out, err := run(t, e, `select count(*) as n from items`, `{}`)
	if err != nil || rowsOf(out) != `{"n":9}` && rowsOf(out) != `{"n":10}` {
		t.Errorf("%s, %v", rowsOf(out), err)
	}
	for args, want := range map[string]string{
		`{}`:                    "argument name is missing",
		`{"name":"a\u0000"}`:    "argument name holds the character NUL",
		`{"name":["\u0000"]}`:   "argument name holds the character NUL",
		`{"name":{"\u0000":1}}`: "argument name holds the character NUL",
	} {
		if _, err := run(t, e, `insert into items (name) values (:name)`, args); err == nil || !strings.Contains(attache.Sentence(err), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// What goes wrong is undone whole, and the sentence says what the caller can mend.
func TestRunSaysWhatIsWrong(t *testing.T) {
	e := executor(t, shopping+`; insert into items (name) values ('milk'); create table log (x text);
		create function fail() returns trigger language plpgsql as 'begin raise exception ''% is sold out'', new.name; end';
		create table guarded (name text); create trigger t before insert on guarded for each row execute function fail();
		create table late (x int unique deferrable initially deferred);
		create function write() returns int language plpgsql as 'begin insert into log values (1); return 1; end';
		create view logged as select * from log`)
	for _, c := range []struct{ statement, args, want string }{
		{`select * from items where id = :id`, `{"id":"abc"}`, `argument id does not fit its column: invalid input syntax for type integer: "abc"`},
		{`select * from items where id = :id`, `{"id":99999999999}`, `argument id does not fit its column: value "99999999999" is out of range for type integer`},
		{`select * from items where at > :t`, `{"t":"soon"}`, `argument t does not fit its column: invalid input syntax for type timestamp with time zone: "soon"`},
		{`insert into items (name) values (:n)`, `{"n":"milk"}`, `the database refused it and nothing was changed: duplicate key value violates unique constraint "items_name_key"`},
		{`insert into items (name) values (:n)`, `{"n":""}`, `the database refused it and nothing was changed: new row for relation "items" violates check constraint "items_name_check"`},
		{`insert into items (name) values (:n)`, `{"n":null}`, `null value in column "name"`},
		{`insert into guarded values (:n)`, `{"n":"milk"}`, `the database refused it and nothing was changed: milk is sold out`},
		{`insert into late values (1), (1)`, `{}`, `the database refused it and nothing was changed: duplicate key`},
		{`select 1 / (n - 1) from items`, `{}`, `its statement ended in an error and nothing was changed (SQLSTATE 22012`},
		{`select * from nothing`, `{}`, `(SQLSTATE 42P01`},
		{`delete from logged`, `{}`, `it needs a right that SQL tools have not`},
		{`table attache.schemas`, `{}`, `it needs a right that SQL tools have not`},
		{`select pg_read_file('/etc/passwd')`, `{}`, `it needs a right that SQL tools have not`},
		{`select 1 as a into public.made`, `{}`, `it needs a right that SQL tools have not`},
	} {
		if _, err := run(t, e, c.statement, c.args); err == nil || !strings.Contains(attache.Sentence(err), c.want) {
			t.Errorf("%s %s:\n got %v\nwant %s", c.statement, c.args, attache.Sentence(err), c.want)
		}
	}
	s, _ := sql.Parse(`select write()`)
	if _, err := e.Run(t.Context(), s, nil, true, 3, "UTC"); err == nil || !strings.Contains(attache.Sentence(err), "although it is declared safe") {
		t.Errorf("%v", err)
	}
	if out, err := e.Run(t.Context(), s, nil, false, 3, "UTC"); err != nil || rowsOf(out) != `{"write":1}` {
		t.Errorf("%s %v", rowsOf(out), err)
	}
	if out, err := run(t, e, `select (select count(*) from log) as log, (select count(*) from items) as items, (select count(*) from late) as late`, `{}`); rowsOf(out) != `{"log":1,"items":1,"late":0}` {
		t.Errorf("%s %v", rowsOf(out), err)
	}
}

func TestToolsRights(t *testing.T) {
	e := executor(t, shopping+`; create schema dbos; create table dbos.work (x int); create view seen as select * from items`)
	conn := as(t, &e.login)
	for _, statement := range []string{`table attache.schemas`, `delete from dbos.work`, `truncate public.items`, `drop table public.items`, `alter table public.items add x int`,
		`create table public.x (x int)`, `create schema x`, `insert into public.seen (name) values ('x')`, `set role ` + quoted(e.login.owner.Config().ConnConfig.User),
		`create trigger t before insert on public.items for each row execute function suppress_redundant_updates_trigger()`, `copy public.items to program 'cat'`, `create role x`} {
		refused(t, conn, noRight, statement)
	}
	for _, statement := range []string{`insert into public.items (name) values ('a')`, `update public.items set n = 2`, `table public.seen`, `delete from public.items`} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// What a statement does to its session is gone with it.
func TestToolsDoNotReachTheSession(t *testing.T) {
	e := executor(t, shopping)
	e.login.pool.Reset()
	for range 3 {
		if _, err := run(t, e, `select set_config('search_path', 'attache', false), set_config('statement_timeout', '0', false), set_config('default_transaction_read_only', 'on', false), pg_advisory_lock(9)::text`, `{}`); err != nil {
			t.Fatal(err)
		}
		out, err := run(t, e, `select current_setting('search_path') as p, current_setting('statement_timeout') as s, current_setting('transaction_read_only') as r, current_setting('timezone') as z,
			(select count(*) from pg_locks where locktype = 'advisory' and objid = 9) as l`, `{}`)
		if want := `{"p":"public","s":"10s","r":"off","z":"Europe/Amsterdam","l":0}`; err != nil || rowsOf(out) != want {
			t.Errorf("%s %v", rowsOf(out), err)
		}
	}
}

// A table that is younger than the login's rights, and one made anew.
func TestToolsSeeNewTables(t *testing.T) {
	e := executor(t, shopping)
	prepare(t, e.login.owner, `create table fresh (id serial, x text)`)
	for range 2 {
		if out, err := run(t, e, `insert into fresh (x) values (:x)`, `{"x":"a"}`); err != nil || out.Affected != 1 {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

func TestSlowStatementsAreUndone(t *testing.T) {
	owner := database(t)
	prepare(t, owner, shopping)
	e, err := OpenExecutor(t.Context(), owner, Options{Statement: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = run(t, e, `with x as (insert into items (name) values ('a') returning 1) select pg_sleep(60)::text from x`, `{}`)
	if err == nil || !strings.Contains(attache.Sentence(err), "took too long (at most 100ms) and was undone") || errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s, _ := sql.Parse(`insert into items (name) values ('b')`)
	if _, err = e.Run(ctx, s, nil, false, 3, "UTC"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	if out, err := run(t, e, `select count(*) as n from items`, `{}`); err != nil || rowsOf(out) != `{"n":0}` {
		t.Errorf("%s %v", rowsOf(out), err)
	}
}
