package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brainfile"
)

// roles are those that the files of these tests may name.
func roles() map[attache.RoleID]Role {
	return map[attache.RoleID]Role{
		"nova": {}, "guest": {}, "client-desk": {}, "support": {},
		"ghost":  {Why: "the role ghost is of the feature old, which is switched off"},
		"broken": {Why: "the role broken does not load", Said: true},
	}
}

// names are what the files of these tests may name. Most of the contexts
// do not load just now.
func names() Names {
	n := Names{Roles: roles(), Contexts: map[attache.ContextID]Context{
		"order": {Loads: true, KeyKind: "order id", Path: "features/a/order.context.md"},
		"rules": {Loads: true, Path: "features/a/rules.context.md"},
	}}
	for _, id := range []attache.ContextID{"a", "b", "c", "d", "client", "ok", "policy", "region", "ticket"} {
		n.Contexts[id] = Context{}
	}
	return n
}

func file(text string) *brainfile.File {
	return brainfile.New("constitution/access.yaml", []byte(text))
}

// verdicts tells in one line each what became of every rule and binding.
func verdicts(p *Policy, usable bool) string {
	if !usable {
		return "not usable\n"
	}
	var b strings.Builder
	for _, r := range p.Rulings() {
		state := "holds"
		if r.Silenced {
			state = "silenced"
		}
		fmt.Fprintf(&b, "line %d %s\n", r.Line, state)
	}
	for _, chat := range []attache.ChatID{-1, -2} {
		for _, thread := range []attache.ThreadID{0, 42} {
			for _, x := range p.Bindings(chat, thread) {
				key := "none"
				if x.Keyed {
					key = string(x.Key)
				}
				fmt.Fprintf(&b, "%d/%d %s pinned to %s, attached for %v\n", chat, thread, x.Context, key, x.Bots)
			}
		}
	}
	return b.String()
}

// Each archive holds an access.yaml, the sentences that it earns and what it comes
// to: which rules hold and what is pinned. Run with -update to write these anew,
// and read the difference.
//
// row D2
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 30, 2, func(t *testing.T, in []txtar.File) []string {
		p, problems, usable := Read(file(string(in[0].Data)), names())
		if len(problems) == 0 {
			t.Error("nothing is wrong with it")
		}
		return []string{archivetest.Sentences(problems), verdicts(p, usable)}
	})
}
