package brain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"attache"
	"attache/internal/prompt"

	"github.com/rogpeppe/go-internal/txtar"
)

// static gives the prompt of a role that must have one.
func static(t testing.TB, b *Brain, role attache.RoleID) prompt.Epoch {
	t.Helper()
	e, err := b.Static(role, []byte(`[{"name":"a"}]`), "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// From files to the bytes that a model reads: one prompt whole.
//
// row J1
// row J2
func TestStaticPromptOfFiles(t *testing.T) {
	const file = "testdata/static.txtar"
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := unpack(t, a)
	b, problems, err := Load(dir, nil)
	if err != nil || sentences(problems) != "features/sales/broken.agent.md:4:4: {{ nobody.knows }} is no selector; begin it with args., context., lib. or pkg., or write \\{{ for the braces themselves\n" {
		t.Fatalf("%v %s", err, sentences(problems))
	}
	expect(t, file, a, static(t, b, "desk").Text+"\n")
}

func TestWhoHasNoStaticPrompt(t *testing.T) {
	dir := small(t)
	write(t, dir, "features/off/FEATURE.md", "---\nenabled: false\n---\n", "features/off/ghost.agent.md", "---\n---\n", "features/a/bad.agent.md", "---\n---\n{{ x }}\n")
	b, _, _ := Load(dir, nil)
	for role, want := range map[attache.RoleID]string{
		"ghost": "the role ghost is of the feature off, which is switched off",
		"bad":   "the role bad does not load, see features/a/bad.agent.md",
		"none":  `there is no role "none"`,
	} {
		if e, err := b.Static(role, nil, ""); err == nil || err.Error() != want || e != (prompt.Epoch{}) {
			t.Errorf("%s: %v, want %s", role, err, want)
		}
	}
	write(t, dir, manifest, "args: [\n", desk, "---\n---\n{{ args.company }}\n")
	b, problems, _ := Load(dir, nil)
	if _, err := b.Static("desk", nil, ""); err == nil || !strings.Contains(err.Error(), "{{ args.company }} is not declared") || len(problems) != 1 {
		t.Errorf("%v %s", err, sentences(problems))
	}
}

// A turn that has begun keeps the prompt that it began with; the next one gets what
// the files say now, down to a block of a block, an argument, a heading, a skill and
// another role's description. What a role does not use leaves its epoch alone.
//
// row J4
func TestEditsOfWhatAPromptUses(t *testing.T) {
	dir := small(t)
	base := []string{
		manifest, "name: Shop\ncontentProbe: { context: 0 }\nargs: { company: Acme, unused: x }\n",
		desk, "---\nskills: [pdf]\n---\n{{ args.company }} {{ context.tone }} {{ lib.docs }} {{ pkg.a.b.context.voice }}\n",
		"features/support/other.agent.md", "---\ndescription: Helps.\n---\n",
		"constitution/principles.md", "Be kind.\n",
		"blocks/tone.md", "{{ context.deep }}\n", "blocks/deep.md", "deep\n", "blocks/unused.md", "unused\n",
		"packages/a/b/package.yaml", "args: { mood: { default: calm } }\n", "packages/a/b/context/voice.md", "{{ args.mood }}\n",
		"knowledge/docs/a.md", "# Title\nBody.\n", "knowledge/unused/a.md", "# Title\n",
		"skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Makes a PDF.\n---\n", "skills/unused/SKILL.md", "---\nname: unused\ndescription: d\n---\n",
	}
	write(t, dir, base...)
	h, _ := open(t, dir)
	first := static(t, h.Current(), "desk")
	for _, c := range []struct {
		path, text, shows string // shows "": the epoch stays
	}{
		{desk, "---\nskills: [pdf]\n---\nYou are new. {{ lib.docs }}\n", "You are new."},
		{manifest, "name: Shop\nargs: { company: Globex, unused: x }\n", "Globex"},
		{"features/support/other.agent.md", "---\ndescription: Helps a lot.\n---\n", "- other: Helps a lot."},
		{"features/support/third.agent.md", "---\n---\n", "- third"},
		{"constitution/principles.md", "Be brief.\n", "Be brief."},
		{"blocks/deep.md", "deeper\n", "deeper"},
		{"packages/a/b/package.yaml", "args: { mood: { default: brisk } }\n", "brisk"},
		{"packages/a/b/context/voice.md", "loud\n", "loud"},
		{"knowledge/docs/a.md", "# New title\n", `title="New title"`},
		{"knowledge/docs/b.md", "# Second\n", `title="Second"`},
		{"skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Makes a fine PDF.\n---\n", "- pdf: Makes a fine PDF."},
		{manifest, "name: Other\nargs: { company: Acme, unused: y, more: z }\n", ""},
		{"blocks/unused.md", "changed\n", ""},
		{"knowledge/unused/a.md", "# Changed\n", ""},
		{"knowledge/docs/a.md", "# Title\nAnother body.\n", ""},
		{"skills/unused/SKILL.md", "---\nname: unused\ndescription: e\n---\n", ""},
		{"features/support/other.agent.md", "---\ndescription: Helps.\n---\nAnother body.\n", ""},
	} {
		before, isNew := h.Current(), true
		if _, err := os.Stat(filepath.Join(dir, c.path)); err == nil {
			isNew = false
		}
		write(t, dir, c.path, c.text)
		if !h.Reload() {
			t.Errorf("%s: not noticed", c.path)
		}
		now := static(t, h.Current(), "desk")
		if c.shows == "" && now != first || c.shows != "" && (now.ID == first.ID || !strings.Contains(now.Text, c.shows)) {
			t.Errorf("%s = %q: epoch %s after %s\n%s", c.path, c.text, now.ID, first.ID, now.Text)
		}
		if static(t, before, "desk") != first {
			t.Errorf("%s: a turn that had begun got another prompt", c.path)
		}
		if isNew {
			if err := os.Remove(filepath.Join(dir, c.path)); err != nil {
				t.Fatal(err)
			}
		}
		write(t, dir, base...)
		h.Reload()
		if static(t, h.Current(), "desk") != first {
			t.Fatalf("%s: going back does not give the first epoch", c.path)
		}
	}
}

// A mistake in what a role's prompt uses silences the rules of that role, is logged
// once, and leaves every other role alone; mended, the role is back.
func TestBrokenPromptSilencesItsRole(t *testing.T) {
	dir := small(t)
	write(t, dir, rules, "bots: { nova: { dm: { role: desk, people: everyone }, default: { role: sales, people: everyone } } }\n",
		"features/sales/sales.agent.md", "---\n---\nYou sell.\n", "features/sales/twin.agent.md", "---\n---\n{{ context.tone }}\n",
		desk, "---\n---\nYou are the desk. {{ context.tone }}\n", "blocks/tone.md", "Kind.\n")
	h, rec := open(t, dir)
	ruled := func(chat attache.ChatID, kind string) bool {
		return h.Current().Policy.For(attache.Place{Bot: "nova", Chat: chat}, kind).Ruled()
	}
	for _, c := range []struct{ path, good, bad string }{
		{"blocks/tone.md", "Kind.\n", "{{ chat.title }}\n"},
		{"blocks/tone.md", "Kind.\n", "caf\xe9\n"},
		{desk, "---\n---\nYou are the desk. {{ context.tone }}\n", "---\n---\n{{ context.tune }}\n"},
		{desk, "---\n---\nYou are the desk. {{ context.tone }}\n", "---\nskills: [none]\n---\nYou are the desk.\n"},
	} {
		rec.take()
		write(t, dir, c.path, c.bad)
		h.Reload()
		log := rec.take()
		if ruled(5, "private") || !ruled(-5, "group") {
			t.Errorf("%s: desk %v, sales %v", c.bad, ruled(5, "private"), ruled(-5, "group"))
		}
		if !strings.Contains(role(h.Current()), "the role desk does not load, see "+desk) {
			t.Error(role(h.Current()))
		}
		if strings.Contains(static(t, h.Current(), "sales").Text, "- desk") {
			t.Error("a role that does not load is in the agent directory")
		}
		if got, want := strings.Count(log, "has a mistake"), len(h.Problems()); got != want || want == 0 {
			t.Errorf("%d of %d mistakes logged: %s", got, want, log)
		}
		write(t, dir, c.path, c.good)
		h.Reload()
		if !ruled(5, "private") || len(h.Problems()) != 0 {
			t.Errorf("mended: %s %s", role(h.Current()), sentences(h.Problems()))
		}
	}
}

// No role speaks without its principles, and a MANIFEST that cannot be used now
// leaves the arguments of the last good one in force.
func TestPrinciplesAndArgumentsAreNeverMissing(t *testing.T) {
	dir := small(t)
	write(t, dir, "constitution/principles.md", "Never promise.\n", manifest, "args: { company: Acme }\n", desk, "---\n---\n{{ args.company }}\n")
	h, _ := open(t, dir)
	write(t, dir, manifest, "args: { compny: Acme }\nnmae: x\n")
	h.Reload()
	if got := static(t, h.Current(), "desk").Text; !strings.Contains(got, "Acme") || len(h.Problems()) != 1 {
		t.Errorf("%s %s", got, sentences(h.Problems()))
	}
	write(t, dir, "constitution/principles.md", "Nev\xe9r\n", manifest, "args: { company: Acme }\n")
	h.Reload()
	if _, err := h.Current().Static("desk", nil, ""); err == nil || err.Error() != "the role desk does not load, see constitution/principles.md" || len(h.Problems()) != 1 {
		t.Errorf("%v %s", err, sentences(h.Problems()))
	}
}

// Blocks, packages, knowledge and skills are read anew only when one of them, or an
// argument, changed.
func TestShelfIsTakenOver(t *testing.T) {
	dir := small(t)
	write(t, dir, "blocks/a.md", "a\n", desk, "---\n---\nOne.\n")
	h, _ := open(t, dir)
	for _, c := range []struct {
		path, text string
		kept       bool
	}{
		{desk, "---\n---\nTwo.\n", true},
		{"blocks/a.md", "b\n", false},
		{manifest, "name: Other\n", true},
		{manifest, "name: Other\nargs: { a: b }\n", false},
		{"skills/a/SKILL.md", "---\nname: a\ndescription: d\n---\n", false},
		{"blocks/a.md", "\xe9", false},
	} {
		was := h.Current().shelf
		write(t, dir, c.path, c.text)
		if !h.Reload() || (h.Current().shelf == was) != c.kept {
			t.Errorf("%s = %q: kept %v", c.path, c.text, h.Current().shelf == was)
		}
	}
}

// Asking again costs nothing, and another tool list is another epoch.
func TestStaticIsMadeOnce(t *testing.T) {
	b, _, _ := Load(small(t), nil)
	tools := []byte(strings.Repeat(`[{"name":"a"}]`, 1000))
	first, err := b.Static("desk", tools, "guide")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if e, err := b.Static("desk", tools, "guide"); e.ID != first.ID || err != nil {
			t.Error(e.ID, err)
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	other, _ := b.Static("desk", []byte(`[]`), "guide")
	guided, _ := b.Static("desk", tools, "another guide")
	if other.ID == first.ID || other.Text != first.Text || guided.ID == first.ID || !strings.Contains(guided.Text, "another guide") {
		t.Error("the tools or their guide are not in the epoch")
	}
	tools[0] = '!'
	if e, _ := b.Static("desk", tools, "guide"); e.ID == first.ID {
		t.Error("the caller's bytes are kept")
	}
	for i := range 3 * most {
		if _, err := b.Static("desk", fmt.Append(nil, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.epochs.made) > most {
		t.Errorf("%d prompts are kept", len(b.epochs.made))
	}
}

// Turns of many roles ask at once, while the brain is swapped under them.
func TestManyAskForStaticPrompts(t *testing.T) {
	dir := small(t)
	for i := range 5 {
		write(t, dir, fmt.Sprintf("features/f/r%d.agent.md", i), fmt.Sprintf("---\n---\nI am r%d. {{ context.tone }}\n", i))
	}
	write(t, dir, "blocks/tone.md", "Tone 0.\n")
	h, _ := open(t, dir)
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			for n := range 200 {
				b := h.Current()
				one, err := b.Static(attache.RoleID(fmt.Sprintf("r%d", i)), fmt.Append(nil, n%3), "")
				two, _ := b.Static(attache.RoleID(fmt.Sprintf("r%d", i)), fmt.Append(nil, n%3), "")
				if err != nil || one != two || !strings.Contains(one.Text, fmt.Sprintf("I am r%d. Tone", i)) {
					t.Error(err, one.ID, two.ID)
					return
				}
			}
		})
	}
	for n := range 10 {
		write(t, dir, "blocks/tone.md", fmt.Sprintf("Tone %d.\n", n))
		h.Reload()
	}
	wg.Wait()
}

func BenchmarkStatic(b *testing.B) {
	brain, _, _ := Load(big(b), nil)
	tools := []byte(strings.Repeat("x", 20_000))
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			_, _ = brain.Static("r7", tools, "")
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			_, _ = brain.compile(extras{"r7", string(tools), ""})
		}
	})
}
