// Package conversation keeps what is said in one place, as the bytes that a model
// was sent.
//
// The data is four tables. An `epoch` is a static prompt with its tool list, kept
// once. A `session` is a stretch of one place under one role, one engine and one
// pin, with the snapshot that was made when it began and is sent as those bytes
// until it ends. An `exchange` is one turn of a session: its own snapshot with the
// clock of then, its input, its tail and, when there is one, its answer. An `aside`
// is what a run posted into the place. Nothing is ever made anew from today's
// data: a retry, another process after a crash, and the history of every later
// turn read what was written first (matrix J5, J7; decisions § 4).
//
// Times are the database's, so processes with different clocks agree on what is
// idle. Methods that take no transaction wait for a database that is away
// (store.DB.Retry), unless they say otherwise; done twice they do no harm.
//
// A place has one running turn at a time, which the gateway sees to. Here that is
// not relied on for what is stored, only for answers to come in the turns' order.
package conversation

import (
	"context"
	"embed"
	"time"

	"attache"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the conversations of one database. It is safe for use by many
// goroutines and keeps nothing in memory.
type Store struct{ db *store.DB }

// Open brings the tables up to date and gives the store. Commands that only read
// open it too.
func Open(ctx context.Context, db *store.DB) (*Store, error) {
	if err := db.Migrate(ctx, "conversation", migrations); err != nil {
		return nil, err
	}
	return &Store{db}, nil
}

// Epoch is a static prompt with its tool list. Equal IDs must mean equal bytes:
// those that were stored first under an ID are kept.
type Epoch struct {
	ID    string
	Text  string
	Tools []byte
}

// Opening is what a turn would begin with, if it has not begun before.
type Opening struct {
	Turn   int64
	Place  attache.Place
	Role   attache.RoleID
	Engine string
	Key    string        // what the place is pinned to, in one canonical form; empty: nothing
	Idle   time.Duration // a silence longer than this ends the session; 0: none does
	Alone  bool          // a run (decisions § 3.11), or nobody knows the key: a session of its own, and the place's stays as it is
	Epoch  Epoch

	// Session makes the snapshot of a new session. It is called only when the turn
	// cannot go on with one, and holds no connection meanwhile, so it may read the
	// database. When two callers meet, one's bytes are thrown away.
	Session func(context.Context) ([]byte, error)

	Snapshot []byte // the turn's
	Input    []byte
	Tail     []byte // nil: chosen later, see SetTail
}

// Session is the session that a turn belongs to, with its frozen snapshot.
type Session struct {
	ID       int64
	Snapshot []byte
	// Opened says why this turn opened it: first, when nothing came before in the
	// place, or why the session before it ended: key, role, engine, idle, migrated, or
	// what Reset was told; alone for one that ends with its turn (Opening.Alone). Empty: an earlier turn opened it.
	Opened string
}

// Exchange is a turn as it began: what every attempt at it sends.
type Exchange struct {
	Turn     int64
	Session  Session
	Epoch    Epoch
	Snapshot []byte // the turn's
	Input    []byte
	Tail     []byte
	At       time.Time // when it began

	// Fresh says that this call wrote the exchange. Otherwise it was found, written
	// by an earlier attempt or by this one before its connection broke.
	Fresh bool
}
