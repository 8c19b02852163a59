package program

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/access"
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
// there: one query for any number of them, and another for groups that moved.
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

// ties are what tools bound, and the other numbers by which the chats are known.
type ties struct {
	others map[attache.ChatID][]attache.ChatID
	of     map[attache.Place][]attache.Binding
	read   bool
}

// tied reads what tools bound places to. A bot that has not heard of its group's new
// number speaks under the old one when the ties have moved already, so every number of
// a chat is asked for: the others last, as ties that move meanwhile move there.
func (p *Program) tied(ctx context.Context, at []attache.Place) (t ties, err error) {
	chats := map[attache.ChatID]bool{}
	for _, place := range at {
		chats[place.Chat] = true
	}
	var first, second pgx.Batch
	t.of = access.Queue(&first, at)
	t.others = aliases.QueueOthers(&first, slices.Collect(maps.Keys(chats)))
	if err := p.db.Pool().SendBatch(ctx, &first).Close(); err != nil {
		return ties{}, err
	}
	moved := map[attache.Place]bool{}
	for _, place := range at {
		for _, chat := range t.others[place.Chat] {
			moved[attache.Place{Bot: place.Bot, Chat: chat, Thread: place.Thread}] = true
		}
	}
	if len(moved) > 0 {
		of := access.Queue(&second, slices.Collect(maps.Keys(moved)))
		if err := p.db.Pool().SendBatch(ctx, &second).Close(); err != nil {
			return ties{others: t.others}, err
		}
		maps.Copy(t.of, of)
	}
	t.read = true
	return t, nil
}

// bound puts together what the brain and tools bind a place to. Where a group became a
// supergroup the file may still name the old number (decisions § 3.8).
func (p *Program) bound(b *brain.Brain, place attache.Place, t ties) (list []attache.Binding) {
	numbers := append([]attache.ChatID{place.Chat}, t.others[place.Chat]...)
	if old, ok := p.formerly(place.Chat); ok && !t.read {
		numbers = append(numbers, old)
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
