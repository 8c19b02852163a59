package brainfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"attache"
)

// Tree is every text file of a brain as it stood at one moment. It never changes,
// so a turn that holds one keeps the texts it began with.
type Tree struct {
	Problems []attache.Problem // folders that could not be listed, links to folders

	entries map[string]entry
	paths   []string
	hash    string
}

// An entry is a file with the stamp by which the next scan knows whether it must
// be read again.
type entry struct {
	file  *File
	stamp fs.FileInfo
	read  time.Time
}

// Scan reads the files below dir that stand directly in it or in one of the named
// folders, at any depth, as far as wanted says of their path. Hidden files and
// folders are passed by. With the tree of the last scan only files whose stamp
// moved are read. An error means that there is no such folder.
func Scan(dir string, folders []string, wanted func(path string) bool, last *Tree) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist) && isBrain("."):
			return nil, fmt.Errorf("there is no brain at %s; this folder is one: --brain .", dir)
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("there is no brain at %s; give its folder with --brain, or make one with attache init", dir)
		}
		return nil, fmt.Errorf("the brain at %s is not readable: %s; give its folder with --brain", dir, reason(err))
	}
	defer root.Close()
	if last == nil {
		last = &Tree{}
	}
	s := scan{root: root, folders: folders, wanted: wanted, last: last, tree: &Tree{entries: make(map[string]entry, len(last.entries))}}
	if err := fs.WalkDir(root.FS(), ".", s.visit); err != nil {
		return nil, fmt.Errorf("the brain at %s is not readable: %w", dir, err)
	}
	s.tree.seal()
	return s.tree, nil
}

// isBrain reports whether a folder looks like a brain: a person who stands in it has
// forgotten to say so.
func isBrain(dir string) bool {
	return slices.ContainsFunc([]string{"constitution/MANIFEST.yaml", "constitution/access.yaml", "features"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil
	})
}

type scan struct {
	root    *os.Root
	folders []string
	wanted  func(string) bool
	last    *Tree
	tree    *Tree
}

// visit takes up one name of the walk. Whatever is wrong with it is a problem of
// its own and never ends the walk, save the root itself.
func (s *scan) visit(path string, d fs.DirEntry, err error) error {
	switch {
	case path == ".":
		return err
	case errors.Is(err, fs.ErrNotExist):
		return nil // removed while the walk was under way
	case err != nil:
		s.problem(path, "the folder is not readable: "+reason(err), "give the bot the right to read it")
		return nil
	case hidden(d.Name()) || !s.inside(path, d):
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return nil
	case d.Type()&fs.ModeSymlink != 0 && s.folder(path):
		return nil
	case s.wanted(path):
		s.take(path, d)
	}
	return nil
}

// hidden tells names that no brain file has: the data folder .attache, .git, an
// editor's swap files.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }

// inside reports whether a path stands in the root itself or in a folder that a
// brain has; anything else in the root is none of our business.
func (s *scan) inside(path string, d fs.DirEntry) bool {
	top, _, deep := strings.Cut(path, "/")
	return slices.Contains(s.folders, top) || !deep && !d.IsDir() && d.Type()&fs.ModeSymlink == 0
}

// folder deals with a link to a folder. Following it could lead in a circle or
// give one file two places, so it is said and passed by.
func (s *scan) folder(path string) bool {
	info, err := s.root.Stat(path)
	if err == nil && !info.IsDir() {
		return false
	}
	if err != nil && s.wanted(path) {
		return false // it has a file's name; reading it says what is wrong
	}
	what, do := "links to folders are not followed", "put the folder itself here"
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		what = "the link leads out of the brain"
	} else if err != nil {
		what, do = "the link leads to nothing", "remove it"
	}
	s.problem(path, what, do)
	return true
}

func (s *scan) problem(path, what, do string) {
	s.tree.Problems = append(s.tree.Problems, attache.Problem{File: path, Line: 1, Col: 1, What: what, Do: do})
}

// take carries a file over from the last tree or reads it.
func (s *scan) take(path string, d fs.DirEntry) {
	stamp, err := d.Info()
	if err == nil && stamp.Mode()&fs.ModeSymlink != 0 {
		stamp, err = s.root.Stat(path) // the stamp that moves is that of the file behind the link
	}
	old, known := s.last.entries[path]
	if known && err == nil && old.same(stamp) {
		s.tree.entries[path] = old
		return
	}
	// The moment is taken before the read, so that a write during it counts as later.
	fresh := entry{read: time.Now(), file: read(s.root, path)}
	for tries := 3; known && tries > 0 && old.file.Text != "" && fresh.beingWritten(); tries-- {
		time.Sleep(20 * time.Millisecond)
		fresh = entry{read: time.Now(), file: read(s.root, path)}
	}
	if fresh.file == nil {
		return
	}
	if err == nil {
		fresh.stamp = stamp
	}
	if known && old.file.Hash == fresh.file.Hash && old.file.Trouble == nil && fresh.file.Trouble == nil {
		fresh.file = old.file // touched, not changed: what was made of it still holds
	}
	s.tree.entries[path] = fresh
}

// beingWritten reports whether a file was found empty: many programs save by
// emptying a file and writing it anew, and what is between is nobody's text.
func (e entry) beingWritten() bool {
	return e.file != nil && e.file.Text == "" && e.file.Trouble == nil
}

// same reports whether the stamp proves that the file is still the one that was
// read. A file that was written just before it was read proves nothing, because
// another write may have got the same time: clocks of file systems tick in
// milliseconds, some in seconds.
func (e entry) same(now fs.FileInfo) bool {
	if e.stamp == nil || !os.SameFile(e.stamp, now) || e.stamp.Size() != now.Size() || !e.stamp.ModTime().Equal(now.ModTime()) {
		return false
	}
	tick := 50 * time.Millisecond
	if now.ModTime().Nanosecond() == 0 {
		tick = 2 * time.Second
	}
	return e.read.Sub(now.ModTime()) > tick
}

// seal sorts the paths and sums up the texts.
func (t *Tree) seal() {
	for path := range t.entries {
		t.paths = append(t.paths, path)
	}
	slices.Sort(t.paths)
	sum := sha256.New()
	for _, path := range t.paths {
		f := t.entries[path].file
		fmt.Fprintf(sum, "%s\x00%x\x00%t\n", path, f.Hash, f.Trouble == nil)
	}
	for _, p := range t.Problems {
		fmt.Fprintf(sum, "%s\n", p.Error())
	}
	t.hash = hex.EncodeToString(sum.Sum(nil))
}

// Of makes a tree of files that stand nowhere on disk, such as those of a commit.
func Of(files ...*File) *Tree {
	t := &Tree{entries: make(map[string]entry, len(files))}
	for _, f := range files {
		t.entries[f.Path] = entry{file: f}
	}
	t.seal()
	return t
}

// File gives the file at a path, nil when the tree has none.
func (t *Tree) File(path string) *File { return t.entries[path].file }

// Files gives every file, sorted by path.
func (t *Tree) Files() iter.Seq[*File] {
	return func(yield func(*File) bool) {
		for _, path := range t.paths {
			if !yield(t.entries[path].file) {
				return
			}
		}
	}
}

// Hash names the tree by its texts: two trees of one hash hold the same brain.
func (t *Tree) Hash() string { return t.hash }
