package heartbeat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

// dial is a clock that stands still until it is set. Whoever sleeps by it is one
// runner.
type dial struct {
	mu      sync.Mutex
	changed *sync.Cond
	now     time.Time
	due     time.Time
	wake    chan time.Time // nil: nobody sleeps
	sleeps  int
}

func newDial(now time.Time) *dial {
	d := &dial{now: now}
	d.changed = sync.NewCond(&d.mu)
	return d
}

func (d *dial) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *dial) After(wait time.Duration) <-chan time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due, d.wake = d.now.Add(wait), make(chan time.Time, 1)
	d.sleeps++
	d.changed.Broadcast()
	if wait <= 0 {
		d.wake <- d.now
	}
	return d.wake
}

// asleep waits until the runner sleeps, for something that is due later.
func (d *dial) asleep(t testing.TB) {
	t.Helper()
	d.await(t, func() bool { return d.wake != nil && d.due.After(d.now) })
}

func (d *dial) await(t testing.TB, is func() bool) {
	t.Helper()
	late := time.AfterFunc(20*time.Second, func() { d.mu.Lock(); d.now = time.Time{}; d.changed.Broadcast(); d.mu.Unlock() })
	defer late.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !is() {
		if d.now.IsZero() {
			t.Fatal("the runner does not come to rest")
		}
		d.changed.Wait()
	}
}

// pass lets time go by; the runner wakes at each moment that it asked for.
func (d *dial) pass(t testing.TB, until time.Time) {
	t.Helper()
	for {
		d.asleep(t)
		d.mu.Lock()
		if d.due.After(until) {
			d.now = until
			d.mu.Unlock()
			return
		}
		d.now = d.due
		wake := d.wake
		d.wake = nil
		d.mu.Unlock()
		wake <- d.now
	}
}

// strike sets the clock to the moment that the runner waits for, and does not wait
// for it to rest again.
func (d *dial) strike(t testing.TB) {
	t.Helper()
	d.asleep(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.due
	wake := d.wake
	d.wake = nil
	wake <- d.now
}

// leap sets the clock at once, as a machine does that was asleep, and wakes the
// runner when its time has come.
func (d *dial) leap(t testing.TB, to time.Time) {
	t.Helper()
	d.asleep(t)
	d.mu.Lock()
	d.now = to
	wake := d.wake
	if !d.due.After(to) {
		d.wake = nil
		wake <- to
	}
	d.mu.Unlock()
	d.asleep(t)
}

// house is a brain's beats and what was fired, over the life of several runners.
type house struct {
	t     testing.TB
	db    *store.DB
	mu    sync.Mutex
	beats []Beat
	fired []string
	fail  func(Fire) error // what Fire answers; nil: nothing is wrong
	begun chan struct{}    // closed by Fire, which then waits for its end; nil: it does not
	log   bytes.Buffer
}

func newHouse(t testing.TB, beats ...Beat) *house {
	return &house{t: t, db: storetest.New(t), beats: beats}
}

func (h *house) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

func (h *house) set(beats ...Beat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats = beats
}

// take gives what was fired since it was last asked.
func (h *house) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := strings.Join(h.fired, ", ")
	h.fired = nil
	return out
}

func (h *house) said(words string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Count(h.log.String(), words)
}

// fire notes a fire once its transaction is committed.
func (h *house) fire(ctx context.Context, _ store.Tx, b Beat, f Fire) (func(), error) {
	if h.begun != nil {
		close(h.begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.mu.Lock()
	fail := h.fail
	h.mu.Unlock()
	if fail != nil {
		if err := fail(f); err != nil {
			return nil, err
		}
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		what := b.ID + " " + f.Slot.Format("02 15:04")
		if f.Missed > 0 {
			what += fmt.Sprintf(" for %d", f.Missed)
		}
		h.fired = append(h.fired, what)
	}, nil
}

// life is one run of a process.
type life struct {
	*dial
	runner *Runner
	stop   func()
}

func (h *house) start(now time.Time) *life {
	h.t.Helper()
	clock := newDial(now)
	r, err := New(h.t.Context(), Options{
		DB: h.db, Clock: clock, Fire: h.fire, Log: slog.New(slog.NewTextHandler(h, nil)),
		Beats: func() []Beat { h.mu.Lock(); defer h.mu.Unlock(); return h.beats },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	l := &life{clock, r, sync.OnceFunc(func() { cancel(); <-ended })}
	h.t.Cleanup(l.stop)
	return l
}

// reload tells the runner of an edit and waits until it has looked.
func (l *life) reload(t testing.TB) {
	t.Helper()
	l.asleep(t)
	l.mu.Lock()
	before := l.sleeps
	l.mu.Unlock()
	l.runner.Changed()
	l.await(t, func() bool { return l.sleeps > before && l.due.After(l.now) })
}

func (h *house) expect(what, want string) {
	h.t.Helper()
	if got := h.take(); got != want {
		h.t.Errorf("%s: fired %q, want %q", what, got, want)
	}
}

func named(t testing.TB, id, keys string) Beat {
	b := beat(t, keys)
	b.ID = id
	return b
}

// november gives a moment of 30 November 2026 and the days after it, in UTC.
func november(day int, clock string) time.Time {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 11, day, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// Each slot fires once while the process runs, and sleeps are long.
//
// row M1
func TestSlotsFire(t *testing.T) {
	h := newHouse(t, named(t, "a", "cron: 0 * * * *"), named(t, "b", "cron: '30 9 * * *'"))
	l := h.start(november(30, "08:59:50"))
	l.pass(t, november(30, "08:59:59"))
	h.expect("before", "")
	l.pass(t, november(30, "09:00:00"))
	l.asleep(t)
	h.expect("at the minute", "a 30 09:00")
	l.pass(t, november(30, "11:30:00"))
	l.asleep(t)
	h.expect("two hours later", "b 30 09:30, a 30 10:00, a 30 11:00")
	if l.sleeps > 170 {
		t.Errorf("%d looks in 150 minutes", l.sleeps)
	}
}

// What was missed while nobody ran, at the start after it.
//
// row M1
func TestCatchUp(t *testing.T) {
	for _, c := range []struct{ what, keys, down, up, want string }{
		{"once is the default", "cron: 0 * * * *", "08:30:00", "11:30:00", "x 30 11:00 for 3"},
		{"skip", "cron: 0 * * * *\ncatchUp: skip", "08:30:00", "11:30:00", ""},
		{"all", "cron: 0 * * * *\ncatchUp: all", "08:30:00", "11:30:00", "x 30 09:00 for 1, x 30 10:00 for 1, x 30 11:00 for 1"},
		{"nothing was missed", "cron: 0 * * * *\ncatchUp: all", "08:30:00", "08:59:59", ""},
		{"within the minute, and already fired", "cron: 0 * * * *\ncatchUp: all", "09:00:10", "09:00:20", ""},
		{"less than five seconds late is on time", "cron: 0 * * * *\ncatchUp: skip", "08:59:59", "09:00:04", "x 30 09:00"},
		{"five seconds late is late", "cron: 0 * * * *\ncatchUp: skip", "08:59:59", "09:00:05", ""},
		{"one that is on time is none of the missed", "cron: 0 * * * *", "07:59:00", "09:00:02", "x 30 08:00 for 1, x 30 09:00"},
		{"outside of hours nothing is missed", "cron: 0 * * * *\nhours: 12:00-14:00", "08:30:00", "11:30:00", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := newHouse(t, named(t, "x", c.keys))
			l := h.start(november(30, "07:30:00"))
			l.pass(t, november(30, c.down))
			l.asleep(t)
			l.stop()
			h.take()
			l = h.start(november(30, c.up))
			l.asleep(t)
			h.expect("at the start", c.want)
			l.stop()
			l = h.start(november(30, c.up))
			l.asleep(t)
			h.expect("at another start", "")
		})
	}
}

// A day of slots at the most is made up for, the last of them.
func TestCatchUpAllHasAnEnd(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *\ncatchUp: all"))
	l := h.start(november(27, "00:30:00"))
	l.asleep(t)
	l.stop()
	l = h.start(november(30, "00:30:00"))
	l.asleep(t)
	got := strings.Split(h.take(), ", ")
	if len(got) != 24 || got[0] != "x 29 01:00 for 1" || got[23] != "x 30 00:00 for 1" {
		t.Errorf("%d: %v", len(got), got)
	}
}

// A beat that is seen for the first time has missed nothing, nor has one that was
// off.
//
// row M1
func TestFirstSight(t *testing.T) {
	x, off := named(t, "x", "cron: 0 * * * *\ncatchUp: all"), named(t, "x", "cron: 0 * * * *\ncatchUp: all\nenabled: false")
	h := newHouse(t, x)
	l := h.start(november(30, "09:00:02"))
	l.asleep(t)
	h.expect("first seen just after its minute", "")
	h.set(off)
	l.reload(t)
	l.pass(t, november(30, "11:30:00"))
	l.asleep(t)
	h.set(x)
	l.reload(t)
	h.expect("off and on again", "")
	h.set()
	l.reload(t)
	l.stop()
	l = h.start(november(30, "13:30:00"))
	l.asleep(t)
	h.set(x)
	l.reload(t)
	h.expect("gone and there again", "")
	l.pass(t, november(30, "14:00:00"))
	l.asleep(t)
	h.expect("then its slots come", "x 30 14:00")
}

// An edit just before a slot neither loses nor doubles it; an edit does not make
// slots of minutes that have passed (openclaw 11912, 10021, 33092).
func TestEdits(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 9 * * *"))
	l := h.start(november(30, "08:59:00"))
	l.pass(t, november(30, "08:59:59"))
	h.set(named(t, "x", "cron: 0 9,12 * * *"))
	l.reload(t)
	h.expect("edited before the slot", "")
	l.pass(t, november(30, "09:00:00"))
	l.asleep(t)
	h.expect("the slot", "x 30 09:00")
	h.set(named(t, "x", "cron: '0,59 8,9 * * *'"))
	l.reload(t)
	h.expect("edited after the slot, to hold it still", "")
	l.pass(t, november(30, "10:30:00"))
	l.asleep(t)
	h.expect("the new slot", "x 30 09:59")
	h.set(named(t, "x", "cron: 0 10 * * *\ncatchUp: all"))
	l.reload(t)
	h.expect("edited to a minute that has passed", "")
	l.stop()
	l = h.start(november(30, "10:31:00"))
	l.asleep(t)
	h.expect("which a restart does not think missed", "")
}

// A machine that slept was not running; the slot that is on time when it wakes is no
// missed one.
func TestMachineSlept(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *"))
	l := h.start(november(30, "08:30:00"))
	l.leap(t, november(30, "12:00:03"))
	h.expect("awake again", "x 30 11:00 for 3, x 30 12:00")
	l.leap(t, november(30, "11:30:00")) // the clock was set back
	l.pass(t, november(30, "12:30:00"))
	l.asleep(t)
	h.expect("an hour that comes again", "")
	l.pass(t, november(30, "13:00:00"))
	l.asleep(t)
	h.expect("goes on", "x 30 13:00")
}

// A machine that began with a wrong clock is set right, while the process runs or before
// it starts again: no beat is silent until the years have passed.
//
// row M1
func TestTheClockWasAhead(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *"), named(t, "y", "cron: '30 9 * * *'"))
	ahead := func(clock string) time.Time { return november(30, clock).AddDate(4, 0, 0) }
	l := h.start(ahead("08:59:50"))
	l.pass(t, ahead("09:00:00"))
	l.asleep(t)
	h.expect("ahead", "x 30 09:00")
	l.leap(t, november(30, "08:59:50"))
	l.reload(t)
	l.pass(t, november(30, "10:00:00"))
	l.asleep(t)
	h.expect("set right", "x 30 09:00, y 30 09:30, x 30 10:00")
	l.stop()
	l = h.start(ahead("11:59:50"))
	l.pass(t, ahead("12:00:00"))
	l.asleep(t)
	l.stop()
	h.take()
	l = h.start(november(30, "11:30:00"))
	l.pass(t, november(30, "13:00:00"))
	l.asleep(t)
	h.expect("set right before a start", "x 30 12:00, x 30 13:00")
	if n := h.said("has been set back"); n != 4 {
		t.Errorf("the log says it %d times:\n%s", n, h.log.String())
	}
}

// Two replicas and their restarts fire each slot once between them.
//
// row M1
// row N3
func TestTwoRunners(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: '*/10 * * * *'\ncatchUp: all"), named(t, "y", "cron: 0 * * * *"))
	one, two := h.start(november(30, "08:55:00")), h.start(november(30, "08:55:00"))
	one.asleep(t)
	two.asleep(t)
	var together sync.WaitGroup
	for _, l := range []*life{one, two} {
		together.Go(func() { l.pass(t, november(30, "09:30:00")); l.asleep(t) })
	}
	together.Wait()
	one.stop()
	two.stop()
	for range 2 {
		together.Go(func() { l := h.start(november(30, "10:05:00")); l.asleep(t) })
	}
	together.Wait()
	got := strings.Split(h.take(), ", ")
	slices.Sort(got)
	want := "x 30 09:00, x 30 09:10, x 30 09:20, x 30 09:30, x 30 09:40 for 1, x 30 09:50 for 1, x 30 10:00 for 1, y 30 09:00, y 30 10:00 for 1"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

// An empty body takes its slot and begins nothing (picoclaw 1561).
//
// row M1
func TestBlankBody(t *testing.T) {
	b := named(t, "x", "cron: 0 * * * *")
	b.Body = ""
	h := newHouse(t, b)
	l := h.start(november(30, "08:59:50"))
	l.pass(t, november(30, "09:00:00"))
	l.asleep(t)
	h.expect("a blank beat", "")
	if got := h.records(); got != "x 2026-11-30T09:00:00Z blank" {
		t.Error(got)
	}
}

// records gives the latest fires.
func (h *house) records() string {
	h.t.Helper()
	list, err := Latest(h.t.Context(), h.db.Pool())
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Entity, r.Slot, r.State, r.Why)))
	}
	return strings.Join(out, ", ")
}

// A run that cannot begin takes its slot with it and is said once; nothing is tried
// over and over.
func TestRefusedRun(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *"))
	tries := 0
	h.fail = func(Fire) error {
		tries++
		return &attache.Error{Kind: attache.KindRefused, Say: "the place is gone", Cause: errors.New("detail")}
	}
	l := h.start(november(30, "08:59:50"))
	l.pass(t, november(30, "10:00:00"))
	l.asleep(t)
	if tries != 2 || h.said("could not begin") != 1 || h.said("detail") != 1 {
		t.Errorf("%d tries, said %d times", tries, h.said("could not begin"))
	}
	if got := h.records(); got != "x 2026-11-30T10:00:00Z refused the place is gone" {
		t.Error(got)
	}
	h.mu.Lock()
	h.fail = nil
	h.mu.Unlock()
	l.pass(t, november(30, "11:00:00"))
	l.asleep(t)
	h.expect("mended", "x 30 11:00")
	if got := h.records(); got != "x 2026-11-30T11:00:00Z fired" {
		t.Error(got)
	}
}

// While the database is away the slot at hand waits for it, and stays on time.
func TestDatabaseAway(t *testing.T) {
	server := storetest.NewDurable(t)
	h := &house{t: t, db: server.Open(nil), beats: []Beat{named(t, "x", "cron: 0 * * * *\ncatchUp: skip")}}
	var once sync.Once
	down := make(chan struct{})
	h.fail = func(Fire) (err error) {
		once.Do(func() {
			server.Kill()
			err = h.db.Ping(context.Background())
			close(down)
		})
		return err
	}
	l := h.start(november(30, "08:59:50"))
	l.strike(t)
	<-down
	server.Start()
	l.asleep(t)
	h.expect("after the outage", "x 30 09:00")
	l.stop()
	if got := h.records(); got != "x 2026-11-30T09:00:00Z fired" {
		t.Error(got)
	}
}

// A beat that is switched off while the database is away does not fire when it is
// back.
func TestOffWhileTheDatabaseIsAway(t *testing.T) {
	server := storetest.NewDurable(t)
	x := named(t, "x", "cron: 0 * * * *")
	h := &house{t: t, db: server.Open(nil), beats: []Beat{x}}
	down := make(chan struct{})
	h.fail = func(Fire) error {
		defer close(down) // a second call would panic
		server.Kill()
		x.Why = "enabled is false"
		h.set(x)
		return h.db.Ping(context.Background())
	}
	l := h.start(november(30, "08:59:50"))
	l.strike(t)
	<-down
	server.Start()
	l.asleep(t)
	l.stop()
	h.expect("switched off", "")
	if got := h.records(); got != "" {
		t.Error(got)
	}
}

// A process that ends while it begins a run has not taken the slot: the next one does.
//
// row M1
func TestEndInTheMiddle(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *"))
	h.begun = make(chan struct{})
	l := h.start(november(30, "08:59:50"))
	l.strike(t)
	<-h.begun
	l.stop()
	if got := h.records(); got != "" {
		t.Error(got)
	}
	h.begun = nil
	l = h.start(november(30, "09:00:30"))
	l.asleep(t)
	h.expect("the next process", "x 30 09:00 for 1")
}

// Marks tell what became of a run, and whether that is news.
func TestMark(t *testing.T) {
	h := newHouse(t)
	if err := Migrate(t.Context(), h.db); err != nil {
		t.Fatal(err)
	}
	mark := func(turn int64, s State, why string, want bool) {
		t.Helper()
		news, err := Mark(t.Context(), h.db.Pool(), turn, s, why)
		if err != nil || news != want {
			t.Errorf("turn %d %s: news %v, %v", turn, s, news, err)
		}
	}
	for turn := range int64(4) {
		err := h.db.InTx(t.Context(), func(tx store.Tx) error {
			id, fresh, err := claim(t.Context(), tx, "heartbeat", "x", fmt.Sprint(turn), stateFired, "")
			if err != nil || !fresh {
				return fmt.Errorf("%v %w", fresh, err)
			}
			return Fire{ID: id}.Began(t.Context(), tx, 10+turn)
		})
		if err != nil {
			t.Fatal(err)
		}
		switch turn {
		case 0, 1:
			mark(10+turn, Refused, "no key", turn == 0)
		case 2:
			mark(10+turn, Refused, "another reason", true)
		case 3:
			mark(10+turn, stateFired, "", true)
		}
	}
	mark(99, Refused, "no fire", false)
	if got := h.records(); got != "x 3 fired" {
		t.Error(got)
	}
	if n, err := Forget(t.Context(), h.db.Pool(), time.Now().Add(time.Hour)); err != nil || n != 4 {
		t.Error(n, err)
	}
}

// Whatever restarts, edits and leaps of the clock there are: no slot fires twice.
//
// row M1
func TestAtMostOnceWhateverHappens(t *testing.T) {
	db := storetest.New(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		id := fmt.Sprintf("beat%d", run) // one database for all runs
		crons := []string{"'*/10 * * * *'", "0 * * * *", "'5,35 * * * *'"}
		b := func() Beat {
			return named(t, id, "cron: "+rapid.SampledFrom(crons).Draw(rt, "cron")+"\ncatchUp: "+rapid.SampledFrom([]string{"skip", "once", "all"}).Draw(rt, "catchUp"))
		}
		h := &house{t: t, db: db, beats: []Beat{b()}}
		now := november(29, "08:00:00")
		l := h.start(now)
		defer func() { l.stop() }()
		for range 8 {
			now = now.Add(time.Duration(rapid.IntRange(1, 40*60).Draw(rt, "seconds")) * time.Second)
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				l.stop()
				l = h.start(now)
			case 1:
				l.leap(t, now)
			case 2:
				l.pass(t, now)
				h.set(b())
				l.reload(t)
			default:
				l.pass(t, now)
			}
		}
		l.asleep(t)
		seen := map[string]bool{}
		for _, f := range strings.Split(h.take(), ", ") {
			slot, _, _ := strings.Cut(f, " for ")
			if f != "" && seen[slot] {
				rt.Fatalf("%s fired twice", slot)
			}
			seen[slot] = true
		}
	})
}

func TestNothingIsLeftRunning(t *testing.T) {
	h := newHouse(t, named(t, "x", "cron: 0 * * * *"))
	before := goleak.IgnoreCurrent()
	l := h.start(november(30, "08:59:50"))
	l.asleep(t)
	l.stop()
	goleak.VerifyNone(t, before)
}
