package posts_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/gateway/posts/poststest"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// room is a database with the tables of posts and one bot, in which processes live
// and die.
type room struct {
	t     *testing.T
	db    *store.DB
	m     *poststest.Messenger
	log   bytes.Buffer
	mu    sync.Mutex
	moved []attache.Migration
	fates []attache.Fate
	known []posts.Posted // parts with an origin

	posted func() error // when set, what its owner says of an origin
}

func newRoom(t *testing.T) *room {
	r := &room{t: t, db: storetest.New(t), m: poststest.New()}
	if err := posts.Migrate(t.Context(), r.db); err != nil {
		t.Fatal(err)
	}
	return r
}

// office opens a process. The executor "stranger" owns no turn.
func (r *room) office(executor string) *posts.Office {
	o := posts.New(posts.Options{
		DB: r.db, Executor: executor, Log: slog.New(slog.NewTextHandler(&r.log, nil)), Forms: poststest.Forms(),
		Owned: `select 1 where $1::bigint > 0 and $2::text <> 'stranger'`,
		Moved: func(_ context.Context, _ attache.BotID, m attache.Migration) error {
			r.moved = append(r.moved, m)
			return nil
		},
		Count: func(_ attache.BotID, f attache.Fate) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fates = append(r.fates, f)
		},
		Posted: func(_ context.Context, _ store.Tx, p posts.Posted) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.known = append(r.known, p)
			if r.posted != nil {
				return r.posted()
			}
			return nil
		},
	})
	o.Serve("nova", r.m)
	return o
}

// here is a topic of a group.
func here() attache.Place { return attache.Place{Bot: "nova", Chat: -9, Thread: 42} }

func outgoing(markdown string, f attache.Format) attache.Outgoing {
	return attache.Outgoing{Place: here(), Markdown: markdown, Format: f}
}

// closing counts how often a turn was closed and keeps what with.
type closing struct {
	times int
	said  posts.Said
}

func (c *closing) close(_ context.Context, _ store.Tx, s posts.Said) error {
	c.times++
	c.said = s
	return nil
}

func (r *room) text(sql string) (s string) {
	r.t.Helper()
	if err := r.db.Pool().QueryRow(context.Background(), sql).Scan(&s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *room) states() string {
	r.t.Helper()
	return r.text(`select coalesce(string_agg(state, ',' order by turn, call, part, id), '') from attache.posts`)
}

func (r *room) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.db.Pool().Exec(context.Background(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a fact of the database.
func (r *room) until(what string, fact func() bool) {
	r.t.Helper()
	storetest.Until(r.t, what, fact)
}

func refused(r attache.Refusal) attache.Delivery {
	return attache.Delivery{Fate: attache.FateRefused, Refusal: r, Why: "no: " + string(r)}
}

// Each part has one fate, whatever form or place it takes on the way, and the turn
// is closed once, with what became of all.
func TestFatesOfParts(t *testing.T) {
	sent := attache.Delivery{Fate: attache.FateSent}
	moved := attache.Delivery{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900, Why: "no: moved"}
	for _, c := range []struct {
		name    string
		answers []attache.Delivery
		text    string
		format  attache.Format
		toChat  bool
		posts   []string
		states  string
		fate    attache.Fate
		place   attache.Place
	}{
		{name: "held and sent again", answers: []attache.Delivery{{Fate: attache.FateHeld, After: time.Millisecond}}, text: "a", posts: []string{"a"}, states: "sent", fate: "sent"},
		{name: "unknown is not repeated", answers: []attache.Delivery{{Fate: attache.FateUnknown, Why: "cut"}}, text: "a|b", posts: []string{"b"}, states: "unknown,sent", fate: "unknown"},
		{name: "unknown outweighs refused", answers: []attache.Delivery{{Fate: attache.FateUnknown, Why: "cut"}, refused(attache.RefusalOther)}, text: "a|b", states: "unknown,refused", fate: "unknown"},
		{name: "refused for good", answers: []attache.Delivery{refused(attache.RefusalRights)}, text: "a", states: "refused", fate: "refused"},
		{name: "rich becomes several parts with entities", answers: []attache.Delivery{refused(attache.RefusalFormat)}, text: "a|b|c", format: attache.FormatRich,
			posts: []string{"a", "b", "c"}, states: "sent,sent,sent", fate: "sent"},
		{name: "and one of them plain", answers: []attache.Delivery{refused(attache.RefusalFormat), sent, refused(attache.RefusalFormat)}, text: "a|b|c", format: attache.FormatRich,
			posts: []string{"a", "b", "c"}, states: "sent,sent,sent", fate: "sent"},
		{name: "entities become plain", answers: []attache.Delivery{sent, refused(attache.RefusalFormat)}, text: "a|b|c", format: attache.FormatEntities,
			posts: []string{"a", "b", "c"}, states: "sent,sent,sent", fate: "sent"},
		{name: "plain refused is the end", answers: []attache.Delivery{refused(attache.RefusalFormat)}, text: "a", format: attache.FormatPlain, states: "refused", fate: "refused"},
		{name: "the topic is gone and that is that", answers: []attache.Delivery{refused(attache.RefusalThread)}, text: "a", states: "refused", fate: "refused"},
		{name: "the topic is gone and the rule says chat", answers: []attache.Delivery{refused(attache.RefusalThread)}, text: "a|b", toChat: true,
			posts: []string{"a", "b"}, states: "sent,sent", fate: "sent", place: attache.Place{Bot: "nova", Chat: -9}},
		{name: "the group has moved", answers: []attache.Delivery{sent, moved}, text: "a|b|c", posts: []string{"a", "b", "c"}, states: "sent,sent,sent", fate: "sent",
			place: attache.Place{Bot: "nova", Chat: -100900, Thread: 42}},
		{name: "a group that moves without end", answers: []attache.Delivery{moved, moved, moved, moved, moved}, text: "a", states: "refused", fate: "refused",
			place: attache.Place{Bot: "nova", Chat: -100900, Thread: 42}},
	} {
		for _, busy := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				r := newRoom(t)
				r.m.Answers, r.m.Busy = slices.Clone(c.answers), busy
				var end closing
				said, err := r.office("one").Answer(t.Context(), posts.Answer{Outgoing: outgoing(c.text, c.format), Turn: 7, Fresh: true, ToChat: c.toChat, Close: end.close})
				if err != nil {
					t.Fatal(err)
				}
				if got := r.m.Texts(t, len(c.posts)); !slices.Equal(got, c.posts) {
					t.Errorf("posts %q, want %q", got, c.posts)
				}
				if got := r.states(); got != c.states {
					t.Errorf("states %s, want %s", got, c.states)
				}
				if c.place.Bot == "" {
					c.place = here()
				}
				if said.Fate != c.fate || said.Place != c.place || said.Parts != strings.Count(c.states, ",")+1 || (said.Why == "") != (c.fate == "sent") {
					t.Errorf("said %+v", said)
				}
				if end.times != 1 || !reflect.DeepEqual(end.said, said) {
					t.Errorf("closed %d times with %+v, want once with %+v", end.times, end.said, said)
				}
			})
		}
	}
}

func TestWhatIsEmptyOnceFormatted(t *testing.T) {
	r := newRoom(t)
	var end closing
	said, err := r.office("one").Answer(t.Context(), posts.Answer{Outgoing: outgoing(" ", ""), Turn: 7, Close: end.close})
	if err != nil || said.Parts != 0 || end.times != 0 || r.states() != "" {
		t.Errorf("said %+v, %v; closed %d times; posts %q", said, err, end.times, r.states())
	}
	if _, err := r.office("one").Say(t.Context(), 7, "c1", outgoing(" ", "")); err == nil || r.states() != "" {
		t.Errorf("a tool that says nothing is told %v; posts %q", err, r.states())
	}
}

// A turn that goes on in another process says what is left, and nothing twice.
func TestAnAnswerIsGoneOnWith(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.m.Answers = []attache.Delivery{{Fate: attache.FateSent}, {Fate: attache.FateHeld, After: time.Hour}}
	var end closing
	done := make(chan error)
	go func() {
		_, err := r.office("one").Answer(ctx, posts.Answer{Outgoing: outgoing("a|b|c", ""), Turn: 7, Fresh: true, Close: end.close})
		done <- err
	}()
	r.until("the second part is held", func() bool {
		return r.states() == "sent,intent,intent" && r.text(`select coalesce(sum(tries), 0) from attache.posts`) == "1"
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || end.times != 0 {
		t.Fatalf("it ended with %v and was closed %d times", err, end.times)
	}
	said, err := r.office("two").Answer(t.Context(), posts.Answer{Outgoing: outgoing("another text of a model that was asked again", ""), Turn: 7, Close: end.close})
	if err != nil || said.Fate != attache.FateSent || said.Taken != 3 || !slices.Equal(said.Messages, []attache.MessageID{1001, 1002, 1003}) || end.times != 1 {
		t.Errorf("said %+v, %v; closed %d times", said, err, end.times)
	}
	if got := r.m.Texts(t, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("posts %q", got)
	}
}

// A crash during a call leaves a part of unknown fate; one after the last result
// leaves a turn to be closed.
func TestWhatACrashLeavesOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		left, states string
		taken        int
		posts        []string
	}{
		{"sending,intent", "unknown,sent", 2, []string{"b"}},
		{"sent,sending", "sent,unknown", 2, nil},
		{"sent,sent", "sent,sent", 2, nil},
		{"refused,refused", "refused,refused", 0, nil},
		{"unknown,intent", "unknown,sent", 2, []string{"b"}},
	} {
		t.Run(c.left, func(t *testing.T) {
			r := newRoom(t)
			var end closing
			answer := posts.Answer{Outgoing: outgoing("a|b", ""), Turn: 7, Fresh: true, Close: end.close}
			r.m.Answers = []attache.Delivery{refused(attache.RefusalOther), refused(attache.RefusalOther)}
			if _, err := r.office("dead").Answer(t.Context(), answer); err != nil {
				t.Fatal(err)
			}
			for part, state := range strings.Split(c.left, ",") {
				r.exec(`update attache.posts set state = $2, done = null where part = $1`, part, state)
			}
			answer.Fresh, end = false, closing{}
			answer.Close = end.close
			said, err := r.office("two").Answer(t.Context(), answer)
			if err != nil || said.Taken != c.taken || end.times != 1 {
				t.Errorf("said %+v, %v; closed %d times", said, err, end.times)
			}
			if got := r.states(); got != c.states {
				t.Errorf("states %s, want %s", got, c.states)
			}
			if got := r.m.Texts(t, len(c.posts)); !slices.Equal(got, c.posts) {
				t.Errorf("posts %q, want %q", got, c.posts)
			}
		})
	}
}

// A process that was held for dead writes nothing, and sends nothing that it wrote.
func TestOnlyTheOwnerSpeaks(t *testing.T) {
	r := newRoom(t)
	var end closing
	_, err := r.office("stranger").Answer(t.Context(), posts.Answer{Outgoing: outgoing("a", ""), Turn: 7, Fresh: true, Close: end.close})
	if !errors.Is(err, posts.ErrTaken) || r.states() != "" {
		t.Fatalf("the answer ended with %v, posts %q", err, r.states())
	}
	r.m.Gate = make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := r.office("one").Answer(t.Context(), posts.Answer{Outgoing: outgoing("a|b", ""), Turn: 7, Fresh: true, Close: end.close})
		done <- err
	}()
	r.until("the first call is made", func() bool { return r.states() == "sending,intent" })
	r.exec(`update attache.posts set executor = 'two'`)
	close(r.m.Gate)
	if err := <-done; !errors.Is(err, posts.ErrTaken) || r.states() != "sent,intent" || end.times != 0 {
		t.Errorf("it ended with %v, posts %q, closed %d times", err, r.states(), end.times)
	}
}

// The same call of a turn is said once and answered alike each time; another call
// is another thing to say (decisions § 7.5).
func TestSayIsSaidOnceACall(t *testing.T) {
	r := newRoom(t)
	var first posts.Said
	for i, executor := range []string{"one", "one", "two"} {
		said, err := r.office(executor).Say(t.Context(), 7, "c1", outgoing("a|b", ""))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = said
		}
		if !reflect.DeepEqual(said, first) || !slices.Equal(said.Messages, []attache.MessageID{1001, 1002}) || said.Fate != attache.FateSent {
			t.Errorf("said %+v, the first time %+v", said, first)
		}
	}
	if said, err := r.office("one").Say(t.Context(), 7, "c2", outgoing("c", "")); err != nil || !slices.Equal(said.Messages, []attache.MessageID{1003}) {
		t.Errorf("said %+v, %v", said, err)
	}
	if got := r.m.Texts(t, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("posts %q", got)
	}
}

func TestSayAfterACrashIsUnknown(t *testing.T) {
	r := newRoom(t)
	if _, err := r.office("one").Say(t.Context(), 7, "c1", outgoing("a|b", "")); err != nil {
		t.Fatal(err)
	}
	r.exec(`update attache.posts set state = case part when 0 then 'sending' else 'intent' end, messages = '{}', done = null`)
	for range 2 {
		said, err := r.office("two").Say(t.Context(), 7, "c1", outgoing("a|b", ""))
		if err != nil || said.Fate != attache.FateUnknown || said.Why != "the process ended during the call" || !slices.Equal(said.Messages, []attache.MessageID{1003}) {
			t.Errorf("said %+v, %v", said, err)
		}
	}
	if got := r.m.Texts(t, 3); !slices.Equal(got, []string{"a", "b", "b"}) {
		t.Errorf("posts %q: only what was not begun is said", got)
	}
	if n := strings.Count(r.log.String(), "is unknown"); n != 1 {
		t.Errorf("the operator was told %d times:\n%s", n, &r.log)
	}
}

// What a tool says takes other forms and places like an answer, and the tool hears
// where it went.
func TestSayTakesOtherFormsAndPlaces(t *testing.T) {
	r := newRoom(t)
	r.m.Answers = []attache.Delivery{refused(attache.RefusalFormat), {Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900}}
	said, err := r.office("one").Say(t.Context(), 7, "c1", outgoing("a|b", attache.FormatRich))
	if err != nil || said.Fate != attache.FateSent || said.Parts != 2 || said.Place.Chat != -100900 {
		t.Errorf("said %+v, %v", said, err)
	}
	if got := r.text(`select string_agg(concat_ws(' ', call, text, format, chat), ', ' order by part) from attache.posts`); got != "c1 a entities -100900, c1 b entities -100900" {
		t.Errorf("the record says %s", got)
	}
	if want := []attache.Migration{{From: -9, To: -100900}}; !slices.Equal(r.moved, want) {
		t.Errorf("told of moves %v, want %v", r.moved, want)
	}
	r.m.Answers = []attache.Delivery{refused(attache.RefusalThread)}
	if said, err = r.office("one").Say(t.Context(), 7, "c2", outgoing("a", "")); err != nil || said.Fate != attache.FateRefused || said.Taken != 0 {
		t.Errorf("said %+v, %v: a tool's post goes to no other topic", said, err)
	}
}

func TestABotWithoutACourier(t *testing.T) {
	r := newRoom(t)
	what := outgoing("a", "")
	what.Place.Bot = "other"
	if _, err := r.office("one").Say(t.Context(), 7, "c1", what); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("error %v", err)
	}
}

// A stopped turn leaves nothing that could still be sent, of its answer or its tools.
func TestAStoppedTurnDropsItsIntents(t *testing.T) {
	r := newRoom(t)
	o := r.office("one")
	ctx, cancel := context.WithCancel(t.Context())
	r.m.Answers = []attache.Delivery{{Fate: attache.FateSent}, {Fate: attache.FateHeld, After: time.Hour}}
	done := make(chan error)
	go func() {
		_, err := o.Say(ctx, 7, "c1", outgoing("a|b", ""))
		done <- err
	}()
	r.until("the second part is held", func() bool {
		return r.text(`select coalesce(sum(tries), 0) from attache.posts`) == "2" && r.states() == "sent,intent"
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := o.DropIntents(t.Context(), 7); err != nil || r.states() != "sent,dropped" {
		t.Fatalf("%v, states %s", err, r.states())
	}
	said, err := o.Say(t.Context(), 7, "c1", outgoing("a|b", ""))
	if err != nil || said.Fate != attache.FateRefused || said.Why != "the turn was stopped" || said.Taken != 1 {
		t.Errorf("said %+v, %v", said, err)
	}
}
