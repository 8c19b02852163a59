package scenario

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// Scenario is one *.scenario.md whose keys are right. It could be started unless Why
// says why not.
type Scenario struct {
	attache.Entity        // of no feature when its file stands in scenarios/ at the root
	Path           string // from the brain's root
	Description    string // one line
	On             []entity.On
	Hooks          []brainfile.Node // those of its file, as written; package hooks reads them
	Pinned         bool             // pin: commit: a run reads the files of the commit that it starts at
	Enabled        bool             // as written; true when nothing is said
	Body           string           // the task before anything is put in, trimmed
	Pipeline       string           // path of its *.pipeline.ts; "" for none
	Why            string           // one clause: why it would not run; "" when it would
	Lines          brainfile.Lines
}

// Commands lists the words, without the slash, that start the scenario in a chat.
func (s Scenario) Commands() []string {
	var out []string
	for _, on := range s.On {
		if on.Event == "command" {
			out = append(out, on.Arg)
		}
	}
	return out
}

// Frame is the brain around.
type Frame struct {
	entity.Frame
	Hook func(brainfile.Node) []attache.Problem // what is wrong by itself with one hook: hooks.Check
}

// Read gives every scenario that is right by itself, by id, and every mistake.
// Scenarios that would not run are among them, with the reason. What a scenario
// refers to is judged only when it is on, as a heartbeat's is.
func Read(tree *brainfile.Tree, frame Frame) ([]Scenario, []attache.Problem) {
	files, problems := tree.Entities("scenario")
	var list []parsed
	for _, f := range files {
		read := brainfile.Once(f, parse).beside(tree, frame)
		if len(read.problems) == 0 {
			problems = append(problems, read.settle(f, frame.Frame)...)
			list = append(list, read)
		}
		problems = append(problems, read.problems...)
	}
	problems = append(problems, clashes(list)...)
	out := make([]Scenario, len(list))
	for i, p := range list {
		out[i] = p.scenario
	}
	slices.SortFunc(out, func(a, b Scenario) int { return strings.Compare(a.ID, b.ID) })
	return out, problems
}

// settle takes in what other files say of a scenario.
func (p *parsed) settle(f *brainfile.File, frame entity.Frame) []attache.Problem {
	s := &p.scenario
	if s.Why = frame.Silent(s.Entity, s.Enabled); s.Why != "" {
		p.off = true
		return nil
	}
	var problems []attache.Problem
	if s.Agent != "" {
		s.Why, problems = frame.Role(p.sheet, s.Agent)
	}
	_, wrong := frame.Body(f.Path, p.bodyLine, p.body)
	if len(wrong) > 0 && s.Why == "" {
		s.Why = wrong[0].What
	}
	return append(problems, wrong...)
}

// clashes silences scenarios that claim one command, each with a problem that names
// the others. Those that are switched off claim nothing.
func clashes(list []parsed) []attache.Problem {
	claims := map[string][]int{}
	for i, p := range list {
		for _, name := range p.scenario.Commands() {
			if !p.off {
				claims[name] = append(claims[name], i)
			}
		}
	}
	var problems []attache.Problem
	for i := range list {
		p := &list[i]
		for _, name := range p.scenario.Commands() {
			if p.off || len(claims[name]) < 2 {
				continue
			}
			var others []string
			for _, o := range claims[name] {
				if o != i {
					others = append(others, list[o].scenario.Path)
				}
			}
			what := fmt.Sprintf("/%s starts also the scenario of %s, so it starts none of them", name, strings.Join(others, " and "))
			problems = append(problems, p.sheet.WrongAt(p.commands[name], what, "name another command in one of them"))
			if p.scenario.Why == "" {
				p.scenario.Why = what
			}
		}
	}
	return problems
}
