package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attache"
	"attache/gateway/ledger"
	"attache/gateway/posts"
	"attache/gateway/posts/poststest"
	"attache/internal/engine"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// world is a gateway with one bot on a database of its own.
type world struct {
	t       *testing.T
	db      *store.DB
	g       *Gateway
	m       *poststest.Messenger
	answer  func(context.Context, Turn) (Answer, error)
	judge   func(attache.Message) Verdict
	keys    func([]attache.Place) (map[attache.Place]string, error)
	next    int64
	ended   atomic.Int64 // turns that were counted
	dropped atomic.Int64 // the last turn that left nothing in the history
	runs    sync.Map     // by turn, how a run ended
	posted  sync.Map     // by message, what was said with an origin
	log     io.Writer    // nil: the test's output
	stop    func()
	freeze  func() // ends the process's loops, and leaves its calls hanging
}

func echoTurn(_ context.Context, t Turn) (Answer, error) {
	var lines []string
	for _, m := range t.Messages {
		lines = append(lines, m.Text)
	}
	return Answer{Markdown: strings.Join(lines, "+"), Format: attache.FormatEntities}, nil
}

func newWorld(t *testing.T, change ...func(*world)) *world {
	w := &world{t: t, db: storetest.New(t), m: poststest.New(), answer: echoTurn,
		judge: func(m attache.Message) Verdict { return Verdict{Act: ActAnswer} },
		keys:  func([]attache.Place) (map[attache.Place]string, error) { return nil, nil }}
	for _, c := range change {
		c(w)
	}
	w.start("one")
	return w
}

// start runs a process on the world's database.
func (w *world) start(executor string) {
	w.t.Helper()
	w.startWith(executor, func(serve func()) { serve() })
}

// startWith runs a process that serves the bot when then says so.
func (w *world) startWith(executor string, then func(serve func())) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	if w.log == nil {
		w.log = w.t.Output()
	}
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(context.Background(), engine.Options{Pool: w.db.Pool(), Executor: executor, Log: log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.g, err = New(ctx, w.options(e, executor, log))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := e.Launch(); err != nil {
		w.t.Fatal(err)
	}
	w.freeze = cancel
	then(func() {
		w.g.Serve(Bot{ID: "nova", Courier: w.m, Decode: decode, Judge: func(m attache.Message) Verdict { return w.judge(m) }})
	})
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.g.Run(ctx) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		if err := e.Close(time.Second); err != nil {
			w.t.Log(err)
		}
	})
	w.t.Cleanup(w.stop)
}

// options wires a process of the world.
func (w *world) options(e *engine.Engine, executor string, log *slog.Logger) Options {
	return Options{
		DB: w.db, Engine: e, Executor: executor, Alone: true, Log: log, Forms: poststest.Forms(),
		Answer: func(ctx context.Context, _ engine.Run, t Turn) (Answer, error) { return w.answer(ctx, t) },
		Keys:   func(ctx context.Context, at []attache.Place) (map[attache.Place]string, error) { return w.keys(at) },
		New:    func(context.Context, store.Tx, attache.Place) error { return nil },
		Moved:  func(context.Context, store.Tx, attache.BotID, attache.Migration) error { return nil },
		Dropped: func(_ context.Context, turn int64) error {
			w.dropped.Store(turn)
			return nil
		},
		RunEnded: func(_ context.Context, _ store.Tx, turn int64, state, why string) error {
			w.runs.Store(turn, state+"; "+why)
			return nil
		},
		Posted: func(_ context.Context, _ store.Tx, p posts.Posted) error {
			w.posted.Store(p.Messages[0], p)
			return nil
		},
		CountUpdate: func(attache.BotID, string) {},
		CountTurn:   func(attache.BotID, string, time.Duration) { w.ended.Add(1) },
		CountPost:   func(attache.BotID, attache.Fate) {},
		Keep:        func() Retention { return Retention{Updates: time.Hour, Room: time.Hour, Turns: time.Hour} },
		Forget:      func(context.Context, time.Time) error { return nil },
	}
}

func decode(raw []byte) (attache.Update, error) {
	var u attache.Update
	err := json.Unmarshal(raw, &u)
	return u, err
}

// say keeps messages as one batch of updates.
func (w *world) say(ms ...attache.Message) {
	w.t.Helper()
	us := make([]attache.Update, len(ms))
	for i, m := range ms {
		us[i] = attache.Update{Kind: "message", Message: &m}
	}
	w.keep(us...)
}

func (w *world) keep(us ...attache.Update) {
	w.t.Helper()
	raws := make([]attache.RawUpdate, len(us))
	for i, u := range us {
		w.next++
		b, err := json.Marshal(u)
		if err != nil {
			w.t.Fatal(err)
		}
		raws[i] = attache.RawUpdate{ID: w.next, JSON: b}
	}
	if err := w.g.Keep(context.Background(), "nova", raws); err != nil {
		w.t.Fatal(err)
	}
}

func msg(chat attache.ChatID, id attache.MessageID, text string) attache.Message {
	return attache.Message{Place: attache.Place{Bot: "nova", Chat: chat}, ID: id, Text: text, From: attache.Person{ID: "tg:user:5"}}
}

func TestMessagesOfOneBatchMakeOneTurn(t *testing.T) {
	w := newWorld(t)
	w.say(msg(5, 1, "a"), msg(5, 2, "b"), msg(6, 1, "other"))
	got := w.m.Texts(t, 2)
	slices.Sort(got)
	if want := []string{"a+b", "other"}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
}

func TestMessagesDuringATurnMakeTheNext(t *testing.T) {
	w := newWorld(t)
	w.m.Gate = make(chan struct{})
	w.say(msg(5, 1, "first"))
	w.until("the first turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 2, "second"))
	w.say(msg(5, 3, "third"))
	w.until("both wait", func() bool { return w.count(`select count(*) from attache.messages where turn is null`) == 2 })
	close(w.m.Gate)
	if got, want := w.m.Texts(t, 2), []string{"first", "second+third"}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
}

// A turn is started by its timer, by the one before it and by the sweep. A start
// that comes late must not give the running turn what waits for the next.
func TestALateStartTakesNothing(t *testing.T) {
	w := newWorld(t)
	w.m.Gate = make(chan struct{})
	w.say(msg(5, 1, "first"))
	w.until("the first turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 2, "second"))
	w.until("the second turn waits", func() bool { return w.count(`select count(*) from attache.turns where state = 'waiting'`) == 1 })
	id := int64(w.count(`select id from attache.turns where state = 'running'`))
	if got, ok, err := w.g.claim(t.Context(), id); err != nil || ok || len(got.Messages) > 0 {
		t.Errorf("a second start of a running turn took %d messages, %v, %v", len(got.Messages), ok, err)
	}
	close(w.m.Gate)
	if got := w.m.Texts(t, 2); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("posts %q", got)
	}
}

func TestARepeatedMessageIsAnsweredOnce(t *testing.T) {
	w := newWorld(t)
	w.say(msg(5, 1, "a"))
	w.m.Texts(t, 1)
	w.say(msg(5, 1, "a")) // another update id, the same message
	w.say(msg(5, 2, "b"))
	if got, want := w.m.Texts(t, 2), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
}

func TestAnEditInsideTheWindowReplaces(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(attache.Message) Verdict { return Verdict{Act: ActAnswer, Quiet: time.Hour} }
	})
	w.say(msg(5, 1, "wrong"), msg(5, 2, "more"))
	edited := msg(5, 1, "right")
	w.keep(attache.Update{Kind: "edited_message", Edited: &edited})
	w.until("the edit is in", func() bool {
		return w.count(`select count(*) from attache.messages where body->>'text' = 'right'`) == 1
	})
	w.due()
	if got := w.m.Texts(t, 1); got[0] != "right+more" {
		t.Fatalf("post %q, want right+more", got[0])
	}
}

func TestStopEndsBurstAndTurn(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict {
			switch m.Text {
			case "/stop":
				return Verdict{Act: ActStop}
			case "slow":
				return Verdict{Act: ActAnswer, Quiet: time.Hour}
			}
			return Verdict{Act: ActAnswer}
		}
		w.answer = func(ctx context.Context, t Turn) (Answer, error) {
			if t.Messages[0].Text == "long" {
				<-ctx.Done() // until it is stopped
			}
			return echoTurn(ctx, t)
		}
	})
	w.say(msg(5, 1, "slow"))
	w.say(msg(5, 2, "/stop"))
	if got := w.m.Texts(t, 1); got[0] != "Stopped." {
		t.Fatalf("post %q", got[0])
	}
	w.say(msg(5, 3, "/stop"))
	if got := w.m.Texts(t, 2); got[1] != "Nothing is running here." {
		t.Fatalf("post %q", got[1])
	}
	w.say(msg(5, 4, "after"))
	if got := w.m.Texts(t, 3); got[2] != "after" {
		t.Fatalf("post %q: the stopped burst came back", got[2])
	}
	w.say(msg(5, 5, "long"))
	w.until("the long turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 6, "/stop"))
	if got := w.m.Texts(t, 4); got[3] != "Stopped." {
		t.Fatalf("post %q", got[3])
	}
	w.until("the turn is stopped", func() bool { return w.count(`select count(*) from attache.turns where state = 'stopped'`) == 2 })
}

func TestStopInOneBatchWithTheTextEndsIt(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict {
			if m.Text == "/stop" {
				return Verdict{Act: ActStop}
			}
			return Verdict{Act: ActAnswer, Quiet: 300 * time.Millisecond}
		}
	})
	w.say(msg(5, 1, "text"), msg(5, 2, "/stop"), msg(5, 3, "later"))
	got := w.m.Texts(t, 2)
	if !slices.Equal(got, []string{"Stopped.", "later"}) {
		t.Fatalf("posts %q", got)
	}
}

func TestABrokenUpdateIsKeptAndPassedBy(t *testing.T) {
	w := newWorld(t)
	err := w.g.Keep(context.Background(), "nova", []attache.RawUpdate{
		{ID: 900, JSON: []byte(`{"Message": 5}`)}, {ID: 901, JSON: []byte("\x00\xff{")},
	})
	if err != nil {
		t.Fatal(err)
	}
	poison := msg(5, 1, "poison \x00 that jsonb refuses")
	w.say(poison, msg(5, 2, "good"))
	if got := w.m.Texts(t, 1); got[0] != "good" {
		t.Fatalf("post %q, want good", got[0])
	}
	if n := w.count(`select count(*) from attache.updates where state = 'broken' and length(raw) > 0`); n != 3 {
		t.Fatalf("%d updates are set aside, want 3", n)
	}
	found, err := ledger.ReadTroubles(context.Background(), w.db, time.Now().Add(-time.Hour))
	if err != nil || len(found.Broken) != 3 {
		t.Fatalf("troubles %+v, %v", found, err)
	}
}

func TestNoRuleLeavesNoText(t *testing.T) {
	w := newWorld(t, func(w *world) { w.judge = func(attache.Message) Verdict { return Verdict{Act: ActSilence} } })
	w.say(msg(-7, 1, "private words"))
	w.until("the update is handled", func() bool { return w.count(`select count(*) from attache.updates where state = 'handled'`) == 1 })
	if n := w.count(`select count(*) from attache.updates where length(raw) > 0`) + w.count(`select count(*) from attache.messages`); n != 0 {
		t.Fatal("text of a chat without a rule is stored")
	}
}

// The fates of posts are told in gateway/posts; here is what they make of the turn.
func TestWhatPostsMakeOfTheirTurn(t *testing.T) {
	refuse := func(r attache.Refusal) attache.Delivery {
		return attache.Delivery{Fate: attache.FateRefused, Refusal: r, Why: "no: " + string(r)}
	}
	for _, c := range []struct {
		name       string
		answers    []attache.Delivery
		answer     Answer
		state, why string
		chat       attache.ChatID
		dropped    bool
	}{
		{name: "sent", answer: Answer{Markdown: "a|b"}, state: "answered", chat: -9},
		{name: "one part of unknown fate", answers: []attache.Delivery{{Fate: attache.FateUnknown, Why: "cut"}}, answer: Answer{Markdown: "a|b"}, state: "answered", why: "cut", chat: -9},
		{name: "refused for good", answers: []attache.Delivery{refuse(attache.RefusalRights)}, answer: Answer{Markdown: "a"}, state: "failed", why: "no: rights", chat: -9, dropped: true},
		{name: "the topic is gone", answers: []attache.Delivery{refuse(attache.RefusalThread)}, answer: Answer{Markdown: "a", Gone: "drop"}, state: "failed", why: "no: thread", chat: -9, dropped: true},
		{name: "the topic is gone and the rule says chat", answers: []attache.Delivery{refuse(attache.RefusalThread)}, answer: Answer{Markdown: "a", Gone: "chat"}, state: "answered", chat: -9},
		{name: "the group has moved", answers: []attache.Delivery{{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900}}, answer: Answer{Markdown: "a|b"}, state: "answered", chat: -100900},
		{name: "nothing to say", answer: Answer{Why: "the role is silent"}, state: "silent", why: "the role is silent", chat: -9, dropped: true},
		{name: "nothing is left once formatted", answer: Answer{Markdown: " "}, state: "silent", why: "the answer is empty once it is formatted", chat: -9, dropped: true},
		{name: "a failure that says so", answer: Answer{Markdown: "I could not.", Failed: true, Why: "broke"}, state: "failed", why: "broke", chat: -9},
		{name: "a failure without words", answer: Answer{Failed: true, Why: "broke"}, state: "failed", why: "broke", chat: -9, dropped: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.m.Answers = c.answers
				w.answer = func(context.Context, Turn) (Answer, error) { return c.answer, nil }
			})
			m := msg(-9, 1, "x")
			m.Place.Thread = 42
			w.say(m)
			w.until("the turn ended", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 1 })
			turns, err := ledger.ReadTurns(t.Context(), w.db, c.chat, 10)
			if err != nil || len(turns) != 1 {
				t.Fatalf("turns %+v, %v", turns, err)
			}
			if r := turns[0]; r.Status != c.state || r.Why != c.why || r.Ended.IsZero() {
				t.Errorf("turn %s, %q; want %s, %q", r.Status, r.Why, c.state, c.why)
			}
			if dropped := w.dropped.Load() == turns[0].ID; dropped != c.dropped {
				t.Errorf("dropped from the history: %v, want %v", dropped, c.dropped)
			}
		})
	}
}

func TestAMigratedGroupGoesOnUnderItsNewNumber(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict { return Verdict{Act: ActAnswer, Quiet: 200 * time.Millisecond} }
	})
	w.say(msg(-9, 1, "before"))
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}})
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}}) // told twice
	w.say(msg(-9, 2, "late, under the old number"), msg(-1009, 3, "after"))
	posts := w.m.Wait(t, 1)
	for _, p := range posts {
		if p.Chat != -1009 {
			t.Errorf("post %+v went to the old group", p)
		}
	}
	if n := w.count(`select count(*) from attache.turns where chat = -9`) + w.count(`select count(*) from attache.messages where chat = -9`); n != 0 {
		t.Errorf("%d rows are left under the old number", n)
	}
}

func TestADeadProcessLeavesItsWork(t *testing.T) {
	w := newWorld(t)
	w.m.Gate = make(chan struct{})
	w.say(msg(5, 1, "in the air"), msg(6, 1, "also"))
	w.until("both calls are made", func() bool { return w.count(`select count(*) from attache.posts where state = 'sending'`) == 2 })
	// What a kill leaves: a running turn whose process is gone. A second one takes
	// over while the first hangs in its calls, as a frozen process would.
	frozen := w.m
	w.freeze()
	w.m = poststest.New()
	w.start("two")
	w.until("the turns are closed", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 2 })
	if n := w.count(`select count(*) from attache.posts where state = 'unknown'`); n != 2 {
		t.Errorf("%d posts are unknown, want 2", n)
	}
	close(frozen.Gate) // the first process thaws; its turns are not its own any more
	frozen.Wait(t, 2)
	w.say(msg(5, 2, "next"))
	if got := w.m.Texts(t, 1); got[0] != "next" {
		t.Errorf("post %q, want next: an unknown post was repeated", got[0])
	}
	w.until("the next turn is closed", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 3 })
	w.stop()
	if n := w.ended.Load(); n != 3 {
		t.Errorf("%d turns were counted, want 3: the thawed process ended none", n)
	}
}

func TestAnAnswerThatFailsIsGivenUp(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.answer = func(context.Context, Turn) (Answer, error) { panic("a mistake of ours") }
	})
	w.say(msg(5, 1, "x"))
	w.until("the turn is closed", func() bool { return w.text(`select coalesce(max(state), '') from attache.turns`) == "failed" })
}

func TestOffsetIsBehindTheNewestKept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	if n, err := w.g.Offset(ctx, "nova"); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	for _, id := range []int64{700, 701, 3} { // ids begin anew after a week of silence
		if err := w.g.Keep(ctx, "nova", []attache.RawUpdate{{ID: id, JSON: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.g.Offset(ctx, "nova"); n != 4 || err != nil {
		t.Fatal(n, err)
	}
}

// due ends every waiting burst.
func (w *world) due() {
	w.t.Helper()
	if _, err := w.db.Pool().Exec(context.Background(), `update attache.turns set due = now() where state = 'waiting'`); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) count(sql string) (n int) {
	w.t.Helper()
	if err := w.db.Pool().QueryRow(context.Background(), sql).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) text(sql string) (s string) {
	w.t.Helper()
	if err := w.db.Pool().QueryRow(context.Background(), sql).Scan(&s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// until waits for a fact of the database.
func (w *world) until(what string, fact func() bool) {
	w.t.Helper()
	storetest.Until(w.t, what, fact)
}
