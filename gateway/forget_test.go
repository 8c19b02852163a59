package gateway

import (
	"slices"
	"testing"
)

// What is older than its retention goes, and nothing else: a turn with its messages
// and posts, lines of the room that no turn took, handled updates.
func TestWhatIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.say(msg(5, 1, "old"))
	w.m.Texts(t, 1)
	w.say(msg(5, 2, "new"))
	w.m.Texts(t, 2)
	w.until("both turns are closed", func() bool { return w.count(`select count(*) from attache.turns where ended is not null`) == 2 })
	for _, sql := range []string{
		`update attache.turns set ended = now() - interval '2 hours' where id = (select min(id) from attache.turns)`,
		`update attache.posts set done = now() - interval '2 hours' where text = 'old'`,
		`update attache.updates set at = now() - interval '2 hours' where update_id = 1`,
		`insert into attache.updates (bot, update_id, raw, at) values ('other', 1, '{}', now() - interval '2 hours')`, // not handled yet
		`insert into attache.messages (bot, chat, thread, message, role, person, body, at) values
			('nova', -7, 0, 1, 'room', 'tg:user:5', '{"text": "heard long ago"}', now() - interval '2 hours'),
			('nova', -7, 0, 2, 'room', 'tg:user:5', '{"text": "heard"}', now()),
			('nova', -7, 0, 3, 'input', 'tg:user:5', '{"text": "waits"}', now() - interval '2 hours')`,
	} {
		if _, err := w.db.Pool().Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.g.forgetOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, sql, want string }{
		{"messages", `select string_agg(body->>'text', ',' order by seq) from attache.messages`, "new,heard,waits"},
		{"posts", `select string_agg(text, ',') from attache.posts`, "new"},
		{"updates", `select string_agg(bot || ' ' || update_id, ',' order by bot) from attache.updates`, "nova 2,other 1"},
		{"turns", `select count(*)::text from attache.turns`, "1"},
	} {
		if got := w.text(c.sql); got != c.want {
			t.Errorf("%s that are left: %s, want %s", c.what, got, c.want)
		}
	}
	if got := w.m.Texts(t, 2); !slices.Equal(got, []string{"old", "new"}) {
		t.Errorf("posts %q", got)
	}
}
