package access

import (
	"testing"

	"attache"
)

// Whom a dry run lets write is always let in, if anybody is.
func TestSomebodyIsLetIn(t *testing.T) {
	p := policy(t, whole)
	for _, c := range []struct {
		at   attache.Place
		want attache.PersonID
	}{
		{place("nova", -1001234567890, 42), "tg:user:5"},     // people before chats and bots
		{place("nova", -1001234567890, 0), "tg:user:111111"}, // an empty list: the owner is let in all the same
		{place("nova", -1001234567890, 7), "tg:user:1"},
		{place("nova", -77, 0), "tg:user:1"},
		{place("nova", 9, 0), "tg:user:5"},
		{place("vega", -1001234567890, 0), "tg:user:111111"},
		{place("vega", -77, 0), ""},
	} {
		r := p.For(c.at, "")
		got := r.Somebody()
		if admitted, why := r.Admits(got); got != c.want || admitted != (c.want != "") {
			t.Errorf("%v: %q, want %q; let in: %t, %s", c.at, got, c.want, admitted, why)
		}
	}
}
