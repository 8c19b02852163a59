package gateway

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"attache"
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
	tag, err := tx.Exec(ctx, `insert into attache.chat_aliases (bot, old_chat, new_chat) values ($1, $2, $3) on conflict do nothing`, bot, m.From, m.To)
	if err != nil || tag.RowsAffected() == 0 {
		return nil, err
	}
	g.former.note(bot, m)
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
	return g.former.of(bot, chat)
}

// formers are the old numbers of migrated groups, in memory because each judged
// message of a group asks for one.
type formers struct {
	db  *store.DB
	mu  sync.Mutex
	old map[seenChat]attache.ChatID
	met map[seenChat]bool // whose old number, if any, is known
}

// seenChat is a chat as one bot sees it.
type seenChat struct {
	bot  attache.BotID
	chat attache.ChatID
}

func newFormers(db *store.DB) *formers {
	return &formers{db: db, old: map[seenChat]attache.ChatID{}, met: map[seenChat]bool{}}
}

func (f *formers) of(bot attache.BotID, chat attache.ChatID) (attache.ChatID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, ok := f.old[seenChat{bot, chat}]
	return old, ok
}

// note remembers a migration as soon as Telegram tells of it: messages of the same
// batch are judged before it is recorded. If the record fails the note stays, which
// is right: what Telegram told is true.
func (f *formers) note(bot attache.BotID, m attache.Migration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.old[seenChat{bot, m.To}] = m.From
}

// learn looks up whether a supergroup that this process meets for the first time
// was a group before: another process may have handled the notice. It is asked
// once a chat, since the notice comes before everything else there.
func (f *formers) learn(ctx context.Context, bot attache.BotID, chat attache.ChatID) error {
	k := seenChat{bot, chat}
	f.mu.Lock()
	known := f.met[k]
	f.mu.Unlock()
	if known || chat.Private() {
		return nil
	}
	old, ok, err := OldNumber(ctx, f.db, bot, chat)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.met[k] = true
	if ok {
		f.old[k] = old
	}
	return nil
}

// OldNumber reads from the records which number a supergroup had as a group; false
// when it is not known to have had another.
func OldNumber(ctx context.Context, db *store.DB, bot attache.BotID, chat attache.ChatID) (old attache.ChatID, ok bool, err error) {
	err = db.Pool().QueryRow(ctx, `select old_chat from attache.chat_aliases where bot = $1 and new_chat = $2`, bot, chat).Scan(&old)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return old, err == nil, err
}

// NewNumber gives the number that a chat has now, which is its own unless it was a
// group that any of the bots saw become a supergroup. Files, old messages and what a
// model remembers still name the old number.
func NewNumber(ctx context.Context, db *store.DB, chat attache.ChatID) (now attache.ChatID, err error) {
	err = db.Pool().QueryRow(ctx, `select new_chat from attache.chat_aliases where old_chat = $1 limit 1`, chat).Scan(&now)
	if errors.Is(err, pgx.ErrNoRows) {
		return chat, nil
	}
	return now, err
}

// Numbers gives the numbers by which a chat is known: its own first and, for a group
// that any of the bots saw become a supergroup, the other one.
func Numbers(ctx context.Context, db *store.DB, chat attache.ChatID) ([]attache.ChatID, error) {
	rows, err := db.Pool().Query(ctx, `select distinct case when old_chat = $1 then new_chat else old_chat end
		from attache.chat_aliases where $1 in (old_chat, new_chat)`, chat)
	if err != nil {
		return nil, err
	}
	others, err := collect[attache.ChatID](rows)
	return append([]attache.ChatID{chat}, others...), err
}

// load reads the recorded migrations. There are few: a group moves once.
func (f *formers) load(ctx context.Context) error {
	rows, err := f.db.Pool().Query(ctx, `select bot, new_chat, old_chat from attache.chat_aliases`)
	if err != nil {
		return err
	}
	var k seenChat
	var old attache.ChatID
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = pgx.ForEachRow(rows, []any{&k.bot, &k.chat, &old}, func() error {
		f.old[k] = old
		return nil
	})
	return err
}
