package doctor

import (
	"fmt"
	"slices"

	"attache"
	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/brainfile"
)

// ofChats notes of which chat a finding speaks that stands at a line which binds one:
// that its context does not exist, or that its key is missing or one too many (matrix
// H3). Those of lines that disagree name two keys, and are told in neither's chat.
func ofChats(b *brain.Brain, found []Finding) []Finding {
	chats := map[[2]int]attache.ChatID{}
	for _, x := range b.Policy.Bound() {
		if !x.Clash {
			chats[[2]int{x.Line, x.Col}] = x.Chat
		}
	}
	for i, f := range found {
		if f.File == constitution.AccessPath {
			found[i].Chat = chats[[2]int{f.Line, f.Col}]
		}
	}
	return found
}

// wholeViews names the views that a context carries whole into chats that are bound
// to one entity: only what stands behind `by` is held to the key (matrix D18).
func (s *sight) wholeViews() []Finding {
	chats := map[attache.ContextID][]attache.ChatID{}
	for _, b := range s.Policy.Bound() {
		if b.Keyed && !slices.Contains(chats[b.Context], b.Chat) {
			chats[b.Context] = append(chats[b.Context], b.Chat)
		}
	}
	var out []Finding
	for f := range s.Contexts.Files() {
		bound := chats[f.ID]
		if len(bound) == 0 || !f.Keyed() {
			continue
		}
		for _, d := range f.Data {
			if d.View == "" || d.By != "" {
				continue
			}
			out = append(out, Finding{Level: Note, Check: chatAccess,
				What: fmt.Sprintf("%s carries the view %s whole, so everybody in %s sees the rows of every %s in it", f.ID, d.View, many(len(bound), "chat", "that access.yaml binds"), f.KeyKind),
				Do:   "filter it with by, unless everyone may see all of it"}.at(f.Path, d.Line, d.Col))
		}
	}
	return out
}

// many writes "the chat that …" or "the 3 chats that …".
func many(n int, noun, rest string) string {
	if n == 1 {
		return "the " + noun + " " + rest
	}
	return fmt.Sprintf("the %d %ss %s", n, noun, rest)
}

// mostSlips bounds how many names get a suggestion: looking for the nearest of
// thousands of contexts takes milliseconds, and who has dozens of slips has one.
const mostSlips = 30

// nearest advises on a name that no context has.
func (s *sight) nearest(name, other string) string {
	if s.slips++; len(s.known) == 0 || s.slips > mostSlips {
		return other
	}
	return brainfile.Suggest(name, s.known, other)
}

// brief writes a name that a person wrote, in quotes and not endless. Its spaces stay,
// since they may be the slip.
func brief(name string) string {
	if r := []rune(name); len(r) > 40 {
		name = string(r[:40]) + "…"
	}
	return fmt.Sprintf("%q", name)
}
