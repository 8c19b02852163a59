package postgres

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as: ourselves, or, since Postgres refuses root,
// somebody without rights.
type account struct {
	uid, gid int
	drop     bool // we are root and change to it
}

// nobody is the account for a machine that has no user postgres; by convention
// no file belongs to it.
const nobody = 65534

// serverAccount picks the account (architecture § 4).
func serverAccount() account {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}
	}
	if u, err := user.Lookup("postgres"); err == nil {
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{uid, gid, true}
		}
	}
	return account{nobody, nobody, true}
}

// attributes makes a child a session of its own: neither Ctrl-C nor the end of
// the terminal, nor our own death, stops the server in the middle of a commit.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.drop {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// own makes a folder that only the account may enter.
func (a account) own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; remove it", dir)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: this system does not tell who owns a folder", dir)
	}
	switch int(owner.Uid) {
	case a.uid:
	case os.Geteuid():
		if err := os.Chown(dir, a.uid, a.gid); err != nil {
			return a.explain(dir, err)
		}
	default:
		return fmt.Errorf("%s belongs to user %d and not to us; remove it, or give another --data", dir, owner.Uid)
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// explain turns the two ways in which changing to the account goes wrong into a
// sentence: a folder on the way that it may not enter, or no second user at all.
func (a account) explain(dir string, err error) error {
	if !a.drop {
		return err
	}
	if closed := a.closedFolder(dir); closed != "" {
		return fmt.Errorf("Postgres does not run as root, and user %d, as which it would run, cannot enter %s on the way to %s; give a folder outside it with --data", a.uid, closed, dir)
	}
	return fmt.Errorf("Postgres does not run as root, and changing to user %d is not possible here (%w); start attache as another user, or set DATABASE_URL", a.uid, err)
}

// closedFolder names the outermost folder above dir that the account may not
// enter, "" if it may enter all.
func (a account) closedFolder(dir string) string {
	closed := ""
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && !a.mayEnter(info) {
			closed = parent
		}
		if parent == filepath.Dir(parent) {
			return closed
		}
	}
}

// mayEnter reads the mode bits as the kernel would for the account.
func (a account) mayEnter(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	mode := info.Mode().Perm()
	switch {
	case int(owner.Uid) == a.uid:
		return mode&0o100 != 0
	case int(owner.Gid) == a.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
