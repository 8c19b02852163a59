package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
// machine, unless there is one, and the folder of its socket. Programs are
// fetched with npm when there are none; say hears of what takes long.
func NewCluster(ctx context.Context, dir, socket string, say func(string)) (*Cluster, error) {
	programs, err := locate(ctx, dir, places(), say)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, socket: socket, bin: programs.bin, as: serverAccount()}
	return c, c.make(ctx, say)
}

// locate finds or fetches programs that fit the cluster in dir, if there is one.
func locate(ctx context.Context, dir string, globs []string, say func(string)) (install, error) {
	want, err := majorOf(dir)
	if err != nil {
		return install{}, err
	}
	found, others := find(ctx, want, globs)
	if found.bin != "" {
		return found, nil
	}
	if want != 0 && want != bundleMajor {
		return install{}, wrongVersion(dir, want, others)
	}
	b, ok := bundleFor(platform())
	if !ok {
		return install{}, noServer("")
	}
	return fetch(ctx, b, cacheFolder(filepath.Dir(dir)), say)
}

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
	var shm syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &shm); err != nil {
		return false // no Linux: the server's own default fits
	}
	return uint64(shm.Blocks)*uint64(shm.Bsize) < 256<<20
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
func (c *Cluster) make(ctx context.Context, say func(string)) error {
	if err := c.as.own(c.socket); err != nil {
		return err
	}
	if major, err := majorOf(c.dir); err != nil || major != 0 {
		return errors.Join(err, c.as.own(c.dir))
	}
	say("Making a database in " + c.dir)
	half, err := c.half()
	if err != nil {
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

// half makes the folder in which initdb works, and takes away those that a kill left.
// Each has a name of its own, and one that does not go is no trouble: an initdb whose
// parent was killed lives on for some seconds and writes into it.
func (c *Cluster) half() (string, error) {
	parent, name := filepath.Dir(c.dir), filepath.Base(c.dir)+".half"
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name) {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
	half, err := os.MkdirTemp(parent, name+"-")
	if err != nil {
		return "", err
	}
	return half, c.as.own(half)
}

// refused tells that the kernel did not let us start a program as another user
// in its folder.
func refused(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)
}

// majorOf gives the version that made a cluster, 0 when dir does not exist or is
// empty. A folder that holds something else is an error, never written over.
func majorOf(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err == nil {
		if major := majorIn(string(text)); major != 0 {
			return major, nil
		}
		return 0, fmt.Errorf("%s/PG_VERSION does not name a version; move the folder away, or restore it from a backup", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("the database folder is not ours to read (%w); run as the user who made it, or give another --data", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if len(entries) > 0 {
		return 0, fmt.Errorf("%s holds files but no database (PG_VERSION is not there); move it away, or give another --data", dir)
	}
	return 0, nil
}

// lastLine is the line of a program's output that says what was wrong.
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
