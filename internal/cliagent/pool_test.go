package cliagent

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"attache/internal/cliagent/agenttest"
	"attache/internal/cliagent/sent"
)

func TestMain(m *testing.M) {
	agenttest.Main()
	os.Exit(m.Run())
}

// stage is a pool and a scripted agent.
type stage struct {
	testing.TB
	*Pool
	dir  string
	spec Spec
	log  *strings.Builder
}

type synced struct {
	mu sync.Mutex
	*strings.Builder
}

func (s *synced) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Builder.Write(b)
}

func newStage(t testing.TB, o Options, steps ...agenttest.Step) *stage {
	log := &strings.Builder{}
	o.Log = slog.New(slog.NewTextHandler(&synced{Builder: log}, nil))
	o.Env = append(o.Env, "PATH="+os.Getenv("PATH"))
	s := &stage{TB: t, Pool: New(o), dir: t.TempDir(), log: log}
	s.spec = Spec{Key: 1, Place: "a", Command: []string{agenttest.Install(t, s.dir, steps...)}, Dir: filepath.Join(s.dir, "work"), System: "You help.", Idle: time.Minute}
	t.Cleanup(s.Close)
	return s
}

func (s *stage) take(spec Spec) *Agent {
	s.Helper()
	a, err := s.Take(s.Context(), spec)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

// host answers every call with its arguments.
func host(heard *strings.Builder) Host {
	return Host{
		Delta: func(text string) { heard.WriteString(text) },
		Call:  func(c Call) (string, error) { return c.Name + c.Arguments, nil },
		Whole: func() []sent.Op { return []sent.Op{{Op: sent.Attach, Name: "everything"}} },
	}
}

// turn asks one turn and gives the process back.
func (s *stage) turn(spec Spec, id string) (*Agent, Done, error) {
	s.Helper()
	a := s.take(spec)
	defer a.Release()
	done, err := a.Turn(s.Context(), Turn{ID: id, Input: "hello", Context: []sent.Op{}}, host(&strings.Builder{}))
	return a, done, err
}

func (s *stage) heard(want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, agenttest.Heard(s, s.dir)); diff != "" {
		s.Errorf("what the agent was told (-want +got):\n%s", diff)
	}
}

const (
	began = `{"type":"start","session":null,"system":"You help."}`
	turn1 = `{"type":"turn","id":"1","context":[],"snapshot":"","input":"hello","tools":null}`
	turn2 = `{"type":"turn","id":"2","context":[],"snapshot":"","input":"hello","tools":null}`
)

func TestOneProcessASession(t *testing.T) {
	s := newStage(t, Options{}, agenttest.Step{Do: "says", Text: "one two"}, agenttest.Step{Do: "calls", Name: "f", Text: `{"a":1}`},
		agenttest.Step{Do: "calls", Name: "g", Text: `"{}"`}, agenttest.Step{Do: "says", Text: "three"})
	a := s.take(s.spec)
	var words strings.Builder
	done, err := a.Turn(t.Context(), Turn{ID: "1", Input: "hello", Context: []sent.Op{}}, host(&words))
	a.Release()
	if err != nil || done.Text != "one two" || words.String() != "one two " || done.Usage == nil || done.Usage.In != 1000 || *done.Usage.Cost != 0.002 {
		t.Fatalf("%+v %q %v", done, words.String(), err)
	}
	s.spec.Session, s.spec.Last = a.Session(), "1"
	again, done, err := s.turn(s.spec, "2")
	if err != nil || done.Text != "three" || again != a {
		t.Errorf("%+v %v, the same process: %v", done, err, again == a)
	}
	s.heard("1 "+began, "1 "+turn1, "1 "+turn2, `1 {"type":"tool_result","id":"c1.1","content":"f{\"a\":1}"}`, `1 {"type":"tool_result","id":"c1.2","content":"g{}"}`)
	s.Close()
	if heard := agenttest.Heard(t, s.dir); heard[len(heard)-1] != "1 ends" {
		t.Errorf("it was not asked to end: %v", heard)
	}
}

// A process that idles for too long ends, and the session goes on in another one. So
// it does when the instructions have changed, or when another process of the program
// has had the session meanwhile.
func TestResumed(t *testing.T) {
	for name, change := range map[string]func(s *stage, a *Agent){
		"idle":         func(s *stage, a *Agent) { <-a.proc.ended },
		"instructions": func(s *stage, _ *Agent) { s.spec.System = "Changed." },
		"elsewhere":    func(s *stage, _ *Agent) { s.spec.Last = "7" },
		"killed":       func(s *stage, a *Agent) { _ = a.proc.cmd.Process.Kill(); <-a.proc.ended },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{}, agenttest.Step{Do: "says", Text: "one"}, agenttest.Step{Do: "says", Text: "two"})
			if name == "idle" {
				s.spec.Idle = time.Millisecond
			}
			a, _, err := s.turn(s.spec, "1")
			if err != nil {
				t.Fatal(err)
			}
			s.spec.Session, s.spec.Last = a.Session(), "1"
			change(s, a)
			b, done, err := s.turn(s.spec, "2")
			if err != nil || done.Text != "two" || b == a || b.Session() != "s1" {
				t.Fatalf("%+v %v, session %s", done, err, b.Session())
			}
			heard := strings.Join(agenttest.Heard(t, s.dir), "\n")
			if !strings.Contains(heard, `2 {"type":"start","session":"s1","system":"`+s.spec.System) {
				t.Errorf("told:\n%s", heard)
			}
		})
	}
}

// Another session than the one asked for, or none at all, is a lost one.
func TestLost(t *testing.T) {
	for _, do := range []string{"forgets", "refuses"} {
		t.Run(do, func(t *testing.T) {
			s := newStage(t, Options{}, agenttest.Step{Do: "says", Text: "one"}, agenttest.Step{Do: do, Text: "no such session"}, agenttest.Step{Do: "says", Text: "two"})
			s.spec.Idle = 0
			a, _, _ := s.turn(s.spec, "1")
			s.spec.Session, s.spec.Last = a.Session(), "1"
			b, done, err := s.turn(s.spec, "2")
			if err != nil || done.Text != "two" || b.Session() != "s2" {
				t.Errorf("%+v %v, session %s", done, err, b.Session())
			}
		})
	}
	t.Run("in the turn", func(t *testing.T) {
		s := newStage(t, Options{}, agenttest.Step{Do: "forgets"}, agenttest.Step{Do: "says", Text: "two"})
		a := s.take(s.spec)
		defer a.Release()
		if _, err := a.Turn(t.Context(), Turn{ID: "1"}, host(&strings.Builder{})); !errors.Is(err, ErrLost) || a.Session() != "s2" {
			t.Fatal(err, a.Session())
		}
		if done, err := a.Turn(t.Context(), Turn{ID: "1"}, host(&strings.Builder{})); err != nil || done.Text != "two" {
			t.Error(done, err)
		}
	})
}

// A compaction is answered with everything before the next result, or is told to the
// caller for the next turn.
func TestCompacted(t *testing.T) {
	s := newStage(t, Options{}, agenttest.Step{Do: "compacts"}, agenttest.Step{Do: "calls", Name: "f", Text: "{}"}, agenttest.Step{Do: "says", Text: "one"},
		agenttest.Step{Do: "compacts"}, agenttest.Step{Do: "says", Text: "two"})
	a, done, err := s.turn(s.spec, "1")
	if err != nil || done.Compacted {
		t.Fatal(done, err)
	}
	s.heard("1 "+began, "1 "+turn1, `1 {"type":"tool_result","context":[{"op":"attach","name":"everything","entity":"","text":""}],"id":"c1.1","content":"f{}"}`)
	s.spec.Session, s.spec.Last = a.Session(), "1"
	if _, done, err = s.turn(s.spec, "2"); err != nil || !done.Compacted {
		t.Error(done, err)
	}
}

// What an agent says wrongly, or on its way out, never stays unsaid and never says a
// secret.
func TestFaults(t *testing.T) {
	long := strings.Repeat("x", longestLine+1)
	for _, c := range []struct {
		name  string
		steps []agenttest.Step
		want  string
	}{
		{"dies", []agenttest.Step{{Do: "dies", Text: "key sk-1234567890 is no good"}}, "the agent agent: it ended in the middle of its work: exit status 3; its last words: key [secret] is no good"},
		{"fails", []agenttest.Step{{Do: "fails", Text: "out of credit"}}, "the agent agent: it says: out of credit"},
		{"long", []agenttest.Step{{Do: "writes", Text: long}}, "the agent agent: it wrote a line of more than 8388608 bytes"},
		{"endless", []agenttest.Step{{Do: "floods", Text: "200000"}}, "the agent agent: it shows an answer of more than 8388608 bytes and does not end it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{Secrets: []string{"sk-1234567890"}}, append(c.steps, agenttest.Step{Do: "says", Text: "well again"})...)
			a, _, err := s.turn(s.spec, "1")
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Fatalf("%v, want %s", err, c.want)
			}
			s.spec.Session, s.spec.Last = a.Session(), "1"
			if _, done, err := s.turn(s.spec, "2"); err != nil || done.Text != "well again" {
				t.Errorf("the next turn: %+v %v", done, err)
			}
		})
	}
}

// Lines that are no messages are logged, some of them, and never end a turn; a name of
// a message that is no text is one of them.
func TestNoise(t *testing.T) {
	steps := []agenttest.Step{{Do: "writes", Text: "warming up"}, {Do: "writes", Text: `{"type":"thinking"}`}, {Do: "writes", Text: `{"type":7}`}, {Do: "writes"}}
	for range 50 {
		steps = append(steps, agenttest.Step{Do: "writes", Text: "more"})
	}
	s := newStage(t, Options{}, append(steps, agenttest.Step{Do: "says", Text: "done"})...)
	if _, done, err := s.turn(s.spec, "1"); err != nil || done.Text != "done" {
		t.Fatal(done, err)
	}
	if n := strings.Count(s.log.String(), "no message"); n != toldNoise-1 || !strings.Contains(s.log.String(), `why="warming up"`) {
		t.Errorf("%d lines in the log:\n%s", n, s.log)
	}
}

// An agent that writes for ever between two turns does not hold the pool: it is ended.
func TestNoiseBetweenTurns(t *testing.T) {
	lines := make(chan heard, mostNoise+1)
	for range mostNoise + 1 {
		lines <- heard{line: []byte(`{"type":"delta","text":"x"}`)}
	}
	a := &Agent{pool: &Pool{}, proc: &process{lines: lines, ended: make(chan struct{})}, log: slog.New(slog.DiscardHandler)}
	if _, err := a.idling(); err == nil {
		t.Error("it goes on with the next turn")
	}
}

// An agent that answers a turn twice does not answer the next one with it, whether it
// says which turn it means or not.
func TestAnswersOfAnotherTurn(t *testing.T) {
	write := func(text string) agenttest.Step { return agenttest.Step{Do: "writes", Text: text} }
	s := newStage(t, Options{}, write(`{"type":"done","text":"one","turn":"1"}`), write(`{"type":"done","text":"one again"}`),
		write(`{"type":"error","message":"of one"}`), agenttest.Step{Do: "says", Text: "noise"},
		write(`{"type":"done","text":"one once more","turn":"1"}`), write(`{"type":"delta","text":"old ","turn":"1"}`),
		write(`{"type":"tool_call","id":"old","name":"f","turn":"1"}`), write(`{"type":"error","message":"of one","turn":"1"}`),
		write(`{"type":"delta","text":"new","turn":"2"}`), write(`{"type":"done","text":"two","turn":"2"}`))
	a := s.take(s.spec)
	defer a.Release()
	h := host(&strings.Builder{})
	if done, err := a.Turn(t.Context(), Turn{ID: "1"}, h); err != nil || done.Text != "one" {
		t.Fatal(done, err)
	}
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for len(a.proc.lines) < 4 && t.Context().Err() == nil { // that it has answered once more
		<-look.C
	}
	var words strings.Builder
	h = host(&words)
	h.Call = func(c Call) (string, error) { t.Error("a call of another turn is carried out"); return "", nil }
	if done, err := a.Turn(t.Context(), Turn{ID: "2"}, h); err != nil || done.Text != "two" || words.String() != "new" {
		t.Errorf("%+v %v, with the words %q", done, err, &words)
	}
	if n := strings.Count(s.log.String(), "another turn or to none"); n != 8 {
		t.Errorf("%d lines in the log:\n%s", n, s.log)
	}
}

// What arrives before a turn is asked belongs to no turn, even when it is read later.
func TestWrittenBeforeTheTurn(t *testing.T) {
	lines := make(chan heard, 2)
	a := &Agent{pool: &Pool{}, asked: 2, last: "2", proc: &process{lines: lines}, log: slog.New(slog.DiscardHandler)}
	lines <- heard{[]byte(`{"type":"done","text":"one again"}`), 1}
	lines <- heard{[]byte(`{"type":"done","text":"two"}`), 2}
	noise := 0
	if l, err := a.next(t.Context(), &noise); err != nil || l.Text != "two" {
		t.Error(l, err)
	}
}

// A session that is lost between two turns, and a process that ends there, are told as
// what they are when the turn is asked.
func TestBetweenTurns(t *testing.T) {
	for text, want := range map[string]error{`{"type":"session","id":"other"}`: ErrLost, "": errOver} {
		lines := make(chan heard, 1)
		if lines <- (heard{line: []byte(text)}); text == "" {
			close(lines)
		}
		a := &Agent{pool: &Pool{}, session: "s1", proc: &process{lines: lines, ended: make(chan struct{})}, log: slog.New(slog.DiscardHandler)}
		session, err := a.idling()
		if errors.Is(want, errOver) && !errors.Is(err, errOver) || errors.Is(want, ErrLost) && (err != nil || session != "other") {
			t.Errorf("%q: session %s, %v", text, session, err)
		}
		if errors.Is(want, ErrLost) {
			lines <- heard{line: []byte(text)}
			if err := a.ready(); !errors.Is(err, ErrLost) || a.session != "other" {
				t.Errorf("%v, session %s", err, a.session)
			}
		}
	}
}

// The processes of a program that is killed end with it (cmd/bot tests the kill); here
// the thread that started them ends.
func TestEndsWithItsStarter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can be asked for that")
	}
	n := newNursery()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = endingWithUs(&syscall.SysProcAttr{})
	if err := n.start(c); err != nil {
		t.Fatal(err)
	}
	n.close()
	if err := c.Wait(); c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Error(err)
	}
}

// An agent that talks without end before it listens, and is told much, does not block
// for ever: its words are read while it does not read ours.
func TestBothTalkAtOnce(t *testing.T) {
	s := newStage(t, Options{}, agenttest.Step{Do: "floods", Text: "20000"}, agenttest.Step{Do: "calls", Name: "f", Text: "{}"}, agenttest.Step{Do: "says", Text: "done"})
	a := s.take(s.spec)
	defer a.Release()
	h := host(&strings.Builder{})
	h.Call = func(Call) (string, error) { return strings.Repeat("y", 4<<20), nil }
	done, err := a.Turn(t.Context(), Turn{ID: "1", Input: strings.Repeat("x", 4<<20)}, h)
	if err != nil || done.Text != "done" {
		t.Error(done.Text, err)
	}
}

// A turn that is stopped ends the process and all that it has started.
func TestStoppedTurnLeavesNothing(t *testing.T) {
	s := newStage(t, Options{Stop: 50 * time.Millisecond}, agenttest.Step{Do: "spawns"}, agenttest.Step{Do: "calls", Name: "f", Text: "{}"}, agenttest.Step{Do: "hangs"})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("a person stopped it")
	h := host(&strings.Builder{})
	h.Call = func(Call) (string, error) { cancel(why); return "", nil }
	a := s.take(s.spec)
	if _, err := a.Turn(ctx, Turn{ID: "1"}, h); !errors.Is(err, why) {
		t.Error(err)
	}
	a.Release()
	<-a.proc.ended
	if !agenttest.Gone(t, s.dir, "spawned") || !agenttest.Gone(t, s.dir, "process-1") {
		t.Error("something of it lives on")
	}
}

func TestNoRoom(t *testing.T) {
	s := newStage(t, Options{Most: 1})
	other := s.spec
	other.Key, other.Place = 2, "b"
	a, _, err := s.turn(s.spec, "1")
	if err != nil {
		t.Fatal(err)
	}
	b := s.take(other) // ends the one that is idle
	<-a.proc.ended
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := s.Take(ctx, s.spec)
		waits <- err
	}()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.Release()
	s.spec.Session = "s1"
	s.take(s.spec).Release()
}

// A new session of a place ends the process of the old one.
func TestNewSessionOfThePlace(t *testing.T) {
	s := newStage(t, Options{})
	a, _, _ := s.turn(s.spec, "1")
	s.spec.Key = 2
	b, _, err := s.turn(s.spec, "2")
	if err != nil {
		t.Fatal(err)
	}
	<-a.proc.ended
	if b.Session() != "s2" {
		t.Errorf("the new session is %s", b.Session())
	}
}

func TestEnd(t *testing.T) {
	s := newStage(t, Options{})
	a, _, _ := s.turn(s.spec, "1")
	s.End(2)
	s.End(1)
	<-a.proc.ended
}

func TestNotThere(t *testing.T) {
	s := newStage(t, Options{Start: 20 * time.Millisecond, Stop: 20 * time.Millisecond})
	s.spec.Command = []string{"no-such-agent"}
	if _, err := s.Take(t.Context(), s.spec); err == nil || !strings.Contains(err.Error(), "see `engine:` of its role") {
		t.Error(err)
	}
	s.spec.Command = []string{"sleep", "1000"}
	if _, err := s.Take(t.Context(), s.spec); err == nil || !strings.Contains(err.Error(), "has not answered start with its session within 20ms") {
		t.Error(err)
	}
	s.spec.Command = []string{"true"}
	if _, err := s.Take(t.Context(), s.spec); err == nil || !strings.Contains(err.Error(), "exit status 0") {
		t.Error(err)
	}
	if len(s.live) != 0 {
		t.Errorf("%d places are taken", len(s.live))
	}
}
