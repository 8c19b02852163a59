package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Three locks in the data folder say who may do what. They are flocks, so the
// kernel gives them back when their process dies, however it dies.
//
//	run.lock    exclusive: the one process that runs the bots ("run", "demo")
//	use.lock    shared: everyone who uses the server
//	start.lock  exclusive and short: whoever starts, adopts or stops the server
const (
	runLock   = "run.lock"
	useLock   = "use.lock"
	startLock = "start.lock"
)

// lock opens a lock's file and tries once to take it; nil without an error means
// that somebody else has it.
func lock(data, name string, how int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(data, name), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("the data folder %s is not ours to write in (%w); give another with --data", data, err)
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, file.Close()
		}
		return nil, errors.Join(fmt.Errorf("%s cannot be locked (%w); give a folder on a local disk with --data", file.Name(), err), file.Close())
	}
	return file, nil
}

// lockWhenFree waits for a lock that is held only for moments.
func lockWhenFree(ctx context.Context, data, name string, how int) (*os.File, error) {
	for {
		file, err := lock(data, name, how)
		if file != nil || err != nil {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another attache is starting or stopping the database in %s: %w", data, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hold takes run.lock and writes our process number into it for the next one's
// error.
func hold(data string) (*os.File, error) {
	file, err := lock(data, runLock, syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, fmt.Errorf("another attache%s runs with the data folder %s; stop it, or give this one another with --data", holder(data), data)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// holder names the process that run.lock speaks of, "" if it does not say.
func holder(data string) string {
	file, err := os.Open(filepath.Join(data, runLock))
	if err != nil {
		return ""
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

// unlock gives locks back; closing the file does it.
func unlock(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // a lock file that does not close is given back by our end
		}
	}
}
