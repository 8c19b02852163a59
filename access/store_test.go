package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// wholeOf a chat, topic of one, and each for one bot.
func wholeOf(chat attache.ChatID, bot attache.BotID) Spot {
	return Spot{Chat: chat, Whole: true, Bot: bot}
}
func topic(chat attache.ChatID, thread attache.ThreadID, bot attache.BotID) Spot {
	return Spot{Chat: chat, Thread: thread, Bot: bot}
}

// room is a store with what its tests do often.
type room struct {
	*Store
	t *testing.T
}

func newRoom(t *testing.T) room {
	t.Helper()
	s, err := OpenStore(t.Context(), storetest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	return room{s, t}
}

// bind ties and gives the key that was there before.
func (r room) bind(at Spot, context, key string) string {
	r.t.Helper()
	before, replaced, err := r.Bind(r.t.Context(), Tie{Spot: at, Context: attache.ContextID(context), Key: attache.EntityKey(key), Role: "desk", Turn: 7})
	if err != nil || !replaced && before != (Tie{}) {
		r.t.Fatal(before, replaced, err)
	}
	return string(before.Key)
}

// chat tells every tie of a chat.
func (r room) chat(chats ...attache.ChatID) string {
	r.t.Helper()
	ties, err := r.OfChat(r.t.Context(), chats...)
	if err != nil {
		r.t.Fatal(err)
	}
	return list(ties)
}

// list tells several ties, "none" for none.
func list(ties []Tie) string {
	if len(ties) == 0 {
		return "none"
	}
	told := make([]string, len(ties))
	for i, t := range ties {
		told[i] = t.String()
	}
	return strings.Join(told, ", ")
}

// row D6
func TestBindingAgainReplaces(t *testing.T) {
	r := newRoom(t)
	for _, at := range []Spot{wholeOf(-1, ""), wholeOf(-1, "nova"), topic(-1, 0, ""), topic(-1, 42, ""), topic(-1, 42, "nova"), wholeOf(-2, "")} {
		if before := r.bind(at, "client", "acme"); before != "" {
			t.Errorf("%v: a binding elsewhere was replaced: %q", at, before)
		}
		if before := r.bind(at, "client", "globex"); before != "acme" {
			t.Errorf("%v: before was %q", at, before)
		}
	}
	r.bind(wholeOf(-1, ""), "policy", "")
	const want = "client@globex in the whole of tg:chat:-1 for every bot, client@globex in the whole of tg:chat:-1 for nova, " +
		"policy in the whole of tg:chat:-1 for every bot, client@globex in thread 0 of tg:chat:-1 for every bot, " +
		"client@globex in thread 42 of tg:chat:-1 for every bot, client@globex in thread 42 of tg:chat:-1 for nova"
	if got := r.chat(-1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	ties, err := r.All(t.Context(), 2)
	if err != nil || len(ties) != 2 || ties[0].Context != "policy" || ties[0].Turn != 7 || ties[0].Role != "desk" || ties[0].At.IsZero() {
		t.Errorf("%+v %v", ties, err)
	}
}

// Two that bind one spot at once end with one binding, and one of them is told what
// it replaced.
func TestBindingsAtOnce(t *testing.T) {
	r := newRoom(t)
	before := make(chan string, 8)
	for i := range cap(before) {
		go func() {
			was, _, err := r.Bind(t.Context(), Tie{Spot: wholeOf(-1, ""), Context: "client", Key: attache.EntityKey(fmt.Sprint(i))})
			if err != nil {
				t.Error(err)
			}
			before <- string(was.Key)
		}()
	}
	seen := map[string]bool{}
	for range cap(before) {
		seen[<-before] = true
	}
	if len(seen) != cap(before) || !seen[""] || strings.Contains(r.chat(-1), ",") {
		t.Errorf("before were %v, now %s", seen, r.chat(-1))
	}
}

func TestUnbindTakesExactlyOne(t *testing.T) {
	r := newRoom(t)
	r.bind(wholeOf(-1, ""), "client", "acme")
	r.bind(topic(-1, 42, "nova"), "client", "globex")
	r.bind(wholeOf(-1, ""), "ticket", "T-1")
	for _, at := range []Spot{wholeOf(-1, "nova"), topic(-1, 42, ""), topic(-1, 0, ""), wholeOf(-3, "")} {
		_, err := r.Unbind(t.Context(), "client", at)
		var e *attache.Error
		if !errors.As(err, &e) || e.Kind != attache.KindNotFound || e.Say != fmt.Sprintf("no tool bound client in %v", at) {
			t.Errorf("%v: %v", at, err)
		}
	}
	if gone, err := r.Unbind(t.Context(), "client", wholeOf(-1, "")); err != nil || gone.Key != "acme" {
		t.Errorf("%+v %v", gone, err)
	}
	if got := r.chat(-1); got != "ticket@T-1 in the whole of tg:chat:-1 for every bot, client@globex in thread 42 of tg:chat:-1 for nova" {
		t.Error(got)
	}
}

// row D10
func TestOneQueryFindsWhatConcernsATurn(t *testing.T) {
	r := newRoom(t)
	r.bind(wholeOf(-1, ""), "client", "every")
	r.bind(wholeOf(-1, "nova"), "client", "nova")
	r.bind(topic(-1, 42, ""), "client", "topic")
	r.bind(topic(-1, 42, "nova"), "client", "topic-nova")
	r.bind(topic(-2, 42, "nova"), "client", "elsewhere")
	for at, want := range map[attache.Place]string{
		{Bot: "nova", Chat: -1, Thread: 42}: "every nova topic topic-nova: topic-nova",
		{Bot: "vega", Chat: -1, Thread: 42}: "every topic: topic",
		{Bot: "nova", Chat: -1}:             "every nova: nova",
		{Bot: "vega", Chat: -1}:             "every: every",
		{Bot: "vega", Chat: -2, Thread: 42}: ": ",
	} {
		list, err := r.At(t.Context(), at, at)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, b := range list {
			keys = append(keys, string(b.Key))
		}
		got := strings.Join(keys, " ") + ": " + string(attache.NewPin(at.Bot, list).Bound["client"])
		if got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
		var b pgx.Batch
		each := Queue(&b, []attache.Place{{Bot: "nova", Chat: -3}, at, {Bot: "nova", Chat: -1, Thread: 7}})
		if err := r.db.Pool().SendBatch(t.Context(), &b).Close(); err != nil || fmt.Sprint(each[at]) != fmt.Sprint(list) {
			t.Errorf("%v among others: %v, alone %v (%v)", at, each[at], list, err)
		}
	}
}

// A group that became a supergroup keeps its bindings, told by however many bots.
func TestMoveTakesBindingsAlong(t *testing.T) {
	r := newRoom(t)
	r.bind(wholeOf(-1, ""), "client", "acme")
	r.bind(topic(-1, 42, "vega"), "client", "globex")
	r.bind(wholeOf(-1, "nova"), "client", "old")
	r.bind(wholeOf(-1009, "nova"), "client", "new")
	r.bind(wholeOf(-1009, ""), "ticket", "before")
	r.bind(wholeOf(-1, ""), "ticket", "after")
	for _, bot := range []attache.BotID{"nova", "vega", "nova"} {
		err := r.db.InTx(t.Context(), func(tx store.Tx) error {
			return r.Move(t.Context(), tx, bot, attache.Migration{From: -1, To: -1009})
		})
		if err != nil {
			t.Fatal(err)
		}
		const want = "client@acme in the whole of tg:chat:-1009 for every bot, client@new in the whole of tg:chat:-1009 for nova, " +
			"ticket@after in the whole of tg:chat:-1009 for every bot, client@globex in thread 42 of tg:chat:-1009 for vega"
		if got := r.chat(-1, -1009); got != want {
			t.Errorf("told by %s: %s", bot, got)
		}
	}
	ties, err := r.At(t.Context(), attache.Place{Bot: "vega", Chat: -1009, Thread: 42}, attache.Place{Bot: "vega", Chat: -1, Thread: 42})
	if keys := attache.NewPin("vega", ties).Bound; err != nil || keys["client"] != "globex" || keys["ticket"] != "after" {
		t.Errorf("%v %v", ties, err)
	}
}

// Without its database a store says so, and never that nothing is bound.
func TestStoreWithoutDatabase(t *testing.T) {
	r := newRoom(t)
	r.db.Close()
	at := attache.Place{Bot: "nova", Chat: -1}
	_, wrong := r.At(t.Context(), at)
	_, wrongs := r.OfChat(t.Context(), -1)
	var b pgx.Batch
	Queue(&b, []attache.Place{at})
	each := r.db.Pool().SendBatch(t.Context(), &b).Close()
	_, _, unbound := r.Bind(t.Context(), Tie{Spot: wholeOf(-1, ""), Context: "client", Key: "acme"})
	_, kept := r.Unbind(t.Context(), "client", wholeOf(-1, ""))
	if slices.Contains([]error{wrong, wrongs, each, unbound, kept}, nil) {
		t.Error(wrong, wrongs, each, unbound, kept)
	}
}
