package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"attache"
)

// eavesdropper is a world whose bot answers what begins with "?" with the lines of the
// room that it was given, and the key of each. key is what all places are held to.
func eavesdropper(t *testing.T) (w *world, key *atomic.Pointer[string], asked *atomic.Int64) {
	key, asked = &atomic.Pointer[string]{}, &atomic.Int64{}
	w = newWorld(t, func(w *world) {
		w.judge = func(m attache.Message) Verdict {
			if strings.HasPrefix(m.Text, "?") {
				return Verdict{Act: ActAnswer}
			}
			return Verdict{Act: ActObserve}
		}
		w.keys = func(at []attache.Place) (map[attache.Place]string, error) {
			asked.Add(1)
			if key.Load() == nil {
				return nil, errors.New("the table is gone")
			}
			out := map[attache.Place]string{}
			for _, p := range at {
				out[p] = fmt.Sprintf("%s in %d", *key.Load(), p.Thread)
			}
			return out, nil
		}
		w.answer = func(_ context.Context, t Turn) (Answer, error) {
			said := []string{t.Messages[0].Text}
			for _, l := range t.Room {
				of := "nobody knows"
				if l.Key != nil {
					of = *l.Key
				}
				said = append(said, l.Text+" ("+of+")")
			}
			return Answer{Markdown: strings.Join(said, "; "), Format: attache.FormatEntities}, nil
		}
	})
	return w, key, asked
}

// A line of the room comes to its turn with the key that it was said under, whatever
// the place is held to by then; one whose key cannot be read stops nothing.
// row D14
func TestLinesOfTheRoomKeepTheirKey(t *testing.T) {
	w, key, asked := eavesdropper(t)
	stored := func(n int) {
		t.Helper()
		w.until("it is stored", func() bool { return w.count(`select count(*) from attache.messages`) == n })
	}
	acme, globex := "acme", "globex"
	key.Store(&acme)
	w.say(msg(-9, 1, "one"), msg(-9, 2, "two"))
	stored(2)
	if n := asked.Load(); n != 1 {
		t.Errorf("keys were asked for %d times for one batch", n)
	}
	key.Store(&globex)
	w.say(msg(-9, 3, "three"))
	stored(3)
	key.Store(nil)
	w.say(msg(-9, 4, "four"))
	stored(4)
	key.Store(&globex)
	w.say(msg(-9, 5, "?"))
	if got, want := w.m.Texts(t, 1)[0], "?; one (acme in 0); two (acme in 0); three (globex in 0); four (nobody knows)"; got != want {
		t.Errorf("the turn has %q, want %q", got, want)
	}

	// An edit is as old as its message, whether that was heard or answered.
	edited := msg(-9, 1, "one, edited")
	edited.EditedAt = edited.At.Add(1)
	w.keep(attache.Update{Kind: "edited_message", Edited: &edited})
	question := msg(-9, 5, "? edited")
	question.EditedAt = question.At.Add(1)
	key.Store(&acme)
	w.keep(attache.Update{Kind: "edited_message", Edited: &question})
	stored(7)
	w.say(msg(-9, 6, "?"))
	if got, want := w.m.Texts(t, 2)[1], "?; one, edited (acme in 0); ? edited (globex in 0)"; got != want {
		t.Errorf("the turn has %q, want %q", got, want)
	}
}
