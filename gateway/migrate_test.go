package gateway

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts/poststest"
	"attache/internal/engine"
	"attache/internal/store/storetest"
)

// Telegram counts messages anew in a supergroup, so a new message may have the
// number of one that was said in the group.
func TestNumbersCountAnewInASupergroup(t *testing.T) {
	w := newWorld(t)
	w.say(msg(-9, 1, "one"))
	w.m.Wait(t, 1)
	w.say(msg(-9, 2, "two"))
	w.m.Wait(t, 2)
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}})
	w.say(msg(-1009, 1, "three"))
	w.m.Wait(t, 3)
	w.say(msg(-1009, 2, "four"))
	w.m.Wait(t, 4)
	w.say(msg(-9, 2, "two"), msg(-1009, 2, "four"), msg(-1009, 3, "five")) // both known
	if got := w.m.Texts(t, 5); !slices.Equal(got, []string{"one", "two", "three", "four", "five"}) {
		t.Errorf("posts %q", got)
	}
}

// An answer is no reply to a message of the group that was: its number means
// another message now.
func TestNoReplyToWhatWasSaidBeforeTheMove(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict { return Verdict{Act: ActAnswer, Quiet: 300 * time.Millisecond} }
	})
	w.say(msg(-9, 70, "before"))
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}})
	if p := w.m.Wait(t, 1)[0]; p.Chat != -1009 || p.Reply != 0 {
		t.Errorf("post %+v", p)
	}
}

// A message that comes in one batch with the notice is judged by the rule under the
// old number.
func TestTheOldNumberIsKnownAtOnce(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict {
			if old, ok := w.g.Formerly("nova", m.Place.Chat); !ok || old != -9 {
				return Verdict{Act: ActSilence, Why: "no rule"}
			}
			return Verdict{Act: ActAnswer}
		}
	})
	m := msg(-1009, 1, "at once")
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}}, attache.Update{Kind: "message", Message: &m})
	if got := w.m.Texts(t, 1); got[0] != "at once" {
		t.Errorf("posts %q", got)
	}
}

// Another process that did not handle the notice knows of the move when the first
// message comes.
func TestAReplicaLearnsOfAMove(t *testing.T) {
	w := newWorld(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	e, err := engine.New(t.Context(), engine.Options{Pool: w.db.Pool(), Executor: "two", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(t.Context(), w.options(e, "two", log))
	if err != nil {
		t.Fatal(err)
	}
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -9, To: -1009}})
	w.until("the move is recorded", func() bool { return w.count(`select count(*) from attache.chat_aliases`) == 1 })
	if err := other.former.Learn(t.Context(), "nova", -1009); err != nil {
		t.Fatal(err)
	}
	if old, ok := other.Formerly("nova", -1009); !ok || old != -9 {
		t.Errorf("the replica takes -1009 for formerly %d, %v", old, ok)
	}
}

// A turn that a dead process left waits for a bot that is expected, for Telegram
// may be out of reach when the program starts.
func TestALeftTurnWaitsForItsBot(t *testing.T) {
	w := &world{t: t, db: storetest.New(t), m: poststest.New(), answer: echoTurn,
		judge: func(attache.Message) Verdict { return Verdict{Act: ActAnswer} }}
	if err := Migrate(t.Context(), w.db); err != nil {
		t.Fatal(err)
	}
	body, err := encode(msg(5, 1, "left"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.db.Pool().Exec(t.Context(), `
		with gone as (insert into attache.executors (id, beat) values ('one', now() - interval '1 hour')),
		turn as (insert into attache.turns (bot, chat, thread, state, due, started, executor)
			values ('nova', 5, 0, 'running', now(), now(), 'one') returning id)
		insert into attache.messages (bot, chat, thread, message, role, person, body, turn)
		select 'nova', 5, 0, 1, 'input', 'tg:user:5', $1, id from turn`, body)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	w.startWith("two", func(serve func()) {
		w.g.Expect("nova")
		go func() {
			<-served
			serve()
		}()
	})
	w.until("the turn is taken up", func() bool {
		return w.count(`select count(*) from attache.turns where executor = 'two'`) == 1
	})
	if n := w.count(`select count(*) from attache.turns where state = 'running'`); n != 1 {
		t.Errorf("%d turns wait for their bot", n)
	}
	close(served)
	if got := w.m.Texts(t, 1); got[0] != "left" {
		t.Errorf("posts %q", got)
	}
}

// A stop that comes between a turn's beginning in the database and its work here
// is not forgotten.
func TestAStopThatComesEarly(t *testing.T) {
	w := newWorld(t)
	w.g.cancel(7)
	stopped := false
	if !w.g.begin(7, func() { stopped = true }) || !stopped {
		t.Error("the turn was not stopped")
	}
}
