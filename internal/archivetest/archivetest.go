// Package archivetest runs tests whose cases are text archives: first the files that
// go in, behind them what they come to. A case is then a file that anybody can read,
// and a mistake stands above the very sentence that it earns. With -update what is
// expected is written anew; the difference is to be read before it is committed.
package archivetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"attache"
)

var update = flag.Bool("update", false, "write what the archives of testdata expect anew")

// Run tests every archive of a folder below testdata. least is how many there are at
// least, so that a wrong path does not pass as a test of nothing. come gives what the
// last files of an archive should be; wants is how many those are.
func Run(t *testing.T, folder string, least, wants int, come func(t *testing.T, in []txtar.File) []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) < least {
		t.Fatalf("%d archives in testdata/%s, at least %d are known: %v", len(paths), folder, least, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil || len(a.Files) <= wants {
				t.Fatalf("%d files, of which the last %d are what is expected: %v", len(a.Files), wants, err)
			}
			one(t, path, a, len(a.Files)-wants, come)
		})
	}
}

// one tests an archive whose files from number first on are expectations.
func one(t *testing.T, path string, a *txtar.Archive, first int, come func(t *testing.T, in []txtar.File) []string) {
	t.Helper()
	got := come(t, a.Files[:first])
	if len(got) != len(a.Files)-first {
		t.Fatalf("%d things to compare with %d expectations", len(got), len(a.Files)-first)
	}
	for i, g := range got {
		want := &a.Files[first+i]
		if *update {
			want.Data = []byte(g)
		}
		if diff := cmp.Diff(string(want.Data), g); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Sentences writes problems as doctor prints them, a line each.
func Sentences(list []attache.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintln(&b, p.Error())
	}
	return b.String()
}
