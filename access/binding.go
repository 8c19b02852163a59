package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"attache"
)

// Binding ties one context to one entity at a place, as access.yaml says. It pins
// the context there for every bot; it attaches it only for the bots that name it
// (interface § 3, decisions § 3.7).
type Binding struct {
	Context attache.ContextID
	Key     attache.EntityKey
	Keyed   bool            // false: pinned to none, or a context that names no entity
	Thread  bool            // it is the thread's own, not the chat's
	Bots    []attache.BotID // whose rules name it and hold, sorted
	Clash   bool            // rules disagree, so the context is pinned to none for all
	Line    int             // of the first line that says it
}

// Plain gives it in the form in which it links and pins.
func (b Binding) Plain() attache.Binding {
	return attache.Binding{Context: b.Context, Key: b.Key, Static: true, Thread: b.Thread, Bots: b.Bots}
}

// A spot is where a binding stands: a whole chat, or one thread of it.
type spot struct {
	chat   attache.ChatID
	thread attache.ThreadID
	whole  bool
}

// Bindings gives what the file binds at a place, one for each context, sorted: the
// thread's own before the chat's, whichever bot's rule it stands in.
func (p *Policy) Bindings(chat attache.ChatID, thread attache.ThreadID) []Binding {
	byContext := map[attache.ContextID]Binding{}
	for _, at := range []spot{{chat: chat, whole: true}, {chat: chat, thread: thread}} {
		for _, b := range p.bindings[at] {
			byContext[b.Context] = b
		}
	}
	out := make([]Binding, 0, len(byContext))
	for _, b := range byContext {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Binding) int { return cmp.Compare(a.Context, b.Context) })
	return out
}

// A claim is one line that binds a context at a spot.
type claim struct {
	rule *rule
	binding
}

// bind gathers the bindings of all rules, silenced ones included, and finds those
// that disagree and those whose key does not fit.
func (p *Policy) bind() []attache.Problem {
	claims := map[spot]map[attache.ContextID][]claim{}
	for _, id := range p.order {
		for _, r := range p.bots[id].rules() {
			at := spot{r.chat, r.thread, r.kind == KindChat}
			for _, b := range r.bindings {
				if claims[at] == nil {
					claims[at] = map[attache.ContextID][]claim{}
				}
				claims[at][b.context] = append(claims[at][b.context], claim{r, b})
			}
		}
	}
	for _, here := range claims {
		p.guess(here)
	}
	var problems []attache.Problem
	p.bindings = make(map[spot][]Binding, len(claims))
	for at, contexts := range claims {
		for _, list := range contexts {
			slices.SortFunc(list, func(a, b claim) int { return cmp.Compare(a.where.Line, b.where.Line) })
			b, wrong := p.agree(list)
			b.Thread = !at.whole
			p.bindings[at] = append(p.bindings[at], b)
			problems = append(problems, wrong...)
		}
	}
	return problems
}

// guess adds to the claims of one spot what a slip in a context's name was most likely
// meant to be: pinned to none, because other bots speak there too, whose rules still
// hold, and the doubt must not open the chat to every key for them.
func (p *Policy) guess(here map[attache.ContextID][]claim) {
	for id, list := range maps.Clone(here) {
		meant := p.meant[id]
		if _, bound := here[meant]; meant != "" && !bound {
			here[meant] = []claim{{list[0].rule, binding{context: meant, wrong: true, where: list[0].where}}}
		}
	}
}

// agree makes one binding of all lines that bind a context at one spot, or a clash
// with a problem at each line. Lines that agree may still have a key that does not fit.
func (p *Policy) agree(list []claim) (Binding, []attache.Problem) {
	first := list[0]
	out := Binding{Context: first.context, Line: first.where.Line, Key: attache.EntityKey(first.value), Keyed: first.keyed}
	for _, c := range list {
		if p.wrong[c.rule] == "" {
			out.Bots = append(out.Bots, c.rule.bot)
		}
		out.Clash = out.Clash || c.keyed != first.keyed || c.value != first.value
	}
	slices.Sort(out.Bots)
	out.Bots = slices.Compact(out.Bots)
	var problems []attache.Problem
	if !out.Clash {
		for _, c := range list {
			problems = append(problems, p.misfit(c.binding)...)
		}
		return out, problems
	}
	out.Key, out.Keyed, out.Bots = "", false, nil
	for _, c := range list {
		other := list[0]
		if j := slices.IndexFunc(list, func(o claim) bool { return o.keyed != c.keyed || o.value != c.value }); j >= 0 {
			other = list[j]
		}
		problems = append(problems, p.file.Wrong(c.where.Line, c.where.Col, fmt.Sprintf("%s is bound to %s here and to %s on line %d, so it is pinned to none in this place", c.context, c.say(), other.say(), other.where.Line), "bind one place to one key"))
	}
	return out, problems
}

// say names the key of a binding for a message.
func (b binding) say() string {
	if b.keyed {
		return fmt.Sprintf("%q", b.value)
	}
	return "no key"
}
