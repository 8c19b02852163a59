package heartbeat

import (
	"time"
)

// Next gives the beat's first slot strictly after a moment, in the beat's zone. The
// zero time means that there is none, which no beat that loads ever gives.
//
// On the night of the autumn change the repeated hour has its slots once, the first
// time that the clock shows it; a minute in the spring gap comes at the first minute
// after it, where several of them are one slot (interface § 3).
func (b Beat) Next(after time.Time) time.Time {
	wall := reading(after.In(b.Zone))
	for {
		if wall = b.plan.next(wall); wall.IsZero() {
			return time.Time{}
		}
		at, gap := instant(wall, b.Zone)
		// A slot that the gap moves must not ring in the hours of rest either.
		if at.After(after) && b.plan.hours.holds(wall) && (!gap || b.plan.hours.holds(at)) {
			return at
		}
	}
}

// between lists the slots after one moment up to another, the latter included.
func (b Beat) between(after, until time.Time) []time.Time {
	var out []time.Time
	for at := b.Next(after); !at.IsZero() && !at.After(until); at = b.Next(at) {
		out = append(out, at)
	}
	return out
}

// latest is between, but gives at least the last n slots and perhaps not the first
// ones: a beat of every minute has half a million of them in a year.
func (b Beat) latest(n int, after, until time.Time) []time.Time {
	for span := time.Hour; span < 300*24*time.Hour; span *= 4 {
		from := until.Add(-span)
		if !from.After(after) {
			break
		}
		if slots := b.between(from, until); len(slots) >= n {
			return slots
		}
	}
	return b.between(after, until)
}

// next gives the first time of the schedule strictly after a reading of the clock.
// The parser looks five years ahead; 29 February is further away around 2100.
func (s *schedule) next(wall time.Time) time.Time {
	for range 3 {
		if at := s.spec.Next(wall); !at.IsZero() {
			return at
		}
		wall = wall.AddDate(4, 0, 0)
	}
	return time.Time{}
}

// reading gives what a clock on the wall shows at t, as if it hung in UTC, where
// every reading comes once.
func reading(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant gives the first moment at which a clock in the zone shows a reading. A
// reading that the clock skips has the first whole minute after the gap, and gap is
// true.
func instant(wall time.Time, zone *time.Location) (at time.Time, gap bool) {
	near := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	start, end := near.ZoneBounds()
	var first time.Time
	for _, t := range []time.Time{start.Add(-1), near, end} { // one moment of each offset that may be in force
		_, offset := t.In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if reading(at).Equal(wall) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first, false
	}
	for _, change := range []time.Time{start, end} {
		if !change.IsZero() && reading(change.In(zone)).After(wall) && !reading(change.Add(-1).In(zone)).After(wall) {
			if whole := change.Truncate(time.Minute); whole.Before(change) {
				change = whole.Add(time.Minute)
			}
			return change.In(zone), true
		}
	}
	return near, true // not reached: a reading is shown or skipped by a change beside it
}
