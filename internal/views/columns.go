package views

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// columns is what a view looks like.
type columns struct {
	names    []string
	readable bool // by the login that asks
}

// columnsOf lists what the views named in $1 look like, a row for each column. A
// table may stand for a view. The columns are looked up view by view: joined, all
// columns of the database would be read for three views.
const columnsOf = `
	select c.relname, pg_catalog.has_table_privilege(c.oid, 'select'), a.attname
	from pg_catalog.pg_class c
	left join lateral (
		select attname, attnum from pg_catalog.pg_attribute
		where attrelid = c.oid and attnum > 0 and not attisdropped offset 0) a on true
	where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = 'public')
		and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname = any($1::pg_catalog.text[])
	order by c.oid, a.attnum`

// readColumns reads the rows of columnsOf.
func readColumns(result *pgconn.Result) map[string]columns {
	out := map[string]columns{}
	for _, row := range result.Rows {
		c := out[string(row[0])]
		c.readable = string(row[1]) == "t"
		if row[2] != nil {
			c.names = append(c.names, string(row[2]))
		}
		out[string(row[0])] = c
	}
	return out
}

// Describe gives the columns of each view that exists, allowed or not; a view that
// is missing in the result does not. It is the doctor's look (matrix H7).
func (r *Reader) Describe(ctx context.Context, views []string) (map[string][]string, error) {
	conn, err := r.login.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("the views cannot be looked at: %w", err)
	}
	defer conn.Release()
	var names []string
	for _, v := range views {
		if named(v) {
			names = append(names, v)
		}
	}
	answers, err := pipe(ctx, conn.Conn().PgConn(), []call{{sql: columnsOf, args: []string{arrayText(names)}}})
	if err != nil {
		return nil, fmt.Errorf("the views cannot be looked at: %w", err)
	}
	result, err := answers[0].last()
	if err != nil {
		return nil, fmt.Errorf("the views cannot be looked at: %w", err)
	}
	out := map[string][]string{}
	for name, c := range readColumns(result) {
		out[name] = append([]string{}, c.names...)
	}
	return out, nil
}
