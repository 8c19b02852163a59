package conversation

import (
	"testing"

	"attache/internal/store"
)

// TestARunHasASessionOfItsOwn: it neither hears nor ends what the place is in the
// middle of, and what it said is heard only as an aside (decisions § 3.11).
func TestARunHasASessionOfItsOwn(t *testing.T) {
	s := open(t)
	first := begin(t, s, opening(1))
	if err := s.Answered(t.Context(), 1, "hello", 0); err != nil {
		t.Fatal(err)
	}
	put := func(tx store.Tx) error {
		return s.Post(t.Context(), tx, Aside{Place: topic(), Mark: "heartbeat:daily", Text: "before"})
	}
	if err := s.db.InTx(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	run := opening(2)
	run.Alone, run.Role = true, "reporter"
	x := begin(t, s, run)
	if x.Session.ID == first.Session.ID || x.Session.Opened != alone || !x.Fresh {
		t.Errorf("the run's session: %+v, the place's is %d", x.Session, first.Session.ID)
	}
	again := opening(2)
	again.Alone, again.Role, again.Session = true, "reporter", frozen(t)
	same(t, x, begin(t, s, again))
	if past, err := s.History(t.Context(), x.Session.ID, 2); err != nil || len(past) != 0 {
		t.Errorf("the run hears %v %v", past, err)
	}
	if latest, _, err := s.Latest(t.Context(), topic(), ""); err != nil || latest.Turn != 1 {
		t.Errorf("the latest turn is %d %v, want the chat's", latest.Turn, err)
	}
	o := opening(3)
	o.Session = frozen(t)
	next := begin(t, s, o)
	if next.Session.ID != first.Session.ID || next.Session.Opened != "" {
		t.Errorf("the place goes on in %+v, want session %d", next.Session, first.Session.ID)
	}
	past, err := s.History(t.Context(), next.Session.ID, 3)
	if err != nil || len(past) != 2 || past[1].Mark != "heartbeat:daily" {
		t.Errorf("the next turn hears %+v %v", past, err)
	}
}

// TestARunDoesNotTellWhyASessionOpened: the reason is that of the place's own.
func TestARunDoesNotTellWhyASessionOpened(t *testing.T) {
	s := open(t)
	run := opening(1)
	run.Alone = true
	begin(t, s, run)
	if x := begin(t, s, opening(2)); x.Session.Opened != "first" {
		t.Errorf("opened because of %q, want first", x.Session.Opened)
	}
}
