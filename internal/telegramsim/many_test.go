package telegramsim_test

import (
	"fmt"
	"sync"
	"testing"

	"attache/internal/telegramsim"
)

// People, bots and lookers-on at once, for the race detector; and each chat's
// numbers stay without a gap.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.nova.SetPrivacy(false)
	group := w.AddChat(telegramsim.Chat{ID: -7, Kind: "supergroup"}, w.ana, w.bob, w.nova)
	var all sync.WaitGroup
	const each = 40
	for _, from := range []*telegramsim.User{w.ana, w.bob} {
		all.Go(func() {
			for i := range each {
				group.Say(from, fmt.Sprint(i))
			}
		})
	}
	for range 3 {
		all.Go(func() {
			for range each {
				if a, err := w.call(w.nova, "sendMessage", `{"chat_id":-7,"text":"x"}`); err != nil || !a.OK {
					t.Errorf("%+v %v", a, err)
				}
			}
		})
	}
	all.Go(func() {
		if err := w.Wait(patience(t), func() bool { return group.PostCount() == 3*each }); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() {
		for range each {
			group.History()
			w.Calls(telegramsim.Filter{})
			w.Pending(w.nova)
		}
	})
	all.Wait()
	for i, p := range group.History() {
		if int(p.ID) != i+1 {
			t.Fatalf("message %d has number %d", i+1, p.ID)
		}
	}
	heard := w.updates(t, w.nova)
	same(t, "heard", len(heard), 2*each)
	clean(t, w)
}
