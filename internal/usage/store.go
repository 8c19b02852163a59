package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
)

// Record writes a call down. Recording the same call again does nothing, so it may
// be retried when a commit's outcome is not known. A zero At is an error, for it
// would make all calls of a turn the same.
func Record(ctx context.Context, q Querier, c Call) error {
	if c.At.IsZero() {
		return fmt.Errorf("a model call of turn %d does not say when it was", c.Turn)
	}
	var t [5]*int64
	if c.Tokens != nil {
		t = [5]*int64{&c.Tokens.In, &c.Tokens.Cached, &c.Tokens.CacheWrite, &c.Tokens.Out, &c.Tokens.Reasoning}
	}
	_, err := q.Exec(ctx, `
		insert into attache.model_calls (turn, n, bot, chat, thread, role, profile, model, try, status, ms,
			tokens_in, cached, cache_write, out, reasoning, cost, why, at, sha256, bytes)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
		on conflict (turn, n, profile, try, at) do nothing`,
		c.Turn, c.N, c.Place.Bot, c.Place.Chat, c.Place.Thread, c.Role, plain(c.Profile), plain(c.Model), c.Try, c.Status, c.Took.Milliseconds(),
		t[0], t[1], t[2], t[3], t[4], known(c.Cost), plain(c.Why), c.At.Truncate(time.Microsecond), digest(c.Request), len(c.Request))
	if err != nil {
		return fmt.Errorf("a model call of turn %d cannot be recorded: %w", c.Turn, err)
	}
	return nil
}

// digest gives the hash of a body, empty for none.
func digest(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// known takes a cost that is no amount for unknown: one NaN would spoil every sum.
func known(cost *float64) *float64 {
	if cost == nil || math.IsNaN(*cost) || math.IsInf(*cost, 0) || *cost < 0 {
		return nil
	}
	return cost
}

// longest is the most bytes of a text from outside: a server's error page may be long.
const longest = 2000

// plain makes a text one that Postgres takes, of bounded length.
func plain(s string) string {
	s = s[:min(len(s), longest)]
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
}

// OfTurn gives the calls of a turn in the order they were made; none is no error.
func OfTurn(ctx context.Context, q Querier, turn int64) ([]Call, error) {
	rows, err := q.Query(ctx, `
		select turn, n, bot, chat, thread, role, profile, model, try, status, ms,
			tokens_in, cached, cache_write, out, reasoning, cost::float8, why, at, sha256, bytes
		from attache.model_calls where turn = $1 order by n, at, id`, turn)
	if err != nil {
		return nil, fmt.Errorf("the model calls of turn %d cannot be read: %w", turn, err)
	}
	return pgx.CollectRows(rows, readCall)
}

func readCall(r pgx.CollectableRow) (Call, error) {
	var c Call
	var ms int64
	var t [5]*int64
	err := r.Scan(&c.Turn, &c.N, &c.Place.Bot, &c.Place.Chat, &c.Place.Thread, &c.Role, &c.Profile, &c.Model, &c.Try, &c.Status, &ms,
		&t[0], &t[1], &t[2], &t[3], &t[4], &c.Cost, &c.Why, &c.At, &c.SHA256, &c.Bytes)
	c.Took = time.Duration(ms) * time.Millisecond
	if t[0] != nil { // they are null together
		c.Tokens = &Tokens{value(t[0]), value(t[1]), value(t[2]), value(t[3]), value(t[4])}
	}
	return c, err
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// billed is the condition under which an exchange without a cost makes a sum
// unknown: the server began to answer. One that it refused, or that never reached
// it, is not billed by any provider; else a busy server would make every sum of
// that month unknown.
const billed = `status between 200 and 299`

// Totals sums up the calls since a moment, of one chat unless it is 0. Costs are
// summed up exactly, by the database.
func Totals(ctx context.Context, q Querier, since time.Time, chat attache.ChatID) (Total, error) {
	rows, err := q.Query(ctx, `
		select grouping(model) = 1, coalesce(model, ''), count(*),
			count(*) filter (where why <> ''), count(*) filter (where why = '' and tokens_in is null),
			coalesce(sum(tokens_in), 0)::bigint, coalesce(sum(cached), 0)::bigint, coalesce(sum(cache_write), 0)::bigint,
			coalesce(sum(out), 0)::bigint, coalesce(sum(reasoning), 0)::bigint,
			case when bool_or(cost is null and `+billed+`) then null else coalesce(sum(cost), 0)::float8 end
		from attache.model_calls where at >= $1 and ($2::bigint = 0 or chat = $2)
		group by grouping sets ((model), ()) order by count(*) desc, model`, since, chat)
	if err != nil {
		return Total{}, fmt.Errorf("the model calls cannot be summed up: %w", err)
	}
	defer rows.Close()
	var t Total
	for rows.Next() {
		var whole bool
		var model string
		var row Total
		if err := rows.Scan(&whole, &model, &row.Events, &row.Failed, &row.Silent,
			&row.Tokens.In, &row.Tokens.Cached, &row.Tokens.CacheWrite, &row.Tokens.Out, &row.Tokens.Reasoning, &row.Cost); err != nil {
			return Total{}, fmt.Errorf("the model calls cannot be summed up: %w", err)
		}
		if whole {
			row.Models = t.Models
			t = row
		} else {
			t.Models = append(t.Models, ModelTotal{model, row.Events, row.Tokens.In, row.Tokens.Out, row.Cost})
		}
	}
	if err := rows.Err(); err != nil {
		return Total{}, fmt.Errorf("the model calls cannot be summed up: %w", err)
	}
	return t, nil
}

// Move takes the calls of a group along to the number it has as a supergroup, in
// the transaction that records the move (decisions § 3.8).
func Move(ctx context.Context, q Querier, bot attache.BotID, m attache.Migration) error {
	_, err := q.Exec(ctx, `update attache.model_calls set chat = $3 where bot = $1 and chat = $2`, bot, m.From, m.To)
	if err != nil {
		return fmt.Errorf("the model calls of %v cannot be moved to %v: %w", m.From, m.To, err)
	}
	return nil
}

// batch is the most rows that one Forget deletes, so that it never locks for long.
const batch = 10000

// Forget deletes calls from before a moment, at most 10,000 at a time, and says how
// many; 0 means that none is left.
func Forget(ctx context.Context, q Querier, before time.Time) (int64, error) {
	tag, err := q.Exec(ctx, `
		delete from attache.model_calls where id in (select id from attache.model_calls where at < $1 order by at limit $2)`, before, batch)
	if err != nil {
		return 0, fmt.Errorf("old model calls cannot be deleted: %w", err)
	}
	return tag.RowsAffected(), nil
}
