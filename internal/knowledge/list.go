package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Options bound a reading list. The zero value is that of a reader without rights,
// with the document's own depth and without a limit.
type Options struct {
	MaxTokens   int  // of all texts together; 0 for no limit
	MaxDepth    *int // steps along depends; nil for what the document says, else 2
	WithCode    bool // also the files that `ods.code` names
	WithRelated bool // also the documents that it names as related
	Privileged  bool // private documents too
}

// Why says what brought a file into a reading list, or kept it out.
type Why string

// What brings a file in, and what keeps it out (decisions § 8). A file that several
// things bring is named once, for the first of them.
const (
	whyTarget  Why = "target"
	whyDepends Why = "depends" // with the fewest steps to it
	whyLoad    Why = "load"
	whyCode    Why = "code"
	whyRelated Why = "related"

	whyBudget     Why = "budget"     // no room, or only what has no room needs it
	whyPrivate    Why = "private"    // share: private
	whyIgnored    Why = "ignored"    // by ods.toml or by the entry
	whyDepth      Why = "depth"      // more steps away than are followed
	whyDangling   Why = "dangling"   // there is no such file, or it is no one file
	whyOutside    Why = "outside"    // the reference leads out of the workspace
	whyUnreadable Why = "unreadable" // among others a document whose frontmatter is no YAML: it may be private
	whyBinary     Why = "binary"     // it is no UTF-8 text
)

// ReadingList is what is to be read for one document, in this order: what must be
// read first stands first, the document itself last.
type ReadingList struct {
	ID       string
	Items    []Item
	Left     []Left
	Total    int      // tokens of all items
	Warnings []string // rings of depends, which make the order a choice
}

// Item is one file of a reading list.
type Item struct {
	Path   string // from the workspace's root
	ID     string // of a document; "" for other files
	Why    Why
	Depth  int // steps along depends, the fewest; 0 for what came in otherwise
	Tokens int // of Text, by o200k
	Text   string
}

// Reason is the item's reason as it is printed.
func (i Item) Reason() string {
	if i.Why == whyDepends {
		return fmt.Sprintf("depends %d", i.Depth)
	}
	return string(i.Why)
}

// Left is a file that is not in the list, or a reference that leads to none.
type Left struct {
	Path   string // from the root, or the reference as it is written
	Why    Why
	Detail string // what a person needs to mend it; may be empty
	Tokens int    // what it would take; 0 where nobody looked
}

// ReadingList makes the list of a document that Find finds. The same files and
// options give the same list to the byte. The error of an entry that the reader may
// not see, or that alone is over the limit, says why; there is no list then.
func (w *Workspace) ReadingList(query string, o Options) (*ReadingList, error) {
	entry, err := w.Find(query)
	if err != nil {
		return nil, err
	}
	return w.list(entry, o)
}

// list makes the list of a document.
func (w *Workspace) list(entry *Document, o Options) (*ReadingList, error) {
	k := &walk{Workspace: w, Options: o, entry: entry, rules: rulesOf(w, entry), known: map[string]*pick{}, said: map[[2]string]bool{}}
	if why, detail := k.barred(entry); why != "" {
		return nil, refusal(entry, why, detail)
	}
	k.add(&pick{path: entry.Path, doc: entry, file: entry.file, why: whyTarget})
	k.prerequisites()
	k.others()
	if err := k.admit(); err != nil {
		return nil, err
	}
	return k.finish(), nil
}

func refusal(d *Document, why Why, detail string) error {
	say := map[Why]string{
		whyPrivate:    "%s is private (share: private), so it is given to nobody without the right; with the right, add --privileged",
		whyIgnored:    "%s is left out by the ignore rule " + detail + "; take the rule out to read it",
		whyUnreadable: "%s cannot be read: " + detail + "; mend it first",
		whyBinary:     "%s is no UTF-8 text; save it as UTF-8",
	}[why]
	return &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf(say, d.Path)}
}

// rulesOf gives the ignore rules that hold for an entry's list: its own and those of
// ods.toml.
func rulesOf(w *Workspace, entry *Document) []string {
	rules := slices.Clone(w.ignored)
	for _, word := range entry.head.ignore {
		rules = append(rules, word.Text)
	}
	return rules
}

// pick is a file on its way into a list.
type pick struct {
	path   string
	doc    *Document // nil for other files
	file   *brainfile.File
	why    Why
	depth  int
	in     bool
	parent []*pick // those whose depends name it
}

// walk makes one list.
type walk struct {
	*Workspace
	Options
	entry *Document
	rules []string
	known map[string]*pick // by path
	picks []*pick          // in the order in which they were found, the entry first
	left  []Left
	said  map[[2]string]bool // path and reason of each that is left
}

func (k *walk) add(p *pick) *pick {
	k.known[p.path] = p
	k.picks = append(k.picks, p)
	return p
}

// leave notes what stays out, once for each path and reason.
func (k *walk) leave(l Left) {
	if same := [2]string{l.Path, string(l.Why)}; !k.said[same] {
		k.said[same] = true
		k.left = append(k.left, l)
	}
}

// barred says why a document may not be in the list, "" when it may.
func (k *walk) barred(d *Document) (Why, string) {
	rule := matches(k.rules, d.Path)
	switch trouble := d.file.Trouble; {
	case rule != "":
		return whyIgnored, rule
	case trouble != nil && strings.Contains(trouble.What, "UTF-8"):
		return whyBinary, ""
	case d.Broken != "":
		return whyUnreadable, d.Broken
	case d.Private && !k.Privileged:
		return whyPrivate, ""
	}
	return "", ""
}

// follow takes a document in that a reference names, or notes why not. It gives the
// pick of one that is in the list, and whether it is new.
func (k *walk) follow(from *Document, ref brainfile.Word, why Why, depth int) (*pick, bool) {
	d, wrong := k.document(from, ref.Text)
	if d == nil {
		k.leave(unfound(from, ref, wrong))
		return nil, false
	}
	if p := k.known[d.Path]; p != nil {
		return p, false
	}
	if barred, detail := k.barred(d); barred != "" {
		k.leave(Left{Path: d.Path, Why: barred, Detail: detail})
		return nil, false
	}
	return k.add(&pick{path: d.Path, doc: d, file: d.file, why: why, depth: depth}), true
}

// unfound is a reference that leads to no file.
func unfound(from *Document, ref brainfile.Word, wrong string) Left {
	why := whyDangling
	if strings.Contains(wrong, "out of the workspace") || strings.Contains(wrong, "absolute") {
		why = whyOutside
	}
	return Left{Path: ref.Text, Why: why, Detail: fmt.Sprintf("%s:%d: %s", from.Path, ref.Line, wrong)}
}

// depth gives how many steps along depends are followed.
func (k *walk) depth() int {
	switch {
	case k.MaxDepth != nil:
		return max(*k.MaxDepth, 0)
	case k.entry.head.depth >= 0:
		return k.entry.head.depth
	}
	return defaultDepth
}

// prerequisites goes along depends, the nearest first: so each document has its fewest
// steps, and none is lost because a longer way met it before.
func (k *walk) prerequisites() {
	limit := k.depth()
	for i := 0; i < len(k.picks); i++ {
		at := k.picks[i]
		for _, ref := range at.doc.head.depends {
			if at.depth == limit {
				k.tooDeep(at.doc, ref, limit)
			} else if p, _ := k.follow(at.doc, ref, whyDepends, at.depth+1); p != nil && p != at {
				p.parent = append(p.parent, at)
			}
		}
	}
	for _, p := range k.picks { // one at the limit may need another that is in the list
		if p.depth == limit {
			for _, ref := range p.doc.head.depends {
				if d, _ := k.document(p.doc, ref.Text); d != nil && k.known[d.Path] != nil && d != p.doc {
					k.known[d.Path].parent = append(k.known[d.Path].parent, p)
				}
			}
		}
	}
}

// tooDeep notes a prerequisite that is more steps away than are followed. Whether
// something else brings it is known in the end.
func (k *walk) tooDeep(from *Document, ref brainfile.Word, limit int) {
	d, wrong := k.document(from, ref.Text)
	if d == nil {
		k.leave(unfound(from, ref, wrong))
		return
	}
	if why, detail := k.barred(d); why != "" {
		k.leave(Left{Path: d.Path, Why: why, Detail: detail})
		return
	}
	k.leave(Left{Path: d.Path, Why: whyDepth, Detail: fmt.Sprintf("beyond max-depth %d", limit)})
}
