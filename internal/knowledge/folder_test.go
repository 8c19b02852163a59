package knowledge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"attache/internal/knowledge/lint"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/reading"
)

// Whatever stands in a document or in ods.toml, reading, lint and lists end, and each
// finding has a place, a rule and a sentence.
func FuzzRead(f *testing.F) {
	f.Add("---\nods: { id: x, depends: [a, ../b.md, a.md], context: { load: [ods.toml], ignore: [/] } }\n---\n# A\n", "spec = \"0.1\"\nignore = [\"x\", # y\n 'z']\n")
	f.Add("---\nods:\n  code: [{ path: x:L1 }]\n  share: private\n  share: public\n---\n", "[spec]\nversion = 1")
	f.Add("---\nods: [[[\n---", "ignore = [\"a\\\"b\", \"c\"")
	f.Add("\ufeff---\r\ndescription: x\r\n---\r\n", "= = [ ] \"")
	f.Fuzz(func(t *testing.T, text, marker string) {
		w := ods.Read(fstest.MapFS{"a.md": {Data: []byte(text)}, "sub/b.md": {Data: []byte(text)}, "ods.toml": {Data: []byte(marker)}}, false)
		for _, found := range lint.Check(w) {
			if found.File == "" || found.Rule == "" || found.What == "" || found.Level != ods.LevelError && found.Level != ods.LevelWarning {
				t.Fatalf("a finding says too little: %+v", found)
			}
		}
		for _, query := range []string{"a.md", "sub/b", text} {
			list, err := reading.Find(w, query, reading.Options{WithCode: true, WithRelated: true, MaxTokens: 50})
			if (list == nil) == (err == nil) {
				t.Fatalf("a list and an error, or neither: %v, %v", list, err)
			}
			if err == nil && list.Total > 50 {
				t.Fatalf("%d tokens are more than 50", list.Total)
			}
		}
	})
}

// A folder on disk is left by no link, and what is no regular file is never opened: a
// pipe would be waited for.
//
// row K5
func TestNothingOutsideIsRead(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(out, "secret.md", "the secret\n")
	write(dir, "ods.toml", "spec = \"0.1\"\n")
	write(dir, "a.md", "---\nods:\n  depends: [linked.md, folder/secret.md, pipe.md, inside.md, self/a.md]\n  code: [folder/secret.md, pipe]\n"+
		"  context: { load: [text.txt, pipe, folder/secret.md, /dev/zero, self/real.md] }\n---\nA\n")
	write(dir, "real.md", "real\n")
	for name, to := range map[string]string{"linked.md": filepath.Join(out, "secret.md"), "text.txt": filepath.Join(out, "secret.md"), "folder": out, "inside.md": "real.md", "gone.md": "nothing.md", "self": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pipe", "pipe.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w := ods.Read(root.FS(), false)
	list, err := reading.Find(w, "a", reading.Options{WithCode: true})
	if err != nil {
		t.Fatal(err)
	}
	got := list.String()
	if strings.Contains(got, "the secret") || !strings.Contains(got, "--- inside.md (depends 1, 2 tokens)\n\nreal\n") {
		t.Errorf("the list is\n%s", got)
	}
	for _, want := range []string{"folder/secret.md (outside", "text.txt (outside", "pipe (dangling: a.md:5: it is no regular file)", "/dev/zero (outside", "linked.md (dangling"} {
		if !strings.Contains(got, "Excluded: "+want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
	var said strings.Builder
	for _, f := range lint.Check(w) {
		fmt.Fprintln(&said, f)
	}
	for _, want := range []string{"linked.md:1:1 FILE-001 warning: the link leads out", "pipe.md:1:1 FILE-001 warning: this is no regular file", "gone.md:1:1 FILE-001 warning: the link leads to no file", "folder:1:1 FILE-001", "self:1:1 FILE-001 warning: links to folders are not followed"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("lint does not say %q:\n%s", want, said.String())
		}
	}
}

// Ten thousand documents are read, linted and walked in a second, as long as nothing
// is counted (the limit here is for a busy machine and the race detector); a chain of all
// of them is no danger either.
//
// row K2
func TestTenThousandDocuments(t *testing.T) {
	files := fstest.MapFS{"ods.toml": {Data: []byte(`spec = "0.1"`)}}
	const n = 10_000
	for i := range n {
		files[fmt.Sprintf("d%d/%d.md", i%100, i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "---\nods: { depends: [d%d/%d.md], context: { max-depth: 20000, ignore: [x%d] } }\n---\n# %d\n", (i+1)%100, (i+1)%n, i, i)}
	}
	start := time.Now()
	w := ods.Read(files, false)
	read := time.Since(start)
	found := lint.Check(w)
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v to read and %v with lint", read, took)
	}
	t.Logf("%v to read, %v with lint", read, time.Since(start))
	if rings := slices.DeleteFunc(found, func(f ods.Finding) bool { return f.Rule != "GRAPH-004" }); len(rings) != 1 {
		t.Errorf("%d rings are found, there is one", len(rings))
	}
	list, err := reading.Find(w, "d0/0", reading.Options{})
	if err != nil || len(list.Items) != n || len(list.Warnings) != 1 {
		t.Fatalf("%d documents are in the list: %v", len(list.Items), err)
	}
	if list.Items[0].Path != "d99/9999.md" {
		t.Errorf("the first is %s", list.Items[0].Path)
	}
}
