package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"attache"
	"attache/internal/brainfile"
)

// Policy is access.yaml at one moment, together with the roles and contexts that it
// was read with. It is never changed.
type Policy struct {
	*parsed
	names    Names
	wrong    map[*rule]string                        // why a rule is silenced
	meant    map[attache.ContextID]attache.ContextID // by the name of a context that does not exist, the nearest that does
	bindings map[spot][]Binding
}

// Bot is one bot of access.yaml.
type Bot struct {
	ID   attache.BotID
	Line int
}

// Read makes the policy of a file and gives every mistake in it. It reports false
// when the text is no YAML or has no keys: the caller then goes on with the last
// good file and reads that one again, since what it names may have changed meanwhile.
// A nil file rules nobody in.
func Read(file *brainfile.File, names Names) (*Policy, []attache.Problem, bool) {
	if file == nil {
		none := brainfile.New("constitution/access.yaml", nil)
		p := &Policy{parsed: &parsed{file: none}}
		return p, one(none.Wrong(1, 1, "there is no access.yaml, so nobody is answered", "write one; attache init shows how")), true
	}
	read := brainfile.Once(file, parse)
	p := &Policy{parsed: read, names: names, wrong: map[*rule]string{}}
	problems := slices.Clone(read.problems)
	for _, id := range p.order {
		for _, r := range p.bots[id].rules() {
			problems = append(problems, p.judge(r)...)
		}
	}
	problems = append(problems, p.strangers()...)
	p.inherit()
	problems = append(problems, p.bind()...)
	slices.SortStableFunc(problems, func(a, b attache.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return p, problems, read.usable
}

// judge silences a rule for its own mistakes and for a role that cannot answer.
func (p *Policy) judge(r *rule) []attache.Problem {
	if p.bots[r.bot].wrong {
		p.wrong[r] = fmt.Sprintf("%s, or a key of it, stands twice in bots", r.bot)
	} else if len(r.wrong) > 0 {
		p.wrong[r] = r.wrong[0].problem.What
	}
	role, given := r.Role, r.at["role"].Line > 0 && r.Role.Text != ""
	known, ok := p.names.Roles[attache.RoleID(role.Text)]
	switch {
	case !given || ok && known.Why == "":
		return nil
	case !ok:
		known.Why = fmt.Sprintf("there is no role %q", role.Text)
	}
	if p.wrong[r] == "" {
		p.wrong[r] = known.Why
	}
	if known.Said {
		return nil
	}
	return one(p.file.Wrong(role.Line, role.Col, known.Why, p.otherRole(role.Text, ok)))
}

// otherRole advises on a role that cannot answer.
func (p *Policy) otherRole(role string, exists bool) string {
	if exists {
		return "switch the feature on, or name another role"
	}
	names := make([]string, 0, len(p.names.Roles))
	for id := range p.names.Roles {
		names = append(names, string(id))
	}
	return brainfile.Suggest(role, names, "name the file of a role, without .agent.md")
}

// inherit silences the threads of a silenced chat, save those that give anew every
// key that is wrong there: what a thread would inherit in its place is in doubt.
func (p *Policy) inherit() {
	for _, id := range p.order {
		for _, chat := range p.bots[id].chats {
			for _, thread := range chat.threads {
				if p.wrong[thread] == "" && p.wrong[chat] != "" && !p.outlives(thread, chat) {
					p.wrong[thread] = fmt.Sprintf("the rule of its chat on line %d is wrong: %s", chat.key.Line, p.wrong[chat])
				}
			}
		}
	}
}

// outlives reports whether a thread replaces everything that is wrong with its
// chat's rule. Contexts are joined, not replaced, and threads hold the thread.
func (p *Policy) outlives(thread, chat *rule) bool {
	if p.bots[chat.bot].wrong {
		return false
	}
	replaces := func(key string) bool {
		return key != "contexts" && key != "threads" && thread.at[key].Line > 0
	}
	for _, f := range chat.wrong {
		if !replaces(f.key) {
			return false
		}
	}
	if slices.ContainsFunc(chat.bindings, func(b binding) bool { return !p.exists(b) }) {
		return false
	}
	role, named := p.names.Roles[attache.RoleID(chat.Role.Text)]
	return named && role.Why == "" || replaces("role")
}

// Owner reports whether a person is an owner of the brain.
func (p *Policy) Owner(person attache.PersonID) bool { return p.owners[person] }

// Owners lists the owners, sorted.
func (p *Policy) Owners() []attache.PersonID { return slices.Sorted(maps.Keys(p.owners)) }

// Bots lists the bots in the order of the file.
func (p *Policy) Bots() []Bot {
	out := make([]Bot, len(p.order))
	for i, id := range p.order {
		out[i] = Bot{id, p.bots[id].line}
	}
	return out
}

// Mentions reports whether a rule of any bot names the chat. A group that became a
// supergroup is asked for by its old number while the file does not know the new
// one (decisions § 3.8).
func (p *Policy) Mentions(chat attache.ChatID) bool {
	for _, id := range p.order {
		if p.bots[id].byChat[chat] != nil {
			return true
		}
	}
	return false
}

// Rulings lists what holds at every rule of the file, silenced ones included, in
// the order of the file.
func (p *Policy) Rulings() []Ruling {
	var out []Ruling
	for _, id := range p.order {
		for _, r := range p.bots[id].rules() {
			out = append(out, p.ruling(p.bots[id], r))
		}
	}
	slices.SortStableFunc(out, func(a, b Ruling) int { return cmp.Compare(a.Line, b.Line) })
	return out
}
