package knowledge

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"attache"
)

// document gives the document that a reference of another one means, or why there is
// none. What ends in .md is a path from the document's folder, then from the root,
// then an id; anything else is an id, then such a path with .md added.
func (w *Workspace) document(from *Document, ref string) (*Document, string) {
	ref = strings.TrimSpace(ref)
	if absolute(ref) {
		return nil, "a reference is never an absolute path"
	}
	here, root := path.Join(path.Dir(from.Path), ref), path.Clean(ref)
	var tries []func() []*Document
	if isDocument(ref) {
		tries = append(tries, w.at(here), w.at(root), w.of(pathID(root)))
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
	if climbs(here) && climbs(root) {
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

func (w *Workspace) of(id string) func() []*Document {
	return func() []*Document { return w.byID[id] }
}

// several names documents that one name means.
func several(docs []*Document) string {
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.Path
	}
	slices.Sort(names)
	if more := len(names) - 5; more > 0 {
		names = append(names[:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// absolute reports whether a reference is a path from the root of a disk.
func absolute(ref string) bool {
	return strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, `\`) || len(ref) > 1 && ref[1] == ':' && isLetter(ref[0])
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// climbs reports whether a clean path leaves the root that it counts from.
func climbs(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// asset gives the file that a reference to another file means, or why there is none.
// It counts from the document's folder, and with root then from the workspace's.
func (w *Workspace) asset(from *Document, ref string, root bool) (at, why string) {
	ref = strings.TrimSpace(ref)
	if absolute(ref) {
		return "", "a reference is never an absolute path"
	}
	tries := []string{path.Join(path.Dir(from.Path), ref)}
	if root {
		tries = append(tries, path.Clean(ref))
	}
	if why = "there is no such file"; climbs(tries[0]) {
		why = "it leads out of the workspace"
	}
	for _, at := range tries {
		if climbs(at) {
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

// matches gives the rule by which a path is ignored, "" for none. A rule is a run of
// whole segments that may stand anywhere in the path, so that archive means the folder
// of that name and not archived; the document's id counts like its path.
func matches(rules []string, at string) string {
	for _, rule := range rules {
		if run := segments(rule); len(run) > 0 {
			parts := segments(at)
			if contains(parts, run) || isDocument(at) && contains(segments(pathID(at)), run) {
				return rule
			}
		}
	}
	return ""
}

func segments(p string) []string {
	p = strings.Trim(strings.TrimSpace(strings.ToLower(p)), "/")
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	if p == "" || p == "." {
		return nil
	}
	return strings.Split(p, "/")
}

// contains reports whether a run of segments stands somewhere in a path.
func contains(parts, run []string) bool {
	for i := 0; i+len(run) <= len(parts); i++ {
		if slices.Equal(parts[i:i+len(run)], run) {
			return true
		}
	}
	return false
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
	want := segments(lower)
	fits := func(d *Document) bool {
		return endsWith(segments(d.Path), want) || endsWith(segments(pathID(d.Path)), want)
	}
	for _, found := range [][]*Document{w.byID[lower], w.folded[lower], w.folded[lower+".md"], w.filter(fits)} {
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("%q means %s; write more of the path", query, several(found))}
		}
	}
	return nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no document %q%s", query, w.nearest(lower))}
}

func endsWith(parts, end []string) bool {
	return len(end) <= len(parts) && slices.Equal(parts[len(parts)-len(end):], end)
}

func (w *Workspace) filter(keep func(*Document) bool) (out []*Document) {
	for _, d := range w.docs {
		if keep(d) {
			out = append(out, d)
		}
	}
	return out
}
