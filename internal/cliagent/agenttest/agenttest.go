// Package agenttest is a scripted agent that keeps its state: the test binary itself,
// started again. It writes down every line that it is told, takes the next steps of
// its script for each turn, and remembers its sessions in its folder, so that it goes
// on after it was ended or killed.
//
// A test binary that uses it calls Main first thing in its TestMain.
package agenttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Step is one thing that the agent does.
type Step struct {
	// says, shows, calls, compacts, writes, fails, dies, forgets, hangs, spawns, floods:
	//   says     answers the turn with Text, word by word
	//   shows    says Text as the beginning of an answer, and goes on with the next step
	//   calls    calls the tool Name with Text as its arguments, and waits for the result
	//   compacts says that its memory was compacted
	//   writes   writes Text as a line
	//   fails    says that it cannot, which ends the turn
	//   dies     writes Text to stderr and is gone
	//   forgets  goes on under a new session: at its start, if it was asked to go on with one, or in the turn
	//   refuses  at its start, likewise: says that it cannot, and is gone
	//   hangs    does nothing any more, whatever happens
	//   spawns   starts a process that would outlive it, and writes its number to the file spawned
	//   floods   writes Text words before it reads on
	Do   string
	Name string
	Text string
}

const folder = "ATTACHE_TEST_AGENT"

// Main runs the agent instead of the tests, if this process is one.
func Main() {
	dir := os.Getenv(folder)
	if dir == "" {
		return
	}
	a := &agent{dir: dir, in: bufio.NewReader(os.Stdin), number: 1 + count(dir, "process-")}
	a.put("process-"+strconv.Itoa(a.number), strconv.Itoa(os.Getpid()))
	a.run()
	os.Exit(0)
}

// Install writes the agent and its script into a folder of its own and gives the
// program to run.
func Install(t testing.TB, dir string, steps ...Step) (program string) {
	t.Helper()
	raw, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "agent")
	for name, text := range map[string]string{
		"script": string(raw),
		"agent":  fmt.Sprintf("#!/bin/sh\nGORACE=atexit_sleep_ms=0 %s='%s' exec '%s' \"$@\"\n", folder, dir, self),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// Heard gives what all processes of the agent were told, a line each: the number of
// the process and the message. The last line of a process that was asked to end between
// two turns, or whose input ended there, is `ends`.
func Heard(t testing.TB, dir string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "heard"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

type agent struct {
	dir     string
	in      *bufio.Reader
	number  int // of the process
	session string
	call    int
}

func count(dir, prefix string) int {
	all, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	return len(all)
}

func (a *agent) put(name, text string) {
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
}

// hear reads a line and writes it down; the end of the input ends the agent. In the
// middle of a turn that is not written down, since a signal may come before it.
func (a *agent) hear(inTurn bool) (line map[string]any) {
	raw, err := a.in.ReadBytes('\n')
	if err != nil || inTurn && bytes.Contains(raw, []byte(`{"type":"stop"}`)) {
		if !inTurn {
			a.note("ends")
		}
		os.Exit(0)
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	a.note(string(bytes.TrimSpace(raw)))
	if line["type"] == "stop" {
		a.note("ends")
		os.Exit(0)
	}
	return line
}

func (a *agent) note(text string) {
	f, err := os.OpenFile(filepath.Join(a.dir, "heard"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(f, "%d %s\n", a.number, text)
		f.Close()
	}
	if err != nil {
		os.Exit(4)
	}
}

func say(fields map[string]any) {
	raw, _ := json.Marshal(fields)
	_, _ = os.Stdout.Write(append(raw, '\n'))
}

// step takes the next step if it is one of those.
func (a *agent) step(which ...string) (Step, bool) {
	var steps []Step
	raw, _ := os.ReadFile(filepath.Join(a.dir, "script"))
	_ = json.Unmarshal(raw, &steps)
	at, _ := strconv.Atoi(string(a.get("at")))
	if at >= len(steps) {
		return Step{Do: "says", Text: "I have nothing more to say."}, len(which) == 0
	}
	if len(which) > 0 && !strings.Contains(strings.Join(which, " "), steps[at].Do) {
		return Step{}, false
	}
	a.put("at", strconv.Itoa(at+1))
	return steps[at], true
}

func (a *agent) get(name string) []byte {
	raw, _ := os.ReadFile(filepath.Join(a.dir, name))
	return raw
}

func (a *agent) run() {
	for {
		switch line := a.hear(false); line["type"] {
		case "start":
			a.begin(line["session"])
		case "turn":
			a.turn()
		}
	}
}

// begin goes on with a session that it knows, or opens one.
func (a *agent) begin(asked any) {
	name, _ := asked.(string)
	if name != "" {
		s, _ := a.step("refuses", "forgets")
		if s.Do == "refuses" {
			say(map[string]any{"type": "error", "message": s.Text})
			os.Exit(1)
		}
		if s.Do == "forgets" {
			name = ""
		}
	}
	if name == "" || len(a.get("session-"+name)) == 0 {
		a.open()
		return
	}
	a.session = name
	say(map[string]any{"type": "session", "id": name})
}

// open begins a new session.
func (a *agent) open() {
	a.session = "s" + strconv.Itoa(1+count(a.dir, "session-"))
	a.put("session-"+a.session, "known")
	say(map[string]any{"type": "session", "id": a.session})
}

// turn takes steps until one ends it.
func (a *agent) turn() {
	for {
		switch s, _ := a.step(); s.Do {
		case "says":
			for word := range strings.FieldsSeq(s.Text) {
				say(map[string]any{"type": "delta", "text": word + " "})
			}
			say(map[string]any{"type": "done", "text": s.Text, "usage": map[string]any{"model": "scripted", "in": 1000, "cacheRead": 900, "out": 10, "cost": 0.002}})
			return
		case "shows":
			say(map[string]any{"type": "delta", "text": s.Text})
		case "calls":
			a.call++
			say(map[string]any{"type": "tool_call", "id": fmt.Sprintf("c%d.%d", a.number, a.call), "name": s.Name, "arguments": json.RawMessage(s.Text)})
			a.hear(true)
		case "compacts":
			say(map[string]any{"type": "compacted"})
		case "writes":
			fmt.Println(s.Text)
		case "fails":
			say(map[string]any{"type": "error", "message": s.Text})
			return
		case "dies":
			fmt.Fprintln(os.Stderr, s.Text)
			os.Exit(3)
		case "forgets":
			a.open()
			return
		case "hangs":
			select {}
		case "spawns":
			c := exec.Command("sleep", "1000")
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			if c.Start() == nil {
				a.put("spawned", strconv.Itoa(c.Process.Pid))
			}
		case "floods":
			n, _ := strconv.Atoi(s.Text)
			for range n {
				say(map[string]any{"type": "delta", "text": strings.Repeat("word ", 20)})
			}
		}
	}
}

// Gone reports whether the process whose number stands in a file of the agent ends. A
// signal takes a moment to be obeyed, and the kernel tells nobody who is no parent.
func Gone(t testing.TB, dir, file string) bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range 5000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		<-look.C
	}
	return false
}
