package access

import (
	"cmp"
	"slices"

	"attache"
)

// Bound is one line of access.yaml that binds a chat, or a thread of it, to a
// context.
type Bound struct {
	Bot       attache.BotID
	Chat      attache.ChatID
	Thread    attache.ThreadID
	Context   attache.ContextID
	Keyed     bool // it names a key
	Clash     bool // another line binds the same there to another key
	Line, Col int
}

// Bound lists the lines that bind, in the order of the file. Those of silenced rules
// are among them, for they pin all the same.
func (p *Policy) Bound() []Bound {
	var out []Bound
	for _, id := range p.order {
		for _, r := range p.bots[id].rules() {
			here := p.bindings[spot{r.chat, r.thread, r.kind == KindChat}]
			for _, b := range r.bindings {
				clash := slices.ContainsFunc(here, func(s Binding) bool { return s.Context == b.context && s.Clash })
				out = append(out, Bound{id, r.chat, r.thread, b.context, b.keyed, clash, b.where.Line, b.where.Col})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Bound) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) })
	return out
}
