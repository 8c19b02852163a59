package ods

import (
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge/paths"
)

// Workspace is one folder of documents as it stood when it was read. It never
// changes, and may be asked by many at once. Files that are no documents are read
// when a list asks for them.
type Workspace struct {
	src     source
	ignored []string             // the rules of ods.toml
	places  []brainfile.Word     // the same, with their lines
	marker  *brainfile.File      // ods.toml; nil for none
	paths   []string             // every file, sorted
	docs    []*Document          // by path; those that ods.toml ignores are not among them
	exact   map[string]*Document // by path, the ignored too
	folded  map[string][]*Document
	byID    map[string][]*Document
	found   []Finding // of the folder and of ods.toml
}

// Marker is the file that makes a folder a workspace.
const Marker = "ods.toml"

// Read reads a workspace from a file system, such as that of an os.Root, which no
// link leads out of. The file system must stay open as long as lists are made. A
// folder without an ods.toml is read all the same; lint says so, unless it is a pack
// of a brain, which needs none.
func Read(files fs.FS, pack bool) *Workspace {
	w := open(folder{files})
	if w.marker == nil && !pack {
		w.found = append(w.found, Finding{attache.Problem{File: ".", Line: 1, Col: 1, What: "this is no workspace: there is no ods.toml", Do: `write one, with a line spec = "0.1"`}, "WS-001", LevelError})
	}
	return w
}

// Pack reads a pack of a brain: a folder of its tree. It needs no ods.toml of its own
// (decisions § 4).
func Pack(tree *brainfile.Tree, folder string) *Workspace { return open(packOf(tree, folder)) }

// open reads the documents of a source. Those that ods.toml ignores are read as well:
// a reading list must know that one is private although a rule hides it, and says of a
// reference to it that it is ignored and not that it is missing.
func open(src source) *Workspace {
	w := &Workspace{src: src, exact: map[string]*Document{}, folded: map[string][]*Document{}, byID: map[string][]*Document{}}
	var problems []attache.Problem
	w.paths, problems = src.list()
	slices.Sort(w.paths)
	for _, p := range problems {
		w.found = append(w.found, Finding{p, "FILE-001", LevelWarning})
	}
	if src.kind(Marker) == isFile {
		w.marker = src.file(Marker)
		w.readMarker()
	}
	for _, d := range documents(src, slices.DeleteFunc(slices.Clone(w.paths), func(p string) bool { return !paths.IsDocument(p) })) {
		w.exact[d.Path] = d
		fold := strings.ToLower(d.Path)
		w.folded[fold] = append(w.folded[fold], d)
		if paths.Ignored(w.ignored, d.Path) == "" {
			w.docs = append(w.docs, d)
			w.byID[d.ID] = append(w.byID[d.ID], d)
		}
	}
	return w
}

// Paths gives the path of every file, sorted, documents and others. It is not to be
// changed.
func (w *Workspace) Paths() []string { return w.paths }

// Marked gives ods.toml, nil where there is none, and its ignore rules where they stand.
func (w *Workspace) Marked() (*brainfile.File, []brainfile.Word) { return w.marker, w.places }

// Ignored gives the ignore rules of ods.toml. A document that they hit is no document of
// the workspace, but is still known by its path: who names it is told why it is not there.
func (w *Workspace) Ignored() []string { return w.ignored }

// At gives the document of a path, in the case as written, the ignored too; nil for none.
func (w *Workspace) At(path string) *Document { return w.exact[path] }

// IsFolder reports whether a path that [Workspace.Asset] gave is that of a folder.
func (w *Workspace) IsFolder(path string) bool { return w.src.kind(path) == isFolder }

// File reads a file that [Workspace.Asset] gave and that is no folder. One that cannot be
// read has a Trouble.
func (w *Workspace) File(path string) *brainfile.File { return w.src.file(path) }

// Hides reports whether a file that a document names is private though it is no document
// of that path: a text under another name that says so itself, for a link is no way in,
// and one whose path is that of a private document but for its case, for some disks open
// one by the name of the other.
func (w *Workspace) Hides(path string, f *brainfile.File) bool {
	if strings.HasPrefix(f.Text, "---") {
		if r := readFile(f); r.broken == "" && r.private {
			return true
		}
	}
	return slices.ContainsFunc(w.folded[strings.ToLower(path)], func(d *Document) bool { return d.Private })
}

// documents reads files side by side: most of the time goes into their frontmatter.
func documents(src source, at []string) []*Document {
	out := make([]*Document, len(at))
	var wait sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(at))
	for n := range workers {
		wait.Go(func() {
			for i := n; i < len(at); i += workers {
				out[i] = document(src, at[i])
			}
		})
	}
	wait.Wait()
	return out
}

// document makes the document of a path from what its file says of itself.
func document(src source, at string) *Document {
	f := src.file(at)
	r := readFile(f)
	d := &Document{Path: at, ID: r.names.ID.Text, Title: r.title, Summary: r.summary, Profile: r.profile, Private: r.private, Broken: r.broken, Names: r.names, Body: r.body, File: f, Found: r.found}
	if d.ID == "" {
		d.ID = paths.ID(at)
	}
	return d
}

// Documents gives the documents by path, without those that ods.toml ignores. Broken
// and private ones are among them; nothing of theirs is for a reader who may not.
func (w *Workspace) Documents() []*Document { return w.docs }

// Depends gives the documents that a document says must be read before it, as far as
// there are such, in its order.
func (w *Workspace) Depends(d *Document) []*Document { return w.named(d, d.Names.Depends) }

// Open gives the documents that anybody may read.
func (w *Workspace) Open() []*Document {
	return w.filter(func(d *Document) bool { return !d.Private })
}

// Related gives the documents that a document names as related.
func (w *Workspace) Related(d *Document) []*Document { return w.named(d, d.Names.Related) }

// named gives the documents of references, each once. What ods.toml ignores is left out:
// for who reads the folder it is not there.
func (w *Workspace) named(from *Document, refs []brainfile.Word) (out []*Document) {
	for _, ref := range refs {
		if d, _ := w.Resolve(from, ref.Text); d != nil && !slices.Contains(out, d) && paths.Ignored(w.ignored, d.Path) == "" {
			out = append(out, d)
		}
	}
	return out
}
