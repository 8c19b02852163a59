package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// migrate moves everything of a group to the number it has as a supergroup, in
// the transaction that handles the notice (decisions § 3.8). Telegram tells it
// twice, once in each chat, and a refused send tells it too: the second time does
// nothing.
func (g *Gateway) migrate(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration, after *settled) error {
	tag, err := tx.Exec(ctx, `insert into attache.chat_aliases (bot, old_chat, new_chat) values ($1, $2, $3) on conflict do nothing`, bot, m.From, m.To)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	g.noteFormer(bot, m)
	g.log.Info("a group became a supergroup; its conversation goes on under the new number", "bot", bot, "chat", m.To, "why", "was "+m.From.String())
	for _, sql := range []string{
		`update attache.messages set chat = $3, message = ` + moved + ` where bot = $1 and chat = $2`,
		// Where the new chat has a waiting turn already, the old one's messages are
		// its messages now and the old turn is dropped.
		`delete from attache.turns o where bot = $1 and chat = $2 and state = 'waiting'
			and exists (select 1 from attache.turns n where n.bot = $1 and n.chat = $3 and n.thread = o.thread and n.state = 'waiting')`,
		`update attache.turns o set chat = $3 where bot = $1 and chat = $2 and not (state = 'running'
			and exists (select 1 from attache.turns n where n.bot = $1 and n.chat = $3 and n.thread = o.thread and n.state = 'running'))`,
		`update attache.posts set chat = $3 where bot = $1 and chat = $2 and state not in ('intent', 'sending')`,
		`delete from attache.holds where bot = $1 and chat = $2 and $3::bigint <> 0`,
	} {
		if _, err := tx.Exec(ctx, sql, bot, m.From, m.To); err != nil {
			return err
		}
	}
	if g.o.Moved != nil {
		if err := g.o.Moved(ctx, tx, bot, m); err != nil {
			return err
		}
	}
	rows, err := tx.Query(ctx, `select id from attache.turns where bot = $1 and chat = $2 and state = 'waiting'`, bot, m.To)
	if err != nil {
		return err
	}
	waiting, err := collect[int64](rows)
	for _, id := range waiting {
		if after != nil {
			after.due[id] = 0
		}
	}
	return err
}

// moved is the number, in SQL, that a group's message has in the supergroup: far
// below all others, because Telegram counts anew there, and a new message must not
// be taken for an old one of the same number. What is negative is no message's
// number and stays.
const moved = `case when message > 0 then message - (1::bigint << 40) else message end`

// formerKey is a migrated group as one bot sees it.
type formerKey struct {
	bot  attache.BotID
	chat attache.ChatID
}

// Formerly gives the number that a supergroup had as a group, for rules that still
// name the old one; false when it is not known to have had another.
func (g *Gateway) Formerly(bot attache.BotID, chat attache.ChatID) (attache.ChatID, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old, ok := g.former[formerKey{bot, chat}]
	return old, ok
}

// noteFormer remembers a migration as soon as Telegram tells of it: messages of the
// same batch are judged before it is recorded.
func (g *Gateway) noteFormer(bot attache.BotID, m attache.Migration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.former[formerKey{bot, m.To}] = m.From
}

// learnFormer looks up whether a supergroup that this process meets for the first
// time was a group before: another process may have handled the notice. It is
// asked once a chat, since the notice comes before everything else there.
func (g *Gateway) learnFormer(ctx context.Context, bot attache.BotID, chat attache.ChatID) error {
	k := formerKey{bot, chat}
	g.mu.Lock()
	known := g.met[k]
	g.mu.Unlock()
	if known || chat.Private() {
		return nil
	}
	var old attache.ChatID
	err := g.db.Pool().QueryRow(ctx, `select old_chat from attache.chat_aliases where bot = $1 and new_chat = $2`, bot, chat).Scan(&old)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.met[k] = true
	if err == nil {
		g.former[k] = old
	}
	return nil
}

// loadFormer reads the recorded migrations.
func (g *Gateway) loadFormer(ctx context.Context) error {
	rows, err := g.db.Pool().Query(ctx, `select bot, new_chat, old_chat from attache.chat_aliases`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k formerKey
		var old attache.ChatID
		if err := rows.Scan(&k.bot, &k.chat, &old); err != nil {
			return err
		}
		g.former[k] = old
	}
	return rows.Err()
}

// moved records a migration that a refused send told of.
func (g *Gateway) moved(ctx context.Context, bot attache.BotID, m attache.Migration) error {
	return g.db.Retry(ctx, "recording a group's new number", func(ctx context.Context) error {
		return g.db.InTx(ctx, func(tx store.Tx) error { return g.migrate(ctx, tx, bot, m, nil) })
	})
}

// Hold keeps a pause that Telegram asked for.
func (g *Gateway) Hold(h attache.Hold) {
	_, err := g.db.Pool().Exec(g.ctx, `insert into attache.holds (bot, chat, until) values ($1, $2, $3)
		on conflict (bot, chat) do update set until = greatest(holds.until, excluded.until)`, h.Bot, h.Chat, h.Until)
	if err != nil && g.ctx.Err() == nil {
		g.log.Warn("a pause that Telegram asked for could not be kept over a restart", "bot", h.Bot, "chat", h.Chat, "err", err)
	}
}

// Holds gives the pauses of a bot that are not over.
func (g *Gateway) Holds(ctx context.Context, bot attache.BotID) ([]attache.Hold, error) {
	rows, err := g.db.Pool().Query(ctx, `select chat, until from attache.holds where bot = $1 and until > now()`, bot)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var holds []attache.Hold
	for rows.Next() {
		h := attache.Hold{Bot: bot}
		if err := rows.Scan(&h.Chat, &h.Until); err != nil {
			return nil, err
		}
		holds = append(holds, h)
	}
	return holds, rows.Err()
}

// forget deletes what is older than its retention, at the start and each hour, in
// small bites: handled updates, ended turns with their messages and posts, and
// the engine's journal of ended work after an hour (architecture § 3).
func (g *Gateway) forget(ctx context.Context) {
	for {
		if err := g.forgetOnce(ctx); err != nil && ctx.Err() == nil && !store.Transient(err) {
			g.log.Error("old rows could not be deleted; it is tried again in an hour", "err", err)
		}
		if pause(ctx, time.Hour) != nil {
			return
		}
	}
}

func (g *Gateway) forgetOnce(ctx context.Context) error {
	keep := Retention{7 * 24 * time.Hour, 30 * 24 * time.Hour, 90 * 24 * time.Hour}
	if g.o.Keep != nil {
		keep = g.o.Keep()
	}
	for _, old := range []struct {
		sql  string
		keep time.Duration
	}{
		{`delete from attache.updates where (bot, update_id) in (
			select bot, update_id from attache.updates where state <> 'new' and at < now() - $1::interval limit 5000)`, keep.Updates},
		{`delete from attache.messages where seq in (select seq from attache.messages
			where turn is null and role = 'room' and at < now() - $1::interval limit 5000)`, keep.Room},
		{`delete from attache.messages where seq in (select m.seq from attache.messages m join attache.turns t on t.id = m.turn
			where t.ended < now() - $1::interval limit 5000)`, keep.Turns},
		{`delete from attache.posts where id in (select id from attache.posts where done < now() - $1::interval limit 5000)`, keep.Turns},
		{`delete from attache.turns where id in (select id from attache.turns where ended < now() - $1::interval limit 5000)`, keep.Turns},
		{`delete from attache.holds where until < now() - $1::interval`, time.Hour},
	} {
		for {
			tag, err := g.db.Pool().Exec(ctx, old.sql, old.keep)
			if err != nil {
				return err
			}
			if tag.RowsAffected() < 5000 {
				break
			}
		}
	}
	if g.o.Forget != nil {
		if err := g.o.Forget(ctx, time.Now().Add(-keep.Turns)); err != nil {
			return err
		}
	}
	for {
		n, err := g.o.Engine.Forget(time.Now().Add(-time.Hour))
		if err != nil || n == 0 {
			return err
		}
	}
}

// stoppedTurns names this process's running turns that were told to stop.
func (g *Gateway) stoppedTurns(ctx context.Context) ([]int64, error) {
	rows, err := g.db.Pool().Query(ctx, `select id from attache.turns where state = 'running' and stop and executor = $1`, g.o.Executor)
	if err != nil {
		return nil, err
	}
	return collect[int64](rows)
}
