package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attache/cmd/bot/demo"
	"attache/internal/store"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
	"attache/internal/web/webtest"
)

// operatorToken is the admin token of the tests.
const operatorToken = "the-operators-own-token"

// desk is a running program with its pages.
type desk struct {
	exampleTalk
	url    string
	client *http.Client
}

// openDesk runs the example's brain with the rehearsal model and its pages.
func openDesk(t *testing.T) *desk {
	t.Helper()
	w, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Sim.Close)
	s := &stage{t: t, sim: w.Sim, url: w.URL, bot: w.Bot, dsn: storetest.DSN(t)}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		t.Setenv(name, "")
	}
	getenv, closeModel, err := demoModel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeModel)
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		t.Setenv(name, getenv(name))
	}
	t.Setenv("ATTACHE_ADMIN_TOKEN", operatorToken)
	address := freeAddress(t)
	brain := exampleBrain(t)
	manifest, err := os.ReadFile(filepath.Join(brain, "constitution", "MANIFEST.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, brain, "constitution/MANIFEST.yaml", string(manifest)+"telegram: { pace: off }\n")
	s.start("--brain", brain, "--listen", address)
	d := &desk{exampleTalk{s, w, map[*telegramsim.Chat]int{}}, "http://" + address, client()}
	d.served()
	return d
}

// client follows nothing.
func client() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// served waits until the program answers.
func (d *desk) served() {
	d.t.Helper()
	storetest.Until(d.t, "the program answers", func() bool {
		answer, err := d.client.Get(d.url + "/readyz") //nolint:noctx // it is asked until it is there
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	})
}

// ask makes a request; with a token as a script does.
func (d *desk) ask(method, path, token string, form url.Values) (int, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		d.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := d.client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// read reads a JSON twin.
func (d *desk) read(path string, into any) string {
	d.t.Helper()
	code, body := d.ask("GET", path, operatorToken, nil)
	if code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, code, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		d.t.Fatalf("%s: %v\n%s", path, err, body)
	}
	return body
}

// What a running program did stands on its pages and in their twins, and nowhere for
// somebody without the token.
//
// rows N5 (but shared context and approvals), G8, N7 (metrics behind the login)
func TestPagesOfARunningProgram(t *testing.T) {
	d := openDesk(t)
	d.say("dan", "acme", "@nova_bot when does the spring campaign start?")
	d.say("ann", "dm", "Hello, who are you?")

	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/telegram/": 404, "/telegram/nova/x": 404, "/hooks/x": 404, "/": 303, "/turns": 303, "/turns/1": 303, "/system/context": 303, "/chats": 303, "/doctor": 303, "/usage": 303, "/approvals": 303, "/nothing": 303,
		"/login": 200, "/api/turns": 401, "/api/system/context": 401, "/api/chats": 401, "/api/doctor": 401, "/api/usage": 401, "/api/approvals": 401, "/api/nothing": 401, "/metrics": 401} {
		if code, body := d.ask("GET", path, "", nil); code != want {
			t.Errorf("%s without a login: %d, want %d\n%s", path, code, want, body)
		}
	}
	if code, body := d.ask("GET", "/metrics", operatorToken, nil); code != 200 || !strings.Contains(body, "attache_turns_total") {
		t.Errorf("/metrics: %d\n%s", code, body)
	}
	for _, path := range []string{"/", "/turns", "/turns/1", "/system/context", "/system/context?window=30d", "/chats", "/doctor", "/usage", "/approvals"} {
		if code, body := d.ask("GET", path, operatorToken, nil); code != 200 || strings.Contains(body, operatorToken) {
			t.Errorf("%s: %d\n%s", path, code, body)
		}
	}

	var turns struct {
		Turns []struct {
			ID       int64
			Status   string
			Role     string
			Title    string
			Text     string
			Contexts []struct{ Context, Entity, Link, Status string }
		}
	}
	d.read("/api/turns", &turns)
	if len(turns.Turns) != 2 {
		t.Fatalf("the list has %+v", turns)
	}
	acme := turns.Turns[1]
	if acme.Status != "answered" || !strings.Contains(acme.Text, "spring campaign") || len(acme.Contexts) == 0 || acme.Contexts[0].Entity != "acme" || acme.Contexts[0].Link != "chat" {
		t.Errorf("the turn in the client's group is %+v", acme)
	}

	var printed bytes.Buffer
	if code := run(context.Background(), []string{"turns", "1", "--json", "--database-url", d.dsn, "--brain", "../../brain-example"}, stdio{strings.NewReader(""), &printed, io.Discard}); code != 0 {
		t.Fatalf("attache turns ended with %d", code)
	}
	var told any
	if body := d.read("/api/turns/1", &told); body != printed.String() {
		t.Errorf("the twin of a turn is\n%s\nand attache turns --json prints\n%s", body, printed.String())
	}

	var use struct {
		Window string
		Roles  []struct {
			Role     string
			Turns    int
			Contexts []struct {
				Context   string
				Attached  int
				Share     float64
				MeanChars int
				Links     map[string]int
			}
		}
	}
	d.read("/api/system/context?window=24h", &use)
	found := false
	for _, r := range use.Roles {
		for _, c := range r.Contexts {
			found = found || r.Role == acme.Role && r.Turns == 1 && c.Context == acme.Contexts[0].Context && c.Attached == 1 && c.Share == 1 && c.MeanChars > 0 && c.Links["chat"] == 1
		}
	}
	if !found || use.Window != "24h" {
		t.Errorf("the window tells %+v of a turn of %s", use, acme.Role)
	}
	if _, body := d.ask("GET", "/system/context", operatorToken, nil); !strings.Contains(body, "Feature contexts carried") || !strings.Contains(body, acme.Contexts[0].Context) {
		t.Errorf("the page tells\n%s", body)
	}

	var spent struct {
		Events int
		Cost   any
		Tokens struct{ In, CacheRead int }
		Pieces []struct{ Events int }
	}
	d.read("/api/usage?window=24h", &spent)
	if spent.Events < 2 || spent.Cost != "unknown" || spent.Tokens.In == 0 || len(spent.Pieces) != 24 || spent.Pieces[23].Events+spent.Pieces[22].Events != spent.Events {
		t.Errorf("usage tells %+v", spent)
	}
	var doctor struct{ Findings []struct{ Check string } }
	d.read("/api/doctor", &doctor)
	for _, path := range []string{"/api/turns?status=fine", "/api/turns?chat=family", "/api/usage?window=1y", "/api/turns?limit=0"} {
		if code, body := d.ask("GET", path, operatorToken, nil); code != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/api/turns/999", "/api/turns/x", "/api/chats/nova/77", "/api/chats/rex/-1001"} {
		if code, body := d.ask("GET", path, operatorToken, nil); code != 404 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// age makes the origins of all posts older, once there are any: the post stands in the
// chat a moment before its record does.
func (d *desk) age(by time.Duration) {
	d.t.Helper()
	db, err := store.Open(d.t.Context(), d.dsn, store.Options{MaxConns: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for {
		tag, err := db.Pool().Exec(ctx, `update attache.message_origins set at = at - $1::interval`, by)
		if err != nil {
			d.t.Fatal("no post has an origin: ", err)
		}
		if tag.RowsAffected() > 0 {
			return
		}
	}
}

// An owner's line goes into the chat from its page, and a reply to it quotes it as
// such; a chat without a rule is told nothing.
//
// rows C12, N5 (C12: a line of the chats page, at any age; N5: but shared context and approvals)
func TestALineFromTheChatsPage(t *testing.T) {
	d := openDesk(t)
	c, _, ok := d.w.Find("dan", "acme")
	if !ok {
		t.Fatal("the demo has no acme")
	}
	d.say("dan", "acme", "@nova_bot hello")
	var chats struct {
		Chats []struct {
			Place struct {
				Bot    string
				Chat   int64
				Thread int64
			}
			Title    string
			Rule     *struct{ Role string }
			Bindings []struct{ Context, Entity, Source string }
			Pin      map[string]*string
			Last     *struct{ ID int64 }
		}
	}
	d.read("/api/chats", &chats)
	first := chats.Chats[0]
	if first.Place.Chat != int64(c.Room.ID) || first.Rule == nil || first.Last == nil || len(first.Bindings) == 0 || first.Bindings[0].Source != "access.yaml" || first.Pin["client"] == nil || *first.Pin["client"] != "acme" {
		t.Errorf("the chat that was spoken in last is told as %+v", first)
	}
	path := "/api/chats/nova/" + strings.TrimPrefix(c.Room.ID.String(), "tg:chat:")
	before := len(c.Room.Posts())
	if code, body := d.ask("POST", path, operatorToken, url.Values{"text": {"The office is closed on **Friday**."}}); code != 202 {
		t.Fatalf("saying a line: %d %s", code, body)
	}
	posts := d.await(c.Room, before+1)
	if posts[before] != "The office is closed on Friday." {
		t.Errorf("the chat shows %q", posts)
	}
	line := c.Room.Posts()[before]
	d.age(10 * 365 * 24 * time.Hour) // far beyond messageOrigins.retentionDays
	if _, err := c.Room.Send(telegramsim.Line{From: d.w.Person("dan").User, Text: "until when?", ReplyTo: line.ID}); err != nil {
		t.Fatal(err)
	}
	d.await(c.Room, before+2)
	var turn struct{ Prompt map[string]string }
	d.read("/api/turns/2", &turn)
	if !strings.Contains(turn.Prompt["input"], `kind="lines"`) || !strings.Contains(turn.Prompt["input"], "The office is closed") {
		t.Errorf("the reply's input is\n%s", turn.Prompt["input"])
	}
	for _, c := range []struct {
		path, text string
		want       int
	}{{path, "  ", 400}, {"/api/chats/nova/-4040", "hello", 404}, {path, strings.Repeat("x", 16385), 400}} {
		if code, body := d.ask("POST", c.path, operatorToken, url.Values{"text": {c.text}}); code != c.want || !strings.Contains(body, `"error"`) {
			t.Errorf("saying %.10q to %s: %d %s, want %d", c.text, c.path, code, body, c.want)
		}
	}
	if code, _ := d.ask("POST", path, "", url.Values{"text": {"hello"}}); code != 401 {
		t.Errorf("a line of a stranger: %d", code)
	}
	if n := len(c.Room.Posts()); n != before+2 {
		t.Errorf("%d posts, want %d", n, before+2)
	}
}

// The whole way in a browser: login, list, turn, System → Context, and a line.
//
// row N5 (but shared context and approvals)
func TestPagesInABrowser(t *testing.T) {
	d := openDesk(t)
	for _, words := range []string{"@nova_bot when does the spring campaign start?", "@nova_bot and who has the drafts?"} {
		d.say("dan", "acme", words)
	}
	d.say("ann", "dm", "What is there to eat on Friday?")
	b := webtest.Start(t)
	p := b.Open(d.url+"/turns", 1200, 900)
	p.Until(`document.activeElement.id === "token"`)
	p.Type(operatorToken)
	p.Key("Enter")
	p.Until(`location.pathname === "/turns" && document.querySelectorAll(".row").length === 3`)
	p.Click("#turn-2")
	p.Until(`location.pathname === "/turns/2" && document.querySelector("#sheet-carried").parentElement.innerText.includes("acme")`)
	shots(t, p, "turn")
	p.Click("#prompt-0 summary")
	p.Until(`document.querySelector("#prompt-0 pre").innerText.length > 500`)
	p.Go(d.url + "/system/context")
	p.Until(`document.querySelector("#carried").innerText === "Feature contexts carried" && document.querySelector(".uses")`)
	shots(t, p, "context")
	p.Go(d.url + "/")
	shots(t, p, "overview")
	p.Go(d.url + "/chats")
	shots(t, p, "chats")
	p.Go(d.url + "/doctor")
	shots(t, p, "doctor")
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Errorf("the console shows: %s", strings.Join(wrong, "\n"))
	}
}

// Beside the playground the same pages need no login, answer this machine only, and
// lead back; a line is said with the page's own token and not without.
//
// row N4
func TestPagesBesideThePlayground(t *testing.T) {
	d := startDemo(t)
	b := webtest.Start(t)
	p := b.Open(d.url+"/", 1200, 860)
	shots(t, p, "playground")
	p.Click(`.sheet-bar a[href="/turns"]`)
	p.Until(`location.pathname === "/turns"`)
	p.Click(`a[href="/system/context"]`)
	p.Until(`location.pathname === "/system/context" && document.querySelector("#carried") && getComputedStyle(document.querySelector(".top")).borderBottomWidth === "1px"`)
	p.Click(`a[href="/chats"]`)
	p.Until(`document.querySelectorAll(".row").length > 3`)
	p.Eval(`[...document.querySelectorAll(".row-main")].find(e => e.innerText.includes("Family")).click()`, nil)
	p.Until(`document.querySelector("#text")`)
	p.Click("#text")
	p.Type("Dinner is at seven.")
	p.Click(".say button")
	p.Until(`location.search === "?said=1"`)
	c, _, ok := d.w.Find("ann", "family")
	if !ok {
		t.Fatal("the demo has no family")
	}
	ctx, cancel := context.WithTimeout(t.Context(), webtest.Patience)
	defer cancel()
	if err := d.w.Sim.Wait(ctx, func() bool { return len(c.Room.Posts()) == 1 }); err != nil || c.Room.Posts()[0].Text != "Dinner is at seven." {
		t.Errorf("the family reads %+v, %v", c.Room.Posts(), err)
	}
	p.Click(`.top nav a[href="/"]`)
	p.Until(`document.querySelector("#words")`)
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Errorf("the console shows: %s", strings.Join(wrong, "\n"))
	}
	for _, c := range []struct {
		method, host string
		want         int
	}{{"POST", "", 403}, {"GET", "evil.example", 421}} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, d.url+"/chats/nova/-1001", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s under %q: %d", c.method, c.host, answer.StatusCode)
		}
	}
}

// shots keeps a picture where ATTACHE_SHOTS names a folder, for eyes and for docs.
func shots(t *testing.T, p *webtest.Page, name string) {
	t.Helper()
	if dir := os.Getenv("ATTACHE_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "live-"+name+".png"), p.Shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
