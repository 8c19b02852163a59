package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"attache/internal/model/modeltest"
)

// scripted is the model of a walk: modeltest's, behind gates that the script opens.
type scripted struct {
	*modeltest.Server
	url   string
	mu    sync.Mutex
	n     int
	gates map[string]*gate
	held  map[string]string // gate by request
}

type gate struct {
	open  chan struct{} // closed when it is released
	steps chan struct{}
}

// numbered carries a request's number from the door to its rule.
const numbered = "X-Walk-Request"

func newScripted(t testing.TB, rules []rule) *scripted {
	s := &scripted{gates: map[string]*gate{}, held: map[string]string{}}
	s.Server = modeltest.NewInMemory(t)
	web := httptest.NewServer(s)
	s.url = web.URL + "/v1"
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	for _, r := range rules {
		if r.gate != "" {
			s.hold(&r)
		}
		s.Add(r.Rule)
	}
	return s
}

// hold puts a rule behind its gate.
func (s *scripted) hold(r *rule) {
	g := s.gates[r.gate]
	if g == nil {
		g = &gate{open: make(chan struct{}), steps: make(chan struct{})}
		s.gates[r.gate] = g
	}
	if r.step {
		r.Answer.Step = g.steps
	} else {
		r.Answer.Hold = g.open
	}
	name, fits, used := r.gate, r.Fits, false
	r.Fits = func(q modeltest.Request) bool {
		if used && r.Times == 1 || !fits(q) {
			return false
		}
		used = true
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.gates[name] == g {
			s.held[q.Header.Get(numbered)] = name
		}
		return true
	}
}

// ServeHTTP numbers a request and notes when it is over.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	n := strconv.Itoa(s.n)
	s.mu.Unlock()
	r.Header.Set(numbered, n)
	defer func() {
		s.mu.Lock()
		delete(s.held, n)
		s.mu.Unlock()
	}()
	s.Server.ServeHTTP(w, r)
}

// holding counts the requests that wait at a gate.
func (s *scripted) holding() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// release lets all answers of a gate go on to their end.
func (s *scripted) release(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[name]
	if g == nil {
		return fmt.Errorf("no answer is held by %s", name)
	}
	for n, by := range s.held {
		if by == name {
			delete(s.held, n)
		}
	}
	delete(s.gates, name)
	close(g.open)
	close(g.steps)
	return nil
}

// modelForms script the model. They are gathered before the play begins: the nth
// request gets the nth answer, unless an answer says what it is for.
func modelForms() []form {
	nothing := func(*play) error { return nil }
	answer := func(shape, verb, needs string, read func(body string) (modeltest.Answer, error)) form {
		return staged(optional(shaped(shape, `model(?: (\S+))? `+verb+`(?: to "([^"]*)")?`, needs, func(w *walk, c clause) (func(*play) error, error) {
			r, err := modelRule(c)
			if err != nil {
				return nil, err
			}
			if r.Answer, err = read(c.body); err != nil {
				return nil, err
			}
			w.rules = append(w.rules, r)
			return nothing, nil
		})))
	}
	return []form{
		staged(optional(shaped("model says nothing", `model(?: (\S+))? says nothing(?: to "([^"]*)")?`, "", func(w *walk, c clause) (func(*play) error, error) {
			r, err := modelRule(c)
			w.rules = append(w.rules, r)
			return nothing, err
		}))),
		answer(`model says to "price", held by gate: It is 42.`, "says", "the answer", func(body string) (modeltest.Answer, error) {
			return modeltest.Text(body), nil
		}),
		answer("model calls: notification_send {\"text\":\"hi\"}", "calls", "the tool and its arguments", modelCalls),
		answer("model fails: cut 2 It is forty-two.", "fails", "the fault", modelFault),
		staged(shaped("model hears: what the recording says", `model(?: (\S+))? hears`, "the words", func(w *walk, c clause) (func(*play) error, error) {
			r := rule{Rule: modeltest.Once(modeltest.Text(c.body))}
			r.Model, r.Fits = c.words[1], func(q modeltest.Request) bool { return q.Audio != nil }
			w.rules = append(w.rules, r)
			return nothing, nil
		})),
		staged(shaped("model speaks: what the recording holds", `model(?: (\S+))? speaks`, "what the recording holds", func(w *walk, c clause) (func(*play) error, error) {
			r := rule{Rule: modeltest.Once(modeltest.Text(c.body))}
			r.Model, r.Fits = c.words[1], func(q modeltest.Request) bool { return q.Speak != "" }
			w.rules = append(w.rules, r)
			return nothing, nil
		})),
	}
}

// modelRule reads when an answer is given.
func modelRule(c clause) (rule, error) {
	r := rule{Rule: modeltest.Rule{Model: c.words[1], Text: c.words[2], Times: 1}}
	r.Fits = func(q modeltest.Request) bool { return q.Audio == nil && q.Speak == "" }
	for _, o := range c.options {
		word, argument, _ := strings.Cut(o, " ")
		switch {
		case o == "always":
			r.Times = 0
		case word == "after":
			r.Tool = argument
		case strings.HasPrefix(o, "held by "):
			r.gate = strings.TrimPrefix(o, "held by ")
		case strings.HasPrefix(o, "stepped by "):
			r.gate, r.step = strings.TrimPrefix(o, "stepped by "), true
		default:
			return r, fmt.Errorf("%q is no option of an answer; they are always, after TOOL, held by GATE, stepped by GATE", o)
		}
	}
	return r, nil
}

// modelCalls reads tool calls, one a line.
func modelCalls(body string) (modeltest.Answer, error) {
	var a modeltest.Answer
	for l := range strings.Lines(body) {
		name, args, _ := strings.Cut(strings.TrimSpace(l), " ")
		a.Calls = append(a.Calls, modeltest.Call{Name: name, Args: args})
	}
	return a, nil
}

// modelFault reads what goes wrong with an answer.
func modelFault(body string) (modeltest.Answer, error) {
	kind, rest, _ := strings.Cut(body, " ")
	number, text, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch kind {
	case "html":
		return modeltest.HTML(), nil
	case "busy":
		return modeltest.Busy(rest), nil
	case "status":
		if err == nil {
			return modeltest.Status(n, text), nil
		}
	case "cut", "end", "stall", "object", "string", "event", "bad":
		if err == nil {
			return modeltest.Answer{Text: text, Fault: modeltest.Fault(kind), After: n}, nil
		}
	}
	return modeltest.Answer{}, fmt.Errorf("%q is no fault; they are html, busy SECONDS, status CODE MESSAGE, and cut, end, stall, object, string, event, bad WORDS TEXT", body)
}
