package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"attache/internal/model"
	"attache/internal/model/modeltest"
)

// slow is a client whose time is the bubble's.
func slow(t *testing.T, s *modeltest.Server, fallback ...model.Profile) *rig {
	r := &rig{}
	p := profile("main", s)
	p.Fallback = fallback
	r.client = model.New(p, model.Options{
		Transport: s.Transport(), FirstByte: 20 * time.Second, Idle: 10 * time.Second,
	})
	return r
}

// row L10: the three time limits and what they are called.
func TestTimeouts(t *testing.T) {
	never := func() <-chan struct{} { return make(chan struct{}) }
	for name, c := range map[string]struct {
		answer func() modeltest.Answer
		why    string
		took   time.Duration
	}{
		"first byte":    {func() modeltest.Answer { return modeltest.Answer{Text: "x", Hold: never()} }, "no answer within the time limit", 20 * time.Second},
		"stall":         {func() modeltest.Answer { return modeltest.Answer{Text: "a b c", Fault: modeltest.FaultStall, After: 2} }, "the answer stopped coming", 10 * time.Second},
		"stall at once": {func() modeltest.Answer { return modeltest.Answer{Text: "a", Fault: modeltest.FaultStall} }, "the answer stopped coming", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := modeltest.NewInMemory(t, modeltest.Once(c.answer()), modeltest.Once(modeltest.Text("ok")))
				r := slow(t, s)
				got, err := r.ask(t.Context(), "hi")
				if err != nil || got.Text != "ok" || r.shown() != "ok" {
					t.Fatalf("%+v, %v, shown %q", got, err, r.shown())
				}
				if a := r.attempts[0]; a.Why != c.why || a.Took != c.took {
					t.Errorf("attempt: %q after %v", a.Why, a.Took)
				}
			})
		})
	}
}

// A slow answer is no broken one: each piece and each comment is a sign of life.
func TestSlowTokensAreFine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Answer{Text: strings.Repeat("word ", 20), Delay: 9 * time.Second}))
		r := slow(t, s)
		begin := time.Now()
		if got, err := r.ask(t.Context(), "hi"); err != nil || len(got.Text) != 100 {
			t.Fatalf("%+v, %v", got, err)
		}
		if took := time.Since(begin); took != 3*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

// row L10: with the real clock of a Client, pauses are as long as they should be.
func TestPausesByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Busy("42")), modeltest.Once(modeltest.Text("ok")))
		r := slow(t, s)
		begin := time.Now()
		if _, err := r.ask(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 42*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A turn whose time is nearly over does not wait for a busy model in vain.
func TestNoPauseBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := modeltest.NewInMemory(t, modeltest.Rule{Model: "main-model", Answer: modeltest.Busy("30")}, modeltest.Rule{Answer: modeltest.Text("ok")})
		r := slow(t, s, profile("backup", s))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		begin := time.Now()
		if got, err := r.ask(ctx, "hi"); err != nil || got.Profile != "backup" || time.Since(begin) != 0 {
			t.Errorf("%+v, %v after %v", got, err, time.Since(begin))
		}
	})
}

// row L10: a person's /stop closes the stream at once; nothing is tried again.
func TestCancel(t *testing.T) {
	stopped := errors.New("stopped by a person")
	for name, answer := range map[string]modeltest.Answer{
		"before the headers": {Text: "x", Delay: 0},
		"in the stream":      {Text: "a b c", Fault: modeltest.FaultStall, After: 2},
		"in a pause":         modeltest.Busy("50"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if name == "before the headers" {
					answer.Hold = make(chan struct{})
				}
				s := modeltest.NewInMemory(t, modeltest.Rule{Answer: answer})
				r := slow(t, s, profile("backup", s))
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(3*time.Second, func() { cancel(stopped) })
				begin := time.Now()
				_, err := r.ask(ctx, "hi")
				if !errors.Is(err, stopped) || time.Since(begin) != 3*time.Second || len(s.Requests()) != 1 {
					t.Errorf("%v after %v, %d requests", err, time.Since(begin), len(s.Requests()))
				}
				synctest.Wait() // the bubble fails if the server still sits in its stream
			})
		})
	}
}

// An answer that is whole is not held back by a server that forgets to end.
func TestStallBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := modeltest.NewInMemory(t, modeltest.Once(modeltest.Answer{Text: "Whole.", Linger: true, NoDone: true, NoUsage: true}))
		r := slow(t, s)
		begin := time.Now()
		got, err := r.ask(t.Context(), "hi")
		if err != nil || got.Text != "Whole." || time.Since(begin) > 6*time.Second {
			t.Errorf("%+v, %v after %v", got, err, time.Since(begin))
		}
	})
}
