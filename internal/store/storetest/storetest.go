// Package storetest gives tests a database of their own on a real Postgres. One
// server is started for a test binary when its first test asks, and a small shell
// that holds the other end of a pipe stops it when the binary ends, however it
// ends: by itself, by a time-out or by kill -9. Only _test.go files import it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"attache/internal/postgres"
	"attache/internal/store"

	"github.com/jackc/pgx/v5"
)

// The server of this test binary. A binary is one process and has no place but
// this to keep it; it is written once.
var shared = sync.OnceValues(func() (*server, error) {
	return start(memory(), "fsync=off", "synchronous_commit=off", "full_page_writes=off")
})

// memory gives a folder that is memory, if there is plenty: there a new database
// takes 10 ms and not 100.
func memory() string {
	var shm syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shm); err != nil || uint64(shm.Bavail)*uint64(shm.Bsize) < 2<<30 {
		return ""
	}
	return "/dev/shm"
}

// databases numbers the databases of this binary.
var databases atomic.Int64

// New gives a database of the test's own, empty, without a durable disk below it:
// a power cut would lose it, a killed process of ours does not.
func New(t testing.TB) *store.DB {
	t.Helper()
	return open(t, DSN(t))
}

// DSN gives the connection string of a new database, for tests that open it
// themselves or hand it to a child process. The database goes with the test.
func DSN(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.database(t)
}

// Until looks at a fact of the database that nobody signals until it holds, and fails
// the test when it does not within 20 s.
func Until(t testing.TB, what string, fact func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !fact() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came to pass that %s", what)
		case <-look.C:
		}
	}
}

// Durable is a server of one test, with fsync as in life, that the test may kill
// and start again.
type Durable struct {
	t      testing.TB
	server *server
	dsn    string
}

// NewDurable starts a server for a test about kills.
func NewDurable(t testing.TB) *Durable {
	t.Helper()
	s, err := start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return &Durable{t: t, server: s, dsn: s.database(t)}
}

// DSN is the connection string of its one database, good over every restart.
func (d *Durable) DSN() string { return d.dsn }

// Open gives the database of DSN; log may be nil.
func (d *Durable) Open(log *slog.Logger) *store.DB {
	d.t.Helper()
	return openWith(d.t, d.dsn, store.Options{Log: log})
}

// Kill ends the server as kill -9 would and returns when it is gone.
func (d *Durable) Kill() {
	d.t.Helper()
	if err := d.server.kill(); err != nil {
		d.t.Fatal(err)
	}
}

// Start starts it again on the same data and returns when it answers.
func (d *Durable) Start() {
	d.t.Helper()
	if err := d.server.run(); err != nil {
		d.t.Fatal(err)
	}
}

// open opens a database for a test.
func open(t testing.TB, dsn string) *store.DB {
	t.Helper()
	return openWith(t, dsn, store.Options{})
}

func openWith(t testing.TB, dsn string, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// server is one running server with its watchdog.
type server struct {
	cluster  *postgres.Cluster
	folder   string
	settings []string
	watchdog *exec.Cmd
	leash    *os.File // closing it, as our death does, ends the server
}

// start makes a cluster in a folder below parent that the watchdog removes, and
// runs it. "" is the system's temporary folder.
func start(parent string, settings ...string) (*server, error) {
	folder, err := os.MkdirTemp(parent, "attache-test-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(folder, 0o711); err != nil { // the server may be another user
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cluster, err := postgres.NewCluster(ctx, filepath.Join(folder, "data"), filepath.Join(folder, "socket"), func(string) {})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s := &server{cluster: cluster, folder: folder, settings: settings}
	return s, s.run()
}

// leashed runs the server given as "$@" until its own standard input ends, and
// then, unless the folder is to be kept for another start, removes the folder $0.
const leashed = `
"$@" </dev/null & server=$!
read -r word
kill -QUIT $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$0"
`

// run starts the server below its watchdog and waits until it answers. Nothing
// of the test's own output is inherited, or "go test" would wait for the server.
func (s *server) run() error {
	server := s.cluster.Command(s.settings...)
	if c := server.SysProcAttr.Credential; c != nil {
		if err := os.Chown(s.folder, int(c.Uid), int(c.Gid)); err != nil {
			return err
		}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.watchdog = exec.Command("/bin/sh", append([]string{"-c", leashed, s.folder, server.Path}, server.Args[1:]...)...)
	s.watchdog.Dir, s.watchdog.Env, s.watchdog.SysProcAttr = server.Dir, server.Env, server.SysProcAttr
	s.watchdog.Stdin, s.watchdog.Stdout, s.watchdog.Stderr = read, log, log
	if err := s.watchdog.Start(); err != nil {
		return errors.Join(err, write.Close())
	}
	s.leash = write
	return s.await()
}

// await tries to connect until the server answers. There is no signal to wait on:
// the server tells of its readiness by accepting.
func (s *server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.cluster.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.folder, "log")) // only adds to the error
			return fmt.Errorf("the test server does not answer: %w\n%s", err, log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// database makes a database that goes with the test.
func (s *server) database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	s.admin(t, t.Context(), "create database "+name+" strategy file_copy")
	t.Cleanup(func() {
		if s.leash != nil {
			s.admin(t, context.Background(), "drop database "+name+" with (force)")
		}
	})
	return s.cluster.DSN(name)
}

// admin runs one statement on the server's own database.
func (s *server) admin(t testing.TB, ctx context.Context, statement string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, s.cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// kill ends the server with SIGKILL, the first process before those that serve
// connections: left alone, these would still answer for a moment. The watchdog
// ends too and leaves the data.
func (s *server) kill() error {
	text, err := os.ReadFile(filepath.Join(s.folder, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	var first int
	if _, err := fmt.Sscan(strings.SplitN(string(text), "\n", 2)[0], &first); err != nil {
		return fmt.Errorf("postmaster.pid: %w", err)
	}
	rest, err := s.processes()
	if err != nil {
		return err
	}
	for _, pid := range append([]int{first}, rest...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return s.end("keep\n")
}

// processes gives those of the server that it knows of besides the first.
func (s *server) processes() ([]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.cluster.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select pid from pg_stat_activity`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// stop ends the server for good and removes its folder.
func (s *server) stop() {
	if s.leash != nil {
		_ = s.end("") // the watchdog's exit status is the server's; the test is over
	}
	_ = os.RemoveAll(s.folder) // there only when the test ended between Kill and Start
}

// end lets go of the leash and waits for the watchdog.
func (s *server) end(word string) error {
	_, writeErr := s.leash.WriteString(word)
	closeErr := s.leash.Close()
	s.leash = nil
	var exit *exec.ExitError
	if err := s.watchdog.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return errors.Join(writeErr, closeErr)
}
