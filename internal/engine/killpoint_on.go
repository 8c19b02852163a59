//go:build killpoints

package engine

import (
	"os"
	"syscall"
)

// KillPoint ends the process as kill -9 would when ATTACHE_KILL names this point.
// With ATTACHE_KILL_ONCE set to a file's path the point strikes once: the file is
// written first, and its presence disarms the point.
func KillPoint(name string) {
	if os.Getenv("ATTACHE_KILL") != name {
		return
	}
	if once := os.Getenv("ATTACHE_KILL_ONCE"); once != "" {
		f, err := os.OpenFile(once, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		f.Close()
	}
	syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}
