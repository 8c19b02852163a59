package updates

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"attache"
)

// What the updates below are put together from, in Telegram's own form.
const (
	annJSON   = `{"id":5,"is_bot":false,"first_name":"Ann","last_name":"Lee","username":"annlee","language_code":"en"}`
	novaJSON  = `{"id":77,"is_bot":true,"first_name":"Nova","username":"nova_bot"}`
	anonJSON  = `{"id":1087968824,"is_bot":true,"first_name":"Group","username":"GroupAnonymousBot"}`
	tgJSON    = `{"id":777000,"is_bot":false,"first_name":"Telegram"}`
	dmJSON    = `{"id":5,"type":"private","first_name":"Ann","last_name":"Lee","username":"annlee"}`
	groupJSON = `{"id":-1001,"type":"supergroup","title":"Desk"}`
	forumJSON = `{"id":-1001,"type":"supergroup","title":"Desk","is_forum":true}`
	newsJSON  = `{"id":-1009,"type":"channel","title":"News","username":"acmenews"}`
)

var ( // values of the same, as they should come out; never written to
	wantAnn = attache.Person{ID: "tg:user:5", Name: "Ann Lee", Username: "annlee"}
	wantAt  = time.Date(2026, 11, 30, 9, 12, 3, 0, time.UTC)
)

// messageUpdate makes the update {"update_id":9,"<kind>":{…}} with number 812, sent by from in chat.
func messageUpdate(kind, chat, from, rest string) string {
	who := ""
	if from != "" {
		who = `"from":` + from + `,`
	}
	return fmt.Sprintf(`{"update_id":9,%q:{"message_id":812,%s"chat":%s,"date":%d%s}}`, kind, who, chat, wantAt.Unix(), rest)
}

func decodeOK(t *testing.T, raw string) attache.Update {
	t.Helper()
	u, err := Decode("nova", []byte(raw))
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if u.Bot != "nova" || u.ID != 9 {
		t.Errorf("bot %q, id %d", u.Bot, u.ID)
	}
	return u
}

func TestDecodeWholeMessage(t *testing.T) {
	u := decodeOK(t, messageUpdate("message", forumJSON, annJSON, `,
		"message_thread_id":42,"is_topic_message":true,"text":"😀 @nova_bot see T-481",
		"entities":[{"type":"mention","offset":3,"length":9},{"type":"text_mention","offset":0,"length":2,"user":`+annJSON+`},
			{"type":"text_link","offset":900,"length":5,"url":"https://example.org"},{"type":"pre","offset":-1,"length":-5,"language":"go"}],
		"reply_to_message":{"message_id":790,"from":`+novaJSON+`,"chat":`+forumJSON+`,"date":1764403200,"text":"Yesterday's report","message_thread_id":42,"is_topic_message":true},
		"quote":{"text":"report","position":12,"is_manual":true},
		"via_bot":{"id":8,"is_bot":true,"first_name":"Gif","username":"gif"}`))
	want := attache.Update{Bot: "nova", ID: 9, Kind: "message", Message: &attache.Message{
		Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42},
		ID:    812,
		Chat:  attache.Chat{Kind: "supergroup", Title: "Desk", Forum: true},
		From:  wantAnn, At: wantAt,
		Text: "😀 @nova_bot see T-481",
		Marks: []attache.Mark{
			{Kind: "mention", Offset: 3, Length: 9}, {Kind: "text_mention", Length: 2, User: "tg:user:5"},
			{Kind: "text_link", Offset: 900, Length: 5, URL: "https://example.org"}, {Kind: "pre", Offset: -1, Length: -5, Language: "go"},
		},
		Reply: &attache.Reply{
			ID: 790, From: attache.Person{ID: "tg:user:77", Name: "Nova", Username: "nova_bot", IsBot: true},
			At: time.Unix(1764403200, 0).UTC(), Text: "Yesterday's report", Quote: "report",
		},
		ViaBot: "gif",
	}}
	if d := cmp.Diff(want, u); d != "" {
		t.Error(d)
	}
	if s, ok := attache.UTF16Slice(u.Message.Text, 3, 9); !ok || s != "@nova_bot" {
		t.Errorf("the mention after an emoji reads %q", s)
	}
}

// row L2
func TestDecodePlaces(t *testing.T) {
	tests := map[string]struct {
		chat, rest string
		thread     attache.ThreadID
	}{
		"topic":                       {forumJSON, `,"message_thread_id":77,"is_topic_message":true`, 77},
		"General by its number":       {forumJSON, `,"message_thread_id":1,"is_topic_message":true`, 0},
		"General without a number":    {forumJSON, ``, 0},
		"reply chain in General":      {forumJSON, `,"message_thread_id":790`, 0},
		"reply chain in a group":      {groupJSON, `,"message_thread_id":790`, 0},
		"reply chain, flag false":     {groupJSON, `,"message_thread_id":790,"is_topic_message":false`, 0},
		"private topic":               {dmJSON, `,"message_thread_id":9,"is_topic_message":true`, 9},
		"private topic, no flag":      {dmJSON, `,"message_thread_id":9`, 9},
		"private chat without topics": {dmJSON, ``, 0},
		"negative thread":             {forumJSON, `,"message_thread_id":-4,"is_topic_message":true`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := decodeOK(t, messageUpdate("message", test.chat, annJSON, test.rest+`,"text":"hi"`)).Message
			if m.Place.Thread != test.thread || m.Place.Bot != "nova" || m.Place.Chat == 0 {
				t.Errorf("place %v, want thread %d", m.Place, test.thread)
			}
		})
	}
}

func TestDecodeReplies(t *testing.T) {
	parent := func(id int, more string) string {
		return fmt.Sprintf(`,"reply_to_message":{"message_id":%d,"from":%s,"chat":%s,"date":1764403200%s}`, id, novaJSON, forumJSON, more)
	}
	topic := `,"message_thread_id":42,"is_topic_message":true`
	nova := attache.Person{ID: "tg:user:77", Name: "Nova", Username: "nova_bot", IsBot: true}
	at := time.Unix(1764403200, 0).UTC()
	tests := map[string]struct {
		rest string
		want *attache.Reply
	}{
		"plain message":                        {``, nil},
		"first message of a topic":             {topic + parent(42, `,"forum_topic_created":{"name":"T-481","icon_color":7322096}`), nil},
		"topic root without its service field": {topic + parent(42, ``), nil},
		"creation message of another topic":    {topic + parent(40, `,"forum_topic_created":{"name":"x","icon_color":1}`), nil},
		"General's root":                       {`,"message_thread_id":1,"is_topic_message":true` + parent(1, ``), nil},
		"reply in a topic":                     {topic + parent(790, `,"text":"done"`), &attache.Reply{ID: 790, From: nova, At: at, Text: "done"}},
		"first reply of a chain in a group":    {`,"message_thread_id":790` + parent(790, `,"text":"done"`), &attache.Reply{ID: 790, From: nova, At: at, Text: "done"}},
		"caption of the parent":                {parent(790, `,"caption":"chart","photo":[]`), &attache.Reply{ID: 790, From: nova, At: at, Text: "chart"}},
		"a voice message as the parent":        {parent(790, `,"voice":{"file_id":"F1"}`), &attache.Reply{ID: 790, From: nova, At: at, Text: "[voice]"}},
		"a document as the parent":             {parent(790, `,"document":{"file_id":"F1","file_name":"a]\nb.pdf"},"caption":"the plan"`), &attache.Reply{ID: 790, From: nova, At: at, Text: "[document a b.pdf]\nthe plan"}},
		"a photo as the parent":                {parent(790, `,"photo":[{"file_id":"F1"}]`), &attache.Reply{ID: 790, From: nova, At: at, Text: "[photo]"}},
		"rich parent has no text":              {parent(790, `,"rich_message":{"blocks":[]}`), &attache.Reply{ID: 790, From: nova, At: at}},
		"quote":                                {parent(790, `,"text":"a b c"`) + `,"quote":{"text":"b","position":2}`, &attache.Reply{ID: 790, From: nova, At: at, Text: "a b c", Quote: "b"}},
		"ephemeral parent":                     {parent(0, ``), nil},
		"parent of another chat": {
			`,"reply_to_message":{"message_id":790,"from":` + novaJSON + `,"chat":` + newsJSON + `,"date":1764403200,"text":"x"}`,
			&attache.Reply{ID: 790, From: nova, At: at, Text: "x", External: true, Chat: -1009},
		},
		"external reply from a channel": {
			`,"external_reply":{"origin":{"type":"channel","date":1764403200,"chat":` + newsJSON + `,"message_id":31},"chat":` + newsJSON + `,"message_id":31},"quote":{"text":"prices","position":0}`,
			&attache.Reply{ID: 31, From: attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, At: at, Quote: "prices", External: true, Chat: -1009},
		},
		"external reply from a private chat has no number": {
			`,"external_reply":{"origin":{"type":"user","date":1764403200,"sender_user":` + annJSON + `}}`,
			&attache.Reply{From: wantAnn, At: at, External: true},
		},
		"external reply of a hidden person": {
			`,"external_reply":{"origin":{"type":"hidden_user","date":1764403200,"sender_user_name":"Somebody"}}`,
			&attache.Reply{From: attache.Person{Name: "Somebody"}, At: at, External: true},
		},
		"topic root beside an external reply": {
			topic + parent(42, `,"forum_topic_created":{"name":"x"}`) + `,"external_reply":{"origin":{"type":"chat","date":1764403200,"sender_chat":` + newsJSON + `}}`,
			&attache.Reply{From: attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, At: at, External: true},
		},
		"another topic of this chat": {
			topic + `,"external_reply":{"origin":{"type":"user","date":1764403200,"sender_user":` + novaJSON + `},"chat":` + forumJSON + `,"message_id":600}`,
			&attache.Reply{ID: 600, From: nova, At: at},
		},
		"anonymous parent": {
			`,"reply_to_message":{"message_id":790,"from":` + anonJSON + `,"sender_chat":` + forumJSON + `,"chat":` + forumJSON + `,"date":1764403200,"text":"x"}`,
			&attache.Reply{ID: 790, From: attache.Person{ID: "tg:chat:-1001", Name: "Desk"}, At: at, Text: "x"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := decodeOK(t, messageUpdate("message", forumJSON, annJSON, test.rest+`,"text":"hi"`)).Message
			if d := cmp.Diff(test.want, m.Reply); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeIdentity(t *testing.T) {
	tests := map[string]struct {
		kind, chat, from, rest string
		want                   attache.Person
		channel                bool
	}{
		"person":             {"message", groupJSON, annJSON, ``, wantAnn, false},
		"anonymous admin":    {"message", groupJSON, anonJSON, `,"sender_chat":` + groupJSON, attache.Person{ID: "tg:chat:-1001", Name: "Desk"}, false},
		"no from at all":     {"message", groupJSON, "", `,"sender_chat":` + groupJSON, attache.Person{ID: "tg:chat:-1001", Name: "Desk"}, false},
		"stand-in alone":     {"message", groupJSON, anonJSON, ``, attache.Person{ID: "tg:chat:-1001", Name: "Desk"}, false},
		"automatic forward":  {"message", groupJSON, tgJSON, `,"is_automatic_forward":true,"sender_chat":` + newsJSON, attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, true},
		"posted as channel":  {"message", groupJSON, `{"id":136817688,"is_bot":true,"first_name":"Channel"}`, `,"sender_chat":` + newsJSON, attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, true},
		"channel post":       {"channel_post", newsJSON, "", `,"sender_chat":` + newsJSON, attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, true},
		"bare channel post":  {"channel_post", newsJSON, "", ``, attache.Person{ID: "tg:chat:-1009", Name: "News", Username: "acmenews"}, true},
		"another bot":        {"message", groupJSON, novaJSON, ``, attache.Person{ID: "tg:user:77", Name: "Nova", Username: "nova_bot", IsBot: true}, false},
		"nobody":             {"message", groupJSON, "", ``, attache.Person{}, false},
		"a from without id":  {"message", groupJSON, `{}`, ``, attache.Person{}, false},
		"one name":           {"message", groupJSON, `{"id":6,"is_bot":false,"first_name":" Bo ","last_name":""}`, ``, attache.Person{ID: "tg:user:6", Name: "Bo"}, false},
		"Telegram's own DM":  {"message", `{"id":777000,"type":"private","first_name":"Telegram"}`, tgJSON, ``, attache.Person{ID: "tg:user:777000", Name: "Telegram"}, false},
		"NUL in a name":      {"message", groupJSON, `{"id":6,"first_name":"B\u0000o"}`, ``, attache.Person{ID: "tg:user:6", Name: "B\uFFFDo"}, false},
		"very large numbers": {"message", groupJSON, `{"id":4503599627370495,"first_name":"Big"}`, ``, attache.Person{ID: "tg:user:4503599627370495", Name: "Big"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := decodeOK(t, messageUpdate(test.kind, test.chat, test.from, test.rest+`,"text":"hi"`)).Message
			if d := cmp.Diff(test.want, m.From); d != "" || m.Channel != test.channel {
				t.Errorf("channel %v %s", m.Channel, d)
			}
		})
	}
}

func TestDecodeContents(t *testing.T) {
	voice := `{"file_id":"V","file_unique_id":"v","duration":3,"mime_type":"audio/ogg","file_size":900}`
	tests := map[string]struct {
		rest string
		want attache.Message // Text, Marks, Media, Left, Service, Topic, Joined, LeftBy, Forward, Album
	}{
		"photo, largest size": {
			`,"photo":[{"file_id":"S","width":90,"height":60},{"file_id":"L","file_unique_id":"l","width":1280,"height":853,"file_size":123456},{"file_id":"M","width":320,"height":213}],"caption":"see","caption_entities":[{"type":"bold","offset":0,"length":3}],"media_group_id":"135"`,
			attache.Message{Text: "see", Marks: []attache.Mark{{Kind: "bold", Length: 3}}, Album: "135", Media: []attache.Media{{Kind: "photo", FileID: "L", Unique: "l", Size: 123456}}},
		},
		"voice":    {`,"voice":` + voice, attache.Message{Media: []attache.Media{{Kind: "voice", FileID: "V", Unique: "v", MIME: "audio/ogg", Size: 900}}}},
		"audio":    {`,"audio":{"file_id":"A","file_name":"a.mp3"}`, attache.Message{Media: []attache.Media{{Kind: "audio", FileID: "A", Name: "a.mp3"}}}},
		"video":    {`,"video":{"file_id":"A","file_size":3000000000}`, attache.Message{Media: []attache.Media{{Kind: "video", FileID: "A", Size: 3000000000}}}},
		"round":    {`,"video_note":{"file_id":"A","length":240}`, attache.Message{Media: []attache.Media{{Kind: "video_note", FileID: "A"}}}},
		"sticker":  {`,"sticker":{"file_id":"A","emoji":"👍","set_name":"x"}`, attache.Message{Media: []attache.Media{{Kind: "sticker", FileID: "A", Name: "👍"}}}},
		"document": {`,"document":{"file_id":"D","file_name":"offer.pdf","mime_type":"application/pdf","file_size":5}`, attache.Message{Media: []attache.Media{{Kind: "document", FileID: "D", Name: "offer.pdf", MIME: "application/pdf", Size: 5}}}},
		"animation comes as a document too": {
			`,"animation":{"file_id":"G","file_name":"g.mp4"},"document":{"file_id":"G","file_name":"g.mp4"}`,
			attache.Message{Media: []attache.Media{{Kind: "animation", FileID: "G", Name: "g.mp4"}}},
		},
		"live photo comes as a photo too": {
			`,"live_photo":{"file_id":"LV"},"photo":[{"file_id":"P","width":1,"height":1}]`,
			attache.Message{Left: "the moving part of a live photo", Media: []attache.Media{{Kind: "photo", FileID: "P"}}},
		},
		"poll":       {`,"poll":{"id":"1","question":"?","options":[]}`, attache.Message{Left: "a poll"}},
		"location":   {`,"location":{"latitude":52.1,"longitude":4.3e-05}`, attache.Message{Left: "a location"}},
		"venue":      {`,"location":{"latitude":1,"longitude":1},"venue":{"title":"x"}`, attache.Message{Left: "a place on the map"}},
		"contact":    {`,"contact":{"phone_number":"1","first_name":"x"}`, attache.Message{Left: "a contact"}},
		"dice":       {`,"dice":{"emoji":"🎲","value":3}`, attache.Message{Left: "a throw of dice"}},
		"checklist":  {`,"checklist":{"title":"x","tasks":[]}`, attache.Message{Left: "a checklist"}},
		"paid media": {`,"paid_media":{"star_count":5,"paid_media":[]},"caption":"buy"`, attache.Message{Text: "buy", Left: "paid media"}},
		"story":      {`,"text":"nice","reply_to_story":{"id":3,"chat":` + newsJSON + `}`, attache.Message{Text: "nice", Left: "the story that it replies to"}},
		"nothing":    {`,"has_protected_content":true,"effect_id":"5"`, attache.Message{Left: "a message of a kind that Telegram does not show to bots"}},
		"rich message": {
			`,"rich_message":{"blocks":[{"type":"heading","text":"Plan","size":1},{"type":"paragraph","text":["see ",{"type":"bold","text":["T-",{"type":"italic","text":"481"}]},"."]},
				{"type":"list","items":[{"label":"•","blocks":[{"type":"paragraph","text":"one"}]},{"label":"•","blocks":[{"type":"paragraph","text":"two"}]}]},
				{"type":"table","cells":[[{"text":"a"},{"text":"b"}],[{"text":"1"},{"text":"2"}]],"caption":"T"}]}`,
			attache.Message{Text: "Plan\nsee T-481.\none\n\ntwo\n\n\na | b\n1 | 2\n\nT"},
		},
		"rich message without words": {`,"rich_message":{"blocks":[{"type":"divider"}]}`, attache.Message{Left: "a rich message"}},
		"topic created":              {`,"message_thread_id":812,"is_topic_message":true,"forum_topic_created":{"name":"T-\u0000481","icon_color":7322096}`, attache.Message{Service: "forum_topic_created", Topic: "T-\uFFFD481"}},
		"joined":                     {`,"new_chat_member":` + annJSON + `,"new_chat_members":[` + annJSON + `,{},` + novaJSON + `]`, attache.Message{Service: "new_chat_members", Joined: []attache.Person{wantAnn, {ID: "tg:user:77", Name: "Nova", Username: "nova_bot", IsBot: true}}}},
		"left":                       {`,"left_chat_member":` + annJSON, attache.Message{Service: "left_chat_member", LeftBy: &wantAnn}},
		"pinned":                     {`,"pinned_message":{"message_id":1,"date":0,"chat":` + groupJSON + `}`, attache.Message{Service: "pinned_message"}},
		"photo deleted":              {`,"delete_chat_photo":true,"group_chat_created":false,"new_chat_title":null`, attache.Message{Service: "delete_chat_photo"}},
		"unknown service":            {`,"community_moved":{"x":1}`, attache.Message{Service: "community_moved"}},
		"forward of a person":        {`,"text":"x","forward_origin":{"type":"user","date":1,"sender_user":` + annJSON + `}`, attache.Message{Text: "x", Forward: "Ann Lee"}},
		"forward of a hidden one":    {`,"text":"x","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Someone"}`, attache.Message{Text: "x", Forward: "Someone"}},
		"forward of a group":         {`,"text":"x","forward_origin":{"type":"chat","date":1,"sender_chat":` + groupJSON + `}`, attache.Message{Text: "x", Forward: "Desk"}},
		"forward of a channel":       {`,"text":"x","forward_origin":{"type":"channel","date":1,"chat":` + newsJSON + `,"message_id":3}`, attache.Message{Text: "x", Forward: "News"}},
		"NUL and broken text":        {`,"text":"a\u0000b\ud800c` + "\xff" + `d"`, attache.Message{Text: "a\uFFFDb\uFFFDc\uFFFDd"}},
		"wrong types in other fields": {
			`,"text":"ok","reply_markup":"no object","link_preview_options":7,"sender_boost_count":"many","effect_id":{},"poll":[],"sender_tag":false`,
			attache.Message{Text: "ok"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := decodeOK(t, messageUpdate("message", groupJSON, annJSON, test.rest)).Message
			got := attache.Message{
				Text: m.Text, Marks: m.Marks, Media: m.Media, Left: m.Left, Service: m.Service, Topic: m.Topic,
				Joined: m.Joined, LeftBy: m.LeftBy, Forward: m.Forward, Album: m.Album,
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeOtherKinds(t *testing.T) {
	press := func(rest string) string {
		return `{"update_id":9,"callback_query":{"id":"4382","from":` + annJSON + `,"chat_instance":"-1","data":"yes:17"` + rest + `}}`
	}
	member := func(kind, was, now string) string {
		return fmt.Sprintf(`{"update_id":9,%q:{"chat":%s,"from":%s,"date":1,"old_chat_member":%s,"new_chat_member":%s}}`, kind, groupJSON, novaJSON, was, now)
	}
	member5 := `{"status":"member","user":` + annJSON + `}`
	wantPress := func(p attache.Place, id attache.MessageID, text string) *attache.Press {
		return &attache.Press{ID: "4382", Place: p, Message: id, From: wantAnn, Data: "yes:17", Text: text}
	}
	tests := map[string]struct {
		raw  string
		want attache.Update
	}{
		"press": {
			press(`,"message":{"message_id":800,"from":` + novaJSON + `,"chat":` + forumJSON + `,"date":1,"message_thread_id":42,"is_topic_message":true,"text":"?","reply_markup":{"inline_keyboard":[[{"text":"Docs","url":"https://x"}],[{"text":"No","callback_data":"no:17"},{"text":"Yes","callback_data":"yes:17"}]]}}`),
			attache.Update{Kind: "callback_query", Press: wantPress(attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, 800, "Yes")},
		},
		"press of a post that is gone": {
			press(`,"message":{"message_id":800,"chat":` + groupJSON + `,"date":0}`),
			attache.Update{Kind: "callback_query", Press: wantPress(attache.Place{Bot: "nova", Chat: -1001}, 800, "")},
		},
		"press of an inline message": {
			press(`,"inline_message_id":"AAAA"`),
			attache.Update{Kind: "callback_query", Press: wantPress(attache.Place{Bot: "nova"}, 0, "")},
		},
		"press in a Business chat": {
			press(`,"message":{"message_id":800,"business_connection_id":"b","chat":` + dmJSON + `,"date":1}`),
			attache.Update{Kind: "callback_query"},
		},
		"joined": {
			member("chat_member", `{"status":"left","user":`+annJSON+`}`, member5),
			attache.Update{Kind: "chat_member", Member: &attache.MemberChange{Chat: -1001, Person: wantAnn, Was: "left", Now: "member"}},
		},
		"restricted and out": {
			member("chat_member", `{"status":"restricted","is_member":true,"user":`+annJSON+`}`, `{"status":"restricted","is_member":false,"user":`+annJSON+`}`),
			attache.Update{Kind: "chat_member", Member: &attache.MemberChange{Chat: -1001, Person: wantAnn, Was: "restricted", Now: "left"}},
		},
		"kicked": {
			member("my_chat_member", `{"status":"member","user":`+novaJSON+`}`, `{"status":"kicked","until_date":0,"user":`+novaJSON+`}`),
			attache.Update{Kind: "my_chat_member", Member: &attache.MemberChange{
				Chat: -1001, Self: true, Was: "member", Now: "kicked",
				Person: attache.Person{ID: "tg:user:77", Name: "Nova", Username: "nova_bot", IsBot: true},
			}},
		},
		"moved, said in the old group": {
			messageUpdate("message", `{"id":-44,"type":"group","title":"Desk"}`, annJSON, `,"migrate_to_chat_id":-1001`),
			attache.Update{Kind: "message", Migrated: &attache.Migration{From: -44, To: -1001}},
		},
		"moved, said in the new one": {
			messageUpdate("message", groupJSON, anonJSON, `,"sender_chat":`+groupJSON+`,"migrate_from_chat_id":-44`),
			attache.Update{Kind: "message", Migrated: &attache.Migration{From: -44, To: -1001}},
		},
		"stopped": {
			`{"update_id":9,"stopped_message_generation":{"chat":` + dmJSON + `,"message_thread_id":9,"draft_id":3}}`,
			attache.Update{Kind: "stopped_message_generation", Stopped: &attache.Place{Bot: "nova", Chat: 5, Thread: 9}},
		},
		"Business kind":        {messageUpdate("business_message", dmJSON, annJSON, `,"business_connection_id":"b","text":"hi"`), attache.Update{Kind: "business_message"}},
		"Business in disguise": {messageUpdate("message", dmJSON, annJSON, `,"business_connection_id":"b","text":"hi"`), attache.Update{Kind: "message"}},
		"guest kind":           {messageUpdate("guest_message", groupJSON, annJSON, `,"guest_query_id":"g","text":"hi"`), attache.Update{Kind: "guest_message"}},
		"guest in disguise":    {messageUpdate("message", groupJSON, annJSON, `,"guest_query_id":"g","text":"hi"`), attache.Update{Kind: "message"}},
		"ephemeral":            {`{"update_id":9,"message":{"message_id":0,"ephemeral_message_id":4,"date":1,"chat":` + groupJSON + `,"text":"hi"}}`, attache.Update{Kind: "message"}},
		"ephemeral edit":       {`{"update_id":9,"edited_message":{"message_id":0,"date":1,"chat":` + groupJSON + `}}`, attache.Update{Kind: "edited_message"}},
		"reaction":             {`{"update_id":9,"message_reaction":{"chat":1}}`, attache.Update{Kind: "message_reaction"}},
		"kind of the future":   {`{"update_id":9,"telepathy":{"message_id":"none"}}`, attache.Update{Kind: "telepathy"}},
		"no kind":              {`{"update_id":9}`, attache.Update{}},
		"null kind":            {`{"update_id":9,"message":null}`, attache.Update{Kind: "message"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.want.Bot, test.want.ID = "nova", 9
			if d := cmp.Diff(test.want, decodeOK(t, test.raw)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeEdits(t *testing.T) {
	m := decodeOK(t, messageUpdate("edited_message", groupJSON, annJSON, fmt.Sprintf(`,"edit_date":%d,"text":"b"`, wantAt.Unix()+60))).Edited
	if m.Text != "b" || m.ID != 812 || !m.At.Equal(wantAt) || !m.EditedAt.Equal(wantAt.Add(time.Minute)) || m.Channel {
		t.Errorf("got %+v", m)
	}
	m = decodeOK(t, messageUpdate("edited_channel_post", newsJSON, "", `,"text":"b"`)).Edited
	if !m.Channel || m.EditedAt.IsZero() || m.From.ID != "tg:chat:-1009" {
		t.Errorf("an edit always has a time: %+v", m)
	}
}

func TestDecodeErrorsKeepIDAndKind(t *testing.T) {
	tests := map[string]struct {
		raw  string
		id   int64
		kind string
	}{
		"wrong type in a field that is used": {`{"update_id":9,"message":{"message_id":"x","chat":{"id":1},"text":"secret words"}}`, 9, "message"},
		"fraction as a number":               {`{"update_id":9,"message":{"message_id":1.5,"chat":{"id":1}}}`, 9, "message"},
		"no chat":                            {`{"update_id":9,"message":{"message_id":1,"text":"secret words"}}`, 9, "message"},
		"edit without a chat":                {`{"update_id":9,"edited_message":{"message_id":1}}`, 9, "edited_message"},
		"kind is a list":                     {`{"update_id":9,"callback_query":[]}`, 9, "callback_query"},
		"press without a person":             {`{"update_id":9,"callback_query":{"id":"1"}}`, 9, "callback_query"},
		"member of nothing":                  {`{"update_id":9,"chat_member":{}}`, 9, "chat_member"},
		"stop of nothing":                    {`{"update_id":9,"stopped_message_generation":{}}`, 9, "stopped_message_generation"},
		"id is a text":                       {`{"update_id":"9","message":{}}`, 0, "message"},
		"id is too large":                    {`{"update_id":9223372036854775807}`, 0, ""},
		"no id":                              {`{"message":{"message_id":1,"chat":{"id":1}}}`, 0, "message"},
		"cut":                                {`{"update_id":9,"message":{"text":"secret wor`, 9, ""},
		"wrapped, as storable keeps it":      {string(storable(9, []byte(`{"update_id":9,"message":{"text":"secret wor`))), 9, ""},
		"not an object":                      {`"secret words"`, 0, ""},
		"nothing":                            {``, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			u, err := Decode("nova", []byte(test.raw))
			if err == nil {
				t.Fatalf("decoded as %+v", u)
			}
			if d := cmp.Diff(attache.Update{Bot: "nova", ID: test.id, Kind: test.kind}, u); d != "" {
				t.Error(d)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error gives the text away: %v", err)
			}
		})
	}
}

func TestDecodeDates(t *testing.T) {
	for raw, want := range map[string]time.Time{"0": {}, "-5": {}, "99999999999999": {}, "1764493923": time.Unix(1764493923, 0).UTC()} {
		m := decodeOK(t, `{"update_id":9,"message":{"message_id":1,"date":`+raw+`,"chat":`+dmJSON+`,"text":"x"}}`).Message
		if !m.At.Equal(want) {
			t.Errorf("%s: %v", raw, m.At)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(messageUpdate("message", forumJSON, annJSON, `,"text":"a\u0000\ud83d","entities":[{"type":"url","offset":-1,"length":99}],"reply_to_message":{"message_id":3}`)))
	f.Add([]byte(messageUpdate("channel_post", newsJSON, "", `,"rich_message":{"blocks":[{"text":[["a"]],"cells":[["b"]]}]}`)))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":5},"message":{"chat":{"id":1}}}}`))
	f.Add([]byte(`{"update_id":1,"my_chat_member":{"chat":{"id":1},"new_chat_member":{"user":{"id":1}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := Decode("nova", raw)
		out, jsonErr := json.Marshal(u)
		if jsonErr != nil {
			t.Fatalf("what was decoded cannot be stored: %v", jsonErr)
		}
		if strings.Contains(string(out), `\u0000`) {
			t.Errorf("a NUL came through: %s", out)
		}
		if !utf8.ValidString(u.Kind) || u.Message != nil && !utf8.ValidString(u.Message.Text) {
			t.Errorf("invalid UTF-8 came through: %q", out)
		}
		set := 0
		for _, there := range []bool{u.Message != nil, u.Edited != nil, u.Press != nil, u.Migrated != nil, u.Member != nil, u.Stopped != nil} {
			if there {
				set++
			}
		}
		if set > 1 || err != nil && set > 0 {
			t.Errorf("%d pointers are set, error %v", set, err)
		}
	})
}

func benchUpdate() []byte {
	return []byte(messageUpdate("message", forumJSON, annJSON, `,"message_thread_id":42,"is_topic_message":true,"text":"@nova_bot the parcel of T-481 has not arrived, what can we do? \ud83d\ude00",
		"entities":[{"type":"mention","offset":0,"length":9},{"type":"bold","offset":20,"length":5}],
		"reply_to_message":{"message_id":790,"from":`+novaJSON+`,"chat":`+forumJSON+`,"date":1764403200,"text":"Ticket T-481 was opened by the customer this morning.","message_thread_id":42,"is_topic_message":true}`))
}

func BenchmarkDecode(b *testing.B) {
	raw := benchUpdate()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode("nova", raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLibraryModels is what decoding the library's whole type would cost.
func BenchmarkLibraryModels(b *testing.B) {
	raw := benchUpdate()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var u models.Update
		if err := json.Unmarshal(raw, &u); err != nil {
			b.Fatal(err)
		}
	}
}
