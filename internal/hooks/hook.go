package hooks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// Hook is one hook whose keys are right. It would fire unless Why says why not.
type Hook struct {
	attache.Entity
	Path        string // from the brain's root; of its scenario's file for one that stands there
	Scenario    string // the scenario in whose file it stands; "" for one with a file of its own
	Description string // one line
	On          []entity.On
	Where       entity.Where
	Target      Target
	Batch       time.Duration // for how long a burst is gathered into one fire; 0: a fire for each event
	Outcome     bool          // that its run ended is posted
	Notice      string        // in these words; "" for the engine's own
	Enabled     bool          // as written; true when nothing is said
	Body        string        // the input of its runs before anything is put in, trimmed; "" calls no model
	Gate        string        // path of its gate, *.hook.ts; "" for none
	Why         string        // one clause: why it would not fire; "" when it would
	Lines       brainfile.Lines
}

// Target says where the run of a hook posts.
type Target string

// The targets.
const (
	TargetEvent Target = "event" // where the event happened; the default
	TargetPlace Target = "place" // at the hook's Place
	TargetNone  Target = "none"  // nowhere: only tools post
)

// Frame is the brain around, with the hooks that stand in files of scenarios.
type Frame struct {
	entity.Frame
	Inline []Inline
}

// Inline is the hooks of one scenario whose file is right.
type Inline struct {
	File    *brainfile.File
	Of      attache.Entity // the scenario
	Enabled bool           // the scenario's own word
	Hooks   []brainfile.Node
}

// Read gives every hook that is right by itself, by id, and every mistake. Hooks that
// would not fire are among them, with the reason. What a hook refers to is judged
// only when it is on, as a heartbeat's is. Mistakes that [Check] finds in the hooks of
// a scenario are told by whoever reads the scenario.
func Read(tree *brainfile.Tree, frame Frame) ([]Hook, []attache.Problem) {
	files, problems := tree.Entities("hook")
	var out []Hook
	for _, f := range files {
		read := brainfile.Once(f, parse)
		problems = append(problems, read.problems...)
		if len(read.problems) == 0 {
			read.hook.Gate = gate(tree, f.Path)
			hook, wrong := read.settle(f, frame.Frame)
			out, problems = append(out, hook), append(problems, wrong...)
		}
	}
	for _, in := range frame.Inline {
		list, wrong := in.read(frame.Frame)
		out, problems = append(out, list...), append(problems, wrong...)
	}
	slices.SortFunc(out, func(a, b Hook) int { return strings.Compare(a.ID, b.ID) })
	return out, problems
}

// gate gives the path of the gate beside a hook, "" for none.
func gate(tree *brainfile.Tree, hook string) string {
	if code := strings.TrimSuffix(hook, ".md") + ".ts"; tree.File(code) != nil {
		return code
	}
	return ""
}

// read gives the hooks of a scenario.
func (in Inline) read(frame entity.Frame) ([]Hook, []attache.Problem) {
	var out []Hook
	var problems []attache.Problem
	for i, n := range in.Hooks {
		read := inline(n)
		if len(read.problems) > 0 {
			continue
		}
		h := &read.hook
		h.Entity = attache.Entity{Kind: "hook", ID: fmt.Sprintf("%s#%d", in.Of.ID, i+1), Feature: in.Of.Feature, Folder: in.Of.Folder,
			Reach: slices.Clone(in.Of.Reach), Agent: h.Agent, Place: h.Place}
		h.Path, h.Scenario = in.File.Path, in.Of.ID
		if h.Agent == "" {
			h.Agent, read.borrowed = in.Of.Agent, true
		}
		hook, wrong := read.settle(in.File, frame)
		if !in.Enabled { // what it refers to is off with its scenario
			hook.Why, wrong = fmt.Sprintf("its scenario %s has enabled: false", in.Of.ID), nil
		}
		out, problems = append(out, hook), append(problems, wrong...)
	}
	return out, problems
}

// settle gives a hook what other files say of it.
func (p parsed) settle(f *brainfile.File, frame entity.Frame) (Hook, []attache.Problem) {
	h := p.hook
	h.Place = frame.Whole(h.Place)
	if h.Why = frame.Silent(h.Entity, h.Enabled); h.Why != "" {
		return h, nil
	}
	var problems []attache.Problem
	judge := func(why string, wrong []attache.Problem) {
		h.Why = cmp.Or(h.Why, why) // the first reason is enough
		problems = append(problems, wrong...)
	}
	judge(p.role(h, frame))
	judge(frame.Bot(p.sheet, "where.bot", h.Where.Bot))
	if h.Target == TargetPlace {
		judge(frame.Place(p.sheet, "the hook", h.Place))
	}
	judge(p.prompt(f, frame))
	if h.Body == "" && h.Gate == "" {
		judge("it has neither a body nor a gate, so a fire would do nothing", nil)
	}
	return h, problems
}

// role looks whether somebody can work on the body.
func (p parsed) role(h Hook, frame entity.Frame) (why string, problems []attache.Problem) {
	switch {
	case h.Agent == "" && h.Body != "": // a hook of a scenario that names none either
		problem := p.sheet.Wrong("agent", "neither this hook nor its scenario names a role", "add agent: to one of them")
		return problem.What, []attache.Problem{problem}
	case h.Agent == "":
		return "", nil
	}
	why, problems = frame.Role(p.sheet, h.Agent)
	if p.borrowed {
		problems = nil // its scenario says it
	}
	return why, problems
}

// prompt judges what the body names. Where in a value of YAML a selector stands is not
// known, so a mistake in a prompt stands at its first line.
func (p parsed) prompt(f *brainfile.File, frame entity.Frame) (why string, problems []attache.Problem) {
	_, problems = frame.Body(f.Path, p.at.Line, p.body)
	for i := range problems {
		why = problems[0].What
		if p.at.Col > 0 {
			problems[i].Line, problems[i].Col = p.at.Line, p.at.Col
		}
	}
	return why, problems
}
