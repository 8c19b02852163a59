package views

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"attache/internal/store/storetest"
	"attache/internal/views/sql"
)

const tickets = `
	create table tickets (id text primary key, client text, title text, opened timestamptz default '2026-11-30 09:00+00', n int);
	insert into tickets (id, client, title, n) values ('T-1', 'acme', 'One', 1), ('T-2', 'globex', 'Two', 2), ('T-3', 'acme', 'Three', null);
	create view card as select * from tickets order by id desc;
	create view sla as select count(*) as open from tickets`

// row A7
// row G5
func TestReadWholeAndByKey(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets)
	r := reader(t, owner, Options{}, "card", "sla")
	if w := r.Warnings(); len(w) > 0 {
		t.Fatal(w)
	}
	got := r.Read(t.Context(), []Query{{View: "sla"}, {View: "card", By: "client", Key: "acme"}, {View: "card", By: "client"}, {View: "card", By: "n", Key: "2"}, {View: "card"}}, 2, "Europe/Amsterdam")
	columns := []string{"id", "client", "title", "opened", "n"}
	at := "2026-11-30 10:00:00+01"
	want := []Result{
		{Columns: []string{"open"}, Rows: [][]string{{"3"}}},
		{Columns: columns, Rows: [][]string{{"T-3", "acme", "Three", at, ""}, {"T-1", "acme", "One", at, "1"}}},
		{}, // no key: no rows, never all
		{Columns: columns, Rows: [][]string{{"T-2", "globex", "Two", at, "2"}}},
		{Columns: columns, Rows: [][]string{{"T-3", "acme", "Three", at, ""}, {"T-2", "globex", "Two", at, "2"}}, More: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, rows := range []int{0, -1} {
		if got := r.Read(t.Context(), []Query{{View: "card"}, {View: "nothing"}}, rows, "UTC"); !reflect.DeepEqual(got, []Result{{}, {}}) {
			t.Errorf("rows switched off give %+v", got)
		}
	}
	if got := read(t, r, Query{View: "card"}, 3); len(got.Rows) != 3 || got.More {
		t.Errorf("exactly as many rows as there are: %+v", got)
	}
}

// A key is data, whatever it looks like, and so is a row.
func TestHostileKeysAndRows(t *testing.T) {
	owner := database(t)
	prepare(t, owner, `create table notes (key text, "a ""b"" <c>" text); create view "my; view" as select * from notes`)
	keys := []string{`x' or '1'='1`, `'; drop table notes; --`, `\' or 1=1`, `$1`, `%s`, `{acme}`, "a\nb", "\u202eacme", "\u200b", "é", "e\u0301", "<section>", "||", strings.Repeat("k", 200)}
	for _, key := range keys {
		if _, err := owner.Exec(t.Context(), `insert into public.notes values ($1, $1)`, key); err != nil {
			t.Fatal(err)
		}
	}
	r := reader(t, owner, Options{}, "my; view")
	for _, key := range keys {
		got := read(t, r, Query{View: "my; view", By: "key", Key: key}, 20)
		if want := [][]string{{key, key}}; !reflect.DeepEqual(got.Rows, want) || got.Err != "" || got.Columns[1] != `a "b" <c>` {
			t.Errorf("%q: %+v", key, got)
		}
	}
	for _, key := range []string{"a\x00b", "\xff"} {
		if got := read(t, r, Query{View: "my; view", By: "key", Key: key}, 20); got.Err == "" || got.Rows != nil {
			t.Errorf("%q: %+v", key, got)
		}
	}
	// Names are names: nothing of them is read as SQL, and none is cut to another.
	long := strings.Repeat("v", 63)
	prepare(t, owner, `create view `+long+` as select 1 as `+long)
	for _, name := range []string{`my; view" --`, `"my; view"`, "public.notes", "attache.schemas", "pg_authid", "notes; select 1", long + "v", "", "a\x00", "Card"} {
		if err := r.Allow(t.Context(), []string{name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got := read(t, r, Query{View: name}, 20); got.Err == "" || got.Rows != nil || got.Columns != nil {
			t.Errorf("the view %q: %+v", name, got)
		}
	}
	if err := r.Allow(t.Context(), []string{"my; view", long}); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{`key" = 'x' or "key`, "key::text", long + "v", "nokey", "ctid"} {
		if got := read(t, r, Query{View: "my; view", By: by, Key: "x"}, 20); !strings.Contains(got.Err, "has no column") {
			t.Errorf("the column %q: %+v", by, got)
		}
	}
	if got := read(t, r, Query{View: long}, 20); got.Err != "" || len(got.Rows) != 1 {
		t.Errorf("%+v", got)
	}
	if got := read(t, r, Query{View: "notes"}, 20); !strings.Contains(got.Err, "none that the brain names") {
		t.Errorf("a view that was not allowed: %+v", got)
	}
}

// Values come as Postgres prints them, whatever the server and the role prefer.
func TestValues(t *testing.T) {
	owner := database(t)
	prepare(t, owner, `create type mood as enum ('ok'); create type pair as (a int, b text);
		create view v as select true as b, 1.50::numeric as n, 0.1::float8 as f, '\xdeadbeef'::bytea as y, '1 day 2 hours'::interval as i,
			'2026-07-01 12:00+00'::timestamptz as z, '2026-07-01'::date as d, array['a b', null, ''] as l, '{"a": 1}'::jsonb as j,
			'10.0.0.1'::inet as ip, 'ab'::char(4) as c, 'ok'::mood as m, row(1, 'x y')::pair as p, null::int as nil, '' as empty,
			'a|b'||chr(10)||'c' as bars, 'NaN'::float8 as nan, '$1,000'::money::text as cash;
		create view empty as select; create view none as select 1 as a where false`)
	prepare(t, owner, `alter database `+owner.Config().ConnConfig.Database+` set datestyle = 'German'; alter database `+owner.Config().ConnConfig.Database+` set bytea_output = 'escape'`)
	r := reader(t, owner, Options{}, "v", "empty", "none")
	got := r.Read(t.Context(), []Query{{View: "v"}, {View: "empty"}, {View: "none"}}, 5, "America/New_York")
	want := []string{"t", "1.50", "0.1", `\xdeadbeef`, "1 day 02:00:00", "2026-07-01 08:00:00-04", "2026-07-01", `{"a b",NULL,""}`, `{"a": 1}`,
		"10.0.0.1", "ab  ", "ok", `(1,"x y")`, "", "", "a|b\nc", "NaN", "$1,000.00"}
	if got[0].Err != "" || !reflect.DeepEqual(got[0].Rows, [][]string{want}) {
		t.Errorf("%+v", got[0])
	}
	if got[1].Err != "" || len(got[1].Rows) != 1 || len(got[1].Rows[0]) != 0 {
		t.Errorf("a view without columns: %+v", got[1])
	}
	if got[2].Err != "" || len(got[2].Rows) != 0 || len(got[2].Columns) != 1 {
		t.Errorf("a view without rows: %+v", got[2])
	}
	if got := r.Read(t.Context(), []Query{{View: "v"}}, 5, "Mars/Olympus"); !strings.Contains(got[0].Err, `knows no time zone "Mars/Olympus"`) {
		t.Errorf("%+v", got)
	}
	if got := read(t, r, Query{View: "v"}, 5); got.Err != "" {
		t.Errorf("the connection was left in a bad state: %+v", got)
	}
}

func TestHugeValuesAreCut(t *testing.T) {
	owner := database(t)
	prepare(t, owner, `create view v as select repeat('é', 20000000) as big, repeat('é', 2000) as full, repeat('x', 2001) as over`)
	r := reader(t, owner, Options{}, "v")
	row := read(t, r, Query{View: "v"}, 5).Rows[0]
	if want := strings.Repeat("é", 1999) + "…"; row[0] != want {
		t.Errorf("%d bytes", len(row[0]))
	}
	if row[1] != strings.Repeat("é", 2000) || row[2] != strings.Repeat("x", 1999)+"…" {
		t.Errorf("%d and %d bytes", len(row[1]), len(row[2]))
	}
}

// One view that cannot be read costs the others nothing, in whatever way it breaks.
func TestOneBrokenViewIsAlone(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets+`;
		create sequence s;
		create function writes() returns int language plpgsql volatile security definer as 'begin insert into tickets values (''X''); return 1; end';
		create function peek() returns bigint language sql stable as 'select count(*) from tickets';
		create view broken as select 1 / n as x from (values (0)) v (n);
		create view cast_ as select title::int as x from tickets;
		create view slow as select pg_sleep(60)::text as x;
		create view changing as select writes() as x;
		create view rightless as select peek() as x;
		create view invoker with (security_invoker = true) as select * from tickets;
		create view draws as select nextval('s') as x;
		create view ring as select 1 as x; create view ring2 as select * from ring; create or replace view ring as select * from ring2`)
	names := []string{"broken", "cast_", "slow", "changing", "rightless", "invoker", "draws", "ring", "missing"}
	r := reader(t, owner, Options{Statement: 100 * time.Millisecond}, append(names, "sla")...)
	var queries []Query
	for _, n := range names {
		queries = append(queries, Query{View: n}, Query{View: "sla"})
	}
	began := time.Now()
	got := r.Read(t.Context(), queries, 5, "UTC")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	words := map[string]string{"broken": "22012", "cast_": "22P02", "slow": "longer than 100ms", "changing": "tries to change something",
		"rightless": "needs a right", "invoker": "needs a right", "draws": "needs a right", "ring": "42P17", "missing": "there is no view missing"}
	for i, q := range queries {
		if q.View == "sla" {
			if got[i].Err != "" || !reflect.DeepEqual(got[i].Rows, [][]string{{"3"}}) {
				t.Errorf("after %s: %+v", queries[i-1].View, got[i])
			}
			continue
		}
		if !strings.Contains(got[i].Err, words[q.View]) || got[i].Cause == nil || got[i].Rows != nil {
			t.Errorf("%s: %+v", q.View, got[i])
		}
		if strings.Contains(got[i].Err, "One") || strings.Contains(got[i].Err, "Two") {
			t.Errorf("the sentence quotes a row, which this place may not see: %s", got[i].Err)
		}
	}
	if got := read(t, r, Query{View: "sla"}, 5); got.Rows[0][0] != "3" {
		t.Error("a view has changed rows")
	}
}

// What a function of a view does to the session ends with the view.
func TestViewsDoNotReachTheSession(t *testing.T) {
	owner := database(t)
	database := owner.Config().ConnConfig.Database
	prepare(t, owner, fmt.Sprintf(`
		create view a_zone as select set_config('timezone', 'Asia/Tokyo', false) as x;
		create view b_limit as select set_config('statement_timeout', '0', false) as x;
		create view c_path as select set_config('search_path', 'attache', false) as x;
		create view d_lock as select pg_advisory_lock(7)::text as x;
		create view e_write as select set_config('transaction_read_only', 'off', false) as x;
		create view f_role as select set_config('role', '%s', false) as x;
		create view g_notify as select pg_notify('turns', 'forged')::text as x;
		create view z_state as select current_setting('timezone') as zone, current_setting('statement_timeout') as limit_,
			current_setting('search_path') as path, current_setting('transaction_read_only') as ro, current_user as who, session_user as login`, owner.Config().ConnConfig.User))
	names := []string{"a_zone", "b_limit", "c_path", "d_lock", "e_write", "f_role", "g_notify", "z_state"}
	r := reader(t, owner, Options{}, names...)
	role := r.login.role
	var queries []Query
	for _, n := range names {
		queries = append(queries, Query{View: n})
	}
	want := []string{"Europe/Paris", "2s", "public", "on", role, role}
	for range 3 { // the connections are used again
		got := r.Read(t.Context(), queries, 5, "Europe/Paris")
		if last := got[len(got)-1]; last.Err != "" || !reflect.DeepEqual(last.Rows[0], want) {
			t.Errorf("%+v", last)
		}
		if e := got[4]; e.Err == "" {
			t.Errorf("a view may make its transaction write: %+v", e)
		}
		if f := got[5]; f.Err == "" {
			t.Errorf("a view may take another role: %+v", f)
		}
	}
	var locks int
	if err := owner.QueryRow(t.Context(), `select count(*) from pg_locks where locktype = 'advisory' and objid = 7 and database = (select oid from pg_database where datname = $1)`, database).Scan(&locks); err != nil || locks != 0 {
		t.Errorf("%d locks are left, %v", locks, err)
	}
}

// All views of a turn show one moment.
func TestOneSnapshot(t *testing.T) {
	owner := database(t)
	prepare(t, owner, `create table n (x int); insert into n values (1);
		create function hold() returns int language plpgsql as 'begin perform pg_advisory_lock_shared(42); perform pg_advisory_unlock_shared(42); return 1; end';
		create view first as select count(*) as x from n; create view wait as select hold() as x; create view second as select count(*) as x from n`)
	r := reader(t, owner, Options{Statement: 20 * time.Second, Total: 30 * time.Second}, "first", "wait", "second")
	conn, err := owner.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock(42)`); err != nil {
		t.Fatal(err)
	}
	done := make(chan []Result)
	go func() {
		done <- r.Read(t.Context(), []Query{{View: "first"}, {View: "wait"}, {View: "second"}}, 5, "UTC")
	}()
	for waiting := 0; waiting == 0; { // until the view stands at the lock
		if err := conn.QueryRow(t.Context(), `select count(*) from pg_locks where locktype = 'advisory' and objid = 42 and not granted`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), `insert into public.n values (2)`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `select pg_advisory_unlock(42)`); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got[0].Rows[0][0] != "1" || got[2].Err != "" || got[2].Rows[0][0] != "1" {
		t.Errorf("%+v", got)
	}
}

func TestTimeIsUp(t *testing.T) {
	owner := database(t)
	prepare(t, owner, `create view fine as select 1 as x; create view slow as select pg_sleep(60)::text as x`)
	r := reader(t, owner, Options{Statement: time.Minute, Total: 200 * time.Millisecond}, "fine", "slow")
	began := time.Now()
	got := r.Read(t.Context(), []Query{{View: "fine"}, {View: "slow"}, {View: "fine"}}, 5, "UTC")
	if time.Since(began) > 5*time.Second || got[0].Err != "" || got[0].Rows[0][0] != "1" {
		t.Errorf("after %v: %+v", time.Since(began), got[0])
	}
	for _, late := range got[1:] {
		if !strings.Contains(late.Err, "all views of a turn together may take 200ms") || late.Cause == nil {
			t.Errorf("%+v", late)
		}
	}
	if got := read(t, r, Query{View: "fine"}, 5); got.Err != "" {
		t.Errorf("the next turn: %+v", got)
	}
	// The query does not go on for nobody.
	for left := 1; left > 0; {
		if err := owner.QueryRow(t.Context(), `select count(*) from pg_stat_activity where state = 'active' and query like '%"slow"%' and pid <> pg_backend_pid()`).Scan(&left); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLockedTable(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets+`; create view fine as select 1 as x`)
	r := reader(t, owner, Options{Statement: 200 * time.Millisecond}, "card", "fine")
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `lock table public.tickets in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	got := r.Read(t.Context(), []Query{{View: "card"}, {View: "fine"}}, 5, "UTC")
	if !strings.Contains(got[0].Err, "one of its tables is locked") || got[1].Err != "" {
		t.Errorf("%+v", got)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, r, Query{View: "card"}, 5); got.Err != "" {
		t.Errorf("%+v", got)
	}
}

// A view that somebody drops and makes anew loses its grants; the next turn does
// not notice.
func TestViewsComeAndGo(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets)
	r := reader(t, owner, Options{}, "card", "sla", "later")
	both := []Query{{View: "card"}, {View: "later"}, {View: "sla"}}
	if got := r.Read(t.Context(), both, 5, "UTC"); got[0].Err != "" || got[1].Err == "" || got[2].Err != "" {
		t.Errorf("%+v", got)
	}
	prepare(t, owner, `drop view card; create view card as select id from tickets; create view later as select 1 as x`)
	if got := r.Read(t.Context(), both, 5, "UTC"); got[0].Err != "" || len(got[0].Columns) != 1 || got[1].Err != "" || got[2].Err != "" {
		t.Errorf("%+v", got)
	}
	prepare(t, owner, `drop view card`)
	if got := r.Read(t.Context(), both, 5, "UTC"); !strings.Contains(got[0].Err, "there is no view card") || got[1].Err != "" || got[2].Err != "" {
		t.Errorf("%+v", got)
	}
}

// After a schema was applied anew, which drops and makes its views, the reader is
// let in again without being told.
func TestReadAfterApply(t *testing.T) {
	owner := database(t)
	apply := func(text string) {
		problems, err := sql.Apply(t.Context(), owner, []sql.Schema{{Feature: "f", File: "features/f/schema.sql", Text: text}})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
	}
	apply(`create view card as select 1 as id`)
	r := reader(t, owner, Options{}, "card")
	apply(`create view card as select 2 as id, 3 as more`)
	if got := read(t, r, Query{View: "card"}, 5); got.Err != "" || !reflect.DeepEqual(got.Rows, [][]string{{"2", "3"}}) {
		t.Errorf("%+v", got)
	}
}

func TestAThousandViews(t *testing.T) {
	owner := database(t)
	var make strings.Builder
	var names []string
	var queries []Query
	for i := range 1000 {
		name := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&make, "create view %s as select %d as n;", name, i)
		names, queries = append(names, name), append(queries, Query{View: name})
	}
	prepare(t, owner, make.String())
	r := reader(t, owner, Options{Total: time.Minute}, names...)
	for i, got := range r.Read(t.Context(), queries, 5, "UTC") {
		if got.Err != "" || got.Rows[0][0] != fmt.Sprint(i) {
			t.Fatalf("%d: %+v", i, got)
		}
	}
}

// row H7
func TestDescribe(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets+`; create view empty as select`)
	r := reader(t, owner, Options{})
	got, err := r.Describe(t.Context(), []string{"card", "sla", "empty", "missing", "attache.schemas", "a\x00b"})
	want := map[string][]string{"card": {"id", "client", "title", "opened", "n"}, "sla": {"open"}, "empty": {}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDatabaseAway(t *testing.T) {
	server := storetest.NewDurable(t)
	db := server.Open(nil)
	migrated(t, db)
	prepare(t, db.Pool(), tickets)
	r := reader(t, db.Pool(), Options{}, "sla")
	server.Kill()
	for range 2 {
		if got := read(t, r, Query{View: "sla"}, 5); !strings.Contains(got.Err, "the database did not answer") || got.Cause == nil {
			t.Errorf("%+v", got)
		}
	}
	server.Start()
	if got := read(t, r, Query{View: "sla"}, 5); got.Err != "" {
		t.Errorf("%+v", got)
	}
}

// The goal of design/architecture § 4: a turn with three views of 20 rows.
func BenchmarkRead(b *testing.B) {
	owner := database(b)
	prepare(b, owner, `create table t (id int, client text, title text, at timestamptz default now());
		insert into t select i, 'c' || i % 10, 'A title of some length ' || i from generate_series(1, 1000) i;
		create view a as select * from t order by id; create view b as select * from t order by id desc; create view c as select * from t`)
	r := reader(b, owner, Options{}, "a", "b", "c")
	queries := []Query{{View: "a"}, {View: "b"}, {View: "c", By: "client", Key: "c3"}}
	for b.Loop() {
		if got := r.Read(b.Context(), queries, 20, "Europe/Amsterdam"); got[2].Err != "" || len(got[0].Rows) != 20 {
			b.Fatal(got)
		}
	}
}
