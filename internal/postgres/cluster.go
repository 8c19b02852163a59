package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Cluster is a data folder and the programs that fit it: what is needed to start
// a server, before anyone has. Open does everything with it; tests that keep a
// server on their own terms use it alone.
type Cluster struct {
	dir    string // PGDATA
	socket string // folder of the Unix socket
	bin    string
	as     account
}

// NewCluster makes a database cluster in dir with the server's programs of this
// machine, unless there is one, and the folder of its socket.
func NewCluster(ctx context.Context, dir, socket string) (*Cluster, error) {
	found, others := find(ctx, majorOf(dir), places())
	if found.bin == "" {
		if want := majorOf(dir); want != 0 {
			return nil, wrongVersion(dir, want, others)
		}
		return nil, errNoServer
	}
	c := &Cluster{dir: dir, socket: socket, bin: found.bin, as: serverAccount()}
	return c, c.make(ctx)
}

// errNoServer is the one sentence for a machine without a server and without npm.
var errNoServer = errors.New("there is no Postgres server on this machine; type: " + installCommand())

// DSN is the connection string of a database on this cluster. Who may enter the
// socket's folder is let in without a password, and nobody else may enter it.
func (c *Cluster) DSN(database string) string {
	return "postgres://attache@/" + url.PathEscape(database) + "?sslmode=disable&host=" + url.QueryEscape(c.socket)
}

// Command gives the server's command line, not started. Further settings are
// name=value and win.
func (c *Cluster) Command(settings ...string) *exec.Cmd {
	args := []string{"-D", c.dir}
	for _, s := range append(c.settings(), settings...) {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), args...)
	cmd.Dir = c.dir
	cmd.Env = environment()
	cmd.SysProcAttr = c.as.attributes()
	return cmd
}

// settings suit a bot's database on a small machine: little memory, no network,
// and as few background wake-ups as possible. They stand on the command line, so
// a newer attache changes them without touching the data folder.
func (c *Cluster) settings() []string {
	s := []string{
		"listen_addresses=",
		"port=5432", // only the socket's file name
		"unix_socket_directories=" + c.socket,
		"unix_socket_permissions=0700",
		"max_connections=100",
		"shared_buffers=48MB",
		"huge_pages=off",
		"jit=off",                           // costs more than our small queries take
		"autovacuum_naptime=3min",           // a wake-up a minute is much for an idle bot
		"max_logical_replication_workers=0", // one background process less
		"checkpoint_timeout=15min",
		"max_wal_size=256MB",
		"log_checkpoints=off",
		"log_min_messages=log", // errors of statements reach their caller, who logs them
		"log_line_prefix=%m [%p] ",
		"cluster_name=attache",
	}
	if smallSharedMemory() {
		s = append(s, "dynamic_shared_memory_type=mmap")
	}
	return s
}

// smallSharedMemory tells a container's /dev/shm, where parallel queries would
// die for want of space: 64 MB by default.
func smallSharedMemory() bool {
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err != nil {
		return false // no Linux: the server's own default fits
	}
	return uint64(fs.Blocks)*uint64(fs.Bsize) < 256<<20
}

// environment is all that the server gets of ours: our own may hold tokens, and
// PG… variables would change what it does.
func environment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// make runs initdb into a neighbour of dir and renames it, so that a folder with
// the right name is always whole, whenever we are killed.
func (c *Cluster) make(ctx context.Context) error {
	if err := c.as.own(c.socket); err != nil {
		return err
	}
	if majorOf(c.dir) != 0 {
		return c.as.own(c.dir)
	}
	half := c.dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := c.as.own(half); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"), "-D", half, "-U", "attache", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = half
	cmd.Env = environment()
	cmd.SysProcAttr = c.as.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		if refused(err) {
			return c.as.explain(half, err)
		}
		return fmt.Errorf("initdb could not make a database in %s: %w: %s", c.dir, err, lastLine(string(out)))
	}
	return os.Rename(half, c.dir)
}

// refused tells that the kernel did not let us start a program as another user
// in its folder.
func refused(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)
}

// majorOf gives the version that made a cluster, 0 when dir holds none.
func majorOf(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err != nil {
		return 0
	}
	return majorIn(string(text))
}

// lastLine is the line of a program's output that says what was wrong.
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
