package prompt

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"attache"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Each file of testdata/mistakes is a small brain with a mistake in it; its file
// "want" has the sentences. "args" has lines name=value; package.args has lines
// name, name=default or name! (required); "broken" has lines path=place.
//
// row J3
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no mistakes found", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := mistakes(a)
			if *update {
				rewrite(t, file, a, got)
			}
			if diff := cmp.Diff(entry(a, "want"), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func mistakes(a *txtar.Archive) string {
	s := Sources{Args: map[string]string{}, Blocks: map[string]string{},
		Packages: map[string]map[string]Arg{}, Packs: map[string][]Document{}, Broken: map[string]string{}}
	var static Static
	var bodies []Text
	for _, f := range a.Files {
		text := Text{File: f.Name, Body: string(f.Data)}
		switch {
		case f.Name == "args":
			for line := range strings.Lines(text.Body) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				s.Args[name] = value
			}
		case f.Name == "broken":
			for line := range strings.Lines(text.Body) {
				name, at, _ := strings.Cut(strings.TrimSpace(line), "=")
				s.Broken[name] = at
			}
		case path.Base(f.Name) == "package.args":
			declared := map[string]Arg{}
			for line := range strings.Lines(text.Body) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				name, required := strings.CutSuffix(name, "!")
				declared[name] = Arg{Required: required, Default: value}
			}
			s.Packages[path.Dir(f.Name)] = declared
		case strings.HasSuffix(f.Name, ".agent.md"):
			static.Role = text
		case path.Base(f.Name) == "principles.md":
			static.Principles = text
		case strings.HasSuffix(f.Name, ".hook.md"):
			bodies = append(bodies, text)
		case strings.HasPrefix(f.Name, "knowledge/"):
			s.Packs[path.Dir(f.Name)] = append(s.Packs[path.Dir(f.Name)], Document{Path: path.Base(f.Name)})
		case f.Name != "want":
			s.Blocks[f.Name] = text.Body
		}
	}
	l, problems := NewLibrary(s)
	static.Library = l
	epoch, more := Compile(static)
	problems = append(problems, more...)
	for _, b := range bodies {
		_, more := RenderBody(b, Values{Args: s.Args})
		problems = append(problems, more...)
	}
	return sentences(problems, epoch)
}

func sentences(problems []attache.Problem, e Epoch) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Error() + "\n")
	}
	if e.ID != "" {
		b.WriteString("the role loads\n")
	}
	return b.String()
}

func entry(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func rewrite(t *testing.T, file string, a *txtar.Archive, want string) {
	for i := range a.Files {
		if a.Files[i].Name == "want" {
			a.Files[i].Data = []byte(want)
		}
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
