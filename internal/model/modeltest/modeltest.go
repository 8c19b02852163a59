// Package modeltest is a scripted model over HTTP, for tests only. It answers
// chat completions by rules, misbehaves on request as real servers do, keeps the
// exact bytes of every request, and counts prompt-cache hits by prefix, so that a
// test can hold the whole program to what a provider would see.
package modeltest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"attache/internal/rehearsal"
)

// Rule says which requests get which answer. Of the rules that fit a request the
// first one whose Times are not used up answers it.
type Rule struct {
	Text  string             // the last user message holds this, and without Tool no tool result stands behind it
	Tool  string             // the last message is a result of this tool ("*": of any)
	Model string             // the model asked for; "": any
	Call  int                // the nth request to the server, from 1; 0: any
	Times int                // how often the rule answers; 0: always
	Fits  func(Request) bool // one more condition; nil: none

	Answer Answer
}

// Once makes a rule that answers the next request, whatever it is, and no other:
// a list of them is a script.
func Once(a Answer) Rule { return Rule{Times: 1, Answer: a} }

// Server is the scripted model.
type Server struct {
	URL   string          // base URL for a profile, with /v1
	Cache rehearsal.Cache // set Minimum before the first request

	t    testing.TB
	mu   sync.Mutex
	more *sync.Cond
	todo []*rule
	got  []Request
	sum  rehearsal.Spend
}

// rule counts how often a Rule has answered.
type rule struct {
	Rule
	used int
}

// New starts a scripted model on the loopback and stops it with the test. A
// request that no rule fits fails the test.
func New(t testing.TB, rules ...Rule) *Server {
	s := NewInMemory(t, rules...)
	web := httptest.NewServer(s)
	s.URL = web.URL + "/v1"
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// NewInMemory makes one without a network: reach it by its Transport. It works
// within a testing/synctest bubble, where a real connection would stop the clock.
func NewInMemory(t testing.TB, rules ...Rule) *Server {
	s := &Server{URL: "http://model.test/v1", t: t}
	s.more = sync.NewCond(&s.mu)
	s.Add(rules...)
	return s
}

// Add puts rules behind those that are there.
func (s *Server) Add(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		s.todo = append(s.todo, &rule{Rule: r})
	}
}

// Requests gives every request so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Wait blocks until n requests have arrived and gives them.
func (s *Server) Wait(n int) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.got) < n {
		s.more.Wait()
	}
	return slices.Clone(s.got)
}

// Spend gives what all prompts so far would have cost.
func (s *Server) Spend() rehearsal.Spend {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum
}

// ServeHTTP answers POST …/chat/completions, …/audio/transcriptions and …/audio/speech.
// It keeps no list of models: who asks for one, as the doctor does, is told so and
// takes nobody's turn.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	req := read(r, body)
	answer, ok := s.take(&req)
	if !ok {
		s.t.Errorf("modeltest: no rule fits request %d to %s; its last user message is %q", req.N, req.Path, req.LastUser())
		http.Error(w, `{"error":{"message":"modeltest: no rule fits"}}`, http.StatusBadRequest)
		return
	}
	answer.send(w, r, req)
}

// take records a request and finds its answer.
func (s *Server) take(req *Request) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.N = len(s.got) + 1
	if req.Audio == nil && req.Speak == "" {
		if spend, err := s.Cache.Take(req.Raw); err == nil {
			req.Spend = spend
			s.sum = s.sum.Add(spend)
		}
	}
	s.got = append(s.got, *req)
	s.more.Broadcast()
	for _, r := range s.todo {
		if r.fits(*req) && (r.Times == 0 || r.used < r.Times) {
			r.used++
			return r.Answer, true
		}
	}
	return Answer{}, false
}

// fits asks each condition of a rule; one that is not set is met.
func (r *rule) fits(req Request) bool {
	result := req.LastTool()
	switch {
	case r.Call != 0 && r.Call != req.N,
		r.Model != "" && r.Model != req.Model,
		r.Text != "" && !strings.Contains(req.LastUser(), r.Text),
		r.Tool == "" && r.Text != "" && result != "",
		r.Tool == "*" && result == "",
		r.Tool != "" && r.Tool != "*" && r.Tool != result,
		r.Fits != nil && !r.Fits(req):
		return false
	}
	return true
}
