package program

import (
	"attache"
	"attache/access"
	"attache/internal/brain"
)

// ruling gives what holds in a place. Where a group became a supergroup, the rule
// under its old number holds on until the file names the new one (decisions § 3.8).
func (p *Program) ruling(b *brain.Brain, place attache.Place, kind string) access.Ruling {
	if !place.Chat.Private() && !b.Policy.Mentions(place.Chat) {
		if old, ok := p.gateway.Formerly(place.Bot, place.Chat); ok && b.Policy.Mentions(old) {
			was := place
			was.Chat = old
			return b.Policy.For(was, kind)
		}
	}
	return b.Policy.For(place, kind)
}
