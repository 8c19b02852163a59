package operator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"attache/internal/web/pages"
)

// A page waits a moment for the first look of all, and from then on is shown the last
// one while the next is made. Who asks for a fresh one waits for it.
func TestExaminationKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		var e examination
		e.examine = func(ctx context.Context) []pages.Finding {
			looks++
			time.Sleep(3 * time.Second) // of the bubble's clock: servers that answer late
			return make([]pages.Finding, looks)
		}
		for _, c := range []struct {
			name  string
			after time.Duration
			fresh bool
			found int // -1: an error
			waits time.Duration
		}{
			{"nothing is known yet", 0, false, -1, moment},
			{"one that waits joins the look", 0, true, 1, 3*time.Second - moment},
			{"what is known", time.Second, false, 1, 0},
			{"it is old: shown, and looked again", stale, false, 1, 0},
			{"while that look is made", time.Second, false, 1, 0},
			{"it is over", 3 * time.Second, false, 2, 0},
			{"a fresh one", 0, true, 3, 3 * time.Second},
		} {
			time.Sleep(c.after)
			began := time.Now()
			found, at, err := e.latest(t.Context(), c.fresh)
			if waited := time.Since(began); waited != c.waits {
				t.Errorf("%s: it waits for %v, want %v", c.name, waited, c.waits)
			}
			if c.found < 0 != (err != nil) || err == nil && (len(found) != c.found || at.IsZero()) {
				t.Errorf("%s: %d findings of %v, %v; want %d", c.name, len(found), at, err, c.found)
			}
		}
		e.wait()
	})
}
