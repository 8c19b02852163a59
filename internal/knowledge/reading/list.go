// Package reading makes reading lists: what is to be read for one document of a folder,
// in the right order and within a number of tokens, and what is left out and why.
//
// A [List] is values alone. Its items are whole texts, since half of a document can say
// the opposite of all of it; so when there is no room it is a document that is missing,
// never an end. Nothing is missing silently: what a document names and the list has not
// is among Left, with a word of decisions § 8 for the reason. Order is by need: a
// document stands after everything that it depends on, and the one that was asked for is
// last, next to the question.
//
// Who reads is known by one flag. Without Privileged, private documents are left out,
// and so is whatever might be one.
package reading

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/paths"
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

// Why says what brought a file into a reading list (target, depends, load, code or
// related) or kept it out (budget, private, ignored, depth, dangling, outside,
// unreadable or binary), as it is printed.
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

// List is what is to be read for one document, in this order: what must be
// read first stands first, the document itself last.
type List struct {
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

// Find makes the list of a document that [ods.Workspace.Find] finds. The same files and
// options give the same list to the byte. The error of an entry that the reader may
// not see, or that alone is over the limit, says why; there is no list then.
func Find(w *ods.Workspace, query string, o Options) (*List, error) {
	entry, err := w.Find(query)
	if err != nil {
		return nil, err
	}
	return Of(w, entry, o)
}

// Of makes the list of a document of a workspace, with the errors of [Find].
func Of(w *ods.Workspace, entry *ods.Document, o Options) (*List, error) {
	k := &walk{Workspace: w, Options: o, entry: entry, rules: rulesOf(w, entry), known: map[string]*pick{}, said: map[[2]string]bool{}}
	if why, detail := k.barred(entry); why != "" {
		return nil, refusal(entry, why, detail)
	}
	k.add(&pick{path: entry.Path, doc: entry, file: entry.File, why: whyTarget})
	k.prerequisites()
	k.others()
	if err := k.admit(); err != nil {
		return nil, err
	}
	return k.finish(), nil
}

// refusal is the error of an entry that may not be in its own list: a list without the
// document that was asked for would look like an answer.
func refusal(d *ods.Document, why Why, detail string) error {
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
func rulesOf(w *ods.Workspace, entry *ods.Document) []string {
	rules := slices.Clone(w.Ignored())
	for _, word := range entry.Names.Ignore {
		rules = append(rules, word.Text)
	}
	return rules
}

// pick is a file on its way into a list.
type pick struct {
	path   string
	doc    *ods.Document // nil for other files
	file   *brainfile.File
	why    Why
	depth  int
	in     bool
	parent []*pick // those whose depends name it
}

// walk makes one list. It first finds everything that could be in, the nearest first
// (prerequisites, others), then decides what has room (admit), then puts that in order
// (finish): whether there is room for a document depends on how near it is, and where it
// stands on what else is in.
type walk struct {
	*ods.Workspace
	Options
	entry *ods.Document
	rules []string
	known map[string]*pick // by path
	picks []*pick          // in the order in which they were found, the entry first
	left  []Left
	said  map[[2]string]bool // path and reason of each that is left
}

// add takes a file in, for the first thing that brings it.
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

// barred says why a document may not be in the list, "" when it may. A rule comes first:
// what is ignored is told apart from what is secret, and the rule is no secret.
func (k *walk) barred(d *ods.Document) (Why, string) {
	rule := paths.Ignored(k.rules, d.Path)
	switch trouble := d.File.Trouble; {
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
func (k *walk) follow(from *ods.Document, ref brainfile.Word, why Why, depth int) (*pick, bool) {
	d, wrong := k.Resolve(from, ref.Text)
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
	return k.add(&pick{path: d.Path, doc: d, file: d.File, why: why, depth: depth}), true
}

// unfound is a reference that leads to no file.
func unfound(from *ods.Document, ref brainfile.Word, wrong string) Left {
	why := whyDangling
	if strings.Contains(wrong, "out of the workspace") || strings.Contains(wrong, "absolute") {
		why = whyOutside
	}
	return Left{Path: ref.Text, Why: why, Detail: fmt.Sprintf("%s:%d: %s", from.Path, ref.Line, wrong)}
}

// defaultDepth is that of ODS 0.1.
const defaultDepth = 2

// depth gives how many steps along depends are followed: who asks has the last word, for
// the bound is there for the reader's room.
func (k *walk) depth() int {
	switch {
	case k.MaxDepth != nil:
		return max(*k.MaxDepth, 0)
	case k.entry.Names.Depth >= 0:
		return k.entry.Names.Depth
	}
	return defaultDepth
}

// prerequisites goes along depends, the nearest first: so each document has its fewest
// steps, and none is lost because a longer way met it before.
func (k *walk) prerequisites() {
	limit := k.depth()
	for i := 0; i < len(k.picks); i++ {
		at := k.picks[i]
		for _, ref := range at.doc.Names.Depends {
			if at.depth == limit {
				k.tooDeep(at.doc, ref, limit)
			} else if p, _ := k.follow(at.doc, ref, whyDepends, at.depth+1); p != nil && p != at {
				p.parent = append(p.parent, at)
			}
		}
	}
	for _, p := range k.picks { // one at the limit may need another that is in the list
		if p.depth == limit {
			for _, ref := range p.doc.Names.Depends {
				if d, _ := k.Resolve(p.doc, ref.Text); d != nil && k.known[d.Path] != nil && d != p.doc {
					k.known[d.Path].parent = append(k.known[d.Path].parent, p)
				}
			}
		}
	}
}

// tooDeep notes a prerequisite that is more steps away than are followed. Whether
// something else brings it is known in the end.
func (k *walk) tooDeep(from *ods.Document, ref brainfile.Word, limit int) {
	d, wrong := k.Resolve(from, ref.Text)
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
