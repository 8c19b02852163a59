package model_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"attache"
	"attache/internal/model"
	"attache/internal/model/modeltest"

	"github.com/google/go-cmp/cmp"
)

// row L10: streaming, usage with cached tokens, price; over a real connection.
func TestAnswer(t *testing.T) {
	s := modeltest.New(t, modeltest.Rule{Answer: modeltest.Text("Hello there, Ann.")})
	r := newRig(t, profile("main", s), nil)
	for range 2 {
		r.events, r.attempts = nil, nil
		got, err := r.ask(t.Context(), strings.Repeat("long ", 400))
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != "Hello there, Ann." || got.Finish != "stop" || got.Profile != "main" || got.Model != "main-model" {
			t.Errorf("result: %+v", got)
		}
		last := s.Requests()[len(s.Requests())-1]
		if !bytes.Equal(got.RequestBytes, last.Raw) || last.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("the server got %s (%v)", last.Raw, last.Header)
		}
	}
	kinds := []model.EventKind{}
	for _, e := range r.events {
		kinds = append(kinds, e.Kind)
	}
	if diff := cmp.Diff([]model.EventKind{"text", "text", "text", "usage", "done"}, kinds); diff != "" {
		t.Error(diff)
	}
	a := r.attempts[0]
	u := a.Usage
	if !u.Reported || u.Out != 3 || u.In < 500 || u.Cached != u.In { // the second request is the first one again
		t.Errorf("usage: %+v", u)
	}
	if want := (float64(u.Cached)*0.025 + 3*2) / 1e6; !a.CostKnown || a.Cost < want*0.999 || a.Cost > want*1.001 {
		t.Errorf("cost is %v (%v), want %v", a.Cost, a.CostKnown, want)
	}
	if a.Try != 1 || a.Status != 200 || a.Why != "" || a.Profile != "main" || !bytes.Equal(a.Request, s.Requests()[1].Raw) {
		t.Errorf("attempt: %+v", a)
	}
}

// Two calls use one connection, so that a call costs no handshake.
func TestConnectionIsKept(t *testing.T) {
	var opened atomic.Int32
	s := modeltest.NewInMemory(t, modeltest.Rule{Answer: modeltest.Text("Hello there.")})
	web := httptest.NewUnstartedServer(s)
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	web.Start()
	defer web.Close()
	p := profile("main", s)
	p.BaseURL = web.URL + "/v1"
	r := newRig(t, p, nil)
	for range 5 {
		if _, err := r.ask(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
	}
	r.client.Close()
	if n := opened.Load(); n != 1 {
		t.Errorf("five calls opened %d connections", n)
	}
}

// row L10: tool calls come whole, also for a tool that does not exist and with
// arguments that are no JSON: what to make of them is the caller's matter.
func TestToolCalls(t *testing.T) {
	s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Answer{Text: "One moment. ", Calls: []modeltest.Call{
		{Name: "context_open", Args: `{"name":"policy"}`}, {Name: "no_such_tool", Args: `{"a":`}, {ID: "x", Name: "empty"},
	}}))
	r := newRig(t, profile("main", s), s)
	got, err := r.ask(t.Context(), "hi")
	if err != nil {
		t.Fatal(err)
	}
	want := []model.ToolCall{{"call_1_1", "context_open", `{"name":"policy"}`}, {"call_1_2", "no_such_tool", `{"a":`}, {"x", "empty", "{}"}}
	if diff := cmp.Diff(want, got.ToolCalls); diff != "" {
		t.Error(diff)
	}
	if got.Finish != "tool_calls" || got.Text != "One moment. " {
		t.Errorf("result: %+v", got)
	}
	var told []model.ToolCall
	for _, e := range r.events {
		if e.Kind == model.EventCall {
			told = append(told, e.Call)
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// row L10: every fault that may pass is repeated with the same bytes, and the
// text of a broken stream is taken back.
func TestFaultsAreRepeated(t *testing.T) {
	type fault struct {
		answer modeltest.Answer
		status int
		why    string
		text   bool // some of the answer was told before it broke
	}
	broken := func(f modeltest.Fault) modeltest.Answer {
		return modeltest.Answer{Text: "this will break soon", Fault: f, After: 2}
	}
	early := func(f modeltest.Fault) modeltest.Answer { return modeltest.Answer{Text: "x", Fault: f} }
	faults := map[string]fault{
		"429":                   {modeltest.Busy("7"), 429, "429 Too Many Requests: slow down", false},
		"500":                   {modeltest.Status(500, "oops"), 500, "500 Internal Server Error: oops", false},
		"408":                   {modeltest.Status(408, "late"), 408, "408 Request Timeout: late", false},
		"502 page":              {modeltest.Answer{Status: 502, Body: "<h1>Bad\n gateway</h1>"}, 502, "502 Bad Gateway: <h1>Bad gateway</h1>", false},
		"html with 200":         {modeltest.HTML(), 200, "the server answered 200 with text/html instead of an event stream; look at baseUrl", false},
		"json with 200":         {modeltest.Answer{Status: 200, Body: `{"error":{"message":"quiet error"}}`}, 200, "the stream broke: quiet error", false},
		"cut":                   {broken(modeltest.FaultCut), 200, "unexpected EOF", true},
		"cut at once":           {early(modeltest.FaultCut), 200, "unexpected EOF", false},
		"ends":                  {broken(modeltest.FaultEnd), 200, "the stream ended before the answer was complete", true},
		"empty stream":          {early(modeltest.FaultEnd), 200, "the stream ended before the answer was complete", false},
		"error object":          {broken(modeltest.FaultObject), 200, "the stream broke: upstream fell over", true},
		"error string":          {broken(modeltest.FaultString), 200, "the stream broke: upstream fell over", true},
		"error event":           {broken(modeltest.FaultEvent), 200, "the stream broke: upstream fell over", true},
		"bad event":             {broken(modeltest.FaultBad), 200, `the stream holds something that is not a chunk: {"choices":[{"del`, true},
		"finish error":          {modeltest.Answer{Text: "a b", Finish: "error"}, 200, "the provider ended the answer with an error", true},
		"no calls":              {modeltest.Answer{Text: "a b", Finish: "tool_calls"}, 200, "the answer announces tool calls and holds none", true},
		"error behind comments": {modeltest.Answer{Text: "x", Fault: modeltest.FaultObject, KeepAlive: 400}, 200, "the stream broke: upstream fell over", false},
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			s := modeltest.NewInMemory(t, modeltest.Once(f.answer), modeltest.Rule{Answer: modeltest.Text("All is well.")})
			r := newRig(t, profile("main", s), s)
			got, err := r.ask(t.Context(), "hi")
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != "All is well." || r.shown() != "All is well." {
				t.Errorf("result %q, shown %q", got.Text, r.shown())
			}
			resets := 0
			for _, e := range r.events {
				if e.Kind == model.EventReset {
					resets++
				}
			}
			if want := map[bool]int{true: 1}[f.text]; resets != want {
				t.Errorf("%d resets, want %d: %v", resets, want, r.events)
			}
			q := s.Requests()
			if len(q) != 2 || !bytes.Equal(q[0].Raw, q[1].Raw) {
				t.Errorf("requests: %v", q)
			}
			if len(r.attempts) != 2 || r.attempts[0].Why != f.why || r.attempts[0].Status != f.status || r.attempts[0].CostKnown {
				t.Errorf("attempts: %+v", r.attempts)
			}
		})
	}
}

// row L10: three repeats at most, then each fallback gets the same messages.
func TestFallback(t *testing.T) {
	s := modeltest.NewInMemory(t,
		modeltest.Rule{Model: "main-model", Answer: modeltest.Status(503, "down")},
		modeltest.Rule{Model: "second-model", Answer: modeltest.Status(404, "no such model")},
		modeltest.Rule{Model: "third-model", Answer: modeltest.Text("From the third.")})
	p := profile("main", s)
	p.Vision = true
	p.Fallback = []model.Profile{profile("second", s), profile("third", s)}
	r := newRig(t, p, s)
	got, err := r.complete(t.Context(), turn())
	if err != nil {
		t.Fatal(err)
	}
	if got.Profile != "third" || got.Text != "From the third." {
		t.Errorf("result: %+v", got)
	}
	var models []string
	for _, a := range r.attempts {
		models = append(models, fmt.Sprint(a.Profile, a.Try, a.Status))
	}
	if diff := cmp.Diff([]string{"main1 503", "main2 503", "main3 503", "main4 503", "second1 404", "third1 200"}, models); diff != "" {
		t.Error(diff)
	}
	q := s.Requests()
	if strings.Replace(string(q[4].Raw), "second-model", "third-model", 1) != string(q[5].Raw) {
		t.Errorf("the fallbacks got different requests:\n%s\n%s", q[4].Raw, q[5].Raw)
	}
	if a, b := q[0].Messages[4].Text(), q[5].Messages[4].Text(); strings.Contains(a, "picture stood here") || !strings.Contains(b, "picture stood here") {
		t.Errorf("pictures: %q and %q", a, b)
	}
	for i, limit := range []time.Duration{500, 1000, 2000} {
		if d := r.pauses[i]; d < limit*time.Millisecond || d > limit*3/2*time.Millisecond {
			t.Errorf("pause %d is %v", i, d)
		}
	}
	if len(r.pauses) != 3 {
		t.Errorf("pauses: %v", r.pauses)
	}
}

// row L10: a request that is wrong is not repeated.
func TestRefusalsGoToTheFallbackAtOnce(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413, 422} {
		s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Status(status, "no")), modeltest.Once(modeltest.Text("yes")))
		p := profile("main", s)
		p.Fallback = []model.Profile{profile("backup", s)}
		r := newRig(t, p, s)
		if got, err := r.ask(t.Context(), "hi"); err != nil || got.Profile != "backup" || len(r.pauses) != 0 {
			t.Errorf("%d: %+v, %v, pauses %v", status, got, err, r.pauses)
		}
	}
}

// row L10: a Retry-After up to 60 s is waited out, a longer one is not.
func TestRetryAfter(t *testing.T) {
	ms := modeltest.Status(429, "")
	ms.Header = map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}
	for name, c := range map[string]struct {
		busy modeltest.Answer
		want time.Duration // 0: the fallback is asked at once
	}{
		"seconds":  {modeltest.Busy("7"), 7 * time.Second},
		"sixty":    {modeltest.Busy("60"), time.Minute},
		"fraction": {modeltest.Busy("0.25"), 250 * time.Millisecond},
		"ms":       {ms, 1500 * time.Millisecond},
		"too long": {modeltest.Busy("61"), 0},
		"date":     {modeltest.Busy(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.NewInMemory(t, modeltest.Once(c.busy), modeltest.Rule{Answer: modeltest.Text("ok")})
			p := profile("main", s)
			p.Fallback = []model.Profile{profile("backup", s)}
			r := newRig(t, p, s)
			got, err := r.ask(t.Context(), "hi")
			if err != nil {
				t.Fatal(err)
			}
			if c.want == 0 && (got.Profile != "backup" || len(r.pauses) != 0) {
				t.Errorf("%s answered after %v", got.Profile, r.pauses)
			}
			if c.want != 0 && (got.Profile != "main" || len(r.pauses) != 1 || r.pauses[0] != c.want) {
				t.Errorf("%s answered after %v, want %v", got.Profile, r.pauses, c.want)
			}
		})
	}
	for _, nonsense := range []string{"", "soon", "-5", "NaN", "1e99"} {
		s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Busy(nonsense)), modeltest.Rule{Answer: modeltest.Text("ok")})
		r := newRig(t, profile("main", s), s)
		if _, err := r.ask(t.Context(), "hi"); err != nil || len(r.pauses) != 1 || r.pauses[0] > time.Second {
			t.Errorf("Retry-After %q: %v, pauses %v", nonsense, err, r.pauses)
		}
	}
}

// row L10: when all fail the error names each model and never the key, and
// repeats at most 300 characters of what a server said.
func TestAllFail(t *testing.T) {
	s := modeltest.NewInMemory(t, modeltest.Rule{Answer: modeltest.Status(401, "bad key "+key+" "+strings.Repeat("é", 5000))})
	p := profile("main", s)
	second := profile("second", s)
	second.BaseURL = "http://user:hunter2@model.test/v1"
	p.Fallback = []model.Profile{second}
	r := newRig(t, p, s)
	_, err := r.ask(t.Context(), "hi")
	why := cause(t, err)
	for _, want := range []string{"model main (main-model at model.test), tried 1×: 401 Unauthorized: bad key [secret] éé", "model second (second-model at model.test)"} {
		if !strings.Contains(why, want) {
			t.Errorf("no %q in %s", want, why)
		}
	}
	if attache.Sentence(err) != "the model does not answer right now" {
		t.Errorf("a person is told %q", attache.Sentence(err))
	}
	p.BaseURL, p.Fallback = "", nil
	all := why + fmt.Sprintf("%+v %#v", err, p)
	for _, a := range r.attempts {
		all += a.Why
		if n := len([]rune(a.Why)); n > 300 {
			t.Errorf("why has %d characters", n)
		}
	}
	if strings.Contains(all, key) || strings.Contains(all, "hunter2") {
		t.Errorf("a secret shows: %s", all)
	}
}

func TestUnreachableServer(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	p := model.Profile{Name: "main", Model: "m", BaseURL: strings.Replace(gone.URL, "//", "//user:hunter2@", 1), APIKey: attache.NewSecret(key)}
	r := newRig(t, p, nil)
	_, err := r.ask(t.Context(), "hi")
	why := cause(t, err)
	if !strings.Contains(why, "connection refused") || !strings.Contains(why, "tried 4×") || strings.Contains(why, "hunter2") || strings.Contains(why, key) {
		t.Errorf("cause: %s", why)
	}
}

// A redirect would drop the body or carry the key elsewhere.
func TestRedirectIsNotFollowed(t *testing.T) {
	moved := modeltest.Answer{Status: 302, Header: map[string]string{"Location": "http://elsewhere.test/login?next=x"}}
	s := modeltest.NewInMemory(t, modeltest.Once(moved))
	r := newRig(t, profile("main", s), s)
	_, err := r.ask(t.Context(), "hi")
	if why := cause(t, err); !strings.Contains(why, "302 Found to elsewhere.test/login; mend baseUrl") || len(s.Requests()) != 1 {
		t.Errorf("cause: %s", why)
	}
}

// row L10: a finish reason makes an answer whole, whatever is missing behind it.
func TestWholeWithoutTheRest(t *testing.T) {
	for name, a := range map[string]modeltest.Answer{
		"no done":           {Text: "Whole.", NoDone: true},
		"no usage":          {Text: "Whole.", NoUsage: true},
		"nothing":           {Text: "Whole.", NoUsage: true, NoDone: true},
		"length":            {Text: "Whole.", Finish: "length"},
		"content filter":    {Text: "Whole.", Finish: "content_filter"},
		"comments in front": {Text: "Whole.", KeepAlive: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.NewInMemory(t, modeltest.Once(a))
			r := newRig(t, profile("main", s), s)
			got, err := r.ask(t.Context(), "hi")
			if err != nil || got.Text != "Whole." {
				t.Fatalf("%+v, %v", got, err)
			}
			if want := stdcmp.Or(a.Finish, "stop"); got.Finish != want {
				t.Errorf("finish is %s", got.Finish)
			}
			if got.Usage.Reported == a.NoUsage || got.CostKnown == a.NoUsage {
				t.Errorf("usage %+v, cost known %v", got.Usage, got.CostKnown)
			}
		})
	}
}

// row L10: without a price a cost is unknown, not 0.
func TestNoPrice(t *testing.T) {
	s := modeltest.NewInMemory(t, modeltest.Rule{Answer: modeltest.Text("hi")})
	p := profile("main", s)
	p.Price = nil
	r := newRig(t, p, s)
	got, err := r.ask(t.Context(), "hi")
	if err != nil || got.CostKnown || got.Cost != 0 || r.attempts[0].CostKnown {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWrongRequestAsksNobody(t *testing.T) {
	s := modeltest.NewInMemory(t)
	r := newRig(t, profile("main", s), s)
	_, err := r.complete(t.Context(), model.Request{Tools: []model.Tool{{Name: "x", Schema: json.RawMessage("{")}}})
	if err == nil || !strings.Contains(err.Error(), `tool "x"`) || len(s.Requests()) != 0 {
		t.Errorf("%v", err)
	}
}

// A voice message becomes words, with the same care about faults and the key.
func TestTranscribe(t *testing.T) {
	s := modeltest.New(t, modeltest.Once(modeltest.Status(500, "oops")), modeltest.Once(modeltest.Text(" Hello by voice. ")), modeltest.Rule{Answer: modeltest.Status(401, key)})
	r := newRig(t, profile("transcribe", s), nil)
	note := func(a model.Attempt) { r.attempts = append(r.attempts, a) }
	text, err := r.client.Transcribe(t.Context(), "voice.ogg", []byte("OggS\x00sound"), note)
	if err != nil || text != "Hello by voice." {
		t.Fatalf("%q, %v", text, err)
	}
	q := s.Requests()[1]
	if q.Path != "/v1/audio/transcriptions" || q.Model != "transcribe-model" || q.File != "voice.ogg" || string(q.Audio) != "OggS\x00sound" {
		t.Errorf("request: %+v", q)
	}
	if len(r.attempts) != 2 || r.attempts[0].Status != 500 || r.attempts[1].CostKnown {
		t.Errorf("attempts: %+v", r.attempts)
	}
	if _, err := r.client.Transcribe(t.Context(), "voice.ogg", nil, nil); strings.Contains(cause(t, err), key) {
		t.Errorf("the key shows: %v", err)
	}
}

func TestParseDialect(t *testing.T) {
	for in, want := range map[string]model.Dialect{"": model.DialectAuto, "auto": model.DialectAuto, "openai": model.DialectOpenAI, "plain": model.DialectPlain} {
		if got, err := model.ParseDialect(in); got != want || err != nil {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if _, err := model.ParseDialect("opnai"); err == nil || !strings.Contains(err.Error(), "auto, openai or plain") {
		t.Errorf("%v", err)
	}
}
