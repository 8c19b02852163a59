package telegramsim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/telegramsim"
)

func TestSendRules(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	question := dm.Say(w.ana, "the question")
	gone := dm.Say(w.ana, "soon gone")
	if err := dm.Remove(gone); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ params, refusal string }{
		{`"text":"x"`, ""},
		{`"text":"   "`, "message text is empty"},
		{`"text":""`, "message text is empty"},
		{`"text":"` + strings.Repeat("x", 4097) + `"`, "message is too long"},
		{`"text":"<b>` + strings.Repeat("x", 4096) + `</b>","parse_mode":"HTML"`, ""},
		{`"text":"<b>` + strings.Repeat("x", 4097) + `</b>","parse_mode":"HTML"`, "message is too long"},
		{fmt.Sprintf(`"text":"x","reply_parameters":{"message_id":%d}`, question), ""},
		{fmt.Sprintf(`"text":"x","reply_parameters":{"message_id":%d,"quote":"quest"}`, question), ""},
		{fmt.Sprintf(`"text":"x","reply_parameters":{"message_id":%d,"quote":"answer"}`, question), "QUOTE_TEXT_INVALID"},
		{fmt.Sprintf(`"text":"x","reply_parameters":{"message_id":%d}`, gone), "message to be replied not found"},
		{fmt.Sprintf(`"text":"x","reply_parameters":{"message_id":%d,"allow_sending_without_reply":true}`, gone), ""},
		{`"text":"x","reply_parameters":{"message_id":1,"chat_id":-99}`, "chat not found"},
		{`"text":"😀 bold","entities":[{"type":"bold","offset":3,"length":4}]`, ""},
		{`"text":"😀 bold","entities":[{"type":"bold","offset":3,"length":5}]`, "ENTITY_BOUNDS_INVALID"},
		{`"text":"😀 bold","entities":[{"type":"bold","offset":1,"length":4}]`, "ENTITY_BOUNDS_INVALID"},
		{`"text":"abcd","entities":[{"type":"bold","offset":0,"length":3},{"type":"italic","offset":2,"length":2}]`, "ENTITY_BOUNDS_INVALID"},
		{`"text":"x <b","parse_mode":"HTML"`, "can't parse entities: Unclosed start tag at byte offset 2"},
		{`"text":"<b>x","parse_mode":"HTML"`, "can't parse entities: Can't find end tag corresponding to start tag \"b\""},
		{`"text":"<x>x</x>","parse_mode":"HTML"`, "can't parse entities: Unsupported start tag \"x\" at byte offset 0"},
		{`"text":"1. x","parse_mode":"MarkdownV2"`, `can't parse entities: Character '.' is reserved and must be escaped with the preceding '\'`},
	}
	for _, tt := range tests {
		a := w.do(t, w.nova, "sendMessage", `{"chat_id":5,%s}`, tt.params)
		if tt.refusal == "" {
			ok(t, a)
		} else {
			expect(t, a, 400, "Bad Request: "+tt.refusal)
		}
	}
}

func TestRichMessages(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	a := w.do(t, w.nova, "sendRichMessage", `{"chat_id":5,"rich_message":{"markdown":"# Title\n\ntext"}}`)
	ok(t, a)
	if strings.Contains(string(a.Result), `"text":"# Title\n\ntext"`) {
		t.Errorf("a rich message carries a plain text: %s", a.Result)
	}
	p := dm.Posts()[0]
	same(t, "post", []any{p.Method, p.Rich, p.Text, p.Words()}, "[sendRichMessage # Title\n\ntext  # Title\n\ntext]")
	ok(t, w.do(t, w.nova, "editMessageText", `{"chat_id":5,"message_id":%d,"text":"","rich_message":{"html":"<h1>T</h1>"}}`, p.ID))
	same(t, "edited", dm.Posts()[0].Rich, "<h1>T</h1>")
	// A reply of a person shows the parent without words (hermes-agent#46568).
	send(t, dm, telegramsim.Line{From: w.ana, Text: "re", ReplyTo: p.ID})
	if m := string(w.updates(t, w.nova)[0]["message"]); !strings.Contains(m, `"rich_message"`) {
		t.Errorf("reply: %s", m)
	}
	w.Break(telegramsim.Fault{Method: "sendRichMessage", Kind: telegramsim.Unknown})
	w.Break(telegramsim.Fault{Method: "sendRichMessage", Kind: telegramsim.Refuse, Text: "RICH_MESSAGE_INVALID", Times: -1})
	rich := `{"chat_id":5,"rich_message":{"markdown":"x"}}`
	expect(t, w.do(t, w.nova, "sendRichMessage", "%s", rich), 404, "Not Found: method not found")
	expect(t, w.do(t, w.nova, "sendRichMessage", "%s", rich), 400, "Bad Request: RICH_MESSAGE_INVALID")
	w.Heal()
	ok(t, w.do(t, w.nova, "sendRichMessage", "%s", rich))
	clean(t, w)
}

func TestEditsAndDeletions(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	group := w.AddChat(telegramsim.Chat{Kind: "group"}, w.ana, w.nova)
	theirs := group.Say(w.ana, "hers")
	edit := `{"chat_id":%d,"message_id":%d,"text":%q}`
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"text":"first"}`, group.ID))
	mine := group.Posts()[0].ID
	ok(t, w.do(t, w.nova, "editMessageText", edit, group.ID, mine, "second"))
	expect(t, w.do(t, w.nova, "editMessageText", edit, group.ID, mine, "second"), 400,
		"Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	expect(t, w.do(t, w.nova, "editMessageText", edit, group.ID, theirs, "x"), 400, "Bad Request: message can't be edited")
	expect(t, w.do(t, w.nova, "editMessageText", edit, group.ID, 99, "x"), 400, "Bad Request: message to edit not found")
	ok(t, w.do(t, w.nova, "editMessageReplyMarkup", `{"chat_id":%d,"message_id":%d,"reply_markup":{"inline_keyboard":[[{"text":"a","callback_data":"b"}]]}}`, group.ID, mine))
	p := group.Posts()[0]
	same(t, "post", []any{p.Text, p.Edits, p.Buttons}, "[second 2 [[{a b }]]]")
	del := `{"chat_id":%d,"message_id":%d}`
	expect(t, w.do(t, w.nova, "deleteMessage", del, group.ID, theirs), 400, "Bad Request: message can't be deleted")
	ok(t, w.do(t, w.nova, "deleteMessage", del, group.ID, mine))
	expect(t, w.do(t, w.nova, "deleteMessage", del, group.ID, mine), 400, "Bad Request: message to delete not found")
	same(t, "deleted", group.Posts()[0].Deleted, true)
	group.SetStatus(w.ana, w.nova, "administrator")
	ok(t, w.do(t, w.nova, "deleteMessages", `{"chat_id":%d,"message_ids":[%d,4711]}`, group.ID, theirs))
	clean(t, w)
}

func TestChatMethods(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	forum := w.AddChat(telegramsim.Chat{ID: -1001, Kind: "forum", Title: "Shop"}, w.ana, w.bob, w.nova)
	same(t, "getChat", strings.Contains(string(w.do(t, w.nova, "getChat", `{"chat_id":-1001}`).Result), `"is_forum":true`), true)
	status := func(user int64) string {
		var m struct{ Status string }
		if err := json.Unmarshal(w.do(t, w.nova, "getChatMember", `{"chat_id":-1001,"user_id":%d}`, user).Result, &m); err != nil {
			t.Fatal(err)
		}
		return m.Status
	}
	cyd := w.AddPerson(telegramsim.User{Name: "Cyd"})
	same(t, "standing", []string{status(5), status(6), status(cyd.ID), status(w.nova.ID)}, "[creator member left member]")
	for _, now := range []string{"administrator", "restricted", "left", "kicked", "member"} {
		forum.SetStatus(w.ana, w.bob, now)
		same(t, "standing", status(6), now)
	}
	expect(t, w.do(t, w.nova, "createForumTopic", `{"chat_id":-1001,"name":"T"}`), 400, "Bad Request: not enough rights to create a topic")
	forum.SetStatus(w.ana, w.nova, "administrator")
	w.updates(t, w.nova)
	var topic struct {
		ID int64 `json:"message_thread_id"`
	}
	if err := json.Unmarshal(w.do(t, w.nova, "createForumTopic", `{"chat_id":-1001,"name":"T"}`).Result, &topic); err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf(`{"chat_id":-1001,"message_thread_id":%d}`, topic.ID)
	ok(t, w.do(t, w.nova, "editForumTopic", `{"chat_id":-1001,"message_thread_id":%d,"name":"U"}`, topic.ID))
	ok(t, w.do(t, w.nova, "closeForumTopic", "%s", at))
	expect(t, w.do(t, w.nova, "closeForumTopic", "%s", at), 400, "Bad Request: TOPIC_NOT_MODIFIED")
	ok(t, w.do(t, w.nova, "reopenForumTopic", "%s", at))
	ok(t, w.do(t, w.nova, "deleteForumTopic", "%s", at))
	expect(t, w.do(t, w.nova, "deleteForumTopic", "%s", at), 400, "Bad Request: message thread not found")
	same(t, "its own service messages are not news to it", len(w.updates(t, w.nova)), 0)
	same(t, "admins", strings.Count(string(w.do(t, w.nova, "getChatAdministrators", `{"chat_id":-1001}`).Result), `"status"`), 2)
	same(t, "count", string(w.do(t, w.nova, "getChatMemberCount", `{"chat_id":-1001}`).Result), "3")
	ok(t, w.do(t, w.nova, "leaveChat", `{"chat_id":-1001}`))
	expect(t, w.do(t, w.nova, "getChat", `{"chat_id":-1001}`), 403, "Forbidden: bot is not a member of the supergroup chat")
	clean(t, w)
}

func TestCommandsHaveScopes(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	chat := `"scope":{"type":"chat","chat_id":5}`
	ok(t, w.do(t, w.nova, "setMyCommands", `{"commands":[{"command":"help","description":"helps"}]}`))
	ok(t, w.do(t, w.nova, "setMyCommands", `{"commands":[{"command":"doctor","description":"looks"}],%s}`, chat))
	same(t, "default", string(w.do(t, w.nova, "getMyCommands", `{}`).Result), `[{"command":"help","description":"helps"}]`)
	same(t, "scope", string(w.do(t, w.nova, "getMyCommands", `{%s}`, chat).Result), `[{"command":"doctor","description":"looks"}]`)
	ok(t, w.do(t, w.nova, "deleteMyCommands", `{}`))
	same(t, "deleted", string(w.do(t, w.nova, "getMyCommands", `{}`).Result), `[]`)
	for _, method := range []string{"setMyName", "setMyDescription", "setMyShortDescription"} {
		ok(t, w.do(t, w.nova, method, `{}`))
	}
	clean(t, w)
}

func TestPace(t *testing.T) {
	now := time.Unix(1700000000, 0)
	w := newWorld(t, telegramsim.Options{Pace: true, Now: func() time.Time { return now }})
	group := w.AddChat(telegramsim.Chat{ID: -7, Kind: "group"}, w.ana, w.nova)
	text := `{"chat_id":-7,"text":"x"}`
	ok(t, w.do(t, w.nova, "sendMessage", "%s", text))
	a := w.do(t, w.nova, "sendMessage", "%s", text)
	expect(t, a, 429, "Too Many Requests: retry after 1")
	same(t, "retry_after", a.Parameters.RetryAfter, 1)
	for range 19 {
		now = now.Add(time.Second)
		ok(t, w.do(t, w.nova, "sendMessage", "%s", text))
	}
	now = now.Add(time.Second)
	a = w.do(t, w.nova, "sendMessage", "%s", text)
	if a.Code != 429 || a.Parameters.RetryAfter != 41 {
		t.Errorf("the 21st in a minute: %+v", a)
	}
	now = now.Add(41 * time.Second)
	ok(t, w.do(t, w.nova, "sendMessage", "%s", text))
	same(t, "posts", len(group.Posts()), 21)
	now = now.Add(time.Minute)
	for i := range 31 {
		p := w.AddPerson(telegramsim.User{})
		w.DM(p, w.nova)
		a = w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"text":"x"}`, p.ID)
		if a.OK != (i < 30) {
			t.Errorf("send %d of one second: %+v", i+1, a)
		}
	}
	clean(t, w)
}

func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(t, telegramsim.Options{Keep: 5})
	dm := w.DM(w.ana, w.nova)
	for range 40 {
		dm.Say(w.ana, "x")
		w.updates(t, w.nova)
		ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"x"}`))
	}
	posts, calls := dm.Posts(), w.Calls(telegramsim.Filter{Method: "sendMessage"})
	if len(posts) < 2 || len(posts) > 10 || len(calls) > 10 {
		t.Errorf("%d posts and %d calls are kept of 40", len(posts), len(calls))
	}
	same(t, "count", dm.PostCount(), 40)
	same(t, "person", dm.Person() == w.ana, true)
	same(t, "the newest is kept", posts[len(posts)-1].ID, attache.MessageID(80))
}
