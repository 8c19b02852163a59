// Package aliases is the numbers that groups had before they became supergroups, each as
// the bot knows it that heard of the move (`chat_aliases`): files, old messages and what
// people remember still name them. The table is made by the migrations of gateway.
package aliases

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Record writes down that a group has another number now, as a bot was told. news is
// false when it was known: Telegram tells it more than once.
func Record(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) (news bool, err error) {
	tag, err := tx.Exec(ctx, `insert into attache.chat_aliases (bot, old_chat, new_chat) values ($1, $2, $3) on conflict do nothing`, bot, m.From, m.To)
	return err == nil && tag.RowsAffected() > 0, err
}

// Known are the old numbers of migrated groups, in memory because each judged
// message of a group asks for one.
type Known struct {
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

// New knows of no group yet; see Load.
func New(db *store.DB) *Known {
	return &Known{db: db, old: map[seenChat]attache.ChatID{}, met: map[seenChat]bool{}}
}

// Of gives the number that a supergroup had as a group; false when it is not known to
// have had another.
func (f *Known) Of(bot attache.BotID, chat attache.ChatID) (attache.ChatID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, ok := f.old[seenChat{bot, chat}]
	return old, ok
}

// Note remembers a migration as soon as Telegram tells of it: messages of the same
// batch are judged before it is recorded. If the record fails the note stays, which
// is right: what Telegram told is true.
func (f *Known) Note(bot attache.BotID, m attache.Migration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.old[seenChat{bot, m.To}] = m.From
}

// Learn looks up whether a supergroup that this process meets for the first time
// was a group before: another process may have handled the notice. It is asked
// once a chat, since the notice comes before everything else there.
func (f *Known) Learn(ctx context.Context, bot attache.BotID, chat attache.ChatID) error {
	k := seenChat{bot, chat}
	f.mu.Lock()
	known := f.met[k]
	f.mu.Unlock()
	if known || chat.Private() {
		return nil
	}
	old, ok, err := Former(ctx, f.db, bot, chat)
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

// Former reads from the records which number a supergroup had as a group; false
// when it is not known to have had another.
func Former(ctx context.Context, db *store.DB, bot attache.BotID, chat attache.ChatID) (old attache.ChatID, ok bool, err error) {
	err = db.Pool().QueryRow(ctx, `select old_chat from attache.chat_aliases where bot = $1 and new_chat = $2`, bot, chat).Scan(&old)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return old, err == nil, err
}

// Current gives the number that a chat has now, which is its own unless it was a
// group that any of the bots saw become a supergroup. Files, old messages and what a
// model remembers still name the old number.
func Current(ctx context.Context, db *store.DB, chat attache.ChatID) (now attache.ChatID, err error) {
	err = db.Pool().QueryRow(ctx, `select new_chat from attache.chat_aliases where old_chat = $1 limit 1`, chat).Scan(&now)
	if errors.Is(err, pgx.ErrNoRows) {
		return chat, nil
	}
	return now, err
}

// Numbers gives the numbers by which a chat is known: its own first and, for a group
// that any of the bots saw become a supergroup, the other one.
func Numbers(ctx context.Context, db *store.DB, chat attache.ChatID) ([]attache.ChatID, error) {
	var b pgx.Batch
	others := QueueOthers(&b, []attache.ChatID{chat})
	err := db.Pool().SendBatch(ctx, &b).Close()
	return append([]attache.ChatID{chat}, others[chat]...), err
}

// QueueOthers asks, as one query of a batch, for the other numbers by which chats are
// known: those of groups that any of the bots saw become supergroups. They are there
// when the batch was read without an error.
func QueueOthers(b *pgx.Batch, chats []attache.ChatID) map[attache.ChatID][]attache.ChatID {
	out := map[attache.ChatID][]attache.ChatID{}
	b.Queue(`
		select old_chat, new_chat from attache.chat_aliases where old_chat = any($1)
		union select new_chat, old_chat from attache.chat_aliases where new_chat = any($1)`, chats).Query(func(rows pgx.Rows) error {
		var chat, other attache.ChatID
		_, err := pgx.ForEachRow(rows, []any{&chat, &other}, func() error {
			out[chat] = append(out[chat], other)
			return nil
		})
		return err
	})
	return out
}

// Load reads the recorded migrations. There are few: a group moves once.
func (f *Known) Load(ctx context.Context) error {
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
