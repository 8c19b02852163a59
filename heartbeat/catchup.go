package heartbeat

import (
	"fmt"
	"time"
)

// CatchUp says what becomes of slots that were missed: the process did not run at
// their minute, and the beat was known before (interface § 3).
type CatchUp string

// What becomes of missed slots.
const (
	catchUpSkip CatchUp = "skip" // nothing
	catchUpOnce CatchUp = "once" // one run for all of them, which is the default
	catchUpAll  CatchUp = "all"  // one run each, oldest first: the last 24
)

const (
	// onTime is how late a slot may be and still count as kept.
	onTime = 5 * time.Second
	// mostMissed is how many missed slots have a run of their own.
	mostMissed = 24
)

// deed is one thing to do about a beat: take a slot, with a run or without.
type deed struct {
	slot   time.Time
	missed int    // how many missed slots it stands for, 0 for a slot on time
	skip   string // why it has no run, "" when it has one
}

// deed gives what is next to be done about the slots after one moment up to now. A
// beat is at rest when there is none; else the slot of the deed is the moment to
// begin from the next time.
func (b Beat) deed(after, now time.Time) (d deed, due bool) {
	deadline := now.Add(-onTime) // a slot of this moment is late
	if !after.Before(now) {
		return deed{}, false
	}
	missed := b.latest(mostMissed, after, deadline)
	if len(missed) == 0 {
		slot := b.Next(later(after, deadline))
		return deed{slot: slot}, !slot.IsZero() && !slot.After(now)
	}
	newest := missed[len(missed)-1]
	switch b.CatchUp {
	case catchUpSkip:
		return deed{newest, len(missed), fmt.Sprintf("nobody ran at the minute of %s, and catchUp is skip", slots(len(missed)))}, true
	case catchUpAll:
		return deed{slot: missed[max(len(missed)-mostMissed, 0)], missed: 1}, true
	}
	return deed{slot: newest, missed: len(missed)}, true
}

func slots(n int) string {
	if n == 1 {
		return "one slot"
	}
	return fmt.Sprintf("%d slots", n)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
