// Package inbox is the updates of bots as Telegram brought them (`updates`): kept before
// anybody may confirm them, and marked as handled in the transaction that stores what
// they come to, so that a kill between the two loses nothing. The table is made by the
// migrations of gateway, whose intake reads what is kept.
package inbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Offset gives the update id to ask Telegram for next: one more than the newest
// kept id; 0 when none is kept, or none in the last six days, because Telegram
// begins its numbers anew after a week of silence and a stale number would hide
// the new ones. 0 asks for everything unconfirmed and loses nothing.
func Offset(ctx context.Context, db *store.DB, bot attache.BotID) (int64, error) {
	var next int64
	err := db.Pool().QueryRow(ctx,
		`select coalesce((select update_id + 1 from attache.updates where bot = $1 and at > now() - interval '6 days' order by seq desc limit 1), 0)`, bot).Scan(&next)
	if err != nil {
		return 0, fmt.Errorf("the last kept update of %s cannot be read: %w", bot, err)
	}
	return next, nil
}

// Keep stores updates as they arrived, in one transaction, before anybody may
// confirm them to Telegram (decisions § 7.1). One seen before is left as it is.
func Keep(ctx context.Context, db *store.DB, bot attache.BotID, updates []attache.RawUpdate) error {
	ids := make([]int64, len(updates))
	raws := make([][]byte, len(updates))
	for i, u := range updates {
		ids[i], raws[i] = u.ID, u.JSON
	}
	_, err := db.Pool().Exec(ctx, `
		insert into attache.updates (bot, update_id, raw)
		select $1, u.id, u.raw from unnest($2::bigint[], $3::bytea[]) with ordinality as u(id, raw, n) order by u.n
		on conflict do nothing`, bot, ids, raws)
	if err != nil {
		return fmt.Errorf("updates of %s cannot be kept: %w", bot, err)
	}
	return nil
}

// Unhandled reads kept updates of a bot that nobody has handled, in the order of
// their arrival: Telegram's ids begin anew now and then and tell no order.
func Unhandled(ctx context.Context, db *store.DB, bot attache.BotID, limit int) ([]attache.RawUpdate, error) {
	rows, err := db.Pool().Query(ctx,
		`select update_id, raw from attache.updates where bot = $1 and state = 'new' order by seq limit $2`, bot, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (u attache.RawUpdate, err error) {
		err = r.Scan(&u.ID, &u.JSON)
		return u, err
	})
}

// Handled is what an update was read as.
type Handled struct {
	ID     int64
	Kind   string
	Broken string // why it does not decode
	Silent bool   // no rule lets it in: its content is emptied (decisions § 6.1)
}

// Mark comes first in its transaction: it takes the bot's lock and marks the updates as
// handled (or broken), and tells which of them this transaction is the first to mark:
// another replica may have read the same ones.
func Mark(ctx context.Context, tx store.Tx, bot attache.BotID, all []Handled) (map[int64]bool, error) {
	ids, kinds, why := make([]int64, len(all)), make([]string, len(all)), make([]string, len(all))
	silent := make([]bool, len(all))
	for i, h := range all {
		ids[i], kinds[i], why[i], silent[i] = h.ID, h.Kind, Clean(h.Broken), h.Silent
	}
	var b pgx.Batch
	b.Queue(`select pg_advisory_xact_lock(hashtext('attache.intake'), hashtext($1))`, string(bot))
	mine := map[int64]bool{}
	b.Queue(`
		update attache.updates u set state = case when v.why = '' then 'handled' else 'broken' end,
			kind = v.kind, why = v.why, raw = case when v.silent then ''::bytea else u.raw end
		from unnest($2::bigint[], $3::text[], $4::text[], $5::bool[]) as v(id, kind, why, silent)
		where u.bot = $1 and u.update_id = v.id and u.state = 'new' returning u.update_id`,
		string(bot), ids, kinds, why, silent).Query(func(r pgx.Rows) error {
		ids, err := pgx.CollectRows(r, pgx.RowTo[int64])
		for _, id := range ids {
			mine[id] = true
		}
		return err
	})
	return mine, tx.SendBatch(ctx, &b).Close()
}

// Clean makes a text that Postgres takes out of any text.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
