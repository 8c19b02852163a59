package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"attache"
)

// How long a call may take before it counts as unanswered. A cosmetic call is
// worth little after a few seconds; getUpdates holds the line open for up to 50 s
// by itself; an upload depends on the line.
const (
	cosmeticTimeout = 8 * time.Second
	callTimeout     = 30 * time.Second
	pollTimeout     = 70 * time.Second
	uploadTimeout   = 5 * time.Minute
)

// maxAnswer bounds what is read of one answer: 100 updates with rich messages
// stay far below it, a wrong server behind the address does not fill the memory.
const maxAnswer = 64 << 20

// ClientOptions says which bot speaks, and to which server.
type ClientOptions struct {
	Bot     attache.BotID  // named in the log, never sent
	Token   attache.Secret // BotFather's token
	BaseURL string         // default https://api.telegram.org
	HTTP    *http.Client   // default: one tuned for many calls to one host
	Log     *slog.Logger   // default: none
}

// Client makes the Bot API calls of one bot, as JSON over HTTP. It does not pace,
// repeat or judge: Sender does. It is safe for concurrent use.
type Client struct {
	bot   attache.BotID
	token attache.Secret
	base  string
	http  *http.Client
	log   *slog.Logger
}

// NewClient makes a client; nothing is sent before the first call. Proxies of the
// environment are used, redirects are not followed.
func NewClient(o ClientOptions) *Client {
	client := o.HTTP
	if client == nil {
		client = newHTTPClient()
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	base := strings.TrimRight(cmp.Or(o.BaseURL, "https://api.telegram.org"), "/")
	return &Client{bot: o.Bot, token: o.Token, base: base, http: client, log: log}
}

// newHTTPClient gives a client for many parallel calls to one host. HTTP/1.1 only:
// each call in flight has a connection of its own, so a dead one costs one call
// and what was written of a call is known.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = 256
	transport.MaxIdleConnsPerHost = 64
	transport.IdleConnTimeout = time.Minute // shorter than Telegram's own, so a call seldom meets a line just closed
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Bot gives the brain's own name of the bot that speaks through the client.
func (c *Client) Bot() attache.BotID { return c.bot }

// CallError is the only error of Client.Call: what Telegram answered, or why
// there is no answer. It never holds the token.
type CallError struct {
	Method      string
	Code        int            // Telegram's error_code or the HTTP status; 0 when there was no answer
	Description string         // Telegram's own words or what went wrong, at most 300 characters
	RetryAfter  time.Duration  // the pause that Telegram asked for, with 429
	MigrateTo   attache.ChatID // the group's new number, when it has one

	// Certain says that Telegram certainly did not carry the call out: it said so,
	// or the request never left. A call that is not certain may have been carried
	// out and must not be repeated blindly (decisions § 7.5).
	Certain bool

	// Foreign says that the answer was not the Bot API's, but of something in front
	// of it: its code tells nothing of the token, the chat or the call.
	Foreign bool

	cause error
}

// Error gives the method, the code and Telegram's words.
func (e *CallError) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("%s got no answer from Telegram: %s", e.Method, e.Description)
	}
	return fmt.Sprintf("%s was answered with %d: %s", e.Method, e.Code, e.Description)
}

// Unwrap gives what ended the call when there was no answer, such as
// context.Canceled.
func (e *CallError) Unwrap() error { return e.cause }

// Call makes one call and waits for its answer. params is the exact JSON of the
// call (json.RawMessage), anything that marshals to it, or nil; result is what
// Telegram's `result` is decoded into, or nil. The time allowed depends on the
// method; ctx may shorten it. An error is a *CallError.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	body, raw := params.(json.RawMessage) // byte for byte as stored: Marshal would compact it
	if params == nil {
		params = struct{}{}
	}
	if !raw {
		var err error
		if body, err = json.Marshal(params); err != nil {
			return &CallError{Method: method, Description: "its parameters are no JSON: " + err.Error(), Certain: true, cause: err}
		}
	}
	return c.post(ctx, method, bodyOf(body), timeoutOf(method), result)
}

// timeoutOf says how long a method may take.
func timeoutOf(method string) time.Duration {
	switch method {
	case "sendChatAction", "setMessageReaction", "answerCallbackQuery", "sendMessageDraft", "sendRichMessageDraft":
		return cosmeticTimeout
	case "getUpdates":
		return pollTimeout
	}
	return callTimeout
}

// payload is a request's body, which can be read more than once: the transport sends
// it again over a new line when the old one took not a byte of it.
type payload struct {
	kind string // content type
	size int64
	open func() io.Reader
}

func bodyOf(json []byte) payload {
	return payload{"application/json", int64(len(json)), func() io.Reader { return bytes.NewReader(json) }}
}

// post sends one request body, JSON or multipart, and reads the answer.
func (c *Client) post(ctx context.Context, method string, body payload, timeout time.Duration, result any) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := c.exchange(ctx, method, body, result)
	if err == nil {
		c.log.Debug("telegram answered", "bot", c.bot, "why", method, "ms", time.Since(began).Milliseconds())
		return nil
	}
	err.Method = method
	err.Description = c.clean(err.Description)
	c.log.Debug("a telegram call did not succeed", "bot", c.bot, "why", method,
		"ms", time.Since(began).Milliseconds(), "err", err)
	return err
}

// exchange is one request and its answer.
func (c *Client) exchange(ctx context.Context, method string, body payload, result any) *CallError {
	var line wire
	ctx = httptrace.WithClientTrace(ctx, line.trace())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/bot"+c.token.Reveal()+"/"+method, body.open())
	if err != nil {
		return c.broken(err, true)
	}
	req.Header.Set("Content-Type", body.kind)
	req.ContentLength = body.size
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.open()), nil }
	resp, err := c.http.Do(req)
	if err != nil {
		return c.broken(err, line.unsent())
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return c.broken(fmt.Errorf("the answer (HTTP %d) was cut: %w", resp.StatusCode, err), false)
	}
	return readAnswer(resp, answer, result)
}

// envelope is the form of every answer of the Bot API.
type envelope struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter      int64          `json:"retry_after"`
		MigrateToChatID attache.ChatID `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// readAnswer judges an answer that arrived whole. A page that is not the Bot
// API's JSON comes from something in front of it: with 4xx that something refused
// the request, with anything else nobody knows what stands behind it.
func readAnswer(resp *http.Response, answer []byte, result any) *CallError {
	var e envelope
	if err := json.Unmarshal(answer, &e); err != nil || !e.OK && e.ErrorCode == 0 {
		return &CallError{
			Code:        resp.StatusCode,
			Description: "not an answer of the Bot API: " + strings.ToValidUTF8(string(answer[:min(len(answer), 400)]), ""),
			RetryAfter:  retryHeader(resp),
			Certain:     resp.StatusCode >= 400 && resp.StatusCode < 500,
			Foreign:     true,
		}
	}
	if !e.OK {
		return &CallError{
			Code:        e.ErrorCode,
			Description: e.Description,
			RetryAfter:  cmp.Or(time.Duration(e.Parameters.RetryAfter)*time.Second, retryHeader(resp)),
			MigrateTo:   e.Parameters.MigrateToChatID,
			Certain:     true,
		}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return &CallError{Code: resp.StatusCode, Description: "the result has another form: " + err.Error(), cause: err}
	}
	return nil
}

// retryHeader reads Retry-After in seconds, which a proxy sends instead of JSON.
func retryHeader(resp *http.Response) time.Duration {
	n, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// broken describes a call without an answer. A *url.Error carries the whole
// address with the token in it, so only what it wraps is kept, and that only if
// the token is not in there as well.
func (c *Client) broken(err error, certain bool) *CallError {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	cause := err
	if clean := c.clean(err.Error()); clean != err.Error() {
		cause = errors.New(clean)
	}
	what := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		what = "the time for it ran out"
	}
	return &CallError{Description: what, Certain: certain, cause: cause}
}

// clean takes the token out of a text, puts it on one line and trims it.
func (c *Client) clean(s string) string {
	if token := c.token.Reveal(); token != "" {
		s = strings.ReplaceAll(s, token, "[secret]")
		s = strings.ReplaceAll(s, url.PathEscape(token), "[secret]")
	}
	s = strings.Join(strings.Fields(s), " ")
	const limit = 300
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit-1]) + "…"
	}
	return s
}

// wire counts the connections that a request was handed to and the writes that
// provably ended before the whole request was on its way. Only when every one of
// them ended so is it certain that Telegram saw no whole request. Counting, not a
// flag: the hooks run on the transport's own goroutines.
type wire struct{ got, cut atomic.Int32 }

func (w *wire) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { w.got.Add(1) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				w.cut.Add(1)
			}
		},
	}
}

func (w *wire) unsent() bool { return w.got.Load() == w.cut.Load() }
