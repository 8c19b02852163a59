package main

import (
	"context"
	"fmt"
)

// demoMark is the comment on the schema of a demo, by which it is known that its
// records are nobody's.
const demoMark = "of attache demo"

// forget drops what an earlier demo left: its Telegram is gone too. In a database
// of somebody's own it only drops what a demo made; the records of a real bot are
// refused. On a private server what a demo's features wrote goes, too; a database of
// somebody's own may hold more than ours in schema public, so there it stays.
func (d *database) forget(ctx context.Context) error {
	var exists, ours bool
	err := d.Pool().QueryRow(ctx, `select count(*) > 0, coalesce(bool_and(obj_description(oid, 'pg_namespace') = $1), false)
		from pg_namespace where nspname = 'attache'`, demoMark).Scan(&exists, &ours)
	if err != nil {
		return fmt.Errorf("what an earlier demo left cannot be looked at: %w", err)
	}
	if exists && !ours {
		return misused("this database holds the records of a real bot, and the demo forgets everything at its start; leave out --database-url and --data (ATTACHE_DATA), or name an empty database or folder")
	}
	features := ""
	if exists && d.server != nil {
		features = `drop schema public cascade; create schema public; grant usage on schema public to public; `
	}
	_, err = d.Pool().Exec(ctx, features+`drop schema if exists attache, dbos cascade; create schema attache; comment on schema attache is '`+demoMark+`'`)
	if err != nil {
		return fmt.Errorf("what an earlier demo left cannot be cleared: %w", err)
	}
	return nil
}
