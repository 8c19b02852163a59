package playground_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/web"
	"attache/internal/web/playground"
)

// client is a browser without a script.
type client struct {
	t     *testing.T
	http  *http.Client
	base  string
	token string
}

func newClient(t *testing.T, base string) *client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, http: &http.Client{Jar: jar, Timeout: 10 * time.Second}, base: base}
}

func (c *client) get(path string) (int, string) {
	c.t.Helper()
	r, err := c.http.Get(c.base + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if m := regexp.MustCompile(`data-token="([A-Z0-9]+)"`).FindSubmatch(body); m != nil {
		c.token = string(m[1])
	}
	return r.StatusCode, string(body)
}

func (c *client) post(path string, form url.Values) (int, string) {
	c.t.Helper()
	form.Set("token", c.token)
	r, err := c.http.PostForm(c.base+path, form)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(body)
}

// The page works without its script: links lead, forms are sent and lead back.
func TestPageWithoutScript(t *testing.T) {
	w := newToy()
	_, url_ := serve(t, w)
	c := newClient(t, url_)
	status, page := c.get("/")
	if status != 200 || !strings.Contains(page, "Message as Ann") || !strings.Contains(page, `href="/as/bo/nova-bo/0"`) {
		t.Fatalf("the first page: %d\n%s", status, page)
	}
	if _, page := c.get("/as/ann/desk/2"); !strings.Contains(page, `href="/as/bo/desk/2"`) || !strings.Contains(page, "Billing") {
		t.Errorf("who changes the person in a group stays there:\n%s", page)
	}
	status, page = c.post("/as/bo/family/0/say", url.Values{"text": {"two\r\nlines "}, "reply": {"7"}})
	if status != 200 || !strings.Contains(page, "two\nlines") {
		t.Fatalf("after a form: %d\n%s", status, page)
	}
	if a := w.done()[0]; a.Do != playground.Say || a.Text != "two\nlines" || a.Person.Key != "bo" || a.Chat != "family" || a.ReplyTo != 7 {
		t.Errorf("%+v", a)
	}
	for name, want := range map[string]string{"edit": "mended", "press": "", "stop": ""} {
		if status, body := c.post("/as/bo/family/0/"+name, url.Values{"text": {want}, "message": {"1"}, "button": {"b"}}); status != 200 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if _, page := c.get("/as/bo/family/0"); !strings.Contains(page, "mended") || !strings.Contains(page, "edited") {
		t.Error("the edit is not seen")
	}
}

func TestWrongAddressesAndWrongWords(t *testing.T) {
	w := newToy()
	_, base := serve(t, w)
	c := newClient(t, base)
	c.get("/")
	for _, path := range []string{"/as/nobody/family/0", "/as/ann/nowhere/0", "/as/ann/family/9", "/as/ann/family/x", "/as/ann/nova-bo/0", "/as/ann/desk/99", "/file/family/1", "/file/x/y", "/assets/x", "/x", "/as/ann/nova-bo/0/live"} {
		if status, _ := c.get(path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	for name, c2 := range map[string]struct {
		path, text, want string
		status           int
	}{
		"nothing":           {"/as/ann/family/0/say", "  ", "no words", 422},
		"an empty edit":     {"/as/ann/family/0/edit", "", "no words", 422},
		"refused":           {"/as/ann/family/0/say", "refuse me", "told to <b>refuse</b>", 422},
		"no such deed":      {"/as/ann/family/0/rob", "x", "Nobody can do that", 422},
		"another's private": {"/as/ann/nova-bo/0/say", "x", "", 404},
	} {
		if status, body := c.post(c2.path, url.Values{"text": {c2.text}}); status != c2.status || !strings.Contains(body, c2.want) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	r, err := c.http.PostForm(base+"/as/ann/family/0/say", url.Values{"text": {"refuse me"}, "token": {c.token}})
	if err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("a refusal is %v %v", r.Header, err)
	}
	c.token = "old"
	if status, body := c.post("/as/ann/family/0/say", url.Values{"text": {"x"}}); status != 403 || !strings.Contains(body, "Load it again") {
		t.Errorf("an old token: %d %s", status, body)
	}
	if n := len(w.done()); n != 0 {
		t.Errorf("%d deeds were done", n)
	}
}

// upload sends a file as the composer does.
func (c *client) upload(path, name, mime string, data []byte) (int, string) {
	c.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	part, _ := m.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}, "Content-Type": {mime}})
	_, _ = part.Write(data)
	_ = m.WriteField("text", "a caption")
	_ = m.Close()
	r, _ := http.NewRequest("POST", c.base+path, &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("X-Token", c.token)
	got, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	return got.StatusCode, string(text)
}

func picture(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Files go out as a client would send them, and come back as what can do no harm.
func TestFiles(t *testing.T) {
	w := newToy()
	_, base := serve(t, w)
	c := newClient(t, base)
	c.get("/")
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
	for i, f := range []struct {
		name, mime string
		data       []byte
		kind, back string
	}{
		{"a.png", "image/png", picture(t), "photo", "image/png"},
		{"evil.svg", "image/svg+xml", svg, "document", "application/octet-stream"},
		{"evil.html", "text/html", []byte("<script>alert(1)</script>"), "document", "application/octet-stream"},
		{"lie.png", "image/png", []byte("<script>alert(1)</script>"), "document", "application/octet-stream"},
		{"v.ogg", "audio/ogg", []byte("OggS1234"), "voice", "audio/ogg"},
		{"m.mp3", "audio/mpeg", []byte("ID3"), "audio", "audio/mpeg"},
		{"f.mp4", "video/mp4", []byte("0000ftyp"), "video", "video/mp4"},
	} {
		if status, body := c.upload("/as/ann/family/0/say", f.name, f.mime, f.data); status != 204 {
			t.Fatalf("%s: %d %s", f.name, status, body)
		}
		if got := w.done()[i].File; got.Kind != f.kind || got.Name != f.name || !bytes.Equal(got.Data, f.data) {
			t.Errorf("%s went out as %s %s", f.name, got.Kind, got.Name)
		}
		r, err := c.http.Get(base + "/file/family/" + string(rune('1'+i)))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.Header.Get("Content-Type") != f.back || !strings.Contains(r.Header.Get("Content-Security-Policy"), "sandbox") ||
			(f.back == "application/octet-stream") != (r.Header.Get("Content-Disposition") == "attachment") {
			t.Errorf("%s comes back as %v", f.name, r.Header)
		}
	}
	_, page := c.get("/as/ann/family/0")
	for _, want := range []string{`width="40" height="30"`, `download="evil.svg"`, `<audio controls`, `<video controls`, "a caption"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if status, body := c.upload("/as/ann/family/0/say", "big", "x/y", make([]byte, 21<<20)); status != 422 || !strings.Contains(body, "too large") {
		t.Errorf("a file of 21 MB: %d %s", status, body)
	}
}

// Nothing that somebody wrote becomes markup, wherever it stands.
func TestHostileWords(t *testing.T) {
	w := newToy()
	evil := "</div></article><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202eRTL"
	who := attache.Person{ID: "tg:user:666", Name: evil}
	w.change(func() {
		c := w.chat("desk")
		c.Title, c.About, c.Try = evil, evil, []string{evil}
		c.Topics = append(c.Topics, playground.Topic{ID: 9, Name: evil})
		c.Signs = []playground.Sign{{Thread: 9, Who: who, Draft: &playground.Post{From: who, Text: evil}, CanStop: true}, {Thread: 9, Notice: evil, For: "tg:user:101"}}
		w.bad = []attache.Problem{{File: evil, Line: 1, What: evil, Do: evil}}
	})
	id := w.post("desk", playground.Post{Thread: 9, From: who, Text: evil, Marks: []attache.Mark{{Kind: "text_link", Length: 5, URL: "javascript:alert(1)"}},
		Buttons: [][]attache.Button{{{Text: evil, Data: evil}, {Text: "x", URL: "javascript:alert(1)"}}}, Quote: evil, ReplyTo: 1})
	w.post("desk", playground.Post{Thread: 9, From: who, Bot: true, Rich: evil + "\n\n[x](javascript:alert(1))", ReplyTo: id})
	w.post("desk", playground.Post{Thread: 9, From: who, File: &playground.File{Kind: "document", Name: evil, MIME: evil}})
	w.post("desk", playground.Post{Thread: 9, From: who, Service: evil})
	w.post("desk", playground.Post{Thread: 9, From: who, Text: strings.Repeat("w", 10000)})
	w.change(func() {
		w.turns[id+1] = web.Turn{ID: 1, Status: "answered", Links: []web.Link{{Context: evil, Status: "attached"}}, Prompt: []web.Message{{Text: evil}}}
	})
	_, base := serve(t, w)
	_, page := newClient(t, base).get("/as/ann/desk/9")
	ours := regexp.MustCompile(`<script src="/assets/[0-9a-f]+/[a-z.]+" defer></script>`)
	page = ours.ReplaceAllString(page, "")
	for _, bad := range []string{"<script", "<img", `href="javascript`, "</article><"} {
		if i := strings.Index(page, bad); i >= 0 && bad != "</article><" {
			t.Errorf("%s came through: …%s…", bad, page[max(0, i-100):min(len(page), i+100)])
		}
	}
	if n := strings.Count(page, "<article"); n != strings.Count(page, "</article>") || n != 4 {
		t.Errorf("%d articles open, %d close", n, strings.Count(page, "</article>"))
	}
}

// stream reads the events of a page's stream.
type stream struct {
	t  *testing.T
	in *bufio.Reader
}

type event struct {
	Title string
	Put   map[string]string
	Order []string
}

func (c *client) stream(path string) *stream {
	c.t.Helper()
	r, err := (&http.Client{}).Get(c.base + path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = r.Body.Close() })
	return &stream{c.t, bufio.NewReader(r.Body)}
}

func (s *stream) next() event {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: {"); ok {
			var e event
			if err := json.Unmarshal([]byte("{"+data), &e); err != nil {
				s.t.Fatal(err)
			}
			return e
		}
	}
}

// A stream carries the whole page once, and then only what changed.
func TestStreamCarriesChanges(t *testing.T) {
	w := newToy()
	scene(w)
	w.change(func() { w.chat("desk").Signs = nil })
	_, base := serve(t, w)
	s := newClient(t, base).stream("/as/cleo/desk/2/live")
	whole := s.next()
	if len(whole.Order) != 7 || whole.Put["rail"] == "" || whole.Put["m-5"] == "" || whole.Title == "" {
		t.Fatalf("the whole is %d pieces, order %v", len(whole.Put), whole.Order)
	}
	id := w.post("desk", playground.Post{Thread: 2, From: bo(), Text: "one more"})
	e := s.next()
	for !strings.Contains(e.Put["m-"+itoa(id)], "one more") {
		e = s.next()
	}
	if e.Put["m-5"] != "" || e.Put["sheet"] != "" || len(e.Order) != 8 {
		t.Errorf("one message changed %d pieces: %v, order %v", len(e.Put), keys(e.Put), e.Order)
	}
	w.post("family", playground.Post{From: bo(), Text: "elsewhere"})
	e = s.next()
	if len(e.Put) != 1 || !strings.Contains(e.Put["rail"], "elsewhere") || e.Order != nil || !strings.HasPrefix(e.Title, "(") {
		t.Errorf("a message elsewhere changed %v %q", keys(e.Put), e.Title)
	}
	w.change(func() {
		w.chat("desk").Signs = []playground.Sign{{Thread: 2, Who: nova(), Draft: &playground.Post{From: nova(), Text: "I am wri"}, CanStop: true}, {Thread: 3, Who: nova()}}
	})
	if e = s.next(); len(e.Put) != 2 || !strings.Contains(e.Put["signs"], "I am wri") || !strings.Contains(e.Put["signs"], "Stop") {
		t.Errorf("a draft changed %v %s", keys(e.Put), e.Put["signs"])
	}
	w.change(func() { w.chat("desk").Signs, w.chat("desk").Posts[6].Deleted = nil, true })
	for e = s.next(); e.Order == nil; e = s.next() {
	}
	if len(e.Order) != 7 {
		t.Errorf("after a deletion the order is %v", e.Order)
	}
	w.mu.Lock()
	w.bad = []attache.Problem{{File: "constitution/access.yaml", Line: 3, What: "there is no role x"}}
	w.mu.Unlock()
	if e = s.next(); !strings.Contains(e.Put["banner"], "access.yaml:3") ||
		!strings.Contains(e.Put["banner"], "each mistake takes along only what it stands in (MANIFEST.yaml and an unreadable access.yaml keep their last good text)") {
		t.Errorf("a mistake in a file changed %v", keys(e.Put))
	}
}

func itoa(id attache.MessageID) string { return string(rune('0' + id)) }

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// A turn is followed until it is over, although the world does not tell of it.
func TestTurnIsFollowed(t *testing.T) {
	w := newToy()
	id := w.post("nova-ann", playground.Post{From: ann(), Text: "hello"})
	w.turns[id] = web.Turn{ID: 5, Status: "running"}
	_, base := serve(t, w)
	s := newClient(t, base).stream("/as/ann/nova-ann/0/live")
	if e := s.next(); !strings.Contains(e.Put["sheet"], "running") || !strings.Contains(e.Put["m-1"], "seen read") {
		t.Errorf("a running turn shows as %s", e.Put["sheet"])
	}
	w.mu.Lock() // no bell: the record changes in the database
	w.turns[id] = web.Turn{ID: 5, Status: "failed", Why: "no model answers"}
	w.mu.Unlock()
	e := s.next()
	if !strings.Contains(e.Put["sheet"], "no model answers") || !strings.Contains(e.Put["m-1"], "carried quiet") {
		t.Errorf("its end shows as %v", e.Put)
	}
}

// What a person has looked at is read, for that person only.
func TestUnread(t *testing.T) {
	w := newToy()
	w.post("family", playground.Post{From: bo(), Text: "one"})
	w.post("family", playground.Post{From: ann(), Text: "two"})
	w.post("nova-bo", playground.Post{From: nova(), Text: "psst"})
	_, base := serve(t, w)
	c := newClient(t, base)
	marks := func(path string) []string {
		_, page := c.get(path)
		_, rail, _ := strings.Cut(page, `<nav id="rail"`)
		rail, _, _ = strings.Cut(rail, "</nav>")
		return regexp.MustCompile(`aria-label="\d+ unread"`).FindAllString(rail, -1)
	}
	if got := marks("/as/ann/nova-ann/0"); strings.Join(got, "") != `aria-label="1 unread"aria-label="2 unread"aria-label="2 unread"` {
		t.Errorf("at first: %v", got) // Family for Ann; then Bo (Family and his own), Cleo (Family)
	}
	marks("/as/ann/family/0")
	if got := marks("/as/ann/nova-ann/0"); strings.Join(got, "") != `aria-label="2 unread"aria-label="2 unread"` {
		t.Errorf("after a look: %v", got)
	}
}

func BenchmarkFrame(b *testing.B) {
	w := newToy()
	for range 300 {
		w.post("family", playground.Post{From: bo(), Text: strings.Repeat("some words ", 20), Marks: []attache.Mark{{Kind: "bold", Length: 4}}})
		w.post("family", playground.Post{From: nova(), Bot: true, Rich: "| a | b |\n|---|---|\n| 1 | 2 |"})
	}
	p, err := playground.New(b.Context(), playground.Options{World: w, People: people(), Turn: w.turn})
	if err != nil {
		b.Fatal(err)
	}
	r, _ := http.NewRequest("GET", "http://127.0.0.1/as/ann/family/0", nil)
	for b.Loop() {
		p.ServeHTTP(nowhere{}, r)
	}
}

type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
