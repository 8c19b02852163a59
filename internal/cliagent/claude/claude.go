// Package claude lets Claude Code answer as an agent that keeps its state: it speaks
// the protocol of package cliagent on one side, and runs `claude -p` with JSON lines
// in both directions on the other.
//
// The agent's session is Claude Code's own, under an id that is chosen here and never
// changes: what `claude` reports as its session after a resume differs between its
// versions and is not looked at. Tools are offered by a server of the Model Context
// Protocol on a port of this machine, under a path that nobody can guess.
//
// It was written against public documentation and is tested against a transcript that
// was written from it; docs/cli-agents.md says what that means.
package claude

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"attache/internal/cliagent"
	"attache/internal/cliagent/sent"
)

// Options says which program answers.
type Options struct {
	Program string   // "" is claude, looked for in PATH
	Args    []string // besides the ones that the adapter needs, such as --model opus
	Err     io.Writer
}

// longestLine is the most bytes of one line, of either side.
const longestLine = 64 << 20

// line is a line of the protocol in either direction.
type line struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitempty"`
	Turn      string          `json:"turn,omitempty"`
	Session   *string         `json:"session,omitempty"`
	System    string          `json:"system,omitempty"`
	Context   []sent.Op       `json:"context,omitempty"`
	Snapshot  string          `json:"snapshot,omitempty"`
	Input     string          `json:"input,omitempty"`
	Tools     []cliagent.Tool `json:"tools,omitempty"`
	Content   string          `json:"content,omitempty"`
	Text      string          `json:"text,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Message   string          `json:"message,omitempty"`
	Usage     *cliagent.Usage `json:"usage,omitempty"`
}

// adapter is the state between two lines.
type adapter struct {
	o      Options
	dir    string // of the files that claude is given
	system string
	id     string // of the session, Claude Code's and ours
	known  bool   // Claude Code has the session: it is resumed
	tools  []cliagent.Tool
	server *server
	run    *running    // nil: not now
	busy   atomic.Bool // a turn runs

	mu   sync.Mutex
	turn string // that was asked last: what is said belongs to it
	out  *json.Encoder
}

// Run serves one session: it reads the protocol's lines from in until stop or the end
// and writes its own to out.
func Run(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	if o.Program == "" {
		o.Program = "claude"
	}
	dir, err := os.MkdirTemp("", "attache-claude-")
	if err != nil {
		return fmt.Errorf("no folder for the files of the agent: %w", err)
	}
	defer os.RemoveAll(dir)
	a := &adapter{o: o, dir: dir, out: json.NewEncoder(out)}
	a.out.SetEscapeHTML(false)
	if a.server, err = serve(a.say); err != nil {
		return err
	}
	defer a.server.close()
	defer a.stop()
	lines := make(chan line)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.listen(ctx, cancel, in, lines)
	for l := range lines {
		switch l.Type {
		case "start":
			a.begin(l)
		case "turn":
			a.ask(ctx, l)
		}
	}
	return nil
}

// listen reads the engine's lines. Results of tools go straight to the call that
// waits for them, since the turn that they belong to is running. An end in the middle
// of a turn ends claude; between turns it ends by itself.
func (a *adapter) listen(ctx context.Context, cancel func(), in io.Reader, lines chan<- line) {
	defer func() {
		if a.server.abandon(); a.busy.Load() {
			cancel()
		}
		close(lines)
	}()
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 64<<10), longestLine)
	for scan.Scan() {
		var l line
		if json.Unmarshal(scan.Bytes(), &l) != nil {
			continue
		}
		switch l.Type {
		case "tool_result":
			a.server.answer(l)
		case "stop":
			return
		default:
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (a *adapter) say(l line) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.Type != "session" && l.Type != "compacted" {
		l.Turn = a.turn
	}
	_ = a.out.Encode(l) // an engine that is gone has closed our input too
}

// begin names the session. Claude Code is started by the first turn, which brings the
// tools along.
func (a *adapter) begin(l line) {
	a.system = l.System
	if l.Session != nil && *l.Session != "" {
		a.id, a.known = *l.Session, true
	} else {
		a.id, a.known = newID(), false
	}
	a.say(line{Type: "session", ID: a.id})
}

// newID makes a UUID of version 4: Claude Code takes no other names.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ask asks one turn. A session that Claude Code does not find is lost: the engine is
// told a new one's name and asks the turn again.
func (a *adapter) ask(ctx context.Context, l line) {
	a.mu.Lock()
	a.turn = l.ID
	a.mu.Unlock()
	a.busy.Store(true)
	defer a.busy.Store(false)
	if !sameTools(a.tools, l.Tools) {
		a.stop() // the list is read once, when it starts
	}
	if a.tools = l.Tools; a.run == nil {
		a.server.offer(l.Tools)
		if err := a.start(ctx); err != nil {
			a.say(line{Type: "error", Message: err.Error()})
			return
		}
	}
	end, err := a.run.ask(l, a.say)
	switch {
	case end == lost && a.known:
		a.stop()
		a.id, a.known = newID(), false
		a.say(line{Type: "session", ID: a.id})
		return
	case err != nil:
		a.stop()
		a.say(line{Type: "error", Message: err.Error()})
		return
	}
	a.known = true
}

func sameTools(a, b []cliagent.Tool) bool {
	return slices.EqualFunc(a, b, func(x, y cliagent.Tool) bool {
		return x.Name == y.Name && x.Description == y.Description && string(x.Schema) == string(y.Schema)
	})
}

// start runs claude for the session.
func (a *adapter) start(ctx context.Context) error {
	prompt, servers := filepath.Join(a.dir, "system.txt"), filepath.Join(a.dir, "mcp.json")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{serverName: map[string]any{"type": "http", "url": a.server.url}}})
	if err == nil {
		err = os.WriteFile(servers, config, 0o600)
	}
	if err == nil {
		err = os.WriteFile(prompt, []byte(a.system), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the files for claude cannot be written: %w", err)
	}
	args := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
		"--system-prompt-file", prompt, "--mcp-config", servers, "--strict-mcp-config", "--allowedTools", "mcp__" + serverName}
	if a.known {
		args = append(args, "--resume", a.id)
	} else {
		args = append(args, "--session-id", a.id)
	}
	if !slices.ContainsFunc(a.o.Args, func(s string) bool { return s == "--tools" || strings.HasPrefix(s, "--tools=") }) {
		args = append(args, "--tools", "") // its own reach into this machine: a role's people are not its owner
	}
	cmd := exec.CommandContext(ctx, a.o.Program, append(args, a.o.Args...)...)
	cmd.Stderr = a.o.Err
	r := &running{cmd: cmd}
	if r.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s cannot be started: %w; install Claude Code, or name it with --program", a.o.Program, err)
	}
	r.out = bufio.NewScanner(output)
	r.out.Buffer(make([]byte, 64<<10), longestLine)
	a.run = r
	return nil
}

// stop ends claude: at the end of its input it ends by itself.
func (a *adapter) stop() {
	if a.run == nil {
		return
	}
	_ = a.run.in.Close()
	for a.run.out.Scan() { // so that it can finish what it writes
	}
	_ = a.run.cmd.Wait()
	a.run = nil
}
