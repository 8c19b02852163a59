package carried_test

import (
	"encoding/json"
	"testing"
	"time"

	"attache"
	"attache/gateway"
	"attache/gateway/carried"
	"attache/gateway/mind"
	"attache/internal/conversation"
	"attache/internal/store/storetest"
)

// What contexts did is counted in turns and blocks, by role and between edges.
// row G8
func TestWindow(t *testing.T) {
	ctx, db := t.Context(), storetest.New(t)
	if err := gateway.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	if err := mind.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	talks, err := conversation.Open(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`insert into attache.turns (bot, chat, thread, state, due) values ('nova', -1, 0, 'answered', now()), ('nova', -1, 7, 'answered', now()), ('nova', -2, 0, 'answered', now()), ('rex', -1, 0, 'answered', now()), ('nova', -1, 0, 'answered', now())`,
		`insert into attache.epochs (id, text, tools) values ('e', '', '')`,
		`insert into attache.sessions (bot, chat, thread, role, engine, key, snapshot, first, opened, ended) values
			('nova', -1, 0, 'desk', '', '', '', 1, '', now()), ('nova', -1, 7, 'desk', '', '', '', 2, '', now()), ('nova', -2, 0, 'home', '', '', '', 3, '', now()), ('rex', -1, 0, 'desk', '', '', '', 4, '', now())`,
		`insert into attache.exchanges (turn, session, epoch, snapshot, input, at) values (1, 1, 'e', '', '', '2026-11-30 10:00Z'), (2, 2, 'e', '', '', '2026-11-30 11:00Z'),
			(3, 3, 'e', '', '', '2026-11-30 12:00Z'), (4, 4, 'e', '', '', '2026-11-30 13:00Z'), (5, 1, 'e', '', '', '2026-11-29 13:00Z')`,
		`insert into attache.turn_contexts (turn, n, context, link, links, status, chars, knob, role, again, at) values
			(1, 0, 'ticket', 'chat', '[]', 'attached', 100, '', 'desk', false, '2026-11-30 10:00Z'),
			(1, 1, 'ticket', 'reply', '[]', 'attached', 201, '', 'desk', true, '2026-11-30 10:00Z'),
			(1, 2, 'policy', 'always', '[]', 'stub', 0, 'contexts.maxActive', 'desk', false, '2026-11-30 10:00Z'),
			(1, 3, 'client', 'ask', '[]', 'refused', 0, '', 'desk', false, '2026-11-30 10:00Z'),
			(2, 0, 'policy', 'always', '[]', 'stub', 0, 'contexts.maxActive', 'desk', false, '2026-11-30 11:00Z'),
			(3, 0, 'list', 'always', '[]', 'attached', 50, '', 'home', false, '2026-11-30 12:00Z'),
			(4, 0, 'ticket', 'chat', '[]', 'attached', 10, '', 'desk', false, '2026-11-30 13:00Z'),
			(5, 0, 'ticket', 'chat', '[]', 'attached', 9999, '', 'desk', false, '2026-11-29 13:00Z')`,
	} {
		if _, err := db.Pool().Exec(ctx, sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	edges := []time.Time{day, day.Add(11 * time.Hour), day.Add(12 * time.Hour), day.Add(24 * time.Hour)}
	const stubs = `"findings":[{"finding":"context-stubbed","context":"policy","knob":"contexts.maxActive","times":2}]`
	const policy = `{"context":"policy","attached":0,"share":0,"stubbed":2,"meanChars":0,"links":{}}`
	for name, c := range map[string]struct {
		edges []time.Time
		bot   attache.BotID
		chat  attache.ChatID
		role  attache.RoleID
		want  string
	}{
		"everything": {edges: edges, want: `{"roles":[{"role":"desk","turns":3,"contexts":[{"context":"ticket","attached":2,"share":0.667,"stubbed":0,"meanChars":104,"links":{"chat":2,"reply":1}},` + policy +
			`]},{"role":"home","turns":1,"contexts":[{"context":"list","attached":1,"share":1,"stubbed":0,"meanChars":50,"links":{"always":1}}]}],` + stubs + `}`},
		"one chat of one bot": {edges: edges, bot: "nova", chat: -1, want: `{"roles":[{"role":"desk","turns":2,"contexts":[{"context":"ticket","attached":1,"share":0.5,"stubbed":0,"meanChars":151,"links":{"chat":1,"reply":1}},` + policy + `]}],` + stubs + `}`},
		"one role":            {edges: edges, role: "home", want: `{"roles":[{"role":"home","turns":1,"contexts":[{"context":"list","attached":1,"share":1,"stubbed":0,"meanChars":50,"links":{"always":1}}]}],"findings":[]}`},
		"an hour":             {edges: edges[1:3], want: `{"roles":[{"role":"desk","turns":1,"contexts":[{"context":"policy","attached":0,"share":0,"stubbed":1,"meanChars":0,"links":{}}]}],"findings":[{"finding":"context-stubbed","context":"policy","knob":"contexts.maxActive","times":1}]}`},
		"nothing":             {edges: []time.Time{day.Add(48 * time.Hour), day.Add(72 * time.Hour)}, want: `{"roles":[],"findings":[]}`},
	} {
		all, err := carried.Stretches(ctx, db, talks, c.edges, c.bot, c.chat)
		if err != nil || len(all) != len(c.edges)-1 {
			t.Fatal(name, len(all), err)
		}
		got, err := json.Marshal(carried.Sum(all, c.role))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
	roles, err := talks.Roles(ctx, []int64{1, 3, 99})
	if err != nil || len(roles) != 2 || roles[1] != "desk" || roles[3] != "home" {
		t.Errorf("roles: %v, %v", roles, err)
	}
}
