package conversation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"

	"github.com/google/go-cmp/cmp"
)

// open gives a store on a database of the test's own.
func open(t testing.TB) *Store {
	t.Helper()
	return openOn(t, storetest.New(t))
}

func openOn(t testing.TB, db *store.DB) *Store {
	t.Helper()
	var s *Store
	for range 2 { // the second time does nothing
		var err error
		if s, err = Open(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func topic() attache.Place { return attache.Place{Bot: "nova", Chat: -1001, Thread: 42} }

// opening is what a turn would begin with now; each call has another clock.
func opening(turn int64) Opening {
	clock := rand.Int64()
	return Opening{
		Turn: turn, Place: topic(), Role: "desk", Engine: "api", Idle: 12 * time.Hour,
		Epoch:    Epoch{ID: "e1", Text: "You are the desk.", Tools: []byte(`[{"name":"a"}]`)},
		Session:  func(context.Context) ([]byte, error) { return fmt.Appendf(nil, "<session %d/>", clock), nil },
		Snapshot: fmt.Appendf(nil, "<turn %d at %d/>", turn, clock),
		Input:    fmt.Appendf(nil, "input %d", turn),
		Tail:     fmt.Appendf(nil, "tail %d of %d", turn, clock),
	}
}

// frozen is the Session of an opening that must not be called.
func frozen(t testing.TB) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		t.Error("a session's snapshot was made although the session goes on")
		return nil, errors.New("not now")
	}
}

func begin(t testing.TB, s *Store, o Opening) Exchange {
	t.Helper()
	x, err := s.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// stored is an exchange as any later attempt must get it.
func stored(x Exchange) Exchange {
	x.Fresh, x.At = false, x.At.UTC()
	return x
}

func same(t testing.TB, want, got Exchange) {
	t.Helper()
	if diff := cmp.Diff(stored(want), stored(got)); diff != "" {
		t.Errorf("the stored bytes are not what comes back (-want +got):\n%s", diff)
	}
}

func exec(t testing.TB, s *Store, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Pool().Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, s *Store, sql string, args ...any) (n int) {
	t.Helper()
	if err := s.db.Pool().QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// inTx runs fn in a transaction that commits.
func inTx(t testing.TB, s *Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// A first turn opens a session and the next one goes on with it, each in one
// transaction.
func TestBeginOpensAndGoesOn(t *testing.T) {
	s := open(t)
	o := opening(1)
	first := begin(t, s, o)
	session, _ := o.Session(t.Context())
	want := Exchange{Turn: 1, Session: Session{first.Session.ID, session, "first"}, Epoch: o.Epoch,
		Snapshot: o.Snapshot, Input: o.Input, Tail: o.Tail, At: first.At, Fresh: true}
	if diff := cmp.Diff(want, first); diff != "" || first.At.IsZero() || first.Session.ID == 0 {
		t.Errorf("the first turn (-want +got):\n%s", diff)
	}
	oneTransaction(t, s, 1, true)

	o = opening(2)
	o.Session = frozen(t)
	second := begin(t, s, o)
	want = Exchange{Turn: 2, Session: Session{first.Session.ID, session, ""}, Epoch: o.Epoch,
		Snapshot: o.Snapshot, Input: o.Input, Tail: o.Tail, At: second.At, Fresh: true}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("the second turn (-want +got):\n%s", diff)
	}
	oneTransaction(t, s, 2, false)
}

// oneTransaction checks by the rows' own transaction numbers that everything a
// beginning wrote was written by one.
func oneTransaction(t *testing.T, s *Store, turn int64, epoch bool) {
	t.Helper()
	n := count(t, s, `select count(*) from attache.exchanges e join attache.sessions s on s.id = e.session and s.xmin = e.xmin
		join attache.epochs p on p.id = e.epoch and (p.xmin = e.xmin) = $2 where e.turn = $1`, turn, epoch)
	if n != 1 {
		t.Errorf("turn %d was not written in one transaction", turn)
	}
}

// Whatever a retry brings along, it gets what was stored, and changes nothing:
// another clock, other input, another epoch, another role, a session that was
// silent for too long meanwhile, or one that /new has ended.
//
// row J7
func TestRetryGetsWhatWasStored(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Store, *Opening){
		"same":  func(*testing.T, *Store, *Opening) {},
		"epoch": func(_ *testing.T, _ *Store, o *Opening) { o.Epoch = Epoch{"e2", "Edited.", []byte("[]")} },
		"role":  func(_ *testing.T, _ *Store, o *Opening) { o.Role = "front" },
		"key":   func(_ *testing.T, _ *Store, o *Opening) { o.Key = "client=globex" },
		"idle": func(t *testing.T, s *Store, _ *Opening) {
			exec(t, s, `update attache.sessions set last = last - interval '2 days'`)
		},
		"new": func(t *testing.T, s *Store, _ *Opening) {
			inTx(t, s, func(tx store.Tx) error { return s.Reset(t.Context(), tx, topic(), "new") })
		},
		"moved": func(t *testing.T, s *Store, o *Opening) {
			inTx(t, s, func(tx store.Tx) error { return s.Migrate(t.Context(), tx, "nova", -1001, -1002) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			begin(t, s, opening(1))
			want := begin(t, s, opening(2))
			o := opening(2)
			o.Session, o.Input = frozen(t), []byte("edited meanwhile")
			change(t, s, &o)
			before := rows(t, s)
			got := begin(t, s, o)
			if got.Fresh {
				t.Error("the retry says that it wrote the exchange")
			}
			same(t, want, got)
			if diff := cmp.Diff(before, rows(t, s)); diff != "" {
				t.Errorf("a retry changed rows:\n%s", diff)
			}
		})
	}
}

// rows prints all that is stored.
func rows(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for _, sql := range []string{`select x::text from attache.epochs x order by 1`, `select x::text from attache.sessions x order by 1`,
		`select x::text from attache.exchanges x order by 1`, `select x::text from attache.asides x order by 1`} {
		r, err := s.db.Pool().Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			var line string
			if err := r.Scan(&line); err != nil {
				t.Fatal(err)
			}
			all = append(all, line)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	return all
}

// Callers that begin one turn at the same moment, each with bytes of its own and
// half of them under another role: one wins and all use what it wrote.
func TestManyBeginOneTurn(t *testing.T) {
	s := open(t)
	for turn := int64(1); turn <= 20; turn++ {
		var got [8]Exchange
		var errs [8]error
		var begun sync.WaitGroup
		start := make(chan struct{})
		for i := range got {
			begun.Go(func() {
				o := opening(turn)
				if i%2 == 1 && turn%3 == 0 {
					o.Role = "front"
				}
				<-start
				got[i], errs[i] = s.Begin(t.Context(), o)
			})
		}
		close(start)
		begun.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		fresh := 0
		for _, x := range got {
			same(t, got[0], x)
			if x.Fresh {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("turn %d: %d callers say that they wrote it", turn, fresh)
		}
		same(t, got[0], begin(t, s, opening(turn)))
	}
	if n := count(t, s, `select count(*) from attache.sessions s where not exists (select from attache.exchanges where session = s.id and turn = s.first)`); n != 0 {
		t.Errorf("%d sessions were opened by nobody", n)
	}
}

// Different turns of one place under different roles, all at once: each gets its
// role's session, and one session is open in the end.
func TestManyTurnsAtOnce(t *testing.T) {
	s := open(t)
	var begun sync.WaitGroup
	for turn := int64(1); turn <= 12; turn++ {
		begun.Go(func() {
			o := opening(turn)
			o.Role = attache.RoleID(fmt.Sprint("role", turn%3))
			if _, err := s.Begin(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	if n := count(t, s, `select count(*) from attache.exchanges e join attache.sessions s on s.id = e.session and s.role = 'role' || e.turn % 3`); n != 12 {
		t.Errorf("%d of 12 turns are in a session of their role", n)
	}
	if n := count(t, s, `select count(*) from attache.sessions where ended is null`); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
}

// The server dies between a turn's beginning and its answer, by kill -9 with the
// disk as in life. The next process goes on with the same bytes.
//
// row J7
func TestKilledBetweenBeginAndAnswer(t *testing.T) {
	d := storetest.NewDurable(t)
	db := d.Open(nil)
	s := openOn(t, db)
	begin(t, s, opening(1))
	if err := s.Answered(t.Context(), 1, "first answer", 0); err != nil {
		t.Fatal(err)
	}
	want := begin(t, s, opening(2))
	d.Kill()
	done := make(chan Exchange)
	go func() { // while the database is away
		o := opening(2)
		o.Session = frozen(t)
		x, err := openOnly(d).Begin(t.Context(), o)
		if err != nil {
			t.Error(err)
		}
		done <- x
	}()
	d.Start()
	got := <-done
	same(t, want, got)
	past, err := s.History(t.Context(), got.Session.ID, 2)
	if err != nil || len(past) != 1 || past[0].Answer != "first answer" {
		t.Errorf("the history after the crash: %+v, %v", past, err)
	}
}

// openOnly gives a store as another process has it, without a look at the tables.
func openOnly(d *storetest.Durable) *Store { return &Store{d.Open(nil)} }

// A session's snapshot stays as it was made, whatever the brain and the memory say
// later; a role under another name is another role, and old turns keep the old
// bytes.
//
// row J5
func TestSessionIsFrozen(t *testing.T) {
	s := open(t)
	o := opening(1)
	o.Session = func(context.Context) ([]byte, error) { return []byte(`<agent slug="desk" name="Desk"/>`), nil }
	first := begin(t, s, o)

	o = opening(2) // the agent's name was edited and a memory saved: nobody is asked
	o.Session = frozen(t)
	second := begin(t, s, o)
	if string(second.Session.Snapshot) != `<agent slug="desk" name="Desk"/>` {
		t.Errorf("the session's snapshot became %s", second.Session.Snapshot)
	}

	o = opening(3) // desk.agent.md is front.agent.md now
	o.Role, o.Session = "front", func(context.Context) ([]byte, error) { return []byte(`<agent slug="front" name="Front"/>`), nil }
	third := begin(t, s, o)
	if third.Session.ID == first.Session.ID || third.Session.Opened != "role" || string(third.Session.Snapshot) != `<agent slug="front" name="Front"/>` {
		t.Errorf("the renamed role got the session %+v", third.Session)
	}
	for _, old := range []Exchange{first, second, third} {
		o.Turn, o.Session = old.Turn, frozen(t)
		same(t, old, begin(t, s, o))
	}
}

// What ends a session, and the reason that the next one begins with. The age of
// the session is the database's.
func TestWhatEndsASession(t *testing.T) {
	for _, c := range []struct {
		name   string
		age    string // how long the place has been silent
		change func(*Opening)
		opened string // "" goes on
	}{
		{"nothing", "0", func(*Opening) {}, ""},
		{"almost idle", "11 hours 59 minutes", func(*Opening) {}, ""},
		{"idle", "12 hours 1 minute", func(*Opening) {}, "idle"},
		{"never idle", "10 years", func(o *Opening) { o.Idle = 0 }, ""},
		{"role", "0", func(o *Opening) { o.Role = "front" }, "role"},
		{"engine", "0", func(o *Opening) { o.Engine = "cli" }, "engine"},
		{"key", "0", func(o *Opening) { o.Key = "client=globex" }, "key"},
		{"key gone", "0", func(o *Opening) { o.Key = "" }, "key"},
		{"key before all else", "3 days", func(o *Opening) { o.Key, o.Role = "", "front" }, "key"},
		{"epoch", "0", func(o *Opening) { o.Epoch = Epoch{ID: "e2", Text: "Edited.", Tools: []byte("[]")} }, ""},
		{"other clock", "-1 hour", func(*Opening) {}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			o := opening(1)
			o.Key = "client=acme"
			first := begin(t, s, o)
			exec(t, s, `update attache.sessions set last = now() - $1::interval`, c.age)
			o = opening(2)
			o.Key = "client=acme"
			c.change(&o)
			second := begin(t, s, o)
			if second.Session.Opened != c.opened || (second.Session.ID == first.Session.ID) != (c.opened == "") {
				t.Errorf("the session is %+v, the one before was %d", second.Session, first.Session.ID)
			}
			if diff := cmp.Diff(o.Epoch, second.Epoch); diff != "" {
				t.Error(diff)
			}
			why := map[bool]string{false: "", true: c.opened}[c.opened != ""]
			if n := count(t, s, `select count(*) from attache.sessions where id = $1 and why = $2 and (ended is not null) = (why <> '')`, first.Session.ID, why); n != 1 {
				t.Error("the first session does not say why it ended")
			}
		})
	}
}

// An answer counts as sign of life: a turn that took long does not make its
// session idle.
func TestAnswerKeepsSessionAwake(t *testing.T) {
	s := open(t)
	first := begin(t, s, opening(1))
	exec(t, s, `update attache.sessions set last = now() - interval '3 days'`)
	if err := s.Answered(t.Context(), 1, "at last", 0); err != nil {
		t.Fatal(err)
	}
	if second := begin(t, s, opening(2)); second.Session.ID != first.Session.ID {
		t.Errorf("a new session began: %s", second.Session.Opened)
	}
}

// Places that differ in anything have nothing in common, General and a topic too.
func TestPlacesAreApart(t *testing.T) {
	s := open(t)
	places := []attache.Place{{Bot: "nova", Chat: -1, Thread: 0}, {Bot: "nova", Chat: -1, Thread: 7}, {Bot: "nova", Chat: 1, Thread: 0}, {Bot: "vega", Chat: -1, Thread: 0}}
	sessions := map[int64]bool{}
	for i, p := range places {
		o := opening(int64(i + 1))
		o.Place = p
		x := begin(t, s, o)
		sessions[x.Session.ID] = true
		if err := s.Answered(t.Context(), o.Turn, p.String(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(sessions) != len(places) {
		t.Fatalf("%d places share %d sessions", len(places), len(sessions))
	}
	for i, p := range places {
		o := opening(int64(i + 101))
		o.Place, o.Session = p, frozen(t)
		past := history(t, s, begin(t, s, o))
		if len(past) != 1 || past[0].Answer != p.String() {
			t.Errorf("%v remembers %+v", p, past)
		}
	}
}

// Every byte comes back as it was: NUL, broken UTF-8, none at all.
func TestAnyBytes(t *testing.T) {
	s := open(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	o := opening(1)
	o.Epoch = Epoch{ID: "bytes", Text: string(all), Tools: nil}
	o.Session = func(context.Context) ([]byte, error) { return nil, nil }
	o.Snapshot, o.Input, o.Tail = all, []byte("\r\n\x00 \xff"), nil
	x := begin(t, s, o)
	same(t, x, begin(t, s, opening(1)))
	if err := s.Answered(t.Context(), 1, string(all), 0); err != nil {
		t.Fatal(err)
	}
	x = begin(t, s, opening(2))
	want := []Past{{Turn: 1, Snapshot: all, Input: o.Input, Answer: string(all)}}
	if diff := cmp.Diff(want, history(t, s, x)); diff != "" {
		t.Error(diff)
	}
}

// A snapshot that cannot be made is an error that names the turn; nothing is
// stored, and the place is as it was.
func TestSessionSnapshotFails(t *testing.T) {
	s := open(t)
	o := opening(7)
	o.Session = func(context.Context) ([]byte, error) { return nil, errors.New("memory is away") }
	_, err := s.Begin(t.Context(), o)
	if want := "turn 7 cannot begin in nova/-1001/42: the session's snapshot: memory is away"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := rows(t, s); len(got) != 0 {
		t.Errorf("something was stored: %s", strings.Join(got, "\n"))
	}
}

// Another process begins the turn, under another role, while this one makes a
// snapshot: its bytes are used, and this one ends and opens no session.
func TestBegunElsewhereMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(*testing.T, *Store){
		"begun":             func(*testing.T, *Store) {},
		"begun, then reset": func(t *testing.T, s *Store) { reset(t, s, topic()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			begin(t, s, opening(1))
			var theirs Exchange
			calls, open := 0, 0
			o := opening(2)
			o.Role = "front"
			o.Session = func(context.Context) ([]byte, error) {
				calls++
				theirs = begin(t, s, opening(2))
				meanwhile(t, s)
				open = count(t, s, `select count(*) from attache.sessions where ended is null`)
				return []byte("mine"), nil
			}
			same(t, theirs, begin(t, s, o))
			if n := count(t, s, `select count(*) from attache.sessions`); n != 1 || calls != 1 {
				t.Errorf("%d sessions after %d calls", n, calls)
			}
			if n := count(t, s, `select count(*) from attache.sessions where ended is null`); n != open {
				t.Errorf("%d sessions are open, %d were", n, open)
			}
		})
	}
}

// Likewise, when the other process has not committed yet: this one waits before it
// judges the session.
func TestBeingBegunElsewhere(t *testing.T) {
	s := open(t)
	first := begin(t, s, opening(1))
	committed := make(chan error, 1)
	o := opening(2)
	o.Role = "front"
	o.Session = func(ctx context.Context) ([]byte, error) {
		tx, err := s.db.Pool().Begin(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `update attache.sessions set last = now()`); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `insert into attache.exchanges (turn, session, epoch, snapshot, input, tail)
			values (2, $1, 'e1', 'theirs', '', '')`, first.Session.ID); err != nil {
			return nil, err
		}
		go func() {
			awaitLock(t, s)
			committed <- tx.Commit(ctx)
		}()
		return []byte("mine"), nil
	}
	x := begin(t, s, o)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	if string(x.Snapshot) != "theirs" || x.Session.ID != first.Session.ID || x.Fresh {
		t.Errorf("the turn began with %+v", x)
	}
	if n := count(t, s, `select count(*) from attache.sessions where ended is null and id = $1`, first.Session.ID); n != 1 {
		t.Error("the session of the other process was ended under it")
	}
}
