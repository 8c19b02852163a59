package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// row N2 (started, kept over a stop, stopped with the process)
func TestFromNothingAndAgain(t *testing.T) {
	before := goleak.IgnoreCurrent()
	data := folder(t)
	began := time.Now()
	s := open(t, data, true)
	t.Logf("nothing to ready: %v", time.Since(began))
	if !s.Alone() {
		t.Error("a holder is not alone")
	}
	run(t, s.DSN(), `create table kept as select 'still here' as word`)
	for setting, want := range map[string]string{"server_encoding": "UTF8", "listen_addresses": "", "jit": "off", "fsync": "on"} {
		if got := ask(t, s.DSN(), `select current_setting('`+setting+`')`); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if got := ask(t, s.DSN(), `select datcollate from pg_database where datname = current_database()`); got != "C" {
		t.Errorf("the collation is %q", got)
	}
	if info, err := os.Stat(s.cluster.socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder is open to others: %v", err)
	}
	began = time.Now()
	shut(t, s)
	t.Logf("stop: %v", time.Since(began))
	if lives(t, s.DSN()) {
		t.Fatal("the server outlives its holder")
	}
	if _, err := os.Stat(s.cluster.socket); err == nil {
		t.Error("the socket's folder is left behind")
	}
	goleak.VerifyNone(t, before)
	began = time.Now()
	s = open(t, data, true)
	t.Logf("stopped to ready: %v", time.Since(began))
	if got := ask(t, s.DSN(), `select word from kept`); got != "still here" {
		t.Errorf("kept is %q", got)
	}
}

// row N2 (adopted after a crash)
func TestAdoptsTheServerOfAKilledHolder(t *testing.T) {
	data := folder(t)
	killed := child(t, data)
	pid := pidOf(t, data)
	kill(t, killed)
	began := time.Now()
	s := open(t, data, true)
	t.Logf("killed to adopted: %v", time.Since(began))
	if pidOf(t, data) != pid {
		t.Error("another server was started instead of the living one")
	}
	if !s.Alone() {
		t.Error("the folder of a killed holder is not ours alone")
	}
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && strings.Contains(string(environ), "hunter2") {
		t.Error("the server's environment holds our secrets")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	soon(t, "the restart of an adopted server", func() bool { return lives(t, s.DSN()) && pidOf(t, data) != pid })
	shut(t, s)
	if lives(t, s.DSN()) {
		t.Error("an adopted server outlives its holder")
	}
}

func TestSecondHolderIsRefused(t *testing.T) {
	data := folder(t)
	open(t, data, true)
	_, err := Open(t.Context(), Options{Data: data, Hold: true})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("the second holder hears: %v", err)
	}
}

func TestGuestBesideAHolder(t *testing.T) {
	data := folder(t)
	holder := open(t, data, true)
	guest := open(t, data, false)
	if guest.Alone() || guest.DSN() != holder.DSN() {
		t.Error("the guest is not a guest of the holder's server")
	}
	shut(t, guest)
	if !lives(t, holder.DSN()) {
		t.Error("a guest stopped the holder's server")
	}
}

func TestGuestsAlone(t *testing.T) {
	data := folder(t)
	first, second := open(t, data, false), open(t, data, false)
	shut(t, first)
	if !lives(t, second.DSN()) {
		t.Fatal("a guest stopped the server of another")
	}
	holder := open(t, data, true) // takes the guests' server over
	shut(t, second)
	if !lives(t, holder.DSN()) {
		t.Fatal("the last guest stopped the server that a holder had taken over")
	}
	shut(t, holder)
	last := open(t, data, false)
	shut(t, last)
	if lives(t, last.DSN()) {
		t.Error("the last guest left its server running")
	}
}

// A kill of the server itself: the holder starts it again on the same address.
func TestRestartsAKilledServer(t *testing.T) {
	data := folder(t)
	s := open(t, data, true)
	for range 2 {
		pid := pidOf(t, data)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		soon(t, "the restart", func() bool { return lives(t, s.DSN()) })
		t.Logf("killed server to ready: %v", time.Since(began))
		soon(t, "a new postmaster.pid", func() bool {
			p, ok := readPostmaster(s.cluster.dir)
			return ok && p.pid != pid && p.ready
		})
	}
}

// Cleaners of temporary folders remove sockets; the holder makes it again, and so
// does a holder who finds a living server that way.
func TestRemovedSocketComesBack(t *testing.T) {
	data := folder(t)
	killed := child(t, data)
	socket := filepath.Join(socketFolder(serverAccount(), filepath.Join(data, "postgres")), ".s.PGSQL.5432")
	remove := func() {
		t.Helper()
		if err := os.Remove(socket); err != nil {
			t.Fatal(err)
		}
	}
	kill(t, killed)
	remove()
	s := open(t, data, true)
	ask(t, s.DSN(), `select 'adopted in spite of it'`)
	remove()
	soon(t, "the socket", func() bool { return lives(t, s.DSN()) })
}

// What an unclean end leaves in postmaster.pid: nothing, half of it, or a number
// that has a new owner.
func TestBrokenPostmasterPID(t *testing.T) {
	data := folder(t)
	shut(t, open(t, data, true))
	stranger := exec.Command("sleep", "300")
	stranger.SysProcAttr = serverAccount().attributes() // of the server's own user, whom Postgres believes
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, stranger) })
	dir := filepath.Join(data, "postgres")
	socket := socketFolder(serverAccount(), dir)
	for name, text := range map[string]string{
		"empty": "", "garbage": "\x00\xffnot a number\n", "half": "12",
		"reused number": fmt.Sprintf("%d\n%s\n1\n5432\n%s\n\n  1 2\nready   \n", stranger.Process.Pid, dir, socket),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "postmaster.pid"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			shut(t, open(t, data, true))
		})
	}
}

// A brain copied while it runs brings the original's postmaster.pid along.
func TestCopyOfALivingFolderGetsItsOwnServer(t *testing.T) {
	original, copied := folder(t), folder(t)
	a := open(t, original, true)
	if out, err := exec.Command("cp", "-a", original, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b := open(t, copied, true)
	if got := ask(t, b.DSN(), `show data_directory`); got != filepath.Join(copied, "postgres") {
		t.Errorf("the copy is served from %s", got)
	}
	shut(t, b)
	if !lives(t, a.DSN()) {
		t.Error("closing the copy stopped the original")
	}
}

// A kill in the middle of initdb leaves half a folder, which the next start takes
// away.
func TestHalfMadeClusterIsMadeAgain(t *testing.T) {
	data := folder(t)
	half := filepath.Join(data, "postgres.half", "base")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	open(t, data, true)
	if _, err := os.Stat(filepath.Dir(half)); err == nil {
		t.Error("the half is still there")
	}
}

// An initdb outlives its killed parent and goes on writing into its half: the next
// start works beside it.
func TestAnOrphanedInitdbStopsNobody(t *testing.T) {
	data := folder(t)
	busy := filepath.Join(data, "postgres.half-1", "base")
	if err := os.MkdirAll(busy, 0o700); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.MkdirAll(busy, 0o700)
				_ = os.WriteFile(filepath.Join(busy, strconv.Itoa(i%1000)), nil, 0o600)
			}
		}
	}()
	open(t, data, true)
	close(stop)
	<-stopped
}

func TestRefusals(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Run("a folder that the account cannot enter", func(t *testing.T) {
			data := folder(t)
			closed := filepath.Dir(data)
			if err := os.Chmod(closed, 0o700); err != nil {
				t.Fatal(err)
			}
			refuse(t, data, "cannot enter "+closed, "--data")
		})
	}
	for name, c := range map[string]struct {
		file, text string
		words      []string
	}{
		"an older version": {"PG_VERSION", "9.6\n", []string{"made by Postgres 9 ", "install 9", "pg_upgrade", "initdb -D "}},
		"a newer version":  {"PG_VERSION", "99\n", []string{"made by Postgres 99", "postgresql-99"}},
		"a broken version": {"PG_VERSION", "\n", []string{"does not name a version"}},
		"no database":      {"notes.txt", "mine", []string{"holds files but no database"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := folder(t)
			if err := os.MkdirAll(filepath.Join(data, "postgres"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(data, "postgres", c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			refuse(t, data, c.words...)
		})
	}
	t.Run("settings that do not start", func(t *testing.T) {
		data := folder(t)
		shut(t, open(t, data, true))
		conf := filepath.Join(data, "postgres", "postgresql.conf")
		if err := os.WriteFile(conf, []byte("no_such_setting = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		refuse(t, data, "does not start", "postgres.log")
	})
}

// A container with one user only: neither a chown nor a change of user works.
func TestNoSecondUserIsSaid(t *testing.T) {
	err := account{uid: nobody, gid: nobody, drop: true}.explain("/tmp/x", syscall.EPERM)
	for _, word := range []string{"not run as root", "user 65534", "DATABASE_URL"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
}

// refuse opens a folder that must be refused with certain words.
func refuse(t *testing.T, data string, words ...string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Data: data, Hold: true})
	if err == nil {
		shut(t, s)
		t.Fatal("it was taken")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	if again, err := hold(data); err != nil || again == nil {
		t.Errorf("a refused start keeps the folder locked: %v", err)
	} else {
		unlock(again)
	}
}
