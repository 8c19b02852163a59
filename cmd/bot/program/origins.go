package program

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"attache"
	"attache/gateway"
	"attache/gateway/mind"
	"attache/gateway/posts"
	"attache/internal/brain"
	"attache/internal/conversation"
	"attache/internal/store"
	"attache/origins"
)

// posted keeps what was said with an origin, in the transaction that records it as
// sent: what a reply to it brings back, and for a run's words their place in the
// history of where they stand (decisions § 3.11).
func (p *Program) posted(ctx context.Context, tx store.Tx, said posts.Posted) error {
	if err := p.origins.Put(ctx, tx, origins.Post{Place: said.Place, Messages: said.Messages, Origin: said.Origin}); err != nil {
		return err
	}
	if said.Origin.Run == "" || said.Text == "" {
		return nil
	}
	return p.talks.Post(ctx, tx, conversation.Aside{Place: said.Place, Key: said.Origin.Pinned, Mark: said.Origin.Run, Text: said.Text})
}

// parents tells what posts of a place brought with them that are replied to. A post
// of another chat brings nothing (decisions § 3.9), unless it is the same group by
// the number that it had before it became a supergroup.
func (p *Program) parents(ctx context.Context, b *brain.Brain, at attache.Place, of []mind.Post) (map[mind.Post]mind.Parent, error) {
	former, moved := p.gateway.Formerly(at.Bot, at.Chat)
	ids := map[mind.Post]attache.MessageID{}
	for _, post := range of {
		switch {
		case post.Chat == at.Chat:
			ids[post] = post.ID
		case moved && post.Chat == former:
			ids[post] = gateway.Moved(post.ID)
		}
	}
	records, err := p.origins.Of(ctx, at.Bot, at.Chat, slices.Collect(maps.Values(ids)))
	if err != nil {
		return nil, err
	}
	out := map[mind.Post]mind.Parent{}
	for post, id := range ids {
		reach, why := origins.FromReply(records, id, b.Frame.Manifest.MessageOrigins.RetentionDays)
		out[post] = mind.Parent{Reach: reach, Why: why, Lines: records[id].Origin.Lines}
	}
	return out, nil
}

// origin decides what a tool's send remembers, or refuses it (decisions § 2).
func (p *Program) origin(ctx context.Context, c attache.Call, to attache.Place, about attache.About) (*attache.Origin, string, error) {
	b := p.brain.Current()
	at, target := p.pin(ctx, b, c.Place), p.pin(ctx, b, to)
	send := origins.Send{
		Run: c.Run, About: about, At: at, To: target, Role: c.Role,
		Fact: b.Contexts.Fact, Admits: b.Admission(c.Role).Admits,
	}
	if _, _, refusal := origins.ForSend(send); refusal != "" {
		return nil, refusal, nil
	}
	send.At = c.Pin // what the turn knows is of the key that it began under
	o, left, refusal := origins.ForSend(send)
	for _, l := range left {
		p.log.Info("a context is left out of what a reply brings back", "turn", c.Turn, "why", l.Entry.String()+": "+l.Why)
	}
	switch {
	case o == nil || target.Unread:
	case to == c.Place:
		o.Pinned = c.Pin.String()
	default:
		o.Pinned = target.String()
	}
	return o, refusal, nil
}

// lets says why a turn may not write into another place (decisions § 3.15): what is
// held to a key leaves its place only for one with the same key, or for an owner.
// Approvals, which could let it, are not there yet, so it is refused. What held the
// place when the turn began holds its words to the end, whatever a tool has bound or
// unbound meanwhile.
func (p *Program) lets(ctx context.Context, c attache.Call, to attache.Place) (refusal string, err error) {
	b := p.brain.Current()
	if c.Place.Chat == 0 || to.Chat == c.Place.Chat && to.Thread == c.Place.Thread {
		return "", nil
	}
	at, target := p.pin(ctx, b, c.Place), p.pin(ctx, b, to)
	switch {
	case at.Unread || target.Unread || c.Pin.Unread:
		return "what this place and that one are bound to cannot be read now; try again later", nil
	case at.Within(target) && c.Pin.Within(target):
		return "", nil
	case to.Chat.Private() && b.Policy.Owner(attache.UserID(int64(to.Chat))):
		return "", nil
	case !at.Within(target):
		return fmt.Sprintf("this place is bound to %s, so what is said here may go to %s only with an owner's approval, which this version cannot ask for; write here, or to an owner in private", at, to.Chat), nil
	}
	return fmt.Sprintf("this turn began while this place was bound to %s, so what it knows may not go to %s; write here, or to an owner in private", c.Pin, to.Chat), nil
}

// pin is what a place holds a bot to. A run without a place is held to nothing.
func (p *Program) pin(ctx context.Context, b *brain.Brain, at attache.Place) attache.Pin {
	if at.Chat == 0 {
		return attache.Pin{}
	}
	bindings, unread := p.bindings(ctx, b, at)
	pin := attache.NewPin(at.Bot, bindings)
	pin.Unread = unread
	return pin.Keyed(b.Contexts.Keyed)
}
