package brain

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the last file of each archive of testdata anew")

// unpack makes a brain of an archive, without its last file, which is the expectation.
func unpack(t *testing.T, a *txtar.Archive) (dir, want string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "shop")
	last := len(a.Files) - 1
	for _, f := range a.Files[:last] {
		write(t, dir, f.Name, string(f.Data))
	}
	return dir, string(a.Files[last].Data)
}

// expect compares with the last file of an archive, or rewrites it.
func expect(t *testing.T, file string, a *txtar.Archive, got string) {
	t.Helper()
	last := &a.Files[len(a.Files)-1]
	if *update {
		last.Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(last.Data), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each archive is a brain; its file "want" has everything that doctor is given
// about it, and nothing else. Run with -update to write it anew, and read the
// difference.
//
// row J3
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir, want := unpack(t, a)
			_, problems, err := Load(dir, nil)
			if err != nil || want == "" && !*update {
				t.Fatalf("%v, or nothing expected", err)
			}
			expect(t, file, a, sentences(problems))
		})
	}
}

// The same, of what an archive cannot hold: bytes that are no text, and links.
func TestMistakesOfTheDisk(t *testing.T) {
	dir := small(t)
	write(t, dir, desk, "---\nskills: [pdf]\n---\n{{ context.latin }} {{ context.out }} {{ lib.docs }}\n",
		"blocks/latin.md", "caf\xe9", "knowledge/docs/latin.md", "caf\xe9", "skills/pdf/SKILL.md", "caf\xe9",
		"packages/a/b/package.yaml", "caf\xe9", "knowledge/empty/picture.png", "\xff")
	for link, to := range map[string]string{"blocks/out.md": "/etc/passwd", "blocks/gone.md": "nowhere.md", "knowledge/linked": "docs"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	b, problems, err := Load(dir, nil)
	want := `blocks/gone.md:1:1: the link leads to nothing; remove it or put the file there
blocks/latin.md:1:4: the file is not UTF-8 text; save it as UTF-8
blocks/out.md:1:1: the link leads out of the brain; put the file itself here, or link to it by a relative path inside the brain
features/support/desk.agent.md:2:10: the skill pdf does not load because of skills/pdf/SKILL.md:1:4; mend that first
features/support/desk.agent.md:4:4: {{ context.latin }} does not load because of blocks/latin.md:1:4; mend that first
features/support/desk.agent.md:4:24: {{ context.out }} does not load because of blocks/out.md:1:1; mend that first
knowledge/docs/latin.md:1:4: the file is not UTF-8 text; save it as UTF-8
knowledge/linked:1:1: links to folders are not followed; put the folder itself here
packages/a/b/package.yaml:1:4: the file is not UTF-8 text; save it as UTF-8
skills/pdf/SKILL.md:1:4: the file is not UTF-8 text; save it as UTF-8
`
	if diff := cmp.Diff(want, sentences(problems)); diff != "" || err != nil {
		t.Errorf("%v -want +got:\n%s", err, diff)
	}
	if got := role(b); got != "a mistake silences the rule dm on line 1: the role desk does not load, see "+desk {
		t.Error(got)
	}
}
