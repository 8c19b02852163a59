package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brain"
)

// write puts files into a brain; the pairs are path and text.
func write(t testing.TB, dir string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		path := filepath.Join(dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pairs[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// unpack makes a brain of an archive's files. What every brain needs and an archive
// leaves out is added: a name, and rules that let nobody in.
func unpack(t testing.TB, in []txtar.File) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	write(t, dir, "constitution/MANIFEST.yaml", "name: Shop\n", "constitution/access.yaml", "bots: {}\n")
	for _, f := range in {
		write(t, dir, f.Name, string(f.Data))
	}
	return dir
}

func load(t testing.TB, dir string) (*brain.Brain, []attache.Problem) {
	t.Helper()
	b, problems, err := brain.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, problems
}

func lines(list []Finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// Each archive is a brain; its file "want" is everything that the doctor says of its
// files, and nothing else. One of them has a mistake of each kind. Run with -update to
// write it anew, and read the difference.
//
// rows H1, H3, H4, H5, H6, H8, H9, H10, D3, D18, H2 (no .md beside it), H7 (claimed twice)
func TestMistakesOfFiles(t *testing.T) {
	archivetest.Run(t, "files", 12, 1, func(t *testing.T, in []txtar.File) []string {
		b, problems := load(t, unpack(t, in))
		return []string{lines(Files(b, problems))}
	})
}
