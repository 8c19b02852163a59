package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"attache"

	"pgregory.net/rapid"
)

// record notes in which order and when turns come, from the beginning of a test.
type record struct {
	mu    sync.Mutex
	began time.Time
	names []string
	times []time.Duration
}

func (r *record) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	r.times = append(r.times, time.Since(r.began))
}

// wait queues one call and notes when its turn has come.
func (r *record) wait(t *testing.T, g *gate, chat attache.ChatID, u Urgency, name string) {
	go func() {
		if err := g.clear(t.Context(), chat, u); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.add(name)
	}()
	synctest.Wait() // it stands in the queue before the next one comes
}

// mostIn gives the most times that lie in one window of that length.
func mostIn(times []time.Duration, per time.Duration) int {
	most := 0
	for i := range times {
		j := i
		for j < len(times) && times[j] < times[i]+per {
			j++
		}
		most = max(most, j-i)
	}
	return most
}

func TestPaceOfOneChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		for i := range 5 {
			r.wait(t, g, 7, UrgencyFinal, fmt.Sprint(i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(r.names, r.times); got != "[0 1 2 3 4] [0s 1s 2s 3s 4s]" {
			t.Error(got)
		}
	})
}

func TestPaceOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		for i := range 50 {
			r.wait(t, g, -1001, UrgencyFinal, fmt.Sprint(i))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if len(r.times) != 50 || mostIn(r.times, time.Minute) != 20 || r.times[49] != 129*time.Second {
			t.Errorf("%d in a minute at most, all %d at %v", mostIn(r.times, time.Minute), len(r.times), r.times)
		}
	})
}

func TestPaceOfTheBotAndUrgency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		for i := range 30 {
			r.wait(t, g, attache.ChatID(1000+i), UrgencyFinal, "first")
		}
		for i := range 40 {
			r.wait(t, g, attache.ChatID(2000+i), UrgencyEdit, fmt.Sprintf("edit %d", i))
		}
		for i := range 40 {
			r.wait(t, g, attache.ChatID(3000+i), UrgencyFinal, fmt.Sprintf("final %d", i))
		}
		if g.ready(4000, UrgencyFinal) || g.ready(4000, UrgencyTyping) {
			t.Error("a turn is free although the bot's second is full")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.times) != 110 || mostIn(r.times, time.Second) != 30 || r.times[109] != 3*time.Second {
			t.Errorf("%d in a second at most, the last of %d at %v", mostIn(r.times, time.Second), len(r.times), r.times[len(r.times)-1])
		}
		firstEdit := slices.Index(r.names, "edit 0")
		lastFinal := slices.Index(r.names, "final 39")
		if r.times[firstEdit] < r.times[lastFinal] {
			t.Errorf("an edit at %v before a final at %v", r.times[firstEdit], r.times[lastFinal])
		}
	})
}

func TestFinalsOvertakeEditsButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		r.wait(t, g, 7, UrgencyEdit, "edit 1")
		r.wait(t, g, 7, UrgencyEdit, "edit 2")
		for i := range 40 {
			r.wait(t, g, 7, UrgencyFinal, "final")
			_ = i
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		at := slices.Index(r.names, "edit 2")
		if r.names[0] != "edit 1" || r.names[1] != "final" || at < 0 || r.times[at] != patience {
			t.Errorf("edit 2 came at place %d: %v", at, r.times[at])
		}
	})
}

func TestHoldKeepsOneChatOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(false), &record{began: time.Now()} // pace off: holds are obeyed all the same
		g.silence(7, time.Now().Add(30*time.Second))
		g.silence(7, time.Now().Add(10*time.Second)) // never made shorter
		r.wait(t, g, 7, UrgencyFinal, "held")
		for range 3 {
			r.wait(t, g, 8, UrgencyFinal, "free")
		}
		if g.ready(7, UrgencyFinal) || g.ready(7, UrgencyTyping) || !g.ready(8, UrgencyTyping) {
			t.Error("a hold lets a call of its chat pass, or keeps another chat's")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(r.names, r.times); got != "[free free free held] [0s 0s 0s 30s]" {
			t.Error(got)
		}
		g.silence(0, time.Now().Add(5*time.Second))
		if g.ready(9, UrgencyFinal) {
			t.Error("a hold of the whole bot lets a call pass")
		}
	})
}

func TestRestoredHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSender(SenderOptions{Client: NewClient(ClientOptions{Bot: "nova"}), Pace: true})
		s.Restore([]attache.Hold{
			{Bot: "nova", Chat: 7, Until: time.Now().Add(20 * time.Second)},
			{Bot: "nova", Chat: 8, Until: time.Now().Add(-time.Second)},
			{Bot: "other", Chat: 9, Until: time.Now().Add(time.Hour)},
		})
		if s.Ready(7, UrgencyFinal) || !s.Ready(8, UrgencyFinal) || !s.Ready(9, UrgencyFinal) {
			t.Error("holds are not taken up as they were")
		}
		began := time.Now()
		if err := s.Clear(t.Context(), 7, UrgencyFinal); err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestReadyTakesTheTurnAndNobodyIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		if !g.ready(7, UrgencyFinal) || g.ready(7, UrgencyFinal) {
			t.Error("the first turn is free, the second is not")
		}
		r.wait(t, g, 7, UrgencyFinal, "waits")
		time.Sleep(time.Second)
		if g.ready(7, UrgencyFinal) {
			t.Error("Ready overtook one that waits")
		}
		if !g.ready(7, UrgencyTyping) || g.ready(7, UrgencyTyping) {
			t.Error("typing has one turn a second beside the posts")
		}
		synctest.Wait()
		if len(r.names) != 1 {
			t.Error("the one that waited did not come")
		}
	})
}

func TestClearGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, r := newGate(true), &record{began: time.Now()}
		g.ready(7, UrgencyFinal)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		result := make(chan error)
		go func() { result <- g.clear(ctx, 7, UrgencyFinal) }()
		synctest.Wait()
		r.wait(t, g, 7, UrgencyFinal, "next")
		if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if fmt.Sprint(r.times) != "[1s]" {
			t.Errorf("one that gave up took a turn: %v", r.times)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		if err := g.clear(ctx, 7, UrgencyFinal); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if !g.ready(7, UrgencyFinal) {
			t.Error("one that was cancelled before took a turn")
		}
	})
}

func TestIdleChatsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(true)
		for i := range 1000 {
			if err := g.clear(t.Context(), attache.ChatID(1+i), UrgencyFinal); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		g.ready(5, UrgencyFinal)
		if len(g.chats) != 1 {
			t.Errorf("%d chats are remembered", len(g.chats))
		}
	})
}

// Whatever comes, in whatever order: no window holds more calls than Telegram
// allows, a chat's calls of one urgency keep their order, and all come in the end.
//
// row L9
func TestGateTruths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type call struct {
			chat attache.ChatID
			u    Urgency
			gap  time.Duration
		}
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
			return call{
				rapid.SampledFrom([]attache.ChatID{1, 2, 3, -1, -2}).Draw(t, "chat"),
				rapid.SampledFrom([]Urgency{UrgencyFinal, UrgencyEdit}).Draw(t, "urgency"),
				rapid.SampledFrom([]time.Duration{0, 0, 0, time.Millisecond, 700 * time.Millisecond, 20 * time.Second}).Draw(t, "gap"),
			}
		}), 1, 60).Draw(rt, "calls")
		synctest.Test(t, func(t *testing.T) {
			g, r := newGate(true), &record{began: time.Now()}
			for i, c := range calls {
				r.wait(t, g, c.chat, c.u, fmt.Sprint(i))
				time.Sleep(c.gap)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if len(r.names) != len(calls) {
				rt.Fatalf("%d of %d came", len(r.names), len(calls))
			}
			byChat := map[attache.ChatID][]time.Duration{}
			last := map[string]int{}
			for k, name := range r.names {
				var i int
				fmt.Sscan(name, &i)
				byChat[calls[i].chat] = append(byChat[calls[i].chat], r.times[k])
				lane := fmt.Sprint(calls[i].chat, calls[i].u)
				if before, ok := last[lane]; ok && before > i {
					rt.Fatalf("call %d came after %d in %s", i, before, lane)
				}
				last[lane] = i
			}
			for chat, times := range byChat {
				if mostIn(times, time.Second) > 1 || !chat.Private() && mostIn(times, time.Minute) > 20 {
					rt.Fatalf("chat %d: %v", chat, times)
				}
			}
			if mostIn(r.times, time.Second) > 30 {
				rt.Fatalf("the bot: %v", r.times)
			}
		})
	})
}

func BenchmarkGate(b *testing.B) {
	g := newGate(false)
	for i := 0; b.Loop(); i++ {
		if err := g.clear(b.Context(), attache.ChatID(1+i%1000), UrgencyFinal); err != nil {
			b.Fatal(err)
		}
	}
}
