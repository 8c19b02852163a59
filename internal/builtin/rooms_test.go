package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"attache"
	"attache/access"
	"attache/internal/brainfile"
	"attache/internal/store/storetest"
	"attache/internal/tools"
)

// rules is the access.yaml of these tests. Line numbers are told by refusals.
const rules = `owners: ["tg:user:111111"]
bots:
  nova:
    dm: { role: desk, people: ["tg:user:5"] }
    chats:
      "tg:chat:-1": { role: desk, people: everyone }
      "tg:chat:-2":
        role: desk
        people: everyone
        contexts: { client: acme }
        threads: { "42": { contexts: { client: globex } }, "43": { engage: all } }
      "tg:chat:-3": { role: desk, people: everyone, contexts: { client: } }
      "tg:chat:-4": { role: desk, people: everyone, contexts: { client: acme } }
      "tg:chat:-5": { role: desk, people: everyone, engage: name }
      "tg:chat:-6": { role: desk, people: ["tg:user:5"], threads: { "42": { contexts: { ticket: T-1 } } } }
  vega:
    names: [Vega]
    chats:
      "tg:chat:-1": { role: guest, people: everyone, title: Shared }
      "tg:chat:-5": { role: guest, people: everyone, contexts: { client: initech, policy: } }
`

// office is the tools on chats over a real table and a scripted Telegram.
type office struct {
	t      *testing.T
	rooms  Rooms
	topics []string // what Telegram was asked
	err    error    // that Telegram answers
	away   bool     // the bindings cannot be read
}

func newOffice(t *testing.T) *office {
	t.Helper()
	store, err := access.OpenStore(t.Context(), storetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	policy, problems, _ := access.Read(brainfile.New("constitution/access.yaml", []byte(rules)), access.Names{
		Roles:    map[attache.RoleID]access.Role{"desk": {}, "guest": {}},
		Contexts: map[attache.ContextID]access.Context{"client": {}, "policy": {}, "ticket": {}},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := &office{t: t}
	ruling := func(p attache.Place) access.Ruling { return policy.For(p, "") }
	binder := access.Binder{
		Policy: policy,
		Known: []attache.ContextFact{
			{ID: "client", KeyKind: "client id", When: []attache.Link{attache.LinkChat}},
			{ID: "note", KeyKind: "note id", When: []attache.Link{attache.LinkReply}},
			{ID: "policy", When: []attache.Link{attache.LinkChat}},
			{ID: "ticket", KeyKind: "ticket id", When: []attache.Link{attache.LinkChat}},
		},
		Absent:   func(id attache.ContextID) string { return "there is no context " + string(id) },
		Formerly: func(c attache.ChatID) (attache.ChatID, bool) { return -4, c == -1004 },
	}
	binder.Ruled = func(p attache.Place) bool {
		if old, ok := binder.Formerly(p.Chat); ok {
			p.Chat = old
		}
		in, _ := ruling(p).Admits(attache.UserID(int64(p.Chat)))
		return ruling(p).Ruled() && (!p.Chat.Private() || in)
	}
	o.rooms = Rooms{
		Rules:  func() access.Binder { return binder },
		Ruling: ruling,
		Admits: func(role attache.RoleID, id attache.ContextID) bool { return role == "desk" && id != "note" },
		Now: func(_ context.Context, c attache.ChatID) (attache.ChatID, error) {
			if c == -4 {
				return -1004, nil
			}
			return c, nil
		},
		Ties: func(ctx context.Context, chats ...attache.ChatID) ([]access.Tie, error) {
			if o.away {
				return nil, errors.New("the database is away")
			}
			return store.OfChat(ctx, chats...)
		},
		Bind: store.Bind, Unbind: store.Unbind,
		CreateTopic: func(_ context.Context, at attache.Place, name string) (attache.ThreadID, error) {
			o.topics = append(o.topics, at.String()+" "+name)
			return 77, o.err
		},
		CloseTopic: func(_ context.Context, at attache.Place) error {
			o.topics = append(o.topics, at.String())
			return o.err
		},
	}
	return o
}

// call calls a tool from a place as a model would, through the registry.
func (o *office) call(from, tool, args string) string {
	o.t.Helper()
	r, err := tools.New(RoomTools(o.rooms))
	if err != nil {
		o.t.Fatal(err)
	}
	c := attache.Call{ID: "call_9", Tool: tool, Args: json.RawMessage(args), Turn: 7, Role: "desk", Person: "tg:user:5"}
	if from != "" {
		if c.Place, err = attache.ParsePlace(from); err != nil {
			o.t.Fatal(err)
		}
	}
	result, err := r.Run(o.t.Context(), c, tools.Grant{Capabilities: []string{"context:bind", "access:read", "topic:write"}})
	if err != nil {
		o.t.Errorf("the tool broke: %v", err)
	}
	return result.Text
}

// The risk and the rights are those of interface § 4.
//
// row D5
func TestRoomToolsAsWritten(t *testing.T) {
	var got []string
	for _, tool := range RoomTools(newOffice(t).rooms).Tools {
		got = append(got, tool.Name+" "+tool.Capability+" "+string(tool.Risk))
	}
	want := []string{"context_bind context:bind moderate", "context_unbind context:bind moderate", "access_explain access:read safe",
		"topic_create topic:write moderate", "topic_close topic:write moderate"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// row D5
// row D6
func TestBindAndUnbind(t *testing.T) {
	o := newOffice(t)
	for _, step := range []struct{ from, tool, args, want string }{
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme"}`, `{"bot":null,"chat":"tg:chat:-1","context":"client","entity":"acme","holds":"from the next turn on","notes":["for vega it only holds the place to its key: the role guest does not list client in contexts"],"ok":true,"thread":null}`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"globex","bot":"nova"}`, `{"bot":"nova","chat":"tg:chat:-1","context":"client","entity":"globex","holds":"from the next turn on","ok":true,"thread":null}`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"initech","bot":"nova"}`, `{"bot":"nova","chat":"tg:chat:-1","context":"client","entity":"initech","holds":"from the next turn on","ok":true,"replaced":"globex","thread":null}`},
		{"nova/-1/42", "context_bind", `{"context":"ticket","entity":"T-1","thread":"42","bot":"nova"}`, `{"bot":"nova","chat":"tg:chat:-1","context":"ticket","entity":"T-1","holds":"from the next turn on","ok":true,"thread":"42"}`},
		{"", "context_bind", `{"context":"policy","chat":-1,"thread":1,"bot":"nova"}`, `{"bot":"nova","chat":"tg:chat:-1","context":"policy","entity":"","holds":"from the next turn on","ok":true,"thread":"0"}`},
		{"nova/-1/0", "context_unbind", `{"context":"client","bot":"nova"}`, `{"bot":"nova","chat":"tg:chat:-1","context":"client","entity":"initech","holds":"from the next turn on","ok":true,"thread":null}`},
		{"nova/-1/0", "context_unbind", `{"context":"client","bot":"nova"}`, `{"error":"nothing was unbound: no tool bound client in the whole of tg:chat:-1 for nova; name chat, thread and bot as they were bound: in that chat it is bound as client@acme in the whole of tg:chat:-1 for every bot","ok":false}`},
		{"nova/-1/0", "context_unbind", `{"context":"client"}`, `{"bot":null,"chat":"tg:chat:-1","context":"client","entity":"acme","holds":"from the next turn on","ok":true,"thread":null}`},
		{"nova/-6/0", "context_bind", `{"context":"note","entity":"N-1","chat":"tg:chat:5"}`, `{"bot":null,"chat":"tg:chat:5","context":"note","entity":"N-1","holds":"from the next turn on","notes":["it only holds the place to its key: chat is not in the ` + "`when`" + ` of note, so nothing is attached by itself"],"ok":true,"thread":null}`},
	} {
		if got := o.call(step.from, step.tool, step.args); got != step.want {
			t.Errorf("%s %s from %s:\n got %s\nwant %s", step.tool, step.args, step.from, got, step.want)
		}
	}
}

// Everything that is refused changes nothing.
//
// row D9
func TestRefusedBindings(t *testing.T) {
	o := newOffice(t)
	for _, step := range []struct{ from, tool, args, want string }{
		{"nova/-1/0", "context_bind", `{"context":"clinet","entity":"acme"}`, "there is no context clinet; did you mean client?"},
		{"nova/-1/0", "context_bind", `{"context":"client"}`, "client is about one client id, and none is given; give its key as entity"},
		{"nova/-1/0", "context_bind", `{"context":"policy","entity":"acme"}`, "policy is about no entity; leave entity out"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":" "}`, "entity is no client id: the key is blank"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"` + strings.Repeat("x", 201) + `"}`, "longer than 200 characters"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"a\u0007b"}`, "control character"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","bot":"veha"}`, `there is no bot \"veha\"; did you mean vega?`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-99}`, "tg:chat:-99 has no rule in constitution/access.yaml for any bot"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-6,"bot":"vega"}`, "tg:chat:-6 has no rule in constitution/access.yaml for the bot vega"},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":6}`, "tg:chat:6 has no rule"}, // a private chat of nobody who is let in
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":"family"}`, "is not a chat"},
		{"", "context_bind", `{"context":"client","entity":"acme"}`, "this run answers nowhere, so there is no chat to default to; name the chat"},

		// What access.yaml binds, under whatever bot's rule.
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"globex","chat":-2}`, `access.yaml binds client there to \"acme\" on line 10, so it cannot be bound to \"globex\"`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-2}`, `binds client there to \"globex\" on line 11`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-2,"thread":42}`, `binds client there to \"globex\" on line 11`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"initech","chat":-2,"thread":43,"bot":"vega"}`, `no rule in constitution/access.yaml for the bot vega`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"globex","chat":-2,"thread":43}`, `binds client there to \"acme\" on line 10`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-3}`, `binds client there to no key on line 12, so it cannot be bound to \"acme\"`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"acme","chat":-5,"bot":"nova"}`, `binds client there to \"initech\" on line 20`},
		{"nova/-1/0", "context_bind", `{"context":"ticket","entity":"T-2","chat":-6}`, `binds ticket there to \"T-1\" on line 15`}, // of one thread
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"globex","chat":-4}`, `binds client there to \"acme\" on line 13`},
		{"nova/-1/0", "context_bind", `{"context":"client","entity":"globex","chat":-1004}`, `binds client there to \"acme\" on line 13`}, // by its number of now
		{"nova/-1/0", "context_unbind", `{"context":"client","chat":-2}`, "binds client there on line 10, and a tool takes nothing away from it"},
		{"nova/-1/0", "context_unbind", `{"context":"client","chat":-2,"thread":43,"bot":"vega"}`, "binds client there on line 10"},
		{"nova/-1/0", "context_unbind", `{"context":"policy","chat":-5,"bot":"nova"}`, "binds policy there on line 20"},
		{"nova/-1/0", "context_unbind", `{"context":"ticket","chat":-6}`, "no tool bound ticket in the whole of tg:chat:-6 for every bot; name chat, thread and bot as they were bound: in that chat it is bound as ticket@T-1 in thread 42 of tg:chat:-6 for every bot by constitution/access.yaml on line 15"},
		{"nova/-1/0", "context_unbind", `{"context":"client"}`, "and it is not bound anywhere else in that chat"},
		{"nova/-1/0", "context_unbind", `{"context":"clinet"}`, "did you mean client?"},

		// From a pinned place.
		{"nova/-2/0", "context_bind", `{"context":"ticket","entity":"T-1","chat":-1}`, "this place is held to its own keys, so from here only this place can be bound, and places that are held to the same; tg:chat:-1 is not"},
		{"nova/-2/0", "context_bind", `{"context":"ticket","entity":"T-1"}`, "other threads of this chat are not, so name thread 0"},
		{"nova/-2/42", "context_bind", `{"context":"ticket","entity":"T-1","thread":43}`, "other threads of this chat are not, so name thread 42"},
		{"nova/-2/0", "context_bind", `{"context":"ticket","entity":"T-1","chat":-3}`, "tg:chat:-3 is not"},
		{"nova/-2/0", "context_unbind", `{"context":"ticket","chat":-1}`, "tg:chat:-1 is not"},
		{"nova/-2/0", "context_bind", `{"context":"ticket","entity":"T-1","chat":5}`, "tg:chat:5 is not"},
		{"nova/-4/0", "context_bind", `{"context":"ticket","entity":"T-1","chat":-1}`, "tg:chat:-1 is not"}, // its group moved
		{"nova/-4/0", "access_explain", `{"chat":-1}`, "only tg:chat:-1004 can be named"},
	} {
		got := o.call(step.from, step.tool, step.args)
		if !strings.Contains(got, step.want) || !strings.Contains(got, `"ok":false`) {
			t.Errorf("%s %s from %s:\n got %s\nwant %s", step.tool, step.args, step.from, got, step.want)
		}
	}
	o.away = true
	if got := o.call("nova/-1/0", "context_bind", `{"context":"client","entity":"acme"}`); !strings.Contains(got, "cannot be read now") {
		t.Error(got)
	}
	o.away = false
	for _, chat := range []attache.ChatID{-1, -2, -3, -4, -1004, -5, -6, 5} {
		if ties, err := o.rooms.Ties(t.Context(), chat); err != nil || len(ties) > 0 {
			t.Errorf("%v: %v %v", chat, ties, err)
		}
	}
}

// What is no contradiction and does not leave its place goes through.
func TestAllowedBindings(t *testing.T) {
	o := newOffice(t)
	for _, step := range []struct{ from, args string }{
		{"nova/-1/0", `{"context":"client","entity":"acme","chat":-4}`},                            // the same key
		{"nova/-1/0", `{"context":"client","entity":"globex","chat":-2,"thread":42}`},              // that of its thread
		{"nova/-1/0", `{"context":"policy","chat":-5}`},                                            // about no entity
		{"nova/-2/0", `{"context":"ticket","entity":"T-1","thread":0}`},                            // this very place
		{"nova/-2/42", `{"context":"ticket","entity":"T-1","thread":42}`},                          // likewise
		{"nova/-2/43", `{"context":"ticket","entity":"T-2","thread":44}`},                          // the same keys
		{"nova/-1004/0", `{"context":"ticket","entity":"T-3"}`},                                    // the whole of a chat with one key
		{"nova/-3/0", `{"context":"ticket","entity":"T-1"}`},                                       // held to none
		{"nova/-5/0", `{"context":"ticket","entity":"T-1"}`},                                       // vega's rule pins both
		{"nova/-6/0", `{"context":"client","entity":"acme"}`},                                      // General there is not pinned
		{"", `{"context":"client","entity":"acme","chat":"tg:chat:-1","thread":"7","bot":"vega"}`}, // a run without a place
	} {
		if got := o.call(step.from, "context_bind", step.args); !strings.Contains(got, `"ok":true`) {
			t.Errorf("%s from %s: %s", step.args, step.from, got)
		}
	}
}

// A tool binding pins like a rule does: what it binds cannot be carried elsewhere, and
// its own place can be bound anew.
func TestFromAPlaceThatAToolPinned(t *testing.T) {
	o := newOffice(t)
	for _, step := range []struct{ from, tool, args, want string }{
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme","thread":42,"bot":"nova"}`, `"ok":true`},
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme","thread":42}`, "the place of the bot vega is not, so name bot nova"},
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme","bot":"nova"}`, "other threads of this chat are not, so name thread 42"},
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme","chat":-5}`, "tg:chat:-5 is not"},
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"acme","chat":-4}`, `"ok":true`}, // the same key, and nobody else's
		{"nova/-1/42", "context_bind", `{"context":"client","entity":"globex","thread":42,"bot":"nova"}`, `"replaced":"acme"`},
		{"vega/-1/42", "context_bind", `{"context":"client","entity":"acme","thread":42}`, `"ok":true`}, // vega is not pinned
	} {
		if got := o.call(step.from, step.tool, step.args); !strings.Contains(got, step.want) {
			t.Errorf("%s from %s: %s, want %s", step.args, step.from, got, step.want)
		}
	}
}

// row D12
func TestExplain(t *testing.T) {
	o := newOffice(t)
	for _, args := range []string{
		`{"context":"client","entity":"acme"}`, `{"context":"client","entity":"globex","bot":"nova"}`, `{"context":"client","entity":"initech","thread":42}`,
		`{"context":"note","entity":"N-1"}`, `{"context":"policy","bot":"vega"}`,
	} {
		if got := o.call("", "context_bind", strings.Replace(args, "{", `{"chat":-1,`, 1)); !strings.Contains(got, `"ok":true`) {
			t.Fatal(got)
		}
	}
	type line struct {
		Context, Entity, By string
		Wins, Attaches      bool
		Why                 string
		Strength            int
	}
	var got struct {
		OK       bool
		Rule     map[string]any
		Person   map[string]any
		Pin      map[string]any
		Bindings []line
	}
	read := func(from, args string) {
		t.Helper()
		got.Rule, got.Person, got.Pin, got.Bindings = nil, nil, nil, nil
		if err := json.Unmarshal([]byte(o.call(from, "access_explain", args)), &got); err != nil || !got.OK {
			t.Fatal(err, got)
		}
	}
	const pins = "it only holds the place to its key: "
	read("nova/-1/0", `{}`)
	if got.Rule["role"] != "desk" || got.Rule["people"] != "everyone" || got.Rule["line"] != 6.0 || got.Rule["engage"] != "addressed" || got.Person["let_in"] != true || got.Pin["client"] != "globex" || got.Pin["note"] != "N-1" || len(got.Pin) != 2 {
		t.Errorf("%+v", got)
	}
	want := []line{
		{"client", "initech", "context_bind", false, false, "it is for another topic", 2},
		{"client", "globex", "context_bind", true, true, "a tool bound it and the role lists it", 1},
		{"client", "acme", "context_bind", false, false, "a stronger binding of the same context holds here", 0},
		{"note", "N-1", "context_bind", true, false, pins + "its `when` does not hold chat", 0},
		{"policy", "", "context_bind", false, false, "it is for another bot", 1},
	}
	if !slices.Equal(got.Bindings, want) {
		t.Errorf("%+v", got.Bindings)
	}
	read("vega/-1/42", `{"person":"6"}`)
	if got.Bindings[0] != (line{"client", "initech", "context_bind", true, false, pins + "the role guest does not list it in contexts", 2}) || got.Person["id"] != "tg:user:6" {
		t.Errorf("%+v", got)
	}
	read("nova/-5/0", `{}`)
	if !slices.Equal(got.Bindings, []line{{"client", "initech", "access.yaml", true, false, pins + "another bot's rule names it", 4}, {"policy", "", "access.yaml", true, false, pins + "another bot's rule names it", 4}}) || got.Pin["client"] != "initech" {
		t.Errorf("%+v", got)
	}
	read("nova/-2/42", `{}`)
	if !slices.Equal(got.Bindings, []line{{"client", "globex", "access.yaml", true, true, "a rule of access.yaml names it", 6}, {"client", "acme", "access.yaml", false, false, "a stronger binding of the same context holds here", 4}}) {
		t.Errorf("%+v", got)
	}
	read("nova/-3/0", `{"person":"bot:vega"}`)
	if key, bound := got.Pin["client"]; !bound || key != nil || !got.Bindings[0].Attaches {
		t.Errorf("%+v", got)
	}
	read("", `{"chat":-6,"thread":42,"person":"tg:user:6"}`)
	if got.Person["let_in"] != false || got.Pin["ticket"] != "T-1" || got.Bindings[0].By != "access.yaml" {
		t.Errorf("%+v", got)
	}
	for from, args := range map[string]string{
		"nova/-2/0":  `{"chat":-1}`,
		"nova/-3/0":  `{"chat":5}`,
		"nova/-1/0":  `{"person":"Ann"}`,
		"nova/-1/42": `{"chat":-6}`,
	} {
		if got := o.call(from, "access_explain", args); !strings.Contains(got, `"ok":false`) {
			t.Errorf("%s from %s: %s", args, from, got)
		}
	}
	if got := o.call("", "access_explain", `{"chat":-1}`); !strings.Contains(got, "2 bots have a rule") {
		t.Error(got)
	}
	if got := o.call("nova/5/0", "access_explain", `{"chat":-77}`); !strings.Contains(got, `"holds":false`) {
		t.Error(got)
	}
}

func TestTopics(t *testing.T) {
	o := newOffice(t)
	refused := &attache.Error{Kind: attache.KindRefused, Say: "Telegram refused it: Bad Request: not enough rights to create a topic"}
	for _, step := range []struct {
		from, tool, args string
		err              error
		want             string
	}{
		{"nova/-1/42", "topic_create", `{"name":" Orders "}`, nil, `{"chat":"tg:chat:-1","ok":true,"thread":"77"}`},
		{"nova/-1/0", "topic_create", `{"name":"Orders","chat":-4}`, nil, `{"chat":"tg:chat:-1004","ok":true,"thread":"77"}`},
		{"nova/5/0", "topic_create", `{"name":"Orders"}`, nil, `{"chat":"tg:chat:5","ok":true,"thread":"77"}`},
		{"", "topic_create", `{"name":"Orders","chat":-6}`, nil, `{"chat":"tg:chat:-6","ok":true,"thread":"77"}`},
		{"nova/-2/42", "topic_create", `{"name":"Orders"}`, nil, `{"chat":"tg:chat:-2","ok":true,"thread":"77"}`},
		{"nova/-1/0", "topic_close", `{"thread":"42"}`, nil, `{"chat":"tg:chat:-1","ok":true,"thread":"42"}`},
		{"nova/-1/0", "topic_create", `{"name":"Orders"}`, refused, `no topic was made: Telegram refused it: Bad Request: not enough rights to create a topic`},
		{"nova/-1/0", "topic_create", `{"name":"Orders"}`, errors.New("cut"), `"status":"unknown"`},
		{"nova/-1/0", "topic_close", `{"thread":42}`, errors.New("cut"), `"status":"unknown"`},
	} {
		o.err = step.err
		if got := o.call(step.from, step.tool, step.args); !strings.Contains(got, step.want) {
			t.Errorf("%s %s from %s: %s", step.tool, step.args, step.from, got)
		}
	}
	want := []string{"nova/-1/0 Orders", "nova/-1004/0 Orders", "nova/5/0 Orders", "nova/-6/0 Orders", "nova/-2/0 Orders", "nova/-1/42", "nova/-1/0 Orders", "nova/-1/0 Orders", "nova/-1/42"}
	if !slices.Equal(o.topics, want) {
		t.Errorf("%q", o.topics)
	}
	o.topics = nil
	for _, step := range []struct{ from, tool, args, want string }{
		{"nova/-1/0", "topic_create", `{"name":"  "}`, "the name is blank"},
		{"nova/-1/0", "topic_create", `{"name":"` + strings.Repeat("é", 129) + `"}`, "the name has 129 characters"},
		{"nova/-1/0", "topic_create", `{"name":"a\nb"}`, "control character"},
		{"nova/-1/0", "topic_create", `{"name":"Orders","chat":-99}`, "tg:chat:-99 has no rule"},
		{"vega/-1/0", "topic_create", `{"name":"Orders","chat":-2}`, "has no rule in access.yaml for the bot vega"},
		{"nova/-2/0", "topic_create", `{"name":"Orders","chat":-1}`, "only tg:chat:-2 can be named"},
		{"", "topic_create", `{"name":"Orders"}`, "name the chat"},
		{"", "topic_create", `{"name":"Orders","chat":-99}`, "has no rule"},
		{"nova/-1/0", "topic_close", `{"thread":0}`, "General is not closed by a tool"},
		{"nova/-1/0", "topic_close", `{"thread":1}`, "General is not closed by a tool"},
		{"nova/-1/0", "topic_close", `{}`, "thread"},
		{"nova/5/9", "topic_close", `{"thread":9}`, "closes no topics of private chats"},
		{"nova/-2/0", "topic_close", `{"thread":9,"chat":-1}`, "only tg:chat:-2 can be named"},
	} {
		if got := o.call(step.from, step.tool, step.args); !strings.Contains(got, step.want) || !strings.Contains(got, `"ok":false`) {
			t.Errorf("%s %s from %s: %s", step.tool, step.args, step.from, got)
		}
	}
	if len(o.topics) > 0 {
		t.Errorf("Telegram was asked for %q", o.topics)
	}
}
