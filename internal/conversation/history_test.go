package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/store"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func history(t testing.TB, s *Store, x Exchange) []Past {
	t.Helper()
	past, err := s.History(t.Context(), x.Session.ID, x.Turn)
	if err != nil {
		t.Fatal(err)
	}
	return past
}

// exchange begins a turn and answers it.
func exchange(t testing.TB, s *Store, o Opening, answer string) Exchange {
	t.Helper()
	x := begin(t, s, o)
	if err := s.Answered(t.Context(), o.Turn, answer, 0); err != nil {
		t.Fatal(err)
	}
	return x
}

func reset(t testing.TB, s *Store, p attache.Place) {
	t.Helper()
	inTx(t, s, func(tx store.Tx) error { return s.Reset(t.Context(), tx, p, "new") })
}

func post(t testing.TB, s *Store, a Aside) {
	t.Helper()
	inTx(t, s, func(tx store.Tx) error { return s.Post(t.Context(), tx, a) })
}

// said prints a history, one entry a line, for tests that are about its order.
func said(past []Past) string {
	var lines []string
	for _, p := range past {
		lines = append(lines, strings.TrimSpace(p.Mark+" "+p.Answer))
	}
	return strings.Join(lines, ", ")
}

// The history is what was answered, in the turns' order, each with its bytes of
// then; what was dropped, stays unanswered or was answered by nothing is not in it.
//
// row J7
func TestHistory(t *testing.T) {
	s := open(t)
	first := exchange(t, s, opening(1), "one")
	begin(t, s, opening(2)) // still runs, or was lost
	exchange(t, s, opening(3), "three")
	exchange(t, s, opening(4), "")
	exchange(t, s, opening(5), "stopped while it was posted")
	begin(t, s, opening(6))
	for _, turn := range []int64{5, 6, 99} {
		if err := s.Drop(t.Context(), turn); err != nil {
			t.Error(err)
		}
	}
	if err := s.Answered(t.Context(), 6, "too late", 0); err != nil {
		t.Error(err)
	}
	seventh := begin(t, s, opening(7))
	if err := s.Answered(t.Context(), 7, "seven", 70); err != nil {
		t.Error(err)
	}
	ninth := begin(t, s, opening(9))
	past := history(t, s, ninth)
	if got := said(past); got != "one, three, seven" {
		t.Errorf("the history is %s", got)
	}
	if diff := cmp.Diff(Past{Turn: 1, Snapshot: first.Snapshot, Input: first.Input, Answer: "one"}, past[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Past{Turn: 7, Snapshot: seventh.Snapshot, Input: seventh.Input, Answer: "seven", Tokens: 70}, past[2]); diff != "" {
		t.Error(diff)
	}
	if got := said(history(t, s, first)); got != "" {
		t.Errorf("the first turn remembers %s", got)
	}
	if got := said(history(t, s, seventh)); got != "one, three" {
		t.Errorf("a retry of the seventh turn remembers %s", got)
	}
}

func TestAnswerOfNoTurn(t *testing.T) {
	s := open(t)
	err := s.Answered(t.Context(), 5, "hello", 0)
	if want := "the answer of turn 5 cannot be kept: it has no exchange; call Begin first"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A repeated answer replaces the earlier one: after a crash that one was not said.
func TestAnsweredTwice(t *testing.T) {
	s := open(t)
	exchange(t, s, opening(1), "lost with its process")
	exchange(t, s, opening(1), "posted")
	if got := said(history(t, s, begin(t, s, opening(2)))); got != "posted" {
		t.Errorf("the history is %s", got)
	}
}

// /new while a turn runs: that turn keeps its session and its history to the end,
// and no later turn remembers it.
func TestResetDuringTurn(t *testing.T) {
	s := open(t)
	exchange(t, s, opening(1), "one")
	running := begin(t, s, opening(2))
	reset(t, s, topic())
	same(t, running, begin(t, s, opening(2)))
	if got := said(history(t, s, running)); got != "one" {
		t.Errorf("the running turn remembers %s", got)
	}
	third := begin(t, s, opening(3))
	if err := s.Answered(t.Context(), 2, "two", 0); err != nil {
		t.Fatal(err)
	}
	if third.Session.ID == running.Session.ID || third.Session.Opened != "new" {
		t.Errorf("after /new the session is %+v", third.Session)
	}
	if got := said(history(t, s, third)); got != "" {
		t.Errorf("after /new the place remembers %s", got)
	}
	exchange(t, s, opening(3), "three")
	if got := said(history(t, s, begin(t, s, opening(4)))); got != "three" {
		t.Errorf("the new session remembers %s", got)
	}
}

// A /new in a place without a session, or one that is rolled back, changes nothing.
func TestResetThatDoesNothing(t *testing.T) {
	s := open(t)
	reset(t, s, topic())
	if first := begin(t, s, opening(1)); first.Session.Opened != "first" {
		t.Errorf("the first session began for %s", first.Session.Opened)
	}
	tx, err := s.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(t.Context(), tx, topic(), "new"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := topic()
	other.Thread++
	reset(t, s, other)
	if second := begin(t, s, opening(2)); second.Session.Opened != "" {
		t.Errorf("a new session began for %s", second.Session.Opened)
	}
}

// A beginning that meets a /new in its transaction waits for it and then begins
// anew.
func TestBeginMeetsReset(t *testing.T) {
	s := open(t)
	first := begin(t, s, opening(1))
	tx, err := s.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(t.Context(), tx, topic(), "new"); err != nil {
		t.Fatal(err)
	}
	done := make(chan Exchange)
	go func() {
		x, err := s.Begin(t.Context(), opening(2))
		if err != nil {
			t.Error(err)
		}
		done <- x
	}()
	awaitLock(t, s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := <-done; x.Session.ID == first.Session.ID || x.Session.Opened != "new" {
		t.Errorf("the session is %+v", x.Session)
	}
}

// awaitLock waits until somebody waits for a lock in the test's database.
func awaitLock(t *testing.T, s *Store) {
	t.Helper()
	waiting := 0
	for deadline := time.Now().Add(20 * time.Second); waiting == 0; {
		err := s.db.Pool().QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil || time.Now().After(deadline) {
			t.Errorf("nobody waits for a lock: %v", err)
			return
		}
	}
}

// What a run posts stands in the history from the next turn on, before that turn,
// also when the session before it was silent for too long. The turn that runs
// meanwhile does not see it, in no attempt.
func TestAsides(t *testing.T) {
	s := open(t)
	digest := Aside{Place: topic(), Mark: "heartbeat:digest", Text: "good morning\x00"}
	exchange(t, s, opening(1), "one")
	running := begin(t, s, opening(2))
	post(t, s, digest)
	if got := said(history(t, s, running)); got != "one" {
		t.Errorf("the running turn remembers %q", got)
	}
	exchange(t, s, opening(2), "two")
	third := exchange(t, s, opening(3), "three")
	want := Past{Turn: 3, Snapshot: []byte{}, Input: []byte{}, Answer: digest.Text, Mark: digest.Mark}
	past := history(t, s, third)
	if diff := cmp.Diff(want, past[len(past)-1]); diff != "" {
		t.Error(diff)
	}
	post(t, s, Aside{Place: topic(), Mark: "hook:paid", Text: "paid"})
	exec(t, s, `update attache.sessions set last = now() - interval '2 days'`)
	fourth := exchange(t, s, opening(4), "four")
	if got := said(history(t, s, fourth)); got != "hook:paid paid" || fourth.Session.Opened != "idle" {
		t.Errorf("the session after a silence (%s) remembers %q", fourth.Session.Opened, got)
	}
	if got, want := said(history(t, s, begin(t, s, opening(5)))), "hook:paid paid, four"; got != want {
		t.Errorf("the history is %q, want %q", got, want)
	}
	if got, want := said(history(t, s, third)), "one, two, heartbeat:digest good morning\x00"; got != want {
		t.Errorf("a retry of the third turn remembers %q, want %q", got, want)
	}
}

// An aside from under another key is never shown, also not when the key comes
// back; nor is one from before a /new; nor one of another place.
func TestAsidesThatAreNotHeard(t *testing.T) {
	s := open(t)
	under := func(turn int64, key string) Opening {
		o := opening(turn)
		o.Key = key
		return o
	}
	exchange(t, s, under(1, "client=acme"), "one")
	post(t, s, Aside{topic(), "client=acme", "heartbeat:a", "for acme"})
	other := topic()
	other.Chat--
	post(t, s, Aside{other, "client=globex", "heartbeat:a", "elsewhere"})
	for i, key := range []string{"client=globex", "client=acme"} {
		if got := said(history(t, s, begin(t, s, under(int64(2+i), key)))); got != "" {
			t.Errorf("under %s the place remembers %q", key, got)
		}
	}
	post(t, s, Aside{topic(), "client=acme", "heartbeat:a", "before new"})
	reset(t, s, topic())
	if got := said(history(t, s, begin(t, s, under(4, "client=acme")))); got != "" {
		t.Errorf("after /new the place remembers %q", got)
	}
	if err := s.Post(t.Context(), nil, Aside{Place: topic(), Text: "by nobody"}); err == nil {
		t.Error("a post without a mark is kept")
	}
}

// Whatever happens in a place, in whatever order: each attempt at a turn sees the
// same history, and a turn of the same session sees that history again, as long as
// nothing of it is dropped, with the earlier turn behind it.
func TestHistoryOnlyGrows(t *testing.T) {
	s := open(t)
	chat, turn := attache.ChatID(0), int64(0)
	rapid.Check(t, func(r *rapid.T) {
		chat--
		p := attache.Place{Bot: "nova", Chat: chat}
		var last Exchange
		var seen []Past
		answered := false
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"turn", "turn", "turn", "retry", "answer", "answer", "drop", "post", "new", "silence"}).Draw(r, "step") {
			case "turn":
				turn++
				o := opening(turn)
				o.Place, o.Key = p, rapid.SampledFrom([]string{"", "", "", "k=1"}).Draw(r, "key")
				x := begin(t, s, o)
				past := history(t, s, x)
				want := append([]Past{}, seen...)
				if answered {
					want = append(want, Past{Turn: last.Turn, Snapshot: last.Snapshot, Input: last.Input, Answer: fmt.Sprint("answer ", last.Turn)})
				}
				if x.Session.ID != last.Session.ID {
					want = nil
				}
				if len(past) < len(want) || cmp.Diff(want, past[:len(want)]) != "" && len(want) > 0 {
					r.Fatalf("turn %d remembers %s, and the one before it %s", turn, said(past), said(want))
				}
				for _, p := range past[len(want):] {
					if p.Mark == "" || p.Turn != turn {
						r.Fatalf("turn %d remembers %+v out of its order", turn, p)
					}
				}
				last, seen, answered = x, past, false
			case "retry":
				if last.Turn != 0 {
					o := opening(last.Turn)
					o.Place = p
					x := begin(t, s, o)
					same(t, last, x)
					if diff := cmp.Diff(seen, history(t, s, x)); diff != "" {
						r.Fatalf("a retry remembers other things:\n%s", diff)
					}
				}
			case "answer":
				if last.Turn != 0 {
					if err := s.Answered(t.Context(), last.Turn, fmt.Sprint("answer ", last.Turn), 0); err != nil {
						r.Fatal(err)
					}
					answered = count(t, s, `select count(*) from attache.exchanges where turn = $1 and not dropped`, last.Turn) == 1
				}
			case "drop":
				if err := s.Drop(t.Context(), last.Turn); err != nil {
					r.Fatal(err)
				}
				answered = false
			case "post":
				post(t, s, Aside{p, rapid.SampledFrom([]string{"", "k=1"}).Draw(r, "key"), "hook:h", fmt.Sprint("post ", i)})
			case "new":
				reset(t, s, p)
			case "silence":
				exec(t, s, `update attache.sessions set last = last - interval '1 day' where chat = $1`, p.Chat)
			}
		}
	})
}

func TestTrimCutsTheBeginningForGood(t *testing.T) {
	s := open(t)
	var session int64
	for turn := int64(1); turn <= 4; turn++ {
		x := begin(t, s, opening(turn))
		session = x.Session.ID
		if err := s.Answered(t.Context(), turn, fmt.Sprint("answer ", turn), 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, since := range []int64{3, 2} { // an older cut, told late, brings nothing back
		if err := s.Trim(t.Context(), session, since); err != nil {
			t.Fatal(err)
		}
		past, err := s.History(t.Context(), session, 5)
		if err != nil || len(past) != 2 || past[0].Turn != 3 {
			t.Fatalf("%+v, %v", past, err)
		}
	}
}
