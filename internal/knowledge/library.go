package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/paths"
	"attache/internal/knowledge/reading"
)

// Library is every pack of a brain. It never changes.
type Library struct {
	packs []*Shelf
	names [3]map[string][]place // by <pack>/<id> and <pack>/<path>, by selector, by id
}

// place is a document in its pack.
type place struct {
	shelf *Shelf
	doc   *ods.Document
}

// Shelf is one pack of a brain with its name: that of its folder, for a pack of a
// package behind the package's, as in acme/kit/returns.
type Shelf struct {
	*ods.Workspace
	Name   string
	Folder string // from the brain's root
}

// NewLibrary reads the packs that stand in the given folders of a brain: knowledge/P
// and packages/S/R/knowledge/P.
func NewLibrary(tree *brainfile.Tree, folders []string) *Library {
	l := &Library{}
	for _, folder := range folders {
		name := strings.Replace(strings.TrimPrefix(strings.TrimPrefix(folder, "packages/"), "knowledge/"), "/knowledge/", "/", 1)
		l.packs = append(l.packs, &Shelf{ods.Pack(tree, folder), name, folder})
	}
	slices.SortFunc(l.packs, func(a, b *Shelf) int { return strings.Compare(a.Name, b.Name) })
	l.index()
	return l
}

// index notes every name of every document.
func (l *Library) index() {
	for i := range l.names {
		l.names[i] = map[string][]place{}
	}
	for _, s := range l.packs {
		for _, d := range s.Documents() {
			full := s.NameOf(d)
			l.note(0, full, place{s, d})
			if at := strings.ToLower(s.Name + "/" + d.Path); at != full {
				l.note(0, at, place{s, d})
			}
			l.note(1, s.selector(d), place{s, d})
			l.note(2, d.ID, place{s, d})
		}
	}
}

func (l *Library) note(kind int, name string, at place) {
	l.names[kind][name] = append(l.names[kind][name], at)
}

// Packs gives the packs by name.
func (l *Library) Packs() []*Shelf {
	if l == nil {
		return nil
	}
	return l.packs
}

// Find gives the one document that a name means: <pack>/<id>, its selector in prompts
// (lib.<pack>.<path>), or an id alone when only one pack has it. The error says which
// names come near, or which documents it might mean; none of them is private.
func (l *Library) Find(name string) (*Shelf, *ods.Document, error) {
	plain := strings.Trim(strings.ToLower(strings.TrimSpace(name)), "/")
	for kind, key := range []string{plain, dotted(plain), plain} {
		if l == nil {
			break
		}
		switch found := l.names[kind][key]; {
		case len(found) == 1:
			return found[0].shelf, found[0].doc, nil
		case len(found) > 1:
			return nil, nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("%q means %s; write <pack>/<id>", name, among(found))}
		}
	}
	return nil, nil, &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no document %q in the knowledge; %s", name, brainfile.Suggest(plain, l.known(), "write it as <pack>/<id>"))}
}

// among names documents of several packs, private ones left out.
func among(found []place) string {
	var names []string
	for _, at := range found {
		if !at.doc.Private {
			names = append(names, at.shelf.Name+"/"+at.doc.Path)
		}
	}
	if len(names) == 0 {
		return "several documents"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " or ")
}

// known lists what may be found, for suggestions.
func (l *Library) known() (out []string) {
	for _, s := range l.Packs() {
		for _, d := range s.Documents() {
			if !d.Private {
				out = append(out, s.NameOf(d))
			}
		}
	}
	return out
}

// NameOf gives the name by which Find finds a document of a pack: <pack>/<id>.
func (s *Shelf) NameOf(d *ods.Document) string { return strings.ToLower(s.Name) + "/" + d.ID }

// selector is the name of a document as prompts select it.
func (s *Shelf) selector(d *ods.Document) string {
	if strings.HasPrefix(s.Folder, "packages/") {
		parts := strings.Split(s.Folder, "/")
		return dotted("pkg." + strings.Join(parts[1:], ".") + "." + paths.ID(d.Path))
	}
	return dotted("lib." + s.Name + "." + paths.ID(d.Path))
}

// dotted writes a path as selectors do: in lower case, with dots, and _ for -.
func dotted(s string) string {
	return strings.NewReplacer("/", ".", "-", "_").Replace(strings.ToLower(s))
}

// ReadingList gives the list of a document for whoever talks to the bot: without what
// is private, whatever the options say, and with the name of its pack before each path.
func (l *Library) ReadingList(name string, o reading.Options) (*reading.List, error) {
	shelf, entry, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	if entry.Private && entry.Broken == "" {
		return nil, &attache.Error{Kind: attache.KindRefused, Say: name + " is private, so no agent reads it"}
	}
	o.Privileged = false
	list, err := reading.Of(shelf.Workspace, entry, o)
	if err != nil {
		return nil, err
	}
	list.ID = shelf.NameOf(entry)
	list.Under(shelf.Name)
	return list.Discreet(), nil
}

// Problems gives what keeps documents of the packs from being read: frontmatter that
// is no YAML, and ids that two have. The rest is for attache ods lint to say.
func (l *Library) Problems() (out []attache.Problem) {
	for _, s := range l.Packs() {
		for _, d := range s.Documents() {
			for _, f := range d.Found {
				if d.Broken != "" {
					out = append(out, f.Problem)
				}
			}
		}
		for _, f := range s.Clashes() {
			out = append(out, f.Problem)
		}
		for _, f := range s.Found() {
			if f.Rule == "WS-002" {
				out = append(out, f.Problem)
			}
		}
	}
	return out
}
