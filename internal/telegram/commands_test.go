package telegram

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"attache"
)

func TestMe(t *testing.T) {
	client, _ := fakeAPI(t, answer(200, `{"ok":true,"result":{"id":77,"is_bot":true,"first_name":"Nova","last_name":"Bot","username":"nova_bot","can_join_groups":true,"can_read_all_group_messages":true,"has_topics_enabled":true}}`))
	me, err := client.Me(t.Context())
	if err != nil || me != (Me{ID: 77, Username: "nova_bot", Name: "Nova Bot", CanReadAll: true, Topics: true}) {
		t.Errorf("%+v, %v", me, err)
	}
	client, _ = fakeAPI(t, answer(401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`))
	if _, err = client.Me(t.Context()); err == nil {
		t.Error("no error")
	} else if e, ok := errors.AsType[*CallError](err); !ok || e.Code != 401 {
		t.Errorf("got %v", err)
	}
	client, _ = fakeAPI(t, answer(200, `{"ok":true,"result":{}}`))
	if _, err = client.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "TELEGRAM_API_URL") {
		t.Errorf("got %v", err)
	}
}

func TestPublishCommands(t *testing.T) {
	var body string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] + string(b)
		answer(200, `{"ok":true,"result":true}`)(w, r)
	})
	stop := []Command{{"stop", "Stop the running turn"}}
	tests := map[string]struct {
		scope    CommandScope
		commands []Command
		want     string
	}{
		"default":  {CommandScope{Kind: "default"}, stop, `setMyCommands{"commands":[{"command":"stop","description":"Stop the running turn"}],"scope":{"type":"default"}}`},
		"one chat": {CommandScope{"chat", 5}, stop, `setMyCommands{"commands":[{"command":"stop","description":"Stop the running turn"}],"scope":{"type":"chat","chat_id":5}}`},
		"none":     {CommandScope{Kind: "default"}, nil, `setMyCommands{"commands":[],"scope":{"type":"default"}}`},
	}
	for name, test := range tests {
		if err := client.PublishCommands(t.Context(), test.scope, test.commands); err != nil || body != test.want {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	body = ""
	for _, bad := range []Command{{"Stop", "x"}, {"/stop", "x"}, {"", "x"}, {"stop", ""}, {strings.Repeat("a", 33), "x"}, {"stop", strings.Repeat("é", 257)}} {
		if err := client.PublishCommands(t.Context(), CommandScope{Kind: "default"}, []Command{bad}); err == nil || body != "" {
			t.Errorf("%v was sent", bad)
		}
	}
}

func TestAnswerPress(t *testing.T) {
	var got map[string]string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		got = nil
		_ = json.NewDecoder(r.Body).Decode(&got)
		answer(200, `{"ok":true,"result":true}`)(w, r)
	})
	if err := client.AnswerPress(t.Context(), "4382", strings.Repeat("😀", 150)); err != nil {
		t.Fatal(err)
	}
	if got["callback_query_id"] != "4382" || got["text"] != strings.Repeat("😀", 99)+"…" {
		t.Errorf("sent %v", got)
	}
	if err := client.AnswerPress(t.Context(), "4382", ""); err != nil || len(got) != 1 {
		t.Errorf("sent %v, %v", got, err)
	}
	for words, want := range map[string]bool{
		"Bad Request: query is too old and response timeout expired or query ID is invalid": true,
		"Bad Request: MESSAGE_TOO_LONG": false,
	} {
		client, _ := fakeAPI(t, answer(400, `{"ok":false,"error_code":400,"description":"`+words+`"}`))
		if err := client.AnswerPress(t.Context(), "1", "x"); (err == nil) != want {
			t.Errorf("%s: %v", words, err)
		}
	}
	if n := attache.UTF16Len(shorten(strings.Repeat("a", 300), 200)); n != 200 {
		t.Errorf("%d units", n)
	}
}
