package program

import (
	"context"
	"maps"
	"slices"

	"attache"
	"attache/gateway/aliases"
	"attache/internal/brain"
)

// bindings gives what access.yaml and tools bind a place to. A database that is away is
// waited for; if what tools bound cannot be read for another reason, unread says so,
// and no context with a key is let in (decisions § 3.6).
func (p *Program) bindings(ctx context.Context, b *brain.Brain, place attache.Place) (list []attache.Binding, unread bool) {
	var t ties
	err := p.db.Retry(ctx, "reading what a place is bound to", func(ctx context.Context) (err error) {
		t, err = p.tied(ctx, []attache.Place{place})
		return err
	})
	if err != nil && ctx.Err() == nil {
		p.log.Error("what a place is bound to cannot be read", "bot", place.Bot, "chat", place.Chat, "thread", place.Thread, "err", err)
	}
	return p.bound(b, place, t), err != nil
}

// keys gives what places are held to by the brain of now, for messages that come
// there: two queries for any number of them.
func (p *Program) keys(ctx context.Context, at []attache.Place) (map[attache.Place]string, error) {
	t, err := p.tied(ctx, at)
	if err != nil {
		return nil, err
	}
	b, out := p.brain.Current(), make(map[attache.Place]string, len(at))
	for _, place := range at {
		out[place] = attache.NewPin(place.Bot, p.bound(b, place, t)).Keyed(b.Contexts.Keyed).String()
	}
	return out, nil
}

// ties are what tools bound, and the numbers by which the chats are known.
type ties struct {
	numbers map[attache.ChatID][]attache.ChatID
	of      map[attache.Place][]attache.Binding
}

// tied reads what tools bound places to. A bot that has not heard of its group's new
// number speaks under the old one when the ties have moved already, so every number of
// a chat is asked for.
func (p *Program) tied(ctx context.Context, at []attache.Place) (t ties, err error) {
	chats := map[attache.ChatID]bool{}
	for _, place := range at {
		chats[place.Chat] = true
	}
	if t.numbers, err = aliases.NumbersOf(ctx, p.db, slices.Collect(maps.Keys(chats))); err != nil {
		return ties{}, err
	}
	asked := map[attache.Place]bool{}
	for _, place := range at {
		for _, chat := range t.numbers[place.Chat] {
			asked[attache.Place{Bot: place.Bot, Chat: chat, Thread: place.Thread}] = true
		}
	}
	t.of, err = p.ties.AtEach(ctx, slices.Collect(maps.Keys(asked)))
	return t, err
}

// bound puts together what the brain and tools bind a place to. Where a group became a
// supergroup the file may still name the old number (decisions § 3.8).
func (p *Program) bound(b *brain.Brain, place attache.Place, t ties) (list []attache.Binding) {
	numbers := t.numbers[place.Chat]
	if old, ok := p.formerly(place.Chat); ok && len(numbers) == 0 {
		numbers = []attache.ChatID{place.Chat, old}
	}
	named := place.Chat
	for _, chat := range slices.Backward(numbers) { // its own number before the other one
		if b.Policy.Mentions(chat) {
			named = chat
		}
	}
	for _, x := range b.Policy.Bindings(named, place.Thread) {
		list = append(list, x.Plain())
	}
	for _, chat := range numbers {
		list = append(list, t.of[attache.Place{Bot: place.Bot, Chat: chat, Thread: place.Thread}]...)
	}
	return list
}
