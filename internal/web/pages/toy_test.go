package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/contexts"
	"attache/gateway/carried"
	"attache/gateway/ledger"
	"attache/gateway/posts"
	"attache/internal/usage"
	"attache/internal/web"
	"attache/internal/web/pages"
)

// token is the admin's.
const token = "correct-horse-battery"

// toy is the data behind the pages, so that a test can show them anything, also
// what no program would.
type toy struct {
	mu       sync.Mutex
	turns    []pages.Turn // newest first
	told     map[int64]pages.Told
	window   carried.Window
	chats    []pages.Chat
	found    []pages.Finding
	calls    func(edges []time.Time) []usage.Stretch
	said     []string
	sayError error
	away     error // of every source
	now      time.Time
}

func clock() time.Time { return time.Date(2026, 11, 30, 15, 30, 0, 0, time.UTC) }

func (w *toy) sources() pages.Sources {
	return pages.Sources{
		Turns: func(_ context.Context, q ledger.Query) ([]pages.Turn, bool, error) {
			var out []pages.Turn
			for _, t := range w.turns {
				if (q.Status == "" || t.Status == q.Status) && (q.Kind == "" || t.Kind == q.Kind) && (q.Chat == 0 || t.Place.Chat == q.Chat) &&
					(q.Before == 0 || t.ID < q.Before) && (q.After == 0 || t.ID > q.After) {
					out = append(out, t)
				}
			}
			if len(out) <= q.Limit {
				return out, false, w.away
			}
			if q.After > 0 {
				return out[len(out)-q.Limit:], true, w.away
			}
			return out[:q.Limit], true, w.away
		},
		Turn: func(_ context.Context, id int64) (pages.Told, bool, error) {
			t, ok := w.told[id]
			return t, ok, w.away
		},
		Contexts: func(context.Context, []time.Time) (carried.Window, error) { return w.window, w.away },
		Chats:    func(context.Context) ([]pages.Chat, bool, error) { return w.chats, false, w.away },
		Chat: func(_ context.Context, at attache.Place) (pages.Chat, bool, error) {
			for _, c := range w.chats {
				if c.Place == at {
					return c, true, w.away
				}
			}
			return pages.Chat{}, false, w.away
		},
		Findings: func(context.Context, bool) ([]pages.Finding, time.Time, error) {
			return w.found, w.now.Add(-time.Minute), w.away
		},
		Usage: func(_ context.Context, edges []time.Time) ([]usage.Stretch, error) {
			if w.calls == nil {
				return make([]usage.Stretch, len(edges)-1), w.away
			}
			return w.calls(edges), w.away
		},
		Say: func(_ context.Context, at attache.Place, text string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.sayError != nil {
				return w.sayError
			}
			w.said = append(w.said, at.String()+": "+text)
			return nil
		},
	}
}

// serve serves the pages behind their door, as the program does.
func serve(t testing.TB, w *toy) (url string) {
	t.Helper()
	if w.now.IsZero() {
		w.now = clock()
	}
	assets, err := pages.Assets()
	if err != nil {
		t.Fatal(err)
	}
	door, err := web.NewDoor(web.DoorOptions{Token: attache.NewSecret(token), Assets: assets, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pages.New(pages.Options{Sources: w.sources(), FormToken: door.FormToken, Leave: true, Assets: assets,
		Zone: func() *time.Location { return time.UTC }, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/login", door)
	mux.Handle("/logout", door)
	mux.Handle("/assets/", assets)
	mux.Handle("/api/", door.API(p))
	mux.Handle("/", door.Pages(p))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// get asks as a script does, with the token.
func get(t testing.TB, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return do(t, r)
}

func do(t testing.TB, r *http.Request) (int, string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// scene fills the toy with what a day leaves.
func scene() *toy {
	w := &toy{now: clock(), told: map[int64]pages.Told{}}
	at := attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
	dm := attache.Place{Bot: "nova", Chat: 5}
	status := []string{"answered", "answered", "answered", "silent", "failed", "answered"}
	for id := int64(120); id > 0; id-- {
		opened := w.now.Add(-time.Duration(120-id) * 23 * time.Minute)
		place, title := at, "Acme × Agency"
		if id%3 == 0 {
			place, title = dm, "Ann"
		}
		t := pages.Turn{Line: ledger.Line{Record: ledger.Record{ID: id, Place: place, Kind: "chat", Status: status[id%6], Opened: opened, Started: opened, Ended: opened.Add(1400 * time.Millisecond)},
			Title: title, From: "Ann Meier", Text: "When does the spring campaign start, and who has the drafts of the posters?"}, Role: "account"}
		if id%10 == 0 {
			t.Kind, t.Run, t.From, t.Text = "heartbeat", "heartbeat:daily", "", "Write the digest of yesterday."
		}
		t.Contexts = []carried.Record{{Context: "client", Feature: "agency", Entity: "acme", Link: attache.LinkChat, Status: "attached", Chars: 812},
			{Context: "policy", Feature: "desk", Link: attache.LinkAlways, Status: "stub", Knob: "contexts.maxActive"}}
		if id%3 == 0 {
			t.Contexts = nil
		}
		w.turns = append(w.turns, t)
	}
	w.told[120] = told(w.turns[0])
	w.window = carried.Window{
		Roles: []carried.RoleUse{
			{Role: "account", Turns: 214, Contexts: []carried.ContextUse{
				{Context: "client", Attached: 201, Share: .939, MeanChars: 812, Links: map[attache.Link]int{"chat": 180, "reply": 33}},
				{Context: "policy", Attached: 12, Share: .056, Stubbed: 31, MeanChars: 4120, Links: map[attache.Link]int{"ask": 12}},
				{Context: "shopping-list-of-the-whole-family", Stubbed: 4, Links: map[attache.Link]int{}}}},
			{Role: "desk", Turns: 3, Contexts: []carried.ContextUse{}}},
		Findings: []carried.Stubbed{{Finding: "context-stubbed", Context: "policy", Knob: "contexts.maxActive", Times: 31},
			{Finding: "context-stubbed", Context: "shopping-list-of-the-whole-family", Knob: "chars of features/home/list.context.md", Times: 1}},
	}
	acme := attache.EntityKey("acme")
	w.chats = []pages.Chat{
		{Place: at, Title: "Acme × Agency", Rule: &pages.Rule{Kind: "thread", File: "constitution/access.yaml", Line: 14, Role: "account", Engage: "my @name and replies to me"},
			Bindings: []pages.Binding{{Context: "client", Key: "acme", Source: "access.yaml", Bots: []attache.BotID{"nova"}}, {Context: "ticket", Key: "T-481", Source: "context_bind", Thread: true}},
			Pin:      map[attache.ContextID]*attache.EntityKey{"client": &acme, "ticket": nil}, Last: &w.turns[0].Record},
		{Place: dm, Title: "Ann", Rule: &pages.Rule{Kind: "dm", File: "constitution/access.yaml", Line: 4, Role: "account", Engage: "every message"}, Last: &w.turns[3].Record},
		{Place: attache.Place{Bot: "nova", Chat: -1009}, Title: "A group of strangers", Why: "constitution/access.yaml has no rule for tg:chat:-1009 below bots.nova.chats, and no default that holds there"},
	}
	w.found = []pages.Finding{
		{Level: "fail", Check: "Brain entities", File: "features/desk/sla.heartbeat.md", Line: 3, Col: 1, What: `cron: "every day" is no cron expression`, Do: "write five fields, such as 0 9 * * 1-5"},
		{Level: "warn", Check: "Feature contexts", File: "features/home/list.context.md", Line: 1, Col: 1, What: "its instructions alone are longer than its chars of 900, so it is a stub in every turn", Do: "raise chars, or trim it"},
		{Level: "note", Check: "Feature contexts", File: "features/desk/desk.agent.md", Line: 1, Col: 1, What: "2 roles name no contexts", Do: "list them under contexts:"},
	}
	w.calls = func(edges []time.Time) []usage.Stretch {
		out := make([]usage.Stretch, len(edges)-1)
		for i := range out {
			n := int64(20 + (i*37)%55)
			s := usage.Stretch{Total: usage.Total{Events: n, Tokens: usage.Tokens{In: n * 5200, Cached: n * 4100, Out: n * 210}}, Known: float64(n) * .0031}
			cost := s.Known
			s.Cost = &cost
			s.Models = []usage.ModelTotal{{Model: "gpt-5.1-mini", Calls: n, In: s.Tokens.In, Out: s.Tokens.Out, Cost: &cost}}
			if i == len(out)-2 {
				s.Priceless, s.Cost = 4, nil
				s.Models = append(s.Models, usage.ModelTotal{Model: "local-llama", Calls: 4})
			}
			out[i] = s
		}
		return out
	}
	return w
}

// told tells a turn at length.
func told(t pages.Turn) pages.Told {
	cost := 0.00213
	r := t.Record
	r.Input = []attache.Message{{ID: 811, From: attache.Person{ID: "tg:user:5", Name: "Ann Meier"}, At: r.Opened, Text: t.Text, Chat: attache.Chat{Kind: "supergroup", Title: t.Title}}}
	r.Posts = []posts.Record{{State: "sent", Text: "The campaign starts on 3 March; Bo has the drafts.", Messages: []int64{812}}}
	sheet := web.Turn{ID: t.ID, Status: t.Status, Role: "account", Engaged: "it names @nova_bot", Took: 1400 * time.Millisecond, At: r.Opened, Epoch: "9f2c81aa03b1", Session: 7,
		Links: []web.Link{{Context: "client", Entity: "acme", Link: "chat", Status: "attached", Chars: 812}, {Context: "policy", Link: "always", Status: "stub", Why: "no place is left", Knob: "contexts.maxActive"},
			{Context: "client", Entity: "globex", Link: "ask", Status: "refused", Why: `client is bound to "acme" in this place, so not to "globex"`}},
		Prompt: []web.Message{{Role: "developer", What: "instructions", Text: strings.Repeat("You help the agency. ", 160)}, {Role: "system", What: "session", Text: "<session/>"},
			{Role: "user", What: "input", Text: t.Text}, {Role: "system", What: "tail", Text: strings.Repeat("<feature-context name=\"client\">", 20)}},
		Calls: []web.Call{{Model: "gpt-5.1-mini", Status: "ok", In: 5300, Cached: 4800, Out: 210, Reported: true, Took: 900 * time.Millisecond, Cost: &cost}},
		Tools: []web.Tool{{Name: "context_open", Status: "refused", Args: `{"name":"client","entity":"globex"}`, Result: `{"ok":false,"error":"it is bound to acme here"}`, Took: 3 * time.Millisecond}},
		Posts: []web.Post{{State: "sent", Text: "The campaign starts on 3 March; Bo has the drafts."}}}
	return pages.Told{Sheet: sheet, Record: r, Title: t.Title, JSON: json.RawMessage(`{"id":120}`)}
}

// evil is what a stranger would call himself.
const evil = `</div></article><script>window.hit=1</script><img src=x onerror="window.hit=1"><svg onload="window.hit=1">` + "\u202etxt.exe"

// hostile fills the toy with it.
func hostile() *toy {
	long := evil + strings.Repeat("W", 3000)
	w := &toy{now: clock(), told: map[int64]pages.Told{}}
	at := attache.Place{Bot: "nova", Chat: -1001}
	r := ledger.Record{ID: 1, Place: at, Kind: "hook", Run: long, Status: "failed", Why: long, Opened: w.now, Input: []attache.Message{{From: attache.Person{Name: long}, Text: long}}}
	key := attache.EntityKey(long)
	t := pages.Turn{Line: ledger.Line{Record: r, Title: long, From: long, Text: long}, Contexts: []carried.Record{{Context: evil, Entity: key, Status: "attached", Links: []contexts.Made{}}}}
	w.turns = []pages.Turn{t}
	w.told[1] = pages.Told{Record: r, Title: long, Sheet: web.Turn{ID: 1, Status: "failed", Why: long, Role: evil, Engaged: long,
		Links: []web.Link{{Context: long, Entity: long, Link: evil, Status: "refused", Why: long, Knob: long}}, Prompt: []web.Message{{Role: evil, What: long, Text: long}},
		Calls: []web.Call{{Model: long, Status: "500", Why: long}}, Tools: []web.Tool{{Name: long, Status: "done", Args: long, Result: long}}, Posts: []web.Post{{State: "refused", Text: long, Why: long}}}}
	w.window = carried.Window{Roles: []carried.RoleUse{{Role: evil, Turns: 1, Contexts: []carried.ContextUse{{Context: attache.ContextID(long), Attached: 1, Links: map[attache.Link]int{evil: 1}}}}},
		Findings: []carried.Stubbed{{Context: attache.ContextID(long), Knob: long, Times: 2}}}
	w.chats = []pages.Chat{{Place: at, Title: long, Why: long, Bindings: []pages.Binding{{Context: attache.ContextID(long), Key: key, Source: evil, Bots: []attache.BotID{evil}}},
		Pin: map[attache.ContextID]*attache.EntityKey{attache.ContextID(long): &key}, Rule: &pages.Rule{Kind: evil, File: long, Role: evil, Engage: long}, Last: &r}}
	w.found = []pages.Finding{{Level: "fail", Check: long, File: long, Line: 1, What: long, Do: long}, {Level: "warn", Check: "Feature contexts", What: long}}
	w.calls = func(edges []time.Time) []usage.Stretch {
		out := make([]usage.Stretch, len(edges)-1)
		out[0] = usage.Stretch{Total: usage.Total{Events: 1, Models: []usage.ModelTotal{{Model: long, Calls: 1}}}, Priceless: 1}
		return out
	}
	return w
}

var errAway = errors.New("the database is away")
