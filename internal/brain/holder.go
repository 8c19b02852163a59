package brain

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// Holder holds the brain that the next turn begins with.
type Holder struct {
	dir string
	log *slog.Logger
	now atomic.Pointer[state]

	mu   sync.Mutex      // one reload at a time
	tree *brainfile.Tree // the latest; the brain in force may hold the same texts with older stamps
	err  string          // the last reload's, so that it is logged once

	strange []attache.Problem // what stood beside the brain at the latest
}

// state is a brain with what was wrong when it was read.
type state struct {
	brain    *Brain
	problems []attache.Problem
}

// Open reads the brain in a folder for the first time, and logs its mistakes.
func Open(dir string, log *slog.Logger) (*Holder, error) {
	h := &Holder{dir: dir, log: log}
	b, problems, err := Load(dir, nil)
	if err != nil {
		return nil, err
	}
	h.tell(nil, problems)
	h.tree = b.Tree
	h.now.Store(&state{b, problems})
	return h, nil
}

// Current gives the brain in force. It never changes; ask once a turn.
func (h *Holder) Current() *Brain { return h.now.Load().brain }

// Problems gives the mistakes that stand in the files now. They belong to the files,
// not to the brain in force: that one may still use an older text.
func (h *Holder) Problems() []attache.Problem { return slices.Clone(h.now.Load().problems) }

// Reload reads what changed and swaps the brain, and reports whether the next turn
// gets another one. A brain that is gone leaves the one in force.
func (h *Holder) Reload() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	start, was := time.Now(), h.now.Load()
	tree, err := brainfile.Scan(h.dir, Folders(), wanted, h.tree)
	strange := strangers(h.dir)
	if err == nil && h.err == "" && h.tree != nil && tree.Hash() == h.tree.Hash() && slices.Equal(strange, h.strange) {
		h.tree = tree // nothing changed: the look of an idle program costs no more than this
		return false
	}
	var b *Brain
	var problems []attache.Problem
	if err == nil {
		b, problems, err = build(h.dir, tree, strange, was.brain)
	}
	if err != nil {
		if h.err != err.Error() {
			h.log.Warn("the brain cannot be read; the last one stays in force", "err", err)
		}
		h.err = err.Error()
		return false
	}
	h.err, h.tree, h.strange = "", b.Tree, strange
	h.tell(was.problems, problems)
	if b.Version == was.brain.Version {
		h.now.Store(&state{was.brain, problems})
		return false
	}
	h.now.Store(&state{b, problems})
	h.log.Info("the brain was read again", "part", b.Version, "ms", time.Since(start).Milliseconds())
	return true
}

// tell logs mistakes that are new and those that are mended, each once.
func (h *Holder) tell(before, now []attache.Problem) {
	for _, p := range now {
		if !slices.Contains(before, p) {
			h.log.Warn("a file of the brain has a mistake", "part", p.File, "why", p.Error())
		}
	}
	for _, p := range before {
		if !slices.Contains(now, p) {
			h.log.Info("a mistake in the brain is mended", "part", p.File, "why", p.What)
		}
	}
}

// Watch reloads whenever files change, and every contentProbe.context of the brain
// in force, until ctx ends. changed is called after each swap, in turn.
func (h *Holder) Watch(ctx context.Context, changed func(*Brain)) {
	probe := func() time.Duration { return h.Current().Frame.Manifest.ContentProbe.Context }
	brainfile.Watch(ctx, h.log, h.dir, Folders(), probe, func() {
		if h.Reload() {
			changed(h.Current())
		}
	})
}
