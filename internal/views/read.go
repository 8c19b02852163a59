package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
)

// Query asks for the rows of one view: all of them, or, with By, those whose column
// By is Key. A query with By and no Key has no rows, never all (decisions § 3.4).
// View and By are names, taken as they are; Key is data.
type Query struct {
	View string
	By   string
	Key  string
}

// Result is what one query gave.
type Result struct {
	Columns []string
	Rows    [][]string // as Postgres prints them, null empty, each value of at most 2,000 characters
	More    bool       // there are more rows than were asked for
	Err     string     // one sentence for the tail when the view could not be read; it quotes no row
	Cause   error      // the same for the operator's log
}

// longest is how many characters of a value are shown; one that is longer ends
// with … in the last of them.
const longest = 2000

// batch is how many views are asked for in one go, so that a turn whose time is up
// does not leave a thousand queries behind on the server.
const batch = 16

// Read reads views in one snapshot: at most rows rows of each (state.rows), values
// printed in a time zone. The results stand in the order of the queries. A view
// that cannot be read has its Err and costs the others nothing but time. With rows
// at 0 nothing is read (decisions § 2, state.rows).
func (r *Reader) Read(ctx context.Context, queries []Query, rows int, zone string) []Result {
	out := make([]Result, len(queries))
	if rows <= 0 || len(queries) == 0 {
		return out
	}
	t := reading{reader: r, queries: queries, rows: rows, out: out, done: make([]bool, len(queries))}
	t.sift()
	if !slices.Contains(t.done, false) {
		return out
	}
	limited, cancel := context.WithTimeout(ctx, r.options.Total)
	defer cancel()
	err := t.run(limited, zone)
	for i := range out {
		if !t.done[i] {
			out[i] = Result{Err: r.unread(limited, queries[i].View, zone, err), Cause: err}
		}
	}
	return out
}

// unread is the sentence on a view that was not come to.
func (r *Reader) unread(ctx context.Context, view, zone string, err error) string {
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("the view %s was not read: all views of a turn together may take %v", view, r.options.Total)
	case code(err) == "22023":
		return fmt.Sprintf("the view %s was not read: the database knows no time zone %s", view, shown(zone))
	}
	return fmt.Sprintf("the view %s was not read: the database did not answer", view)
}

// reading is one Read under way.
type reading struct {
	reader  *Reader
	queries []Query
	rows    int
	out     []Result
	done    []bool
}

// answer notes what came of a query.
func (t *reading) answer(i int, result Result) { t.out[i], t.done[i] = result, true }

func (t *reading) wrong(i int, cause error, format string, args ...any) {
	t.answer(i, Result{Err: fmt.Sprintf(format, args...), Cause: cause})
}

// sift answers the queries that need no database.
func (t *reading) sift() {
	t.reader.mu.Lock()
	defer t.reader.mu.Unlock()
	for i, q := range t.queries {
		switch {
		case !t.reader.allowed[q.View] || !named(q.View):
			t.wrong(i, errors.New("it was not allowed"), "the view %s is none that the brain names", shown(q.View))
		case q.By == "":
		case !named(q.By):
			t.wrong(i, errors.New("no column can have this name"), "the view %s has no column %s", q.View, shown(q.By))
		case q.Key == "":
			t.answer(i, Result{})
		case strings.ContainsRune(q.Key, 0) || !utf8.ValidString(q.Key):
			t.wrong(i, errors.New("the key is no text"), "the view %s was not read: its key holds a character that no row can hold", q.View)
		}
	}
}

// run does the work in one transaction that only reads and is always rolled back,
// which also undoes every setting that a function of a view has changed. An error
// is the reason that the remaining queries have no answer.
func (t *reading) run(ctx context.Context, zone string) error {
	borrowed, err := t.reader.login.acquire(ctx)
	if err != nil {
		return err
	}
	defer borrowed.Release()
	conn := borrowed.Conn().PgConn()
	columns, err := t.begin(ctx, conn, zone)
	if err != nil {
		return err
	}
	t.match(columns)
	left := t.left()
	if len(left) == 0 {
		t.end(ctx, conn)
	}
	for len(left) > 0 {
		part := left[:min(batch, len(left))]
		left = left[len(part):]
		if err := t.fetch(ctx, conn, columns, part, len(left) == 0); err != nil {
			return err
		}
	}
	return nil
}

// begin opens the transaction and looks what the views look like, also which of
// them the login may not read although it should.
func (t *reading) begin(ctx context.Context, conn *pgconn.PgConn, zone string) (map[string]columns, error) {
	var names []string
	for _, i := range t.left() {
		names = append(names, t.queries[i].View)
	}
	answers, err := pipe(ctx, conn, []call{
		{sql: `begin isolation level repeatable read read only`},
		{sql: `select pg_catalog.set_config('TimeZone', $1, true)`, args: []string{zone}},
		{sql: columnsOf, args: []string{arrayText(names)}},
	})
	if err != nil {
		return nil, err
	}
	result, err := answers[0].last()
	if err != nil {
		t.end(ctx, conn)
		return nil, err
	}
	found := readColumns(result)
	if t.reader.lacks(found) { // dropped and made anew by somebody; the grant holds at once, also here
		if err := t.reader.grant(ctx); err != nil {
			t.reader.options.Log.Warn("the reader of state views cannot be let in", "part", "views", "err", err)
		}
	}
	return found, nil
}

// match answers the queries whose view or column does not exist.
func (t *reading) match(found map[string]columns) {
	for _, i := range t.left() {
		q := t.queries[i]
		c, ok := found[q.View]
		switch {
		case !ok:
			t.wrong(i, errors.New("it does not exist in schema public"), "there is no view %s in the database", q.View)
		case q.By != "" && !slices.Contains(c.names, q.By):
			t.wrong(i, errors.New("the column does not exist"), "the view %s has no column %s", q.View, q.By)
		}
	}
}

// fetch asks for some of the queries in one go. Each begins where the one before
// it has been undone, so none sees what another did to the session.
func (t *reading) fetch(ctx context.Context, conn *pgconn.PgConn, found map[string]columns, part []int, last bool) error {
	groups := make([][]call, 0, len(part)+2)
	undo := `savepoint view`
	for _, i := range part {
		groups = append(groups, []call{{sql: undo}, t.sql(t.queries[i], found[t.queries[i].View])})
		undo = `rollback to savepoint view`
	}
	if last {
		groups = append(groups, closing()...)
	} else {
		groups = append(groups, []call{{sql: undo}, {sql: `release savepoint view`}})
	}
	answers, err := pipe(ctx, conn, groups...)
	for n, a := range answers[:min(len(answers), len(part))] {
		t.take(part[n], found[t.queries[part[n]].View], a)
	}
	return err
}

// closing ends the transaction and gives back whatever a function of a view may
// have taken for the session, such as an advisory lock.
func closing() [][]call {
	return [][]call{{{sql: `rollback`}}, {{sql: `discard all`}}}
}

// end closes a transaction early. When that does not work the pool drops the
// connection.
func (t *reading) end(ctx context.Context, conn *pgconn.PgConn) {
	_, _ = pipe(ctx, conn, closing()...)
}

// left lists the queries without an answer.
func (t *reading) left() []int {
	var out []int
	for i, done := range t.done {
		if !done {
			out = append(out, i)
		}
	}
	return out
}

// sql writes the statement of a query. format prints a value exactly as Postgres
// would and null as nothing; left keeps a value of a megabyte on the server.
func (t *reading) sql(q Query, c columns) call {
	list := make([]string, len(c.names))
	for i, name := range c.names {
		list[i] = `pg_catalog.left(pg_catalog.format('%s', ` + quoted(name) + `), ` + strconv.Itoa(longest+1) + `)`
	}
	out := call{sql: `select ` + strings.Join(list, ", ") + ` from public.` + quoted(q.View)}
	if q.By != "" {
		out.sql += ` where ` + quoted(q.By) + `::pg_catalog.text operator(pg_catalog.=) $1`
		out.args = []string{q.Key}
	}
	out.sql += ` limit ` + strconv.Itoa(t.rows+1)
	return out
}

// take notes the answer of one query.
func (t *reading) take(i int, c columns, a answer) {
	if a.err != nil {
		t.wrong(i, a.err, "%s", t.reader.sentence(t.queries[i].View, a.err))
		return
	}
	got := a.results[len(a.results)-1].Rows
	result := Result{Columns: c.names, More: len(got) > t.rows}
	for _, row := range got[:min(len(got), t.rows)] {
		result.Rows = append(result.Rows, texts(row))
	}
	t.answer(i, result)
}

// texts prints a row.
func texts(row [][]byte) []string {
	out := make([]string, len(row))
	for i, value := range row {
		out[i] = brief(strings.ToValidUTF8(string(value), "\uFFFD"), longest)
	}
	return out
}

// brief cuts a text to a number of characters, the mark of the cut included.
func brief(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// shown is a name for a sentence.
func shown(name string) string { return strconv.Quote(brief(name, 63)) }

// sentence says for the tail why a view could not be read. What Postgres itself
// says may quote a row, and not every place may read every row, so it stays in the
// cause.
func (r *Reader) sentence(view string, err error) string {
	switch code(err) {
	case cancelled:
		return fmt.Sprintf("the view %s took longer than %v and was ended", view, r.options.Statement)
	case locked:
		return fmt.Sprintf("the view %s was not read: one of its tables is locked", view)
	case noRight:
		return fmt.Sprintf("the view %s was not read: it or a function in it needs a right that the reader has not", view)
	case readOnly:
		return fmt.Sprintf("the view %s was not read: it tries to change something", view)
	case "42P01":
		return fmt.Sprintf("there is no view %s in the database any more", view)
	}
	return fmt.Sprintf("the query of the view %s ended in an error (SQLSTATE %s)", view, code(err))
}
