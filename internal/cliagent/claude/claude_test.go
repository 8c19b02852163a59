package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A test binary with this in its environment is claude: it plays the transcript, and
// keeps in the folder what it was started with and told.
const playing = "CLAUDE_TRANSCRIPT_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(playing); dir != "" {
		if err := play(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play is one process of claude.
func play(dir string) error {
	number := 1
	for ; ; number++ {
		f, err := os.OpenFile(filepath.Join(dir, "args-"+strconv.Itoa(number)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(f, strings.Join(os.Args[1:], "\n"))
		f.Close()
		break
	}
	text, err := os.ReadFile(filepath.Join(dir, "transcript"))
	if err != nil {
		return err
	}
	parts := strings.Split(string(text), "\n= ")
	if number >= len(parts) {
		return fmt.Errorf("the transcript has no process %d", number)
	}
	in := bufio.NewReader(os.Stdin)
	for l := range strings.Lines(parts[number][strings.Index(parts[number], "\n")+1:]) {
		if err := act(dir, in, strings.TrimSuffix(l, "\n")); err != nil {
			return err
		}
	}
	_, _ = io.Copy(io.Discard, in) // it ends with its input
	return nil
}

func act(dir string, in *bufio.Reader, l string) error {
	switch {
	case l == "<":
		raw, err := in.ReadBytes('\n')
		if err == io.EOF {
			os.Exit(0)
		}
		return errorsOf(err, note(dir, "user", raw))
	case l == "?":
		return errors.New("the key is not valid")
	case strings.HasPrefix(l, "> "):
		fmt.Println(strings.ReplaceAll(l[2:], "$ID", flag("--session-id")+flag("--resume")))
	case strings.HasPrefix(l, "! "):
		name, args, _ := strings.Cut(l[2:], " ")
		got, err := callTool(name, args)
		return errorsOf(err, note(dir, "tool", got))
	}
	return nil
}

func errorsOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func flag(name string) string {
	if at := slices.Index(os.Args, name); at >= 0 {
		return os.Args[at+1]
	}
	return ""
}

func note(dir, kind string, raw []byte) error {
	f, err := os.OpenFile(filepath.Join(dir, kind), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(append(bytes.TrimSpace(raw), '\n'))
		f.Close()
	}
	return err
}

// callTool does what Claude Code does with a server that it was told of.
func callTool(name, args string) ([]byte, error) {
	raw, err := os.ReadFile(flag("--mcp-config"))
	if err != nil {
		return nil, err
	}
	var config struct {
		MCPServers map[string]struct{ Type, URL string } `json:"mcpServers"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, err
	}
	var got []byte
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`,
	} {
		answer, err := http.Post(config.MCPServers["attache"].URL, "application/json", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		got, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode/100 != 2 {
			return nil, fmt.Errorf("%s: %s", answer.Status, got)
		}
		if strings.Contains(body, "tools/list") && !strings.Contains(string(got), `"inputSchema":{"type":"object"}`) {
			return nil, fmt.Errorf("the list of tools is %s", got)
		}
	}
	return got, nil
}

// engine is the other side of the adapter.
type engine struct {
	testing.TB
	dir string
	in  io.WriteCloser
	out *bufio.Scanner
	end chan error
}

func newEngine(t testing.TB, dir string) *engine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "claude")
	text, err := os.ReadFile("testdata/transcript.txt")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "transcript"), text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nGORACE=atexit_sleep_ms=0 %s='%s' exec '%s' \"$@\"\n", playing, dir, self), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	e := &engine{TB: t, dir: dir, in: inW, out: bufio.NewScanner(outR), end: make(chan error, 1)}
	go func() {
		err := Run(t.Context(), inR, outW, Options{Program: program, Args: []string{"--model", "opus"}, Err: io.Discard})
		outW.Close()
		e.end <- err
	}()
	return e
}

// say writes a line and hears all up to the next line of one of the kinds.
func (e *engine) say(text string, until ...string) (heard string) {
	e.Helper()
	if _, err := io.WriteString(e.in, text+"\n"); err != nil {
		e.Fatal(err)
	}
	for e.out.Scan() {
		heard += e.out.Text() + "\n"
		var l line
		if err := json.Unmarshal(e.out.Bytes(), &l); err != nil {
			e.Fatal(err)
		}
		if slices.Contains(until, l.Type) {
			return heard
		}
	}
	e.Fatalf("it ended after %s", heard)
	return ""
}

func (e *engine) stop() {
	e.Helper()
	_, _ = io.WriteString(e.in, `{"type":"stop"}`+"\n")
	for e.out.Scan() {
	}
	if err := <-e.end; err != nil {
		e.Error(err)
	}
}

func (e *engine) file(name string) string {
	e.Helper()
	raw, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		e.Fatal(err)
	}
	return string(raw)
}

func (e *engine) expect(what, got, want string) {
	e.Helper()
	if got != want {
		e.Errorf("%s:\n%swant:\n%s", what, got, want)
	}
}

// turn is a turn of the engine with one tool.
func turn(id, context string) string {
	return `{"type":"turn","id":"` + id + `","context":[` + context + `],"snapshot":"<turn_context/>","input":"<message>hello</message>","tools":[{"name":"shopping_add","description":"d","schema":{"type":"object"}}]}`
}

// A session over four processes of claude, with everything that the protocol has.
//
// row F7 (adapter)
func TestTranscript(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, dir)
	first := e.say(`{"type":"start","session":null,"system":"You help."}`, "session")
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`).FindString(first)
	if id == "" {
		t.Fatalf("the session is %s", first)
	}
	e.expect("a turn", e.say(turn("1", `{"op":"attach","name":"shopping","entity":"","text":"<feature-context>list</feature-context>"}`), "tool_call"),
		`{"type":"delta","turn":"1","text":"I put it "}`+"\n"+`{"type":"delta","turn":"1","text":"on the list."}`+"\n"+
			`{"type":"tool_call","id":"call-1","turn":"1","name":"shopping_add","arguments":{"item":"milk"}}`+"\n")
	e.expect("its end", e.say(`{"type":"tool_result","id":"call-1","content":"{\"ok\":true}"}`, "done"),
		`{"type":"done","turn":"1","text":"Done.","usage":{"model":"claude-opus","in":3670,"cacheRead":1800,"cacheWrite":1860,"out":35,"reasoning":0,"cost":0.02}}`+"\n")
	// claude tells of a compaction on its output and calls the tool over HTTP, so either
	// may reach the adapter first.
	const compacted = `{"type":"compacted"}` + "\n"
	called := e.say(turn("2", ""), "tool_call")
	ended := e.say(`{"type":"tool_result","context":[{"op":"attach","name":"shopping","entity":"","text":"<feature-context>list</feature-context>"}],"id":"call-2","content":"{}"}`, "done")
	if n := strings.Count(called+ended, compacted); n != 1 {
		t.Errorf("a compaction is told %d times", n)
	}
	e.expect("the call", strings.ReplaceAll(called, compacted, ""), `{"type":"tool_call","id":"call-2","turn":"2","name":"shopping_add","arguments":{"item":"eggs"}}`+"\n")
	e.expect("everything again", strings.ReplaceAll(ended, compacted, ""),
		`{"type":"done","turn":"2","text":"Eggs too.","usage":{"model":"claude-opus","in":103,"cacheRead":100,"cacheWrite":0,"out":5,"reasoning":0,"cost":0.030000000000000002}}`+"\n")
	e.expect("an error", e.say(turn("3", ""), "done", "error"),
		`{"type":"error","turn":"3","message":"claude could not answer (error_during_execution): API Error: 529 overloaded"}`+"\n")
	e.stop()

	e = newEngine(t, dir)
	e.expect("the session", e.say(`{"type":"start","session":"`+id+`","system":"You help."}`, "session"), `{"type":"session","id":"`+id+`"}`+"\n")
	if got := e.say(turn("4", ""), "done", "error", "session"); !strings.Contains(got, `"text":"Back."`) {
		t.Errorf("resumed: %s", got)
	}
	e.stop()

	e = newEngine(t, dir)
	e.say(`{"type":"start","session":"`+id+`","system":"You help."}`, "session")
	lost := e.say(turn("5", ""), "done", "error", "session")
	if strings.Contains(lost, id) || !strings.HasPrefix(lost, `{"type":"session","id":"`) {
		t.Errorf("a lost session: %s", lost)
	}
	if got := e.say(turn("5", ""), "done", "error"); !strings.Contains(got, `"text":"Who are you?"`) {
		t.Errorf("asked again: %s", got)
	}
	e.stop()

	e = newEngine(t, dir)
	e.say(`{"type":"start","session":null,"system":"You help."}`, "session")
	e.expect("it does not start", e.say(turn("6", ""), "done", "error"), `{"type":"error","turn":"6","message":"claude ended before it began; its last words say why"}`+"\n")
	e.stop()

	users := strings.Split(e.file("user"), "\n")
	e.expect("the first message", users[0], `{"message":{"content":[{"text":"\u003cfeature-context\u003elist\u003c/feature-context\u003e","type":"text"},{"text":"\u003cturn_context/\u003e","type":"text"},{"text":"\u003cmessage\u003ehello\u003c/message\u003e","type":"text"}],"role":"user"},"type":"user"}`)
	e.expect("the results", e.file("tool"), `{"id":2,"jsonrpc":"2.0","result":{"content":[{"text":"{\"ok\":true}","type":"text"}],"isError":false}}`+"\n"+
		`{"id":2,"jsonrpc":"2.0","result":{"content":[{"text":"\u003cfeature-context\u003elist\u003c/feature-context\u003e","type":"text"},{"text":"{}","type":"text"}],"isError":false}}`+"\n")
	for n, want := range map[int]string{1: "--session-id\n" + id, 2: "--resume\n" + id, 3: "--resume\n" + id} {
		if args := e.file("args-" + strconv.Itoa(n)); !strings.Contains(args, want) || !strings.HasSuffix(args, "--tools\n\n--model\nopus\n") {
			t.Errorf("process %d was started with:\n%s", n, args)
		}
	}
}

// An end in the middle of a turn does not wait for claude's answer, nor for a result
// that never comes.
func TestEndsInTheMiddle(t *testing.T) {
	e := newEngine(t, t.TempDir())
	e.say(`{"type":"start","session":null,"system":"You help."}`, "session")
	e.say(turn("1", ""), "tool_call")
	e.stop()
}

// Nobody who does not know the path gets at the tools.
func TestToolsAreBehindTheirPath(t *testing.T) {
	s, err := serve(func(line) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	answer, err := http.Post(s.url[:strings.LastIndex(s.url, "/")]+"/", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Error(answer.Status)
	}
}
