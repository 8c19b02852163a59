package ledger_test

import (
	"fmt"
	"testing"

	"attache"
	"attache/gateway"
	"attache/gateway/ledger"
	"attache/internal/store/storetest"
)

// Turns are listed newest first, page by page in both directions, and held to what is
// asked for.
func TestList(t *testing.T) {
	ctx, db := t.Context(), storetest.New(t)
	if err := gateway.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`insert into attache.turns (bot, chat, thread, kind, state, due, task) select 'nova', -1 - n % 2, n % 3, 'chat', case when n = 4 then 'failed' else 'answered' end, now(), null from generate_series(1, 9) n`,
		`insert into attache.turns (bot, chat, thread, kind, state, due, task) values ('rex', -1, 0, 'heartbeat', 'silent', now(), '{"kind": "heartbeat", "id": "daily", "input": "Write the digest."}'), ('nova', -7, 0, 'chat', 'waiting', now(), null)`,
		`insert into attache.messages (bot, chat, thread, message, role, person, body, turn) values
			('nova', -2, 0, 1, 'room', 'tg:user:5', '{"text": "heard before"}', 9), ('nova', -2, 0, 2, 'input', 'tg:user:5', '{"text": "first", "from": {"name": "Ann"}, "chat": {"title": "Old title"}}', 9),
			('nova', -2, 0, 3, 'input', 'tg:user:5', '{"text": "second", "chat": {"title": "New title"}}', 9)`,
	} {
		if _, err := db.Pool().Exec(ctx, sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	topic := attache.ThreadID(0)
	for _, c := range []struct {
		q    ledger.Query
		want string
		more bool
	}{
		{ledger.Query{Limit: 20}, "[10 9 8 7 6 5 4 3 2 1]", false},
		{ledger.Query{Limit: 3}, "[10 9 8]", true},
		{ledger.Query{Limit: 3, Before: 4}, "[3 2 1]", false},
		{ledger.Query{Limit: 3, Before: 5}, "[4 3 2]", true},
		{ledger.Query{Limit: 3, After: 4}, "[7 6 5]", true},
		{ledger.Query{Limit: 3, After: 7}, "[10 9 8]", false},
		{ledger.Query{Limit: 9, Status: "failed"}, "[4]", false},
		{ledger.Query{Limit: 9, Kind: "heartbeat"}, "[10]", false},
		{ledger.Query{Limit: 9, Chat: -1}, "[10 8 6 4 2]", false},
		{ledger.Query{Limit: 9, Chat: -1, Bot: "nova", Thread: &topic}, "[6]", false},
		{ledger.Query{Limit: 9, Chat: -7}, "[]", false},
	} {
		lines, more, err := ledger.List(ctx, db, c.q)
		ids := []int64{}
		for _, l := range lines {
			ids = append(ids, l.ID)
		}
		if err != nil || fmt.Sprint(ids) != c.want || more != c.more {
			t.Errorf("%+v: %v, more: %v, %v; want %s, %v", c.q, ids, more, err, c.want, c.more)
		}
	}
	lines, _, err := ledger.List(ctx, db, ledger.Query{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if l := lines[0]; l.Run != "heartbeat:daily" || l.Text != "Write the digest." || l.From != "" || l.Place.Bot != "rex" {
		t.Errorf("the run is told as %+v", l)
	}
	if l := lines[1]; l.Title != "Old title" || l.From != "Ann" || l.Text != "first" || l.Run != "" {
		t.Errorf("the turn is told as %+v", l)
	}

	places, more, err := ledger.Places(ctx, db, 20)
	if err != nil || more {
		t.Fatal(more, err)
	}
	var told []string
	for _, p := range places {
		told = append(told, fmt.Sprintf("%s %q %d", p.Place, p.Title, p.Last.ID))
	}
	if got, want := fmt.Sprint(told), `[nova/-7/0 "" 0 nova/-2/0 "New title" 9 nova/-2/1 "New title" 7 nova/-2/2 "New title" 5 nova/-1/0 "" 6 nova/-1/1 "" 4 nova/-1/2 "" 8 rex/-1/0 "" 10]`; got != want {
		t.Errorf("places %s\nwant   %s", got, want)
	}
	if places, more, err = ledger.Places(ctx, db, 3); err != nil || !more || len(places) != 3 {
		t.Errorf("%d places, more: %v, %v", len(places), more, err)
	}
}
