package gateway

import (
	"context"
	"log/slog"
	"testing"

	"attache/internal/engine"
)

// Who is told to stop before it has begun was told so, and has nothing to complain
// about.
func TestAStopBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	log := slog.New(slog.DiscardHandler)
	e, err := engine.New(context.Background(), engine.Options{Pool: w.db.Pool(), Executor: "two", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	g, err := New(ctx, w.options(e, "two", log))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := g.Run(ctx); err != nil {
		t.Errorf("the process ends with %v", err)
	}
}
