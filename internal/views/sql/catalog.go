package sql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"attache"
)

// records reads what was applied. A database that no bot has run on has none.
func (c *changes) records(ctx context.Context) (map[attache.FeatureID]record, error) {
	var there bool
	if err := c.conn.QueryRow(ctx, `select to_regclass('attache.schemas') is not null`).Scan(&there); err != nil {
		return nil, err
	}
	out := map[attache.FeatureID]record{}
	if !there && !c.final {
		maps.Copy(out, c.noted)
		return out, nil
	}
	rows, err := c.conn.Query(ctx, `select feature, hash, views from attache.schemas order by feature`)
	if err != nil {
		return nil, err
	}
	var feature string
	var r record
	_, err = pgx.ForEachRow(rows, []any{&feature, &r.hash, &r.views}, func() error {
		out[attache.FeatureID(feature)] = record{r.hash, slices.Clone(r.views)}
		return nil
	})
	maps.Copy(out, c.noted)
	return out, err
}

// remember notes what was applied; a check only for itself.
func (c *changes) remember(ctx context.Context, s Schema, views []string) error {
	if !c.final {
		if c.noted == nil {
			c.noted = map[attache.FeatureID]record{}
		}
		c.noted[s.Feature] = record{s.hash(), views}
		return nil
	}
	_, err := c.conn.Exec(ctx, `
		insert into attache.schemas (feature, hash, views) values ($1, $2, $3)
		on conflict (feature) do update set hash = excluded.hash, views = excluded.views, at = now()`, string(s.Feature), s.hash(), views)
	return err
}

// columns lists every table and column that data can stand in by name, with what
// it is under that name: a table made anew is another one. Those of other schemas
// are included, for a schema.sql has no business in attache either.
func (c *changes) columns(ctx context.Context) (map[string]string, error) {
	rows, err := c.conn.Query(ctx, `
		select n.nspname::text, c.relname::text, coalesce(a.attname::text, ''), c.oid::text, coalesce(a.attnum::text, '')
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relkind in ('r', 'p', 'f') and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'`)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	var schema, table, column, id, number string
	_, err = pgx.ForEachRow(rows, []any{&schema, &table, &column, &id, &number}, func() error {
		if schema != "public" {
			table = schema + "." + table
		}
		out["the table "+table] = id
		if column != "" {
			out["the column "+table+"."+column] = id + "." + number
		}
		return nil
	})
	return out, err
}

// describe gives the columns of each of some views, or tables, that exists.
func (c *changes) describe(ctx context.Context, views []string) (map[string][]string, error) {
	rows, err := c.conn.Query(ctx, `
		select c.relname::text, array(select a.attname::text from pg_attribute a
			where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum)
		from pg_class c
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname::text = any($1)`, views)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	var name string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&name, &columns}, func() error {
		out[name] = slices.Clone(columns)
		return nil
	})
	return out, err
}

// moment tells the views of public by number, and which transaction this is.
func (c *changes) moment(ctx context.Context) (views []int64, transaction string, err error) {
	err = c.conn.QueryRow(ctx, `
		select coalesce((select array_agg(oid::bigint) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm')), '{}'),
			pg_current_xact_id()::text`).Scan(&views, &transaction)
	return views, transaction, err
}

// defined lists the views that were made, or replaced, since a moment of this
// transaction.
func (c *changes) defined(ctx context.Context, before []int64) ([]string, error) {
	rows, err := c.conn.Query(ctx, `
		select c.relname::text from pg_class c
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('v', 'm') and (c.oid::bigint <> all($1)
			or exists (select from pg_rewrite r where r.ev_class = c.oid and r.xmin = pg_current_xact_id()::xid))
		order by 1`, before)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// clear drops the views of a feature, and those of others that are built on them,
// outermost first. It gives the features that have to run again for theirs.
func (c *changes) clear(ctx context.Context, s Schema, records map[attache.FeatureID]record) ([]Schema, error) {
	rows, err := c.conn.Query(ctx, `
		with recursive built as (
			select oid, 0 as depth from pg_class
			where relnamespace = 'public'::regnamespace and relkind in ('v', 'm') and relname::text = any($1)
			union
			select r.ev_class, b.depth + 1
			from built b
			join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = b.oid and d.classid = 'pg_rewrite'::regclass
			join pg_rewrite r on r.oid = d.objid and r.ev_class <> b.oid
			where b.depth < 50)
		select n.nspname::text, c.relname::text, c.relkind = 'm'
		from built b join pg_class c on c.oid = b.oid join pg_namespace n on n.oid = c.relnamespace
		group by c.oid, n.nspname order by max(b.depth) desc, c.relname`, c.own(s, records))
	if err != nil {
		return nil, err
	}
	type view struct {
		Schema, Name string
		Stored       bool
	}
	views, err := pgx.CollectRows(rows, pgx.RowToStructByPos[view])
	if err != nil {
		return nil, err
	}
	var again []Schema
	for _, v := range views {
		owner, known := ownerOf(v.Name, records)
		if !known || v.Schema != "public" {
			return nil, attache.Problem{File: s.File, Line: 1, Col: 1,
				What: fmt.Sprintf("the view %s, which no schema.sql defines, is built on a view of this file", v.Name),
				Do:   "drop it, or define it in a schema.sql; nothing of this file was applied"}
		}
		kind := "view"
		if v.Stored {
			kind = "materialized view"
		}
		if _, err := c.conn.Exec(ctx, `drop `+kind+` public.`+pgx.Identifier{v.Name}.Sanitize()); err != nil {
			return nil, failure(s, err, 0, nil)
		}
		if owner == s.Feature {
			continue
		}
		if other, ok := c.schema(owner); ok {
			if !slices.Contains(again, other) {
				again = append(again, other)
			}
		} else if err := c.forget(ctx, owner); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(again, func(a, b Schema) int { return strings.Compare(string(a.Feature), string(b.Feature)) })
	return again, nil
}

// own lists the views that a feature may drop: its own, and those that it now
// defines and a feature that is gone has left behind.
func (c *changes) own(s Schema, records map[attache.FeatureID]record) []string {
	out := slices.Clone(records[s.Feature].views)
	tokens, _ := lex(s.Text) // a mistake is found when the text runs
	for _, v := range viewsIn(tokens) {
		owner, known := ownerOf(v.text, records)
		if _, here := c.schema(owner); known && !here {
			out = append(out, v.text)
		}
	}
	if out == nil {
		return []string{}
	}
	return out
}

// forget has a feature that is switched off run again when it is switched on.
func (c *changes) forget(ctx context.Context, feature attache.FeatureID) error {
	if !c.final {
		return nil
	}
	_, err := c.conn.Exec(ctx, `update attache.schemas set hash = '' where feature = $1`, string(feature))
	return err
}

// schema finds a feature among those that are switched on.
func (c *changes) schema(feature attache.FeatureID) (Schema, bool) {
	i := slices.IndexFunc(c.all, func(s Schema) bool { return s.Feature == feature })
	if i < 0 {
		return Schema{}, false
	}
	return c.all[i], true
}

// ownerOf finds the feature that defined a view.
func ownerOf(view string, records map[attache.FeatureID]record) (attache.FeatureID, bool) {
	for feature, r := range records {
		if slices.Contains(r.views, view) {
			return feature, true
		}
	}
	return "", false
}
