package brain

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
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

const (
	manifest = "constitution/MANIFEST.yaml"
	rules    = "constitution/access.yaml"
	desk     = "features/support/desk.agent.md"
)

// small makes a brain with one role and one rule.
func small(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	write(t, dir, manifest, "name: Shop\ncontentProbe: { context: 0 }\n",
		rules, "bots: { nova: { dm: { role: desk, people: everyone } } }\n", desk, "---\n---\nYou are the desk.\n")
	return dir
}

// record collects a log.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.buf.Reset()
	return r.buf.String()
}

func open(t testing.TB, dir string) (*Holder, *record) {
	t.Helper()
	rec := &record{}
	h, err := Open(dir, slog.New(slog.NewTextHandler(rec, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return h, rec
}

func sentences(list []attache.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintln(&b, p.Error())
	}
	return b.String()
}

// role gives the persona that a person's private chat is answered with, or why not.
func role(b *Brain) string {
	r := b.Policy.For(attache.Place{Bot: "nova", Chat: 5}, "private")
	if !r.Ruled() {
		return r.Why
	}
	found, _ := b.Frame.Role(r.Role)
	return strings.TrimSpace(found.Persona)
}

func TestEditsReachTheNextTurnAndNotThisOne(t *testing.T) {
	dir := small(t)
	h, _ := open(t, dir)
	turn := h.Current()
	if role(turn) != "You are the desk." {
		t.Fatal(role(turn))
	}
	write(t, dir, desk, "---\n---\nYou are the new desk.\n")
	if !h.Reload() || role(h.Current()) != "You are the new desk." || role(turn) != "You are the desk." {
		t.Errorf("next %q, this %q", role(h.Current()), role(turn))
	}
	if h.Current().Version == turn.Version || len(turn.Version) != 12 {
		t.Error("another text is another version", turn.Version)
	}
	before := h.Current()
	write(t, dir, desk, "---\n---\nYou are the new desk.\n")
	if h.Reload() || h.Current() != before {
		t.Error("the same text again is the same brain")
	}
}

func TestBrokenFilesStopNothingElse(t *testing.T) {
	dir := small(t)
	h, rec := open(t, dir)
	rec.take()

	write(t, dir, manifest, "nmae: Other\n", desk, "---\n---\nStill here.\n", "features/b/x.agent.md", "no frontmatter\n", "feature/y.agent.md", "---\n---\n", "z.agent.md", "---\n---\n", "README.md", "r")
	h.Reload()
	b := h.Current()
	if b.Frame.Manifest.Name != "Shop" || b.Frame.Fatal || role(b) != "Still here." {
		t.Errorf("%q %q", b.Frame.Manifest.Name, role(b))
	}
	want := `constitution/MANIFEST.yaml:1:1: the key "nmae" is not known here; did you mean name?
feature:1:1: nothing is read from the folder feature; did you mean features?
features/b/x.agent.md:1:1: the file has no frontmatter; begin it with a line ---, the keys, and another line ---
z.agent.md:1:1: no agent is loaded from here; move it to features/<feature>/
`
	if got := sentences(h.Problems()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if log := rec.take(); strings.Count(log, "a file of the brain has a mistake") != 4 {
		t.Error(log)
	}
	h.Reload()
	if log := rec.take(); log != "" {
		t.Error("a mistake is logged once: " + log)
	}
	write(t, dir, manifest, "name: Other\n")
	h.Reload()
	if log := rec.take(); h.Current().Frame.Manifest.Name != "Other" || !strings.Contains(log, "is mended") {
		t.Error(log)
	}
}

func TestBrokenAccessKeepsTheLastGoodFileWithTheRolesOfToday(t *testing.T) {
	dir := small(t)
	h, _ := open(t, dir)
	write(t, dir, rules, "bots: { nova: \n")
	h.Reload()
	if got := role(h.Current()); got != "You are the desk." || len(h.Problems()) != 1 {
		t.Errorf("%s %s", got, sentences(h.Problems()))
	}
	if err := os.Remove(filepath.Join(dir, desk)); err != nil {
		t.Fatal(err)
	}
	h.Reload()
	if got := role(h.Current()); got != `a mistake silences the rule dm on line 1: there is no role "desk"` {
		t.Error(got)
	}
	write(t, dir, desk, "---\n---\nBack.\n", rules, "")
	h.Reload()
	if got := role(h.Current()); got != "Back." {
		t.Error("a file that is being written is no file: " + got)
	}
	write(t, dir, rules, "bots: {}\n")
	h.Reload()
	if got := role(h.Current()); got != "constitution/access.yaml has no bots.nova" {
		t.Error(got)
	}
}

func TestRolesThatCannotAnswer(t *testing.T) {
	dir := small(t)
	write(t, dir, "features/support/FEATURE.md", "---\nenabled: false\n---\n")
	b, problems, err := Load(dir, nil)
	if err != nil || role(b) != "a mistake silences the rule dm on line 1: the role desk is of the feature support, which is switched off" || len(problems) != 1 {
		t.Errorf("%v %s %s", err, role(b), sentences(problems))
	}
	write(t, dir, "features/support/FEATURE.md", "---\nenabled: true\n---\n", desk, "---\nnmae: x\n---\n")
	b, problems, _ = Load(dir, b)
	if role(b) != "a mistake silences the rule dm on line 1: the role desk does not load, see "+desk || len(problems) != 1 {
		t.Errorf("%s %s", role(b), sentences(problems))
	}
}

func TestFirstManifestMustBeRight(t *testing.T) {
	dir := small(t)
	write(t, dir, manifest, "name: [\n")
	b, problems, err := Load(dir, nil)
	if err != nil || !b.Frame.Fatal || len(problems) != 1 {
		t.Errorf("%v %s", err, sentences(problems))
	}
	if b, _, _ = Load(dir, b); !b.Frame.Fatal {
		t.Error("a broken MANIFEST does not become good by age")
	}
	write(t, dir, manifest, "name: Good\n")
	if b, _, _ = Load(dir, b); b.Frame.Fatal || b.Frame.Manifest.Name != "Good" {
		t.Error("a mended MANIFEST counts")
	}
}

func TestNoBrain(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "holds no brain") {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "gone"), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "there is no brain at") {
		t.Error(err)
	}
	good := small(t)
	h, rec := open(t, good)
	if err := os.Rename(good, good+".away"); err != nil {
		t.Fatal(err)
	}
	rec.take()
	once, again := h.Reload(), h.Reload()
	if once || again || role(h.Current()) != "You are the desk." || strings.Count(rec.take(), "stays in force") != 1 {
		t.Error("a brain that is away leaves the last one in force, and is said once")
	}
}

// big makes a brain of 5,000 files: a hundred roles, what their prompts take from,
// and many contexts in deep folders.
func big(t testing.TB) string {
	dir := small(t)
	write(t, dir, manifest, "name: Shop\nargs: { company: Acme }\ncontentProbe: { context: 0 }\n")
	for i := range 100 {
		write(t, dir, fmt.Sprintf("features/f%d/r%d.agent.md", i%40, i),
			fmt.Sprintf("---\ndescription: A role\ncontexts: [a, b]\nskills: [s%d]\n---\n{{ context.g%d }} {{ pkg.a.p%d.context.voice }} {{ lib.k%d }}\n", i%50, i%20, i%40, i%20))
	}
	for i := range 50 {
		write(t, dir, fmt.Sprintf("skills/s%d/SKILL.md", i), fmt.Sprintf("---\nname: s%d\ndescription: A skill.\n---\n", i),
			fmt.Sprintf("packages/a/p%d/package.yaml", i), "args: { company: { required: true } }\n",
			fmt.Sprintf("packages/a/p%d/context/voice.md", i), "We are {{ args.company }}. {{ context.g1.b1 }}\n")
	}
	for i := range 1000 {
		write(t, dir, fmt.Sprintf("blocks/g%d/b%d.md", i%20, i), strings.Repeat("Say {{ args.company }}. ", 10),
			fmt.Sprintf("knowledge/k%d/d%d.md", i%20, i), "---\ndescription: A document.\n---\n# Title\n"+strings.Repeat("Words.\n", 50))
	}
	for i := range 2750 {
		write(t, dir, fmt.Sprintf("features/f%d/part%d/c%d.context.md", i%40, i%200, i), "---\ndescription: A ticket\nwhen: [run, ask]\n---\n"+strings.Repeat("Answer as the desk.\n", 20))
	}
	return dir
}

// live gives the time from an edit to the moment at which a turn would see it.
func live(t testing.TB, dir string, h *Holder, swapped <-chan *Brain, n int) time.Duration {
	t.Helper()
	text := fmt.Sprintf("You are desk %d.", n)
	start := time.Now()
	write(t, dir, desk, "---\n---\n"+text+"\n")
	for role(h.Current()) != text {
		select {
		case <-swapped:
		case <-time.After(20 * time.Second):
			t.Fatal("the edit was never noticed")
		}
	}
	return time.Since(start)
}

// watch starts a watch on a holder and waits until the folders are watched.
func watch(t testing.TB, dir string, h *Holder) <-chan *Brain {
	t.Helper()
	swapped, done := make(chan *Brain, 100), make(chan struct{})
	write(t, dir, desk, "---\n---\nNot yet watched.\n") // the first look finds it
	go func() {
		defer close(done)
		h.Watch(t.Context(), func(b *Brain) { swapped <- b })
	}()
	t.Cleanup(func() { <-done })
	<-swapped
	return swapped
}

// The aims are 1 s for the load and 100 ms for an edit (issue "Feature contexts",
// speed); the benchmarks below tell how far they are met. A test shares its machine
// with others and may run under the race detector, so it only refuses what no
// busy machine explains.
func TestFiveThousandFiles(t *testing.T) {
	dir := big(t)
	best := time.Hour
	for range 3 {
		start := time.Now()
		b, problems, err := Load(dir, nil)
		if err != nil || len(problems) > 0 || len(b.Frame.Roles) != 101 {
			t.Fatal(err, sentences(problems), len(b.Frame.Roles))
		}
		best = min(best, time.Since(start))
	}
	h, _ := open(t, dir)
	swapped := watch(t, dir, h)
	edit := time.Hour
	for n := range 5 {
		edit = min(edit, live(t, dir, h, swapped, n))
	}
	write(t, dir, "blocks/g1/b1.md", "Another block.\n")
	start := time.Now()
	if !h.Reload() || !strings.Contains(static(t, h.Current(), "r7").Text, "Another block.") {
		t.Error("the edit of a block does not reach a prompt")
	}
	block := time.Since(start)
	t.Logf("loaded in %s, an edit is live after %s, one of a block read after %s", best, edit, block)
	if best > 5*time.Second || edit > 2*time.Second || block > 2*time.Second {
		t.Errorf("loaded in %s, an edit is live after %s, one of a block read after %s", best, edit, block)
	}
}

// Turns may ask for the brain while it is swapped.
func TestManyReadersOneHolder(t *testing.T) {
	dir := small(t)
	h, _ := open(t, dir)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if got := role(h.Current()); !strings.HasPrefix(got, "You are") {
						t.Error(got)
						return
					}
				}
			}
		})
	}
	for n := range 20 {
		write(t, dir, desk, fmt.Sprintf("---\n---\nYou are desk %d.\n", n))
		h.Reload()
		if n%5 == 0 {
			wg.Go(func() { h.Reload() })
		}
	}
	close(stop)
	wg.Wait()
}

func BenchmarkLoad(b *testing.B) {
	dir := big(b)
	b.Run("fresh", func(b *testing.B) {
		for b.Loop() {
			_, _, _ = Load(dir, nil)
		}
	})
	last, _, _ := Load(dir, nil)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			last, _, _ = Load(dir, last)
		}
	})
	b.Run("block", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			write(b, dir, "blocks/g1/b1.md", fmt.Sprintf("Block %d.\n", n))
			last, _, _ = Load(dir, last)
		}
	})
}

// BenchmarkEdit tells the time from saving one of 5,000 files to the moment at
// which a turn would see it.
func BenchmarkEdit(b *testing.B) {
	dir := big(b)
	h, _ := open(b, dir)
	swapped := watch(b, dir, h)
	n := 0
	for b.Loop() {
		n++
		live(b, dir, h, swapped, n)
	}
}
