package main

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// many is how many turns the pages must stay fast with (issue 7): a hundred thousand
// of one month, in 200 chats, two in three of which carried two contexts.
const many = `
insert into attache.turns (bot, chat, thread, state, due, opened, started, ended)
	select 'nova', -1000 - n % 200, 0, case when n % 997 = 0 then 'failed' else 'answered' end, at, at, at, at + interval '1 s'
	from generate_series(1, 100000) n, lateral (select now() - (100000 - n) * interval '25.9 s' as at) x;
insert into attache.messages (bot, chat, thread, message, role, person, body, turn)
	select 'nova', -1000 - n % 200, 0, n, 'input', 'tg:user:5', jsonb_build_object('text', 'question ' || n,
		'from', jsonb_build_object('id', 'tg:user:5', 'name', 'Ann'), 'chat', jsonb_build_object('kind', 'group', 'title', 'Chat ' || n % 200)), n
	from generate_series(1, 100000) n;
insert into attache.epochs (id, text, tools) values ('e', repeat('You help. ', 500)::bytea, '');
insert into attache.sessions (bot, chat, thread, role, engine, key, snapshot, first, opened, ended)
	select 'nova', -1000 - n % 200, 0, (array['desk', 'home', 'echo'])[1 + n % 3], 'api', '', 'x', n, 'first', now() from generate_series(1, 5000) n;
insert into attache.exchanges (turn, session, epoch, snapshot, input, tail, answer, at)
	select n, 1 + n % 5000, 'e', repeat('s', 200)::bytea, repeat('i', 300)::bytea, repeat('t', 900)::bytea, repeat('a', 400)::bytea,
		now() - (100000 - n) * interval '25.9 s' from generate_series(1, 100000) n;
insert into attache.turn_contexts (turn, n, context, feature, entity, link, links, status, chars, knob, role, at)
	select n, k, 'context-' || (n + k) % 12, 'feature', '', (array['chat', 'reply', 'ask', 'always'])[1 + (n + k) % 4], '[]',
		case when (n + k) % 15 = 0 then 'stub' else 'attached' end, 500 + n % 1000, case when (n + k) % 15 = 0 then 'contexts.maxActive' else '' end,
		(array['desk', 'home', 'echo'])[1 + n % 3], now() - (100000 - n) * interval '25.9 s'
	from generate_series(1, 100000) n, generate_series(0, 1) k where n % 3 > 0;
insert into attache.model_calls (turn, n, bot, chat, thread, role, profile, model, try, status, ms, tokens_in, cached, cache_write, out, reasoning, cost, why, at)
	select n, 1, 'nova', -1000 - n % 200, 0, 'desk', 'default', 'model-' || n % 2, 1, 200, 900, 5000, 4000, 100, 200, 0,
		case when n % 5000 > 0 then 0.0012 end, '', now() - (100000 - n) * interval '25.9 s' from generate_series(1, 100000) n;
analyze`

// Every page stays fast with a hundred thousand turns. The figure that is held is the
// quickest of several loads, which other work on the machine disturbs least; the log
// has the median and the first.
func TestPagesAreFast(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("it fills a database with 100,000 turns and takes the time; run it without -short and -race")
	}
	s := newStage(t)
	s.dsn = storetest.DSN(t)
	t.Setenv("ATTACHE_ADMIN_TOKEN", operatorToken)
	address := freeAddress(t)
	s.start("--listen", address)
	s.sim.DM(s.ann, s.bot).Say(s.ann, "hello")
	s.await(s.sim.DM(s.ann, s.bot), 1)
	s.stop() // its turn is number 1
	db, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	for _, sql := range []string{`truncate attache.turns, attache.messages, attache.exchanges, attache.sessions, attache.epochs, attache.posts restart identity cascade`, many, `vacuum`} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s.start("--listen", address)
	d := &desk{exampleTalk: exampleTalk{stage: s, posts: map[*telegramsim.Chat]int{}}, url: "http://" + address, client: client()}
	d.served()
	for _, path := range []string{"/", "/turns", "/turns?status=failed", "/turns?status=stopped", "/turns?kind=heartbeat", "/turns?chat=-1007", "/turns?before=50000", "/turns/99000",
		"/system/context?window=24h", "/system/context", "/system/context?window=30d", "/chats", "/chats/nova/-1007", "/usage?window=24h", "/usage", "/usage?window=30d", "/doctor", "/approvals"} {
		var took []time.Duration
		for range 15 {
			began := time.Now()
			if code, body := d.ask("GET", path, operatorToken, nil); code != 200 {
				t.Fatalf("%s: %d %s", path, code, body)
			}
			took = append(took, time.Since(began))
		}
		first := took[0]
		slices.Sort(took)
		t.Logf("%-30s median %6.1f ms, quickest %6.1f, first %6.1f", path, ms(took[7]), ms(took[0]), ms(first))
		if took[0] > 50*time.Millisecond {
			t.Errorf("%s takes %v", path, took[0])
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
