package posts

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// ChromeWaits is SQL, a condition that holds while executor $1 has chrome to send.
// A process asks it each second together with everything else that may wait, so
// that an idle program costs one query a second.
const ChromeWaits = `exists (select 1 from attache.posts where turn is null and state = 'intent' and executor = $1)`

// PutChrome writes down something that the engine itself says, in the transaction
// of the reason why it is said. SendChrome sends it after the commit.
func (o *Office) PutChrome(ctx context.Context, tx store.Tx, what attache.Outgoing) error {
	if what.File != nil {
		return errors.New("the engine itself sends no files")
	}
	for _, p := range o.forms.Compose(what) {
		if _, err := tx.Exec(ctx, `
			insert into attache.posts (part, bot, chat, thread, method, params, text, format, state, executor, origin)
			values (0, $1, $2, $3, $4, $5, $6, $7, 'intent', $8, $9)`,
			what.Place.Bot, what.Place.Chat, what.Place.Thread, p.Method, []byte(p.Params), clean(p.Text), string(p.Format), o.executor, column(what.Origin)); err != nil {
			return err
		}
	}
	return nil
}

// SendChrome begins to send the chrome of this process that waits, each piece by
// itself: a chat that Telegram put on hold does not keep the others from an answer.
// Chrome of a bot that this process does not serve yet waits on. A piece that ctx
// ends before its call is an intent still; the next process takes it up.
func (o *Office) SendChrome(ctx context.Context) {
	rows, err := o.waitingChrome(ctx)
	if err != nil {
		return // the next look, a second later, finds it again
	}
	for _, r := range rows {
		c := o.courier(r.place.Bot)
		if c == nil || !o.begin(r.id) {
			continue
		}
		go func() {
			defer o.end(r.id)
			p := &posting{o: o, courier: c, rows: []row{r}}
			if err := p.all(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, ErrTaken) {
				o.log.Error("chrome could not be brought to its end", "bot", r.place.Bot, "chat", r.place.Chat, "part", r.id, "err", err)
			}
		}()
	}
}

// waitingChrome reads the chrome of this process that is not sent yet.
func (o *Office) waitingChrome(ctx context.Context) (rows []row, err error) {
	err = o.db.Retry(ctx, "reading chrome", func(ctx context.Context) error {
		r, err := o.db.Pool().Query(ctx, `select `+rowColumns+` from attache.posts
			where turn is null and state = 'intent' and executor = $1 order by id`, o.executor)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(r, readRow)
		return err
	})
	return rows, err
}

// Idle reports whether no chrome is on its way.
func (o *Office) Idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sending) == 0
}

// begin notes that a piece of chrome is on its way; false: it already is. While it
// waits at the gate its row is an intent, which each look finds again.
func (o *Office) begin(id int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending[id] {
		return false
	}
	o.sending[id] = true
	return true
}

func (o *Office) end(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sending, id)
}
