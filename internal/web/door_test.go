package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/web"
)

// door is a door with a page, a script's address and a clock that stands.
type door struct {
	*web.Door
	t       *testing.T
	now     time.Time
	pages   http.Handler
	api     http.Handler
	reached int
}

func newDoor(t *testing.T, token string, change ...func(*web.DoorOptions)) *door {
	t.Helper()
	assets, err := web.NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	o := web.DoorOptions{Token: attache.NewSecret(token), Assets: assets, Now: func() time.Time { return d.now }}
	for _, f := range change {
		f(&o)
	}
	if d.Door, err = web.NewDoor(o); err != nil {
		t.Fatal(err)
	}
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { d.reached++ })
	d.pages, d.api = d.Pages(page), d.API(page)
	return d
}

// ask makes a request of 127.0.0.1:8484 and gives its answer.
func (d *door) ask(h http.Handler, method, target string, form url.Values, change ...func(*http.Request)) *http.Response {
	d.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1:8484"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// login gives a session's cookie.
func (d *door) login(token string) *http.Cookie {
	d.t.Helper()
	a := d.ask(d, "POST", "/login", url.Values{"token": {token}, "next": {"/turns?status=failed"}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/turns?status=failed" || len(a.Cookies()) != 1 {
		d.t.Fatalf("the login is answered with %d %v", a.StatusCode, a.Header)
	}
	return a.Cookies()[0]
}

func with(c *http.Cookie) func(*http.Request) { return func(r *http.Request) { r.AddCookie(c) } }

func head(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// formToken is what the pages of a session put into their forms.
func (d *door) formToken(c *http.Cookie) string {
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(c)
	return d.FormToken(r)
}

// Who did not log in is sent to the login, or answered with 401; who did comes in.
// row N5 (the login)
func TestDoor(t *testing.T) {
	d := newDoor(t, "secret-token")
	c := d.login("secret-token")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || strings.Contains(c.Value, "secret") {
		t.Errorf("the cookie is %v", c)
	}
	token := d.formToken(c)
	form := func(token string) url.Values { return url.Values{"token": {token}, "text": {"x"}} }
	for name, x := range map[string]struct {
		api    bool
		method string
		form   url.Values
		change []func(*http.Request)
		want   int
		to     string
	}{
		"a page":                        {change: []func(*http.Request){with(c)}, want: 200},
		"an address of the API":         {api: true, change: []func(*http.Request){with(c)}, want: 200},
		"a page, nobody":                {want: 303, to: "/login?next=%2Fturns%2F7%3Fa%3Db"},
		"an address of the API, nobody": {api: true, want: 401},
		"a script":                      {api: true, change: []func(*http.Request){head("Authorization", "Bearer secret-token")}, want: 200},
		"a script that changes":         {api: true, method: "POST", form: form(""), change: []func(*http.Request){head("Authorization", "Bearer secret-token")}, want: 200},
		"a script, wrong":               {api: true, change: []func(*http.Request){head("Authorization", "Bearer secret"), with(c)}, want: 401},
		"another way to show it":        {api: true, change: []func(*http.Request){head("Authorization", "Basic secret-token")}, want: 401},
		"a cookie of ours, changed":     {change: []func(*http.Request){with(&http.Cookie{Name: c.Name, Value: "A" + c.Value[1:]})}, want: 303, to: "/login?next=%2Fturns%2F7%3Fa%3Db"},
		"a cookie that is none":         {change: []func(*http.Request){with(&http.Cookie{Name: c.Name, Value: "%%%"})}, want: 303, to: "/login?next=%2Fturns%2F7%3Fa%3Db"},
		"the token as a cookie":         {change: []func(*http.Request){with(&http.Cookie{Name: c.Name, Value: "secret-token"})}, want: 303, to: "/login?next=%2Fturns%2F7%3Fa%3Db"},
		"a form":                        {method: "POST", form: form(token), change: []func(*http.Request){with(c)}, want: 200},
		"a form, nobody":                {method: "POST", form: form(token), want: 303, to: "/login"},
		"a form without its token":      {method: "POST", form: form(""), change: []func(*http.Request){with(c)}, want: 403},
		"a form of another session":     {method: "POST", form: form(d.formToken(d.login("secret-token"))), change: []func(*http.Request){with(c)}, want: 403},
		"another site's form":           {method: "POST", form: form(token), change: []func(*http.Request){with(c), head("Sec-Fetch-Site", "cross-site")}, want: 403},
		"another origin's form":         {method: "POST", form: form(token), change: []func(*http.Request){with(c), head("Origin", "http://evil.example")}, want: 403},
		"a script with a cookie":        {api: true, method: "POST", form: form(""), change: []func(*http.Request){with(c)}, want: 403},
		"too much":                      {method: "POST", form: url.Values{"text": {strings.Repeat("y", 300<<10)}, "token": {token}}, change: []func(*http.Request){with(c)}, want: 403},
		"a name that leads here":        {change: []func(*http.Request){with(c), func(r *http.Request) { r.Host = "evil.example" }}, want: 421},
	} {
		h, method, before := d.pages, x.method, d.reached
		if x.api {
			h = d.api
		}
		if method == "" {
			method = "GET"
		}
		a := d.ask(h, method, "/turns/7?a=b", x.form, x.change...)
		if a.StatusCode != x.want || a.Header.Get("Location") != x.to || (d.reached > before) != (x.want == 200) {
			t.Errorf("%s: %d to %q, want %d to %q", name, a.StatusCode, a.Header.Get("Location"), x.want, x.to)
		}
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the headers are %v", name, a.Header)
		}
	}
}

// A restart with the same token keeps a session, another token ends it, and so do
// its time and a logout.
func TestSessionsEnd(t *testing.T) {
	d := newDoor(t, "secret-token")
	c := d.login("secret-token")
	in := func(d *door) bool { return d.ask(d.pages, "GET", "/", nil, with(c)).StatusCode == 200 }
	if !in(newDoor(t, "secret-token")) {
		t.Error("a restart ends the session")
	}
	if in(newDoor(t, "another-token")) {
		t.Error("a session outlives its token")
	}
	if a := d.ask(d, "POST", "/logout", url.Values{}, with(c)); a.StatusCode != 403 || !in(d) {
		t.Errorf("another site's page logs the owner out: %d", a.StatusCode)
	}
	if a := d.ask(d, "GET", "/logout", nil, with(c)); a.StatusCode != 404 || !in(d) {
		t.Errorf("a link logs the owner out: %d", a.StatusCode)
	}
	if a := d.ask(d, "GET", "/login?next=/chats", nil, with(c)); a.StatusCode != 303 || a.Header.Get("Location") != "/chats" {
		t.Errorf("somebody who is in is asked again: %d %v", a.StatusCode, a.Header)
	}
	a := d.ask(d, "POST", "/logout", url.Values{"token": {d.formToken(c)}}, with(c))
	if a.StatusCode != 303 || a.Header.Get("Location") != "/login" || len(a.Cookies()) != 1 || a.Cookies()[0].MaxAge >= 0 || in(d) {
		t.Errorf("a logout: %d %v", a.StatusCode, a.Header)
	}
	old := newDoor(t, "secret-token")
	old.now = old.now.Add(15 * 24 * time.Hour)
	if in(old) {
		t.Error("a session outlives its time")
	}
}

// The way on after a login stays here.
func TestLoginLeadsNowhereElse(t *testing.T) {
	d := newDoor(t, "secret-token")
	for next, want := range map[string]string{"/turns?x=1": "/turns?x=1", "": "/", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/", "turns": "/", "javascript:alert(1)": "/",
		"/login": "/", "/logout?x": "/", "/\n/evil.example": "/", "http:/turns": "/"} {
		a := d.ask(d, "POST", "/login", url.Values{"token": {"secret-token"}, "next": {next}})
		if a.Header.Get("Location") != want {
			t.Errorf("%q leads to %q, want %q", next, a.Header.Get("Location"), want)
		}
		page := d.ask(d, "GET", "/login?next="+url.QueryEscape(next), nil)
		if page.StatusCode != 200 || page.Header.Get("Set-Cookie") != "" {
			t.Errorf("the login with %q: %d %v", next, page.StatusCode, page.Header)
		}
	}
	if a := d.ask(d, "POST", "/login", url.Values{"token": {"secret-token"}}, head("Sec-Fetch-Site", "cross-site")); a.StatusCode != 403 || len(a.Cookies()) > 0 {
		t.Errorf("another site logs somebody in: %d", a.StatusCode)
	}
}

// Who guesses is slowed down, by address: the right token too has to wait, or it
// would be no brake.
func TestWrongTokensAreSlowedDown(t *testing.T) {
	d := newDoor(t, "secret-token")
	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = address }
	}
	try := func(token string, change ...func(*http.Request)) (int, int) {
		a := d.ask(d, "POST", "/login", url.Values{"token": {token}}, change...)
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		return a.StatusCode, after
	}
	attacker := from("203.0.113.9:1000")
	for range 3 {
		if code, _ := try("guess", attacker); code != 401 {
			t.Fatalf("a wrong token: %d", code)
		}
	}
	for _, pause := range []int{1, 2, 4, 8, 16, 30, 30} {
		if code, after := try("secret-token", attacker); code != 429 || after != pause {
			t.Errorf("at once again: %d, wait %d s, want %d", code, after, pause)
		}
		if a := d.ask(d.api, "GET", "/api/turns", nil, attacker, head("Authorization", "Bearer secret-token")); a.StatusCode != 429 {
			t.Errorf("by another way: %d", a.StatusCode)
		}
		if code, _ := try("secret-token", from("203.0.113.10:1000")); code != 303 {
			t.Errorf("somebody else: %d", code)
		}
		d.now = d.now.Add(time.Duration(pause) * time.Second)
		if code, _ := try("guess", attacker); code != 401 {
			t.Errorf("after the pause: %d", code)
		}
	}
	d.now = d.now.Add(30 * time.Second)
	if code, _ := try("secret-token", attacker); code != 303 {
		t.Errorf("the right token after the pause: %d", code)
	}
	if code, _ := try("guess", attacker); code != 401 {
		t.Errorf("the first slip after it: %d", code)
	}
	// Behind a proxy of this machine its word counts, and only there.
	for range 4 {
		try("guess", from("127.0.0.1:1"), head("X-Forwarded-For", "198.51.100.1, 192.0.2.1"))
		try("guess", from("203.0.113.77:1"), head("X-Forwarded-For", "192.0.2.3"))
	}
	for name, x := range map[string]struct {
		at, forwarded string
		want          int
	}{"the same": {"127.0.0.1:2", "10.9.9.9, 192.0.2.1", 429}, "another": {"127.0.0.1:2", "192.0.2.2", 303}, "who only says so": {"203.0.113.77:2", "192.0.2.4", 429}, "whom he named": {"127.0.0.1:2", "192.0.2.3", 303}} {
		if code, _ := try("secret-token", from(x.at), head("X-Forwarded-For", x.forwarded)); code != x.want {
			t.Errorf("%s: %d, want %d", name, code, x.want)
		}
	}
	// One person has a whole network of IPv6.
	for i := range 4 {
		try("guess", from("[2001:db8::"+strconv.Itoa(i+1)+"]:1"))
	}
	if code, _ := try("secret-token", from("[2001:db8::ffff]:1")); code != 429 {
		t.Errorf("another address of the same network: %d", code)
	}
}

// A crowd of addresses takes no memory without end, and is slowed down as one.
func TestManyGuessers(t *testing.T) {
	d := newDoor(t, "secret-token")
	code := 0
	for i := range 1100 {
		a := d.ask(d, "POST", "/login", url.Values{"token": {"guess"}}, func(r *http.Request) {
			r.RemoteAddr = "198.18." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250) + ":1"
		})
		code = a.StatusCode
	}
	if code != 429 {
		t.Errorf("the last of a crowd: %d", code)
	}
}

// Where others can reach the address, the pages answer under any name, and the
// login alone protects them. Behind TLS the cookie is bound to it.
func TestDoorUnderOtherNames(t *testing.T) {
	open := newDoor(t, "secret-token", func(o *web.DoorOptions) { o.AnyHost = true })
	named := newDoor(t, "secret-token", func(o *web.DoorOptions) { o.Hosts = []string{"bot.example.org"} })
	under := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, x := range []struct {
		d    *door
		name string
		want int
	}{{open, "bot.example.org", 303}, {open, "10.0.0.7:8484", 303}, {named, "bot.example.org", 303}, {named, "other.example.org", 421}, {named, "localhost:8484", 303}} {
		if a := x.d.ask(x.d.pages, "GET", "/", nil, under(x.name)); a.StatusCode != x.want {
			t.Errorf("%s: %d, want %d", x.name, a.StatusCode, x.want)
		}
	}
	a := named.ask(named, "POST", "/login", url.Values{"token": {"secret-token"}}, under("bot.example.org"), head("X-Forwarded-Proto", "https"), head("Origin", "https://bot.example.org"))
	if a.StatusCode != 303 || len(a.Cookies()) != 1 || !a.Cookies()[0].Secure {
		t.Errorf("behind TLS: %d %v", a.StatusCode, a.Header)
	}
}

// Without a token nobody could come in, so there is no door.
func TestNoDoorWithoutToken(t *testing.T) {
	assets, err := web.NewAssets()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.NewDoor(web.DoorOptions{Assets: assets, Now: time.Now}); err == nil {
		t.Error("a door without a token")
	}
}
