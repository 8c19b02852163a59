package views

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"attache/internal/store/storetest"
)

// as opens a session with a login's own rights.
func as(t *testing.T, l *login) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), l.pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// refused expects a statement to be refused with a SQLSTATE.
func refused(t *testing.T, conn *pgx.Conn, state, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); code(err) != state {
		t.Errorf("%s: %v, want SQLSTATE %s", statement, err, state)
	}
}

// The reader's login may select from the named views and do nothing else, whatever
// is tried with it.
func TestReadersRights(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets+`; create schema dbos; create table dbos.work (x int); create view other as select 1 as x;
		create view mine as select feature from attache.schemas`)
	r := reader(t, owner, Options{}, "card", "sla", "mine")
	if !r.login.own {
		t.Fatal(r.Warnings())
	}
	conn := as(t, &r.login)
	for _, statement := range []string{`table public.tickets`, `table public.other`, `table attache.schemas`, `table dbos.work`, `table pg_authid`,
		`select pg_read_file('/etc/passwd')`, `copy (select 1) to program 'true'`, `copy public.card to '/tmp/x'`, `select lo_import('/etc/passwd')`,
		`set role ` + quoted(owner.Config().ConnConfig.User), `set session authorization ` + quoted(owner.Config().ConnConfig.User)} {
		refused(t, conn, noRight, statement)
	}
	for _, statement := range []string{`create table public.mine2 (x int)`, `create temp table x (x int)`, `create role x`, `alter role ` + quoted(r.login.role) + ` createdb`} {
		refused(t, conn, readOnly, statement)
	}
	if _, err := conn.Exec(t.Context(), `set default_transaction_read_only = off`); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`insert into public.card (id) values ('x')`, `delete from public.card`, `create table public.mine2 (x int)`, `create schema x`, `drop view public.card`, `create role x`, `alter role ` + quoted(r.login.role) + ` createdb`} {
		if _, err := conn.Exec(t.Context(), statement); code(err) != noRight {
			t.Errorf("once it writes, %s: %v", statement, err)
		}
	}
	// A view of the brain's author that reads our tables reads them: views have their
	// owner's rights, and the author is the owner.
	if got := read(t, r, Query{View: "mine"}, 5); got.Err != "" {
		t.Errorf("%+v", got)
	}
	if err := r.Allow(t.Context(), []string{"sla"}); err != nil {
		t.Fatal(err)
	}
	refused(t, conn, noRight, `table public.card`)
	if _, err := conn.Exec(t.Context(), `table public.sla`); err != nil {
		t.Error(err)
	}
	var grants string
	err := owner.QueryRow(t.Context(), `select string_agg(c.relname || ' ' || a.privilege_type, ',') from pg_class c, aclexplode(c.relacl) a, pg_roles g where g.oid = a.grantee and g.rolname = $1`, r.login.role).Scan(&grants)
	if err != nil || grants != "sla SELECT" {
		t.Errorf("%q, %v", grants, err)
	}
}

// Two databases of one server have logins of their own, a second start uses the
// same one, and two processes at once do not trip over each other.
func TestRolesAreReused(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets)
	first := reader(t, owner, Options{}, "sla")
	other := reader(t, database(t), Options{})
	if first.login.role == other.login.role {
		t.Error("two databases share a login")
	}
	done := make(chan error)
	for range 4 {
		go func() {
			r, err := OpenReader(context.Background(), owner, Options{})
			if err == nil {
				defer r.Close()
				err = r.Allow(context.Background(), []string{"sla"})
			}
			if err == nil && r.login.role != first.login.role {
				err = fmt.Errorf("another role: %s", r.login.role)
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := read(t, first, Query{View: "sla"}, 5); got.Err != "" {
		t.Errorf("%+v", got)
	}
}

// A role of our name that may too much is not used.
func TestARiskyRoleIsNotUsed(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets)
	first := reader(t, owner, Options{}, "sla")
	prepare(t, owner, `alter role `+quoted(first.login.role)+` createdb`)
	second := reader(t, owner, Options{}, "sla")
	if w := second.Warnings(); second.login.own || len(w) != 1 || !strings.Contains(w[0], "more rights than it must have") {
		t.Errorf("%v", w)
	}
	if got := read(t, second, Query{View: "sla"}, 5); got.Err != "" {
		t.Errorf("%+v", got)
	}
}

// plainOwner gives the database as a login sees it that may create no roles.
func plainOwner(t *testing.T, rights string) *pgxpool.Pool {
	t.Helper()
	dsn := storetest.DSN(t)
	admin, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	name := "plain_" + strings.ToLower(rand.Text()[:10])
	prepare(t, admin, fmt.Sprintf(`create role %s login %s; alter schema public owner to %s; create schema attache authorization %s;
		create table tickets (id text); create view foreign_view as select * from tickets`, name, rights, name, name))
	t.Cleanup(func() {
		admin, err := pgxpool.New(context.Background(), dsn)
		if err == nil {
			defer admin.Close()
			_, err = admin.Exec(context.Background(), "drop owned by "+name+" cascade")
		}
		if err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(name)
	owner, err := pgxpool.New(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	return owner
}

// Without the right to create logins, views are read in a transaction that only
// reads, and only those that the brain names; the doctor is told.
func TestWithoutTheRightToCreateRoles(t *testing.T) {
	owner := plainOwner(t, "nocreaterole")
	prepare(t, owner, `create table t (x int); insert into t values (1); create view v as select * from t; create view w as select * from t;
		create function wrote() returns int language plpgsql as 'begin insert into t values (2); return 1; end'; create view x as select wrote()`)
	r := reader(t, owner, Options{}, "v", "x", "foreign_view")
	w := r.Warnings()
	if r.login.own || len(w) != 1 || !strings.Contains(w[0], "may not create roles") {
		t.Errorf("%v", w)
	}
	got := r.Read(t.Context(), []Query{{View: "v"}, {View: "w"}, {View: "x"}, {View: "foreign_view"}}, 5, "UTC")
	if got[0].Err != "" || !strings.Contains(got[1].Err, "none that the brain names") || !strings.Contains(got[2].Err, "tries to change") || !strings.Contains(got[3].Err, "needs a right") {
		t.Errorf("%+v", got)
	}
	e, err := OpenExecutor(t.Context(), owner, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], "may not create roles") {
		t.Errorf("%v", w)
	}
	if out, err := run(t, e, `insert into t values (:x)`, `{"x": 3}`); err != nil || out.Affected != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// An owner that is no superuser, and may create roles, gets logins too; a view that
// is not its own is named.
func TestAnOwnerThatIsNoSuperuser(t *testing.T) {
	owner := plainOwner(t, "createrole")
	prepare(t, owner, `create table t (x int); create view v as select * from t`)
	r := reader(t, owner, Options{}, "v", "foreign_view")
	w := r.Warnings()
	if !r.login.own || len(w) != 1 || !strings.Contains(w[0], "the view foreign_view belongs to another login") {
		t.Errorf("%v", w)
	}
	got := r.Read(t.Context(), []Query{{View: "v"}, {View: "foreign_view"}}, 5, "UTC")
	if got[0].Err != "" || !strings.Contains(got[1].Err, "needs a right") {
		t.Errorf("%+v", got)
	}
}

// Where a password is asked for, the login has one that nobody stored; replicas
// with one DATABASE_URL agree on it, and one with another sets its own again.
func TestPasswords(t *testing.T) {
	owner := database(t)
	l := login{owner: owner, role: "attache_views_x"}
	if a, b := l.makePassword(), l.makePassword(); a == b || len(a.Reveal()) < 20 {
		t.Error("without a password of the owner each process has a random one")
	}
	config := owner.Config()
	config.ConnConfig.Password = "owner's"
	with, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer with.Close()
	a, b := login{owner: with, role: "attache_views_x"}, login{owner: with, role: "attache_tools_x"}
	if again := a.makePassword(); a.makePassword() != again || again == b.makePassword() || strings.Contains(again.Reveal(), "owner") {
		t.Error("it is derived from the owner's password and the role")
	}
	// The verifier is one that Postgres takes for the password and for no other.
	hash, err := verifier("päss")
	if err != nil {
		t.Fatal(err)
	}
	role := "attache_test_" + strings.ToLower(rand.Text()[:8])
	prepare(t, owner, `create role `+role+` login password '`+hash+`'`)
	var kept string
	if err := owner.QueryRow(t.Context(), `select rolpassword from pg_authid where rolname = $1`, role).Scan(&kept); err != nil || kept != hash {
		t.Errorf("the server took it for a plain text: %s, %v", kept, err)
	}
	prepare(t, owner, `drop role `+role)
}

// With a real demand for passwords: the login gets in, is refused with a wrong one,
// and when another process has set its own, ours is set again.
func TestPasswordsAreAskedFor(t *testing.T) {
	server := storetest.NewDurable(t)
	db := server.Open(nil)
	migrated(t, db)
	owner := db.Pool()
	prepare(t, owner, `create view v as select 1 as x`)
	var file string
	if err := owner.QueryRow(t.Context(), `show hba_file`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	rules := "local all " + owner.Config().ConnConfig.User + " trust\nlocal all all scram-sha-256\n"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	// The file is read when the server starts; a reload would be noticed some time later.
	server.Kill()
	server.Start()
	owner.Reset() // its connections ended with the server
	first := reader(t, owner, Options{}, "v")
	if !first.login.own {
		t.Fatal(first.Warnings())
	}
	config := first.login.pool.Config().ConnConfig
	config.Password = "guessed"
	if conn, err := pgx.ConnectConfig(t.Context(), config); code(err) != wrongPassword {
		t.Errorf("a wrong password gets %v, %v", conn, err)
	}
	second := reader(t, owner, Options{}, "v") // sets a password of its own
	for range 3 {
		for i, r := range []*Reader{first, second} {
			r.login.pool.Reset() // the next read needs a new connection
			if got := read(t, r, Query{View: "v"}, 5); got.Err != "" {
				t.Errorf("reader %d: %+v", i+1, got)
			}
		}
	}
}

// Where only the owner is let in, its login serves, and the doctor is told.
func TestNotLetIn(t *testing.T) {
	server := storetest.NewDurable(t)
	db := server.Open(nil)
	migrated(t, db)
	owner := db.Pool()
	prepare(t, owner, `create view v as select 1 as x`)
	var file string
	if err := owner.QueryRow(t.Context(), `show hba_file`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("local all "+owner.Config().ConnConfig.User+" trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Start()
	owner.Reset() // its connections ended with the server
	r := reader(t, owner, Options{}, "v")
	if w := r.Warnings(); r.login.own || len(w) != 1 || !strings.Contains(w[0], "pg_hba.conf") {
		t.Errorf("%v", w)
	}
	if got := read(t, r, Query{View: "v"}, 5); got.Err != "" || got.Rows[0][0] != "1" {
		t.Errorf("%+v", got)
	}
}
