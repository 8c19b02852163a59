package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/brain"
)

// Whatever stands in the files, the doctor says something of it and does not fall.
func FuzzFiles(f *testing.F) {
	paths, err := filepath.Glob("testdata/files/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i := range a.Files[:len(a.Files)-1] {
			f.Add(string(a.Files[i].Data), string(a.Files[0].Data))
		}
	}
	f.Add("---\nreach: {a: [b\n", "bots: [")
	f.Add("---\ncontexts: &a [*a]\nreach: [[[]]]\n---\n", "bots: {nova: {chats: {'-1': {contexts: {a: {b: c}}}}}}")
	f.Fuzz(func(t *testing.T, text, rules string) {
		dir := t.TempDir()
		for _, kind := range []string{"agent", "context", "heartbeat", "hook", "scenario"} {
			write(t, dir, "features/a/x."+kind+".md", text)
		}
		write(t, dir, "features/a/x.hook.ts", text, "features/b/y.context.ts", text, "constitution/access.yaml", rules, "constitution/MANIFEST.yaml", "name: x\n")
		b, problems := load(t, dir)
		for _, finding := range Files(b, problems) {
			if finding.What == "" || finding.Check == "" || finding.File != "" && finding.Line < 1 || strings.Contains(finding.String(), "\n") {
				t.Errorf("an odd finding: %+v", finding)
			}
		}
	})
}

// A brain of 5,000 contexts is examined in well under a second, also when each name
// in it is wrong. The bound is fifty times what it takes, since a test may run beside many others.
func TestManyContextsAreSoonExamined(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "constitution/MANIFEST.yaml", "name: Big\n", "constitution/access.yaml", "bots: {}\n")
	list := make([]string, 0, 5000)
	for i := range 5000 {
		folder := fmt.Sprintf("features/f%d/p%d", i%50, i%400)
		write(t, dir, fmt.Sprintf("%s/context%d.context.md", folder, i), fmt.Sprintf("---\nentity: id\nwhen: [always, run]\ndata: [{ view: v%d, by: id }]\n---\nText.\n", i/2))
		list = append(list, fmt.Sprintf("contxet%d", i))
	}
	for i := range 400 {
		write(t, dir, fmt.Sprintf("features/f%d/p%d/h%d.hook.md", i%50, i, i), "---\non: message\n---\n", fmt.Sprintf("features/f%d/r%d.agent.md", i%50, i), "---\ndescription: r\ncontexts: ["+strings.Join(list[i*10:i*10+10], ", ")+"]\n---\n")
	}
	b, problems := load(t, dir)
	var found []Finding
	best := time.Hour
	for range 5 { // the machine may be busy with others, but not five times
		start := time.Now()
		found = Files(b, problems)
		best = min(best, time.Since(start))
	}
	if best > 5*time.Second {
		t.Errorf("%d findings took %s", len(found), best)
	}
	t.Logf("%d findings took %s", len(found), best)
	if len(found) < 10_000 { // claimed twice and never keyed, each context
		t.Errorf("%d findings", len(found))
	}
}

func BenchmarkFiles(b *testing.B) {
	dir := b.TempDir()
	write(b, dir, "constitution/MANIFEST.yaml", "name: Big\n", "constitution/access.yaml", "bots: {}\n", "features/f0/r.agent.md", "---\ncontexts: ['*']\n---\n")
	for i := range 5000 {
		write(b, dir, fmt.Sprintf("features/f%d/context%d.context.md", i%50, i), fmt.Sprintf("---\nwhen: [always]\ndata: [v%d]\n---\nText.\n", i))
	}
	big, problems, err := brain.Load(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if found := Files(big, problems); len(found) != 0 {
			b.Fatal(lines(found))
		}
	}
}

// The order is that of text 1 § 7, own headings behind, and in each by file and line.
func TestOrder(t *testing.T) {
	list := []Finding{
		{Check: "Updates"}, {Check: "Models", What: "1"}, {Check: "Models", What: "2"},
		Finding{Check: featureContexts}.at("b", 1, 1), Finding{Check: featureContexts}.at("a", 2, 1), Finding{Check: featureContexts}.at("a", 1, 9),
		{Check: chatAccess}, {Check: contextCode}, {Check: brainEntities},
	}
	var got []string
	for _, f := range sorted(list) {
		got = append(got, fmt.Sprintf("%s %s%d%s", f.Check, f.File, f.Line, f.What))
	}
	want := "Brain entities 0|Feature context code 0|Chat access 0|Feature contexts a1|Feature contexts a2|Feature contexts b1|Models 01|Models 02|Updates 0"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// In a place that is bound to a key nothing is told of another chat, nor of the brain.
//
// row D14 (what the doctor tells)
func TestOfPlace(t *testing.T) {
	here := attache.Place{Chat: -1, Thread: 7}
	got := OfPlace([]Finding{
		{What: "the chat's", Chat: -1}, {What: "another chat's", Chat: -2}, {What: "the brain's"},
		Finding{What: "ours"}.in(here), Finding{What: "another topic's"}.in(attache.Place{Chat: -1, Thread: 8}), Finding{What: "General's"}.in(attache.Place{Chat: -1}),
	}, here)
	if len(got) != 2 || got[0].What != "the chat's" || got[1].What != "ours" {
		t.Error(got)
	}
	if got := OfPlace([]Finding{{What: "the brain's"}}, attache.Place{}); len(got) != 0 {
		t.Error(got)
	}
}

// A file whose name has a line feed does not make a second line of the report.
func TestAFindingIsOneLine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x\nfail  y.agent.md", "---\nnonsense: 1\n---\n", "constitution/MANIFEST.yaml", "name: x\n")
	b, problems := load(t, dir)
	found := Files(b, problems)
	if len(found) == 0 {
		t.Fatal("nothing is found")
	}
	quoted := false
	for _, f := range found {
		quoted = quoted || strings.Contains(f.String(), `"features/a/x\nfail  y.agent.md":1:1: `)
		if strings.Contains(f.String(), "\n") {
			t.Errorf("two lines: %s", f)
		}
	}
	if !quoted {
		t.Errorf("the file is not named: %v", found)
	}
}
