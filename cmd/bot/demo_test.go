package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"attache"
	example "attache/brain-example"
	"attache/cmd/bot/demo"
	"attache/gateway"
	"attache/internal/brain"
	"attache/internal/model/modeltest"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// exampleBrain writes the example and gives its folder.
func exampleBrain(t *testing.T) string {
	t.Helper()
	dir := brainFiles(t, nil)
	if err := os.CopyFS(dir, example.Files); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The example loads without a single problem, and its rules are for the chats, the
// topics and the people of the demo, all of them and no others.
//
// row N4 (the example brain)
func TestTheExampleFitsTheDemo(t *testing.T) {
	b, problems, err := brain.Load(exampleBrain(t), nil)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
	soundSQL(t, b)
	w, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Sim.Close()
	for _, c := range w.Chats {
		r := b.Policy.For(attache.Place{Bot: "nova", Chat: c.Room.ID}, "")
		if r.Kind != "chat" || r.Title != c.Room.Title {
			t.Errorf("%s of the demo is ruled by %+v", c.Room.Title, r)
		}
	}
	for _, r := range b.Policy.Rulings() {
		at := slices.IndexFunc(w.Chats, func(c *demo.Chat) bool { return c.Room.ID == r.Chat })
		if r.Kind == "dm" {
			continue
		}
		if at < 0 || r.Thread != 0 && !slices.ContainsFunc(w.Chats[at].Topics, func(t demo.Topic) bool { return t.ID == r.Thread }) {
			t.Errorf("the rule on line %d is for no chat or topic of the demo", r.Line)
		}
	}
	for _, p := range w.People {
		in, _ := b.Policy.For(attache.Place{Bot: "nova", Chat: p.DM.Room.ID}, "private").Admits(attache.UserID(p.User.ID))
		if client := strings.Contains(p.Note, "client"); in == client {
			t.Errorf("%s (%s) is let in privately: %v", p.User.Name, p.Note, in)
		}
	}
	if !b.Policy.Owner(attache.UserID(w.Person("ann").User.ID)) {
		t.Error("Ann is no owner")
	}
}

// Every role of the example answers where the demo says, and carries what its file
// takes from blocks, arguments and knowledge; who is not let in gets nothing.
//
// rows L3, L4, J1
func TestEveryRoleOfTheExampleAnswers(t *testing.T) {
	w, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, sim: w.Sim, url: w.URL, bot: w.Bot, dsn: storetest.DSN(t)}
	t.Cleanup(w.Sim.Close)
	m := s.startMind(exampleBrain(t), modeltest.Rule{Answer: modeltest.Text("Well.")})
	posts, asked := map[*telegramsim.Chat]int{}, 0
	say := func(who, where, text, role, knows string) {
		t.Helper()
		c, thread, ok := w.Find(who, where)
		if !ok {
			t.Fatalf("there is no %s", where)
		}
		if _, err := c.Room.Send(telegramsim.Line{From: w.Person(who).User, Text: text, Thread: thread}); err != nil {
			t.Fatal(err)
		}
		if role == "" {
			return
		}
		posts[c.Room]++
		s.await(c.Room, posts[c.Room])
		asked++
		requests := m.Requests()
		if len(requests) != asked {
			t.Fatalf("%d requests after %d questions", len(requests), asked)
		}
		request := requests[asked-1].Messages
		if want := fmt.Sprintf("slug=%q", role); !strings.Contains(request[1].Text(), want) {
			t.Errorf("%s in %s is answered by %s, want %s", who, where, request[1].Text(), want)
		}
		if system := request[0].Text(); !strings.Contains(system, knows) || strings.Contains(system, "{{") {
			t.Errorf("the role %s does not know %q:\n%s", role, knows, system)
		}
	}
	say("dan", "dm", "let me in", "", "")
	say("ann", "dm", "hello", "home", "On Fridays there are pancakes")
	say("cleo", "family", "hello", "home", "Say when you do not know")
	say("dan", "desk/repairs", "is it ready?", "desk", "is open from Tuesday to Saturday")
	say("cleo", "desk", "can I bring it back?", "desk", `selector="lib.shop.service"`)
	say("cleo", "desk/billing", "my invoice?", "billing", "Amounts are in euro")
	say("dan", "acme", "the logo is due on Thursday", "", "")
	say("dan", "acme", "@nova_bot what is due?", "account", "account manager of Studio Noord")
	say("eve", "globex", "@nova_bot what is due?", "account", "never\nspeak of other clients")
	say("bo", "invoices", "Lumen owes me 480 euro", "", "")
	say("ann", "invoices", "Nova, who owes what?", "books", "Amounts are in euro")
	requests := m.Requests()
	if acme := requests[5].LastUser(); !strings.Contains(acme, "due on Thursday") {
		t.Errorf("what was said before in Acme does not ride along: %s", acme)
	}
	if globex := string(requests[6].Raw); strings.Contains(globex, "Thursday") {
		t.Errorf("Globex hears of Acme: %s", globex)
	}
	if n := len(w.Person("dan").DM.Room.Posts()); n != 0 {
		t.Errorf("%d posts went to Dan", n)
	}
}

// The demo forgets what it finds at its start: never the records of a real bot.
func TestTheDemoForgetsOnlyDemos(t *testing.T) {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	open := func(dsn string) *database {
		db, err := openDatabase(ctx, &flags{DatabaseURL: dsn}, false, log, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	mine, fresh := open(storetest.DSN(t)), open(storetest.DSN(t))
	if err := gateway.Migrate(ctx, mine.DB); err != nil {
		t.Fatal(err)
	}
	if err := mine.forget(ctx); err == nil || !strings.Contains(err.Error(), "records of a real bot") {
		t.Errorf("a real bot's database: %v", err)
	}
	var n int
	if err := mine.Pool().QueryRow(ctx, `select count(*) from attache.turns`).Scan(&n); err != nil {
		t.Errorf("its tables are gone: %v", err)
	}
	for range 2 {
		if err := fresh.forget(ctx); err != nil {
			t.Errorf("a demo's database: %v", err)
		}
		if err := gateway.Migrate(ctx, fresh.DB); err != nil {
			t.Fatal(err)
		}
	}
}

// A database in the environment is a bot's, and the demo does not touch it.
func TestTheDemoKeepsOffTheEnvironmentsDatabase(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	db, err := openDatabase(ctx, &flags{Data: brainFiles(t, nil), Private: true}, true, log, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.server == nil {
		t.Error("the demo has no private server")
	}
	var left, open bool
	for _, before := range []string{"", "create table home_shopping (item text)"} { // what a feature wrote goes with the rest
		if _, err := db.Pool().Exec(ctx, before); err != nil {
			t.Fatal(err)
		}
		if err := db.forget(ctx); err != nil {
			t.Fatal(err)
		}
		err := db.Pool().QueryRow(ctx, `select to_regclass('public.home_shopping') is not null, has_schema_privilege('public', 'public', 'usage')`).Scan(&left, &open)
		if err != nil || left || !open {
			t.Errorf("what an earlier demo's features wrote is there: %v; others may look into schema public: %v; %v", left, open, err)
		}
	}
}
