package posts

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// row is one row of attache.posts: a part and how far it has come.
type row struct {
	id       int64
	part     int
	state    string
	place    attache.Place
	messages []attache.MessageID
	why      string
	origin   *attache.Origin
	attache.Part
}

// ended reports whether nothing is left to do for the row.
func (r row) ended() bool { return r.state != "intent" && r.state != "sending" }

// delivery is the recorded outcome of a row that has ended. One that was dropped
// reads as refused: it did not arrive.
func (r row) delivery() attache.Delivery {
	d := attache.Delivery{Fate: attache.Fate(r.state), Messages: r.messages, Why: r.why}
	if r.state == "dropped" {
		d.Fate = attache.FateRefused
	}
	return d
}

const rowColumns = `id, part, state, bot, chat, thread, messages, why, method, params, text, format, origin`

func readRow(r pgx.CollectableRow) (row, error) {
	var x row
	var params []byte // jsonb would change the bytes of the call, and refuse some
	err := r.Scan(&x.id, &x.part, &x.state, &x.place.Bot, &x.place.Chat, &x.place.Thread, &x.messages, &x.why,
		&x.Method, &params, &x.Text, &x.Format, &x.origin)
	x.Params = params
	return x, err
}

// recall reads what an earlier execution of the turn wrote down for this answer or
// tool call, and makes this process its owner.
func (p *posting) recall(ctx context.Context) error {
	return p.o.db.Retry(ctx, "reading posts", func(ctx context.Context) error {
		rows, err := p.o.db.Pool().Query(ctx, `
			with mine as (update attache.posts set executor = $2 where turn = $1 and call = $3 returning `+rowColumns+`)
			select `+rowColumns+` from mine order by part`, p.turn, p.o.executor, p.call)
		if err != nil {
			return err
		}
		if p.rows, err = pgx.CollectRows(rows, readRow); err != nil {
			return err
		}
		return p.o.fetchFiles(ctx, p.rows)
	})
}

// intend writes parts down as intents, the first as `sending` when its turn at the
// gate is taken. Only the turn's owner can; for any other it is ErrTaken. All
// parts are written before the first is sent: what a crash leaves is the whole
// answer, and no model is asked for it again.
func (p *posting) intend(ctx context.Context, parts []attache.Part, origin *attache.Origin) error {
	n := len(parts)
	rows := make([]row, n)
	methods, texts, formats, states := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	params := make([][]byte, n)
	for i, part := range parts {
		rows[i] = row{part: i, state: "intent", place: p.said.Place, origin: origin, Part: part}
		if i == 0 && p.marked {
			rows[i].state = "sending"
		}
		methods[i], texts[i], formats[i], states[i], params[i] = part.Method, clean(part.Text), string(part.Format), rows[i].state, part.Params
	}
	// The write is repeated when its outcome was lost. `do update` and not `do
	// nothing`: only an updated row tells its id.
	write := func(ctx context.Context, db querier) error {
		ids, err := db.Query(ctx, `
			insert into attache.posts (turn, call, part, bot, chat, thread, method, params, text, format, state, executor, origin)
			select $1::bigint, $8, v.n - 1, $9, $10, $11, v.method, v.params, v.text, v.format, v.state, $2::text, $12
			from unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[])
				with ordinality as v(method, params, text, format, state, n)
			where exists (`+p.o.owned+`)
			order by v.n
			on conflict (turn, call, part) where turn is not null do update set executor = excluded.executor
			returning id, part`, p.turn, p.o.executor, methods, params, texts, formats, states,
			p.call, p.said.Place.Bot, p.said.Place.Chat, p.said.Place.Thread, column(origin))
		if err != nil {
			return err
		}
		return number(ids, rows)
	}
	err := p.o.db.Retry(ctx, "writing posts down", func(ctx context.Context) error {
		if !filed(rows) {
			return write(ctx, p.o.db.Pool())
		}
		return p.o.db.InTx(ctx, func(tx store.Tx) error {
			if err := write(ctx, tx); err != nil {
				return err
			}
			return putFiles(ctx, tx, rows)
		})
	})
	p.rows = rows
	return err
}

// querier is a connection of the pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// number gives written rows their ids; ErrTaken when not every row was written.
func number(ids pgx.Rows, rows []row) error {
	var id int64
	var part int
	tag, err := pgx.ForEachRow(ids, []any{&id, &part}, func() error {
		rows[part].id = id
		return nil
	})
	if err == nil && tag.RowsAffected() != int64(len(rows)) {
		return ErrTaken
	}
	return err
}

// markSending writes down that the call is about to be made.
func (o *Office) markSending(ctx context.Context, id int64) error {
	return o.db.Retry(ctx, "marking a post", func(ctx context.Context) error {
		tag, err := o.db.Pool().Exec(ctx, `update attache.posts set state = 'sending', tries = tries + 1
			where id = $1 and state in ('intent', 'sending') and executor = $2`, id, o.executor)
		if err == nil && tag.RowsAffected() == 0 {
			return ErrTaken
		}
		return err
	})
}

// markHeld puts a post back to `intent` that Telegram certainly did not take.
func (o *Office) markHeld(ctx context.Context, id int64, d attache.Delivery) error {
	return o.db.Retry(context.WithoutCancel(ctx), "putting a post back", func(ctx context.Context) error {
		_, err := o.db.Pool().Exec(ctx, `update attache.posts set state = 'intent', why = $3 where id = $1 and executor = $2`, id, o.executor, clean(d.Why))
		return err
	})
}

// column is an origin as it is stored: null for none.
func column(o *attache.Origin) []byte {
	if o == nil {
		return nil
	}
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // an origin is strings and lists of them
	}
	return b
}

// putResult writes what became of a post, and has remembered why one was sent. It
// asks for no owner: who made the call knows best, also when another process took
// it for dead and called it unknown.
func (o *Office) putResult(ctx context.Context, tx store.Tx, r row, d attache.Delivery) error {
	messages := make([]int64, len(d.Messages))
	for i, m := range d.Messages {
		messages[i] = int64(m)
	}
	_, err := tx.Exec(ctx, `update attache.posts set state = $2, messages = $3, why = $4, done = now() where id = $1`,
		r.id, string(d.Fate), messages, clean(d.Why))
	if err == nil {
		err = dropFile(ctx, tx, r)
	}
	if err != nil || r.origin == nil || d.Fate != attache.FateSent || len(d.Messages) == 0 {
		return err
	}
	return o.posted(ctx, tx, Posted{Place: r.place, Messages: d.Messages, Origin: *r.origin, Text: r.Text})
}

// rewrite stores reworked parts, from the i-th on in place and more behind them,
// all or none: half a reworked answer would be taken for the whole after a crash.
func (p *posting) rewrite(ctx context.Context, rows []row, i int, more []attache.Part) error {
	known := len(rows)
	for _, part := range more {
		rows = append(rows, row{part: len(rows), place: rows[i].place, origin: rows[i].origin, Part: part})
	}
	err := p.o.db.Retry(ctx, "writing posts down", func(ctx context.Context) error {
		return p.o.db.InTx(ctx, func(tx store.Tx) error {
			for j := i; j < known; j++ {
				if err := p.replace(ctx, tx, &rows[j]); err != nil {
					return err
				}
			}
			for j := known; j < len(rows); j++ {
				if err := p.append(ctx, tx, &rows[j]); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		p.rows = rows
	}
	return err
}

// replace makes a stored part an intent in its new form and place; ErrTaken when
// it is another process's by now.
func (p *posting) replace(ctx context.Context, tx store.Tx, r *row) error {
	r.state = "intent"
	tag, err := tx.Exec(ctx, `update attache.posts set state = 'intent', chat = $2, thread = $3, method = $4, params = $5, text = $6, format = $7
		where id = $1 and executor = $8`, r.id, r.place.Chat, r.place.Thread, r.Method, []byte(r.Params), clean(r.Text), string(r.Format), p.o.executor)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrTaken
	}
	return err
}

// append stores a part that a rework added.
func (p *posting) append(ctx context.Context, tx store.Tx, r *row) error {
	r.state = "intent"
	return tx.QueryRow(ctx, `
		insert into attache.posts (turn, call, part, bot, chat, thread, method, params, text, format, state, executor, origin)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'intent', $11, $12)
		on conflict (turn, call, part) where turn is not null do update set executor = excluded.executor returning id`,
		p.turn, p.call, r.part, r.place.Bot, r.place.Chat, r.place.Thread, r.Method, []byte(r.Params), clean(r.Text), string(r.Format), p.o.executor, column(r.origin)).Scan(&r.id)
}
