package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// plainTelegram is the least of a Bot API server: it hands out private and group
// messages and takes answers. The bench uses it instead of the simulator, which
// checks every call and would be a good part of what is measured.
type plainTelegram struct {
	url string

	mu      sync.Mutex
	updates []string
	first   int64 // update id of updates[0]
	wake    chan struct{}
	polled  chan struct{} // closed at the first poll
	answers map[int64]chan struct{}
}

func newPlainTelegram(b *testing.B) *plainTelegram {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &plainTelegram{url: "http://" + l.Addr().String(), first: 1000, wake: make(chan struct{}), polled: make(chan struct{}), answers: map[int64]chan struct{}{}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	b.Cleanup(func() { _ = server.Close() })
	return s
}

// open makes a chat known and gives the channel that gets a token for each answer.
func (s *plainTelegram) open(chat int64) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[chat] = make(chan struct{}, 1024)
	return s.answers[chat]
}

// say puts a person's message into a chat.
func (s *plainTelegram) say(chat int64, id int, text string) {
	kind, from := "private", chat
	if chat < 0 {
		kind, from = "supergroup", 5
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":%d,"chat":{"id":%d,"type":%q,"title":"T","first_name":"P"},`+
		`"from":{"id":%d,"is_bot":false,"first_name":"P"},"text":%q}}`, s.first+int64(len(s.updates)), id, time.Now().Unix(), chat, kind, from, text))
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *plainTelegram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	params := params(r)
	w.Header().Set("Content-Type", "application/json")
	switch method {
	case "getMe":
		io.WriteString(w, `{"ok":true,"result":{"id":7,"is_bot":true,"first_name":"Nova","username":"nova_bot","can_read_all_group_messages":true}}`)
	case "getUpdates":
		s.poll(w, r, params)
	case "sendMessage":
		chat, _ := strconv.ParseInt(params["chat_id"], 10, 64)
		s.mu.Lock()
		answered := s.answers[chat]
		s.mu.Unlock()
		if answered != nil {
			answered <- struct{}{}
		}
		fmt.Fprintf(w, `{"ok":true,"result":{"message_id":9,"date":1,"chat":{"id":%d,"type":"private"},"text":"x"}}`, chat)
	default:
		io.WriteString(w, `{"ok":true,"result":true}`)
	}
}

func (s *plainTelegram) poll(w http.ResponseWriter, r *http.Request, params map[string]string) {
	offset, _ := strconv.ParseInt(params["offset"], 10, 64)
	end := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		select {
		case <-s.polled:
		default:
			close(s.polled)
		}
		if drop := offset - s.first; drop > 0 && int(drop) <= len(s.updates) {
			s.updates, s.first = s.updates[drop:], offset
		}
		batch := s.updates[:min(len(s.updates), 100)]
		wake := s.wake
		s.mu.Unlock()
		if len(batch) > 0 {
			fmt.Fprintf(w, `{"ok":true,"result":[%s]}`, strings.Join(batch, ","))
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		case <-end:
			io.WriteString(w, `{"ok":true,"result":[]}`)
			return
		}
	}
}

// params reads the two numbers that matter from JSON or a form.
func params(r *http.Request) map[string]string {
	out := map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var body map[string]json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		for k, v := range body {
			out[k] = strings.Trim(string(v), `"`)
		}
		return out
	}
	if r.ParseMultipartForm(1<<20) == nil {
		for k, v := range r.MultipartForm.Value {
			out[k] = v[0]
		}
	}
	return out
}
