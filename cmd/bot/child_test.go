package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"attache/internal/cliagent/agenttest"
)

// binary builds the command once for all tests that run it as a process of its
// own, with the kill points compiled in.
func binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "attache-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "attache")
	out, err := exec.Command("go", "build", "-tags", "killpoints", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the command does not build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	agenttest.Main() // a walk's agent is this binary, started again
	code := m.Run()
	if path, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// brainFiles writes the files of a small brain and gives its folder. Everybody may
// reach it, because a private Postgres under it runs as another user.
func brainFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attache-brain-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// echoBrain answers everybody everywhere with their own words.
func echoBrain(t testing.TB, merge string) string {
	return brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "telegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml": "bots:\n  nova:\n    merge: " + merge + "\n" +
			"    dm: { role: echo, people: everyone }\n    default: { role: echo, people: everyone, engage: all }\n",
		"features/echo/FEATURE.md":    "---\ndescription: Says again what was said.\n---\n",
		"features/echo/echo.agent.md": "---\ndescription: Says again what was said.\n---\n",
	})
}

// child is the command as a process of its own.
type child struct {
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended
}

// spawn starts the command with an environment of its own besides the test's.
func spawn(t testing.TB, env []string, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(binary(t), args...), log: &logBuffer{}, done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.cmd.Env = append(os.Environ(), env...)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.done) }()
	t.Cleanup(c.kill)
	return c
}

// kill ends it as kill -9 does, and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// interrupt asks it to stop, and waits.
func (c *child) interrupt(t testing.TB) {
	t.Helper()
	_ = c.cmd.Process.Signal(os.Interrupt)
	select {
	case <-c.done:
	case <-time.After(30 * time.Second):
		c.kill()
		t.Error("the process did not stop within 30 s of an interrupt")
	}
}

// ended waits for the process to end by itself.
func (c *child) ended(ctx context.Context) bool {
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// write writes one file of a brain.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
