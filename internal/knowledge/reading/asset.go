package reading

import (
	"strings"

	"attache/internal/brainfile"
	"attache/internal/knowledge/paths"
)

// others takes in what the entry, and only the entry, names besides: related documents,
// files to load, code.
func (k *walk) others() {
	for _, ref := range k.entry.Names.Load {
		k.asset(ref, whyLoad)
	}
	if k.WithCode {
		for _, b := range k.entry.Names.Code {
			k.asset(b.Path, whyCode)
		}
	}
	if k.WithRelated {
		for _, ref := range k.entry.Names.Related {
			k.follow(k.entry, ref, whyRelated, 0)
		}
	}
}

// asset takes in a file that load or code names. A document that load names is taken as
// a document, with all that keeps one out; as code it is a file, but no way around that.
func (k *walk) asset(ref brainfile.Word, why Why) {
	if why == whyLoad && paths.IsDocument(ref.Text) {
		k.follow(k.entry, ref, why, 0)
		return
	}
	at, wrong := k.Asset(k.entry, ref.Text, why == whyCode)
	if wrong == "" && k.IsFolder(at) {
		wrong = "it is a folder"
	}
	if wrong != "" {
		k.leave(unfound(k.entry, ref, wrong))
		return
	}
	if k.known[at] != nil {
		return
	}
	if d := k.At(at); d != nil {
		if barred, detail := k.barred(d); barred != "" {
			k.leave(Left{Path: at, Why: barred, Detail: detail})
			return
		}
	}
	if p := k.readable(at); p != nil {
		p.why, p.doc = why, k.At(at)
		k.add(p)
	}
}

// readable reads a file that is no document, unless a rule or its content keeps it out.
func (k *walk) readable(at string) *pick {
	if rule := paths.Ignored(k.rules, at); rule != "" {
		k.leave(Left{Path: at, Why: whyIgnored, Detail: rule})
		return nil
	}
	f := k.File(at)
	switch {
	case f.Trouble != nil && strings.Contains(f.Trouble.What, "UTF-8"):
		k.leave(Left{Path: at, Why: whyBinary})
	case f.Trouble != nil:
		k.leave(Left{Path: at, Why: whyUnreadable, Detail: f.Trouble.What})
	case !k.Privileged && k.Hides(at, f):
		k.leave(Left{Path: at, Why: whyPrivate})
	default:
		return &pick{path: at, file: f}
	}
	return nil
}
