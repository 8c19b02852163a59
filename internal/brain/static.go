package brain

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"attache"
	"attache/constitution"
	"attache/internal/brainfile"
	"attache/internal/prompt"
)

// extras is what a static prompt holds beside what the brain's files say of its
// role, and which prompt is asked for: equal extras of one brain give equal bytes.
// The shared context joins here; what contexts add (key kinds, the catalog) is read
// from the files and joins in compile.
type extras struct {
	role    attache.RoleID
	tools   string // the tool list exactly as the model gets it
	tooling string // the tooling guide
}

// epochs keeps the static prompts that were asked for. A brain lives until the
// next edit, and a role's tools hardly change meanwhile.
type epochs struct {
	mu   sync.Mutex
	made map[extras]prompt.Epoch
}

// most is how many prompts are kept: beyond it something gives each turn another
// tool list, and keeping them all would fill the memory.
const most = 1000

// Static gives the static prompt of a role (decisions § 4): tools is the tool list
// exactly as the model gets it, tooling the guide to it. It is compiled when it is
// first asked for; asking again costs a look into a map. The error says why the
// role cannot answer, in one clause for the operator.
func (b *Brain) Static(role attache.RoleID, tools []byte, tooling string) (prompt.Epoch, error) {
	b.epochs.mu.Lock()
	defer b.epochs.mu.Unlock()
	if e, ok := b.epochs.made[extras{role, string(tools), tooling}]; ok { // this conversion copies nothing
		return e, nil
	}
	e, err := b.compile(extras{role, string(tools), tooling})
	if err != nil {
		return prompt.Epoch{}, err
	}
	if b.epochs.made == nil || len(b.epochs.made) >= most {
		b.epochs.made = map[extras]prompt.Epoch{}
	}
	b.epochs.made[extras{role, string(tools), tooling}] = e
	return e, nil
}

// compile makes the prompt of a role that can answer.
func (b *Brain) compile(x extras) (prompt.Epoch, error) {
	role, loads := b.Frame.Role(x.role)
	if why := b.roles[x.role].Why; why != "" {
		return prompt.Epoch{}, errors.New(why)
	} else if !loads {
		return prompt.Epoch{}, fmt.Errorf("there is no role %q", x.role)
	}
	s, problems := b.static(role, x)
	s.Agents = b.others(role.ID) // known only once every role was judged
	admission := b.Admission(role.ID)
	s.Catalog, s.Entities = b.Contexts.Catalog(admission), b.Contexts.KeyKinds(admission)
	e, more := prompt.Compile(s)
	var wrong []error
	for _, p := range append(problems, more...) {
		wrong = append(wrong, p)
	}
	return e, errors.Join(wrong...) // nothing, unless MANIFEST is unread
}

// static gathers what the prompt of a role is made of, and what is wrong with its
// own lists.
func (b *Brain) static(role constitution.Role, x extras) (prompt.Static, []attache.Problem) {
	skills, problems := b.shelf.ofRole(b.Tree.File(role.Path), role.Skills)
	return prompt.Static{
		Library:    b.shelf.library,
		Memory:     len(role.Memory.Read) > 0 || role.Memory.Write,
		Skills:     skills,
		Principles: prompt.Text{File: constitution.PrinciplesPath, Body: b.Frame.Principles},
		Tooling:    x.tooling,
		Role:       prompt.Text{File: role.Path, Line: role.PersonaLine, Body: role.Persona},
		Tools:      []byte(x.tools),
	}, problems
}

// others is the agent directory of a role: every other one that is enabled.
func (b *Brain) others(than attache.RoleID) map[string]string {
	out := make(map[string]string, len(b.Frame.Roles))
	for _, r := range b.Frame.Roles {
		if r.ID != than && !r.Off {
			out[string(r.ID)] = r.Description
		}
	}
	return out
}

// verdict is what a role's file gets in judge.
type verdict struct {
	file  *brainfile.File
	wrong []attache.Problem
}

// judge compiles the prompt of every role, as far as last did not do it with the
// same texts. One that does not compile does not load: a prompt with holes is worse
// than silence. The same mistake, such as one of the principles, is one problem
// however many roles it takes along.
func (b *Brain) judge(last *Brain) []attache.Problem {
	if b.Frame.Unread {
		return nil // what the texts refer to is unknown, and so is whether they are right
	}
	if f := b.Tree.File(constitution.PrinciplesPath); f != nil && f.Trouble != nil {
		for _, role := range b.Frame.Roles {
			b.Frame.Broken[role.ID] = f.Path // said by constitution; no role speaks without its principles
		}
		b.Frame.Roles = nil
		return nil
	}
	var problems []attache.Problem
	said := map[attache.Problem]bool{}
	same := last.shelf == b.shelf && last.Frame.Principles == b.Frame.Principles
	b.verdicts = make(map[attache.RoleID]verdict, len(b.Frame.Roles))
	b.Frame.Roles = slices.DeleteFunc(b.Frame.Roles, func(role constitution.Role) bool {
		v := last.verdicts[role.ID]
		if file := b.Tree.File(role.Path); !same || v.file != file {
			v = verdict{file, b.mistakes(role)}
		}
		b.verdicts[role.ID] = v
		wrong := v.wrong
		for _, p := range wrong {
			if !said[p] {
				said[p] = true
				problems = append(problems, p)
			}
		}
		if len(wrong) > 0 {
			b.Frame.Broken[role.ID] = wrong[0].File
		}
		return len(wrong) > 0
	})
	return problems
}

// mistakes gives what keeps the prompt of a role from compiling.
func (b *Brain) mistakes(role constitution.Role) []attache.Problem {
	s, problems := b.static(role, extras{})
	_, more := prompt.Compile(s)
	return append(problems, more...)
}
