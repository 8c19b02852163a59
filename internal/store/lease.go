package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Leases are names that only one process holds at a time: the poller of a bot,
// the life of an executor. Each is a session advisory lock on one connection of
// this Leases' own, so all of them fall free the moment the process or its
// connection dies, without a clock.
type Leases struct {
	db      *DB
	mu      sync.Mutex // guards session and its content; held over statements
	session *session   // nil: no connection at the moment
}

// session is one connection and what is held on it. Between statements a watcher
// reads from it, for that is how a break is noticed at once.
type session struct {
	conn *pgx.Conn
	held map[string]*Lease
	stop context.CancelFunc // ends the watcher
	idle chan struct{}      // closed when the watcher has let go of conn
}

// Lease is one held name.
type Lease struct {
	owner   *Leases
	session *session
	name    string
	lost    chan struct{}
}

// statementTimeout bounds one statement on the connection of leases. It does not
// follow the caller's context: giving up in the middle of a statement would break
// the connection and with it every other lease.
const statementTimeout = 5 * time.Second

// Leases opens the connection that leases are held on. End it with Close.
func (db *DB) Leases(ctx context.Context) (*Leases, error) {
	l := &Leases{db: db}
	if err := l.use(ctx, func(context.Context, *session) error { return nil }); err != nil {
		return nil, err
	}
	return l, nil
}

// Take tries once to get a name and reports whether it has it; false means that
// somebody holds it, be it this process. A broken connection is opened anew
// first; ctx bounds only that.
func (l *Leases) Take(ctx context.Context, name string) (*Lease, bool, error) {
	var lease *Lease
	err := l.use(ctx, func(ctx context.Context, s *session) error {
		if s.held[name] != nil {
			return nil // the server would count a second lock of the same session
		}
		var got bool
		if err := s.conn.QueryRow(ctx, `select pg_try_advisory_lock($1)`, lockKey("lease", name)).Scan(&got); err != nil || !got {
			return err
		}
		lease = &Lease{owner: l, session: s, name: name, lost: make(chan struct{})}
		s.held[name] = lease
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("lease %s: %w", name, err)
	}
	return lease, lease != nil, nil
}

// Close gives every lease back and closes the connection. Channels of leases that
// were still held close too.
func (l *Leases) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		l.pause(l.session)
		l.drop(l.session)
	}
}

// Lost is closed when the lease is no longer ours although we did not release it.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Release gives the name back; it may be called twice, also after a loss.
func (l *Lease) Release() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	s := l.session
	if l.owner.session != s || s.held[l.name] != l {
		return
	}
	l.owner.pause(s)
	delete(s.held, l.name)
	// An error breaks the connection in run, which gives the name back as well.
	_ = l.owner.run(s, func(ctx context.Context, s *session) error {
		_, err := s.conn.Exec(ctx, `select pg_advisory_unlock($1)`, lockKey("lease", l.name))
		return err
	})
}

// Free reports whether nobody holds a name now. It looks without taking, so it
// never stands in the way of somebody who takes.
func (db *DB) Free(ctx context.Context, name string) (bool, error) {
	var free bool
	err := db.pool.QueryRow(ctx, `select not exists (
		select from pg_locks
		where locktype = 'advisory' and objsubid = 1 and granted
		  and database = (select oid from pg_database where datname = current_database())
		  and (classid::bigint << 32) | objid::bigint = $1)`, lockKey("lease", name)).Scan(&free)
	if err != nil {
		return false, fmt.Errorf("lease %s: %w", name, err)
	}
	return free, nil
}

// lockKey makes the number of an advisory lock. The namespace keeps a lease from
// ever meeting a migration; two names meet with a chance of one in 2^64.
func lockKey(namespace, name string) int64 {
	sum := sha256.Sum256([]byte("attache\x00" + namespace + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// use runs fn with a living session, connecting when there is none.
func (l *Leases) use(ctx context.Context, fn func(context.Context, *session) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		l.pause(l.session)
		if l.session.conn.IsClosed() { // its watcher has not come to say so yet
			l.drop(l.session)
		}
	}
	if l.session == nil {
		if err := l.connect(ctx); err != nil {
			return err
		}
	}
	return l.run(l.session, fn)
}

// connect opens the connection. The server, too, shall notice within half a
// minute that this machine is gone, or the names would stay taken for hours.
func (l *Leases) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; set idle_session_timeout = 0`)
	if err != nil {
		hangUp(conn)
		return err
	}
	l.session = &session{conn: conn, held: map[string]*Lease{}}
	return nil
}

// run runs fn on a connection that no watcher reads from, and sets a watcher on
// it afterwards.
func (l *Leases) run(s *session, fn func(context.Context, *session) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	err := fn(ctx, s)
	if s.conn.IsClosed() {
		l.drop(s)
		return err
	}
	l.watch(s)
	return err
}

// watch starts the reader that notices a break.
func (l *Leases) watch(s *session) {
	ctx, stop := context.WithCancel(context.Background())
	idle := make(chan struct{})
	s.stop, s.idle = stop, idle
	go func() {
		for ctx.Err() == nil && !s.conn.IsClosed() {
			_, _ = s.conn.WaitForNotification(ctx) // its end is read off ctx and conn
		}
		close(idle)
		if ctx.Err() == nil {
			l.broke(s)
		}
	}()
}

// pause waits until the watcher has let go.
func (l *Leases) pause(s *session) {
	s.stop()
	<-s.idle
}

// broke is the watcher's word that the connection is gone.
func (l *Leases) broke(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == s {
		s.stop()
		l.drop(s)
	}
}

// drop forgets a session and tells every holder.
func (l *Leases) drop(s *session) {
	hangUp(s.conn) // ends the server's session too, and so gives the names back
	for _, lease := range s.held {
		close(lease.lost)
	}
	l.session = nil
}
