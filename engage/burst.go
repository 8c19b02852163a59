package engage

import (
	"time"

	"attache"
)

// Limits of a burst. The numbers are those of peers' reports (traps.md, Merging a
// burst): album items arrive one update each, and clients cut a long text at
// 4,096 units and send the rest as a second message.
const (
	albumQuiet  = 1500 * time.Millisecond
	splitQuiet  = 1500 * time.Millisecond
	splitUnits  = 4000
	longestWait = 20 * time.Second
)

// Quiet gives the time without a further message that ends the burst which m
// belongs to: merge, the rule's own (interface § 3, `merge:`), but longer after an
// item of an album or a text so long that the client may have cut it.
func Quiet(m attache.Message, merge time.Duration) time.Duration {
	if m.Album != "" {
		return max(merge, albumQuiet)
	}
	if attache.UTF16Len(m.Text) >= splitUnits {
		return max(merge, splitQuiet)
	}
	return merge
}

// Longest gives the time after which a burst ends even if messages keep coming,
// so that a lively chat is answered too.
func Longest(quiet time.Duration) time.Duration {
	return max(longestWait, 4*quiet)
}
