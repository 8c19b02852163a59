package knowledge

import (
	"path"
	"slices"
	"strings"

	"attache/internal/brainfile"
)

// others takes in what the entry, and only the entry, names besides: related documents,
// files to load, code.
func (k *walk) others() {
	for _, ref := range k.entry.head.load {
		k.asset(ref, whyLoad)
	}
	if k.WithCode {
		for _, b := range k.entry.head.code {
			k.asset(b.path, whyCode)
		}
	}
	if k.WithRelated {
		for _, ref := range k.entry.head.related {
			k.follow(k.entry, ref, whyRelated, 0)
		}
	}
}

// asset takes in a file that load or code names.
func (k *walk) asset(ref brainfile.Word, why Why) {
	if why == whyLoad && isDocument(ref.Text) {
		k.follow(k.entry, ref, why, 0)
		return
	}
	at, wrong := k.Workspace.asset(k.entry, ref.Text, why == whyCode)
	if wrong == "" && k.src.kind(at) == isFolder {
		wrong = "it is a folder"
	}
	if wrong != "" {
		k.leave(unfound(k.entry, ref, wrong))
		return
	}
	if k.known[at] != nil {
		return
	}
	if d := k.exact[at]; d != nil {
		if barred, detail := k.barred(d); barred != "" {
			k.leave(Left{Path: at, Why: barred, Detail: detail})
			return
		}
	}
	if p := k.readable(at); p != nil {
		p.why, p.doc = why, k.exact[at]
		k.add(p)
	}
}

// readable reads a file that is no document, unless a rule or its content keeps it out.
// A text under another name that says it is private is private: a link is no way in.
func (k *walk) readable(at string) *pick {
	if rule := matches(k.rules, at); rule != "" {
		k.leave(Left{Path: at, Why: whyIgnored, Detail: rule})
		return nil
	}
	f := k.src.file(at)
	switch {
	case f.Trouble != nil && strings.Contains(f.Trouble.What, "UTF-8"):
		k.leave(Left{Path: at, Why: whyBinary})
	case f.Trouble != nil:
		k.leave(Left{Path: at, Why: whyUnreadable, Detail: f.Trouble.What})
	case !k.Privileged && strings.HasPrefix(f.Text, "---") && readFile(f).broken == "" && readFile(f).private:
		k.leave(Left{Path: at, Why: whyPrivate})
	case !k.Privileged && k.foldedPrivate(at):
		k.leave(Left{Path: at, Why: whyPrivate})
	default:
		return &pick{path: at, file: f}
	}
	return nil
}

// foldedPrivate reports whether a path is that of a private document but for its case:
// some disks open one by the name of the other.
func (k *walk) foldedPrivate(at string) bool {
	return slices.ContainsFunc(k.folded[strings.ToLower(path.Clean(at))], func(d *Document) bool { return d.Private })
}
