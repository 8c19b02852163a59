package gateway

import (
	"context"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

const postColumns = `id, part, state, bot, chat, thread, method, params, text, format, messages`

func readRow(r pgx.CollectableRow) (row, error) {
	var x row
	var params []byte
	err := r.Scan(&x.id, &x.part, &x.state, &x.place.Bot, &x.place.Chat, &x.place.Thread, &x.Method, &params, &x.Text, &x.Format, &x.messages)
	x.Params = params
	return x, err
}

// postsOf reads what an earlier execution of a turn wrote down, as its answer or
// for one tool call, and makes this process its owner.
func (g *Gateway) postsOf(ctx context.Context, turn int64, call string) (rows []row, err error) {
	err = g.db.Retry(ctx, "reading posts", func(ctx context.Context) error {
		r, err := g.db.Pool().Query(ctx, `
			with mine as (update attache.posts set executor = $2 where turn = $1 and call = $3 returning `+postColumns+`)
			select `+postColumns+` from mine order by part`, turn, g.o.Executor, call)
		if err != nil {
			return err
		}
		rows, err = pgx.CollectRows(r, readRow)
		return err
	})
	return rows, err
}

// putParts writes the parts of an answer as intents, the first as `sending` when
// its turn at the gate is taken. Only the turn's owner can.
func (g *Gateway) putParts(ctx context.Context, turn int64, call string, place attache.Place, parts []attache.Part, sending bool) ([]row, error) {
	n := len(parts)
	rows := make([]row, n)
	methods, texts, formats, states := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	params := make([][]byte, n)
	for i, p := range parts {
		rows[i] = row{part: i, state: "intent", place: place, Part: p}
		if i == 0 && sending {
			rows[i].state = "sending"
		}
		methods[i], texts[i], formats[i], states[i], params[i] = p.Method, clean(p.Text), string(p.Format), rows[i].state, p.Params
	}
	err := g.db.Retry(ctx, "writing an answer down", func(ctx context.Context) error {
		r, err := g.db.Pool().Query(ctx, `
			insert into attache.posts (turn, call, part, bot, chat, thread, method, params, text, format, state, executor)
			select t.id, $8, v.n - 1, $9, $10, $11, v.method, v.params, v.text, v.format, v.state, t.executor
			from attache.turns t, unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[])
				with ordinality as v(method, params, text, format, state, n)
			where t.id = $1 and t.state = 'running' and t.executor = $2
			order by v.n
			on conflict (turn, call, part) where turn is not null do update set executor = excluded.executor
			returning id, part`, turn, g.o.Executor, methods, params, texts, formats, states, call, place.Bot, place.Chat, place.Thread)
		if err != nil {
			return err
		}
		defer r.Close()
		found := 0
		for r.Next() {
			var id int64
			var part int
			if err := r.Scan(&id, &part); err != nil {
				return err
			}
			rows[part].id = id
			found++
		}
		if err := r.Err(); err != nil {
			return err
		}
		if found != n {
			return errTaken
		}
		return nil
	})
	return rows, err
}

// markSending writes down that the call is about to be made.
func (g *Gateway) markSending(ctx context.Context, id int64) error {
	return g.db.Retry(ctx, "marking a post", func(ctx context.Context) error {
		tag, err := g.db.Pool().Exec(ctx, `update attache.posts set state = 'sending', tries = tries + 1
			where id = $1 and state in ('intent', 'sending') and executor = $2`, id, g.o.Executor)
		if err == nil && tag.RowsAffected() == 0 {
			return errTaken
		}
		return err
	})
}

// markHeld puts a post back to `intent` that Telegram certainly did not take.
func (g *Gateway) markHeld(ctx context.Context, id int64, d attache.Delivery) error {
	return g.db.Retry(context.WithoutCancel(ctx), "putting a post back", func(ctx context.Context) error {
		_, err := g.db.Pool().Exec(ctx, `update attache.posts set state = 'intent', why = $3 where id = $1 and executor = $2`, id, g.o.Executor, clean(d.Why))
		return err
	})
}

// putResult writes what became of a post.
func putResult(ctx context.Context, tx store.Tx, id int64, d attache.Delivery) error {
	messages := make([]int64, len(d.Messages))
	for i, m := range d.Messages {
		messages[i] = int64(m)
	}
	_, err := tx.Exec(ctx, `update attache.posts set state = $2, messages = $3, why = $4, done = now() where id = $1`,
		id, string(d.Fate), messages, clean(d.Why))
	return err
}

// rewrite stores reworked parts: from the i-th on in place, and more behind them.
func (g *Gateway) rewrite(ctx context.Context, t Turn, rows []row, i int, more []attache.Part) ([]row, error) {
	err := g.db.Retry(ctx, "writing an answer down", func(ctx context.Context) error {
		rows := rows
		return g.db.InTx(ctx, func(tx store.Tx) error {
			for j := i; j < len(rows); j++ {
				r := &rows[j]
				r.state = "intent"
				if _, err := tx.Exec(ctx, `update attache.posts set state = 'intent', chat = $2, thread = $3, method = $4, params = $5, text = $6, format = $7
					where id = $1 and executor = $8`, r.id, r.place.Chat, r.place.Thread, r.Method, []byte(r.Params), clean(r.Text), string(r.Format), g.o.Executor); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for _, p := range more {
		x := row{part: len(rows), state: "intent", place: rows[i].place, Part: p}
		err := g.db.Retry(ctx, "writing an answer down", func(ctx context.Context) error {
			return g.db.Pool().QueryRow(ctx, `
				insert into attache.posts (turn, part, bot, chat, thread, method, params, text, format, state, executor)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'intent', $10)
				on conflict (turn, call, part) where turn is not null do update set executor = excluded.executor returning id`,
				t.ID, x.part, x.place.Bot, x.place.Chat, x.place.Thread, p.Method, []byte(p.Params), clean(p.Text), string(p.Format), g.o.Executor).Scan(&x.id)
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, x)
	}
	return rows, nil
}

// dropIntents gives up what a stopped turn had not yet sent.
func (g *Gateway) dropIntents(ctx context.Context, turn int64) error {
	return g.db.Retry(ctx, "dropping posts", func(ctx context.Context) error {
		_, err := g.db.Pool().Exec(ctx, `update attache.posts set state = 'dropped', why = 'the turn was stopped', done = now()
			where turn = $1 and call = '' and state = 'intent'`, turn)
		return err
	})
}

// putChrome writes something that the engine itself says; it is no turn's post
// and is sent apart from the lane of its place, so that "Stopped." comes at once.
func (g *Gateway) putChrome(ctx context.Context, tx store.Tx, o attache.Outgoing) error {
	for _, p := range g.o.Compose(o) {
		if _, err := tx.Exec(ctx, `
			insert into attache.posts (part, bot, chat, thread, method, params, text, format, state, executor)
			values (0, $1, $2, $3, $4, $5, $6, $7, 'intent', $8)`,
			o.Place.Bot, o.Place.Chat, o.Place.Thread, p.Method, []byte(p.Params), clean(p.Text), string(p.Format), g.o.Executor); err != nil {
			return err
		}
	}
	return nil
}

// waitingChrome reads the chrome of this process that is not sent yet.
func (g *Gateway) waitingChrome(ctx context.Context) (rows []row, err error) {
	r, err := g.db.Pool().Query(ctx, `select `+postColumns+` from attache.posts
		where turn is null and state = 'intent' and executor = $1 order by id`, g.o.Executor)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(r, readRow)
}
