package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/contexts"
)

// mostUnlinked is how many contexts without a link are told of.
const mostUnlinked = 20

// unlinked tells of contexts that nothing linked, and what would link them. Those
// that the role lists come first.
func (x *Answer) unlinked() []string {
	linked := map[attache.ContextID]bool{}
	for _, l := range x.Links {
		linked[l.Context] = true
	}
	type idle struct {
		id    attache.ContextID
		lists bool
		why   string
	}
	var all []idle
	for f := range x.brain.Contexts.Files() {
		if !linked[f.ID] {
			lists := x.asked.Role.Admits(f.ID)
			all = append(all, idle{f.ID, lists, x.whyUnlinked(f, lists)})
		}
	}
	for _, id := range x.asked.Role.Contexts {
		if f, why := x.brain.Contexts.File(id); f == nil && id != "*" {
			all = append(all, idle{id, true, why})
		}
	}
	slices.SortFunc(all, func(a, b idle) int {
		if a.lists != b.lists {
			return map[bool]int{true: -1, false: 1}[a.lists]
		}
		return cmp.Compare(a.id, b.id)
	})
	var out []string
	for i, u := range all {
		if i == mostUnlinked {
			return append(out, fmt.Sprintf("and %d more", len(all)-mostUnlinked))
		}
		out = append(out, fmt.Sprintf("%s\t%s", u.id, u.why))
	}
	return out
}

// whyUnlinked says what each word of a context's `when` waits for.
func (x *Answer) whyUnlinked(f *contexts.File, lists bool) string {
	var waits []string
	for _, word := range f.When {
		switch {
		case word == attache.LinkChat:
			waits = append(waits, "chat: "+x.whyUnbound(f.ID))
		case word == attache.LinkRun:
			waits = append(waits, "run: "+x.whyNoRun())
		case !lists:
		case word == attache.LinkReply && x.run != nil:
			waits = append(waits, "reply: a run replies to nothing")
		case word == attache.LinkReply:
			waits = append(waits, "reply: it replies to no post about it")
		case word == attache.LinkAsk && x.asked.Role.CanOpen:
			waits = append(waits, "ask: the agent can open it with context_open")
		case word == attache.LinkAsk:
			waits = append(waits, "ask: the role lacks the capability context:read")
		}
	}
	if !lists {
		waits = append(waits, fmt.Sprintf("the role %s does not list it in contexts", x.Role))
	}
	return strings.Join(waits, "; ")
}

// whyNoRun says why no run links a context.
func (x *Answer) whyNoRun() string {
	if x.run == nil {
		return "a message is no run"
	}
	return fmt.Sprintf("%s does not reach it", x.run)
}

// whyUnbound says why no binding attaches a context here. One that does not attach it
// for this bot pins it all the same.
func (x *Answer) whyUnbound(id attache.ContextID) string {
	if x.message.Place.Chat == 0 {
		return "the run has no place"
	}
	for _, b := range x.asked.Bindings {
		switch {
		case b.Context != id || !b.Static:
		case len(b.Bots) == 0:
			return "the rules that bind it here disagree or are silenced, so it attaches for nobody"
		default:
			return fmt.Sprintf("only the rule of %s binds it here, which holds every bot to that key and attaches nothing for %s", b.Bots[0], x.message.Place.Bot)
		}
	}
	return "nothing binds this place to it"
}
