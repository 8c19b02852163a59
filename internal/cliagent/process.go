package cliagent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	longestLine = 8 << 20 // bytes of one line of an agent
	queue       = 64      // lines that wait in either direction
	lastLines   = 20      // of stderr that are kept
	longestTold = 400     // bytes of a line that the log shows
)

// process is one child with its pipes. Three goroutines belong to it: one writes, one
// reads, one keeps the last words of stderr; and one waits for its end.
type process struct {
	cmd   *exec.Cmd
	in    chan told     // lines to it
	lines chan heard    // lines of it; closed at the end of its output
	ended chan struct{} // closed when it is gone and reaped
	full  chan struct{} // closed when nobody reads lines any more
	stop  sync.Once
	drop  sync.Once

	turns atomic.Int64 // turns that it was asked: the whole line is with it, or about to be

	mu    sync.Mutex
	words []string // the last lines of stderr
	fault error    // why its output ended, nil for its own end
}

// told is a line to a process, with its line feed.
type told struct {
	line []byte
	turn bool // it asks a turn
}

// heard is a line of a process.
type heard struct {
	line  []byte
	turns int64 // that it was asked when the line's end arrived: it answers none after them
}

// launch starts a command in a group of its own, so that what it starts ends with it.
// start is where it is started (nursery).
func launch(command []string, dir string, env []string, start func(*exec.Cmd) error) (*process, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the agent %s cannot be made: %w", command[0], err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, env, endingWithUs(&syscall.SysProcAttr{Setpgid: true})
	// Pipes of our own, not cmd's: its Wait closes them under a reader, and would wait
	// for a grandchild that holds them.
	var ours, theirs []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			shut(append(ours, theirs...))
			return nil, fmt.Errorf("no pipe for the agent %s: %w", command[0], err)
		}
		if len(ours) == 0 {
			r, w = w, r // the first is stdin: we write
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err := start(cmd)
	shut(theirs)
	if err != nil {
		shut(ours)
		return nil, fmt.Errorf("the agent %s cannot be started: %w; see `engine:` of its role, and PATH", command[0], err)
	}
	p := &process{cmd: cmd, in: make(chan told, queue), lines: make(chan heard, queue), ended: make(chan struct{}), full: make(chan struct{})}
	told := make(chan struct{})
	go p.write(ours[0])
	go p.read(ours[1])
	go func() { p.hear(ours[2]); close(told) }()
	go func() {
		_ = cmd.Wait()
		p.signal(syscall.SIGKILL) // what it has left behind, which may hold the pipes
		for _, r := range ours[1:] {
			_ = r.SetReadDeadline(time.Now().Add(time.Second)) // held by what has left the group
		}
		<-told
		close(p.ended)
	}()
	return p, nil
}

func shut(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// write writes what is queued. An agent that does not read holds up this goroutine
// alone, so its own output is read on; nobody waits for the other in a circle.
func (p *process) write(w *os.File) {
	defer w.Close()
	for t := range p.in {
		end := len(t.line)
		if t.turn {
			end-- // what it writes before the line's end is there cannot be its answer
		}
		_, err := w.Write(t.line[:end])
		if t.turn && err == nil {
			p.turns.Add(1)
			_, err = w.Write(t.line[end:])
		}
		if err != nil {
			break // it has closed its input: its end or its silence will tell
		}
	}
	for range p.in { // so that nobody blocks on the queue
	}
}

func (p *process) read(r *os.File) {
	defer close(p.lines)
	defer r.Close()
	when := &dated{r: r, turns: &p.turns}
	lines := bufio.NewScanner(when)
	lines.Buffer(make([]byte, 64<<10), longestLine)
	for lines.Scan() {
		select {
		case p.lines <- heard{append([]byte{}, lines.Bytes()...), when.at}:
		case <-p.full:
			_, _ = io.Copy(io.Discard, r)
			return
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		p.mu.Lock()
		p.fault = fmt.Errorf("it wrote a line of more than %d bytes", longestLine)
		p.mu.Unlock()
	}
}

// dated notes how many turns were asked when bytes arrived: a line may wait for long
// until somebody takes it.
type dated struct {
	r     io.Reader
	turns *atomic.Int64
	at    int64
}

func (d *dated) Read(b []byte) (int, error) {
	n, err := d.r.Read(b)
	d.at = d.turns.Load()
	return n, err
}

// hear keeps the last lines of stderr, each cut.
func (p *process) hear(r *os.File) {
	defer r.Close()
	lines := bufio.NewReaderSize(r, 4096)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := cut(string(line))
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
		p.mu.Lock()
		if p.words = append(p.words, text); len(p.words) > lastLines {
			p.words = p.words[1:]
		}
		p.mu.Unlock()
	}
}

// cut makes a line one that a log takes.
func cut(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= longestTold {
		return s
	}
	at := longestTold
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}

// last gives the end of what it has said on stderr, and why its output ended.
func (p *process) last() (words []string, fault error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.words...), p.fault
}

func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // of the whole group; an error says that nobody is left
}

// dismiss asks the process to end, and after patience makes it; now says that it is in
// the middle of something and will not hear. It returns at once; ended tells when it
// is gone.
func (p *process) dismiss(patience time.Duration, now bool) {
	p.stop.Do(func() {
		select {
		case p.in <- told{line: []byte(`{"type":"stop"}` + "\n")}:
		default: // it does not read: the end of its input must do
		}
		close(p.in)
		p.abandon()
		if now {
			p.signal(syscall.SIGTERM)
		}
		go func() {
			for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
				select {
				case <-p.ended:
					return
				case <-time.After(patience):
					p.signal(s)
				}
			}
		}()
	})
}

// abandon says that nobody reads its lines any more.
func (p *process) abandon() { p.drop.Do(func() { close(p.full) }) }

// gone reports whether it has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
