package origins

import (
	"fmt"
	"time"

	"attache"
)

// Record is what is stored of one message.
type Record struct {
	Place  attache.Place // where it was posted
	Origin attache.Origin
	Held   bool          // something waits for an answer to it, such as an approval
	Age    time.Duration // since it was stored, by the database's clock at the moment of reading
}

// FromReply gives the reach that a reply to a message of the place links to, from
// the records that Store.Of found there. Without one it says why in one clause; a
// record whose origin holds nothing gives neither. Only records that are neither
// held nor an owner's own lines expire (matrix C11, C12), after days of 24 hours
// (MANIFEST messageOrigins.retentionDays); 0 keeps for ever.
func FromReply(records map[attache.MessageID]Record, to attache.MessageID, retentionDays int) (reach attache.Reach, why string) {
	r, known := records[to]
	switch keep := retention(retentionDays); {
	case !known:
		return nil, fmt.Sprintf("message %d has no origin", to)
	case r.Age > keep && !r.Held && !r.Origin.Lines:
		return nil, fmt.Sprintf("the origin of message %d is expired: older than messageOrigins.retentionDays (%d)", to, retentionDays)
	}
	return r.Origin.Reach, ""
}

// ever is longer than anything is kept, and in reach of the database's clock.
const ever = 200 * 365 * 24 * time.Hour

// retention gives how long records are kept.
func retention(days int) time.Duration {
	const day = 24 * time.Hour
	if days <= 0 || days > int(ever/day) {
		return ever
	}
	return time.Duration(days) * day
}
