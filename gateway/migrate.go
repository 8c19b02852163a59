package gateway

import (
	"context"

	"attache"
	"attache/gateway/aliases"
	"attache/internal/store"
)

// moved is the number, in SQL, that a group's message has in the supergroup: far
// below all others, because Telegram counts anew there, and a new message must not
// be taken for an old one of the same number. What is negative is no message's
// number and stays.
const moved = `case when message > 0 then message - (1::bigint << 40) else message end`

// Moved is the number that a group's message has in the supergroup, for those who
// look it up by the number that it had; see moved.
func Moved(id attache.MessageID) attache.MessageID { return id - 1<<40 }

// migrate moves everything of a group to the number it has as a supergroup, in
// the transaction that handles the notice (decisions § 3.8). Telegram tells it
// twice, once in each chat, and a refused send tells it too: the second time does
// nothing. It gives the turns that wait under the new number.
func (g *Gateway) migrate(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) (waiting []int64, err error) {
	news, err := aliases.Record(ctx, tx, bot, m)
	if err != nil || !news {
		return nil, err
	}
	g.former.Note(bot, m)
	g.log.Info("a group became a supergroup; its conversation goes on under the new number", "bot", bot, "chat", m.To, "why", "was "+m.From.String())
	for _, sql := range []string{
		`update attache.messages set chat = $3, message = ` + moved + ` where bot = $1 and chat = $2`,
		// Where the new chat has a waiting turn already, the old one's messages are
		// its messages now and the old turn is dropped.
		`delete from attache.turns o where bot = $1 and chat = $2 and state = 'waiting' and task is null and exists (
			select 1 from attache.turns n where n.bot = $1 and n.chat = $3 and n.thread = o.thread and n.state = 'waiting' and n.task is null)`,
		// Two turns that run cannot share a place: the old one ends under its old number.
		`update attache.turns o set chat = $3 where bot = $1 and chat = $2 and not (state = 'running'
			and exists (select 1 from attache.turns n where n.bot = $1 and n.chat = $3 and n.thread = o.thread and n.state = 'running'))`,
	} {
		if _, err := tx.Exec(ctx, sql, bot, m.From, m.To); err != nil {
			return nil, err
		}
	}
	if err := g.posts.Move(ctx, tx, bot, m); err != nil {
		return nil, err
	}
	if err := g.o.Moved(ctx, tx, bot, m); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `select id from attache.turns where bot = $1 and chat = $2 and state = 'waiting'`, bot, m.To)
	if err != nil {
		return nil, err
	}
	return collect[int64](rows)
}

// heardOfMove records a migration that a refused send told of. Turns that wait in
// the group need no start from here: they keep their numbers, and so their timers.
func (g *Gateway) heardOfMove(ctx context.Context, bot attache.BotID, m attache.Migration) error {
	return g.db.Retry(ctx, "recording a group's new number", func(ctx context.Context) error {
		return g.db.InTx(ctx, func(tx store.Tx) error {
			_, err := g.migrate(ctx, tx, bot, m)
			return err
		})
	})
}

// Formerly gives the number that a supergroup had as a group, for rules that still
// name the old one; false when it is not known to have had another.
func (g *Gateway) Formerly(bot attache.BotID, chat attache.ChatID) (attache.ChatID, bool) {
	return g.former.Of(bot, chat)
}
