package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"attache"
	"attache/internal/conversation"
	"attache/internal/model"
	"attache/internal/prompt"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// words draws what people, models and tools write: anything, bytes that are no text too.
func words() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\x00b", "<&>", "\xff\xfe", "😀", "\u2028", `{"a":"\u0000"}`}))
}

// drawn is a turn with its history, and what its model and tools said.
type drawn struct {
	before []string // answers of earlier turns
	input  string
	kept   int
	tools  []attache.Tool
	rounds []Round
	model  model.Profile
}

func draw(t *rapid.T) drawn {
	d := drawn{before: rapid.SliceOfN(words(), 0, 4).Draw(t, "before"), input: words().Draw(t, "input")}
	for i, s := range d.before {
		d.before[i] = s + "." // an empty answer leaves nothing
	}
	d.kept = rapid.IntRange(0, len(d.before)).Draw(t, "kept")
	for i := range rapid.IntRange(0, 2).Draw(t, "tools") {
		d.tools = append(d.tools, attache.Tool{Name: fmt.Sprint("t", i), Description: words().Draw(t, "about"), Schema: json.RawMessage(`{"type":"object","description":"<&>"}`)})
	}
	for range rapid.IntRange(0, 3).Draw(t, "rounds") {
		r := Round{Text: words().Draw(t, "text"), Refusal: words().Draw(t, "refusal")}
		for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
			r.Calls = append(r.Calls, model.ToolCall{ID: fmt.Sprint("c", i), Name: "t0", Arguments: words().Draw(t, "args")})
			r.Results = append(r.Results, words().Draw(t, "result"))
		}
		d.rounds = append(d.rounds, r)
	}
	zero := 0.0
	d.model = model.Profile{Name: "default", Model: "m", BaseURL: "http://x", MaxTokens: rapid.IntRange(0, 9).Draw(t, "max"),
		Temperature: rapid.SampledFrom([]*float64{nil, &zero}).Draw(t, "temperature"), ContextRole: rapid.SampledFrom([]model.Role{"", model.RoleUser}).Draw(t, "role"),
		Fallback: []model.Profile{{Name: "backup", Model: "b"}}}
	return d
}

// A turn's requests come out of the database as the bytes that were sent, whatever was
// said, whatever was cut off the session since, whoever is asked.
//
// row N7
func TestRebuiltIsWhatWasSent(t *testing.T) {
	db := storetest.New(t)
	ctx := t.Context()
	talks, err := conversation.Open(ctx, db)
	if err == nil {
		err = Migrate(ctx, db)
	}
	if err != nil {
		t.Fatal(err)
	}
	turn, chat := int64(0), attache.ChatID(0)
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		chat++
		list, err := ListTools(d.tools)
		if err != nil {
			t.Fatal(err)
		}
		begin := func(input string) conversation.Exchange {
			turn++
			x, err := talks.Begin(ctx, conversation.Opening{
				Turn: turn, Place: attache.Place{Bot: "nova", Chat: chat}, Role: "desk", Engine: "api",
				Epoch:    conversation.Epoch{ID: fmt.Sprint("e", chat), Text: "You are the desk.", Tools: list},
				Session:  func(context.Context) ([]byte, error) { return []byte("<session/>"), nil },
				Snapshot: fmt.Appendf(nil, "<turn %d/>", turn), Input: []byte(input),
			})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		for _, answer := range d.before {
			x := begin("earlier")
			if err := talks.Answered(ctx, x.Turn, answer, 0); err != nil {
				t.Fatal(err)
			}
		}
		x := begin(d.input)
		sent := d.send(ctx, t, db, talks, x)
		if err := talks.Trim(ctx, x.Session.ID, x.Turn); err != nil {
			t.Fatal(err)
		}
		r, ok, err := Rebuild(ctx, db, talks, x.Turn)
		if err != nil || !ok || len(r.Missing) != 0 || len(r.Requests) != len(d.rounds)+1 {
			t.Fatalf("rebuilt: %v, %v, %d requests, missing %q", ok, err, len(r.Requests), r.Missing)
		}
		for n, want := range sent {
			for _, p := range append([]model.Profile{d.model}, d.model.Fallback...) {
				body, err := r.Body(n+1, p.Name)
				exact, wrong := model.Encode(p, want)
				if err != nil || wrong != nil || string(body) != string(exact) {
					t.Fatalf("request %d to %s: %v, %v\n%s", n+1, p.Name, err, wrong, cmp.Diff(string(exact), string(body)))
				}
			}
		}
		if _, err := r.Body(len(sent)+1, "default"); err == nil {
			t.Fatal("a request that was never made is rebuilt")
		}
	})
}

// send makes the requests of a turn as the mind does, writing down as it goes.
func (d drawn) send(ctx context.Context, t *rapid.T, db *store.DB, talks *conversation.Store, x conversation.Exchange) (sent []model.Request) {
	past, err := talks.History(ctx, x.Session.ID, x.Turn)
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := prompt.Assemble(Prompt(x, past[len(past)-d.kept:]))
	f := Frame{Kept: d.kept, CacheKey: "key", Models: Models(d.model)}
	request, err := First(x, messages, f.CacheKey)
	if err == nil {
		err = Begin(ctx, db, x.Turn, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	sent = append(sent, request)
	for i, round := range d.rounds {
		if err := Add(ctx, db, x.Turn, i+1, round); err != nil {
			t.Fatal(err)
		}
		request.Messages = append(request.Messages[:len(request.Messages):len(request.Messages)], round.Messages()...)
		sent = append(sent, request)
	}
	return sent
}

// What is older than it is kept goes, and then there is nothing to rebuild.
func TestForget(t *testing.T) {
	db := storetest.New(t)
	if err := Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := Begin(t.Context(), db, 1, Frame{Kept: 1}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before time.Time
		kept   bool
	}{{time.Now().Add(-time.Hour), true}, {time.Now().Add(time.Hour), false}} {
		if err := Forget(t.Context(), db, c.before); err != nil {
			t.Fatal(err)
		}
		if f, _, ok, err := read(t.Context(), db, 1); err != nil || ok != c.kept || c.kept && f.Kept != 1 {
			t.Errorf("before %v: %+v %v %v", c.before, f, ok, err)
		}
	}
}
