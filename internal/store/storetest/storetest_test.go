package storetest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// childVariable makes this test binary play the part of one that is killed.
const childVariable = "ATTACHE_STORETEST_CHILD"

func TestDatabasesAreApart(t *testing.T) {
	a, b := New(t), New(t)
	if _, err := a.Pool().Exec(t.Context(), `create table only_here (n int)`); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pool().Exec(t.Context(), `select from only_here`); err == nil {
		t.Fatal("a table of one database is seen in another")
	}
}

func TestDurableKeepsDataOverKill(t *testing.T) {
	d := NewDurable(t)
	db := d.Open(nil)
	if _, err := db.Pool().Exec(t.Context(), `create table kept (n int); insert into kept values (7)`); err != nil {
		t.Fatal(err)
	}
	d.Kill()
	if err := db.Ping(t.Context()); err == nil {
		t.Fatal("the server answers although it was killed")
	}
	d.Start()
	var n int
	err := db.Retry(t.Context(), "read", func(ctx context.Context) error {
		return db.Pool().QueryRow(ctx, `select n from kept`).Scan(&n)
	})
	if err != nil || n != 7 {
		t.Fatalf("kept is %d, %v", n, err)
	}
}

// TestServerDiesWithKilledBinary kills a binary that has started its server, and
// waits for the server to be gone.
func TestServerDiesWithKilledBinary(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		fmt.Println("DSN " + DSN(t))
		select {} // until the parent kills us
	}
	child := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithKilledBinary$")
	child.Env = append(os.Environ(), childVariable+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dsn := ""
	for lines := bufio.NewScanner(out); dsn == "" && lines.Scan(); {
		dsn, _ = strings.CutPrefix(lines.Text(), "DSN ")
	}
	if conn, err := pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatalf("the child's server: %v", err)
	} else if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			return
		}
		_ = conn.Close(t.Context())
		if time.Now().After(deadline) {
			t.Fatal("the server outlives its killed test binary")
		}
	}
}
