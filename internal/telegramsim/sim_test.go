package telegramsim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"attache"
	"attache/internal/telegramsim"
	"attache/internal/telegramsim/schema"
)

// world is a listening server with a bot and two people.
type world struct {
	*telegramsim.Server
	url      string
	api      *schema.API
	nova     *telegramsim.User
	ana, bob *telegramsim.User
}

func newWorld(t testing.TB, o telegramsim.Options) *world {
	t.Helper()
	s := telegramsim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	api, err := schema.Load()
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		Server: s, url: url, api: api,
		nova: s.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"}),
		ana:  s.AddPerson(telegramsim.User{ID: 5, Name: "Ana", Username: "ana"}),
		bob:  s.AddPerson(telegramsim.User{ID: 6, Name: "Bob"}),
	}
}

// answer is a Bot API answer.
type answer struct {
	OK          bool            `json:"ok"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Result      json.RawMessage `json:"result"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call makes a JSON call as a bot and gives the answer; a broken connection or
// answer is an error.
func (w *world) call(bot *telegramsim.User, method, params string) (answer, error) {
	resp, err := http.Post(w.url+"/bot"+bot.Token+"/"+method, "application/json", bytes.NewReader([]byte(params)))
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("%s: %w: %s", resp.Status, err, raw)
	}
	return a, nil
}

// do is call where the test expects an answer; the simulator's own answers, and so
// the updates in them, are held to the schema like any bot's calls.
func (w *world) do(t testing.TB, bot *telegramsim.User, method, params string, args ...any) answer {
	t.Helper()
	a, err := w.call(bot, method, fmt.Sprintf(params, args...))
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	m, known := w.api.Method(method)
	if a.OK && known {
		for _, bad := range w.api.CheckType(m.Returns, a.Result) {
			t.Errorf("the simulator's own answer to %s is not what the API says: %s\nin %s", method, bad.What, a.Result)
		}
	}
	return a
}

// updates takes what waits for a bot and confirms it.
func (w *world) updates(t testing.TB, bot *telegramsim.User) []map[string]json.RawMessage {
	t.Helper()
	a := w.do(t, bot, "getUpdates", `{}`)
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(a.Result, &list); err != nil {
		t.Fatalf("getUpdates: %v in %s", err, a.Result)
	}
	if len(list) > 0 {
		var last int64
		if err := json.Unmarshal(list[len(list)-1]["update_id"], &last); err != nil {
			t.Fatal(err)
		}
		w.do(t, bot, "getUpdates", `{"offset":%d}`, last+1)
	}
	return list
}

// expect fails unless the answer is the refusal with exactly this description.
func expect(t testing.TB, a answer, code int, description string) {
	t.Helper()
	if a.OK || a.Code != code || a.Description != description {
		t.Errorf("got ok=%v %d %q, want %d %q", a.OK, a.Code, a.Description, code, description)
	}
}

func ok(t testing.TB, a answer) {
	t.Helper()
	if !a.OK {
		t.Errorf("refused: %d %s", a.Code, a.Description)
	}
}

func clean(t testing.TB, w *world) {
	t.Helper()
	for _, v := range w.Violations() {
		t.Errorf("violation: %s", v)
	}
}

func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestEcho(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	dm.Say(w.ana, "hello @nova_bot")
	list := w.updates(t, w.nova)
	if len(list) != 1 || !bytes.Contains(list[0]["message"], []byte(`"text":"hello @nova_bot"`)) {
		t.Fatalf("updates: %s", list)
	}
	if again := w.updates(t, w.nova); len(again) != 0 {
		t.Errorf("confirmed updates came again: %s", again)
	}
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"hello yourself","reply_parameters":{"message_id":1}}`))
	posts := dm.Posts()
	if len(posts) != 1 || posts[0].Text != "hello yourself" || posts[0].ReplyTo != attache.MessageID(1) || posts[0].Bot != "nova_bot" {
		t.Errorf("posts: %+v", posts)
	}
	clean(t, w)
}
