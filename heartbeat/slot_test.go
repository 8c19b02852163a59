package heartbeat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at reads "2026-03-29 02:30" in a zone.
func at(t testing.TB, text string, zone *time.Location) time.Time {
	t.Helper()
	out, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shown lists slots as a person in their zone would write them.
func shown(list []time.Time) string {
	var out []string
	for _, t := range list {
		out = append(out, t.Format("01-02 15:04 -0700"))
	}
	return strings.Join(out, ", ")
}

// The nights on which the clock changes. What the spring change leaves out comes at
// the first minute after it; what the autumn change repeats comes once.
//
// row M1
func TestClockChanges(t *testing.T) {
	for _, c := range []struct{ what, zone, cron, after, until, want string }{
		{"a gap", "Europe/Amsterdam", "30 2 * * *", "2026-03-28 00:00", "2026-03-31 00:00", "03-28 02:30 +0100, 03-29 03:00 +0200, 03-30 02:30 +0200"},
		{"several in a gap are one", "Europe/Amsterdam", "*/20 1-3 * * *", "2026-03-29 01:30", "2026-03-29 03:30", "03-29 01:40 +0100, 03-29 03:00 +0200, 03-29 03:20 +0200"},
		{"from within the minute of a gap", "Europe/Amsterdam", "30 2 * * *", "2026-03-29 03:00", "2026-03-30 03:00", "03-30 02:30 +0200"},
		{"autumn", "Europe/Amsterdam", "30 2 * * *", "2026-10-24 12:00", "2026-10-27 00:00", "10-25 02:30 +0200, 10-26 02:30 +0100"},
		{"autumn, more than once an hour", "Europe/Amsterdam", "0,30 * * * *", "2026-10-25 01:15", "2026-10-25 03:15", "10-25 01:30 +0200, 10-25 02:00 +0200, 10-25 02:30 +0200, 10-25 03:00 +0100"},
		{"New York, spring", "America/New_York", "15 2 * * *", "2026-03-07 12:00", "2026-03-10 00:00", "03-08 03:00 -0400, 03-09 02:15 -0400"},
		{"New York, autumn", "America/New_York", "59 1 * * *", "2026-10-31 12:00", "2026-11-03 00:00", "11-01 01:59 -0400, 11-02 01:59 -0500"},
		{"half an hour, spring", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", "2026-10-06 00:00", "10-04 02:30 +1100, 10-05 02:15 +1100"},
		{"half an hour, autumn", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", "2026-04-07 00:00", "04-05 01:45 +1100, 04-06 01:45 +1030"},
		{"no midnight", "Africa/Cairo", "0 0 * * *", "2026-04-23 12:00", "2026-04-25 12:00", "04-24 01:00 +0300, 04-25 00:00 +0300"},
		{"a day that never was", "Pacific/Apia", "0 9 * * *", "2011-12-29 00:00", "2012-01-01 00:00", "12-29 09:00 -1000, 12-31 00:00 +1400, 12-31 09:00 +1400"},
		{"no zone changes", "UTC", "30 2 * * *", "2026-03-28 12:00", "2026-03-30 12:00", "03-29 02:30 +0000, 03-30 02:30 +0000"},
	} {
		b := beat(t, "timezone: "+c.zone+"\ncron: '"+c.cron+"'")
		if got := shown(b.between(at(t, c.after, b.Zone), at(t, c.until, b.Zone))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.what, got, c.want)
		}
	}
}

// A repeated hour is over once its slots were: asked in its second pass, the next
// slot is after it.
func TestSecondPassOfAnHour(t *testing.T) {
	b := beat(t, "timezone: Europe/Amsterdam\ncron: '*/30 * * * *'")
	second := time.Date(2026, 10, 25, 1, 10, 0, 0, time.UTC) // 02:10 for the second time
	if got := b.Next(second).UTC().Format("15:04"); got != "02:00" {
		t.Error(got)
	}
}

// row M1
func TestHours(t *testing.T) {
	for _, c := range []struct{ what, keys, after, until, want string }{
		{"the end is not included", "cron: 0 * * * *\nhours: 08:00-10:00", "2026-11-30 00:00", "2026-12-01 08:30", "11-30 08:00 +0100, 11-30 09:00 +0100, 12-01 08:00 +0100"},
		{"across midnight", "cron: 0 * * * *\nhours: 22:30-02:00", "2026-11-30 12:00", "2026-12-01 12:00", "11-30 23:00 +0100, 12-01 00:00 +0100, 12-01 01:00 +0100"},
		{"until midnight", "cron: 0 */6 * * *\nhours: 12:00-24:00", "2026-11-30 00:00", "2026-12-01 06:00", "11-30 12:00 +0100, 11-30 18:00 +0100"},
		{"within an hour", "cron: '*/10 * * * *'\nhours: 08:15-08:40", "2026-11-30 00:00", "2026-11-30 12:00", "11-30 08:20 +0100, 11-30 08:30 +0100"},
		{"the whole day", "cron: 0 */12 * * *\nhours: 00:00-24:00", "2026-11-30 00:00", "2026-12-01 00:00", "11-30 12:00 +0100, 12-01 00:00 +0100"},
		{"a gap moves no slot out of them", "cron: 30 2 * * *\nhours: 02:00-03:00", "2026-03-28 12:00", "2026-03-30 12:00", "03-30 02:30 +0200"},
		{"nor into them", "cron: '30 2,12 * * *'\nhours: 03:00-13:00", "2026-03-28 13:00", "2026-03-30 00:00", "03-29 12:30 +0200"},
	} {
		b := beat(t, "timezone: Europe/Amsterdam\n"+c.keys)
		if got := shown(b.between(at(t, c.after, b.Zone), at(t, c.until, b.Zone))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.what, got, c.want)
		}
	}
}

// Sunday has two numbers and a name, as people write it and the parser does not.
func TestDaysOfTheWeek(t *testing.T) {
	for field, want := range map[string]string{
		"7": "0", "0": "0", "sun": "0", "SUN": "0", "fri-sun": "0 5 6", "5-7": "0 5 6", "0-7": "0 1 2 3 4 5 6", "1-7": "0 1 2 3 4 5 6",
		"mon-fri": "1 2 3 4 5", "1-7/2": "0 1 3 5", "sat,7": "0 6", "sun-tue": "0 1 2", "wed-7/2": "0 3 5", "6-7": "0 6",
	} {
		b := beat(t, "cron: 0 9 * * "+field)
		days := map[time.Weekday]bool{}
		monday := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		for _, slot := range b.between(monday, monday.AddDate(0, 0, 7)) {
			days[slot.Weekday()] = true
		}
		var got []string
		for d := range time.Weekday(7) {
			if days[d] {
				got = append(got, fmt.Sprint(int(d)))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is %v, want %s", field, got, want)
		}
	}
}

func TestRareDays(t *testing.T) {
	b := beat(t, "cron: 0 9 29 2 *")
	if got := b.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)).Format(time.DateOnly); got != "2104-02-29" {
		t.Error(got)
	}
	first := beat(t, "cron: 0 9 13 * fri") // as in every cron, one of two restricted days is enough
	if got := shown(first.between(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 14, 0, 0, 0, 0, time.UTC))); got != "12-04 09:00 +0000, 12-11 09:00 +0000, 12-13 09:00 +0000" {
		t.Error(got)
	}
}

// zones change their clocks by an hour, by half an hour, never, or at midnight.
func zones() []string {
	return []string{"Europe/Amsterdam", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC", "Africa/Cairo", "America/St_Johns", "Pacific/Chatham"}
}

// some draws a beat and a moment, more often than not near a change of the clock.
func some(t *rapid.T) (Beat, time.Time) {
	minute := rapid.SampledFrom([]string{"*", "0", "30", "*/7", "0,59", "10-20"}).Draw(t, "minute")
	hour := rapid.SampledFrom([]string{"*", "0", "1-3", "2", "*/5", "9,23"}).Draw(t, "hour")
	rest := rapid.SampledFrom([]string{"* * *", "* * 0-7", "1,15 * *", "* 3,4,10,11 *", "29 2 *", "31 * sun"}).Draw(t, "days")
	hours := rapid.SampledFrom([]string{"", "\nhours: 00:00-12:00", "\nhours: 21:30-04:15", "\nhours: 02:30-03:00"}).Draw(t, "hours")
	list, _ := read(frame(), "features/f/b.heartbeat.md", fmt.Sprintf("---\nagent: desk\ntimezone: %s\ncron: '%s %s %s'%s\n---\n",
		rapid.SampledFrom(zones()).Draw(t, "zone"), minute, hour, rest, hours))
	if len(list) == 0 {
		t.Skip("no slot lies in these hours")
	}
	b := list[0]
	moment := time.Date(2026, time.Month(rapid.IntRange(1, 12).Draw(t, "month")), rapid.IntRange(1, 28).Draw(t, "day"), 0, 0, 0, 0, b.Zone)
	if _, change := moment.ZoneBounds(); !change.IsZero() && rapid.Bool().Draw(t, "near a change") {
		moment = change
	}
	return b, moment.Add(time.Duration(rapid.Int64Range(-int64(5*time.Hour), int64(5*time.Hour)).Draw(t, "off")))
}

// Slots strictly increase, stand on whole minutes, and do not depend on where one
// begins to look.
func TestSlotsIncrease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, from := some(t)
		last := from
		for range 6 {
			slot := b.Next(last)
			if !slot.After(last) || slot.Second() != 0 || slot.Nanosecond() != 0 {
				t.Fatalf("after %s comes %s", last, slot)
			}
			between := last.Add(time.Duration(rapid.Int64Range(0, int64(slot.Sub(last))-1).Draw(t, "between")))
			if again := b.Next(between); !again.Equal(slot) {
				t.Fatalf("from %s the next slot is %s, from %s it is %s", last, slot, between, again)
			}
			if !b.plan.hours.holds(slot) {
				t.Fatalf("%s is outside of %s", slot, b.Hours)
			}
			last = slot
		}
	})
}

// Every minute that a clock shows and the cron names is a slot the first time that it
// is shown, and nothing else is but the end of a gap: told minute by minute, without
// the parser's own idea of a next time.
func TestSlotsAreWhatTheClockShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, from := some(t)
		until := from.Add(26 * time.Hour)
		due := map[int64]bool{}
		for _, slot := range b.between(from, until) {
			due[slot.Unix()] = true
		}
		for at := from.Truncate(time.Minute).Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
			wall := reading(at.In(b.Zone))
			names := b.plan.spec.Next(wall.Add(-time.Second)).Equal(wall) && b.plan.hours.holds(wall)
			early, _ := at.Add(-2 * time.Hour).In(b.Zone).ZoneBounds()
			again := false // the clock showed the same minute before
			if _, change := early.ZoneBounds(); !change.IsZero() && !at.Before(change) {
				again = reading(change.Add(-time.Minute).In(b.Zone)).After(wall.Add(-time.Second)) && at.Sub(change) < 2*time.Hour
			}
			before := reading(at.Add(-time.Minute).In(b.Zone))
			gap := wall.Sub(before) > time.Minute
			want := names && !again
			if gap && !want {
				for m := before.Add(time.Minute); m.Before(wall); m = m.Add(time.Minute) {
					want = want || b.plan.spec.Next(m.Add(-time.Second)).Equal(m) && b.plan.hours.holds(m) && b.plan.hours.holds(at.In(b.Zone))
				}
			}
			if due[at.Unix()] != want {
				t.Fatalf("%s of %q %s: a slot is %v, want %v (again %v, gap %v)", at.In(b.Zone), b.Cron, b.Hours, due[at.Unix()], want, again, gap)
			}
		}
	})
}

// latest gives the last slots without walking through all of them.
func TestLatest(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 0, 30, 0, time.UTC)
	for _, c := range []struct {
		cron  string
		after time.Duration
		n     int
		first string
	}{
		{"* * * * *", 5 * 365 * 24 * time.Hour, 60, "2026-11-30 08:01"},
		{"0 9 * * *", 3 * 24 * time.Hour, 3, "2026-11-28 09:00"},
		{"0 9 1 1 *", 3 * 365 * 24 * time.Hour, 3, "2024-01-01 09:00"},
		{"0 10 * * *", time.Hour, 0, ""},
		{"* * * * *", 31 * time.Second, 1, "2026-11-30 09:00"},
	} {
		got := beat(t, "cron: '"+c.cron+"'").latest(24, now.Add(-c.after), now)
		if len(got) != c.n || c.n > 0 && got[0].Format("2006-01-02 15:04") != c.first {
			t.Errorf("%s: %d from %v", c.cron, len(got), shown(got))
		}
	}
}

func BenchmarkNext(b *testing.B) {
	beat := beat(b, "timezone: Europe/Amsterdam\ncron: 0 9 * * mon-fri\nhours: 08:00-22:00")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		beat.Next(at)
	}
}
