package model

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"
)

// shownChars limits what an error repeats of a server's answer.
const shownChars = 300

// fault is why one try failed and what to do about it: the verdict travels with
// its reason, so nobody has to read the sentence to decide.
type fault struct {
	what  string        // one clause, without secrets, at most a few hundred characters
	do    string        // what a person can do about it; "" when it may pass by itself
	again bool          // whether the same bytes may succeed a little later
	pause time.Duration // what the server asked to wait; 0: nothing
}

// Error gives the clause alone; the model and the number of tries are put around it
// where the whole chain is known.
func (f *fault) Error() string { return f.what }

// The faults that a library's error does not tell apart.
var (
	errNoAnswer = errors.New("no answer within the time limit")
	errStalled  = errors.New("the answer stopped coming")
	errTooLong  = errors.New("the answer is longer than a chat answer can be; the rest was not read")
)

// moved is a redirect. Following one would turn the POST into a GET, or carry
// the key to another host.
type moved struct{ status, to string }

// Error names the new place without its query, which may hold a session.
func (m *moved) Error() string {
	return fmt.Sprintf("%s to %s; mend baseUrl", m.status, m.to)
}

// judge turns any error of an exchange into a fault (decisions § 4, "Model
// faults"): 408, 425, 429, 5xx, time-outs and everything broken may be repeated,
// any other refusal of the server is final for this model.
func judge(err error, x *exchange) *fault {
	f := &fault{again: true}
	var api *openai.APIError
	var request *openai.RequestError
	var redirect *moved
	var wire *url.Error
	switch {
	case errors.As(err, &redirect):
		f.again, f.what = false, redirect.Error()
	case errors.As(err, &api) && api.HTTPStatusCode == 0:
		f.what = "the stream broke: " + api.Message
	case errors.As(err, &api):
		f.again, f.what, f.do = repeatable(api.HTTPStatusCode), api.HTTPStatus+": "+api.Message, advice(api.HTTPStatusCode)
	case errors.As(err, &request):
		f.again, f.what, f.do = repeatable(request.HTTPStatusCode), request.HTTPStatus+": "+string(request.Body), advice(request.HTTPStatusCode)
	case errors.As(err, &wire): // it would print the whole URL
		f.what = wire.Err.Error()
	default:
		f.what = err.Error()
	}
	// When the watchdog ended the exchange, the error only says "context canceled".
	if cause := x.watch.cause(); cause != nil {
		f.what = cause.Error()
	} else if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		f.what = "connecting took too long: " + f.what
	}
	if f.again {
		f.pause = retryAfter(x.header, time.Now())
	}
	f.what = x.clean(f.what)
	return f
}

// advice says what a person can do about a status that does not pass by itself.
func advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "; check apiKey, or OPENAI_API_KEY"
	case http.StatusNotFound:
		return "; check model and baseUrl, or OPENAI_MODEL and OPENAI_BASE_URL"
	}
	return ""
}

// repeatable tells what may pass from what will not: the same bytes get the same
// 400, but a busy or broken server may be well a second later.
func repeatable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter reads how long the server asked to wait: milliseconds in
// retry-after-ms, seconds or a date in Retry-After. Nonsense counts as nothing.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// clean makes a server's words fit for a log: the key, which some servers echo, is
// taken out first, then white space is folded and the text cut.
func (x *exchange) clean(s string) string {
	if key := x.key.Reveal(); key != "" {
		s = strings.ReplaceAll(s, key, "[secret]")
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if utf8.RuneCountInString(s) > shownChars {
		s = string([]rune(s)[:shownChars-1]) + "…"
	}
	return s
}
