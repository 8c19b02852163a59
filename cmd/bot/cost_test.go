package main

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	example "attache/brain-example"
	"attache/internal/rehearsal"
)

// The conversation of the cost measure: sixty turns in one private chat, with a brain
// of ten features. Every second turn one row of one feature has changed, and six times
// in it the talk needs the long rules of a feature.
const (
	costTurns = 60
	rowsEvery = 2
	rulesAt   = 10
)

// shop is one of the six features that the measure adds to the example's four.
type shop struct{ name, about, key, rules string }

func shops() []shop {
	topics := []struct{ name, about string }{
		{"bookings", "Places in the workshop - who may book, when, and what a no-show costs."},
		{"parts", "Parts in stock and on order, and what may be promised of them."},
		{"rentals", "Bicycles for rent - deposits, damage, late returns."},
		{"club", "The riders' club - members, rides, what the club pays for."},
		{"suppliers", "Suppliers - who delivers what, complaints, terms of payment."},
		{"events", "Events in the shop - dates, guests, what is prepared."},
	}
	var out []shop
	for _, t := range topics {
		var rules strings.Builder
		for i := 1; i <= 14; i++ {
			fmt.Fprintf(&rules, "%d. Of %s: look at row %d first; what is not written there was not agreed. Tell the person what happens next, and by when.\n", i, t.name, i)
		}
		out = append(out, shop{t.name, t.about, t.name + "_now", rules.String()})
	}
	return out
}

// table is the rows of a shop's view as a person would copy them into a prompt.
func (s shop) table(changes int) string {
	var b strings.Builder
	b.WriteString("| row | what | state |\n| --- | --- | --- |\n")
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&b, "| %d | %s of row %d, as it was agreed | %d |\n", i, s.name, i, i+changes*i/12)
	}
	return b.String()
}

// exampleFiles is the example's brain with the scripted model.
func exampleFiles(t testing.TB) map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(example.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text []byte
			text, err = example.Files.ReadFile(name)
			files[name] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["constitution/MANIFEST.yaml"] += "models: { default: { model: scripted, baseUrl: $MODEL, apiKey: a-key } }\ntelegram: { pace: off }\n"
	return files
}

// costBrain is the example with six more features, and one role that all ten may
// reach. linked says whether they come by links, or stand in the role's own text.
func costBrain(t testing.TB, linked bool) map[string]string {
	files := exampleFiles(t)
	files["constitution/access.yaml"] = "bots:\n  nova:\n    merge: 0s\n    dm: { role: front, people: everyone }\n"
	for _, s := range shops() {
		dir := "features/" + s.name + "/"
		files[dir+"FEATURE.md"] = "---\ndescription: " + s.about + "\n---\n"
		files[dir+"schema.sql"] = fmt.Sprintf("create table if not exists %s (row integer primary key, what text not null, state integer not null);\n"+
			"create or replace view %s as select row, what, state from %s order by row;\n"+
			"insert into %s select i, '%s of row ' || i || ', as it was agreed', i from generate_series(1, 12) i on conflict do nothing;\n", s.name, s.key, s.name, s.name, s.name)
		files[dir+s.name+"_rules.context.md"] = fmt.Sprintf("---\ndescription: %s\nwhen: [ask]\ndata: [%s]\nchars: 4000\n---\n%s", s.about, s.key, s.rules)
	}
	files["features/desk/front.agent.md"] = "---\nname: Front\ndescription: Answers everybody.\ncontexts: ['*']\ncapabilities: [context:read]\n---\nYou answer for the shop.\n"
	if !linked {
		files["features/desk/front.agent.md"] = costPersona(files, 0)
	}
	return files
}

// costPersona is the role of somebody who keeps every rule and every row in one
// prompt: the bodies of all ten contexts, with their rows as they are now.
func costPersona(files map[string]string, changes int) string {
	var b strings.Builder
	b.WriteString("---\nname: Front\ndescription: Answers everybody.\n---\nYou answer for the shop.\n")
	for _, name := range []string{"features/invoices/invoices", "features/desk/returns", "features/home/shopping", "features/agency/client"} {
		_, body, _ := strings.Cut(strings.TrimPrefix(files[name+".context.md"], "---"), "\n---\n")
		fmt.Fprintf(&b, "\n## %s\n%s", name, body)
	}
	for i, s := range shops() {
		fmt.Fprintf(&b, "\n## %s\n%s\n%s", s.name, s.rules, s.table((changes+i)/len(shops())))
	}
	return b.String()
}

// costTalk plays the conversation and gives what it cost.
func costTalk(t testing.TB, linked bool) rehearsal.Spend {
	t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", token("nova"))
	w := &walk{path: "cost", brain: costBrain(t, linked)}
	for n := 1; n <= costTurns; n++ {
		if n%rowsEvery == 0 {
			w.lines = append(w.lines, line{n: n, text: "a row changes", do: func(p *play) error { return costChange(p, linked, n/rowsEvery) }})
		}
		var script strings.Builder
		if linked && n%rulesAt == 0 {
			fmt.Fprintf(&script, "model calls: context_open {\"name\":\"%s_rules\"}\n", shops()[n/rulesAt%len(shops())].name)
		}
		fmt.Fprintf(&script, "model says: Answer %d. That is agreed, row %d says so. I tell you by Friday what it costs and who does it, and when it is ready.\n", n, n%12+1)
		fmt.Fprintf(&script, "ann to nova: Question %d. How does it stand with row %d, and what shall I tell the customer who waits for it since Monday?\n", n, n%12+1)
		if err := w.script(script.String(), 0); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlay(t, w)
	p.model.Cache.Minimum = 1024 // as at the providers
	if err := p.perform(); err != nil {
		t.Fatalf("%v\n%s", err, p.log())
	}
	if err := p.stopProgram(); err != nil {
		t.Fatal(err)
	}
	if got := len(p.model.Requests()); got < costTurns {
		t.Fatalf("%d requests of %d turns reached the model", got, costTurns)
	}
	return p.model.Spend()
}

// costChange changes one row: in its table, or in the prompt that holds it.
func costChange(p *play, linked bool, changes int) error {
	if !linked {
		return p.writeFile("features/desk/front.agent.md", costPersona(costBrain(p.t, false), changes))
	}
	s := shops()[changes%len(shops())]
	_, err := p.db.Pool().Exec(p.t.Context(), fmt.Sprintf("update %s set state = state + 1 where row = $1", s.name), changes%12+1)
	return err
}

// costRatio is what links cost of what one prompt with everything in it costs.
func costRatio(t testing.TB) (ratio float64, linked, whole rehearsal.Spend) {
	linked, whole = costTalk(t, true), costTalk(t, false)
	return linked.Billed() / whole.Billed(), linked, whole
}

// Ten features cost at most a quarter of what they cost in the system prompt, on the
// requests that reach a server that computes hits by prefix (issue "Feature
// contexts", speed).
func TestLinksCostAQuarter(t *testing.T) {
	if testing.Short() {
		t.Skip("sixty turns, twice")
	}
	ratio, linked, whole := costRatio(t)
	t.Logf("by links: %+v, billed %.0f; in the prompt: %+v, billed %.0f; ratio %.3f", linked, linked.Billed(), whole, whole.Billed(), ratio)
	if ratio > 0.25 {
		t.Errorf("links cost %.3f of the prompt with everything, want at most 0.25", ratio)
	}
}

// BenchmarkCost prints the figures of TestLinksCostAQuarter.
func BenchmarkCost(b *testing.B) {
	for b.Loop() {
		ratio, linked, whole := costRatio(b)
		b.ReportMetric(ratio, "links/prompt")
		b.ReportMetric(linked.Billed()/costTurns, "links-units/turn")
		b.ReportMetric(whole.Billed()/costTurns, "prompt-units/turn")
	}
}
