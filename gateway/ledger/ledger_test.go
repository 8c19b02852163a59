package ledger_test

import (
	"slices"
	"testing"
	"time"

	"attache"
	"attache/gateway"
	"attache/gateway/ledger"
	"attache/internal/store/storetest"
)

// What a command reads of a database, in the order in which a person reads it.
func TestWhatIsRead(t *testing.T) {
	ctx, db := t.Context(), storetest.New(t)
	if err := gateway.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := db.Pool().Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`insert into attache.turns (bot, chat, thread, state, due, started, ended, why) values
		('nova', 5, 0, 'answered', now(), now(), now(), ''), ('nova', -9, 42, 'running', now(), now(), null, ''),
		('nova', 5, 0, 'failed', now(), now(), now(), 'it broke'), ('nova', 6, 0, 'waiting', now(), null, null, '')`)
	exec(`insert into attache.messages (bot, chat, thread, message, role, person, body, turn) values
		('nova', 5, 0, 1, 'input', 'tg:user:5', '{"text": "a question"}', 3), ('nova', 5, 0, 2, 'room', 'tg:user:5', '{"text": "heard before"}', 3),
		('nova', 5, 0, 3, 'input', 'tg:user:5', '{"text": "and more"}', 3), ('nova', 5, 0, 4, 'input', 'tg:user:5', '{"text": "of another"}', 1)`)
	exec(`insert into attache.posts (turn, part, bot, chat, thread, method, params, text, format, state, why) values
		(3, 0, 'nova', 5, 0, 'say', '', 'first', '', 'sent', ''), (3, 1, 'nova', 5, 0, 'say', '', 'second', '', 'refused', 'no rights')`)
	exec(`insert into attache.posts (turn, part, bot, chat, thread, method, params, text, format, state, at)
		select 1, n, 'nova', 5, 0, 'say', '', 'lost', '', 'unknown', now() - interval '1 minute' from generate_series(1, 150) n`)
	exec(`insert into attache.updates (bot, update_id, raw, state, why, at) values
		('nova', 1, '', 'broken', 'no JSON', now()), ('nova', 2, '', 'broken', 'long ago', now() - interval '2 days'), ('nova', 3, '', 'handled', '', now())`)

	ids := func(chat int64, limit int) (out []int64) {
		t.Helper()
		records, err := ledger.ReadTurns(ctx, db, attache.ChatID(chat), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			out = append(out, r.ID)
		}
		return out
	}
	if got := ids(0, 10); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("turns %v: those that began, oldest first", got)
	}
	if got := ids(0, 2); !slices.Equal(got, []int64{2, 3}) {
		t.Errorf("turns %v: the newest two", got)
	}
	if got := ids(5, 10); !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("turns %v: of one chat", got)
	}

	r, ok, err := ledger.ReadTurn(ctx, db, 3)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if r.Status != "failed" || r.Why != "it broke" || r.Started.IsZero() || r.Ended.IsZero() {
		t.Errorf("turn %+v", r)
	}
	var said []string
	for _, m := range r.Input {
		said = append(said, m.Text)
	}
	if !slices.Equal(said, []string{"heard before", "a question", "and more"}) {
		t.Errorf("input %q: the room's lines first", said)
	}
	if len(r.Posts) != 2 || r.Posts[0].Text != "first" || r.Posts[1].Why != "no rights" {
		t.Errorf("posts %+v", r.Posts)
	}
	if r, ok, err = ledger.ReadTurn(ctx, db, 2); err != nil || !ok || !r.Ended.IsZero() || r.Place.Thread != 42 {
		t.Errorf("a running turn %+v, %v, %v", r, ok, err)
	}
	if _, ok, err = ledger.ReadTurn(ctx, db, 99); ok || err != nil {
		t.Errorf("a turn that is not there: %v, %v", ok, err)
	}

	found, err := ledger.ReadTroubles(ctx, db, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Posts) != 100 || found.AllPosts != 151 || found.Posts[0].Text != "second" || len(found.Broken) != 1 || found.AllUpdates != 1 || found.Broken[0].Why != "no JSON" {
		t.Errorf("%d posts of %d, the first %+v; updates %+v of %d", len(found.Posts), found.AllPosts, found.Posts[0], found.Broken, found.AllUpdates)
	}
}
