package origins

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	db := storetest.New(t)
	var s *Store
	for range 2 { // the second time does nothing
		var err error
		if s, err = Open(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func inTx(t *testing.T, s *Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s *Store, p Post) {
	t.Helper()
	inTx(t, s, func(tx store.Tx) error { return s.Put(t.Context(), tx, p) })
}

func exec(t *testing.T, s *Store, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// of gives what is stored of messages.
func of(t *testing.T, s *Store, bot attache.BotID, chat attache.ChatID, ids ...attache.MessageID) map[attache.MessageID]Record {
	t.Helper()
	got, err := s.Of(t.Context(), bot, chat, ids)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// same compares records but for their ages.
func same(t *testing.T, want, got map[attache.MessageID]Record) {
	t.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(Record{}, "Age"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// stored lists the numbers that a chat's records have.
func stored(t *testing.T, s *Store, chat attache.ChatID) []attache.MessageID {
	t.Helper()
	rows, err := s.db.Pool().Query(t.Context(), `select message from attache.message_origins where chat = $1 order by message`, chat)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []attache.MessageID
	for rows.Next() {
		var id attache.MessageID
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

func topic(chat attache.ChatID) attache.Place {
	return attache.Place{Bot: "nova", Chat: chat, Thread: 42}
}

func ticket() attache.Origin {
	return attache.Origin{Run: "hook:new-ticket", Feature: "support", Reach: attache.Reach{{Context: "ticket", Key: `T-"481"é`}, {Context: "kb"}}}
}

// A part that became several messages has a record for each, written once; a
// message of another bot, chat or number has none.
func TestPut(t *testing.T) {
	s := newStore(t)
	p := Post{Place: topic(-5), Messages: []attache.MessageID{811, 812, 812}, Origin: ticket()}
	put(t, s, p)
	exec(t, s, `update attache.message_origins set at = at - interval '1 hour'`)
	put(t, s, p)
	put(t, s, Post{Place: topic(-5), Origin: ticket()}) // no message, no record
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{900}})
	want := Record{Place: topic(-5), Origin: ticket()}
	got := of(t, s, "nova", -5, 811, 812, 813, 900)
	same(t, map[attache.MessageID]Record{811: want, 812: want, 900: {Place: topic(-5)}}, got)
	if age := got[812].Age; age < time.Hour || got[900].Age > age {
		t.Errorf("a record of an hour ago is %v old after the post was stored again, and the new one %v", age, got[900].Age)
	}
	same(t, nil, of(t, s, "vega", -5, 811))
	same(t, nil, of(t, s, "nova", -6, 811))
	same(t, nil, of(t, s, "nova", -5))
}

// An origin is stored with the result of its part or not at all.
func TestPutRollsBack(t *testing.T) {
	s := newStore(t)
	broken := errors.New("the result cannot be stored")
	err := s.db.InTx(t.Context(), func(tx store.Tx) error {
		return cmp.Or(s.Put(t.Context(), tx, Post{Place: topic(-5), Messages: []attache.MessageID{1}, Origin: ticket()}), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	same(t, nil, of(t, s, "nova", -5, 1))
}

// Another bot under an old name counts its private chats from the beginning: its
// posts are not taken for those of the bot before it.
func TestPutReplacesAnotherBots(t *testing.T) {
	s := newStore(t)
	put(t, s, Post{Place: topic(5), Messages: []attache.MessageID{1}, Origin: ticket(), Held: true})
	exec(t, s, `update attache.message_origins set at = at - interval '300 days'`)
	other := attache.Origin{Run: "heartbeat:daily", Feature: "coach"}
	put(t, s, Post{Place: topic(5), Messages: []attache.MessageID{1}, Origin: other})
	got := of(t, s, "nova", 5, 1)
	same(t, map[attache.MessageID]Record{1: {Place: topic(5), Origin: other}}, got)
	if got[1].Age > day {
		t.Errorf("the new post is %v old", got[1].Age)
	}
}

// A card's record is held until it is decided; a late repeat of the post does not
// hold it again.
func TestHold(t *testing.T) {
	s := newStore(t)
	p := Post{Place: topic(-5), Messages: []attache.MessageID{1, 2}, Origin: ticket(), Held: true}
	put(t, s, p)
	inTx(t, s, func(tx store.Tx) error { return s.Hold(t.Context(), tx, "nova", -5, []attache.MessageID{1, 9}, false) })
	put(t, s, p)
	got := of(t, s, "nova", -5, 1, 2, 9)
	if got[1].Held || !got[2].Held || len(got) != 2 {
		t.Errorf("held: %+v", got)
	}
	inTx(t, s, func(tx store.Tx) error { return s.Hold(t.Context(), tx, "nova", -5, []attache.MessageID{1}, true) })
	if got := of(t, s, "nova", -5, 1); !got[1].Held {
		t.Errorf("not held: %+v", got)
	}
}

// A group that becomes a supergroup counts anew: a reply to an old post finds it
// under the number that the gateway gives it, a new message of the same number finds
// nothing, or its own. Telegram tells of the move twice.
func TestMove(t *testing.T) {
	s := newStore(t)
	const old = attache.MessageID(812) - 1<<40
	p := Post{Place: topic(-5), Messages: []attache.MessageID{812}, Origin: ticket()}
	move := func() {
		t.Helper()
		inTx(t, s, func(tx store.Tx) error {
			return s.Move(t.Context(), tx, "nova", attache.Migration{From: -5, To: -1005})
		})
	}
	put(t, s, p)
	vega := p
	vega.Place.Bot = "vega"
	put(t, s, vega)
	exec(t, s, `update attache.message_origins set at = at - interval '400 days'`)
	move()
	want := map[attache.MessageID]Record{old: {Place: topic(-1005), Origin: ticket()}}
	got := of(t, s, "nova", -1005, 812, old)
	same(t, want, got)
	if got[old].Age < 400*day {
		t.Errorf("the record is %v old after the move", got[old].Age)
	}
	fresh := attache.Origin{Run: "heartbeat:daily", Feature: "coach"}
	put(t, s, Post{Place: topic(-1005), Messages: []attache.MessageID{812}, Origin: fresh})
	put(t, s, p) // a result that is stored after the move, and one that is stored again
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{813}, Origin: ticket()})
	for range 2 {
		move()
	}
	want[812] = Record{Place: topic(-1005), Origin: fresh}
	want[old+1] = want[old]
	got = of(t, s, "nova", -1005, 812, 813, old, old+1)
	same(t, want, got)
	if reach, why := FromReply(got, 813, 0); reach != nil || why == "" {
		t.Errorf("a new message meets an old record: %v, %q", reach, why)
	}
	same(t, nil, of(t, s, "nova", -5, 812, 813))
	same(t, map[attache.MessageID]Record{812: {Place: vega.Place, Origin: ticket()}}, of(t, s, "vega", -5, 812))
}

// What has expired for a reply is what Forget deletes, by the database's clock and by
// nothing else: waiting cards and an owner's lines stay, and 0 days keeps all.
func TestForget(t *testing.T) {
	s := newStore(t)
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{1, 2, 3, 4}, Origin: ticket()})
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{5}, Origin: ticket(), Held: true})
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{6}, Origin: attache.Origin{Lines: true}})
	// A day has 24 hours here, also where clocks are changed in summer.
	exec(t, s, `update attache.message_origins set at = now() - interval '24 hours' * case
		when message in (1, 5, 6) then 1000 when message = 2 then 365 else 364 end - interval '1 second'`)
	got := of(t, s, "nova", -5, 1, 2, 3, 4, 5, 6)
	live := func(days int) (ids []attache.MessageID) {
		for id := range got {
			if _, why := FromReply(got, id, days); why == "" {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids
	}
	for _, days := range []int{0, -1, 1 << 40, 365} {
		want := live(days)
		for range 2 {
			if err := s.Forget(t.Context(), days); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(want, stored(t, s, -5)); diff != "" {
			t.Errorf("after %d days: %s", days, diff)
		}
	}
	if diff := gocmp.Diff([]attache.MessageID{3, 4, 5, 6}, stored(t, s, -5)); diff != "" {
		t.Error(diff)
	}
}

// More than one bite goes too, and what stays does not stand in its way.
func TestForgetInBites(t *testing.T) {
	s := newStore(t)
	for _, lines := range []bool{true, false} {
		exec(t, s, `insert into attache.message_origins (bot, chat, message, thread, reach, lines, at)
			select 'nova', case when $2 then 5 else -5 end, n, 0, '[]', $2, now() - interval '1000 days' from generate_series(1, $1::int) n`, bite+1, lines)
	}
	if err := s.Forget(t.Context(), 365); err != nil {
		t.Fatal(err)
	}
	if gone, kept := stored(t, s, -5), stored(t, s, 5); len(gone) > 0 || len(kept) != bite+1 {
		t.Errorf("%d are left, %d are kept", len(gone), len(kept))
	}
}

// An old record that a card takes hold of at the moment when it would be deleted
// stays.
func TestForgetMeetsHold(t *testing.T) {
	s := newStore(t)
	put(t, s, Post{Place: topic(-5), Messages: []attache.MessageID{1, 2}, Origin: ticket()})
	exec(t, s, `update attache.message_origins set at = at - interval '1000 days'`)
	done := make(chan error, 1)
	inTx(t, s, func(tx store.Tx) error {
		if err := s.Hold(t.Context(), tx, "nova", -5, []attache.MessageID{1}, true); err != nil {
			return err
		}
		go func() { done <- s.Forget(t.Context(), 365) }()
		storetest.Until(t, "the deletion waits for the card", func() (waits bool) {
			err := s.db.Pool().QueryRow(t.Context(), `select exists (select from pg_locks where not granted)`).Scan(&waits)
			return err == nil && waits
		})
		return nil
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := stored(t, s, -5); !slices.Equal(got, []attache.MessageID{1}) {
		t.Errorf("%v are left, want the held one", got)
	}
}
