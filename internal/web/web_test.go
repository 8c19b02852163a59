package web_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"attache/internal/web"
)

// A page answers this machine's browser, and changes only what its own pages ask for.
func TestGuard(t *testing.T) {
	g := web.NewGuard(1000)
	reached := 0
	h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	form := func(token string) string { return url.Values{"token": {token}, "x": {"1"}}.Encode() }
	for name, c := range map[string]struct {
		method, host, body string
		head               map[string]string
		want               int
	}{
		"a look":                 {"GET", "127.0.0.1:8484", "", nil, 200},
		"by name":                {"GET", "localhost:8484", "", nil, 200},
		"IPv6":                   {"GET", "[::1]:8484", "", nil, 200},
		"a name that leads here": {"GET", "evil.example:8484", "", nil, 421},
		"no name":                {"GET", "", "", nil, 421},
		"127.0.0.1.evil":         {"GET", "127.0.0.1.evil.example", "", nil, 421},
		"a form":                 {"POST", "127.0.0.1:8484", form(g.Token()), nil, 200},
		"a script":               {"POST", "127.0.0.1:8484", "", map[string]string{"X-Token": g.Token()}, 200},
		"no token":               {"POST", "127.0.0.1:8484", form(""), nil, 403},
		"an old token":           {"POST", "127.0.0.1:8484", form("AAAA"), nil, 403},
		"another site":           {"POST", "127.0.0.1:8484", form(g.Token()), map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"another port":           {"POST", "127.0.0.1:8484", form(g.Token()), map[string]string{"Origin": "http://127.0.0.1:9999"}, 403},
		"its own page":           {"POST", "127.0.0.1:8484", form(g.Token()), map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		"too much":               {"POST", "127.0.0.1:8484", form(g.Token()) + strings.Repeat("&y=1", 1000), nil, 403},
		"another method":         {"DELETE", "127.0.0.1:8484", "", nil, 403},
	} {
		r := httptest.NewRequest(c.method, "/", strings.NewReader(c.body))
		r.Host = c.host
		if c.method == "POST" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for k, v := range c.head {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		before := reached
		h.ServeHTTP(w, r)
		if w.Code != c.want || (reached > before) != (c.want == 200) {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: the headers are %v", name, w.Header())
		}
	}
}

// The token is read out of a form with a file as well.
func TestGuardReadsForms(t *testing.T) {
	g := web.NewGuard(10000)
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	_ = m.WriteField("token", g.Token())
	part, _ := m.CreateFormFile("file", "a.txt")
	_, _ = part.Write([]byte("words"))
	_ = m.Close()
	r := httptest.NewRequest("POST", "http://127.0.0.1/", &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	w := httptest.NewRecorder()
	g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, head, err := r.FormFile("file"); err != nil || head.Filename != "a.txt" {
			t.Errorf("the file is gone: %v", err)
		}
	})).ServeHTTP(w, r)
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAssets(t *testing.T) {
	a, err := web.NewAssets(fstest.MapFS{"x.js": {Data: []byte("1")}, "paper.css": {Data: []byte("mine")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{"x.js": "text/javascript; charset=utf-8", "paper.css": "text/css; charset=utf-8", "case.svg": "image/svg+xml"} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", a.URL(name), nil))
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if name == "paper.css" && w.Body.String() != "mine" {
			t.Error("a page's own file stands behind the shared one")
		}
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest("GET", "/assets/000000000000/x.js", nil))
	if w.Code != 404 {
		t.Error("an old address gives a new file")
	}
}

// The sheet tells everything of a turn, and nothing in it becomes markup.
func TestSheet(t *testing.T) {
	pages, err := web.Templates()
	if err != nil {
		t.Fatal(err)
	}
	cost := 0.0012
	evil := `</pre><script>alert(1)</script>"'`
	turn := web.Turn{ID: 7, Status: "answered", Why: evil, Took: 1500 * time.Millisecond, Role: "desk", Engaged: evil,
		Links: []web.Link{{Context: evil, Entity: evil, Link: evil, Status: "attached", Chars: 12345},
			{Context: "policy", Link: "ask", Status: "refused", Why: evil, Knob: evil}},
		Prompt: []web.Message{{Role: evil, What: evil, Text: evil}, {Role: "system", What: "tail", Text: "<feature-context>"}},
		Calls:  []web.Call{{Model: evil, Status: "ok", In: 2000, Cached: 1500, Out: 5, Reported: true, Took: time.Second, Cost: &cost}, {Model: "m", Status: "503", Why: evil}},
		Tools:  []web.Tool{{Name: evil, Status: "done", Args: evil, Result: `{"ok":true}`}},
		Posts:  []web.Post{{State: "sent", Text: evil, Why: evil}}}
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "sheet", turn); err != nil {
		t.Fatal(err)
	}
	html := out.String()
	if strings.Contains(html, "<script") || strings.Contains(html, `style="`) || strings.Contains(html, "<feature-context>") {
		t.Errorf("words became markup:\n%s", html)
	}
	for _, want := range []string{"answered", "1.5 s", "turn 7", "role desk", "12\u202f345", "refused", "75 % of them from the cache", "Cost: unknown", "&lt;feature-context&gt;", "503"} {
		if !strings.Contains(html, want) {
			t.Errorf("the sheet does not say %q:\n%s", want, html)
		}
	}
	out.Reset()
	if err := pages.ExecuteTemplate(&out, "sheet", web.Turn{ID: 1, Status: "answered"}); err != nil || !strings.Contains(out.String(), "Nothing, and that is fine") {
		t.Errorf("a turn that carried nothing: %v\n%s", err, out.String())
	}
	if turn.LeftOut() != 1 || !turn.Over() || (web.Turn{Status: "running"}).Over() {
		t.Error("the turn counts or ends wrongly")
	}
}
