package postgres

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childVariable makes this test binary the process that gets killed: it opens the
// data folder that the variable names, holds it and waits.
const childVariable = "ATTACHE_POSTGRES_TEST_DATA"

func TestMain(m *testing.M) {
	if data := os.Getenv(childVariable); data != "" {
		s, err := Open(context.Background(), Options{Data: data, Hold: true})
		if err != nil {
			fmt.Println("ERR", err)
			os.Exit(1)
		}
		fmt.Println("DSN", s.DSN())
		select {}
	}
	os.Exit(m.Run())
}

// child starts a process that holds data and returns when its server answers.
func child(t *testing.T, data string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+data, "SECRET_TOKEN=hunter2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "DSN ") {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return cmd
}

// kill ends a child as kill -9 would.
func kill(t *testing.T, cmd *exec.Cmd) {
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

// folder gives a data folder that the server's account can reach, which a
// t.TempDir of root is not. A server left on it is killed at the end.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attache-pgtest-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "brain", ".attache")
	if err := os.Mkdir(filepath.Join(dir, "brain"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cluster := filepath.Join(data, "postgres")
		if p, ok := readPostmaster(cluster); ok && serves(p.pid, cluster) {
			if err := syscall.Kill(p.pid, syscall.SIGQUIT); err != nil {
				t.Error(err)
			}
			if err := gone(context.Background(), p.pid, cluster); err != nil {
				t.Error(err)
			}
		}
		_ = os.Remove(socketFolder(serverAccount(), cluster)) // gone already when all went well
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return data
}

// open opens a server for a test; it is closed at the end unless it is before.
func open(t *testing.T, data string, hold bool) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, Options{Data: data, Hold: hold})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, s) })
	return s
}

func shut(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

// ask runs a statement that gives one text.
func ask(t *testing.T, dsn, sql string) string {
	t.Helper()
	answer, err := try(t, dsn, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// run runs statements without an answer.
func run(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, dsn, sql string) (answer string, err error) {
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	return answer, conn.QueryRow(t.Context(), sql).Scan(&answer)
}

// lives tells whether a server answers.
func lives(t *testing.T, dsn string) bool {
	_, err := try(t, dsn, `select 'yes'`)
	return err == nil
}

// soon waits for a condition that no signal announces.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come about", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// pidOf reads the number of the server on data.
func pidOf(t *testing.T, data string) int {
	t.Helper()
	p, ok := readPostmaster(filepath.Join(data, "postgres"))
	if !ok {
		t.Fatal("there is no postmaster.pid")
	}
	return p.pid
}
