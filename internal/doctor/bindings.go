package doctor

import (
	"fmt"
	"slices"

	"attache"
	"attache/constitution"
	"attache/internal/brainfile"
)

// bindings looks at the lines of access.yaml that bind a chat to a context: it must
// exist, and have a key exactly if it names an entity (matrix H3). A line that
// loading found fault with is not judged for its key too.
func (s *sight) bindings(problems []attache.Problem) []Finding {
	said := map[int]bool{}
	for _, p := range problems {
		if p.File == constitution.AccessPath {
			said[p.Line] = true
		}
	}
	var out []Finding
	for _, b := range s.Policy.Bound() {
		add := func(what, do string) {
			out = append(out, Finding{Level: Fail, Check: chatAccess, What: what, Do: do, Chat: b.Chat}.at(constitution.AccessPath, b.Line, b.Col))
		}
		f, _ := s.Contexts.File(b.Context)
		switch {
		case !s.Contexts.Known(b.Context):
			add(fmt.Sprintf("it binds the chat to the context %s, which does not exist", brief(b.Context)), s.nearest(string(b.Context), "write its *.context.md, or take the line out"))
		case f == nil || said[b.Line]:
		case f.Keyed() && !b.Keyed:
			add(fmt.Sprintf("%s is keyed by %s, and it is bound here without a key, so no key of it is let in", f.ID, f.KeyKind), "write the key that this chat is about")
		case !f.Keyed() && b.Keyed:
			add(fmt.Sprintf("%s names no entity, and it is bound here with a key", f.ID), "leave the key out, or add entity: to "+f.Path)
		}
	}
	return out
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

// brief writes a name that a person wrote, on one line and not endless.
func brief[T ~string](name T) string { return fmt.Sprintf("%q", short(string(name))) }
