package posts

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Inherit makes the chrome of dead processes this process's own and gives their
// calls without a result the fate unknown; posts of turns follow their turns. It
// gives the number of such calls, and what is to be done about them when the
// transaction has committed: before that nothing has happened that could be told.
func (o *Office) Inherit(ctx context.Context, tx store.Tx, dead []string) (lost int, after func(), err error) {
	rows, err := tx.Query(ctx, `update attache.posts set executor = $1,
			state = case state when 'sending' then 'unknown' else state end,
			why = case state when 'sending' then $3 else why end,
			done = case state when 'sending' then now() end
		where turn is null and state in ('intent', 'sending') and executor = any($2) returning `+rowColumns, o.executor, dead, interrupted().Why)
	if err != nil {
		return 0, nil, err
	}
	all, err := pgx.CollectRows(rows, readRow)
	var unknown []row
	for _, r := range all {
		if r.state == "unknown" {
			unknown = append(unknown, r)
		}
	}
	return len(unknown), func() {
		for _, r := range unknown {
			o.count(r.place.Bot, attache.FateUnknown)
			o.tell(r, r.delivery())
		}
	}, err
}

// DropIntents gives up what a stopped turn had not begun to send, its answer and
// what its tools wanted to say.
func (o *Office) DropIntents(ctx context.Context, turn int64) error {
	return o.db.Retry(ctx, "dropping posts", func(ctx context.Context) error {
		_, err := o.db.Pool().Exec(ctx, `
			with dropped as (update attache.posts set state = 'dropped', why = 'the turn was stopped', done = now()
				where turn = $1 and state = 'intent' returning id)
			delete from attache.post_files where post in (select id from dropped)`, turn)
		return err
	})
}

// Move gives the ended posts of a migrated group its new number. What waits keeps
// the old one, which stands in the call's own bytes: Telegram refuses that call and
// tells the new number, and the part is pointed there.
func (o *Office) Move(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error {
	if _, err := tx.Exec(ctx, `update attache.posts set chat = $3 where bot = $1 and chat = $2 and state not in ('intent', 'sending')`, bot, m.From, m.To); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from attache.holds where bot = $1 and chat = $2`, bot, m.From)
	return err
}

// bite is how many rows one statement deletes: a long one would hold its locks and
// its part of the log for as long.
const bite = 5000

// Forget deletes posts that are older than keep, and pauses that are long over. A
// post without an end counts from its beginning: nobody will send it any more.
func (o *Office) Forget(ctx context.Context, keep time.Duration) error {
	for {
		tag, err := o.db.Pool().Exec(ctx, `delete from attache.posts where id in (
			select id from attache.posts where coalesce(done, at) < now() - $1::interval limit $2)`, keep, bite)
		if err != nil {
			return err
		}
		if tag.RowsAffected() < bite {
			break
		}
	}
	_, err := o.db.Pool().Exec(ctx, `delete from attache.holds where until < now() - interval '1 hour'`)
	return err
}

// Hold keeps a pause that Telegram asked for. A longer one that is known stays:
// answers to calls that ran side by side come in any order.
func (o *Office) Hold(ctx context.Context, h attache.Hold) {
	_, err := o.db.Pool().Exec(ctx, `insert into attache.holds (bot, chat, until) values ($1, $2, $3)
		on conflict (bot, chat) do update set until = greatest(holds.until, excluded.until)`, h.Bot, h.Chat, h.Until)
	if err != nil && ctx.Err() == nil {
		o.log.Warn("a pause that Telegram asked for could not be kept over a restart", "bot", h.Bot, "chat", h.Chat, "err", err)
	}
}

// Holds gives the pauses of a bot that are not over.
func (o *Office) Holds(ctx context.Context, bot attache.BotID) ([]attache.Hold, error) {
	rows, err := o.db.Pool().Query(ctx, `select chat, until from attache.holds where bot = $1 and until > now()`, bot)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (attache.Hold, error) {
		h := attache.Hold{Bot: bot}
		err := r.Scan(&h.Chat, &h.Until)
		return h, err
	})
}
