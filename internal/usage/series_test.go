package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Pieces add up to the whole, and what is unknown in one stays unknown in the sum.
func TestSeries(t *testing.T) {
	db := database(t)
	hour := func(n int) time.Time { return noon().Truncate(time.Hour).Add(time.Duration(n) * time.Hour) }
	at := func(n int, change func(*Call)) Call {
		return with(call(), func(c *Call) {
			c.At = hour(n).Add(time.Minute)
			if change != nil {
				change(c)
			}
		})
	}
	record(t, db.Pool(), at(-9, nil), at(0, nil), at(0, func(c *Call) { c.N, c.Model, c.Cost = 2, "m2", cost(1) }),
		at(2, func(c *Call) { c.Cost, c.Tokens = nil, nil }), at(2, func(c *Call) { c.N, c.Status, c.Cost, c.Why = 2, 503, nil, "busy" }),
		at(3, func(c *Call) { c.Place.Chat = -7 }), at(4, nil))
	edges := []time.Time{hour(0), hour(1), hour(2), hour(3), hour(4)}
	all, err := Series(t.Context(), db.Pool(), edges, 0)
	if err != nil || len(all) != 4 {
		t.Fatal(len(all), err)
	}
	events := []int64{all[0].Events, all[1].Events, all[2].Events, all[3].Events}
	if diff := cmp.Diff([]int64{2, 0, 2, 1}, events); diff != "" {
		t.Error(diff)
	}
	if all[0].Cost == nil || *all[0].Cost != 1.0000125 || all[1].Cost == nil || *all[1].Cost != 0 || all[2].Cost != nil || all[2].Priceless != 1 || all[2].Silent != 1 || all[2].Failed != 1 {
		t.Errorf("pieces %+v", all)
	}
	whole, err := Totals(t.Context(), db.Pool(), hour(0), 0)
	if err != nil {
		t.Fatal(err)
	}
	record(t, db.Pool(), at(5, nil))
	sum := SumUp(append(all, must(t)(Series(t.Context(), db.Pool(), []time.Time{hour(4), hour(5)}, 0))...)...)
	if diff := cmp.Diff(whole, sum.Total); diff != "" {
		t.Errorf("the pieces' sum and the whole: %s", diff)
	}
	one, err := Series(t.Context(), db.Pool(), []time.Time{hour(0), hour(9)}, -7)
	if err != nil || one[0].Events != 1 {
		t.Errorf("of one chat: %+v, %v", one, err)
	}
}

func must(t *testing.T) func([]Stretch, error) []Stretch {
	return func(s []Stretch, err error) []Stretch {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
