package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"attache"
)

// timeLimit is how long one call may take: long enough for a post that waits for
// Telegram's pace, and less than a turn has (interface § 3, limits).
const timeLimit = 2 * time.Minute

// grace is how long a tool has, once its time is up or its turn has ended, to
// notice and to give the result that only it knows.
const grace = 5 * time.Second

var (
	errSlow   = fmt.Errorf("it took longer than %v", timeLimit)
	errNoWord = errors.New("it ended without an answer")
)

// Run checks a call and runs it. The result is for the model and always usable: a
// JSON object of bounded size or a context's block (interface § 4). The error is
// for the operator: nil when the call was refused or the tool answered, else what
// went wrong with the tool itself, such as a panic with its stack.
//
// When ctx ends, the turn was stopped or the process shuts down; the result then
// says so, and a caller that journals results should not keep it: a tool without
// effects is called again, and of one with effects nobody knows.
func (r *Registry) Run(ctx context.Context, c attache.Call, g Grant) (attache.Result, error) {
	t, refusal, ok := r.Check(c, g)
	if !ok {
		return refusal, nil
	}
	if err := ctx.Err(); err != nil {
		return attache.Refused(t.Name + " was not run: the turn was ended"), fmt.Errorf("the tool %s was not run: %w", t.Name, err)
	}
	c.Args = r.tools[c.Tool].present(c.Args)
	result, err := perform(ctx, t, c)
	if err == nil {
		result, err = fit(result)
	}
	if err != nil {
		return broken(t, err), fmt.Errorf("the tool %s of turn %d: %w", t.Name, c.Turn, err)
	}
	return result, nil
}

// outcome is what came of a tool's function.
type outcome struct {
	result attache.Result
	err    error
}

// perform runs the tool's function on a goroutine of its own, so that one that
// never returns costs a goroutine and not the turn.
func perform(ctx context.Context, t attache.Tool, c attache.Call) (attache.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, errSlow)
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errNoWord}
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack())
			}
			done <- o
		}()
		o = outcome{result: t.Run(ctx, c)}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case o := <-done:
		return o.result, o.err
	case <-late.C:
		return attache.Result{}, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx)) // a turn may be ended with a cause of its own
	}
}

// broken is what the model is told of a tool that broke. Where the call may have
// acted before that, it is told so; details are the operator's.
func broken(t attache.Tool, err error) attache.Result {
	what := "broke off by a mistake of its own"
	switch {
	case errors.Is(err, errSlow):
		what = fmt.Sprintf("was ended after %v", timeLimit)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		what = "was ended together with the turn"
	}
	if t.Effects {
		return Unknown(t.Name + " " + what + ", so nobody knows whether it was carried out; it is not repeated, so look before you call it again")
	}
	return attache.Refused(t.Name + " " + what + "; go on without it")
}
