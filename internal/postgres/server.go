// Package postgres runs a private Postgres for a brain without DATABASE_URL.
//
// In the data folder stand the cluster (postgres/), the server's log
// (postgres.log) and three lock files; the Unix socket stands in a folder of its
// own under the system's temporary one, for its path must be short. The server
// is a process beside ours, not below it: it outlives our kill -9 with all
// transactions in order, and whoever comes next adopts it. A process that runs
// the bots holds the folder; it restarts the server when it dies and stops it
// when it ends. Any other command is a guest.
package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Options say which server is wanted.
type Options struct {
	Data string       // the data folder; made if it is not there
	Hold bool         // run and demo: be the one holder; false: be a guest
	Log  *slog.Logger // nil: nothing is logged
	Say  func(string) // hears of what takes long, in words for a person; nil: nobody does
}

// Server is our share in a running private Postgres.
type Server struct {
	cluster *Cluster
	data    string
	log     *slog.Logger
	run     *os.File // run.lock, nil for a guest
	use     *os.File // use.lock
	stop    context.CancelFunc
	ended   chan struct{} // closed when nobody watches the server (any more)

	mu     sync.Mutex
	closed bool
	pid    int           // of the server
	exited chan struct{} // closed at the server's end if it is our child; nil: adopted
}

// Open gives a server that answers: it adopts the one that lives on the data
// folder or starts one, making the database first if there is none. With Hold a
// second holder gets an error that names the first. Errors are sentences for the
// operator: they say what is missing and what to type.
func Open(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	data, err := dataFolder(o.Data)
	if err != nil {
		return nil, fmt.Errorf("the data folder: %w", err)
	}
	s := &Server{data: data, log: o.Log, stop: func() {}, ended: make(chan struct{})}
	if err := s.open(ctx, o); err != nil {
		unlock(s.run, s.use)
		return nil, err
	}
	if s.run == nil {
		close(s.ended)
		return s, nil
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.supervise(watch)
	return s, nil
}

// open takes the locks in the order run, start, use, and brings the server up.
func (s *Server) open(ctx context.Context, o Options) (err error) {
	if o.Hold {
		if s.run, err = hold(s.data); err != nil {
			return err
		}
	}
	starting, err := lockWhenFree(ctx, s.data, startLock, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock(starting)
	if s.use, err = lockWhenFree(ctx, s.data, useLock, syscall.LOCK_SH); err != nil {
		return err
	}
	as := serverAccount()
	dir := filepath.Join(s.data, "postgres")
	if s.cluster, err = NewCluster(ctx, dir, socketFolder(as, dir), o.Say); err != nil {
		return err
	}
	if found, ok := readPostmaster(dir); ok && serves(found.pid, dir) && found.socket != "" {
		s.cluster.socket = found.socket // started by somebody with another TMPDIR
	}
	return s.bringUp(ctx)
}

// DSN is the connection string, good for as long as the Server is open, over
// every restart of it.
func (s *Server) DSN() string { return s.cluster.DSN("attache") }

// Alone reports whether we hold the data folder, so that every other process that
// ever ran bots on it is dead (architecture § 3).
func (s *Server) Alone() bool { return s.run != nil }

// Close ends our share. A holder stops the server. A guest stops it only if there
// is no holder and no other guest. When ctx ends first the server is still
// writing and stops by itself; nothing is lost. A second Close does nothing.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.stop()
	<-s.ended
	defer unlock(s.run, s.use)
	starting, err := lockWhenFree(ctx, s.data, startLock, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock(starting)
	if s.run == nil {
		last, err := s.last()
		if err != nil || !last {
			return err
		}
	}
	if err := s.halt(ctx); err != nil {
		return err
	}
	_ = os.Remove(s.cluster.socket) // empty by now; if not, the next start uses it again
	return nil
}

// last reports, for a guest, whether nobody else uses the server. start.lock
// keeps newcomers out until we are done.
func (s *Server) last() (bool, error) {
	run, err := lock(s.data, runLock, syscall.LOCK_EX)
	if run == nil {
		return false, err
	}
	unlock(run)
	err = syscall.Flock(int(s.use.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// dataFolder makes the folder and gives its one true path, by which servers and
// sockets are known.
func dataFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", err
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	return abs, letThrough(abs)
}

// letThrough lets the server's account pass through our own data folder, not read
// it, when that is another account than ours.
func letThrough(dir string) error {
	if !serverAccount().drop {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// longestSocket is what the address of a Unix socket takes on macOS; Linux takes
// four more.
const longestSocket = 103

// socketFolder picks the folder of the socket: short, and one that the server's
// account can enter, which the temporary folder of a login need not be.
func socketFolder(as account, dir string) string {
	sum := sha256.Sum256([]byte(dir))
	name := "attache-" + hex.EncodeToString(sum[:6])
	folder := filepath.Join(os.TempDir(), name)
	if len(folder+"/.s.PGSQL.5432") > longestSocket || as.drop && as.closedFolder(folder) != "" {
		return filepath.Join("/tmp", name)
	}
	return folder
}

// supervise starts the server again whenever it ends, until ctx does. What runs
// on the database sees errors that waiting cures.
func (s *Server) supervise(ctx context.Context) {
	defer close(s.ended)
	for s.untilGone(ctx) == nil {
		s.log.Error("the private Postgres has ended; starting it again", "part", "postgres")
		began := time.Now()
		for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			err := s.restart(ctx)
			if err == nil {
				s.log.Info("the private Postgres is up again", "part", "postgres", "ms", time.Since(began).Milliseconds())
				break
			}
			if ctx.Err() != nil {
				return
			}
			s.log.Error("the private Postgres does not start; trying again", "part", "postgres", "err", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// restart is bringUp under the lock that keeps guests from doing the same.
func (s *Server) restart(ctx context.Context) error {
	starting, err := lockWhenFree(ctx, s.data, startLock, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock(starting)
	return s.bringUp(ctx)
}

// untilGone returns nil when the server is gone or out of reach, and an error
// when ctx ended. A child's end is told; an adopted server is looked after twice
// a second, and so is the socket, which cleaners of temporary folders remove.
func (s *Server) untilGone(ctx context.Context) error {
	s.mu.Lock()
	pid, exited := s.pid, s.exited
	s.mu.Unlock()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-exited:
			return nil
		case <-tick.C:
			if !serves(pid, s.cluster.dir) || s.cluster.unreachable() {
				return nil
			}
		}
	}
}
