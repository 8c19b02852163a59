package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"attache"
	"attache/internal/tools"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world stands for access and the gateway: what was asked of them is kept.
type world struct {
	asked  []PostRequest
	result PostResult
	err    error

	about   []attache.About // of each send that Origin was asked for
	origin  *attache.Origin
	refused string                // what Origin says
	pinned  string                // what Lets says
	bots    []attache.BotID       // that rule every chat
	again   map[string]PostResult // by call: what an earlier execution said
	files   string
	brain   string
	sound   []byte
	mute    error // of Speak
	said    []string
	broken  error // of Lets
	lost    error // of Again
}

// deps has rules for three chats under nova.
func (w *world) deps() Deps {
	return Deps{
		Ruled: func(p attache.Place) bool {
			return p.Bot == "nova" && (p.Chat == -1001 || p.Chat == -1002 || p.Chat == 5)
		},
		Post: func(_ context.Context, r PostRequest) (PostResult, error) {
			w.asked = append(w.asked, r)
			result := w.result
			if result.Fate == "" {
				result = PostResult{Place: r.Say.Place, Messages: []attache.MessageID{811, 812}, Fate: attache.FateSent}
			}
			return result, w.err
		},
		Again: func(_ context.Context, _ int64, call string) (PostResult, bool, error) {
			r, found := w.again[call]
			return r, found, w.lost
		},
		Bots: func(attache.ChatID) []attache.BotID { return w.bots },
		Lets: func(context.Context, attache.Call, attache.Place) (string, error) { return w.pinned, w.broken },
		Origin: func(_ context.Context, _ attache.Call, _ attache.Place, about attache.About) (*attache.Origin, string, error) {
			w.about = append(w.about, about)
			return w.origin, w.refused, nil
		},
		Files: w.files, Brain: w.brain,
		Speak: func(_ context.Context, _ attache.Call, words string) ([]byte, error) {
			w.said = append(w.said, words)
			return w.sound, w.mute
		},
	}
}

// send calls notification_send as a model would, through the registry.
func (w *world) send(t testing.TB, args string, change ...func(*attache.Call)) attache.Result {
	t.Helper()
	return w.call(t, "notification_send", args, change...)
}

func (w *world) call(t testing.TB, tool, args string, change ...func(*attache.Call)) attache.Result {
	t.Helper()
	r, err := tools.New(Tools(w.deps()))
	if err != nil {
		t.Fatal(err)
	}
	c := attache.Call{
		ID: "call_9", Tool: tool, Args: json.RawMessage(args), Turn: 7,
		Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, Role: "support", Person: "tg:user:5",
	}
	for _, f := range change {
		f(&c)
	}
	result, err := r.Run(t.Context(), c, tools.Grant{Capabilities: []string{"notify:send"}})
	if err != nil {
		t.Errorf("the tool broke: %v", err)
	}
	return result
}

// A send goes where it is told, or where the turn answers.
func TestWhereItGoes(t *testing.T) {
	for args, want := range map[string]attache.Place{
		`{"text":"Hi"}`:                                   {Bot: "nova", Chat: -1001, Thread: 42},
		`{"text":"Hi","thread":"43"}`:                     {Bot: "nova", Chat: -1001, Thread: 43},
		`{"text":"Hi","thread":0}`:                        {Bot: "nova", Chat: -1001},
		`{"text":"Hi","thread":"1"}`:                      {Bot: "nova", Chat: -1001},
		`{"text":"Hi","chat":"tg:chat:-1001"}`:            {Bot: "nova", Chat: -1001, Thread: 42},
		`{"text":"Hi","chat":-1002}`:                      {Bot: "nova", Chat: -1002},
		`{"text":"Hi","chat":"-1002","thread":77}`:        {Bot: "nova", Chat: -1002, Thread: 77},
		`{"text":"Hi","chat":"tg:chat:5"}`:                {Bot: "nova", Chat: 5},
		`{"text":"Hi","chat":"tg:chat:-1001","thread":9}`: {Bot: "nova", Chat: -1001, Thread: 9},
	} {
		w := &world{}
		result := w.send(t, args)
		request := []PostRequest{{Turn: 7, Call: "call_9", Say: attache.Outgoing{Place: want, Markdown: "Hi"}}}
		if diff := cmp.Diff(request, w.asked); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
		var told struct {
			OK           bool
			Chat, Thread string
			Messages     []int
		}
		if err := json.Unmarshal([]byte(result.Text), &told); err != nil {
			t.Fatal(err)
		}
		place, err := attache.ParsePlace("nova/" + strings.TrimPrefix(told.Chat, "tg:chat:") + "/" + told.Thread)
		if !told.OK || err != nil || place != want || !reflect.DeepEqual(told.Messages, []int{811, 812}) {
			t.Errorf("%s: the model reads %s", args, result.Text)
		}
	}
}

func TestTheResultInItsBytes(t *testing.T) {
	w := &world{}
	if got, want := w.send(t, `{"text":"Hi"}`).Text, `{"chat":"tg:chat:-1001","messages":[811,812],"ok":true,"thread":"42"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Each mistake has its sentence and sends nothing.
func TestMistakesSendNothing(t *testing.T) {
	const nothing = "nothing was sent: "
	for _, c := range []struct {
		args, want string
		change     func(*attache.Call)
	}{
		{args: `{}`, want: "notification_send was not run: argument text is missing; it must be a string"},
		{args: `{"text":"Hi","abuot":{"context":"x"}}`, want: `notification_send was not run: there is no argument "abuot"; did you mean about?`},
		{args: `{"text":" \n\t"}`, want: nothing + "the text is empty; give something to say"},
		{args: `{"text":"Hi","chat":-1003}`, want: nothing + "tg:chat:-1003 has no rule in access.yaml for the bot nova; only a person can add one, so choose another chat"},
		{args: `{"text":"Hi","chat":"tg:chat:-1003","thread":42}`, want: nothing + "tg:chat:-1003 has no rule in access.yaml for the bot nova; only a person can add one, so choose another chat"},
		{args: `{"text":"Hi","chat":"@news"}`, want: `notification_send was not run: "@news" is not a chat; write tg:chat:<number> or the number alone`},
		{args: `{"text":"Hi","thread":"news"}`, want: `notification_send was not run: "news" is not a thread; write the topic's number, or 0 for General`},
		{args: `{"text":"Hi"}`, change: func(c *attache.Call) { c.Place = attache.Place{Bot: "nova"} }, want: nothing + "this run answers nowhere, so there is no chat to default to; name the chat"},
		{args: `{"text":"Hi"}`, change: func(c *attache.Call) { c.Place.Bot = "rex" }, want: nothing + "tg:chat:-1001 has no rule in access.yaml for the bot rex; only a person can add one, so choose another chat"},

		{args: `{"text":"Hi","buttons":[{"text":"Yes"}]}`, want: "notification_send was not run: argument buttons[0] is an object and must be an array"},
		{args: `{"text":"Hi","buttons":[[{"text":"Yes","callback_data":"y"}]]}`, want: `notification_send was not run: argument buttons[0][0] has no field "callback_data"; the right ones are data, text, url`},
		{args: `{"text":"Hi","buttons":[[{"text":" ","data":"y"}]]}`, want: nothing + "buttons[0][0] shows nothing; give it a text"},
		{args: `{"text":"Hi","buttons":[[],[{"text":"a"},{"text":"b","data":"y","url":"https://x.io"}]]}`, want: nothing + "buttons[1][1] has data and a url; give it one of them"},
		{args: `{"text":"Hi","buttons":[[{"text":"a","data":"` + strings.Repeat("ä", 33) + `"}]]}`, want: nothing + "buttons[0][0] has data of 66 bytes; at most 64 are taken"},
		{args: `{"text":"Hi","buttons":[[{"text":"` + strings.Repeat("ä", 33) + `"}]]}`, want: nothing + "buttons[0][0] has no data, and its text of 66 bytes is too long to stand for it; give it data of at most 64 bytes"},
		{args: `{"text":"Hi","buttons":[[{"text":"Pictures","data":"ap:x1:y"}]]}`, want: nothing + `buttons[0][0] has data that begins with "ap:", which is kept for approvals; begin it otherwise`},
		{args: `{"text":"Hi","buttons":[[{"text":"ap:x1:y"}]]}`, want: nothing + `buttons[0][0] has data that begins with "ap:", which is kept for approvals; begin it otherwise`},
		{args: `{"text":"Hi","buttons":[[{"text":"a","url":"x.io"}]]}`, want: nothing + "buttons[0][0] has a url that Telegram does not open; write https://…, http://… or tg://…"},
		{args: `{"text":"Hi","buttons":[[{"text":"a","url":"javascript:alert(1)"}]]}`, want: nothing + "buttons[0][0] has a url that Telegram does not open; write https://…, http://… or tg://…"},
		{args: `{"text":"Hi","buttons":[[` + buttonList(9) + `]]}`, want: nothing + "buttons[0] has 9 buttons and a row holds at most 8; use more rows"},
		{args: `{"text":"Hi","buttons":[` + strings.TrimSuffix(strings.Repeat("["+buttonList(8)+"],", 13), ",") + `]}`, want: nothing + "there are 104 buttons and a message holds at most 100; give fewer"},
	} {
		w := &world{}
		change := c.change
		if change == nil {
			change = func(*attache.Call) {}
		}
		result := w.send(t, c.args, change)
		if got := failure(t, result); got != c.want || len(w.asked) != 0 {
			t.Errorf("%.90s: %d posts\n got %s\nwant %s", c.args, len(w.asked), got, c.want)
		}
	}
}

func buttonList(n int) string {
	return strings.TrimSuffix(strings.Repeat(`{"text":"a"},`, n), ",")
}

// failure gives the error of a result.
func failure(t testing.TB, r attache.Result) string {
	t.Helper()
	var told struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal([]byte(r.Text), &told); err != nil || told.OK {
		t.Errorf("no failure: %s (%v)", r.Text, err)
	}
	return told.Error
}

func TestButtons(t *testing.T) {
	w := &world{}
	w.send(t, `{"text":"Ready?","buttons":[[{"text":" Yes ","data":"go"},{"text":"No"}],[],[{"text":"Docs","url":"https://x.io/?a=1&b=2"},{"text":"Ann","url":"tg://user?id=5"}]]}`)
	want := [][]attache.Button{
		{{Text: "Yes", Data: "go"}, {Text: "No", Data: "No"}},
		{{Text: "Docs", URL: "https://x.io/?a=1&b=2"}, {Text: "Ann", URL: "tg://user?id=5"}},
	}
	if len(w.asked) != 1 {
		t.Fatalf("%d posts", len(w.asked))
	}
	if diff := cmp.Diff(want, w.asked[0].Say.Buttons); diff != "" {
		t.Error(diff)
	}
}

// What became of a post is told as it is, and an unknown outcome as unknown.
func TestWhatTheModelIsTold(t *testing.T) {
	place := attache.Place{Bot: "nova", Chat: -100999}
	for name, c := range map[string]struct {
		result PostResult
		err    error
		want   string
	}{
		"moved": {PostResult{Place: place, Messages: []attache.MessageID{3}, Fate: attache.FateSent}, nil,
			`{"chat":"tg:chat:-100999","messages":[3],"ok":true,"thread":"0"}`},
		"refused": {PostResult{Place: place, Fate: attache.FateRefused, Why: "the bot was kicked from the group"}, nil,
			`{"error":"nothing was sent: the bot was kicked from the group","ok":false}`},
		"held": {PostResult{Place: place, Fate: attache.FateHeld, Why: "for 900 s"}, nil,
			`{"error":"nothing was sent: Telegram asks this bot to wait (for 900 s); try again in a later turn","ok":false}`},
		"unknown": {PostResult{Place: place, Fate: attache.FateUnknown, Why: "the connection broke during the call"}, nil,
			`{"error":"it is not known whether the message was sent (the connection broke during the call); it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`},
		"no word": {PostResult{Place: place, Fate: attache.FateUnknown}, nil,
			`{"error":"it is not known whether the message was sent (no reason was given); it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`},
		"an odd fate": {PostResult{Place: place, Fate: "lost"}, nil,
			`{"error":"it is not known whether the message was sent (no reason was given); it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`},
		"half": {PostResult{Place: place, Messages: []attache.MessageID{3, 4}, Fate: attache.FateUnknown, Why: "time-out"}, nil,
			`{"error":"only the first 2 messages of this text were certainly sent (time-out); they are not sent again, so do not repeat them","messages":[3,4],"ok":false,"status":"unknown"}`},
		"half refused": {PostResult{Place: place, Messages: []attache.MessageID{3}, Fate: attache.FateRefused, Why: "kicked"}, nil,
			`{"error":"only the first 1 messages of this text were certainly sent (kicked); they are not sent again, so do not repeat them","messages":[3],"ok":false,"status":"unknown"}`},
		"a known no": {PostResult{Fate: attache.FateRefused}, &attache.Error{Kind: attache.KindRefused, Say: "the chat is pinned to another client", Cause: errors.New("row 7")},
			`{"error":"nothing was sent: the chat is pinned to another client","ok":false}`},
		"database away": {PostResult{Fate: attache.FateSent}, errors.New("dial tcp 10.0.0.7: refused"),
			`{"error":"it is not known whether the message was sent; it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`},
		"outside": {PostResult{Fate: attache.FateSent}, &attache.Error{Kind: attache.KindOutside, Say: "Telegram is away"},
			`{"error":"it is not known whether the message was sent; it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`},
	} {
		w := &world{result: c.result, err: c.err}
		if got := w.send(t, `{"text":"Hi"}`).Text; got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if len(w.asked) != 1 {
			t.Errorf("%s: %d posts", name, len(w.asked))
		}
	}
}

// The two bytes-for-bytes facts that others rely on: what the model is offered, and
// how the tool is classed (interface § 4).
func TestWhatTheModelIsOffered(t *testing.T) {
	offered := Tools((&world{}).deps()).Tools
	for i, name := range []string{"notification_send", "file_send", "voice_send"} {
		if x := offered[i]; x.Name != name || x.Capability != "notify:send" || x.Risk != attache.RiskModerate || !x.Effects || !x.Keyed {
			t.Errorf("%s needs %s, is %s, effects %v, keyed %v", x.Name, x.Capability, x.Risk, x.Effects, x.Keyed)
		}
	}
	tool := offered[0]
	if tool.Name != "notification_send" || tool.Capability != "notify:send" || tool.Risk != attache.RiskModerate || !tool.Effects {
		t.Errorf("%s needs %s, is %s, effects %v", tool.Name, tool.Capability, tool.Risk, tool.Effects)
	}
	if tool.Description != strings.TrimSpace(tool.Description) || !strings.HasPrefix(tool.Description, "Sends a message as this bot") {
		t.Errorf("the description is %.60q", tool.Description)
	}
	var schema struct {
		Required   []string
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	if want := `{"type":"object","properties":{"text":{`; !strings.HasPrefix(string(tool.Schema), want) || !reflect.DeepEqual(schema.Required, []string{"text"}) || len(schema.Properties) != 5 {
		t.Errorf("the schema is %s", tool.Schema)
	}
}

// Whatever a model writes, nothing goes to a chat without a rule, no button forges
// an approval or is one that Telegram refuses, and a call posts at most once.
func TestNothingGoesAstray(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		button := rapid.Custom(func(t *rapid.T) map[string]any {
			b := map[string]any{}
			text := rapid.OneOf(rapid.StringN(0, 30, 80), rapid.Just("ap:1:y"), rapid.Just(" ap:1:y "), rapid.Just(""))
			for _, key := range []string{"text", "data", "url"} {
				if key == "text" || rapid.Bool().Draw(t, "has "+key) {
					b[key] = text.Draw(t, key)
				}
			}
			return b
		})
		args := map[string]any{"text": rapid.StringN(0, 20, 60).Draw(rt, "text")}
		if rapid.Bool().Draw(rt, "chat given") {
			args["chat"] = rapid.SampledFrom([]any{-1001, -1002, -1003, 5, 6, 0, "tg:chat:-1003", "tg:chat:5", "tg:user:5", "", 1.5}).Draw(rt, "chat")
		}
		if rapid.Bool().Draw(rt, "thread given") {
			args["thread"] = rapid.SampledFrom([]any{0, 1, 42, -1, "7", "x"}).Draw(rt, "thread")
		}
		if rapid.Bool().Draw(rt, "buttons given") {
			args["buttons"] = rapid.SliceOfN(rapid.SliceOfN(button, 0, 3), 0, 3).Draw(rt, "buttons")
		}
		b, err := json.Marshal(args)
		if err != nil {
			rt.Fatal(err)
		}
		w := &world{}
		result := w.send(t, string(b))
		if ok := strings.Contains(result.Text, `"ok":true`); ok != (len(w.asked) == 1) || len(w.asked) > 1 {
			rt.Fatalf("%s: %d posts and %s", b, len(w.asked), result.Text)
		}
		for _, r := range w.asked {
			if !w.deps().Ruled(r.Say.Place) || r.Say.Place.Thread < 0 || strings.TrimSpace(r.Say.Markdown) == "" {
				rt.Fatalf("%s went to %v", b, r.Say.Place)
			}
			for _, row := range r.Say.Buttons {
				for _, x := range row {
					if strings.HasPrefix(x.Data, "ap:") || len(x.Data) > 64 || x.Text == "" || (x.Data == "") == (x.URL == "") {
						rt.Fatalf("%s made the button %+v", b, x)
					}
				}
			}
		}
	})
}
