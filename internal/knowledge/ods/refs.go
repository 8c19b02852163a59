package ods

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge/paths"
)

// Resolve gives the document that a reference of another one means, or why there is
// none. What ends in .md is a path from the document's folder, then from the root,
// then an id; anything else is an id, then such a path with .md added. The first of these
// that finds anything decides: were it to go on after several, a reference would change
// its meaning when a file far away is added. When one finds several documents, they are
// named and none of them is meant.
func (w *Workspace) Resolve(from *Document, ref string) (*Document, string) {
	ref = strings.TrimSpace(ref)
	if paths.Absolute(ref) {
		return nil, "a reference is never an absolute path"
	}
	here, root := path.Join(path.Dir(from.Path), ref), path.Clean(ref)
	var tries []func() []*Document
	if paths.IsDocument(ref) {
		tries = append(tries, w.at(here), w.at(root), w.of(paths.ID(root)))
	} else {
		tries = append(tries, w.of(strings.ToLower(ref)), w.at(here+".md"), w.at(root+".md"))
	}
	for _, try := range tries {
		switch found := try(); {
		case len(found) == 1:
			return found[0], ""
		case len(found) > 1:
			return nil, "it means " + several(found)
		}
	}
	if paths.Climbs(here) && paths.Climbs(root) {
		return nil, "it leads out of the workspace"
	}
	return nil, "there is no such document"
}

// at finds by path, with the case as written first.
func (w *Workspace) at(p string) func() []*Document {
	return func() []*Document {
		if d := w.exact[p]; d != nil {
			return []*Document{d}
		}
		return w.folded[strings.ToLower(p)]
	}
}

// of finds by id. All that have it are given, since which one was meant nobody knows.
func (w *Workspace) of(id string) func() []*Document {
	return func() []*Document { return w.byID[id] }
}

// several names documents that one name means, or the only one.
func several(docs []*Document) string {
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.Path
	}
	slices.Sort(names)
	if len(names) == 1 {
		return names[0]
	}
	if more := len(names) - 5; more > 0 {
		names = append(names[:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Asset gives the file that a reference to another file means, or why there is none.
// It counts from the document's folder, and with root then from the workspace's. The text
// is judged before the disk is asked, and the disk still has the last word: a link inside
// the folder may lead out of it.
func (w *Workspace) Asset(from *Document, ref string, root bool) (at, why string) {
	ref = strings.TrimSpace(ref)
	if paths.Absolute(ref) {
		return "", "a reference is never an absolute path"
	}
	tries := []string{path.Join(path.Dir(from.Path), ref)}
	if root {
		tries = append(tries, path.Clean(ref))
	}
	if why = "there is no such file"; paths.Climbs(tries[0]) {
		why = "it leads out of the workspace"
	}
	for _, at := range tries {
		if paths.Climbs(at) {
			continue
		}
		switch w.src.kind(at) {
		case isFile, isFolder:
			return at, ""
		case outside:
			return "", "it leads out of the workspace"
		case isOdd:
			return "", "it is no regular file"
		}
	}
	return "", why
}

// Find gives the document that a person means: by its exact id; by its path, with or
// without .md; by a path that ends with the text, in whole segments. When several fit,
// the error names them all; it is never the first that is taken.
func (w *Workspace) Find(query string) (*Document, error) {
	query = strings.TrimSpace(query)
	lower := strings.Trim(strings.TrimPrefix(strings.ToLower(query), "./"), "/")
	if lower == "" {
		return nil, &attache.Error{Kind: attache.KindUsage, Say: "the document has no name; give its id, as in features/billing/refunds"}
	}
	if d := w.exact[path.Clean(query)]; d != nil {
		return d, nil
	}
	want := paths.Segments(lower)
	fits := func(d *Document) bool {
		return paths.EndIn(paths.Segments(d.Path), want) || paths.EndIn(paths.Segments(paths.ID(d.Path)), want)
	}
	for _, found := range [][]*Document{w.byID[lower], w.folded[lower], w.folded[lower+".md"], w.filter(fits)} {
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("%q means %s; write more of the path", query, several(found))}
		}
	}
	return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no document %q%s", query, w.Nearest(lower))}
}

// filter gives the documents that are wanted, by path.
func (w *Workspace) filter(keep func(*Document) bool) (out []*Document) {
	for _, d := range w.docs {
		if keep(d) {
			out = append(out, d)
		}
	}
	return out
}

// Nearest gives advice on an id that no document has, as the end of a sentence: the id
// that comes near, or one that ends alike; "" for none. Private ones are not betrayed.
func (w *Workspace) Nearest(id string) string {
	ids := make([]string, 0, len(w.docs))
	for _, d := range w.docs {
		if !d.Private {
			ids = append(ids, d.ID)
		}
	}
	if near := brainfile.Nearest(id, ids); near != "" {
		return "; did you mean " + near + "?"
	}
	base := path.Base(id)
	for _, known := range slices.Sorted(slices.Values(ids)) {
		if path.Base(known) == base {
			return "; did you mean " + known + "?"
		}
	}
	return ""
}
