package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"attache"
	"attache/internal/views/sql"
)

// Executor carries out the statements of SQL tools over a login of its own. The
// login may read and change the rows of the tables in schema public that belong to
// the owner, read the views there and draw from the sequences; it may make, alter
// and drop nothing, and has no right at all in schema attache and dbos (interface
// § 6). Views cannot be written through, since they act with their owner's rights.
// It is safe for many goroutines.
type Executor struct {
	login   login
	options Options
}

// OpenExecutor makes the login and its pool on the owner's database, with rights
// on the tables of the moment. An error means that the database did not answer.
func OpenExecutor(ctx context.Context, owner *pgxpool.Pool, o Options) (*Executor, error) {
	o = o.filled(10*time.Second, 15*time.Second)
	e := &Executor{options: o, login: login{owner: owner, settings: map[string]string{
		"statement_timeout": ms(o.Statement),
		"lock_timeout":      ms(o.Statement / 2),
	}}}
	err := e.login.open(ctx, "tools")
	if err == nil {
		err = e.grant(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the login for SQL tools: %w", err)
	}
	return e, nil
}

// Close ends the connections.
func (e *Executor) Close() { e.login.pool.Close() }

// Warnings says for the doctor why SQL tools run with more rights than they should.
func (e *Executor) Warnings() []string {
	if e.login.warning == "" {
		return nil
	}
	return []string{e.login.warning}
}

// grant gives the login its rights on the tables of the moment. Objects of an
// extension are nobody's feature.
func (e *Executor) grant(ctx context.Context) error {
	if !e.login.own {
		return nil
	}
	return e.login.sql(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select c.relname::text, case when c.relkind in ('r', 'p') then 'select, insert, update, delete'
				when c.relkind = 'S' then 'usage, select' else 'select' end
			from pg_class c
			where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
				and pg_has_role(c.relowner, 'usage')
				and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
				and not exists (select from aclexplode(c.relacl) a join pg_roles g on g.oid = a.grantee where g.rolname = $1)`, e.login.role)
		if err != nil {
			return err
		}
		by := map[string][]string{}
		var name, rights string
		if _, err := pgx.ForEachRow(rows, []any{&name, &rights}, func() error {
			by[rights] = append(by[rights], name)
			return nil
		}); err != nil {
			return err
		}
		for _, rights := range []string{"select, insert, update, delete", "usage, select", "select"} {
			if len(by[rights]) == 0 {
				continue
			}
			on := " on "
			if rights == "usage, select" {
				on = " on sequence "
			}
			if _, err := tx.Exec(ctx, `grant `+rights+on+relations(by[rights])+` to `+quoted(e.login.role)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Outcome is what a statement gave: rows, or the number of those that it changed.
type Outcome struct {
	Rows     []json.RawMessage // a JSON object for each row, keys in the order of the columns
	More     bool              // there were more rows than were asked for
	Tabular  bool              // the statement gives rows, be it none
	Affected int64
}

// ErrUnknown is in the error of a Run of which nobody knows whether it was carried
// out: the connection broke while it was being committed. It is reported and never
// repeated blindly.
var ErrUnknown = errors.New("nobody knows whether the statement was carried out")

// Run carries out a statement in a transaction of its own: whole, or not at all.
// Every parameter of s must be in args, as JSON values decode with UseNumber; they
// are bound, whatever is in them. With readOnly nothing can be changed. At most
// rows rows come back, values printed in a time zone.
//
// The error is an *attache.Error whose sentence is for the model and names the
// argument where one is to blame; ErrUnknown is in it when it is the case.
func (e *Executor) Run(ctx context.Context, s sql.Statement, args map[string]any, readOnly bool, rows int, zone string) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Total)
	defer cancel()
	values, err := bind(s, args)
	if err != nil {
		return Outcome{}, err
	}
	x := execution{e: e, s: s, values: values, readOnly: readOnly, rows: rows, zone: zone, types: typesOf(values)}
	out, err := x.run(ctx)
	if code(err) == noRight && e.grant(ctx) == nil {
		out, err = x.run(ctx) // a table that is younger than the grants; the first run was undone
	}
	if err != nil {
		return Outcome{}, x.explain(ctx, err)
	}
	return out, nil
}

// Types gives the types of a statement's parameters before Postgres has said anything
// of them; args holds a value of the right kind for each, any one.
func Types(s sql.Statement, args map[string]any) (sql.Types, error) {
	values, err := bind(s, args)
	return typesOf(values), err
}

func typesOf(values []value) sql.Types {
	own := make([]uint32, len(values))
	for i, v := range values {
		own[i] = v.oid()
	}
	return sql.NewTypes(own)
}

// execution is one Run under way.
type execution struct {
	e        *Executor
	s        sql.Statement
	values   []value
	readOnly bool
	rows     int
	zone     string
	types    sql.Types
}

// run goes through the transaction once.
func (x *execution) run(ctx context.Context) (Outcome, error) {
	borrowed, err := x.e.login.acquire(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer borrowed.Release()
	conn := borrowed.Conn().PgConn()
	prepared, err := x.prepare(ctx, conn)
	if err != nil {
		x.close(ctx, conn)
		return Outcome{}, err
	}
	args, err := x.encode(ctx, conn, prepared.ParamOIDs)
	if err != nil {
		x.close(ctx, conn)
		return Outcome{}, err
	}
	reader := conn.ExecStatement(ctx, prepared, args, nil, nil)
	out, err := x.read(reader)
	if err != nil {
		x.close(ctx, conn)
		return Outcome{}, err
	}
	if ctx.Err() != nil {
		return Outcome{}, ctx.Err() // the connection goes, and the transaction with it
	}
	answers, err := pipe(ctx, conn, []call{{sql: `commit`}}, []call{{sql: `discard all`}})
	if len(answers) == 0 {
		return Outcome{}, errors.Join(ErrUnknown, err)
	}
	return out, answers[0].err // of a constraint that is checked at the end
}

// prepare opens the transaction and has the statement parsed, again as long as the
// types of its parameters may be at fault.
func (x *execution) prepare(ctx context.Context, conn *pgconn.PgConn) (*pgconn.StatementDescription, error) {
	begin := `begin isolation level read committed read write`
	if x.readOnly {
		begin = `begin isolation level read committed read only`
	}
	for {
		answers, err := pipe(ctx, conn, []call{{sql: begin}, {sql: `select pg_catalog.set_config('TimeZone', $1, true)`, args: []string{x.zone}}})
		if err == nil {
			err = answers[0].err
		}
		if err != nil {
			return nil, err
		}
		prepared, err := conn.Prepare(ctx, "tool", x.s.SQL, x.types.Told)
		if err == nil || !x.types.Mend(err) {
			return prepared, err
		}
		x.close(ctx, conn)
	}
}

// close undoes the transaction and what it left on the session.
func (x *execution) close(ctx context.Context, conn *pgconn.PgConn) {
	_, _ = pipe(ctx, conn, closing()...) // a connection on which this does not work is dropped by the pool
}

// read takes the rows. Those that are too many are drawn and forgotten: what the
// statement does for them is a part of it.
func (x *execution) read(reader *pgconn.ResultReader) (Outcome, error) {
	var out Outcome
	fields := append([]pgconn.FieldDescription(nil), reader.FieldDescriptions()...)
	for reader.NextRow() {
		if len(out.Rows) < x.rows {
			out.Rows = append(out.Rows, object(fields, reader.Values()))
		} else {
			out.More = true
		}
	}
	tag, err := reader.Close()
	out.Tabular, out.Affected = len(fields) > 0, tag.RowsAffected()
	return out, err
}

// explain makes the error of a Run: for the model what it can do something about,
// for the log all.
func (x *execution) explain(ctx context.Context, err error) error {
	e := &attache.Error{Kind: attache.KindRefused, Cause: err}
	var known *attache.Error
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrUnknown):
		e.Kind, e.Say = attache.KindOutside, "the connection to the database broke in the last moment, so nobody knows whether it was carried out"
	case ctx.Err() != nil || code(err) == cancelled:
		e.Kind, e.Say = attache.KindOutside, fmt.Sprintf("it took too long (at most %v) and was undone", x.e.options.Statement)
	case !errors.As(err, &pg):
		e.Kind, e.Say = attache.KindOutside, "it was not run: the database did not answer"
	default:
		e.Say = x.refusal(pg)
	}
	// A tool's result has no place for the cause, so it is said here.
	x.e.options.Log.Warn("the statement of a SQL tool ended in an error", "part", "tools", "why", e.Say, "err", err)
	return e
}

// refusal is the sentence on what Postgres said. Its own words are passed on where
// they speak of the caller's values or were written by the brain's author; other
// messages may quote rows that the place must not see.
func (x *execution) refusal(pg *pgconn.PgError) string {
	n := sql.Parameter(pg)
	blame := ""
	if n > 0 && n <= len(x.s.Params) {
		blame = x.s.Params[n-1]
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; {
	case blame != "" && class == "22":
		return fmt.Sprintf("argument %s does not fit its column: %s", blame, brief(pg.Message, 200))
	case class == "23", pg.Code == "P0001":
		return "the database refused it and nothing was changed: " + brief(pg.Message, 300)
	case pg.Code == locked:
		return "one of its tables is locked and nothing was changed; try again later"
	case pg.Code == readOnly:
		return "it changes something although it is declared safe; declare another risk in its file"
	case pg.Code == noRight:
		return "it needs a right that SQL tools have not; nothing was changed (the log has the detail)"
	}
	return fmt.Sprintf("its statement ended in an error and nothing was changed (SQLSTATE %s; the log has the detail)", pg.Code)
}
