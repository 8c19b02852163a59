package origins

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"attache"
)

const day = 24 * time.Hour

// A record links until it is older than the retention, and for ever where something
// holds it.
func TestFromReply(t *testing.T) {
	reach := attache.Reach{{Context: "ticket", Key: "T-1"}, {Context: "kb"}}
	of := func(age time.Duration, held, lines bool) Record {
		return Record{Origin: attache.Origin{Run: "hook:new", Reach: reach, Lines: lines}, Held: held, Age: age}
	}
	for _, c := range []struct {
		what string
		r    Record
		days int
		why  string
	}{
		{"young", of(time.Hour, false, false), 365, ""},
		{"as old as is kept", of(365*day, false, false), 365, ""},
		{"older", of(365*day+time.Microsecond, false, false), 365, "the origin of message 7 is expired: older than messageOrigins.retentionDays (365)"},
		{"a day old of one day", of(day+time.Second, false, false), 1, "the origin of message 7 is expired: older than messageOrigins.retentionDays (1)"},
		{"for ever", of(100*365*day, false, false), 0, ""},
		{"of more days than a duration counts", of(100*365*day, false, false), math.MaxInt, ""},
		{"a card that waits", of(1000*day, true, false), 365, ""},
		{"an owner's lines", of(1000*day, false, true), 365, ""},
		{"a clock that went back", of(-time.Hour, false, false), 1, ""},
	} {
		got, why := FromReply(map[attache.MessageID]Record{7: c.r}, 7, c.days)
		want := reach
		if c.why != "" {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" || why != c.why {
			t.Errorf("%s: %s, %q", c.what, diff, why)
		}
	}
	if got, why := FromReply(nil, 7, 365); got != nil || why != "message 7 has no origin" {
		t.Errorf("a message without a record gives %v, %q", got, why)
	}
}
