package sql

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"attache/internal/store/storetest"
)

// row L11
func TestParse(t *testing.T) {
	for _, c := range []struct{ in, out, params string }{
		{"select 1", "select 1", ""},
		{" select :a ;\n-- done :b\n", " select $1", "a"},
		{"select :a, :b, :a", "select $1, $2, $1", "a b"},
		{"select:a", "select $1", "a"},
		{"select a.x::text, :a::int, x :: int", "select a.x::text, $1::int, x :: int", "a"},
		{"select ':a', 'it''s :b', E'\\':c', e'\\\\', :d", "select ':a', 'it''s :b', E'\\':c', e'\\\\', $1", "d"},
		{`select '\', :a, '\'`, `select '\', $1, '\'`, "a"},
		{"select E'a'\n'\\':b', :c", "select E'a'\n'\\':b', $1", "c"},
		{"select E'a' -- x\n '\\':b', :c", "select E'a' -- x\n '\\':b', $1", "c"},
		{"select 'a' '\\', :b", "select 'a' '\\', $1", "b"}, // on one line: two strings, which is Postgres's business
		{`select ":a", "x"":b", :c`, `select ":a", "x"":b", $1`, "c"},
		{"select $$ :a $$, $t$ $$ :b $t$, $é$ :c $é$, :d", "select $$ :a $$, $t$ $$ :b $t$, $é$ :c $é$, $1", "d"},
		{"select a$b$c, :d, e$x$", "select a$b$c, $1, e$x$", "d"},
		{"select /* :a /* :b */ :c */ :d -- :e\r, :f", "select /* :a /* :b */ :c */ $1 -- :e\r, $2", "d f"},
		{"select f(a := 1, b => :b)", "select f(a := 1, b => $1)", "b"},
		{"select x[1:2], x[lo : hi], x[(:a):(:b)], array[:a, :b], array[[:a], [:b, x[1:2]]], x[:2]",
			"select x[1:2], x[lo : hi], x[($1):($2)], array[$1, $2], array[[$1], [$2, x[1:2]]], x[:2]", "a b"},
		{"select U&'d\\0061t' uescape '!', n':a', b'1', x'F', :a", "select U&'d\\0061t' uescape '!', n':a', b'1', x'F', $1", "a"},
		{"select j->>':x', j @> :x, j ?| array[:y], -:n, @:n", "select j->>':x', j @> $1, j ?| array[$2], -$3, @$3", "x y n"},
		{"select 1e5, 0x1F, 1_000, .5, 5., :a", "select 1e5, 0x1F, 1_000, .5, 5., $1", "a"},
		{"with x as (select :a_1) select * from x limit :Limit", "with x as (select $1) select * from x limit $2", "a_1 Limit"},
		{"((select 1)) union select :a", "((select 1)) union select $1", "a"},
		{"insert into t values (:a);;", "insert into t values ($1)", "a"},
		{"select case when :a then 1 end", "select case when $1 then 1 end", "a"},
	} {
		got, wrong := Parse(c.in)
		if wrong != nil || got.SQL != c.out || strings.Join(got.Params, " ") != c.params {
			t.Errorf("%q:\n got %q %v %v\nwant %q %s", c.in, got.SQL, got.Params, wrong, c.out, c.params)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ in, at, what string }{
		{"", "1:1", "there is no statement"},
		{" -- nothing\n;", "1:1", "there is no statement"},
		{"select 1;\n select 2", "2:2", "a second statement begins here"},
		{"select 1; ; delete from t", "1:13", "a second statement"},
		{"drop table t", "1:1", "a tool reads or changes rows"},
		{"/* x */ create view v as select 1", "1:9", "a tool reads or changes rows"},
		{"commit", "1:1", "a tool reads"}, {"set role x", "1:1", "a tool reads"}, {"do $$ $$", "1:1", "a tool reads"}, {"copy t to stdout", "1:1", "a tool reads"},
		{"explain select 1", "1:1", "a tool reads"}, {"listen x", "1:1", "a tool reads"}, {"((", "1:1", "a tool reads"}, {`"select" 1`, "1:1", "a tool reads"},
		{"select $1", "1:8", "parameters have names here"},
		{"select :é", "1:8", "only letters from a to z"}, {"select :a$b", "1:8", "only letters"}, {"select :aé", "1:8", "only letters"},
		{"select x[lo:hi]", "1:12", "a parameter or the end of a slice"},
		{"select x[:hi]", "1:10", "a slice"}, {"select x.array[1:n]", "1:17", "a slice"}, {"select (array[1,2])[a:b]", "1:22", "a slice"}, {"select array[x[a:b]]", "1:17", "a slice"},
		{"select json_object('k':v)", "1:23", "directly after 'k'"}, {"select f(x) :a", "1:13", "directly after )"}, {"select 1:a", "1:9", "directly after 1"}, {"select :a:b", "1:10", "directly after :a"}, {`select "x":a`, "1:11", `directly after "x"`},
		{"select\n 'abc", "2:2", "the string that opens here is never closed"},
		{"select E'\\'", "1:9", "never closed"},
		{"select \"abc", "1:8", "never closed"}, {"select $x$ $y$ $$", "1:8", "with $x$ is never closed"}, {"select /* /* */", "1:8", "comment that opens here is never closed"},
		{"selext é 'x", "1:10", "never closed"},
	} {
		got, wrong := Parse(c.in)
		if wrong == nil {
			t.Errorf("%q is taken: %+v", c.in, got)
			continue
		}
		if at := strconv.Itoa(wrong.Line) + ":" + strconv.Itoa(wrong.Col); at != c.at || !strings.Contains(wrong.What, c.what) || wrong.Do == "" {
			t.Errorf("%q: %s %v, want %s %s", c.in, at, wrong, c.at, c.what)
		}
	}
}

func TestReads(t *testing.T) {
	for in, want := range map[string]bool{
		"select 1": true, "with x as (select 1) select * from x": true, "values (1)": true, "table t": true, "select 'delete', \"update\"": true,
		"with x as (delete from t returning 1) select 1": false, "insert into t values (1)": false, "update t set x = 1": false, "MERGE into t using s on true when matched then do nothing": false, "call p()": false, "select 1 for update": false,
	} {
		if got, wrong := Parse(in); wrong != nil || got.Reads != want {
			t.Errorf("%s: %+v %v", in, got, wrong)
		}
	}
}

// session is one connection for many questions.
func session(t testing.TB) *pgconn.PgConn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), storetest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `create table t (a int, b text, c int[], j jsonb)`); err != nil {
		t.Fatal(err)
	}
	return conn.PgConn()
}

// agrees compares what Parse made of a statement with what Postgres makes of it:
// Postgres must see exactly the parameters that were put in (one in a string or a
// comment would be missing, one that was overlooked is a mistake of grammar), and
// one statement.
func agrees(t interface{ Fatalf(string, ...any) }, conn *pgconn.PgConn, in string) (prepared bool) {
	s, wrong := Parse(in)
	if wrong != nil {
		return false
	}
	got, err := conn.Prepare(context.Background(), "", s.SQL, slices.Repeat([]uint32{0}, len(s.Params)))
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		if strings.Contains(pg.Message, "multiple commands") || pg.Code == "42P02" {
			t.Fatalf("%q became %q, and Postgres says: %v", in, s.SQL, err)
		}
		if strings.Contains(pg.Message, "unterminated") && !strings.Contains(pg.Message, "unicode") {
			t.Fatalf("%q was taken, and Postgres says: %v", in, err)
		}
		return false
	case err != nil:
		t.Fatalf("%q: the connection broke: %v", in, err)
	case len(got.ParamOIDs) != len(s.Params):
		t.Fatalf("%q became %q with %d parameters, and Postgres sees %d", in, s.SQL, len(s.Params), len(got.ParamOIDs))
	}
	return true
}

// pieces are what the random statements are made of: code with parameters, and
// text that only looks like it.
func pieces() (code, text []string) {
	code = []string{":a", ":b::int", "(:c)", "-:d", "array[:a, :b]", "c[1:2]", "c[(:i):3]", "coalesce(:a, 'x')", "a", "1", ".5", "null", "cast(:a as text)", "j->>:k", "(select :b)", "case when :q then 1 end"}
	text = []string{"':a'", "E'\\':a'", "'\\'", "$$:a$$", "$q$ ':a $q$", "\"a\"", "'it''s :a'", "E'x'\n'\\' :b'", "U&'\\0041:a'", "'a'\n':b'", "b'1'", "x'F'", "n':a'", "'/* :a'", "'--:a'", "'$$'", "'\"'", "e'\\\\'"}
	return code, text
}

// Whatever a statement is made of, exactly its parameters are numbered, and the
// rest is left byte for byte as it was.
func TestParseKeepsTheMeaning(t *testing.T) {
	conn := session(t)
	code, text := pieces()
	blanks := []string{" ", "\n", " /* :x ' $$ */ ", " -- :y ' \"\n", "\t", " /* /* :z */ ; */ "}
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		var in, out strings.Builder
		var names []string
		in.WriteString("select")
		out.WriteString("select")
		number := func(piece string) string {
			return parameterName.ReplaceAllStringFunc(piece, func(m string) string {
				name := m[1:]
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				return "$" + strconv.Itoa(slices.Index(names, name)+1)
			})
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "n") {
			blank := rapid.SampledFrom(blanks).Draw(t, "blank")
			if i > 0 {
				blank += ","
			}
			blank += rapid.SampledFrom(blanks).Draw(t, "blank")
			in.WriteString(blank)
			out.WriteString(blank)
			if rapid.Bool().Draw(t, "text") {
				piece := rapid.SampledFrom(text).Draw(t, "piece")
				in.WriteString(piece)
				out.WriteString(piece)
			} else {
				piece := rapid.SampledFrom(code).Draw(t, "piece")
				in.WriteString(piece)
				out.WriteString(number(strings.ReplaceAll(piece, "::", "\x00")))
			}
		}
		want := strings.ReplaceAll(out.String(), "\x00", "::") + " from t"
		s, wrong := Parse(in.String() + " from t ; -- :end")
		if wrong != nil || s.SQL != want || !slices.Equal(s.Params, names) {
			t.Fatalf("%q:\n got %q %v %v\nwant %q %v", in.String(), s.SQL, s.Params, wrong, want, names)
		}
		if agrees(t, conn, in.String()+" from t") {
			tried++
		}
	})
	if tried < 10 {
		t.Errorf("only %d statements could be prepared", tried)
	}
}

// Soup of everything that opens, closes and looks like a parameter.
func TestParseAgreesWithPostgres(t *testing.T) {
	conn := session(t)
	bits := []string{"select ", "'", "''", "\"", "$$", "$a$", "$", "E'", "e", "\\", "\n", " ", "--", "/*", "*/", ":", "::", ":=", ":a", ":b", ",", ";", "(", ")", "[", "]", "array[", "a", "1", "é", "+", "-", "/", "*", "int", " from t", "'x'", "U&'", "n'", ".", "@", "0x1", "1e", "as ", "\r", "\f"}
	rapid.Check(t, func(t *rapid.T) {
		soup := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 20).Draw(t, "soup"), "")
		agrees(t, conn, "select "+soup)
		agrees(t, conn, "select 'x'::text, "+soup)
	})
}

// FuzzParse holds for any text: no panic, and what is no parameter stays.
func FuzzParse(f *testing.F) {
	code, text := pieces()
	for _, seed := range slices.Concat(code, text, []string{"select :a", "select x[a:b]", "select 1; select 2", "select $1"}) {
		f.Add("select " + seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, wrong := Parse(in)
		if wrong != nil {
			if wrong.Line < 1 || wrong.Col < 1 || wrong.What == "" || wrong.Do == "" {
				t.Fatalf("%q: %+v", in, wrong)
			}
			return
		}
		again, err := lex(s.SQL)
		if err != nil {
			t.Fatalf("%q became %q, which cannot be read: %v", in, s.SQL, err)
		}
		before, _ := lex(in)
		for i, tk := range again {
			switch {
			case tk.kind == positional:
				n, _ := strconv.Atoi(tk.text[1:])
				if before[i].kind != colonName || s.Params[n-1] != before[i].text[1:] {
					t.Fatalf("%q: %s stands for %s", in, tk.text, before[i].text)
				}
			case tk.text != before[i].text || tk.kind != before[i].kind:
				t.Fatalf("%q became %q", in, s.SQL)
			}
		}
		split(in)
		viewsIn(before)
	})
}
