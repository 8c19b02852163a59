package conversation

import (
	"testing"
	"time"

	"attache"
	"attache/internal/store"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

func at(chat attache.ChatID, turn int64) Opening {
	o := opening(turn)
	o.Place.Chat = chat
	return o
}

func migrate(t *testing.T, s *Store, from, to attache.ChatID) {
	t.Helper()
	inTx(t, s, func(tx store.Tx) error { return s.Migrate(t.Context(), tx, "nova", from, to) })
}

// A group that becomes a supergroup goes on talking: session, history, posts that
// wait, and the turn that runs. Other bots and other threads are not touched.
func TestMigrate(t *testing.T) {
	s := open(t)
	first := exchange(t, s, at(-5, 1), "one")
	running := begin(t, s, at(-5, 2))
	post(t, s, Aside{at(-5, 0).Place, "", "heartbeat:a", "posted"})
	vega := at(-5, 3)
	vega.Place.Bot = "vega"
	begin(t, s, vega)
	for range 2 { // Telegram tells it twice
		migrate(t, s, -5, -1005)
	}
	same(t, running, begin(t, s, at(-1005, 2)))
	if err := s.Answered(t.Context(), 2, "two", 0); err != nil {
		t.Fatal(err)
	}
	o := at(-1005, 4)
	o.Session = frozen(t)
	x := begin(t, s, o)
	if got, want := said(history(t, s, x)), "one, two, heartbeat:a posted"; x.Session.ID != first.Session.ID || got != want {
		t.Errorf("session %d after %d remembers %q, want %q", x.Session.ID, first.Session.ID, got, want)
	}
	if _, ok, err := s.Latest(t.Context(), at(-5, 0).Place, ""); ok || err != nil {
		t.Errorf("something stayed in the old chat: %v, %v", ok, err)
	}
	if got, ok, err := s.Latest(t.Context(), vega.Place, ""); !ok || err != nil || got.Turn != 3 {
		t.Errorf("the other bot's session moved: %+v, %v, %v", got, ok, err)
	}
}

// Both chats have a session: the one that was spoken in last goes on, and the turn
// that runs in the other ends where it began.
func TestMigrateWhereBothTalk(t *testing.T) {
	for _, newer := range []attache.ChatID{-5, -1005} {
		s := open(t)
		exchange(t, s, at(-5, 1), "old")
		exchange(t, s, at(-1005, 2), "new")
		running := map[attache.ChatID]Exchange{-5: begin(t, s, at(-5, 3)), -1005: begin(t, s, at(-1005, 4))}
		exec(t, s, `update attache.sessions set last = now() - case chat when $1 then interval '1 minute' else interval '2 minutes' end`, newer)
		migrate(t, s, -5, -1005)
		for chat, x := range running {
			same(t, x, begin(t, s, at(-1005, x.Turn)))
			want := map[attache.ChatID]string{-5: "old", -1005: "new"}[chat]
			if got := said(history(t, s, x)); got != want {
				t.Errorf("the turn that runs remembers %q, want %q", got, want)
			}
		}
		o := at(-1005, 5)
		o.Session = frozen(t)
		if x := begin(t, s, o); x.Session.ID != running[newer].Session.ID {
			t.Errorf("the session of %v does not go on", newer)
		}
		reset(t, s, o.Place)
		if x := begin(t, s, at(-1005, 6)); x.Session.Opened != "new" {
			t.Errorf("the session after /new began for %s", x.Session.Opened)
		}
	}
}

// A beginning that meets a migration in its transaction waits for it.
func TestBeginMeetsMigrate(t *testing.T) {
	s := open(t)
	old := exchange(t, s, at(-5, 1), "old")
	tx, err := s.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), tx, "nova", -5, -1005); err != nil {
		t.Fatal(err)
	}
	done := make(chan Exchange)
	go func() {
		x, err := s.Begin(t.Context(), at(-1005, 2))
		if err != nil {
			t.Error(err)
		}
		done <- x
	}()
	awaitLock(t, s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x := <-done; x.Session.ID != old.Session.ID || !x.Fresh {
		t.Errorf("the beginning went past the migration: %+v", x.Session)
	}
}

// A migration that meets a beginning which opens the new chat's first session waits
// for it, and then decides which of the two sessions goes on.
func TestMigrateMeetsOpening(t *testing.T) {
	s := open(t)
	exchange(t, s, at(-5, 1), "old")
	tx, err := s.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b pgx.Batch
	o := at(-1005, 2)
	o.queueSession(&b, []byte("new"))
	if err := tx.SendBatch(t.Context(), &b).Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		done <- s.db.InTx(t.Context(), func(tx store.Tx) error { return s.Migrate(t.Context(), tx, "nova", -5, -1005) })
	}()
	awaitLock(t, s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, `select count(*) from attache.sessions where chat = -1005 and (why = 'migrated') = (snapshot <> 'new')`); n != 2 {
		t.Error("the newer session is not the one that goes on")
	}
}

func TestLatest(t *testing.T) {
	s := open(t)
	if _, ok, err := s.Latest(t.Context(), topic(), ""); ok || err != nil {
		t.Errorf("an empty place has a latest turn: %v, %v", ok, err)
	}
	exchange(t, s, opening(1), "one")
	second := begin(t, s, opening(2))
	begin(t, s, at(-7, 3))
	check := func(want Exchange) {
		t.Helper()
		got, ok, err := s.Latest(t.Context(), topic(), "")
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		same(t, want, got)
	}
	check(second)
	reset(t, s, topic())
	check(second)
	third := begin(t, s, opening(9))
	check(third)
	if err := s.Drop(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	check(third)
}

// What is old goes, and what something younger stands on stays.
func TestForget(t *testing.T) {
	s := open(t)
	in := func(turn int64, chat attache.ChatID, epoch string) {
		o := at(chat, turn)
		o.Epoch = Epoch{ID: epoch, Text: "text of " + epoch}
		exchange(t, s, o, "answer")
	}
	in(1, -1, "gone")
	in(2, -1, "shared")
	in(3, -2, "shared")
	in(4, -3, "gone")
	reset(t, s, at(-3, 0).Place)
	post(t, s, Aside{at(-9, 0).Place, "", "heartbeat:a", "never heard"})
	old := `- interval '100 days'`
	for _, sql := range []string{
		`update attache.exchanges set at = at ` + old + ` where turn <> 3`, `update attache.epochs set at = at ` + old, `update attache.asides set at = at ` + old,
		`update attache.sessions set last = last ` + old + ` where chat <> -2`,
	} {
		exec(t, s, sql)
	}
	post(t, s, Aside{at(-2, 0).Place, "", "heartbeat:a", "today"})
	in(5, -1, "young")
	for range 2 {
		if err := s.Forget(t.Context(), time.Now().AddDate(0, 0, -90)); err != nil {
			t.Fatal(err)
		}
	}
	left := func(sql string) string {
		var text string
		if err := s.db.Pool().QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	got := []string{
		left(`select string_agg(turn::text, ' ' order by turn) from attache.exchanges`),
		left(`select string_agg(id, ' ' order by id) from attache.epochs`),
		left(`select string_agg(chat::text, ' ' order by chat) from attache.sessions`),
		left(`select string_agg(convert_from(text, 'UTF8'), ' ') from attache.asides`),
	}
	if diff := cmp.Diff([]string{"3 5", "shared young", "-2 -1", "today"}, got); diff != "" {
		t.Error(diff)
	}
	o := at(-2, 6)
	o.Epoch, o.Session = Epoch{ID: "shared", Text: "text of shared"}, frozen(t)
	if got := said(history(t, s, begin(t, s, o))); got != "answer, heartbeat:a today" {
		t.Errorf("what was left remembers %q", got)
	}
}

// A turn whose epoch is deleted at the moment it begins stores the epoch again.
func TestBeginMeetsForget(t *testing.T) {
	s := open(t)
	begin(t, s, opening(1))
	exec(t, s, `delete from attache.exchanges`)
	tx, err := s.db.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `delete from attache.epochs`); err != nil {
		t.Fatal(err)
	}
	done := make(chan Exchange)
	go func() {
		o := opening(2)
		o.Session = frozen(t)
		x, err := s.Begin(t.Context(), o)
		if err != nil {
			t.Error(err)
		}
		done <- x
	}()
	awaitLock(t, s)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, <-done, begin(t, s, opening(2)))
}
