package sql

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// Statements are judged by the tables that the schemas would make, and none is carried
// out. A parameter without a type is no mistake where the value has one.
func TestStatementsAreTried(t *testing.T) {
	owner := database(t)
	schemas := of("f", "create table items (id bigint primary key, name text, done boolean)")
	words := []string{
		"update items set done = true where id = :id", "",
		"update items set dne = true where id = :id", `column "dne" of relation "items" does not exist`,
		"select nam from items where id = :id", `column "nam" does not exist`,
		"delete from nothing where id = :id", `relation "nothing" does not exist`,
		"select nonsense(:id)", "function nonsense(bigint) does not exist",
		"select from items where :x is null", "",
		"select from items where id = any(array[:id, :id])", "",
		"insert into items (id) values (:id)", "",
		"insert into items (id) values (:id", "syntax error at end of input",
		"select name from items where id = :x::date", "operator does not exist: bigint = date",
		"call nothing(:id)", "procedure nothing(bigint) does not exist",
		"select 1", "",
	}
	var trials []Trial
	for i := 0; i < len(words); i += 2 {
		s, wrong := Parse(words[i])
		if wrong != nil {
			t.Fatal(wrong)
		}
		own := make([]uint32, len(s.Params))
		for n, name := range s.Params {
			own[n] = map[string]uint32{"id": pgtype.Int8OID, "x": pgtype.TextOID}[name]
		}
		trials = append(trials, Trial{s, NewTypes(own)})
	}
	for range 2 { // what was tried before leaves nothing behind
		found, problems, err := Check(t.Context(), owner, schemas, nil, trials)
		if err != nil || problems != nil || len(found.Refusals) != len(trials) {
			t.Fatalf("%v %v %v", found, problems, err)
		}
		for i, r := range found.Refusals {
			if want := words[2*i+1]; !strings.HasPrefix(r.What, want) || want == "" && r != (Refusal{}) {
				t.Errorf("%s: %+v, want %q", words[2*i], r, want)
			}
		}
	}
	if looks(t, owner, "items") != "" {
		t.Error("the table stays")
	}
	clean(t, owner, schemas)
	prepare(t, owner, "insert into items values (1, 'one', false)")
	if _, _, err := Check(t.Context(), owner, schemas, nil, trials); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := owner.QueryRow(t.Context(), "select count(*) from public.items where not done").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows are as they were: %v", n, err)
	}
}

// A table that another process holds says nothing about a statement.
func TestTrialMeetsALock(t *testing.T) {
	owner := database(t)
	schemas := of("f", "create table items (id int)")
	clean(t, owner, schemas)
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "lock table public.items"); err != nil {
		t.Fatal(err)
	}
	held, _ := Parse("select id from items")
	wrong, _ := Parse("select id from itms")
	found, _, err := Check(t.Context(), owner, schemas, nil, []Trial{{Statement: held}, {Statement: wrong}})
	if err != nil || found.Refusals[0] != (Refusal{}) || found.Refusals[1].What == "" {
		t.Errorf("%+v %v", found, err)
	}
}
