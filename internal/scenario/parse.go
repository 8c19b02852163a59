package scenario

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// head is the frontmatter as it is written.
type head struct {
	brainfile.Lines
	Description string           `yaml:"description"`
	Agent       brainfile.Word   `yaml:"agent"`
	On          brainfile.Words  `yaml:"on"`
	Reach       []brainfile.Word `yaml:"reach"`
	Hooks       []brainfile.Node `yaml:"hooks"`
	Pin         string           `yaml:"pin" oneof:"commit"`
	Enabled     bool             `yaml:"enabled"`
}

// parsed is what one file gives by itself. What depends on other files is settled
// by Read.
type parsed struct {
	scenario Scenario
	sheet    *entity.Sheet
	commands map[string]brainfile.Word // where each command stands
	body     string
	bodyLine int
	off      bool // switched off, by itself or with its feature
	problems []attache.Problem
}

// ours lists the commands of the engine itself (interface § 5): no scenario may take
// one of them.
func ours() []string {
	return []string{"approvals", "context", "doctor", "help", "new", "status", "stop"}
}

// parse reads one file.
func parse(f *brainfile.File) parsed {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	if len(problems) > 0 {
		return parsed{problems: problems}
	}
	h := head{Enabled: true}
	s := entity.Open(front.Head, &h)
	p := parsed{sheet: s, commands: map[string]brainfile.Word{}, body: front.Body, bodyLine: front.BodyLine}
	p.scenario = Scenario{
		Entity: attache.Entity{Kind: "scenario", ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder, Agent: s.Agent(h.Agent), Reach: s.Reach(h.Reach)},
		Path:   f.Path, Description: strings.Join(strings.Fields(h.Description), " "), On: s.On(h.On, true),
		Hooks: h.Hooks, Pinned: h.Pin == "commit", Enabled: h.Enabled, Body: strings.TrimSpace(front.Body), Lines: h.Lines,
	}
	for _, w := range h.On {
		name, isCommand := strings.CutPrefix(w.Text, "command:/")
		if isCommand {
			p.commands[name] = w
		}
		if isCommand && slices.Contains(ours(), name) {
			s.FailAt(w, fmt.Sprintf("/%s is a command of the engine itself", name), "name another one")
		}
	}
	p.problems = s.Problems
	return p
}

// beside takes in what stands beside the keys: the pipeline, and what package hooks
// says of the hooks in the file.
func (p parsed) beside(tree *brainfile.Tree, frame Frame) parsed {
	if p.sheet == nil {
		return p // no frontmatter
	}
	s := *p.sheet // what is kept with the file stays as it is
	s.Problems = slices.Clone(p.problems)
	code := path.Join(p.scenario.Folder, p.scenario.ID+".pipeline.ts")
	if tree.File(code) != nil {
		p.scenario.Pipeline = code
	} else if s.Missing("agent") {
		s.Fail("", `the key "agent" is missing`, "add agent: <role>, the name of its file without .agent.md, or write "+path.Base(code)+" beside this file")
	}
	for _, n := range p.scenario.Hooks {
		s.Problems = append(s.Problems, frame.Hook(n)...)
	}
	s.Sort()
	p.sheet, p.problems = &s, s.Problems
	return p
}
