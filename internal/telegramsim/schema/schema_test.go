package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func load(t testing.TB) *API {
	t.Helper()
	api, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// example makes the smallest value that a shape allows.
func example(s *shape, f *field) any {
	if f != nil && len(f.Enum) > 0 {
		return f.Enum[0]
	}
	switch s.kind {
	case integer:
		return max(1, minimum(f))
	case float:
		return 1.5
	case boolean:
		return true
	case text:
		return strings.Repeat("x", max(1, minimum(f)))
	case upload:
		return "attach://upload"
	case array:
		items := []any{}
		for range max(1, minimum(f)) {
			items = append(items, example(s.elem, nil))
		}
		return items
	case union:
		// A text stands for a file that is there already, a number for a chat.
		for _, k := range []kind{text, integer} {
			for _, alt := range s.alts {
				if alt.kind == k {
					return example(alt, f)
				}
			}
		}
		return example(s.alts[0], f)
	}
	out := map[string]any{}
	for _, sub := range s.order {
		if sub.Required {
			out[sub.Name] = example(sub.shape, sub)
		}
	}
	for name, v := range alsoNeeded(s.name) {
		out[name] = v
	}
	return out
}

func minimum(f *field) int {
	if f == nil || f.Unit == "" {
		return 0
	}
	return f.Min
}

// alsoNeeded gives what only the documentation's prose asks for.
func alsoNeeded(name string) map[string]any {
	switch name {
	case "InputRichMessage":
		return map[string]any{"markdown": "x"}
	case "ReplyParameters":
		return map[string]any{"message_id": 1}
	case "InlineKeyboardButton":
		return map[string]any{"callback_data": "x"}
	case "editMessageText":
		return map[string]any{"chat_id": 1, "message_id": 1, "text": "x"}
	}
	if strings.HasPrefix(name, "editMessage") || name == "stopMessageLiveLocation" {
		return map[string]any{"chat_id": 1, "message_id": 1}
	}
	return nil
}

// minimal makes the smallest call of a method.
func minimal(m *Method) map[string]any {
	return example(m.params, nil).(map[string]any)
}

// wire makes a call's request as JSON, as a form or as chunked multipart.
func wire(t testing.TB, params map[string]any, how string) *http.Request {
	t.Helper()
	whole, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	uploads := bytes.Contains(whole, []byte("attach://"))
	var body bytes.Buffer
	kind := "application/json"
	form := url.Values{}
	for name, v := range params {
		if s, ok := v.(string); ok {
			form.Set(name, s)
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		form.Set(name, string(raw))
	}
	switch {
	case how == "multipart" || uploads:
		w := multipart.NewWriter(&body)
		for name := range form {
			if err := w.WriteField(name, form.Get(name)); err != nil {
				t.Fatal(err)
			}
		}
		if uploads {
			part, err := w.CreateFormFile("upload", "a.png")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := part.Write([]byte("png")); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		kind = w.FormDataContentType()
	case how == "form":
		body.WriteString(form.Encode())
		kind = "application/x-www-form-urlencoded"
	default:
		body.Write(whole)
	}
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(&body)) // of unknown length, so chunked
	r.Header.Set("Content-Type", kind)
	return r
}

func judge(t testing.TB, m *Method, r *http.Request) []Problem {
	t.Helper()
	p, err := Read(r, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return m.Check(&p)
}

func TestEveryMethodTakesItsMinimalCall(t *testing.T) {
	api := load(t)
	if len(api.methods) < 180 {
		t.Fatalf("only %d methods are described", len(api.methods))
	}
	for _, m := range api.methods {
		for _, how := range []string{"json", "form", "multipart"} {
			if bad := judge(t, m, wire(t, minimal(m), how)); len(bad) > 0 {
				t.Errorf("%s as %s: %+v", m.Name, how, bad)
			}
		}
		params := minimal(m)
		params["chat_ld"] = 5
		if bad := judge(t, m, wire(t, params, "json")); len(bad) != 1 || bad[0].Rule != "unknown" || bad[0].Param != "chat_ld" {
			t.Errorf("%s with a parameter chat_ld: %+v", m.Name, bad)
		}
		for _, f := range m.params.order {
			params := minimal(m)
			delete(params, f.Name)
			bad := judge(t, m, wire(t, params, "json"))
			if f.Required && !slices.ContainsFunc(bad, func(p Problem) bool { return p.Param == f.Name && p.Rule == "required" }) {
				t.Errorf("%s without its %s: %+v", m.Name, f.Name, bad)
			}
		}
	}
}

func TestEveryTypeTakesItsMinimalValue(t *testing.T) {
	api := load(t)
	for name, s := range api.shapes {
		if s.kind == upload {
			continue
		}
		raw, err := json.Marshal(example(s, nil))
		if err != nil {
			t.Fatal(err)
		}
		if bad := api.CheckType([]string{name}, raw); len(bad) > 0 {
			t.Errorf("%s: %+v in %s", name, bad, raw)
		}
	}
}

func TestOwnOutputIsJudged(t *testing.T) {
	api := load(t)
	for _, raw := range []string{
		`{"message":{}}`, `{"update_id":"1"}`, `{"update_id":1,"massage":{}}`,
		`{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"dm"}}}`,
		`{"update_id":1,"my_chat_member":{"chat":{"id":1,"type":"group"},"from":{"id":1,"is_bot":false,"first_name":"A"},"date":1,"old_chat_member":{"status":"gone"},"new_chat_member":{"status":"left","user":{"id":1,"is_bot":false,"first_name":"A"}}}}`,
	} {
		if bad := api.CheckType([]string{"Array of Update"}, []byte("["+raw+"]")); len(bad) == 0 {
			t.Errorf("%s passes for an update", raw)
		}
	}
}

func TestRefusals(t *testing.T) {
	api := load(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	emoji := strings.Repeat("😀", 2049)
	button := func(b string) string {
		return `{"chat_id":1,"text":"x","reply_markup":{"inline_keyboard":[[` + b + `]]}}`
	}
	tests := []struct{ method, params, param, rule string }{
		{"SENDMESSAGE", `{"chat_id":1,"text":"x"}`, "", ""},
		{"sendMessage", `{"chat_id":"@group","text":"x"}`, "", ""},
		{"sendMessage", `{"chat_id":"-1001","text":"x"}`, "", ""},
		{"sendMessage", `{"chat_id":1.5,"text":"x"}`, "chat_id", "type"},
		{"sendMessage", `{"chat_id":true,"text":"x"}`, "chat_id", "type"},
		{"sendMessage", `{"chat_id":1,"text":5}`, "text", "type"},
		{"sendMessage", `{"chat_id":1,"text":""}`, "text", "min"},
		{"sendMessage", `{"chat_id":1,"text":"` + long(4096) + `"}`, "", ""},
		{"sendMessage", `{"chat_id":1,"text":"` + long(4097) + `"}`, "text", "max"},
		{"sendMessage", `{"chat_id":1,"text":"` + emoji + `"}`, "text", "max"},
		{"sendMessage", `{"chat_id":1,"parse_mode":"HTML","text":"` + long(4097) + `"}`, "", ""},
		{"sendMessage", `{"chat_id":1,"parse_mode":"html","text":"x"}`, "parse_mode", "enum"},
		{"sendMessage", `{"chat_id":1,"parse_mode":"","text":"x"}`, "", ""},
		{"sendMessage", `{"chat_id":1,"parse_mode":"HTML","entities":[],"text":"x"}`, "entities", "prose"},
		{"sendMessage", `{"chat_id":1,"text":"x","entities":[{"type":"bold","offset":0}]}`, "entities[0].length", "required"},
		{"sendMessage", `{"chat_id":1,"text":"x","entities":[{"type":"bolt","offset":0,"length":1}]}`, "entities[0].type", "enum"},
		{"sendMessage", `{"chat_id":1,"text":"x","entities":[{"type":"text_link","offset":0,"length":1}]}`, "entities[0].url", "prose"},
		{"sendMessage", `{"chat_id":1,"text":"x","entities":[{"type":"bold","offset":-1,"length":1}]}`, "entities[0]", "prose"},
		{"sendMessage", `{"chat_id":1,"text":"x","message_thread_id":1}`, "message_thread_id", "prose"},
		{"sendChatAction", `{"chat_id":1,"action":"typing","message_thread_id":1}`, "", ""},
		{"sendChatAction", `{"chat_id":1,"action":"thinking"}`, "action", "enum"},
		{"sendMessage", `{"chat_id":1,"text":"x","reply_parameters":{"message_id":1,"quote":"` + long(1025) + `"}}`, "reply_parameters.quote", "max"},
		{"sendMessage", `{"chat_id":1,"text":"x","reply_parameters":{}}`, "reply_parameters", "prose"},
		{"sendMessage", `{"chat_id":1,"text":"x","reply_parameters":"{\"message_id\":1}"}`, "", ""},
		{"sendMessage", `{"chat_id":1,"text":"x","reply_parameters":"{"}`, "reply_parameters", "type"},
		{"sendMessage", button(`{"text":"a","callback_data":"` + long(64) + `"}`), "", ""},
		{"sendMessage", button(`{"text":"a","callback_data":"` + long(65) + `"}`), "reply_markup.inline_keyboard[0][0].callback_data", "max"},
		{"sendMessage", button(`{"text":"a"}`), "reply_markup.inline_keyboard[0][0]", "prose"},
		{"sendMessage", button(`{"text":"a","callback_data":"x","url":"https://a.b"}`), "reply_markup.inline_keyboard[0][0]", "prose"},
		{"sendRichMessage", `{"chat_id":1,"rich_message":{"markdown":"x","html":"x"}}`, "rich_message", "prose"},
		{"sendRichMessage", `{"chat_id":1,"rich_message":{"markdown":"` + long(32769) + `"}}`, "rich_message.markdown", "max"},
		{"sendRichMessage", `{"chat_id":1,"rich_message":{"blocks":[{"type":"paragraph","text":["a",{"type":"bold","text":"b"}]}]}}`, "", ""},
		{"sendRichMessage", `{"chat_id":1,"rich_message":{"blocks":[{"type":"paragraph","test":"a"}]}}`, "rich_message.blocks[0].test", "unknown"},
		{"sendRichMessage", `{"chat_id":1,"rich_message":{"blocks":[{"type":"paragraph","text":` + strings.Repeat(`{"text":`, 200) + `"a"` + strings.Repeat("}", 200) + `}]}}`, "rich_message.blocks[0].text", "type"},
		{"sendMessageDraft", `{"chat_id":1,"draft_id":0,"text":"x"}`, "draft_id", "prose"},
		{"sendMessageDraft", `{"chat_id":1,"draft_id":1}`, "", ""},
		{"sendMessageDraft", `{"chat_id":-1,"draft_id":1,"text":"x"}`, "chat_id", "prose"},
		{"editMessageText", `{"chat_id":1,"message_id":2,"text":"","rich_message":{"markdown":"x"}}`, "", ""},
		{"editMessageText", `{"chat_id":1,"message_id":2,"text":"x","rich_message":{"markdown":"x"}}`, "text", "prose"},
		{"editMessageText", `{"chat_id":1,"text":"x"}`, "message_id", "prose"},
		{"answerCallbackQuery", `{"callback_query_id":"1","text":"` + long(201) + `"}`, "text", "max"},
		{"createForumTopic", `{"chat_id":1,"name":"` + long(129) + `"}`, "name", "max"},
		{"createForumTopic", `{"chat_id":1,"name":"x","icon_color":7}`, "icon_color", "enum"},
		{"setMyCommands", `{"commands":[{"command":"Help","description":"x"}]}`, "commands[0].command", "prose"},
		{"setMyCommands", `{"commands":[{"command":"` + long(33) + `","description":"x"}]}`, "commands[0].command", "max"},
		{"setMyCommands", `{"commands":[],"scope":{"type":"chat"}}`, "scope.chat_id", "required"},
		{"getUpdates", `{"allowed_updates":["mesage"]}`, "allowed_updates", "enum"},
		{"getUpdates", `{"limit":101}`, "limit", "max"},
		{"setWebhook", `{"url":"https://a.b","secret_token":"a b"}`, "secret_token", "prose"},
		{"sendPhoto", `{"chat_id":1,"photo":"attach://p"}`, "p", "required"},
		{"sendPhoto", `{"chat_id":1,"photo":"F1","caption":"` + long(1025) + `"}`, "caption", "max"},
		{"sendMediaGroup", `{"chat_id":1,"media":[{"type":"photo","media":"F1"}]}`, "media", "min"},
		{"sendMediaGroup", `{"chat_id":1,"media":[{"type":"photo","media":"F1"},{"type":"video","media":"F2"}]}`, "", ""},
		{"getMe", `{"verbose":true}`, "verbose", "unknown"},
	}
	for _, tt := range tests {
		m, ok := api.Method(tt.method)
		if !ok {
			t.Fatalf("no method %s", tt.method)
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.params))
		r.Header.Set("Content-Type", "application/json")
		bad := judge(t, m, r)
		switch {
		case tt.rule == "" && len(bad) > 0:
			t.Errorf("%s %.120s: %+v", tt.method, tt.params, bad)
		case tt.rule != "" && !slices.ContainsFunc(bad, func(p Problem) bool { return p.Param == tt.param && p.Rule == tt.rule }):
			t.Errorf("%s %.120s: want %s of %s, got %+v", tt.method, tt.params, tt.rule, tt.param, bad)
		}
	}
}

func TestFirstValueWinsAndTheQueryComesFirst(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/?text=query&text=second", strings.NewReader("text=body&chat_id=7"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	p, err := Read(r, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := load(t).Method("sendMessage")
	if bad := m.Check(&p); len(bad) > 0 {
		t.Fatal(bad)
	}
	if p.Text("text") != "query" || p.Int("chat_id") != 7 {
		t.Errorf("text %q, chat %d", p.Text("text"), p.Int("chat_id"))
	}
}

func TestUploadsAreNamed(t *testing.T) {
	m, _ := load(t).Method("sendDocument")
	for field, rule := range map[string]string{"document": "", "document2": "unknown"} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		part, err := w.CreateFormFile(field, "a.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte("words")); err != nil {
			t.Fatal(err)
		}
		if err := errorsOf(w.WriteField("chat_id", "1"), w.WriteField("document", "F1"), w.Close()); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		bad := judge(t, m, r)
		if rule == "" && len(bad) > 0 || rule != "" && (len(bad) != 1 || bad[0].Rule != rule) {
			t.Errorf("a file part %q: %+v", field, bad)
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestUnreadableBodies(t *testing.T) {
	tests := []struct{ kind, body string }{
		{"application/json", `{`},
		{"application/json", `[]`},
		{"text/plain", `x`},
		{"", `x`},
		{"application/x-www-form-urlencoded", `%zz`},
		{"multipart/form-data; boundary=b", "--b\r\nContent-"},
		{"multipart/form-data; boundary=b", strings.Repeat("x", 2000)},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tt.body))
		r.Header.Set("Content-Type", tt.kind)
		if _, err := Read(r, 1000); err == nil {
			t.Errorf("%q %.40q was read without an error", tt.kind, tt.body)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	if _, err := Read(r, 1000); err != nil {
		t.Errorf("an empty multipart body: %v", err)
	}
}

func FuzzCall(f *testing.F) {
	f.Add("sendMessage", "application/json", []byte(`{"chat_id":1,"text":"x","entities":[{"type":"bold","offset":0,"length":1}]}`))
	f.Add("getUpdates", "application/x-www-form-urlencoded", []byte(`offset=1&allowed_updates=["message"]`))
	f.Add("sendPhoto", "multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a\"\r\n\r\nx\r\n--b--\r\n"))
	f.Add("sendRichMessage", "application/json", []byte(`{"rich_message":{"blocks":[[[[[{}]]]]]}}`))
	api := load(f)
	f.Fuzz(func(t *testing.T, name, kind string, body []byte) {
		m, ok := api.Method(name)
		if !ok {
			return
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		p, err := Read(r, 1<<16)
		if err != nil {
			return
		}
		if bad := m.Check(&p); len(bad) > 0 {
			return
		}
		for name, raw := range p.Values() {
			if !json.Valid(raw) {
				t.Errorf("%s was let through as %q", name, raw)
			}
		}
		if again := m.Check(&p); len(again) > 0 {
			t.Errorf("a call that was good is bad the second time: %v", again)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	m, _ := load(b).Method("sendMessage")
	body := []byte(`{"chat_id":-1001,"text":"hello there","entities":[{"type":"bold","offset":0,"length":5}],"reply_parameters":{"message_id":7,"allow_sending_without_reply":true}}`)
	for b.Loop() {
		r := &http.Request{URL: &url.URL{}, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}
		p, err := Read(r, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		if bad := m.Check(&p); len(bad) > 0 {
			b.Fatal(fmt.Sprint(bad))
		}
	}
}
