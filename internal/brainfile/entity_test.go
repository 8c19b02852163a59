package brainfile

import (
	"slices"
	"testing"

	"attache/internal/archivetest"
)

func TestIDsAreUniqueInTheWholeBrain(t *testing.T) {
	tree := Of(New("features/a/desk.agent.md", nil), New("features/b/deep/desk.agent.md", nil), New("features/b/desk.context.md", nil),
		New("features/c/other.agent.md", nil), New("features/c/two words.agent.md", nil))
	files, wrong := tree.Entities("agent")
	if len(files) != 1 || files[0].Path != "features/c/other.agent.md" {
		t.Errorf("%v", files)
	}
	want := `features/a/desk.agent.md:1:1: the agent desk stands also in features/b/deep/desk.agent.md, so neither is loaded; rename one of the files
features/b/deep/desk.agent.md:1:1: the agent desk stands also in features/a/desk.agent.md, so neither is loaded; rename one of the files
features/c/two words.agent.md:1:1: "two words" is no id of a file; name the file with letters, digits, - and _ only
`
	if got := archivetest.Sentences(wrong); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestIdentify(t *testing.T) {
	for path, want := range map[string]Ident{
		"features/support/morning/checkin/film.context.md": {"support", "features/support/morning/checkin", "film", "context"},
		"features/support/a.b.hook.md":                     {"support", "features/support", "a.b", "hook"},
		"features/клиенты/стол.agent.md":                   {"клиенты", "features/клиенты", "стол", "agent"},
		"scenarios/triage.scenario.md":                     {"", "scenarios", "triage", "scenario"},
	} {
		if got, ok := Identify(path); !ok || got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, path := range []string{"features/x.agent.md", "constitution/x.agent.md", "scenarios/x.agent.md", "features/a/.agent.md", "features/a/agent.md", "features/a/notes.md", "features/a/x.agent.ts"} {
		if got, ok := Identify(path); ok {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestStraysAreSaid(t *testing.T) {
	tree := Of(New("constitution/nova.agent.md", nil), New("features/desk.agent.md", nil), New("features/a/desk.agnet.md", nil),
		New("features/a/my.notes.md", nil), New("knowledge/p/x.agent.md", nil), New("features/a/FEATURE.md", nil))
	want := `constitution/nova.agent.md:1:1: no agent is loaded from here; move it to features/<feature>/
features/a/desk.agnet.md:1:1: files of the kind "agnet" are not loaded; did you mean desk.agent.md?
features/desk.agent.md:1:1: no agent is loaded from here; move it to features/<feature>/
`
	if got := archivetest.Sentences(tree.Strays()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if !slices.IsSorted(Kinds()) {
		t.Error("kinds are told by alphabet")
	}
}
