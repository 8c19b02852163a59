// Package store is the one way to Postgres: a pool, transactions, migrations,
// leases, and LISTEN. It knows no table but its own attache.migrations; each
// owner keeps its SQL beside its code.
//
// Errors come in two sorts. A mistake of ours (wrong SQL, a broken constraint)
// is returned at once. A state of the world that waiting may cure (the server is
// restarting, the disk is full, two transactions met) is Transient, and Retry
// waits for it: a database that goes away for a minute costs a minute, never a
// message.
//
// Leases and LISTEN need sessions, so a proxy that pools by transaction cannot
// stand between this package and Postgres.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Tx is one transaction. It is pgx's own, so owners write pgx and nothing else.
type Tx = pgx.Tx

// Options are the few knobs of a DB.
type Options struct {
	Log      *slog.Logger // nil: nothing is logged
	MaxConns int          // most connections of the pool; 0 means pool_max_conns of the dsn, else 16. Leases and LISTEN have their own besides
	Name     string       // application_name, seen in pg_stat_activity; "" means attache
}

// DB is one database. It is safe for use by many goroutines.
type DB struct {
	pool   *pgxpool.Pool
	log    *slog.Logger
	outage outage
}

// Open prepares a DB for a connection string (postgres://… or key=value) and does
// not talk to the server yet: a server that is still starting is waited for by
// the first Retry, not an error here. The error never shows the string, because
// a string that cannot be read may hold its password anywhere.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil || strings.Contains(config.ConnConfig.Database, "@") { // an @ there is the rest of a password with a bare slash
		return nil, errors.New("the address of the database cannot be read (it is not shown, as it may hold a password); " +
			"write postgres://user:password@host:5432/name, with characters such as / @ : % of the password as %2F %40 %3A %25")
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = 16
	}
	if o.MaxConns > 0 {
		config.MaxConns = int32(o.MaxConns)
	}
	if o.Name == "" {
		o.Name = "attache"
	}
	config.ConnConfig.RuntimeParams["application_name"] = o.Name
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dial
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("the pool of database connections: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &DB{pool: pool, log: o.Log, outage: outage{log: o.Log}}, nil
}

// connectTimeout bounds one attempt to connect. A host that swallows packets must
// not hold a caller longer than a person would wait.
const connectTimeout = 10 * time.Second

// silence is how long a server's machine may say nothing before a connection to
// it counts as broken.
const silence = 30 * time.Second

// dial connects with probes of the connection, so that the idle connections of
// leases and LISTEN, and a statement under way, notice that their server's
// machine is gone. Without them that takes a quarter of an hour or for ever.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 2, Interval: silence / 6, Count: 3},
		Control:         giveUpUnanswered,
	}
	return d.DialContext(ctx, network, address)
}

// giveUpUnanswered bounds how long sent bytes wait for the other side's word,
// which probes do not cover. It is Linux's TCP_USER_TIMEOUT; elsewhere the
// system's own limit stays.
func giveUpUnanswered(network, _ string, raw syscall.RawConn) error {
	const tcpUserTimeout = 18
	if runtime.GOOS != "linux" || !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var refused error
	err := raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	})
	return errors.Join(err, refused)
}

// Pool gives the pool itself, for reads and single statements.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close closes the pool and waits until borrowed connections are back.
func (db *DB) Close() { db.pool.Close() }

// Ping asks the server for a sign of life, once.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }

// InTx runs fn in one read committed transaction and tries once: an error of fn
// or a panic rolls back, nil commits. Wrap it in Retry where the work must
// happen. When the connection breaks during the commit nobody knows the outcome,
// so work that is retried must be harmless when done twice.
func (db *DB) InTx(ctx context.Context, fn func(Tx) error) error {
	return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, fn)
}
