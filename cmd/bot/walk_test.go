package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sync/errgroup"

	"attache"
)

var update = flag.Bool("update", false, "write what is expected of gateway/testdata/walks anew")

const walks = "../../gateway/testdata/walks"

// A walk is a small brain, a conversation and what comes of it, through the whole
// program: the command line, a Telegram and a model over HTTP, a real Postgres.
// README.md beside the walks tells their language. Run with -update to write what
// they expect anew, and read the difference.
func TestWalk(t *testing.T) {
	paths, err := filepath.Glob(walks + "/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no walks in %s: %v", walks, err)
	}
	var all []*walk
	for _, path := range paths {
		w, err := readWalk(path)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, w)
		for _, name := range w.bots() {
			t.Setenv(tokenVariable(attache.BotID(name)), token(name))
		}
	}
	// Those with kills take longest, so they begin first.
	slices.SortStableFunc(all, func(a, b *walk) int { return b.kills - a.kills })
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, w := range all {
		group.Go(func() error {
			t.Run(strings.TrimSuffix(w.path, ".txtar"), w.test)
			return nil
		})
	}
	_ = group.Wait() // nothing above returns an error
}

// atOnce is how many walks are performed at once. Most of their time passes waiting
// for quiet, so it is more than there are cores.
const atOnce = 6

// test performs a walk and holds what came of it to what is expected.
func (w *walk) test(t *testing.T) {
	p := newPlay(t, w)
	err := p.perform()
	if p.life != nil {
		if stopped := p.stopProgram(); err == nil {
			err = stopped
		}
	}
	if err != nil {
		t.Errorf("%v\nthe log:\n%s", err, p.story())
		return
	}
	for _, v := range p.sim.Violations() {
		t.Error("the Bot API was called wrongly: " + v)
	}
	for _, name := range w.bots() {
		if strings.Contains(p.log(), token(name)) {
			t.Errorf("the token of %s stands in the log", name)
		}
	}
	if log, err := p.complaints(); err != nil || log != "" && !w.expects("log") {
		t.Errorf("the log complains, and the walk has no section log for it: %v\n%s", err, log)
	}
	w.compare(t, p)
}

// compare compares the sections, or writes them.
func (w *walk) compare(t *testing.T, p *play) {
	changed := false
	for _, name := range w.sections {
		got, err := p.section(name)
		if err != nil {
			t.Fatal(err)
		}
		f := w.find(name)
		if got == string(f.Data) {
			continue
		}
		if changed = true; !*update {
			t.Errorf("-- %s -- of %s is not what is expected (-want +got):\n%s", name, w.path, cmp.Diff(string(f.Data), got))
		}
		f.Data = []byte(got)
	}
	if changed && *update {
		if err := os.WriteFile(filepath.Join(walks, w.path), txtar.Format(w.archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *walk) find(name string) *txtar.File {
	for i := range w.archive.Files {
		if w.archive.Files[i].Name == name {
			return &w.archive.Files[i]
		}
	}
	return nil
}

func (w *walk) expects(section string) bool { return w.find(section) != nil }

// bots names the bots of a walk's stage.
func (w *walk) bots() []string {
	names := []string{"nova"}
	for _, m := range regexp.MustCompile(`(?m)^bot (\w+) `).FindAllSubmatch(w.find("walk").Data, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
