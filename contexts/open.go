package contexts

import (
	"fmt"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Open gives what context_open(name, key) answers in a turn, to be rendered like any
// choice, or the one sentence with which it is refused. The turn's own tail is not
// changed by it; Choice.Holds gives the hold that it leaves (decisions § 3.16).
//
// It opens what the role admits, what the turn's run reaches and what a rule of
// access.yaml binds here; `when` is not asked, since an open is the agent's explicit
// ask (text 1 § 3).
func (l *Library) Open(t Turn, name, key string) (Choice, string) {
	id := attache.ContextID(name)
	file, why := l.File(id)
	switch {
	case file == nil:
		return Choice{}, l.words.say("refuse-unknown", "why", why, "do", l.otherName(t, name))
	case !t.Role.Admits(id) && !t.opens(id):
		return Choice{}, l.words.say("refuse-admit", "name", name, "role", string(t.Role.ID))
	case key != "" && !file.Keyed():
		return Choice{}, l.words.say("refuse-surplus", "name", name)
	}
	if why := fits(file, attache.EntityKey(key)); why != "" {
		return Choice{}, l.words.say("refuse-key", "why", why)
	}
	pin := attache.NewPin(t.Bot, t.Bindings)
	pin.Unread = t.Unread
	entry, why := pin.Take(attache.ReachEntry{Context: id, Key: attache.EntityKey(key)}, file.Keyed())
	switch {
	case why != "" && t.Unread:
		return Choice{}, l.words.say("refuse-unread", "why", why)
	case why != "":
		return Choice{}, l.words.say("refuse-pin", "why", why, "name", name)
	}
	link := claim{entry: entry, Made: Made{Link: attache.LinkAsk, Why: "context_open asked for it"}}
	b := block{file: file, entry: entry, links: []claim{link}}
	b.settle()
	return Choice{lib: l, turn: t, opened: true, blocks: []block{b}}, ""
}

// otherName advises on a name that does not open: the nearest of those that would.
func (l *Library) otherName(t Turn, name string) string {
	var names []string
	for _, id := range l.ids {
		if t.Role.Admits(id) || t.opens(id) {
			names = append(names, string(id))
		}
	}
	if len(names) == 0 {
		return "there is none that this role may open here"
	}
	if near := brainfile.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(names) <= 24 {
		return "those that open here are " + strings.Join(names, ", ")
	}
	return "take a name from the list of contexts you can open"
}
