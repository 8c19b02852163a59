package updates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newQueue(t interface{ Fatal(...any) }) *Queue {
	return NewQueue(Options{Retry: time.Millisecond, Now: time.Now, Changed: func() {}, Odd: func(what string) { t.Fatal(what) }})
}

// Whatever sizes, repeats and offsets a bot polls with, as long as it confirms only
// what it has, everything reaches it, in order, and only the unconfirmed again.
func TestNothingIsLostOrOvertaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		told, have, offset := 0, 0, int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			for range rapid.IntRange(0, 5).Draw(t, "told") {
				told++
				q.Tell("message", fmt.Appendf(nil, "%d", told))
			}
			raw, err := q.Poll(context.Background(), Wish{Offset: offset, Limit: rapid.IntRange(1, 7).Draw(t, "limit")})
			if err != nil {
				t.Fatal(err)
			}
			var got []struct {
				ID      int64 `json:"update_id"`
				Message int
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%v in %s", err, raw)
			}
			for i, u := range got {
				if want := int(max(offset, 100000001)-100000001) + i + 1; u.Message != want || u.ID != int64(100000000+want) {
					t.Fatalf("got %d as update %d, want %d", u.Message, u.ID, want)
				}
				have = max(have, u.Message)
			}
			if len(got) > 0 && rapid.Bool().Draw(t, "confirms") {
				offset = got[len(got)-1].ID + 1
			}
			if len(got) == 0 && have != told {
				t.Fatalf("nothing comes, yet only %d of %d came", have, told)
			}
		}
	})
}

func TestANewerPollGetsTheSignal(t *testing.T) {
	q := newQueue(t)
	for range 200 {
		first, second := make(chan error, 1), make(chan error, 1)
		poll := func(into chan error) {
			_, err := q.Poll(context.Background(), Wish{Timeout: 20 * time.Second, Offset: -1})
			into <- err
		}
		go poll(first)
		go poll(second)
		// One of both ends the other, in either order; the survivor must hear the update.
		var c Conflict
		select {
		case err := <-first:
			if !errors.As(err, &c) {
				t.Fatal(err)
			}
			q.Tell("message", []byte("1"))
			if err := <-second; err != nil {
				t.Fatal(err)
			}
		case err := <-second:
			if !errors.As(err, &c) {
				t.Fatal(err)
			}
			q.Tell("message", []byte("1"))
			if err := <-first; err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.Poll(context.Background(), Wish{Offset: 1 << 40}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPollEndsWithItsCallerAndWithTheQueue(t *testing.T) {
	q := newQueue(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := q.Poll(ctx, Wish{Timeout: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	q.Close()
	if _, err := q.Poll(context.Background(), Wish{Timeout: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzInject(f *testing.F) {
	for _, raw := range []string{`{}`, `{"a":1}`, ` { "update_id":5}`, `[]`, `{"update_id":"x"}`, `null`, `{`, "\x00", `{"a":{}}`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q := newQueue(t)
		q.Inject(raw)
		got, err := q.Poll(context.Background(), Wish{})
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(raw)) && !json.Valid(got) {
			t.Errorf("%q came as %q", raw, got)
		}
		if _, err := q.Poll(context.Background(), Wish{Offset: 1 << 62}); err != nil {
			t.Fatal(err)
		}
	})
}
