package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/internal/engine"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// params is the wire form of the fake messenger.
type params struct {
	Chat   attache.ChatID
	Thread attache.ThreadID
	Reply  attache.MessageID
	Text   string
}

// messenger stands in for Telegram: it takes posts and answers as told.
type messenger struct {
	mu      sync.Mutex
	changed *sync.Cond
	posts   []params
	answers []attache.Delivery // for the next calls; then everything is sent
	gate    chan struct{}      // when set, each call waits for a token
	calls   int
}

func newMessenger() *messenger {
	m := &messenger{}
	m.changed = sync.NewCond(&m.mu)
	return m
}

func (m *messenger) Ready(attache.ChatID) bool                         { return true }
func (m *messenger) Clear(ctx context.Context, _ attache.ChatID) error { return ctx.Err() }

func (m *messenger) Deliver(_ context.Context, p attache.Part) attache.Delivery {
	if m.gate != nil {
		<-m.gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed.Broadcast()
	m.calls++
	if len(m.answers) > 0 {
		d := m.answers[0]
		m.answers = m.answers[1:]
		if d.Fate != attache.FateSent {
			return d
		}
	}
	var x params
	if err := json.Unmarshal(p.Params, &x); err != nil {
		return attache.Delivery{Fate: attache.FateRefused, Refusal: attache.RefusalOther, Why: err.Error()}
	}
	m.posts = append(m.posts, x)
	return attache.Delivery{Fate: attache.FateSent, Messages: []attache.MessageID{attache.MessageID(1000 + len(m.posts))}, Thread: x.Thread}
}

// texts waits until n posts have come and gives their texts in order.
func (m *messenger) texts(t *testing.T, n int) []string {
	t.Helper()
	posts := m.wait(t, n)
	out := make([]string, len(posts))
	for i, p := range posts {
		out[i] = p.Text
	}
	return out
}

func (m *messenger) wait(t *testing.T, n int) []params {
	t.Helper()
	deadline := time.AfterFunc(20*time.Second, func() { m.changed.Broadcast() })
	defer deadline.Stop()
	end := time.Now().Add(20 * time.Second)
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.posts) < n {
		if time.Now().After(end) {
			t.Fatalf("%d posts came, %d were awaited: %v", len(m.posts), n, m.posts)
		}
		m.changed.Wait()
	}
	return slices.Clone(m.posts)
}

func compose(o attache.Outgoing) []attache.Part {
	if strings.TrimSpace(o.Markdown) == "" {
		return nil
	}
	var parts []attache.Part
	texts := strings.Split(o.Markdown, "|")
	if o.Format == attache.FormatRich {
		texts = []string{o.Markdown} // a rich message is never cut
	}
	for i, text := range texts {
		x := params{Chat: o.Place.Chat, Thread: o.Place.Thread, Text: text}
		if i == 0 {
			x.Reply = o.ReplyTo
		}
		raw, err := json.Marshal(x)
		if err != nil {
			panic(err)
		}
		parts = append(parts, attache.Part{Method: "say", Params: raw, Text: text, Format: o.Format})
	}
	return parts
}

func simpler(p attache.Part) []attache.Part {
	var x params
	if err := json.Unmarshal(p.Params, &x); err != nil {
		panic(err)
	}
	o := attache.Outgoing{Place: attache.Place{Chat: x.Chat, Thread: x.Thread}, Markdown: p.Text, ReplyTo: x.Reply}
	switch p.Format {
	case attache.FormatRich:
		o.Format = attache.FormatEntities
	case attache.FormatEntities:
		o.Format = attache.FormatPlain
	default:
		return nil
	}
	return compose(o)
}

func retarget(p attache.Part, to attache.Place) attache.Part {
	var x params
	if err := json.Unmarshal(p.Params, &x); err != nil {
		panic(err)
	}
	x.Chat, x.Thread, x.Reply = to.Chat, to.Thread, 0
	p.Params, _ = json.Marshal(x)
	return p
}

// world is a gateway with one bot on a database of its own.
type world struct {
	t      *testing.T
	db     *store.DB
	g      *Gateway
	m      *messenger
	answer func(context.Context, Turn) (Answer, error)
	judge  func(attache.Message) Verdict
	next   int64
	stop   func()
	freeze func() // ends the process's loops, and leaves its calls hanging
}

func echoTurn(_ context.Context, t Turn) (Answer, error) {
	var lines []string
	for _, m := range t.Messages {
		lines = append(lines, m.Text)
	}
	return Answer{Markdown: strings.Join(lines, "+"), Format: attache.FormatEntities}, nil
}

func newWorld(t *testing.T, change ...func(*world)) *world {
	w := &world{t: t, db: storetest.New(t), m: newMessenger(), answer: echoTurn,
		judge: func(m attache.Message) Verdict { return Verdict{Act: ActAnswer} }}
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
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(context.Background(), engine.Options{Pool: w.db.Pool(), Executor: executor, Log: log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.g, err = New(ctx, Options{DB: w.db, Engine: e, Executor: executor, Alone: true, Log: log, Compose: compose, Simpler: simpler, Retarget: retarget,
		Answer: func(ctx context.Context, _ engine.Run, t Turn) (Answer, error) { return w.answer(ctx, t) }})
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
	got := w.m.texts(t, 2)
	slices.Sort(got)
	if want := []string{"a+b", "other"}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
}

func TestMessagesDuringATurnMakeTheNext(t *testing.T) {
	w := newWorld(t)
	w.m.gate = make(chan struct{})
	w.say(msg(5, 1, "first"))
	w.until("the first turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 2, "second"))
	w.say(msg(5, 3, "third"))
	w.until("a turn waits", func() bool { return w.count(`select count(*) from attache.turns where state = 'waiting'`) == 1 })
	close(w.m.gate)
	if got, want := w.m.texts(t, 2), []string{"first", "second+third"}; !slices.Equal(got, want) {
		t.Fatalf("posts %q, want %q", got, want)
	}
}

// A turn is started by its timer, by the one before it and by the sweep. A start
// that comes late must not give the running turn what waits for the next.
func TestALateStartTakesNothing(t *testing.T) {
	w := newWorld(t)
	w.m.gate = make(chan struct{})
	w.say(msg(5, 1, "first"))
	w.until("the first turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 2, "second"))
	w.until("the second turn waits", func() bool { return w.count(`select count(*) from attache.turns where state = 'waiting'`) == 1 })
	id := int64(w.count(`select id from attache.turns where state = 'running'`))
	if got, ok, err := w.g.claim(t.Context(), id); err != nil || ok || len(got.Messages) > 0 {
		t.Errorf("a second start of a running turn took %d messages, %v, %v", len(got.Messages), ok, err)
	}
	close(w.m.gate)
	if got := w.m.texts(t, 2); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("posts %q", got)
	}
}

func TestARepeatedMessageIsAnsweredOnce(t *testing.T) {
	w := newWorld(t)
	w.say(msg(5, 1, "a"))
	w.m.texts(t, 1)
	w.say(msg(5, 1, "a")) // another update id, the same message
	w.say(msg(5, 2, "b"))
	if got, want := w.m.texts(t, 2), []string{"a", "b"}; !slices.Equal(got, want) {
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
	if got := w.m.texts(t, 1); got[0] != "right+more" {
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
	if got := w.m.texts(t, 1); got[0] != "Stopped." {
		t.Fatalf("post %q", got[0])
	}
	w.say(msg(5, 3, "/stop"))
	if got := w.m.texts(t, 2); got[1] != "Nothing is running here." {
		t.Fatalf("post %q", got[1])
	}
	w.say(msg(5, 4, "after"))
	if got := w.m.texts(t, 3); got[2] != "after" {
		t.Fatalf("post %q: the stopped burst came back", got[2])
	}
	w.say(msg(5, 5, "long"))
	w.until("the long turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.say(msg(5, 6, "/stop"))
	if got := w.m.texts(t, 4); got[3] != "Stopped." {
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
	got := w.m.texts(t, 2)
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
	if got := w.m.texts(t, 1); got[0] != "good" {
		t.Fatalf("post %q, want good", got[0])
	}
	if n := w.count(`select count(*) from attache.updates where state = 'broken' and length(raw) > 0`); n != 3 {
		t.Fatalf("%d updates are set aside, want 3", n)
	}
	found, err := ReadTroubles(context.Background(), w.db, time.Now().Add(-time.Hour))
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

func TestFatesOfParts(t *testing.T) {
	refuse := func(r attache.Refusal) attache.Delivery {
		return attache.Delivery{Fate: attache.FateRefused, Refusal: r, Why: "no: " + string(r)}
	}
	for _, c := range []struct {
		name    string
		answers []attache.Delivery
		answer  Answer
		posts   []string
		states  string
		turn    string
	}{
		{"held and sent again", []attache.Delivery{{Fate: attache.FateHeld, After: time.Millisecond}}, Answer{Markdown: "a"}, []string{"a"}, "sent", "answered"},
		{"unknown is not repeated", []attache.Delivery{{Fate: attache.FateUnknown, Why: "cut"}}, Answer{Markdown: "a|b"}, []string{"b"}, "unknown,sent", "answered"},
		{"refused for good", []attache.Delivery{refuse(attache.RefusalRights)}, Answer{Markdown: "a"}, nil, "refused", "failed"},
		{"rich becomes entities", []attache.Delivery{refuse(attache.RefusalFormat)}, Answer{Markdown: "a|b", Format: attache.FormatRich}, []string{"a", "b"}, "sent,sent", "answered"},
		{"entities become plain", []attache.Delivery{{Fate: attache.FateSent}, refuse(attache.RefusalFormat)}, Answer{Markdown: "a|b|c", Format: attache.FormatEntities}, []string{"a", "b", "c"}, "sent,sent,sent", "answered"},
		{"plain refused is the end", []attache.Delivery{refuse(attache.RefusalFormat)}, Answer{Markdown: "a", Format: attache.FormatPlain}, nil, "refused", "failed"},
		{"the topic is gone and that is that", []attache.Delivery{refuse(attache.RefusalThread)}, Answer{Markdown: "a"}, nil, "refused", "failed"},
		{"the topic is gone and the rule says chat", []attache.Delivery{refuse(attache.RefusalThread)}, Answer{Markdown: "a", Gone: "chat"}, []string{"a"}, "sent", "answered"},
		{"the group has moved", []attache.Delivery{{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900}}, Answer{Markdown: "a|b"}, []string{"a", "b"}, "sent,sent", "answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.m.answers = c.answers
				w.answer = func(context.Context, Turn) (Answer, error) { return c.answer, nil }
			})
			m := msg(-9, 1, "x")
			m.Place.Thread = 42
			w.say(m)
			w.until("the turn ended", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 1 })
			if got := w.m.texts(t, len(c.posts)); !slices.Equal(got, c.posts) && len(got)+len(c.posts) > 0 {
				t.Errorf("posts %q, want %q", got, c.posts)
			}
			if got := w.text(`select string_agg(state, ',' order by part) from attache.posts`); got != c.states {
				t.Errorf("states %s, want %s", got, c.states)
			}
			if got := w.text(`select state from attache.turns`); got != c.turn {
				t.Errorf("turn %s, want %s", got, c.turn)
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
	posts := w.m.wait(t, 1)
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
	w.m.gate = make(chan struct{})
	w.say(msg(5, 1, "in the air"), msg(6, 1, "also"))
	w.until("both calls are made", func() bool { return w.count(`select count(*) from attache.posts where state = 'sending'`) == 2 })
	// What a kill leaves: a running turn whose process is gone. A second one takes
	// over while the first hangs in its calls, as a frozen process would.
	frozen := w.m
	w.freeze()
	w.m = newMessenger()
	w.start("two")
	w.until("the turns are closed", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 2 })
	if n := w.count(`select count(*) from attache.posts where state = 'unknown'`); n != 2 {
		t.Errorf("%d posts are unknown, want 2", n)
	}
	close(frozen.gate) // the first process thaws; its turns are not its own any more
	frozen.wait(t, 2)
	w.say(msg(5, 2, "next"))
	if got := w.m.texts(t, 1); got[0] != "next" {
		t.Errorf("post %q, want next: an unknown post was repeated", got[0])
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

// until polls the database until a fact holds; it fails loudly when it never does.
func (w *world) until(what string, fact func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for !fact() {
		if err := pause(ctx, 5*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
			w.t.Fatal("it never came to pass that " + what)
		}
	}
}
