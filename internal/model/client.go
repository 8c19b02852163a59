package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"attache"
)

const (
	tries        = 4                // the first and up to 3 more (decisions § 4)
	longestPause = 60 * time.Second // a Retry-After beyond it means: ask another model
	firstPause   = 500 * time.Millisecond
)

// Options are the knobs of a Client; the zero value is right for a server on the
// internet.
type Options struct {
	Transport http.RoundTripper // nil: an own one with Connect as its limit
	Connect   time.Duration     // to reach the server, TLS included; 0: 10 s
	FirstByte time.Duration     // from the request to the answer's headers; 0: 120 s
	Idle      time.Duration     // between two pieces of an answer; 0: 90 s
	// Wait pauses between two tries, until d has passed or ctx ends; nil: by the
	// clock. Tests that want no clock record d instead.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client asks one model and, when that one fails, its fallbacks in order. It keeps
// no state between calls but open connections and may be used by many goroutines.
type Client struct {
	chain []Profile
	http  *http.Client
	opts  Options
}

// New makes a client of a profile; it opens no connection yet.
func New(p Profile, o Options) *Client {
	o.Connect = or(o.Connect, 10*time.Second)
	o.FirstByte = or(o.FirstByte, 120*time.Second)
	o.Idle = or(o.Idle, 90*time.Second)
	if o.Wait == nil {
		o.Wait = sleep
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: o.Connect}).DialContext,
			TLSHandshakeTimeout: o.Connect,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true, // a compressed stream arrives in lumps
		}
	}
	// A redirect is given back as it is: exchange.Do reports it.
	keep := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		chain: append([]Profile{p}, p.Fallback...),
		http:  &http.Client{Transport: o.Transport, CheckRedirect: keep},
		opts:  o,
	}
}

// Close lets go of idle connections. Calls that run are not disturbed.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Complete asks for one answer and streams it. tell gets the answer as it arrives
// and attempt gets every HTTP exchange as it ends; both are called on this
// goroutine and may be nil.
//
// Faults are repeated and passed on to the fallbacks as decisions § 4 says. Text
// of a broken stream is thrown away and tell gets an EventReset: such text was
// shown as a draft at most, never posted, so a repeat repeats nothing a person
// could keep. When ctx ends, its cause is returned at once, no other model is asked
// and the stream is closed. When every model failed the error is an *attache.Error
// of KindOutside whose cause names each model and its last fault.
func (c *Client) Complete(ctx context.Context, r Request, tell func(Event), attempt func(Attempt)) (Result, error) {
	if tell == nil {
		tell = func(Event) {}
	}
	var result Result
	err := c.walk(ctx, attempt, func(p Profile) (*call, error) {
		body, err := Encode(p, r)
		if err != nil {
			return nil, err
		}
		once := func(ctx context.Context, x *exchange) (Usage, error) {
			told := false
			a, err := x.stream(ctx, p, func(e Event) { told = true; tell(e) })
			if err != nil {
				if told {
					tell(Event{Kind: EventReset})
				}
				return Usage{}, err
			}
			result = a.result(p, body)
			return a.usage, nil
		}
		return &call{body: body, once: once}, nil
	})
	if err != nil {
		return Result{}, err
	}
	for _, call := range result.ToolCalls {
		tell(Event{Kind: EventCall, Call: call})
	}
	if result.Usage.Reported {
		tell(Event{Kind: EventUsage, Usage: result.Usage})
	}
	tell(Event{Kind: EventDone})
	return result, nil
}

// result puts an answer into our own words.
func (a *answer) result(p Profile, body []byte) Result {
	r := Result{Text: a.text.String(), Finish: a.finish, Usage: a.usage, Profile: p.Name, Model: p.Model, RequestBytes: body}
	r.Cost, r.CostKnown = p.cost(a.usage)
	for _, call := range a.calls {
		r.ToolCalls = append(r.ToolCalls, *call)
	}
	return r
}

// call is what is asked of one model: the same bytes at every try.
type call struct {
	body []byte
	once func(ctx context.Context, x *exchange) (Usage, error)
}

// walk asks the models of the chain in order until one answers.
func (c *Client) walk(ctx context.Context, attempt func(Attempt), prepare func(Profile) (*call, error)) error {
	var faults []error
	for _, p := range c.chain {
		call, err := prepare(p)
		if err != nil {
			return &attache.Error{Kind: attache.KindInternal, Say: "the request to the model could not be written; the log says why", Cause: err}
		}
		n, fault := c.ask(ctx, p, call, attempt)
		if fault == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		faults = append(faults, fmt.Errorf("model %s (%s at %s), tried %d×: %w%s", p.Name, p.Model, host(p.BaseURL), n, fault, fault.do))
	}
	return &attache.Error{Kind: attache.KindOutside, Say: "the model does not answer right now", Cause: errors.Join(faults...)}
}

// ask sends a call to one model, again after faults that may pass, and says how
// often it tried.
func (c *Client) ask(ctx context.Context, p Profile, call *call, attempt func(Attempt)) (int, *fault) {
	for n := 1; ; n++ {
		fault := c.try(ctx, p, n, call, attempt)
		if fault == nil || !fault.again || n == tries || ctx.Err() != nil {
			return n, fault
		}
		pause := fault.pause
		if pause == 0 { // doubled each time, and spread so that many turns do not return at once
			pause = firstPause << (n - 1)
			pause += rand.N(pause / 2)
		}
		// Waiting past the end of the turn would only make its failure later.
		if deadline, ok := ctx.Deadline(); pause > longestPause || ok && time.Until(deadline) <= pause {
			return n, fault
		}
		if c.opts.Wait(ctx, pause) != nil {
			return n, fault
		}
	}
}

// try makes one exchange and reports it.
func (c *Client) try(ctx context.Context, p Profile, n int, call *call, attempt func(Attempt)) *fault {
	begin := time.Now()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &exchange{http: c.http, key: p.APIKey, body: call.body, idle: c.opts.Idle}
	x.watch = newWatchdog(c.opts.FirstByte, errNoAnswer, cancel)
	defer x.watch.stop()
	usage, err := call.once(inner, x)
	a := Attempt{
		Profile: p.Name, Model: p.Model, Try: n, Status: x.status, Took: time.Since(begin), Usage: usage, Request: call.body,
	}
	var f *fault
	switch {
	case err == nil:
		a.Cost, a.CostKnown = p.cost(usage)
	case ctx.Err() != nil:
		f = &fault{what: "stopped: " + x.clean(context.Cause(ctx).Error())}
		a.Why = f.what
	default:
		f = judge(err, x)
		a.Why = f.what
	}
	if attempt != nil {
		attempt(a)
	}
	return f
}

// host names a server without what a URL may hide, such as a password.
func host(base string) string {
	if base == "" {
		return "api.openai.com"
	}
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Host
	}
	return "an unreadable baseUrl"
}

// sleep is the Wait of a Client by the clock.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// or gives a knob its default.
func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
