package views

import "testing"

// A Reader for a dry run reads what any other would, and leaves no role, no grant
// and no other password behind.
func TestLookChangesNothing(t *testing.T) {
	owner := database(t)
	prepare(t, owner, tickets)
	state := func() (s string) {
		t.Helper()
		if err := owner.QueryRow(t.Context(), `select format('%s %s',
			(select coalesce(string_agg(rolname || coalesce(rolpassword, '') || coalesce(s.setconfig::text, ''), ' ' order by rolname), '')
				from pg_authid r left join pg_db_role_setting s on s.setrole = r.oid where rolname ~ ('^attache_.*_' || left(encode(sha256(convert_to(current_database(), 'UTF8')), 'hex'), 10))),
			(select string_agg(relname || coalesce(relacl::text, ''), ' ' order by relname) from pg_class where relnamespace = 'public'::regnamespace))`).Scan(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	look := func() {
		t.Helper()
		before := state()
		r := reader(t, owner, Options{Look: true}, "card")
		if got := read(t, r, Query{View: "card"}, 5); got.Err != "" || len(got.Rows) == 0 {
			t.Errorf("it reads %+v", got)
		}
		if got := read(t, r, Query{View: "sla"}, 5); got.Err == "" {
			t.Error("it reads a view that was not allowed")
		}
		refused(t, as(t, &r.login), readOnly, `create table public.mine (x int)`)
		if after := state(); after != before {
			t.Errorf("before: %s\nafter: %s", before, after)
		}
	}
	look()
	reader(t, owner, Options{}, "card", "sla") // a running program
	look()
}
