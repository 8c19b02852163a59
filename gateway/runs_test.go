package gateway

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"attache"
	"attache/gateway/posts"
	"attache/internal/store"
)

// begin puts a run into a place and, unless its process died right after, starts it.
func (w *world) begin(at attache.Place, id, input string, start bool) (turn int64) {
	w.t.Helper()
	var after func()
	err := w.db.InTx(w.t.Context(), func(tx store.Tx) (err error) {
		task := Task{Run: attache.Run{Kind: "heartbeat", ID: id, Feature: "home", Reach: attache.Reach{{Context: "film"}}}, Agent: "coach", Input: input}
		turn, after, err = w.g.Begin(w.t.Context(), tx, at, task)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if start {
		after()
	}
	return turn
}

// runTurn answers a run with its input, and its run as origin.
func runTurn(ctx context.Context, t Turn) (Answer, error) {
	if t.Task == nil {
		return echoTurn(ctx, t)
	}
	return Answer{Markdown: t.Task.Input, Format: attache.FormatEntities, Origin: &attache.Origin{Run: t.Task.Run.String(), Reach: t.Task.Reach}}, nil
}

func TestARunTakesItsTurnInTheLane(t *testing.T) {
	w := newWorld(t, func(w *world) { w.answer = runTurn })
	w.m.Gate = make(chan struct{})
	place := attache.Place{Bot: "nova", Chat: 5}
	w.say(msg(5, 1, "asked"))
	w.until("the chat's turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	first, second := w.begin(place, "one", "first beat", true), w.begin(place, "two", "second beat", true)
	w.say(msg(5, 2, "asked again"))
	w.until("three wait", func() bool { return w.count(`select count(*) from attache.turns where state = 'waiting'`) == 3 })
	close(w.m.Gate)
	got := w.m.Texts(t, 4)
	slices.Sort(got[1:])
	if want := []string{"asked", "asked again", "first beat", "second beat"}; !slices.Equal(got, want) {
		t.Errorf("posts %q, want %q", got, want)
	}
	w.until("the runs have ended", func() bool { return w.ended.Load() == 4 })
	for _, turn := range []int64{first, second} {
		if end, _ := w.runs.Load(turn); end != "answered; " {
			t.Errorf("run %d ended as %v", turn, end)
		}
	}
	origins := 0
	w.posted.Range(func(_, v any) bool {
		p := v.(posts.Posted)
		origins++
		if p.Place != place || !strings.HasPrefix(p.Origin.Run, "heartbeat:") || !p.Origin.Reach.Has("film") {
			t.Errorf("posted %+v", p)
		}
		return true
	})
	if origins != 2 {
		t.Errorf("%d posts have an origin, want those of the two runs", origins)
	}
}

// Runs without a place share no lane: one that takes long holds up no other.
func TestRunsWithoutAPlaceHoldUpNothing(t *testing.T) {
	var slow atomic.Bool
	release := make(chan struct{})
	w := newWorld(t, func(w *world) {
		w.answer = func(ctx context.Context, t Turn) (Answer, error) {
			if t.Task.ID == "slow" {
				slow.Store(true)
				<-release
			}
			return runTurn(ctx, t)
		}
	})
	nowhere := attache.Place{}
	a := w.begin(nowhere, "slow", "a", true)
	w.until("the slow run has begun", slow.Load)
	b := w.begin(nowhere, "quick", "b", true)
	w.until("the quick run has ended", func() bool { _, ok := w.runs.Load(b); return ok })
	close(release)
	w.until("the slow run has ended", func() bool { _, ok := w.runs.Load(a); return ok })
	if end, _ := w.runs.Load(a); end != "answered; the run has no place, so its last words are not posted" {
		t.Errorf("the run ended as %v", end)
	}
}

// The process may die between the commit and the start: the run is not lost.
func TestARunThatWasNotStartedIsFound(t *testing.T) {
	w := newWorld(t, func(w *world) { w.answer = runTurn })
	w.begin(attache.Place{Bot: "nova", Chat: 5}, "one", "beat", false)
	w.freeze()
	w.start("two")
	if got := w.m.Texts(t, 1); got[0] != "beat" {
		t.Errorf("posts %q", got)
	}
}

// A run goes on in another process with its own work.
func TestARunIsTakenUp(t *testing.T) {
	var begun atomic.Bool
	w := newWorld(t, func(w *world) {
		w.answer = func(ctx context.Context, t Turn) (Answer, error) {
			if !begun.Swap(true) {
				<-ctx.Done()
			}
			return runTurn(ctx, t)
		}
	})
	w.begin(attache.Place{Bot: "nova", Chat: 5}, "one", "beat", true)
	w.until("the run has begun", begun.Load)
	w.freeze()
	w.start("two")
	if got := w.m.Texts(t, 1); got[0] != "beat" {
		t.Errorf("posts %q", got)
	}
}

func TestStopLeavesAWaitingRun(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict {
			if m.Text == "/stop" {
				return Verdict{Act: ActStop}
			}
			return Verdict{Act: ActAnswer}
		}
		w.answer = func(ctx context.Context, t Turn) (Answer, error) {
			if t.Task == nil {
				<-ctx.Done()
			}
			return runTurn(ctx, t)
		}
	})
	w.say(msg(5, 1, "long"))
	w.until("the chat's turn runs", func() bool { return w.count(`select count(*) from attache.turns where state = 'running'`) == 1 })
	w.begin(attache.Place{Bot: "nova", Chat: 5}, "one", "beat", true)
	w.say(msg(5, 2, "/stop"))
	got := w.m.Texts(t, 2)
	slices.Sort(got)
	if !slices.Equal(got, []string{"Stopped.", "beat"}) {
		t.Errorf("posts %q", got)
	}
}

// A file goes on naming a group by its old number: its runs are the supergroup's.
func TestARunFollowsItsGroup(t *testing.T) {
	w := newWorld(t, func(w *world) { w.answer = runTurn })
	w.keep(attache.Update{Kind: "message", Migrated: &attache.Migration{From: -7, To: -1007}})
	w.until("the move is recorded", func() bool { return w.count(`select count(*) from attache.chat_aliases`) == 1 })
	w.begin(attache.Place{Bot: "nova", Chat: -7}, "one", "beat", true)
	if p := w.m.Wait(t, 1); p[0].Chat != -1007 {
		t.Errorf("the beat was posted in %d", p[0].Chat)
	}
}
