package program

import (
	"attache/internal/brain"
	"attache/internal/doctor"
)

// waits tells in the log what of an edited brain has no effect before the next start
// (interface § 3), once for each thing: who saves a schema.sql and sees that the brain
// was read again would believe that it counts.
func (p *Program) waits(b *brain.Brain) {
	for _, f := range doctor.Restart(p.began, b) {
		if why := f.File + ": " + f.What; !p.waiting[why] {
			p.waiting[why] = true
			p.log.Warn("an edit waits for the next start", "why", why)
		}
	}
}
