package builtin

import (
	"errors"
	"testing"

	"attache"

	"github.com/google/go-cmp/cmp"
)

// What a send is about is asked for every send, and what it is told rides with the
// post.
//
// row C5 (the tool's side)
func TestWhatASendIsAbout(t *testing.T) {
	for args, want := range map[string]attache.About{
		`{"text":"Hi"}`: {},
		`{"text":"Hi","about":{"entity":"T-481"}}`:                      {Key: "T-481"},
		`{"text":"Hi","about":{"context":"client"}}`:                    {Context: "client"},
		`{"text":"Hi","about":{"context":"client","entity":" a é 1 "}}`: {Context: "client", Key: " a é 1 "},
	} {
		w := &world{origin: &attache.Origin{Run: "heartbeat:daily", Reach: attache.Reach{{Context: "client", Key: "acme"}, {Context: "policy"}}}}
		w.result = PostResult{Place: attache.Place{Bot: "nova", Chat: -1001}, Messages: []attache.MessageID{3}, Fate: attache.FateSent, Origin: w.origin}
		result := w.send(t, args)
		if diff := cmp.Diff([]attache.About{want}, w.about); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
		if len(w.asked) != 1 || w.asked[0].Say.Origin != w.origin {
			t.Errorf("%s: posts %+v", args, w.asked)
		}
		if want := `{"about":["client@acme","policy"],"chat":"tg:chat:-1001","messages":[3],"ok":true,"thread":"0"}`; result.Text != want {
			t.Errorf("the model reads %s", result.Text)
		}
	}
}

// A send that is refused sends nothing, and the model reads the reason.
//
// row C4 (the tool's side)
func TestRefusedSends(t *testing.T) {
	run := func(c *attache.Call) { c.Place = attache.Place{} }
	long := make([]byte, 201)
	for i := range long {
		long[i] = 'k'
	}
	for _, c := range []struct {
		args   string
		world  world
		change func(*attache.Call)
		want   string
	}{
		{args: `{"text":"Hi"}`, world: world{refused: "a reply to it would bring back film (film id) without its key; name it"}, want: "nothing was sent: a reply to it would bring back film (film id) without its key; name it"},
		{args: `{"text":"Hi","chat":-1002}`, world: world{pinned: "this place is bound to client@acme"}, want: "nothing was sent: this place is bound to client@acme"},
		{args: `{"text":"Hi"}`, world: world{broken: errors.New("dial tcp")}, want: "nothing was sent: it cannot be looked up now whether this may be sent; try again in a later turn"},
		{args: `{"text":"Hi"}`, world: world{broken: &attache.Error{Kind: attache.KindOutside, Say: "the database is away"}}, want: "nothing was sent: the database is away"},
		{args: `{"text":"Hi","about":{}}`, want: "nothing was sent: about is empty; give it a context, an entity or both"},
		{args: `{"text":"Hi","about":{"entity":"a\nb"}}`, want: "nothing was sent: about.entity cannot be a key: the key holds a control character; write it in plain characters on one line"},
		{args: `{"text":"Hi","about":{"entity":"` + string(long) + `"}}`, want: "nothing was sent: about.entity cannot be a key: the key is longer than 200 characters; write a shorter one"},
		{args: `{"text":"Hi","about":"T-481"}`, want: "notification_send was not run: argument about is a string and must be an object"},
		{args: `{"text":"Hi"}`, change: run, want: "nothing was sent: this run answers nowhere, so there is no chat to default to; name the chat"},
		{args: `{"text":"Hi","chat":-1001}`, change: run, want: "nothing was sent: tg:chat:-1001 has no rule in access.yaml; only a person can add one, so choose another chat"},
		{args: `{"text":"Hi","chat":-1001}`, world: world{bots: []attache.BotID{"nova", "rex"}}, change: run,
			want: "nothing was sent: nova, rex all have a rule for tg:chat:-1001 and this run has no place that says which of them speaks; only a person can give it one, so choose a chat with one bot"},
	} {
		if c.change == nil {
			c.change = func(*attache.Call) {}
		}
		if got := failure(t, c.world.send(t, c.args, c.change)); got != c.want || len(c.world.asked) != 0 {
			t.Errorf("%s: %d posts\n got %s\nwant %s", c.args, len(c.world.asked), got, c.want)
		}
	}
}

// A run without a place speaks as the one bot that a rule puts into the chat.
func TestARunWithoutAPlace(t *testing.T) {
	w := &world{bots: []attache.BotID{"nova"}}
	w.send(t, `{"text":"Hi","chat":-1001}`, func(c *attache.Call) { c.Place = attache.Place{} })
	if len(w.asked) != 1 || w.asked[0].Say.Place != (attache.Place{Bot: "nova", Chat: -1001}) {
		t.Errorf("posts %+v", w.asked)
	}
}

// What was said before a crash is told as it was, whatever the rules say now.
func TestASendIsNotJudgedTwice(t *testing.T) {
	w := &world{pinned: "now it is refused", again: map[string]PostResult{
		"call_9": {Place: attache.Place{Bot: "nova", Chat: -1001}, Messages: []attache.MessageID{3}, Fate: attache.FateSent},
	}}
	if got, want := w.send(t, `{"text":"Hi"}`).Text, `{"chat":"tg:chat:-1001","messages":[3],"ok":true,"thread":"0"}`; got != want || len(w.asked) != 0 {
		t.Errorf("%s, %d posts", got, len(w.asked))
	}
	w = &world{lost: errors.New("dial tcp")}
	if got, want := w.send(t, `{"text":"Hi"}`).Text, `{"error":"it is not known whether the message was sent; it is not sent again, so do not repeat it and say so","ok":false,"status":"unknown"}`; got != want || len(w.asked) != 0 {
		t.Errorf("%s, %d posts", got, len(w.asked))
	}
}
