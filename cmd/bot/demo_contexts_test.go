package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache/cmd/bot/demo"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// exampleTalk is the world of the demo with the example's brain and the rehearsal
// model, as a person who tries things meets it.
type exampleTalk struct {
	*stage
	w     *demo.World
	posts map[*telegramsim.Chat]int
}

// newExampleTalk starts the program on the demo's world.
func newExampleTalk(t *testing.T) *exampleTalk {
	t.Helper()
	w, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Sim.Close)
	s := &stage{t: t, sim: w.Sim, url: w.URL, bot: w.Bot, dsn: storetest.DSN(t)}
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		t.Setenv(name, "")
	}
	getenv, closeModel, err := demoModel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeModel)
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"} {
		t.Setenv(name, getenv(name))
	}
	dir := exampleBrain(t)
	manifest, err := os.ReadFile(filepath.Join(dir, "constitution", "MANIFEST.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "constitution/MANIFEST.yaml", string(manifest)+"telegram: { pace: off }\n")
	s.start("--brain", dir)
	return &exampleTalk{stage: s, w: w, posts: map[*telegramsim.Chat]int{}}
}

// say says something and gives the answer.
func (e *exampleTalk) say(who, where, text string) string {
	e.t.Helper()
	c, thread, ok := e.w.Find(who, where)
	if !ok {
		e.t.Fatalf("there is no %s", where)
	}
	if _, err := c.Room.Send(telegramsim.Line{From: e.w.Person(who).User, Text: text, Thread: thread}); err != nil {
		e.t.Fatal(err)
	}
	before := e.posts[c.Room]
	posts := e.await(c.Room, before+1)
	e.posts[c.Room] = len(posts)
	return strings.Join(posts[before:], "\n")
}

// What the example teaches of contexts holds in the demo: each client's group has its
// own client's rows and can open no other, a list is changed by a tool and read back
// from the next tail, long rules come when they are opened, and rows of a role and of
// a whole view ride along.
//
// rows N4, D14, F4
func TestTheExamplesContexts(t *testing.T) {
	e := newExampleTalk(t)
	for _, step := range []struct {
		who, where, text string
		has, not         []string
	}{
		{"ann", "dm", "/doctor", []string{"All is well."}, nil},
		{"dan", "acme", "@nova_bot hello", []string{"client from agency for acme", "Acme Anvils", "the new logo"}, []string{"lobex", "landing page"}},
		{"eve", "globex", "@nova_bot hello", []string{"client from agency for globex", "landing page"}, []string{"cme", "logo", "forge"}},
		{"eve", "globex", "@nova_bot call context_open client acme", []string{"was refused", "globex"}, []string{"Anvils", "logo", "forge"}},
		{"eve", "globex", "@nova_bot call context_open client", []string{"landing page"}, []string{"Anvils", "logo", "forge"}},
		{"ann", "family", "what is on the list?", []string{"shopping from home", "eggs"}, []string{"milk"}},
		{"bo", "family", "use shopping_add with item=Milk", []string{"shopping_add", "It worked"}, nil},
		{"cleo", "dm", "what is on the list?", []string{"item milk"}, []string{"amount with"}},
		{"cleo", "dm", "call shopping_tick eggs", []string{"It worked"}, nil},
		{"ann", "family", "and now?", []string{"item milk"}, []string{"eggs"}},
		{"dan", "desk/repairs", "when can I come?", []string{"desk_workshop", "free_places 4"}, []string{"Return", "sale goods"}},
		{"dan", "desk/repairs", "call context_open returns", []string{"New goods come back within 30 days"}, nil},
		{"dan", "desk/repairs", "and a helmet?", []string{"returns from desk", "it was opened"}, nil},
		{"cleo", "desk/billing", "my invoice?", []string{"No context is attached"}, []string{"desk_workshop"}},
		{"bo", "invoices", "Nova, who owes me?", []string{"Haven Books", "2026-31"}, []string{"2026-27"}},
		{"bo", "invoices", "Nova, call invoice_find lumen", []string{"2026-27", "650.00"}, nil},
		{"bo", "invoices", "Nova, call invoice_paid 2026-31", []string{"It worked"}, nil},
		{"bo", "invoices", "Nova, and now?", []string{"Haven Books"}, []string{"euro 480"}},
	} {
		answer := e.say(step.who, step.where, step.text)
		for _, want := range step.has {
			if !strings.Contains(answer, want) {
				t.Errorf("%s in %s says %q, and %q is not in\n%s", step.who, step.where, step.text, want, answer)
			}
		}
		for _, not := range step.not {
			if strings.Contains(answer, not) {
				t.Errorf("%s in %s says %q, and %q is in\n%s", step.who, step.where, step.text, not, answer)
			}
		}
	}
	if bad := e.w.Sim.Violations(); len(bad) > 0 {
		t.Errorf("Telegram would complain: %v", bad)
	}
}
