package conversation

import (
	"sync/atomic"
	"testing"

	"attache"
)

// BenchmarkTurn is what a turn asks of this package: its beginning, a history of 20
// exchanges, and the keeping of its answer, over 100 places. One operation is one
// turn; 300 turns a second are the target of the whole.
func BenchmarkTurn(b *testing.B) {
	s := open(b)
	tail, static := make([]byte, 8<<10), make([]byte, 64<<10)
	var turn atomic.Int64
	one := func() {
		n := turn.Add(1)
		o := opening(n)
		o.Place.Chat, o.Tail, o.Epoch.Text = attache.ChatID(n%100), tail, string(static)
		x, err := s.Begin(b.Context(), o)
		if err != nil {
			b.Error(err)
			return
		}
		if _, err := s.History(b.Context(), x.Session.ID, n); err != nil {
			b.Error(err)
		}
		if err := s.Answered(b.Context(), n, "an answer of a few words", 0); err != nil {
			b.Error(err)
		}
	}
	for range 2000 {
		one()
	}
	b.ResetTimer()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}
