// Package telegramsim is a Telegram in the process: a Bot API server with a small
// world behind it. Tests, the bench and the playground use it in Telegram's place.
//
// The world is made of users (people and bots), chats of every kind and their
// messages. Tests play the people, by methods of Chat: Say, Send, Edit, Press and
// so on. Bots come in over HTTP, as at Telegram. Between both stands a queue of
// updates for each bot; it lives here, so it outlasts a bot that is killed.
//
// The server is stricter than Telegram on purpose. Telegram ignores a parameter
// that it does not know; this server answers 400 and remembers a violation, so that
// a typo fails a test. Violations are calls that no correct bot makes; a chat that
// is gone or a person who blocked the bot is an ordinary refusal and is not among
// them.
//
// What stands behind the face is in packages of its own: world (users, chats and messages,
// and who is told of what), methods (what bots can do there), wire (how things look to
// bots), schema (the Bot API as data, and the check of a call), format (entities and parse
// modes) and updates (one bot's queue, with polls and webhooks). The world has one lock, which
// is taken here and nowhere else; only a poll waits without it.
package telegramsim

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"attache/internal/telegramsim/methods"
	"attache/internal/telegramsim/schema"
	"attache/internal/telegramsim/updates"
	"attache/internal/telegramsim/world"
)

// Options are the few knobs of a server. The zero value is good for tests.
type Options struct {
	Keep         int              // calls, and messages, drafts and delivered updates of each chat and bot, that are remembered; 0: all
	Pace         bool             // enforce 1 message a second a chat, 20 a minute a group, 30 a second a bot
	Now          func() time.Time // the clock of messages and of Pace; nil: time.Now
	BotsHear     bool             // groups' bots hear one another, for tests of loops; Telegram has it off
	WebhookRetry time.Duration    // pause after an unsuccessful webhook delivery, doubled up to 32 times; 0: 50 ms
}

// Server is the Bot API server and the world behind it. It is safe for concurrent
// use. Make it with New, serve it as an http.Handler or with Listen.
type Server struct {
	options  Options
	api      *schema.API
	handlers map[string]methods.Handler
	http     *http.Server
	closed   chan struct{}
	stop     sync.Once

	changed    signal
	judge      sync.Mutex
	violations []string

	mu     sync.Mutex // of everything below
	world  *world.World
	bots   map[string]*User      // by token
	chats  map[*world.Chat]*Chat // handles of chats
	faults []*armed
	calls  []*Call
}

// New makes an empty world. It panics only when the embedded API description is
// damaged, which a test of the schema package rules out.
func New(o Options) *Server {
	api, err := schema.Load()
	if err != nil {
		panic(err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.WebhookRetry == 0 {
		o.WebhookRetry = 50 * time.Millisecond
	}
	s := &Server{options: o, api: api, closed: make(chan struct{}), bots: map[string]*User{}, chats: map[*world.Chat]*Chat{}}
	s.world = world.New(world.Rules{Keep: o.Keep, Pace: o.Pace, BotsHear: o.BotsHear, Now: o.Now, Queue: updates.Options{
		Keep: o.Keep, Retry: o.WebhookRetry, Now: o.Now, Changed: s.change,
		Odd: func(what string) { s.violate("%s", what) },
	}})
	s.handlers = methods.Table(s.world, s.violate)
	return s
}

// Listen serves on a free loopback port until Close and gives the base URL, which
// is what TELEGRAM_API_URL wants.
func (s *Server) Listen() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(l) }() // ends with ErrServerClosed at Close
	return "http://" + l.Addr().String(), nil
}

// Close ends polls, webhook deliveries and open connections. The world can still
// be looked at afterwards.
func (s *Server) Close() {
	s.stop.Do(func() {
		close(s.closed)
		s.mu.Lock()
		bots := slices.Collect(maps.Values(s.bots))
		s.mu.Unlock()
		for _, b := range bots {
			b.in.Robot.Queue.Close()
		}
		if s.http != nil {
			_ = s.http.Close()
		}
	})
}

// ServeHTTP answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"); ok {
		s.download(w, rest)
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/bot")
	token, name, cut := strings.Cut(rest, "/")
	if !ok || !cut || !strings.Contains(token, ":") {
		write(w, nil, &methods.Refusal{Code: 404, Text: "Not Found"})
		return
	}
	s.mu.Lock()
	bot := s.bots[token]
	s.mu.Unlock()
	if bot == nil {
		write(w, nil, &methods.Refusal{Code: 401, Text: "Unauthorized"})
		return
	}
	s.call(w, r, bot, name)
}

// maxBody is Telegram's limit of an upload, 50 MB, with room for the form around it.
const maxBody = 51 << 20

// call reads, judges, breaks if so wished, and answers one call of a known bot.
func (s *Server) call(w http.ResponseWriter, r *http.Request, bot *User, name string) {
	method, known := s.api.Method(name)
	if !known {
		s.violate("%s called %s, which is no method", bot.Username, name)
		write(w, nil, &methods.Refusal{Code: 404, Text: "Not Found: method not found"})
		return
	}
	params, err := schema.Read(r, maxBody)
	req := &methods.Request{Bot: bot.in, Method: method.Name, Params: params}
	problem := err
	if err != nil {
		s.violate("%s %s: %v", bot.Username, method.Name, err)
		problem = methods.BadRequest(err.Error())
	} else if bad := method.Check(&req.Params); len(bad) > 0 {
		for _, p := range bad {
			s.violate("%s %s: %s", bot.Username, method.Name, p.What)
		}
		problem = wording(bad[0])
	}
	record, fault := s.begin(req)
	if fault != nil && fault.before(s, w, r, record) {
		return
	}
	var result json.RawMessage
	switch {
	case problem != nil:
	case method.Name == "getUpdates":
		result, problem = methods.GetUpdates(r.Context(), req)
	default:
		result, problem = s.perform(req)
	}
	s.finish(record, result, problem)
	if fault != nil && fault.after(w, result, problem) {
		return
	}
	if errors.Is(problem, context.Canceled) {
		panic(http.ErrAbortHandler) // the poll's caller or the server has gone: no answer is better than an empty 200
	}
	write(w, result, problem)
}

// perform runs a method's handler under the lock and freezes its answer there.
func (s *Server) perform(req *methods.Request) (json.RawMessage, error) {
	run := s.handlers[req.Method]
	if run == nil {
		s.violate("%s %s: the simulator does not simulate this method", req.Bot.Username, req.Method)
		return nil, methods.BadRequest("method " + req.Method + " is not simulated")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result, err := run(req)
	s.change()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return world.BindFiles(raw, req.Bot), nil
}

// wording turns a problem into the sentence Telegram uses, where bots may rely on
// it, else into our own.
func wording(p schema.Problem) error {
	switch {
	case p.Param == "text" && (p.Rule == "required" || p.Rule == "min"):
		return methods.BadRequest("message text is empty")
	case p.Param == "text" && p.Rule == "max":
		return methods.BadRequest("message is too long")
	case p.Param == "caption" && p.Rule == "max":
		return methods.BadRequest("message caption is too long")
	case p.Param == "chat_id" && p.Rule == "required":
		return methods.BadRequest("chat_id is empty")
	case p.Param == "message_thread_id" && p.Rule == "prose":
		return methods.BadRequest("message thread not found")
	case strings.HasSuffix(p.Param, "callback_data") && p.Rule == "max":
		return methods.BadRequest("BUTTON_DATA_INVALID")
	}
	return methods.BadRequest(p.What)
}

// write gives the Bot API's answer to a call.
func write(w http.ResponseWriter, result json.RawMessage, problem error) {
	w.Header().Set("Content-Type", "application/json")
	if problem == nil {
		_, _ = w.Write(answer(result))
		return
	}
	var no *methods.Refusal
	if !errors.As(problem, &no) {
		no = &methods.Refusal{Code: 500, Text: "Internal Server Error: " + problem.Error()}
	}
	w.WriteHeader(no.Code)
	_, _ = w.Write(body(no))
}

func answer(result json.RawMessage) []byte {
	body := make([]byte, 0, len(result)+24)
	body = append(body, `{"ok":true,"result":`...)
	body = append(body, result...)
	return append(body, '}')
}

func body(r *methods.Refusal) []byte {
	type parameters struct {
		MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
		RetryAfter int   `json:"retry_after,omitempty"`
	}
	out := struct {
		OK          bool        `json:"ok"`
		Code        int         `json:"error_code"`
		Description string      `json:"description"`
		Parameters  *parameters `json:"parameters,omitempty"`
	}{Code: r.Code, Description: r.Text}
	if r.MigrateTo != 0 || r.RetryAfter != 0 {
		out.Parameters = &parameters{r.MigrateTo, r.RetryAfter}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return []byte(`{"ok":false,"error_code":500,"description":"Internal Server Error"}`)
	}
	return body
}

// download serves /file/bot<token>/<path>.
func (s *Server) download(w http.ResponseWriter, rest string) {
	token, path, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock() // a loopback write of bytes that tests made is short enough for the lock
	if s.bots[token] == nil {
		write(w, nil, &methods.Refusal{Code: 401, Text: "Unauthorized"})
		return
	}
	f := s.world.FileAt(path)
	if f == nil {
		write(w, nil, &methods.Refusal{Code: 404, Text: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.Data)
}
