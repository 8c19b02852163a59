package usage

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func database(t *testing.T) *store.DB {
	t.Helper()
	db := storetest.New(t)
	for range 2 { // the second time does nothing
		if err := Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 123456000, time.UTC) }

func cost(c float64) *float64 { return &c }

// call is a call with everything known.
func call() Call {
	return Call{
		Turn: 7, N: 1, Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, Role: "support", Profile: "default", Model: "m1",
		Try: 1, Status: 200, Took: 1500 * time.Millisecond, Tokens: &Tokens{100, 60, 5, 20, 8}, Cost: cost(0.0000125), At: noon(),
	}
}

func record(t *testing.T, q Querier, calls ...Call) {
	t.Helper()
	for _, c := range calls {
		if err := Record(t.Context(), q, c); err != nil {
			t.Fatal(err)
		}
	}
}

func with(c Call, change func(*Call)) Call {
	change(&c)
	return c
}

// What is recorded comes back as it was, unknown and zero told apart.
func TestCallsComeBack(t *testing.T) {
	db := database(t)
	first := call()
	failed := with(call(), func(c *Call) {
		c.Status, c.Tokens, c.Cost, c.Why, c.At = 429, nil, nil, "the server is busy", noon().Add(-time.Second)
	})
	none := with(call(), func(c *Call) {
		c.N, c.Place, c.Role, c.Tokens, c.Cost, c.At = 2, attache.Place{}, "", &Tokens{}, cost(0), noon().Add(time.Second)
	})
	other := with(call(), func(c *Call) { c.Turn = 8 })
	record(t, db.Pool(), none, first, other, failed)
	got, err := OfTurn(t.Context(), db.Pool(), 7)
	for i := range got {
		got[i].At = got[i].At.UTC()
	}
	if diff := cmp.Diff([]Call{failed, first, none}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := OfTurn(t.Context(), db.Pool(), 9); err != nil || len(got) != 0 {
		t.Errorf("turn 9: %v, %v", got, err)
	}
}

// A retry that records the same exchange again does nothing; the same call made
// again after a crash is another exchange and counts.
func TestRecordedOnce(t *testing.T) {
	db := database(t)
	again := with(call(), func(c *Call) { c.At = c.At.Add(time.Microsecond) })
	same := with(call(), func(c *Call) { c.At = c.At.Add(999 * time.Nanosecond) })
	record(t, db.Pool(), call(), call(), again, same)
	if got, err := OfTurn(t.Context(), db.Pool(), 7); err != nil || len(got) != 2 {
		t.Errorf("%d calls, %v", len(got), err)
	}
	if err := Record(t.Context(), db.Pool(), Call{Turn: 9}); err == nil || err.Error() != "a model call of turn 9 does not say when it was" {
		t.Error(err)
	}
}

// A call is recorded with the step that made it, or not at all.
func TestRecordInATransaction(t *testing.T) {
	db := database(t)
	end := errors.New("rolled back")
	for _, want := range []error{end, nil} {
		err := db.InTx(t.Context(), func(tx store.Tx) error {
			record(t, tx, call())
			return want
		})
		calls, readErr := OfTurn(t.Context(), db.Pool(), 7)
		if !errors.Is(err, want) || readErr != nil || (len(calls) == 1) != (want == nil) {
			t.Errorf("%v: %d calls, %v, %v", want, len(calls), err, readErr)
		}
	}
}

// What comes from a server may be anything.
func TestHostileTexts(t *testing.T) {
	db := database(t)
	record(t, db.Pool(), with(call(), func(c *Call) {
		c.Model, c.Profile, c.Why = "a\x00b\xff", "\xc3", strings.Repeat("ä", 5000)
		c.Cost = cost(math.NaN())
	}), with(call(), func(c *Call) { c.N, c.Cost = 2, cost(math.Inf(1)) }), with(call(), func(c *Call) { c.N, c.Cost = 3, cost(-1) }))
	got, err := OfTurn(t.Context(), db.Pool(), 7)
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	if got[0].Model != "ab" || got[0].Profile != "" || got[0].Why != strings.Repeat("ä", longest/2) {
		t.Errorf("%q %q, %d bytes", got[0].Model, got[0].Profile, len(got[0].Why))
	}
	for _, c := range got {
		if c.Cost != nil {
			t.Errorf("call %d costs %v", c.N, *c.Cost)
		}
	}
}

func TestTotals(t *testing.T) {
	db := database(t)
	n := 0
	add := func(change func(*Call)) {
		n++
		record(t, db.Pool(), with(call(), func(c *Call) { c.N = n; change(c) }))
	}
	total := func(since time.Time, chat attache.ChatID) Total {
		t.Helper()
		got, err := Totals(t.Context(), db.Pool(), since, chat)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	check := func(what string, got, want Total) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("nothing yet costs nothing", total(noon(), 0), Total{Cost: cost(0)})

	for range 3 { // 0.1 three times is 0.3, which floats do not say
		add(func(c *Call) { c.Cost = cost(0.1) })
	}
	add(func(c *Call) { c.Model, c.Cost = "m2", cost(0.25) })
	add(func(c *Call) { c.Model, c.Cost, c.Place.Chat = "m2", cost(1), -1002 })
	add(func(c *Call) { c.Model, c.At = "old", noon().Add(-time.Hour) })
	check("two models", total(noon(), -1001), Total{
		Events: 4, Cost: cost(0.55), Tokens: Tokens{400, 240, 20, 80, 32},
		Models: []ModelTotal{{"m1", 3, 300, 60, cost(0.3)}, {"m2", 1, 100, 20, cost(0.25)}},
	})
	check("every chat", total(noon(), 0), Total{
		Events: 5, Cost: cost(1.55), Tokens: Tokens{500, 300, 25, 100, 40},
		Models: []ModelTotal{{"m1", 3, 300, 60, cost(0.3)}, {"m2", 2, 200, 40, cost(1.25)}},
	})

	// Refused and never arrived: not billed, so the sum stays known.
	add(func(c *Call) { c.Model, c.Status, c.Tokens, c.Cost, c.Why = "m2", 429, nil, nil, "busy" })
	add(func(c *Call) { c.Model, c.Status, c.Tokens, c.Cost, c.Why = "m2", 0, nil, nil, "no route" })
	want := Total{
		Events: 6, Failed: 2, Cost: cost(0.55), Tokens: Tokens{400, 240, 20, 80, 32},
		Models: []ModelTotal{{"m1", 3, 300, 60, cost(0.3)}, {"m2", 3, 100, 20, cost(0.25)}},
	}
	check("failed tries", total(noon(), -1001), want)

	// No tokens and no price: what it took is unknown, and so is its model's sum.
	add(func(c *Call) { c.Tokens, c.Cost = nil, nil })
	want.Events, want.Silent, want.Cost, want.Models[0] = 7, 1, nil, ModelTotal{"m1", 4, 300, 60, nil}
	check("one unknown", total(noon(), -1001), want)
	check("since later", total(noon().Add(time.Second), -1001), Total{Cost: cost(0)})

	// A stream that broke was begun, and is billed by some.
	add(func(c *Call) { c.Model, c.Place.Chat, c.Tokens, c.Cost, c.Why = "m3", 5, nil, nil, "the stream broke" })
	check("a broken stream", total(noon(), 5), Total{Events: 1, Failed: 1, Models: []ModelTotal{{"m3", 1, 0, 0, nil}}})
}

// The sum is known exactly when every billed call's cost is, whatever the calls.
func TestTotalsNeverGuess(t *testing.T) {
	db := database(t)
	turn := int64(1000)
	rapid.Check(t, func(t *rapid.T) {
		turn++
		chat := attache.ChatID(-turn)
		var events int64
		known, cents := true, int64(0)
		for n := range rapid.IntRange(0, 6).Draw(t, "calls") {
			c := call()
			c.Turn, c.N, c.Place.Chat = turn, n, chat
			c.Model = rapid.SampledFrom([]string{"m1", "m2"}).Draw(t, "model")
			c.Status = rapid.SampledFrom([]int{0, 200, 204, 302, 429, 500}).Draw(t, "status")
			c.Cost = nil
			if rapid.Bool().Draw(t, "priced") {
				price := rapid.Int64Range(0, 1000).Draw(t, "cents")
				cents += price
				c.Cost = cost(float64(price) / 100)
			} else if c.Status >= 200 && c.Status < 300 {
				known = false
			}
			if err := Record(context.Background(), db.Pool(), c); err != nil {
				t.Fatal(err)
			}
			events++
		}
		got, err := Totals(context.Background(), db.Pool(), noon(), chat)
		if err != nil || got.Events != events || (got.Cost != nil) != known {
			t.Fatalf("%+v, %v; known %v", got, err, known)
		}
		if known && *got.Cost != float64(cents)/100 {
			t.Fatalf("%v, want %d cents", *got.Cost, cents)
		}
	})
}

// A group that becomes a supergroup keeps its history, for its own bot.
func TestMove(t *testing.T) {
	db := database(t)
	record(t, db.Pool(), call(), with(call(), func(c *Call) { c.N, c.Place.Bot = 2, "rex" }))
	if err := Move(t.Context(), db.Pool(), "nova", attache.Migration{From: -1001, To: -100999}); err != nil {
		t.Fatal(err)
	}
	for chat, want := range map[attache.ChatID]int64{-1001: 1, -100999: 1} {
		if got, err := Totals(t.Context(), db.Pool(), noon(), chat); err != nil || got.Events != want {
			t.Errorf("%v: %d, %v", chat, got.Events, err)
		}
	}
}

func TestForget(t *testing.T) {
	db := database(t)
	for n := range 5 {
		record(t, db.Pool(), with(call(), func(c *Call) { c.N, c.At = n, noon().Add(time.Duration(n)*time.Hour) }))
	}
	for _, want := range []int64{3, 0} {
		if n, err := Forget(t.Context(), db.Pool(), noon().Add(3*time.Hour)); n != want || err != nil {
			t.Errorf("%d forgotten, %v; want %d", n, err, want)
		}
	}
	if got, err := OfTurn(t.Context(), db.Pool(), 7); err != nil || len(got) != 2 || got[0].N != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// An error says what could not be done and keeps its cause.
func TestDatabaseAway(t *testing.T) {
	db := database(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, ofTurn := OfTurn(ctx, db.Pool(), 7)
	_, totals := Totals(ctx, db.Pool(), noon(), 0)
	_, forget := Forget(ctx, db.Pool(), noon())
	for _, err := range []error{Record(ctx, db.Pool(), call()), ofTurn, totals, forget, Move(ctx, db.Pool(), "nova", attache.Migration{From: 1, To: 2})} {
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "model call") {
			t.Error(err)
		}
	}
}
