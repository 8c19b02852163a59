package origins

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"attache"
)

//go:embed words.tmpl
var wordsText string

// say gives a refusal of words.tmpl. The text is compiled in: a mistake in it is one
// of the build, which the tests of every refusal meet.
func say(name string, about any) string {
	t := template.Must(template.New("words").Funcs(template.FuncMap{"and": and}).Parse(wordsText))
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, about); err != nil {
		panic("origins: words.tmpl: " + err.Error())
	}
	return b.String()
}

// and joins a list as a sentence does.
func and(last string, list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " " + last + " " + list[len(list)-1]
}

// missingWords tell which contexts wait for a key.
type missingWords struct {
	Names []string          // each with what its key is: "film" (keyed by film id)
	First attache.ContextID // the one to show how it is named
	Kind  string            // what its key is
	Free  bool              // it can be given a key, as far as the pins are known
	Key   attache.EntityKey // that about names
}

// missing tells of the contexts that wait, showing one that a pin does not keep from
// every key if there is one.
func (s Send) missing(items []item) missingWords {
	w := missingWords{Key: s.About.Key}
	seen := map[attache.ContextID]bool{}
	for _, it := range items {
		if !it.waits() || seen[it.ID] {
			continue
		}
		seen[it.ID] = true
		w.Names = append(w.Names, fmt.Sprintf("%q (keyed by %s)", it.ID, it.KeyKind))
		if free := open(s.To, it.ID) && open(s.At, it.ID); w.First == "" || free && !w.Free {
			w.First, w.Kind, w.Free = it.ID, it.KeyKind, free
		}
	}
	return w
}

// open reports whether a pin lets some key of a context in.
func open(p attache.Pin, id attache.ContextID) bool {
	key, pinned := p.Bound[id]
	return !p.Unread && (!pinned || key != "")
}

// reachWords tell why no entry of a reach takes a key.
type reachWords struct {
	Run     string
	Entries []string // each with the reason
	Key     attache.EntityKey
}

func (s Send) reachOf(items []item) reachWords {
	w := reachWords{Run: s.Run.String(), Key: s.About.Key}
	for _, it := range items {
		why := fmt.Sprintf("has the key %q", it.entry.Key)
		switch {
		case it.ID == "":
			why = "does not load"
		case !it.comesBack():
			why = "does not come back on a reply"
		case !it.Keyed():
			why = "is about no entity"
		case it.lost != "" || s.held(it.entry) != "": // nor is that key told of in such a place
			why = "has a key that is not let in"
		}
		w.Entries = append(w.Entries, fmt.Sprintf("%q %s", it.entry.Context, why))
	}
	return w
}

// heldWords tell which pin refuses a key.
type heldWords struct {
	Context attache.ContextID
	Which   string
	Bound   attache.EntityKey // "" when no key is let in
	Why     string
}
