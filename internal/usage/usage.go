// Package usage keeps what each exchange with a model took and cost.
//
// The data is one table, attache.model_calls: a row for each [Call], failed tries
// included, since they too may have cost money. What is unknown is nil here and
// null there, and never 0: a server that reports no tokens, a model without a
// price. Sums say so instead of guessing (interface § 3, "Without `price` a cost
// is unknown, not 0").
package usage

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"attache"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the table up to date. Commands that only read call it too.
func Migrate(ctx context.Context, db *store.DB) error {
	return db.Migrate(ctx, "usage", migrations)
}

// Querier is a pool or a transaction, so that a call can be recorded together with
// the journal's step that made it.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Call is one exchange with a model.
type Call struct {
	Turn    int64         // 0: none
	N       int           // which call of the turn, from 1; its tries and fallbacks share it
	Place   attache.Place // where the turn answers; zero for a run without a place
	Role    attache.RoleID
	Profile string // the entry under models: in MANIFEST
	Model   string
	Try     int // from 1, counted for each profile anew
	Status  int // HTTP status; 0: none arrived
	Took    time.Duration
	Tokens  *Tokens  // nil: the server reported none
	Cost    *float64 // nil: unknown; in the currency of the brain's prices
	Why     string   // why it failed, one clause without secrets; empty: it did not

	// Request is the exact body that was sent, of which its hash and size are kept:
	// enough to tell whether a rebuilt one is the same. Read back it is empty.
	Request []byte
	SHA256  string // hexadecimal; read back only
	Bytes   int    // read back only

	// At is when the exchange ended. It tells one exchange from another, so it is
	// set once, when the exchange is known, and not by each try to record it. It is
	// kept to the microsecond.
	At time.Time
}

// Tokens counts what a model read and wrote. In holds Cached and CacheWrite, and
// Out holds Reasoning, as OpenAI counts them.
type Tokens struct {
	In, Cached, CacheWrite, Out, Reasoning int64
}

// ModelTotal is what one model took in a window.
type ModelTotal struct {
	Model string
	Calls int64
	In    int64
	Out   int64
	Cost  *float64 // nil: unknown
}

// Total is what all models took in a window (interface § 4, get_usage_stats).
type Total struct {
	Events int64 // exchanges, failed ones too
	Failed int64 // those that failed
	// Silent counts the exchanges that succeeded, as far as anybody can tell, and
	// reported no tokens: what they took is missing in Tokens.
	Silent int64
	Cost   *float64 // nil: unknown, because an exchange that is billed has no cost
	Tokens Tokens
	Models []ModelTotal // the ones with the most calls first
}
