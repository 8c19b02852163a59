package heartbeat

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"attache/internal/brainfile/entity"
)

// schedule is when a beat is due on the wall clock, wherever that hangs.
type schedule struct {
	spec  *cron.SpecSchedule // read on a clock that never changes
	hours window
}

// window is a part of the day in minutes since midnight, its end not included. One
// whose end is not after its start crosses midnight; the zero value is the whole day.
type window struct{ from, to int }

// holds reports whether the window holds a time's hour and minute.
func (w window) holds(t time.Time) bool { return w.minute(t.Hour()*60 + t.Minute()) }

func (w window) minute(m int) bool {
	switch {
	case w == window{}:
		return true
	case w.from < w.to:
		return w.from <= m && m < w.to
	}
	return w.from <= m || m < w.to
}

// day is how many minutes a day has on the wall clock.
const day = 24 * 60

var clockRange = regexp.MustCompile(`^([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})$`)

// parseHours reads "08:00-22:00". The second text is what is wrong, in one clause.
func parseHours(text string) (window, string) {
	m := clockRange.FindStringSubmatch(text)
	if m == nil {
		return window{}, fmt.Sprintf("hours does not take %q", entity.Brief(text))
	}
	var at [4]int
	for i := range at {
		at[i], _ = strconv.Atoi(m[i+1]) // two digits
	}
	w := window{at[0]*60 + at[1], at[2]*60 + at[3]}
	switch {
	case at[1] > 59 || at[3] > 59 || w.from >= day || w.to > day:
		return window{}, fmt.Sprintf("hours names a time that no day has: %s", text)
	case w.from == w.to:
		return window{}, "hours ends where it begins, so no time is in it"
	case w.from == 0 && w.to == day:
		return window{}, "" // the whole day
	}
	return w, ""
}

// A cronField is one of the five, with what it takes in words.
type cronField struct {
	name, takes string
	option      cron.ParseOption
}

func cronFields() []cronField {
	return []cronField{
		{"minute", "0 to 59", cron.Minute},
		{"hour", "0 to 23", cron.Hour},
		{"day of the month", "1 to 31", cron.Dom},
		{"month", "1 to 12 or jan to dec", cron.Month},
		{"day of the week", "0 to 7 or sun to sat, where 0 and 7 are Sunday", cron.Dow},
	}
}

// cronItem is an entry of a field's list. The parser is more lenient, and would
// read "*-5" as *.
var cronItem = regexp.MustCompile(`^(\*|[0-9]{1,4}|[A-Za-z]{3})(-([0-9]{1,4}|[A-Za-z]{3}))?(/[0-9]{1,4})?$`)

// parseCron reads five fields. Otherwise what and do say what is wrong with them. A
// schedule that never comes round is a mistake, too.
func parseCron(text string) (spec *cron.SpecSchedule, what, do string) {
	fields, known := strings.Fields(text), cronFields()
	example := "write minute, hour, day of the month, month and day of the week, as in 0 9 * * mon-fri"
	switch {
	case strings.HasPrefix(text, "@"):
		return nil, fmt.Sprintf("cron does not take %q", entity.Brief(text)), example
	case len(fields) == 6:
		return nil, "cron has six fields and takes five, none of them for seconds", example
	case len(fields) != len(known):
		return nil, fmt.Sprintf("cron has %d fields and takes five", len(fields)), example
	}
	for i, f := range known {
		read, ok := fields[i], wellFormed(fields[i])
		if f.option == cron.Dow {
			read = sundays(read)
		}
		if ok { // else the parser might even panic, as it does on TZ=
			_, err := cron.NewParser(f.option).Parse(read)
			ok = err == nil
		}
		if !ok {
			return nil, fmt.Sprintf("%q is no %s of a cron", entity.Brief(fields[i]), f.name),
				"write " + f.takes + ", *, a list as in 1,4, a range as in 1-4, or a step as in */2"
		}
		fields[i] = read
	}
	made, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(strings.Join(fields, " "))
	spec, ok := made.(*cron.SpecSchedule)
	if err != nil || !ok {
		return nil, fmt.Sprintf("cron does not take %q", entity.Brief(text)), example
	}
	spec.Location = time.UTC
	if leapYear := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); spec.Next(leapYear).IsZero() {
		return nil, "cron names a day that never comes", "name a day that its month has"
	}
	return spec, "", ""
}

// wellFormed reports whether each entry of a field's list has the shape of one.
func wellFormed(field string) bool {
	for item := range strings.SplitSeq(field, ",") {
		m := cronItem.FindStringSubmatch(item)
		if m == nil || m[1] == "*" && m[2] != "" {
			return false
		}
	}
	return true
}

// sundays writes days of the week without the number 7, which is Sunday to people
// and nothing to the parser: "5-7" and "fri-sun" are 5,6,0.
func sundays(field string) string {
	items := strings.Split(field, ",")
	for i, item := range items {
		m := cronItem.FindStringSubmatch(item)
		if m == nil {
			continue
		}
		first, last := weekday(m[1]), weekday(m[1])
		if m[3] != "" {
			last = weekday(m[3])
		}
		step, _ := strconv.Atoi(strings.TrimPrefix(m[4], "/"))
		switch {
		case first == 7 && m[3] == "":
			items[i] = "0"
		case last == 7 || last == 0 && first > 0 && strings.EqualFold(m[3], "sun"):
			if days := week(first, max(step, 1)); len(days) > 0 && (m[4] == "" || step > 0) {
				items[i] = strings.Join(days, ",")
			}
		}
	}
	return strings.Join(items, ",")
}

// week lists every step-th day from first to the Sunday that ends the week.
func week(first, step int) []string {
	var days []string
	for d := first; d >= 0 && d <= 7; d += step {
		days = append(days, strconv.Itoa(d%7))
	}
	return days
}

// weekday gives the number of a day of the week, -1 for none.
func weekday(word string) int {
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	return slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(word))
}

// within holds a schedule to a part of the day. It reports false when no time of
// the schedule lies in it. Hours of the clock that lie outside are taken out of the
// schedule itself, so that looking for the next slot does not walk through a night
// minute by minute.
func (s *schedule) within(w window) bool {
	var kept uint64
	for m := range day {
		if hour := uint64(1) << (m / 60); s.spec.Hour&hour != 0 && s.spec.Minute&(1<<(m%60)) != 0 && w.minute(m) {
			kept |= hour
		}
	}
	s.hours = w
	held := *s.spec
	held.Hour = kept
	s.spec = &held
	return kept != 0
}
