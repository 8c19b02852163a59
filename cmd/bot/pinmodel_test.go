package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"attache"
	"attache/internal/model/modeltest"
)

// pinModel is a model that does whatever comes to its mind: it opens, binds, sends and
// asks, and repeats in its answers every row that it was shown, so that a row which
// was shown once in the wrong place is found wherever it comes back. Each request is
// judged when it arrives.
type pinModel struct {
	t      *testing.T
	seed   uint64
	script *modeltest.Server
	url    string

	mu      sync.Mutex
	step    pinStep
	answers map[int]pinEpoch // by step: where and when its answer was given
	seen    int              // requests of this step
	shown   int              // rows that were shown, all in all
	during  func()           // called once, when the step's first request is there
}

// pinStep is the turn that is being played.
type pinStep struct {
	n      int
	at     attache.Place
	held   map[attache.ContextID]attache.EntityKey
	keyed  map[attache.ContextID]bool
	unread bool
	epoch  pinEpoch // whose history it sees
	says   pinEpoch // whose history its answer may stand in
	chats  []attache.ChatID
	topics []attache.ThreadID
	calls  []modeltest.Call // what the model does first; nil: whatever comes to its mind
}

// pinEpoch is a stretch of a place under the same keys: nothing passes from one into
// another (decisions § 3.14).
type pinEpoch struct {
	at   attache.Place
	n    int
	held string // its keys, maps are printed sorted
}

func newPinModel(t *testing.T, seed uint64) *pinModel {
	m := &pinModel{t: t, seed: seed, script: modeltest.NewInMemory(t), answers: map[int]pinEpoch{}}
	front := httptest.NewServer(m)
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	m.url = front.URL + "/v1"
	return m
}

// play begins a step.
func (m *pinModel) play(s pinStep, during func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step, m.seen, m.during = s, 0, during
	m.answers[s.n] = s.says
}

func (m *pinModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasSuffix(r.URL.Path, "/completions") {
		var request struct{ Messages []modeltest.Message }
		if err := json.Unmarshal(body, &request); err != nil {
			m.t.Error(err)
		}
		answer := m.think(request.Messages)
		m.script.Add(modeltest.Rule{Times: 1, Fits: func(r modeltest.Request) bool { return bytes.Equal(r.Raw, body) }, Answer: answer})
	}
	m.script.ServeHTTP(w, r)
}

// think judges a request and answers it.
func (m *pinModel) think(messages []modeltest.Message) modeltest.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen++
	if m.during != nil {
		during := m.during
		m.during = nil
		during()
	}
	rows := m.judge(messages)
	last := len(messages)
	round := 0
	for last > 0 && messages[last-1].Role != "user" {
		last--
		if messages[last].Role == "tool" {
			round++
		}
	}
	if round == 0 && m.step.calls != nil {
		return modeltest.Answer{Calls: m.step.calls}
	}
	r := rand.New(rand.NewPCG(m.seed, uint64(m.step.n*100+round)))
	if round == 0 && r.IntN(4) > 0 || round > 0 && round < 4 && r.IntN(3) == 0 {
		var calls []modeltest.Call
		for range 1 + r.IntN(2) {
			calls = append(calls, m.call(r))
		}
		return modeltest.Answer{Calls: calls}
	}
	return modeltest.Text(fmt.Sprintf("ans%de %s", m.step.n, strings.Join(rows, " ")))
}

// call makes up a call of a tool.
func (m *pinModel) call(r *rand.Rand) modeltest.Call {
	args := map[string]any{}
	chat := func() {
		switch r.IntN(3) {
		case 0:
			args["chat"] = choose(r, m.step.chats).String()
		case 1:
			args["thread"] = strconv.FormatInt(int64(choose(r, m.step.topics)), 10)
		}
	}
	entry := func(into map[string]any, name string) {
		into[name] = choose(r, pinContexts())
		if r.IntN(4) > 0 {
			into["entity"] = choose(r, pinKeys())
		}
	}
	name := choose(r, []string{"context_open", "context_open", "context_open", "notification_send", "notification_send", "notification_send", "notification_send", "notification_send", "context_bind", "context_unbind", "access_explain", "agent_context"})
	if m.step.at.Chat == pinForum && r.IntN(5) == 0 { // a topic of its own is what topics are for
		entry(args, "context")
		args["thread"] = strconv.FormatInt(int64(m.step.at.Thread), 10)
		raw, _ := json.Marshal(args)
		return modeltest.Call{Name: "context_bind", Args: string(raw)}
	}
	switch name {
	case "context_open":
		entry(args, "name")
	case "notification_send":
		args["text"] = fmt.Sprintf("note of step %d", m.step.n)
		if r.IntN(4) > 0 {
			about := map[string]any{}
			entry(about, "context")
			args["about"] = about
		}
		chat()
	case "context_bind":
		entry(args, "context")
		chat()
		if r.IntN(3) == 0 {
			args["bot"] = choose(r, pinBots())
		}
	case "context_unbind":
		args["context"] = choose(r, pinContexts())
		chat()
	case "access_explain":
		chat()
	}
	raw, _ := json.Marshal(args)
	return modeltest.Call{Name: name, Args: string(raw)}
}

var (
	pinRow   = regexp.MustCompile(`row:(client|ticket):(k\d)\.`)
	pinBlock = regexp.MustCompile(`<feature-context name="(\w+)" feature="\w+"(?: entity="([^"]*)")?(?: link="(\w+)")?`)
	pinEntry = regexp.MustCompile(`\b(client|ticket)@(k\d)\b`)
	pinSaid  = regexp.MustCompile(`\bans(\d+)e\b`)
)

// foreign reports whether a key may not stand where this step is.
func (s pinStep) foreign(id attache.ContextID, key attache.EntityKey) bool {
	held, pinned := s.held[id]
	return s.keyed[id] && key != "" && (s.unread || pinned && key != held)
}

// judge demands that nothing of a request holds another key, but for what people said
// themselves, and gives the rows that it shows.
func (m *pinModel) judge(messages []modeltest.Message) []string {
	rows := map[string]bool{}
	s := m.step
	for i, x := range messages {
		text := x.Text()
		for _, c := range x.ToolCalls {
			text += c.Function.Name // what it asks for itself may name any key
		}
		if x.Role == "user" {
			continue
		}
		for _, found := range pinRow.FindAllStringSubmatch(text, -1) {
			rows[found[0]] = true
			m.shown++
			if s.foreign(attache.ContextID(found[1]), attache.EntityKey(found[2])) {
				m.t.Errorf("step %d at %v, held to %v, unread %v: message %d (%s) has %s:\n%s", s.n, s.at, s.held, s.unread, i+1, x.Role, found[0], text)
			}
		}
		for _, found := range pinBlock.FindAllStringSubmatch(text, -1) {
			id, key := attache.ContextID(found[1]), attache.EntityKey(found[2])
			if held, pinned := s.held[id]; s.keyed[id] && (s.unread || pinned && key != held) {
				m.t.Errorf("step %d at %v, held to %v, unread %v: message %d (%s) has a block of %s@%s:\n%s", s.n, s.at, s.held, s.unread, i+1, x.Role, id, key, text)
			}
			if held, bound := s.held[id]; s.keyed[id] && found[3] == "chat" && (!bound || held != key) {
				m.t.Errorf("step %d at %v, bound to %v: message %d (%s) has %s@%s by a binding that is none:\n%s", s.n, s.at, s.held, i+1, x.Role, id, key, text)
			}
		}
		for _, found := range pinSaid.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(found[1])
			if n != s.n && m.answers[n] != s.epoch { // a run reads its own refused words
				m.t.Errorf("step %d at %v, %+v: the answer of step %d, %+v, is in its history", s.n, s.at, s.epoch, n, m.answers[n])
			}
		}
	}
	return slices.Sorted(maps.Keys(rows))
}
