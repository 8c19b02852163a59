package telegramsim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"attache"
	"attache/internal/telegramsim"
)

// message is what the tests look at of an update's message.
type message struct {
	ID         int64 `json:"message_id"`
	Thread     int64 `json:"message_thread_id"`
	IsTopic    bool  `json:"is_topic_message"`
	Text       string
	Caption    string
	From       *struct{ ID int64 }
	SenderChat *struct{ ID int64 } `json:"sender_chat"`
	Auto       bool                `json:"is_automatic_forward"`
	Album      string              `json:"media_group_id"`
	Entities   []struct {
		Type           string
		Offset, Length int
	}
	Reply *struct {
		ID    int64           `json:"message_id"`
		Topic json.RawMessage `json:"forum_topic_created"`
	} `json:"reply_to_message"`
	External *struct {
		ID   int64 `json:"message_id"`
		Chat *struct{ ID int64 }
	} `json:"external_reply"`
	Quote *struct{ Text string }
	Photo []struct {
		ID string `json:"file_id"`
	}
	MigrateTo   int64 `json:"migrate_to_chat_id"`
	MigrateFrom int64 `json:"migrate_from_chat_id"`
}

// news gives the messages among the updates that wait for a bot.
func (w *world) news(t testing.TB, bot *telegramsim.User) []message {
	t.Helper()
	var out []message
	for _, u := range w.updates(t, bot) {
		for kind, raw := range u {
			if kind == "update_id" {
				continue
			}
			var m message
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

func (w *world) one(t testing.TB, bot *telegramsim.User) message {
	t.Helper()
	list := w.news(t, bot)
	if len(list) != 1 {
		t.Fatalf("%d messages wait, want 1: %+v", len(list), list)
	}
	return list[0]
}

func send(t testing.TB, c *telegramsim.Chat, l telegramsim.Line) attache.MessageID {
	t.Helper()
	id, err := c.Send(l)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestEntitiesAreFound(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	dm.Say(w.ana, "😀😀 @nova_bot /ask@nova_bot see https://a.example/x. a@b.org")
	m := w.one(t, w.nova)
	same(t, "entities", m.Entities, "[{mention 5 9} {bot_command 15 13} {url 33 19} {email 54 7}]")
	send(t, dm, telegramsim.Line{From: w.ana, Text: "@nova_bot", Marks: []attache.Mark{{Kind: "code", Length: 9}}})
	same(t, "given marks take the place of found ones", w.one(t, w.nova).Entities, "[{code 0 9}]")
}

func TestPrivacyMode(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	other := w.AddBot(telegramsim.User{Name: "Other", Username: "other_bot"})
	group := w.AddChat(telegramsim.Chat{Kind: "group"}, w.ana, w.bob, w.nova, other)
	hears := func(what string, want bool, l telegramsim.Line) {
		t.Helper()
		if l.From == nil {
			l.From = w.ana
		}
		send(t, group, l)
		if got := len(w.updates(t, w.nova)) == 1; got != want {
			t.Errorf("%s: heard=%v, want %v", what, got, want)
		}
	}
	hears("small talk", false, telegramsim.Line{Text: "hi all"})
	hears("a mention", true, telegramsim.Line{Text: "hi @Nova_Bot"})
	hears("a longer name", false, telegramsim.Line{Text: "hi @nova_bot2"})
	hears("a mention in code", false, telegramsim.Line{Text: "@nova_bot", Marks: []attache.Mark{{Kind: "code", Length: 9}}})
	hears("a text mention", true, telegramsim.Line{Text: "you", Marks: []attache.Mark{{Kind: "text_mention", Length: 3, User: attache.UserID(w.nova.ID)}}})
	hears("a command for it", true, telegramsim.Line{Text: "/ask@nova_bot x"})
	hears("a command for another", false, telegramsim.Line{Text: "/ask@other_bot x"})
	hears("a command before any bot spoke", true, telegramsim.Line{Text: "/ask x"})
	ok(t, w.do(t, other, "sendMessage", `{"chat_id":%d,"text":"me"}`, group.ID))
	if list := w.updates(t, w.nova); len(list) != 0 {
		t.Errorf("one bot heard another: %v", list)
	}
	hears("a command after the other bot spoke", false, telegramsim.Line{Text: "/ask x"})
	post := w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"text":"mine"}`, group.ID)
	ok(t, post)
	var m message
	if err := json.Unmarshal(post.Result, &m); err != nil {
		t.Fatal(err)
	}
	hears("a reply to it", true, telegramsim.Line{Text: "thanks", ReplyTo: attache.MessageID(m.ID)})
	hears("a line through it", true, telegramsim.Line{Text: "inline", ViaBot: w.nova})
	w.nova.SetPrivacy(false)
	hears("small talk without privacy", true, telegramsim.Line{Text: "hi all"})
	w.nova.SetPrivacy(true)
	group.SetStatus(w.ana, w.nova, "administrator")
	w.updates(t, w.nova)
	hears("small talk as an admin", true, telegramsim.Line{Text: "hi all"})
	clean(t, w)
}

// Smallest inputs of traps.md "Topics and threads".
func TestTopics(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.nova.SetPrivacy(false)
	forum := w.AddChat(telegramsim.Chat{Kind: "forum"}, w.ana, w.nova)
	forum.SetNext(42)
	topic := forum.CreateTopic(w.ana, "Orders")
	same(t, "chosen number", topic, 42)
	w.updates(t, w.nova)

	send(t, forum, telegramsim.Line{From: w.ana, Text: "in the topic", Thread: topic})
	m := w.one(t, w.nova)
	if m.Thread != 42 || !m.IsTopic || m.Reply == nil || m.Reply.ID != 42 || m.Reply.Topic == nil {
		t.Errorf("a topic's message implies the topic's root: %+v", m)
	}
	forum.Say(w.ana, "in General")
	if m := w.one(t, w.nova); m.Thread != 0 || m.IsTopic || m.Reply != nil {
		t.Errorf("General has no thread: %+v", m)
	}
	to := `{"chat_id":%d,"message_thread_id":%d,"text":"x"}`
	ok(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 42))
	expect(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 43), 400, "Bad Request: message thread not found")
	expect(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 1), 400, "Bad Request: message thread not found")
	same(t, "only thread 1 is a violation", len(w.Violations()), 1)
	same(t, "posts in the topic", len(forum.Posts(42)), 1)
	same(t, "posts in General", len(forum.Posts(0)), 0)
	same(t, "topics", forum.Topics(), "[{42 Orders false}]")
	var seen []string
	for _, p := range forum.History(42) {
		seen = append(seen, p.From.Name+":"+p.Service+p.Text+":"+p.Bot)
	}
	same(t, "history", seen, "[Ana:forum_topic_created: Ana:in the topic: Nova:x:nova_bot]")

	if err := forum.CloseTopic(w.ana, topic, true); err != nil {
		t.Fatal(err)
	}
	expect(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 42), 400, "Bad Request: TOPIC_CLOSED")
	if _, err := forum.Send(telegramsim.Line{From: w.bob, Text: "x", Thread: topic}); err == nil {
		t.Error("a stranger wrote into a closed topic")
	}
	if err := forum.CloseTopic(w.ana, topic, false); err != nil {
		t.Fatal(err)
	}
	ok(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 42))
	forum.SetForum(false)
	expect(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 42), 400, "Bad Request: message thread not found")
	forum.SetForum(true)
	if err := forum.DeleteTopic(topic); err != nil {
		t.Fatal(err)
	}
	expect(t, w.do(t, w.nova, "sendMessage", to, forum.ID, 42), 400, "Bad Request: message thread not found")
}

func TestStrayThreadsInPlainGroups(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.nova.SetPrivacy(false)
	group := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana, w.bob, w.nova)
	group.SetNext(70) // thread 1 would be General's number
	first := group.Say(w.ana, "start")
	second := send(t, group, telegramsim.Line{From: w.bob, Text: "reply", ReplyTo: first})
	send(t, group, telegramsim.Line{From: w.ana, Text: "reply to the reply", ReplyTo: second})
	list := w.news(t, w.nova)
	for _, m := range list[1:] {
		if m.Thread != int64(first) || m.IsTopic {
			t.Errorf("a reply chain carries its root as a stray thread: %+v", m)
		}
	}
	expect(t, w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"message_thread_id":%d,"text":"x"}`, group.ID, first), 400,
		"Bad Request: message thread not found")
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"reply_parameters":{"message_id":%d},"text":"x"}`, group.ID, second))
	if p := group.Posts()[0]; p.ReplyTo != second || p.Thread != 0 {
		t.Errorf("post: %+v", p)
	}
	clean(t, w)
}

func TestPrivateTopics(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	dm.SetForum(true)
	dm.SetNext(9)
	topic := dm.CreateTopic(w.ana, "Invoices")
	w.updates(t, w.nova)
	send(t, dm, telegramsim.Line{From: w.ana, Text: "x", Thread: topic})
	if m := w.one(t, w.nova); m.Thread != 9 || !m.IsTopic || m.Reply != nil {
		t.Errorf("private topic: %+v", m)
	}
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"message_thread_id":9,"text":"x"}`))
	ok(t, w.do(t, w.nova, "createForumTopic", `{"chat_id":5,"name":"More"}`))
	if me := w.do(t, w.nova, "getMe", `{}`); !strings.Contains(string(me.Result), `"has_topics_enabled":true`) {
		t.Errorf("getMe: %s", me.Result)
	}
	clean(t, w)
}

func TestEachBotCountsItsOwnPrivateChat(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	other := w.AddBot(telegramsim.User{Name: "Other"})
	a, b := w.DM(w.ana, w.nova), w.DM(w.ana, other)
	a.Say(w.ana, "one")
	a.Say(w.ana, "two")
	same(t, "ids", []attache.MessageID{a.Say(w.ana, "three"), b.Say(w.ana, "one")}, "[3 1]")
	same(t, "same number", a.ID == b.ID, true)
	if w.DM(w.ana, w.nova) != a {
		t.Error("a private chat is made twice")
	}
	same(t, "other's updates", texts(t, w.updates(t, other)), "[one]")
}

func TestRepliesAndQuotes(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.nova.SetPrivacy(false)
	here := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana, w.nova)
	there := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana)
	parent := there.Say(w.ana, "elsewhere")
	first := here.Say(w.ana, "the whole sentence")
	w.updates(t, w.nova)
	send(t, here, telegramsim.Line{From: w.ana, Text: "x", ReplyTo: first, Quote: "whole"})
	if m := w.one(t, w.nova); m.Reply == nil || m.Reply.ID != int64(first) || m.Quote == nil || m.Quote.Text != "whole" {
		t.Errorf("quote: %+v", m)
	}
	send(t, here, telegramsim.Line{From: w.ana, Text: "x", ReplyTo: parent, ReplyIn: there})
	if m := w.one(t, w.nova); m.Reply != nil || m.External == nil || m.External.ID != int64(parent) || m.External.Chat.ID != int64(there.ID) {
		t.Errorf("external reply: %+v", m)
	}
	if _, err := here.Send(telegramsim.Line{From: w.ana, Text: "x", ReplyTo: 999}); err == nil {
		t.Error("a reply to nothing was sent")
	}
}

func TestEditsAndAlbumsAndLongTexts(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	id := dm.Say(w.ana, "befor")
	if err := dm.Edit(id, telegramsim.Line{Text: "before"}); err != nil {
		t.Fatal(err)
	}
	same(t, "edit", texts(t, w.updates(t, w.nova)), "[befor edited_message:before]")
	for _, caption := range []string{"three photos", "", ""} {
		send(t, dm, telegramsim.Line{From: w.ana, Text: caption, Album: "A1", File: &telegramsim.File{Kind: "photo", Data: []byte("png")}})
	}
	album := w.news(t, w.nova)
	if len(album) != 3 || album[0].Album != "A1" || album[2].Album != "A1" || album[0].Caption != "three photos" {
		t.Errorf("album: %+v", album)
	}
	long := strings.Repeat("x", 4095) + "😀" + "tail"
	same(t, "parts", len(dm.SayLong(w.ana, long)), 2)
	list := w.news(t, w.nova)
	same(t, "no pair is cut", list[0].Text+list[1].Text == long, true)
	if _, err := dm.Send(telegramsim.Line{From: w.ana, Text: long}); err == nil {
		t.Error("4101 units were sent at once")
	}
	clean(t, w)
}

func TestFiles(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	other := w.AddBot(telegramsim.User{Name: "Other"})
	group := w.AddChat(telegramsim.Chat{Kind: "group"}, w.ana, w.nova, other)
	w.nova.SetPrivacy(false)
	other.SetPrivacy(false)
	send(t, group, telegramsim.Line{From: w.ana, File: &telegramsim.File{Kind: "photo", Name: "a.png", Data: []byte("png bytes")}})
	mine, theirs := w.one(t, w.nova).Photo[0].ID, w.one(t, other).Photo[0].ID
	if mine == theirs {
		t.Error("two bots share a file id")
	}
	expect(t, w.do(t, w.nova, "getFile", `{"file_id":%q}`, theirs), 400, "Bad Request: wrong file_id or the file is temporarily unavailable")
	var f struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(w.do(t, w.nova, "getFile", `{"file_id":%q}`, mine).Result, &f); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(w.url + "/file/bot" + w.nova.Token + "/" + f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	same(t, "bytes", string(data), "png bytes")
	same(t, "read", err, nil)
	for _, kind := range []string{"voice", "document", "audio", "video"} {
		send(t, group, telegramsim.Line{From: w.ana, File: &telegramsim.File{Kind: kind, Name: "a.bin", MIME: "x/y", Data: []byte("x")}})
	}
	w.updates(t, w.nova) // held to the schema
	clean(t, w)
}

func TestBotsMayHearOneAnother(t *testing.T) {
	for _, hear := range []bool{false, true} {
		w := newWorld(t, telegramsim.Options{BotsHear: hear})
		other := w.AddBot(telegramsim.User{Name: "Other", Username: "other_bot"})
		group := w.AddChat(telegramsim.Chat{Kind: "group"}, w.ana, w.nova, other)
		ok(t, w.do(t, other, "sendMessage", `{"chat_id":%d,"text":"x","reply_parameters":{"message_id":%d}}`, group.ID, group.Say(w.ana, "y")))
		send(t, group, telegramsim.Line{From: other, Text: "@nova_bot hello"})
		same(t, "heard", len(w.updates(t, w.nova)) == 1, hear)
	}
}

func TestButtons(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"Sure?","reply_markup":{"inline_keyboard":[[{"text":"Yes","callback_data":"y:1"},{"text":"Site","url":"https://a.example"}]]}}`))
	post := dm.Posts()[0]
	same(t, "buttons", post.Buttons, "[[{Yes y:1 } {Site  https://a.example}]]")
	id, err := dm.Press(w.ana, post.ID, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	var q struct {
		ID, Data string
		From     struct{ ID int64 }
	}
	if err := json.Unmarshal(w.updates(t, w.nova)[0]["callback_query"], &q); err != nil {
		t.Fatal(err)
	}
	same(t, "query", q.ID+q.Data, id+"y:1")
	ok(t, w.do(t, w.nova, "answerCallbackQuery", `{"callback_query_id":%q,"text":"done"}`, id))
	late, err := dm.Press(w.ana, post.ID, "y:1")
	if err != nil {
		t.Fatal(err)
	}
	w.ExpireQuery(late)
	expect(t, w.do(t, w.nova, "answerCallbackQuery", `{"callback_query_id":%q}`, late), 400,
		"Bad Request: query is too old and response timeout expired or query ID is invalid")
	if _, err := dm.Press(w.ana, post.ID, "Site"); err == nil {
		t.Error("a link sent data")
	}
	clean(t, w)
}

func TestDraftsAndTheStopButton(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	if dm.StopDraft(0) == nil {
		t.Error("a draft that is not there was stopped")
	}
	ok(t, w.do(t, w.nova, "sendMessageDraft", `{"chat_id":5,"draft_id":3,"text":""}`))
	ok(t, w.do(t, w.nova, "sendMessageDraft", `{"chat_id":5,"draft_id":3,"text":"He"}`))
	ok(t, w.do(t, w.nova, "sendRichMessageDraft", `{"chat_id":5,"draft_id":4,"rich_message":{"markdown":"# He"},"can_stop":true}`))
	drafts := dm.Drafts()
	same(t, "drafts", []any{len(drafts), drafts[1].Text, drafts[2].Rich, drafts[2].Draft}, "[3 He # He 4]")
	same(t, "no draft is a post", len(dm.Posts()), 0)
	if err := dm.StopDraft(0); err != nil {
		t.Fatal(err)
	}
	stopped := string(w.updates(t, w.nova)[0]["stopped_message_generation"])
	if !strings.Contains(stopped, `"draft_id":4`) {
		t.Errorf("stop: %s", stopped)
	}
	ok(t, w.do(t, w.nova, "sendMessageDraft", `{"chat_id":5,"draft_id":5,"text":"He","can_stop":true}`))
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"Hello"}`))
	if dm.StopDraft(0) == nil {
		t.Error("a draft was stopped that a message had replaced")
	}
	clean(t, w)
}

func TestMembersComeAndGo(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	text := `{"chat_id":%d,"text":"x"}`
	dm := w.DM(w.ana, w.nova)
	dm.SetStatus(w.ana, w.nova, "kicked")
	same(t, "block", texts(t, w.updates(t, w.nova)), "[my_chat_member:-]")
	expect(t, w.do(t, w.nova, "sendMessage", text, 5), 403, "Forbidden: bot was blocked by the user")
	dm.SetStatus(w.ana, w.nova, "member")
	ok(t, w.do(t, w.nova, "sendMessage", text, 5))
	expect(t, w.do(t, w.nova, "sendMessage", text, 6), 403, "Forbidden: bot can't initiate conversation with a user")
	expect(t, w.do(t, w.nova, "sendMessage", text, -77), 400, "Bad Request: chat not found")
	w.updates(t, w.nova)

	for kind, name := range map[string]string{"group": "group", "supergroup": "supergroup", "forum": "supergroup"} {
		group := w.AddChat(telegramsim.Chat{Kind: kind}, w.ana)
		expect(t, w.do(t, w.nova, "sendMessage", text, group.ID), 403, "Forbidden: bot is not a member of the "+name+" chat")
		group.SetStatus(w.ana, w.nova, "member")
		same(t, "join", texts(t, w.updates(t, w.nova)), "[my_chat_member:- -]")
		ok(t, w.do(t, w.nova, "sendMessage", text, group.ID))
		group.SetStatus(w.ana, w.bob, "member")
		group.SetStatus(w.bob, w.bob, "left")
		same(t, "people", len(w.updates(t, w.nova)), 2)
		group.SetStatus(w.ana, w.nova, "restricted")
		expect(t, w.do(t, w.nova, "sendMessage", text, group.ID), 400, "Bad Request: not enough rights to send text messages to the chat")
		group.SetStatus(w.ana, w.nova, "kicked")
		expect(t, w.do(t, w.nova, "sendMessage", text, group.ID), 403, "Forbidden: bot was kicked from the "+name+" chat")
		w.updates(t, w.nova)
	}
	clean(t, w)
}

func TestMigration(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	group := w.AddChat(telegramsim.Chat{Kind: "group"}, w.ana, w.nova)
	super := group.Migrate()
	list := w.news(t, w.nova)
	if len(list) != 2 || list[0].MigrateTo != int64(super.ID) || list[1].MigrateFrom != int64(group.ID) {
		t.Errorf("service messages: %+v", list)
	}
	a := w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"text":"x"}`, group.ID)
	expect(t, a, 400, "Bad Request: group chat was upgraded to a supergroup chat")
	same(t, "moved to", a.Parameters.MigrateTo, int64(super.ID))
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":%d,"text":"x"}`, super.ID))
	clean(t, w)
}

func TestChatsThatSpeak(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.nova.SetPrivacy(false)
	group := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana, w.nova)
	news := w.AddChat(telegramsim.Chat{Kind: "channel", Username: "news"}, w.ana, w.nova)
	news.Link(group)
	send(t, group, telegramsim.Line{As: group, Text: "anonymous"})
	if m := w.one(t, w.nova); m.SenderChat == nil || m.SenderChat.ID != int64(group.ID) || m.From.ID != 1087968824 {
		t.Errorf("anonymous admin: %+v", m)
	}
	send(t, group, telegramsim.Line{As: news, Text: "as a channel"})
	if m := w.one(t, w.nova); m.SenderChat.ID != int64(news.ID) || m.From.ID != 136817688 {
		t.Errorf("a channel in the group: %+v", m)
	}
	news.Say(w.ana, "headline")
	list := w.news(t, w.nova)
	if len(list) != 2 || list[0].From != nil || !list[1].Auto || list[1].From.ID != 777000 || list[1].SenderChat.ID != int64(news.ID) {
		t.Errorf("auto-forward: %+v", list)
	}
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":"@news","text":"x"}`))
	same(t, "channel post", len(news.Posts()), 1)
	same(t, "the bot's own post comes back to it from the group", w.one(t, w.nova).Auto, true)
	clean(t, w)
}
