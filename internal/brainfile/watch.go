package brainfile

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// An edit must reach the next turn within 100 ms, and an editor's save is two to
// five events within a few. So a look follows the last event by quiet, and in a
// stream of events (a checkout) the first one by patience at the latest.
const (
	quiet    = 15 * time.Millisecond
	patience = 400 * time.Millisecond
	retry    = 2 * time.Second // between tries when there are no events to rely on
)

// Watch calls changed once at the start and then whenever something may have
// changed in dir or in the named folders below it, until ctx ends. It watches
// folders, never files: a watch on a file dies with the first editor that saves by
// renaming. Every probe it calls changed as well, for file systems that tell
// nothing; a probe of 0 means events only. Hidden folders, the data folder
// .attache above all, are never watched. The calls come one after another.
func Watch(ctx context.Context, log *slog.Logger, dir string, folders []string, probe func() time.Duration, changed func()) {
	w := watcher{log: log, dir: resolved(dir), folders: folders, probe: probe}
	events, errs := w.open()
	if w.notify != nil {
		defer w.notify.Close()
	}
	changed()
	var due <-chan time.Time // when the next look is due, after an event
	var first time.Time      // the first event that this look will answer
	for {
		tick := w.tick()
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				events, w.lost = nil, true
			} else if w.concerns(e) {
				if due == nil {
					first = time.Now()
				}
				due = time.After(min(quiet, patience-min(patience, time.Since(first))))
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			log.Warn("watching the brain's folders has a gap; they are read again", "err", err)
			w.lost, due = true, time.After(0)
		case <-due:
			due = nil
			changed()
		case <-tick:
			if real := resolved(dir); w.lost || real != w.dir {
				w.dir = real
				w.follow(real)
			}
			changed()
		}
	}
}

// resolved gives the folder behind a link: a brain may be deployed by moving one.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

type watcher struct {
	log     *slog.Logger
	dir     string
	folders []string
	probe   func() time.Duration
	notify  *fsnotify.Watcher
	lost    bool // some folder may be unwatched
	said    bool // that some folder cannot be watched
}

// open begins to listen. Without events, probes are all there is.
func (w *watcher) open() (<-chan fsnotify.Event, <-chan error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		w.log.Warn("edits are noticed by looking only, this machine gives no file events", "err", err)
		w.lost = true
		return nil, nil
	}
	w.notify = notify
	w.follow(w.dir)
	return notify.Events, notify.Errors
}

// tick gives the next probe, none when events do alone.
func (w *watcher) tick() <-chan time.Time {
	every := w.probe()
	if every <= 0 && w.lost {
		every = retry
	}
	if every <= 0 {
		return nil
	}
	return time.After(every)
}

// follow watches a folder and every folder below it that a brain has. A folder is
// watched before it is listed, so nothing that appears meanwhile is missed.
func (w *watcher) follow(folder string) {
	if w.notify == nil {
		return
	}
	if folder == w.dir {
		w.lost = false
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == w.dir:
			w.lost = true // the whole brain is gone; it may come back
			return nil
		case err != nil || !d.IsDir():
			return nil
		case !w.ours(path):
			return fs.SkipDir
		}
		if err := w.notify.Add(path); err != nil && !os.IsNotExist(err) {
			w.unwatched(path, err)
		}
		return nil
	})
}

// unwatched notes a folder that the machine refuses to watch, and says it once.
func (w *watcher) unwatched(path string, err error) {
	w.lost = true
	if !w.said {
		w.said = true
		w.log.Warn("a folder of the brain cannot be watched; edits are noticed by looking only", "part", path, "err", err)
	}
}

// ours reports whether a folder belongs to the brain.
func (w *watcher) ours(path string) bool {
	rel, err := filepath.Rel(w.dir, path)
	if err != nil {
		return false
	}
	if rel == "." {
		return true
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	return slices.Contains(w.folders, parts[0]) && !slices.ContainsFunc(parts, hidden)
}

// concerns reports whether an event may have changed the brain, and follows
// folders that appear. Names that begin with two dots are how mounted
// configuration is swapped, so they count although they are hidden.
func (w *watcher) concerns(e fsnotify.Event) bool {
	name := filepath.Base(e.Name)
	switch {
	case e.Op == fsnotify.Chmod:
		return false
	case e.Name == w.dir:
		w.lost = true
		return true
	case hidden(name) && !strings.HasPrefix(name, ".."):
		return false
	}
	if e.Has(fsnotify.Create) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() && w.ours(e.Name) {
			w.follow(e.Name)
		}
	}
	return true
}
