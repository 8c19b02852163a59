package claude

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"attache/internal/cliagent"
)

// serverName is how Claude Code knows our tools: mcp__attache__<tool>.
const serverName = "attache"

// server offers the turn's tools to Claude Code as a server of the Model Context
// Protocol over HTTP, and passes each call on to the engine.
type server struct {
	url  string
	http *http.Server
	say  func(line)

	mu    sync.Mutex
	tools []cliagent.Tool
	calls int
	waits map[string]chan line // by the call's id
	gone  chan struct{}        // closed when no result comes any more
	once  sync.Once
}

func serve(say func(line)) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port for the tools: %w", err)
	}
	secret := rand.Text()
	s := &server{say: say, url: "http://" + l.Addr().String() + "/" + secret, waits: map[string]chan line{}, gone: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /"+secret, s.serve)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // until close
	return s, nil
}

func (s *server) close() {
	s.abandon()
	_ = s.http.Close()
}

// abandon lets every call that waits end: its result does not come any more.
func (s *server) abandon() { s.once.Do(func() { close(s.gone) }) }

func (s *server) offer(tools []cliagent.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

// answer gives a result to the call that waits for it.
func (s *server) answer(l line) {
	s.mu.Lock()
	wait := s.waits[l.ID]
	delete(s.waits, l.ID)
	s.mu.Unlock()
	if wait != nil {
		wait <- l
	}
}

// request is a message of the protocol; one without an id is a notification.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version   string          `json:"protocolVersion"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestLine)).Decode(&q); err != nil {
		http.Error(w, "the body is no message", http.StatusBadRequest)
		return
	}
	if len(q.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	switch q.Method {
	case "initialize":
		answer["result"] = map[string]any{"protocolVersion": q.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": serverName, "version": "1"}}
	case "ping":
		answer["result"] = map[string]any{}
	case "tools/list":
		answer["result"] = map[string]any{"tools": s.list()}
	case "tools/call":
		answer["result"] = s.call(r, q)
	default:
		answer["error"] = map[string]any{"code": -32601, "message": "there is no method " + q.Method}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *server) list() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []map[string]any{}
	for _, t := range s.tools {
		out = append(out, map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.Schema})
	}
	return out
}

// call passes a call on and waits for its result. What the turn carries stands before
// it when the engine sends it along, after a compaction.
func (s *server) call(r *http.Request, q request) map[string]any {
	s.mu.Lock()
	s.calls++
	id := fmt.Sprintf("call-%d", s.calls)
	wait := make(chan line, 1)
	s.waits[id] = wait
	s.mu.Unlock()
	s.say(line{Type: "tool_call", ID: id, Name: q.Params.Name, Arguments: q.Params.Arguments})
	var texts []map[string]any
	add := func(text string) { texts = append(texts, map[string]any{"type": "text", "text": text}) }
	failed := false
	select {
	case l := <-wait:
		for _, o := range l.Context {
			add(o.Text)
		}
		add(l.Content)
	case <-s.gone:
		failed = true
		add("nobody knows whether this call was carried out: the session ends")
	case <-r.Context().Done():
		failed = true
	}
	return map[string]any{"content": texts, "isError": failed}
}
