package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"attache/internal/archivetest"
	"attache/internal/knowledge/ods"
)

// workspace makes one of the files of an archive. A file's \r, \ufeff and \xff are
// written as they are here.
func workspace(files []txtar.File) *ods.Workspace {
	fsys := fstest.MapFS{}
	for _, f := range files {
		text := strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff", `\xff`, "\xff").Replace(string(f.Data))
		fsys[f.Name] = &fstest.MapFile{Data: []byte(text)}
	}
	return ods.Read(fsys, false)
}

// Each archive is a workspace and, behind it, what lint says of it.
//
// row K1
// row K2
func TestLint(t *testing.T) {
	archivetest.Run(t, "lint", 8, 1, func(t *testing.T, in []txtar.File) []string {
		var b strings.Builder
		found := Check(workspace(in))
		for _, f := range found {
			fmt.Fprintln(&b, f)
		}
		fmt.Fprintf(&b, "ok: %t\n", OK(found))
		return []string{b.String()}
	})
}

// row K1
func TestPacksNeedNoMarker(t *testing.T) {
	w := ods.Read(fstest.MapFS{"a.md": {Data: []byte("# A\n")}}, true)
	if found := Check(w); len(found) > 0 {
		t.Errorf("lint says %v", found)
	}
}
