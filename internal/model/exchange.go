package model

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"attache"

	openai "github.com/sashabaranov/go-openai"
)

// The bounds of what a server can make us read and wait for. afterEnd is how long
// usage may come behind the finish reason, drain how long the end of a body may.
const (
	maxAnswer = 32 << 20 // bytes of a stream; beyond it a server is broken or hostile
	maxError  = 64 << 10 // bytes of an error page that are read at all
	afterEnd  = 5 * time.Second
	drain     = 50 * time.Millisecond
)

// exchange is one HTTP request and its answer. It stands between go-openai and the
// network: it puts in the exact bytes, keeps what the library loses (status and
// headers) and watches the time.
type exchange struct {
	http  *http.Client
	key   attache.Secret
	body  []byte // nil: the library's own body goes out
	idle  time.Duration
	watch *watchdog

	status int
	header http.Header
	events *eventLines // the stream, once it began
}

// library gives a go-openai client whose only exchange is x.
func (x *exchange) library(p Profile) *openai.Client {
	config := openai.DefaultConfig(p.APIKey.Reveal())
	if p.BaseURL != "" {
		config.BaseURL = p.BaseURL
	}
	config.HTTPClient = x
	config.EmptyMessagesLimit = 1e6 // it counts blank lines; how long to wait is the watchdog's matter
	return openai.NewClientWithConfig(config)
}

// Do is what go-openai calls to send a request.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.body != nil {
		req.ContentLength = int64(len(x.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
		req.Body, _ = req.GetBody()
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	x.watch.expect(x.idle, errStalled)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		resp.Body.Close()
		to := "nowhere"
		if u, err := resp.Location(); err == nil {
			to = u.Host + u.Path
		}
		return nil, &moved{resp.Status, to}
	}
	// Of an error page only the beginning is of use, and a cut one is still readable;
	// a cut answer is not an answer.
	limit := int64(maxAnswer)
	if resp.StatusCode >= 400 {
		limit = maxError
	}
	resp.Body = &watchedBody{body: resp.Body, watch: x.watch, left: limit, cut: resp.StatusCode >= 400}
	if x.body != nil && resp.StatusCode < 300 {
		x.events = &eventLines{ReadCloser: resp.Body, lines: bufio.NewReader(resp.Body)}
		resp.Body = x.events
	}
	return resp, nil
}

// finish reads the few bytes that stand behind the end of a stream: only a body
// read to its end leaves the connection to the next call.
func (x *exchange) finish() {
	x.watch.expect(drain, nil)
	_, _ = io.CopyN(io.Discard, x.events.lines, maxError) // what breaks here only costs a new connection
}

// watchdog ends an exchange when what is expected next does not come in time. The
// context's own cause is not enough: the transport reports only that it ended.
type watchdog struct {
	mu     sync.Mutex
	timer  *time.Timer
	limit  time.Duration
	why    error
	barked error
}

// newWatchdog begins to watch; cancel is called at most once.
func newWatchdog(limit time.Duration, why error, cancel context.CancelFunc) *watchdog {
	w := &watchdog{limit: limit, why: why}
	w.timer = time.AfterFunc(limit, func() {
		w.mu.Lock()
		w.barked = w.why
		w.mu.Unlock()
		cancel()
	})
	return w
}

// expect sets what is waited for from now on.
func (w *watchdog) expect(limit time.Duration, why error) {
	w.mu.Lock()
	w.limit, w.why = limit, why
	w.mu.Unlock()
	w.timer.Reset(limit)
}

// alive says that a sign of life came.
func (w *watchdog) alive() {
	w.mu.Lock()
	limit := w.limit
	w.mu.Unlock()
	w.timer.Reset(limit)
}

// stop ends the watch; a timer left behind would outlive the call.
func (w *watchdog) stop() { w.timer.Stop() }

// cause gives why the watchdog ended the exchange; nil when it did not.
func (w *watchdog) cause() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.barked
}

// watchedBody tells the watchdog of each piece that arrives and bounds the whole.
type watchedBody struct {
	body  io.ReadCloser
	watch *watchdog
	left  int64
	cut   bool // past the limit: end quietly instead of with an error
}

// Read counts every byte as a sign of life, keep-alive comments too: whether a
// model that only says "still thinking" has taken too long is decided by the limits
// of the turn, not here.
func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if b.cut {
			return 0, io.EOF
		}
		return 0, errTooLong
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if n > 0 {
		b.watch.alive()
	}
	return n, err
}

// Close lets the connection go.
func (b *watchedBody) Close() error { return b.body.Close() }

// eventLines leaves out the lines of an event stream that carry no data. The
// library gathers them as parts of an error message, and a keep-alive comment then
// makes the real message unreadable.
type eventLines struct {
	io.ReadCloser
	lines *bufio.Reader
	rest  []byte
	last  []byte // the latest line with data
	err   error
}

// Read gives whole lines only, as soon as each is complete, so that no word of an
// answer waits for the next one.
func (e *eventLines) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.rest, e.err = e.lines.ReadBytes('\n')
		if isChatter(e.rest) {
			e.rest = nil
		}
		if data, ok := bytes.CutPrefix(e.rest, []byte("data:")); ok {
			e.last = bytes.Clone(data)
		}
		if errors.Is(e.err, io.EOF) && len(e.rest) > 0 && e.rest[len(e.rest)-1] != '\n' {
			e.rest = append(e.rest, '\n') // the library drops a last line without its end
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// isChatter tells the fields of an event that are not its data, and comments.
func isChatter(line []byte) bool {
	for _, start := range []string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(start)) {
			return true
		}
	}
	return false
}
