package brainfile

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// write puts files into a folder; the pairs are path and text.
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

func folders() []string { return []string{"constitution", "features"} }

func anything(string) bool { return true }

func paths(t *Tree) []string {
	var out []string
	for f := range t.Files() {
		out = append(out, f.Path)
	}
	return out
}

func TestScanReadsWhatABrainHas(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "README.md", "r", "constitution/access.yaml", "a", "features/b/deep/er/x.agent.md", "x",
		"features/a/.hidden/y.md", "y", "features/a/.y.md.swp", "y", "features/a/node_modules/z.md", "z",
		".attache/pg/base.md", "p", "other/big.md", "o")
	tree, err := Scan(dir, folders(), anything, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"README.md", "constitution/access.yaml", "features/b/deep/er/x.agent.md"}
	if got := paths(tree); !slices.Equal(got, want) || len(tree.Problems) > 0 {
		t.Errorf("%v %v", got, tree.Problems)
	}
	if tree.File("nowhere") != nil || tree.File("README.md").Text != "r" {
		t.Error("files are found by path")
	}
}

func TestScanOfNothing(t *testing.T) {
	if _, err := Scan(filepath.Join(t.TempDir(), "gone"), folders(), anything, nil); err == nil || !strings.Contains(err.Error(), "there is no brain at") {
		t.Error(err)
	}
}

// Whoever stands in a brain and names none has forgotten to say so.
func TestScanFromInsideABrain(t *testing.T) {
	for _, inside := range []string{"constitution/access.yaml", "features/a/FEATURE.md"} {
		dir := t.TempDir()
		write(t, dir, inside, "")
		t.Chdir(dir)
		if _, err := Scan("brain", folders(), anything, nil); err == nil || err.Error() != "there is no brain at brain; this folder is one: --brain ." {
			t.Error(err)
		}
		if _, err := Scan(".", folders(), anything, nil); err != nil {
			t.Error(err)
		}
	}
}

// No link leads out of the brain, by whatever way, and none is passed by silently.
func TestLinksStayInside(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "secret.md", "secret", "sub/deep.md", "secret")
	dir := t.TempDir()
	write(t, dir, "features/a/real.md", "real", "features/b/x.md", "x")
	for name, target := range map[string]string{
		"abs.md": filepath.Join(outside, "secret.md"), "rel.md": "../../../" + filepath.Base(outside) + "/secret.md",
		"passwd.md": "/etc/passwd", "inside.md": "real.md", "gone.md": "nothing.md",
		"sub": filepath.Join(outside, "sub"), "twin": "../b", "ring": ".",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "features/a", name)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Scan(dir, folders(), func(p string) bool { return strings.HasSuffix(p, ".md") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for f := range tree.Files() {
		if f.Trouble != nil {
			got = append(got, f.Trouble.Error())
		} else {
			got = append(got, f.Path+" = "+f.Text)
		}
	}
	for _, p := range tree.Problems {
		got = append(got, p.Error())
	}
	out := ":1:1: the link leads out of the brain; put the file itself here, or link to it by a relative path inside the brain"
	want := []string{
		"features/a/abs.md" + out, "features/a/gone.md:1:1: the link leads to nothing; remove it or put the file there",
		"features/a/inside.md = real", "features/a/passwd.md" + out, "features/a/real.md = real", "features/a/rel.md" + out, "features/b/x.md = x",
		"features/a/ring:1:1: links to folders are not followed; put the folder itself here",
		"features/a/sub:1:1: the link leads out of the brain; put the folder itself here",
		"features/a/twin:1:1: links to folders are not followed; put the folder itself here",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A scan carries over what did not change, and never mistakes a change for none:
// neither an edit of the same size at once, nor a file put in place of another.
func TestScanSeesEveryEdit(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x.md", "one", "features/a/y.md", "yyy")
	first, _ := Scan(dir, folders(), anything, nil)
	made := 0
	parse := func(f *File) string { made++; return strings.ToUpper(f.Text) }
	Once(first.File("features/a/y.md"), parse)

	write(t, dir, "features/a/x.md", "two")
	second, _ := Scan(dir, folders(), anything, first)
	if second.File("features/a/x.md").Text != "two" || first.File("features/a/x.md").Text != "one" || second.Hash() == first.Hash() {
		t.Error("an edit of the same size within the same tick is seen, and the old tree keeps its text")
	}
	if got := Once(second.File("features/a/y.md"), parse); got != "YYY" || made != 1 {
		t.Errorf("%q was made %d times", got, made)
	}

	old := time.Now().Add(-time.Hour)
	stamped := func(path, text string) {
		write(t, dir, path, text)
		if err := os.Chtimes(filepath.Join(dir, path), old, old); err != nil {
			t.Fatal(err)
		}
	}
	stamped("features/a/x.md", "abc")
	third, _ := Scan(dir, folders(), anything, second)
	stamped("features/a/x.new", "xyz")
	if err := os.Rename(filepath.Join(dir, "features/a/x.new"), filepath.Join(dir, "features/a/x.md")); err != nil {
		t.Fatal(err)
	}
	fourth, _ := Scan(dir, folders(), anything, third)
	if third.File("features/a/x.md").Text != "abc" || fourth.File("features/a/x.md").Text != "xyz" {
		t.Error("another file of the same size and time is another file")
	}
	if err := os.Remove(filepath.Join(dir, "features/a/x.md")); err != nil {
		t.Fatal(err)
	}
	if fifth, _ := Scan(dir, folders(), anything, fourth); fifth.File("features/a/x.md") != nil {
		t.Error("a removed file is gone")
	}
}

// Between emptying a file and writing it anew there is no text to read; a file that
// stays empty is empty all the same.
func TestScanWaitsForAFileThatIsBeingSaved(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x.md", "one")
	tree, _ := Scan(dir, folders(), anything, nil)
	at := filepath.Join(dir, "features/a/x.md")
	if err := os.Truncate(at, 0); err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := os.WriteFile(at, []byte("two"), 0o644); err != nil {
			t.Error(err)
		}
	}()
	tree, _ = Scan(dir, folders(), anything, tree)
	<-written
	if got := tree.File("features/a/x.md").Text; got != "two" {
		t.Errorf("%q", got)
	}
	if err := os.Truncate(at, 0); err != nil {
		t.Fatal(err)
	}
	if tree, _ = Scan(dir, folders(), anything, tree); tree.File("features/a/x.md").Text != "" {
		t.Error("an emptied file is empty")
	}
}

func TestTreeOfTextsHasTheSameHash(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x.md", "one")
	tree, _ := Scan(dir, folders(), anything, nil)
	if Of(New("features/a/x.md", []byte("one"))).Hash() != tree.Hash() || Of(New("features/a/x.md", []byte("two"))).Hash() == tree.Hash() {
		t.Error("the hash is that of paths and texts alone")
	}
}

// watched starts a watch and gives its calls as signals; the first one, which says
// that the folders are watched, has been taken.
func watched(t *testing.T, dir string, probe time.Duration) <-chan struct{} {
	t.Helper()
	calls, done := make(chan struct{}, 1000), make(chan struct{})
	go func() {
		defer close(done)
		Watch(t.Context(), slog.New(slog.DiscardHandler), dir, folders(), func() time.Duration { return probe }, func() { calls <- struct{}{} })
	}()
	t.Cleanup(func() { <-done })
	wait(t, calls, "the start")
	return calls
}

func wait(t *testing.T, calls <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-calls:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s was never noticed", what)
	}
}

// until waits for calls until the condition holds: events come in their own time,
// and a look may come before the last of them.
func until(t *testing.T, calls <-chan struct{}, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		wait(t, calls, what)
	}
}

func TestWatchNoticesEveryKindOfSave(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x.md", "one")
	calls := watched(t, dir, 0)
	at := filepath.Join(dir, "features/a/x.md")

	write(t, dir, "features/a/x.md", "two")
	wait(t, calls, "a write in place")
	for range 3 { // a watch on the file would die with the first of these
		write(t, dir, "features/a/x.new", "three")
		if err := os.Rename(filepath.Join(dir, "features/a/x.new"), at); err != nil {
			t.Fatal(err)
		}
		wait(t, calls, "a save by renaming")
	}
	write(t, dir, "features/b/c/d/y.md", "y")
	wait(t, calls, "a new deep folder")
	drain(calls)
	write(t, dir, "features/b/c/d/y.md", "yy")
	wait(t, calls, "an edit in a folder that is new")
	if err := os.RemoveAll(filepath.Join(dir, "features/b")); err != nil {
		t.Fatal(err)
	}
	wait(t, calls, "a removal")
	write(t, dir, "constitution/access.yaml", "bots: {}")
	wait(t, calls, "a folder that was not there at the start")
}

// drain waits until no more calls follow: the quiet time has passed twice.
func drain(calls <-chan struct{}) {
	for {
		select {
		case <-calls:
		case <-time.After(3 * quiet):
			return
		}
	}
}

func TestWatchLeavesHiddenFoldersAlone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".attache/pg/1", "1", "features/a/.git/x", "x", "other/x", "x", "features/a/y.md", "y")
	calls := watched(t, dir, 0)
	write(t, dir, ".attache/pg/2", "2", "features/a/.git/y", "y", "features/a/.y.md.swp", "y", "other/y", "y")
	select {
	case <-calls:
		t.Error("the data folder, hidden names and strange folders are not watched")
	case <-time.After(5 * quiet):
	}
	write(t, dir, "features/a/y.md", "z")
	wait(t, calls, "an edit")
}

func TestProbeWorksWithoutEvents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "features/a/x.md", "x")
	calls := watched(t, dir, 20*time.Millisecond)
	for range 3 {
		wait(t, calls, "a probe")
	}
}

func TestWatchSurvivesThatTheBrainIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "brain")
	write(t, dir, "features/a/x.md", "one")
	calls := watched(t, dir, 50*time.Millisecond)
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "features/a/x.md", "two")
	until(t, calls, "the new brain", func() bool {
		tree, err := Scan(dir, folders(), anything, nil)
		return err == nil && tree.File("features/a/x.md").Text == "two"
	})
}

func TestOnceIsSafeForMany(t *testing.T) {
	f := New("x.md", []byte("x"))
	var wg sync.WaitGroup
	made := make(chan int, 100)
	for range 20 {
		wg.Go(func() { Once(f, func(*File) *bytes.Buffer { made <- 1; return new(bytes.Buffer) }) })
	}
	wg.Wait()
	if len(made) != 1 {
		t.Errorf("made %d times", len(made))
	}
}

func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	for i := range 5000 {
		write(b, dir, fmt.Sprintf("features/f%d/part%d/c%d.context.md", i/50, i/10, i), strings.Repeat("Answer as the desk.\n", 40))
	}
	first, _ := Scan(dir, folders(), anything, nil)
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			_, _ = Scan(dir, folders(), anything, nil)
		}
	})
	time.Sleep(60 * time.Millisecond) // the stamps must be older than a tick
	first, _ = Scan(dir, folders(), anything, first)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			first, _ = Scan(dir, folders(), anything, first)
		}
	})
}
