package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postmaster is what postmaster.pid says of a server: line 1 its process, 4 its
// port, 5 the folder of its socket, 8 its state.
type postmaster struct {
	pid    int
	socket string
	ready  bool
}

// readPostmaster reads postmaster.pid; false means that it is not there or not
// whole.
func readPostmaster(dir string) (postmaster, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return postmaster{}, false
	}
	return parsePostmaster(string(text))
}

func parsePostmaster(text string) (postmaster, bool) {
	lines := strings.Split(text, "\n")
	if len(lines) < 5 {
		return postmaster{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 1 {
		return postmaster{}, false
	}
	return postmaster{pid, strings.TrimSpace(lines[4]), len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"}, true
}

// serves tells whether a process is the living server of dir. A number alone
// proves nothing: after a restart of a container or a machine it soon belongs to
// somebody else, and a copied data folder brings the number of the original's
// server along. A server's working directory is its data folder.
func serves(pid int, dir string) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if _, err := os.Stat("/proc/self/stat"); err != nil { // no Linux
		out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && strings.Contains(string(out), "-D "+dir+" ")
	}
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil || dead(string(stat)) {
		return false
	}
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	return err == nil && cwd == dir
}

// dead tells a process that has ended and that nobody has asked about yet, as
// happens in containers without an init.
func dead(stat string) bool {
	_, state, ok := strings.Cut(stat[strings.LastIndex(stat, ")")+1:], " ")
	return ok && (strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X"))
}

// gone waits until no server serves dir under a number.
func gone(ctx context.Context, pid int, dir string) error {
	for serves(pid, dir) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// clear removes what a dead server left and the next would stumble over: Postgres
// itself believes in a number that has a new owner, and refuses a broken file.
// Called only under start.lock and after serves has said no.
func (c *Cluster) clear() error {
	for _, file := range []string{filepath.Join(c.dir, "postmaster.pid"), filepath.Join(c.socket, ".s.PGSQL.5432.lock")} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
