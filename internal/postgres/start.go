package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// bringUp returns when a server on our cluster and our socket answers: one that
// lives, or a new one. Called under start.lock.
func (s *Server) bringUp(ctx context.Context) error {
	for {
		found, ok := readPostmaster(s.cluster.dir)
		if !ok || !serves(found.pid, s.cluster.dir) {
			return s.start(ctx)
		}
		s.adopt(found.pid)
		err := s.ready(ctx, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errUseless) {
			return err
		}
		if err := s.halt(ctx); err != nil {
			return err
		}
	}
}

// adopt notes a living server. When it is our own child its end is still told.
func (s *Server) adopt(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid != pid {
		s.pid, s.exited = pid, nil
	}
}

// errTangled is a start in the way of the last server's dying children.
var errTangled = errors.New("the last server's processes have not ended yet")

// start starts a server and waits until it answers. After a kill of the old one
// its children need a moment to notice, and a start meanwhile is refused.
func (s *Server) start(ctx context.Context) error {
	for {
		err := s.startOnce(ctx)
		if !errors.Is(err, errTangled) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// logLimit is the size in bytes past which the server's log begins anew.
const logLimit = 1 << 20

// startOnce starts the server as a child. Its words go to postgres.log, where the
// reason of a refusal is then read.
func (s *Server) startOnce(ctx context.Context) error {
	c := s.cluster
	if err := errors.Join(c.as.own(c.socket), c.clear()); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(s.data, "postgres.log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		return err
	}
	from := info.Size()
	if from > logLimit {
		if err := out.Truncate(0); err != nil {
			return err
		}
		from = 0
	}
	cmd := c.Command()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		if refused(err) {
			return c.as.explain(c.dir, err)
		}
		return fmt.Errorf("the database server does not start: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // only its end counts; the log has the reason
		close(exited)
	}()
	s.mu.Lock()
	s.pid, s.exited = cmd.Process.Pid, exited
	s.mu.Unlock()
	if err := s.ready(ctx, exited); err != nil {
		if errors.Is(err, errEnded) {
			return refusal(out, from)
		}
		_ = cmd.Process.Signal(syscall.SIGINT) // nobody will use it; it may have ended meanwhile
		return err
	}
	return nil
}

// refusal reads why a server ended at once.
func refusal(out *os.File, from int64) error {
	text := make([]byte, 16<<10)
	n, _ := out.ReadAt(text, from) // a short read is the usual case
	why := lastLine(string(text[:n]))
	for line := range strings.Lines(string(text[:n])) {
		if _, fatal, ok := strings.Cut(line, "FATAL:"); ok {
			why = strings.TrimSpace(fatal)
			break
		}
	}
	if strings.Contains(why, "pre-existing shared memory") {
		return errTangled
	}
	return fmt.Errorf("the database server does not start: %s (see %s)", why, out.Name())
}

// The two ways in which waiting for a server is of no use.
var (
	errEnded   = errors.New("the server has ended")
	errUseless = errors.New("the server lives but cannot be reached")
)

// The answers of a server that mean something here, as SQLSTATE.
const (
	startingUp     = "57P03" // also recovering and shutting down
	tooManyClients = "53300"
	noSuchDatabase = "3D000"
)

// ready tries until the server answers for our data. It waits for as long as a
// recovery takes, and gives up when the server ends (exited closes or, for an
// adopted one, its process is gone) or says that it is ready where we cannot
// reach it.
func (s *Server) ready(ctx context.Context, exited <-chan struct{}) error {
	for {
		err := s.greet(ctx)
		if err == nil {
			return nil
		}
		var answer *pgconn.PgError
		if errors.As(err, &answer) && answer.Code != startingUp && answer.Code != tooManyClients {
			return fmt.Errorf("the database server in %s refuses us: %w", s.cluster.dir, err)
		}
		select {
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if !errors.Is(err, ctx.Err()) {
				cause = fmt.Errorf("%w (%w)", cause, err)
			}
			return fmt.Errorf("the start was broken off before the database server in %s answered: %w", s.cluster.dir, cause)
		case <-exited:
			return errEnded
		case <-time.After(3 * time.Millisecond):
		}
		if exited != nil {
			continue
		}
		if !serves(s.pid, s.cluster.dir) || s.cluster.unreachable() {
			return errUseless
		}
	}
}

// unreachable tells a server that works but whose socket is gone from our folder.
func (c *Cluster) unreachable() bool {
	found, ok := readPostmaster(c.dir)
	if !ok || !found.ready {
		return false
	}
	_, err := os.Stat(filepath.Join(c.socket, ".s.PGSQL.5432"))
	return found.socket != c.socket || errors.Is(err, os.ErrNotExist)
}

// greet connects once, and makes the database attache on a new cluster.
func (s *Server) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN())
	if err == nil {
		return conn.Close(ctx)
	}
	var answer *pgconn.PgError
	if !errors.As(err, &answer) || answer.Code != noSuchDatabase {
		return err
	}
	conn, err = pgx.Connect(ctx, s.cluster.DSN("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `create database attache`)
	return errors.Join(err, conn.Close(ctx))
}

// halt stops the server fast: transactions that have not ended are rolled back,
// clients are told, the rest is written down.
func (s *Server) halt(ctx context.Context) error {
	s.mu.Lock()
	pid, exited := s.pid, s.exited
	s.mu.Unlock()
	if !serves(pid, s.cluster.dir) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("the database server (process %d) cannot be stopped: %w", pid, err)
	}
	if exited == nil {
		if err := gone(ctx, pid, s.cluster.dir); err != nil {
			return fmt.Errorf("the database server (process %d) is still writing and will stop by itself: %w", pid, err)
		}
		return nil
	}
	select {
	case <-exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the database server (process %d) is still writing and will stop by itself: %w", pid, ctx.Err())
	}
}
