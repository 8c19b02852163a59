package lookback

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// What is over is read once; what runs, what has just ended and what was never read
// are read again. An error teaches nothing.
func TestMemoReadsWhatIsNew(t *testing.T) {
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	edges := func(from, to int) (all []time.Time) {
		for i := from; i <= to; i++ {
			all = append(all, start.Add(time.Duration(i)*time.Hour))
		}
		return all
	}
	var m memo[int]
	for _, c := range []struct {
		name           string
		from, to       int
		now            time.Duration
		err            error
		asked, untilIt int // hours that are read
	}{
		{"the first time", 0, 6, 5*time.Hour + 30*time.Minute, nil, 0, 6},
		{"again: the last hour that ended, and this one", 0, 6, 5*time.Hour + 40*time.Minute, nil, 4, 6},
		{"a longer window", -3, 6, 5*time.Hour + 40*time.Minute, nil, -3, 6},
		{"an hour later", -3, 7, 6*time.Hour + 40*time.Minute, nil, 4, 7},
		{"what is known whole", 0, 4, 6*time.Hour + 40*time.Minute, nil, 0, 0},
		{"the database is away", 7, 8, 7 * time.Hour, errors.New("away"), 7, 8},
		{"and back, when that hour is over", 7, 8, 10 * time.Hour, nil, 7, 8},
		{"which is known now", 7, 8, 10 * time.Hour, nil, 0, 0},
		{"a month later", 720 + 24 + 9, 720 + 24 + 10, 1000 * time.Hour, nil, 753, 754},
		{"what is older than a month was forgotten", 0, 1, 1000 * time.Hour, nil, 0, 1},
	} {
		var asked []time.Time
		got, err := m.of(t.Context(), edges(c.from, c.to), start.Add(c.now), func(_ context.Context, edges []time.Time) ([]int, error) {
			asked = edges
			out := make([]int, len(edges)-1)
			for i := range out {
				out[i] = int(edges[i].Sub(start) / time.Hour)
			}
			return out, c.err
		})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		var want []time.Time
		if c.untilIt > c.asked {
			want = edges(c.asked, c.untilIt)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: %v is read, want %v", c.name, asked, want)
		}
		for i, v := range got {
			if v != c.from+i {
				t.Errorf("%s: piece %d is told as %d", c.name, c.from+i, v)
			}
		}
	}
}
