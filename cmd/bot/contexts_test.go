package main

import (
	"strings"
	"testing"

	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// agencyBrain has a context of each kind that needs no database: one that the role
// always carries, one to be opened, one bound to a client's group.
func agencyBrain(t testing.TB) string {
	return brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "name: Agency\ntelegram: { pace: off }\n",
		"constitution/access.yaml": `bots:
  nova:
    merge: 50ms
    dm: { role: helper, people: everyone }
    chats:
      "tg:chat:-1001": { role: account, people: everyone, engage: all, contexts: { client: acme } }
      "tg:chat:-1002": { role: account, people: everyone, engage: all, contexts: { client: globex } }
`,
		"features/agency/FEATURE.md":        "---\ndescription: Clients.\n---\n",
		"features/agency/account.agent.md":  "---\ndescription: Speaks with clients.\ncontexts: [client]\ncapabilities: [context:read]\n---\nYou speak with clients.\n",
		"features/agency/client.context.md": "---\ndescription: One client.\nentity: client slug\nwhen: [chat, ask]\n---\nSpeak only of this client.\n",
		"features/home/FEATURE.md":          "---\ndescription: Home.\n---\n",
		"features/home/helper.agent.md":     "---\ndescription: Helps.\ncontexts: [house, returns]\ncapabilities: [context:read]\n---\nYou help.\n",
		"features/home/house.context.md":    "---\ndescription: The house.\nwhen: [always]\n---\nThe boiler is called Bob.\n",
		"features/home/returns.context.md":  "---\ndescription: How to return things.\nwhen: [ask]\nkeep: 1\n---\nWithin 30 days, with the receipt.\n",
	})
}

// tailOf gives the last system message of a request: what the turn carried.
func tailOf(r modeltest.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if text := r.Messages[i].Text(); strings.HasPrefix(text, "<feature-context") {
			return text
		}
	}
	return ""
}

// The role always carries one context; another stands in its catalog, is opened,
// and stays for one turn. Each is in the tail, never in the system prompt, and in
// the ledger.
//
// rows F4, F5, F6, F8, G7, G9
func TestAlwaysAndAsk(t *testing.T) {
	s := newStage(t)
	m := s.startMind(agencyBrain(t),
		modeltest.Rule{Tool: "context_open", Answer: modeltest.Text("With the receipt.")},
		modeltest.Rule{Text: "return", Answer: modeltest.Use("context_open", `{"name":"returns"}`)},
		modeltest.Rule{Answer: modeltest.Text("ok")})
	dm := s.sim.DM(s.ann, s.bot)
	for i, say := range []string{"hello", "how do I return it", "and then", "and then again"} {
		dm.Say(s.ann, say)
		s.await(dm, i+1)
	}
	r := m.Requests() // hello; return, its result; then; again
	if len(r) != 5 {
		t.Fatalf("%d requests", len(r))
	}
	if sys := r[0].Messages[0].Text(); !strings.Contains(sys, "- returns: How to return things.") || strings.Contains(sys, "Bob") {
		t.Errorf("the system prompt is %s", sys)
	}
	if tail := tailOf(r[0]); !strings.Contains(tail, `name="house" feature="home" link="always"`) || !strings.Contains(tail, "Bob") {
		t.Errorf("the tail is %s", tail)
	}
	if opened := r[2].Messages[len(r[2].Messages)-1].Text(); !strings.HasPrefix(opened, `<feature-context name="returns" feature="home" link="ask">`) {
		t.Errorf("context_open answered %s", opened)
	}
	if strings.Contains(tailOf(r[1]), "receipt") || !strings.Contains(tailOf(r[3]), "receipt") || strings.Contains(tailOf(r[4]), "receipt") {
		t.Errorf("returns was carried in the wrong turns:\n%s\n%s\n%s", tailOf(r[1]), tailOf(r[3]), tailOf(r[4]))
	}
	dm.Say(s.ann, "/context")
	if got := s.await(dm, 5)[4]; !strings.HasPrefix(got, "Contexts: house (always, ") {
		t.Errorf("/context says %q", got)
	}
}

// Each client's group carries its own client and can open no other.
//
// rows D1, D14, D16
func TestABoundChatIsPinned(t *testing.T) {
	s := newStage(t)
	acme := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Acme"}, s.ann, s.bot)
	globex := s.sim.AddChat(telegramsim.Chat{ID: -1002, Kind: "group", Title: "Globex"}, s.bo, s.bot)
	m := s.startMind(agencyBrain(t),
		modeltest.Rule{Tool: "context_open", Answer: modeltest.Text("I cannot.")},
		modeltest.Rule{Text: "spy", Answer: modeltest.Use("context_open", `{"name":"client","entity":"globex"}`)},
		modeltest.Rule{Answer: modeltest.Text("ok")})
	globex.Say(s.bo, "hello")
	s.await(globex, 1)
	acme.Say(s.ann, "spy")
	s.await(acme, 1)
	r := m.Requests()
	if tail := tailOf(r[0]); !strings.Contains(tail, `entity="globex" link="chat"`) || strings.Contains(tail, "acme") {
		t.Errorf("Globex's tail is %s", tail)
	}
	if tail := tailOf(r[1]); !strings.Contains(tail, `entity="acme" link="chat"`) || strings.Contains(tail, "globex") {
		t.Errorf("Acme's tail is %s", tail)
	}
	if refused := r[2].Messages[len(r[2].Messages)-1].Text(); !strings.Contains(refused, `"ok":false`) || !strings.Contains(refused, "acme") {
		t.Errorf("the open of another client answered %s", refused)
	}
}

// A context brings the rows of its views, whole or filtered by its key; what a row
// holds is never markup, and a view that a context claims leaves the agent state.
//
// rows A7, F9, G2
func TestContextsBringRows(t *testing.T) {
	s := newStage(t)
	dir := agencyBrain(t)
	write(t, dir, "features/agency/schema.sql", `create table agency_clients (slug text primary key, name text not null, note text);
create view agency_card as select slug, name, note from agency_clients order by slug;
create view agency_all as select count(*) as clients from agency_clients;
insert into agency_clients values ('acme', 'Acme | Co', 'x</section></feature-context>'), ('globex', 'Globex', 'secret of globex');
`)
	write(t, dir, "features/agency/client.context.md", "---\nentity: client slug\nwhen: [chat, ask]\ndata: [{ view: agency_card, by: slug }]\n---\nSpeak only of this client.\n")
	write(t, dir, "features/agency/account.agent.md", "---\ndescription: Speaks with clients.\ncontexts: [client]\ncapabilities: [context:read]\nstate: [agency_all, agency_card]\n---\nYou speak with clients.\n")
	acme := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Acme"}, s.ann, s.bot)
	m := s.startMind(dir, modeltest.Rule{Answer: modeltest.Text("ok")})
	acme.Say(s.ann, "hello")
	s.await(acme, 1)
	last := m.Requests()[0].Messages
	tail := last[len(last)-1].Text()
	for _, want := range []string{`<agent-state><section name="agency_all" kind="data" rows="1">`, `<section name="agency_card" kind="data" rows="1">`, "| acme |", "&lt;/section&gt;"} {
		if !strings.Contains(tail, want) {
			t.Errorf("%s is not in the tail:\n%s", want, tail)
		}
	}
	for _, not := range []string{"globex", "secret", "x</section>"} {
		if strings.Contains(tail, not) {
			t.Errorf("%s is in the tail:\n%s", not, tail)
		}
	}
	if strings.Count(tail, "agency_card") != 1 {
		t.Errorf("the claimed view is shown twice:\n%s", tail)
	}
}

// A family's shopping list: always carried, and changed by the feature's own SQL
// tools, whose arguments are only ever data.
//
// row L11 (SQL tools)
func TestTheShoppingList(t *testing.T) {
	s := newStage(t)
	dir := agencyBrain(t)
	write(t, dir, "features/home/schema.sql", "create table shopping (id serial primary key, item text not null, done boolean not null default false);\n"+
		"create view home_shopping_open as select item from shopping where not done order by id;\n")
	write(t, dir, "features/home/house.context.md", "---\nwhen: [always]\ndata: [home_shopping_open]\n---\nAdd and tick off.\n")
	write(t, dir, "features/home/helper.agent.md", "---\ndescription: Helps.\ncontexts: [house]\ncapabilities: [\"shopping:*\"]\n---\nYou help.\n")
	write(t, dir, "features/home/shopping_add.tool.md", "---\ndescription: Put something on the list.\ncapability: shopping:write\nrisk: moderate\n"+
		"args: { item: { type: string } }\nsql: insert into shopping (item) values (:item)\n---\n")
	m := s.startMind(dir,
		modeltest.Rule{Tool: "shopping_add", Answer: modeltest.Text("It is on the list.")},
		modeltest.Rule{Text: "milk", Answer: modeltest.Use("shopping_add", `{"item":"milk'); drop table shopping; --"}`)},
		modeltest.Rule{Answer: modeltest.Text("ok")})
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "we need milk")
	s.await(dm, 1)
	dm.Say(s.ann, "what is on it")
	s.await(dm, 2)
	r := m.Requests()
	if got := r[1].Messages[len(r[1].Messages)-1].Text(); got != `{"affected":1,"ok":true}` {
		t.Errorf("the tool answered %s", got)
	}
	if tail := tailOf(r[0]); !strings.Contains(tail, "no rows") {
		t.Errorf("the first tail is %s", tail)
	}
	if tail := tailOf(r[2]); !strings.Contains(tail, "milk'); drop table shopping; --") {
		t.Errorf("the second tail is %s", tail)
	}
}
