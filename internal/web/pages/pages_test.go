package pages_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/usage"
	"attache/internal/web/pages"
)

// twin reads a twin into a value.
func twin(t *testing.T, url string, into any) {
	t.Helper()
	code, body := get(t, url)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", url, code, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%s: %v\n%s", url, err, body)
	}
}

// Each page has a twin with the same data.
// rows N5 (but shared context and approvals), G8
func TestTwins(t *testing.T) {
	w := scene()
	url := serve(t, w)
	var turns struct {
		Turns []struct {
			ID       int64
			Contexts []struct{ Context, Status, Knob string }
		}
		More bool
	}
	twin(t, url+"/api/turns?status=answered", &turns)
	if len(turns.Turns) != 50 || !turns.More || turns.Turns[0].ID != 120 || turns.Turns[1].Contexts[1].Knob != "contexts.maxActive" {
		t.Errorf("turns: %d, %v, %+v", len(turns.Turns), turns.More, turns.Turns[:2])
	}
	if _, body := get(t, url+"/api/turns/120"); body != "{\n  \"id\": 120\n}\n" {
		t.Errorf("the twin of a turn is not its record: %s", body)
	}
	if _, body := get(t, url+"/api/system/context"); !strings.HasPrefix(strings.Join(strings.Fields(body), ""),
		`{"window":"7d","since":"2026-11-24T00:00:00Z","roles":[{"role":"account","turns":214,"contexts":[{"context":"client","attached":201,"share":0.939,"stubbed":0,"meanChars":812,"links":{"chat":180,"reply":33}},`) ||
		!strings.Contains(strings.Join(strings.Fields(body), ""), `"findings":[{"finding":"context-stubbed","context":"policy","knob":"contexts.maxActive","times":31},`) {
		t.Errorf("the twin of System → Context: %s", body)
	}
	var chats struct {
		Chats []struct {
			Rule *struct{ Line int }
			Pin  map[string]*string
			Last *struct{ ID int64 }
		}
	}
	twin(t, url+"/api/chats", &chats)
	if c := chats.Chats; len(c) != 3 || c[0].Rule.Line != 14 || *c[0].Pin["client"] != "acme" || c[0].Last.ID != 120 || c[2].Rule != nil || c[2].Last != nil {
		t.Errorf("chats: %+v", c)
	}
	if key, there := chats.Chats[0].Pin["ticket"]; key != nil || !there {
		t.Error("a context that is pinned to no key is not told as null")
	}
	var chat struct {
		Chat  struct{ Title string }
		Turns []struct{ ID int64 }
	}
	twin(t, url+"/api/chats/nova/-1001/42", &chat)
	if chat.Chat.Title != "Acme × Agency" || len(chat.Turns) != 20 {
		t.Errorf("one chat: %+v", chat)
	}
	var doctor struct {
		OK       bool
		Findings []struct{ Level string }
	}
	twin(t, url+"/api/doctor", &doctor)
	if doctor.OK || len(doctor.Findings) != 3 || doctor.Findings[0].Level != "fail" {
		t.Errorf("doctor: %+v", doctor)
	}
	if _, body := get(t, url+"/api/approvals"); strings.Join(strings.Fields(body), "") != `{"kept":false,"approvals":[]}` {
		t.Errorf("approvals: %s", body)
	}
}

// A cost that is unknown is never a number, neither in a piece nor in the sum, and
// what is known of it is told beside.
func TestUnknownCosts(t *testing.T) {
	w := scene()
	url := serve(t, w)
	var told struct {
		Cost   any
		Pieces []struct{ Cost any }
		Models []struct {
			Model string
			Cost  any
		}
	}
	twin(t, url+"/api/usage?window=7d", &told)
	if told.Cost != "unknown" || len(told.Pieces) != 7 || told.Pieces[5].Cost != "unknown" || told.Pieces[6].Cost == "unknown" || told.Models[1].Cost != "unknown" {
		t.Errorf("usage: %+v", told)
	}
	_, page := get(t, url+"/usage")
	for _, want := range []string{`<p class="tile-big">unknown</p>`, "4 calls have no price; the others cost", `class="unknown"`, "unknown: 4 calls without a price"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	w.calls = func(edges []time.Time) []usage.Stretch {
		out := make([]usage.Stretch, len(edges)-1)
		for i := range out {
			out[i].Cost = new(float64)
		}
		out[0].Events = 1 // one that cost nothing
		return out
	}
	twin(t, url+"/api/usage", &told)
	if _, page := get(t, url+"/usage"); told.Cost != 0.0 || !strings.Contains(page, `<p class="tile-big">0</p>`) || !strings.Contains(page, "cost nothing") {
		t.Errorf("what cost nothing: %v\n%s", told.Cost, page)
	}
}

// A question that makes no sense is told so, and what is not there too; a source
// that is away leaves a page that says it, and its detail in the log.
func TestWhatCannotBeShown(t *testing.T) {
	w := scene()
	url := serve(t, w)
	for path, want := range map[string]int{"/turns?status=fine": 400, "/turns?kind=x": 400, "/turns?chat=family": 400, "/turns?thread=x": 400, "/turns?before=x": 400, "/turns?limit=1001": 400,
		"/system/context?window=1y": 400, "/usage?window=x": 400, "/turns/999": 404, "/turns/abc": 404, "/chats/nova/-7": 404, "/chats/nova/x": 404, "/nothing": 404} {
		if code, body := get(t, url+"/api"+path); code != want || !strings.Contains(body, `"error": "`) {
			t.Errorf("/api%s: %d %s, want %d", path, code, body, want)
		}
		if code, body := get(t, url+path); code != want || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, "<nav") {
			t.Errorf("%s: %d %s, want %d", path, code, body, want)
		}
	}
	w.away = errAway
	for _, path := range []string{"/turns", "/turns/120", "/system/context", "/chats", "/chats/nova/-1001/42", "/usage", "/doctor"} {
		if code, body := get(t, url+path); code != 503 || strings.Contains(body, errAway.Error()) {
			t.Errorf("%s without its source: %d %s", path, code, body)
		}
	}
	if code, body := get(t, url+"/"); code != 200 || strings.Count(body, "the log has the detail") < 3 {
		t.Errorf("the overview without its sources: %d %s", code, body)
	}
}

// A line that cannot be said is still in the box, with the reason.
func TestALineThatIsRefused(t *testing.T) {
	w := scene()
	address := serve(t, w)
	post := func(path, text string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, strings.NewReader(url.Values{"text": {text}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+token)
		return do(t, r)
	}
	if code, body := post("/chats/nova/-1009", "hello"); code != 422 || !strings.Contains(body, "no rule") {
		t.Errorf("into a chat without a rule: %d %s", code, body)
	}
	if code, body := post("/api/chats/nova/5", "a\r\nb"); code != 202 || !strings.Contains(body, `"ok": true`) {
		t.Errorf("by a script: %d %s", code, body)
	}
	w.sayError = &attache.Error{Kind: attache.KindRefused, Say: "this program does not serve the bot <nova>"}
	if code, body := post("/chats/nova/5", "keep <me>"); code != 422 || !strings.Contains(body, "keep &lt;me&gt;</textarea>") || !strings.Contains(body, "does not serve the bot &lt;nova&gt;") {
		t.Errorf("refused: %d %s", code, body)
	}
	if len(w.said) != 1 {
		t.Errorf("said %q", w.said)
	}
}

// A day of a window is a day of the zone: the one on which clocks change has 25 hours.
func TestEdges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 27, 9, 41, 0, 0, berlin)
	edges, ok := pages.Edges("7d", now)
	if !ok || len(edges) != 8 || !edges[0].Equal(time.Date(2026, 10, 21, 0, 0, 0, 0, berlin)) || !edges[7].Equal(time.Date(2026, 10, 28, 0, 0, 0, 0, berlin)) {
		t.Fatalf("%v", edges)
	}
	if long := edges[5].Sub(edges[4]); long != 25*time.Hour {
		t.Errorf("the 25th of October has %v", long)
	}
	for window, n := range map[string]int{"24h": 25, "30d": 31} {
		edges, ok := pages.Edges(window, now)
		if !ok || len(edges) != n || !edges[n-1].After(now) || edges[n-2].After(now) {
			t.Errorf("%s: %v", window, edges)
		}
	}
	if _, ok := pages.Edges("1y", now); ok {
		t.Error("1y is a window")
	}
}

// Beside the playground the menu leads to it, and every path of the pages is named.
func TestBesideThePlayground(t *testing.T) {
	assets, err := pages.Assets()
	if err != nil {
		t.Fatal(err)
	}
	w := scene()
	p, err := pages.New(pages.Options{Sources: w.sources(), FormToken: func(*http.Request) string { return "t" }, Beside: true, Assets: assets,
		Zone: func() *time.Location { return time.UTC }, Now: clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/turns", nil))
	if body := answer.Body.String(); answer.Code != 200 || !strings.Contains(body, `<a href="/">Playground</a>`) || strings.Contains(body, "Log out") {
		t.Errorf("%d %s", answer.Code, body)
	}
	if !assets.Has(assets.URL("pages.css")) || assets.Has("/assets/x/pages.css") {
		t.Error("the files of the pages are not told from others")
	}
	for _, path := range every() {
		named := path == "/"
		for _, known := range pages.Paths() {
			named = named || strings.HasPrefix(path, known)
		}
		if !named {
			t.Errorf("%s is not among the paths of the pages", path)
		}
	}
}
