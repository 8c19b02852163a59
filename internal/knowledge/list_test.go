package knowledge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"
)

// world draws a small workspace in which everything points everywhere.
func world(t *rapid.T) fstest.MapFS {
	names := []string{"a", "b", "c", "d", "sub/e", "sub/f", "old/g"}
	ref := rapid.Map(rapid.SampledFrom(append(slices.Clone(names), "gone", "../out", "/etc/passwd", "sub/../b")), func(s string) string {
		return fmt.Sprintf("%q", s+".md")
	})
	files := fstest.MapFS{"ods.toml": {Data: []byte("spec = \"0.1\"\nignore = [\"old\"]\n")}, "x.csv": {Data: []byte("x,y\n")}, "pic": {Data: []byte{0xff}}}
	for _, name := range names {
		list := func(label string, n int) string {
			return "[" + strings.Join(rapid.SliceOfN(ref, 0, n).Draw(t, name+label), ", ") + "]"
		}
		text := fmt.Sprintf("---\nods:\n  share: %s\n  depends: %s\n  related: %s\n  context: { load: [x.csv, pic, b.md], ignore: %s }\n---\n%s\n",
			rapid.SampledFrom([]string{"public", "public", "org", "private"}).Draw(t, name+"share"), list("depends", 4), list("related", 2),
			rapid.SampledFrom([]string{"[]", "[sub]", "[d]"}).Draw(t, name+"ignore"),
			strings.Repeat("word ", rapid.IntRange(0, 30).Draw(t, name+"words")))
		files[name+".md"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// Whatever the workspace: a list is within its limit, holds nothing twice, nothing
// private and nothing from outside, has what is needed first standing first unless
// depends goes round, ends with its entry, and is the same to the byte each time.
//
// row K3
// row K4
// row K5
func TestListsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := world(t)
		w := Read(files, false)
		o := Options{MaxTokens: rapid.IntRange(0, 80).Draw(t, "tokens"), WithRelated: rapid.Bool().Draw(t, "related"), WithCode: true}
		if rapid.Bool().Draw(t, "bounded") {
			depth := rapid.IntRange(0, 5).Draw(t, "depth")
			o.MaxDepth = &depth
		}
		entry := rapid.SampledFrom([]string{"a", "b", "sub/e"}).Draw(t, "entry")
		list, err := w.ReadingList(entry, o)
		if err != nil {
			d, _ := w.Find(entry)
			if ruled := matches(rulesOf(w, d), d.Path) != ""; !d.Private && !ruled && (o.MaxTokens == 0 || tokensOf(d.file) <= o.MaxTokens) {
				t.Fatalf("no list: %v", err)
			}
			return
		}
		at, sum := map[string]int{}, 0
		for i, item := range list.Items {
			if _, twice := at[item.Path]; twice {
				t.Fatalf("%s is there twice", item.Path)
			}
			at[item.Path] = i
			sum += item.Tokens
			raw, known := files[item.Path]
			if !known || !bytes.HasSuffix(raw.Data, []byte(item.Text)) {
				t.Fatalf("%s is not what stands there", item.Path)
			}
			if item.Tokens != count(item.Text) {
				t.Fatalf("%s has %d tokens, not %d", item.Path, count(item.Text), item.Tokens)
			}
			if strings.Contains(string(raw.Data), "share: private") || strings.HasPrefix(item.Path, "old/") {
				t.Fatalf("%s is for nobody", item.Path)
			}
		}
		if sum != list.Total || o.MaxTokens > 0 && sum > o.MaxTokens {
			t.Fatalf("%d tokens, said to be %d, of %d", sum, list.Total, o.MaxTokens)
		}
		if last := list.Items[len(list.Items)-1]; last.Path != entry+".md" || last.Why != whyTarget {
			t.Fatalf("the last is %s (%s)", last.Path, last.Why)
		}
		if len(list.Warnings) == 0 {
			for _, item := range list.Items {
				if item.Why != whyDepends {
					continue
				}
				for _, d := range w.Depends(w.exact[item.Path]) {
					if i, in := at[d.Path]; in && i > at[item.Path] && list.Items[i].Why != whyLoad {
						t.Fatalf("%s stands after %s, which needs it", d.Path, item.Path)
					}
				}
			}
		}
		for _, left := range list.Left {
			if i, in := at[left.Path]; in {
				t.Fatalf("%s is in at %d and left out (%s)", left.Path, i, left.Why)
			}
		}
		again, err := Read(maps.Clone(files), false).ReadingList(entry, o)
		if err != nil || again.String() != list.String() {
			t.Fatalf("another time it is\n%s\nand not\n%s%v", again, list, err)
		}
		one, _ := json.Marshal(list)
		two, _ := json.Marshal(again)
		if !bytes.Equal(one, two) {
			t.Fatalf("%s\n%s", one, two)
		}
	})
}

// Everything that a list of the entry names is in it or is said not to be.
//
// row K5
func TestNothingIsLeftOutSilently(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Read(world(t), false)
		list, err := w.ReadingList("a", Options{MaxTokens: rapid.IntRange(0, 80).Draw(t, "tokens"), WithRelated: true})
		if err != nil {
			return
		}
		said := map[string]bool{}
		for _, i := range list.Items {
			said[i.Path] = true
		}
		for _, l := range list.Left {
			said[l.Path] = true
		}
		a := w.exact["a.md"]
		for _, ref := range slices.Concat(a.head.depends, a.head.related, a.head.load) {
			path := ref.Text
			if d, _ := w.document(a, ref.Text); d != nil {
				path = d.Path
			}
			if !said[path] {
				t.Fatalf("nothing is said of %s (%s)", ref.Text, path)
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
	w := Read(root.FS(), false)
	list, err := w.ReadingList("a", Options{WithCode: true})
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
	var lint strings.Builder
	for _, f := range w.Lint() {
		fmt.Fprintln(&lint, f)
	}
	for _, want := range []string{"linked.md:1:1 FILE-001 warning: the link leads out", "pipe.md:1:1 FILE-001 warning: this is no regular file", "gone.md:1:1 FILE-001 warning: the link leads to no file", "folder:1:1 FILE-001", "self:1:1 FILE-001 warning: links to folders are not followed"} {
		if !strings.Contains(lint.String(), want) {
			t.Errorf("lint does not say %q:\n%s", want, lint.String())
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
	w := Read(files, false)
	read := time.Since(start)
	found := w.Lint()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("it took %v to read and %v with lint", read, took)
	}
	t.Logf("%v to read, %v with lint", read, time.Since(start))
	if rings := slices.DeleteFunc(found, func(f Finding) bool { return f.Rule != "GRAPH-004" }); len(rings) != 1 {
		t.Errorf("%d rings are found, there is one", len(rings))
	}
	list, err := w.ReadingList("d0/0", Options{})
	if err != nil || len(list.Items) != n || len(list.Warnings) != 1 {
		t.Fatalf("%d documents are in the list: %v", len(list.Items), err)
	}
	if list.Items[0].Path != "d99/9999.md" {
		t.Errorf("the first is %s", list.Items[0].Path)
	}
}
