package ods

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge/paths"
)

// source is where a workspace's files come from. Paths are from the workspace's root,
// with forward slashes, and clean.
type source interface {
	list() (paths []string, problems []attache.Problem)
	kind(path string) kind
	file(path string) *brainfile.File // of a path that kind calls a file
}

// kind is what stands at a path.
type kind int

const (
	missing kind = iota
	isFile
	isFolder
	isOdd   // a device, a pipe: opening it could wait for ever
	outside // a link that leaves the workspace
)

// pack is a folder of a brain's tree. The tree was read as a whole before, so
// a list made from it is of one version of the brain, whatever happens on disk meanwhile.
type pack struct {
	folder string
	files  map[string]*brainfile.File
	dirs   map[string]bool
}

// packOf takes the files below a folder out of a tree.
func packOf(tree *brainfile.Tree, folder string) pack {
	p := pack{folder, map[string]*brainfile.File{}, map[string]bool{}}
	for f := range tree.Files() {
		below, ok := strings.CutPrefix(f.Path, folder+"/")
		if !ok {
			continue
		}
		p.files[below] = f
		for dir := path.Dir(below); dir != "." && !p.dirs[dir]; dir = path.Dir(dir) {
			p.dirs[dir] = true
		}
	}
	return p
}

func (p pack) list() ([]string, []attache.Problem) {
	out := make([]string, 0, len(p.files))
	for name := range p.files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil // what is wrong with links is the tree's own problem
}

func (p pack) kind(name string) kind {
	switch {
	case p.files[name] != nil:
		return isFile
	case p.dirs[name]:
		return isFolder
	}
	return missing
}

func (p pack) file(name string) *brainfile.File { return p.files[name] }

// folder is a file system, such as that of an os.Root. Its files are read when they are
// asked for: a folder on disk may hold anything beside its documents.
type folder struct{ fs.FS }

// maxFile is read of a file at most: what is longer is refused by brainfile.
const maxFile = 1<<20 + 4

// list gives every file that is not hidden, links to files among them. Links to
// folders are not followed: they could lead in a circle, or give one file two ids.
func (f folder) list() (found []string, problems []attache.Problem) {
	wrong := func(at, what, do string) {
		problems = append(problems, attache.Problem{File: at, Line: 1, Col: 1, What: what, Do: do})
	}
	walk := func(at string, d fs.DirEntry, err error) error {
		switch {
		case at == "." && err != nil:
			return err
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			wrong(at, "the folder is not readable", "give yourself the right to read it")
		case at == ".":
		case strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules":
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			found = append(found, at)
		case d.Type()&fs.ModeSymlink != 0:
			switch f.kind(at) {
			case isFile:
				found = append(found, at)
			case isFolder:
				wrong(at, "links to folders are not followed", "put the folder itself here")
			case outside:
				wrong(at, "the link leads out of the workspace", "put the file itself here")
			default:
				wrong(at, "the link leads to no file", "remove it")
			}
		case !d.IsDir() && paths.IsDocument(at):
			wrong(at, "this is no regular file", "remove it")
		}
		return nil
	}
	if err := fs.WalkDir(f.FS, ".", walk); err != nil {
		wrong(".", fmt.Sprintf("the folder is not readable: %v", err), "give yourself the right to read it")
	}
	return found, problems
}

// kind looks at what stands at a path without opening it. An error that is not known is
// taken for a link that leads out: an os.Root tells of those by errors without a name.
func (f folder) kind(name string) kind {
	info, err := fs.Stat(f.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return missing
	case err != nil && strings.Contains(err.Error(), "not a directory"):
		return missing
	case err != nil:
		return outside // also what may not be looked at: nothing of it is read
	case info.Mode().IsRegular():
		return isFile
	case info.IsDir():
		return isFolder
	}
	return isOdd
}

// file reads a file. One that is gone or cannot be read is a file with a trouble.
func (f folder) file(name string) *brainfile.File {
	bad := func(err error) *brainfile.File {
		out := &brainfile.File{Path: name}
		p := out.Wrong(1, 1, "the file is not readable: "+cause(err), "look at its rights and at the disk")
		out.Trouble = &p
		return out
	}
	opened, err := f.Open(name)
	if err != nil {
		return bad(err)
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile))
	if err != nil {
		return bad(err)
	}
	return brainfile.New(name, text)
}

// cause strips the path from an error of a file system: the problem has it.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
