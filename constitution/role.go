package constitution

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// Role is an *.agent.md: who the agent is, what it may do and what may reach it.
type Role struct {
	brainfile.Lines
	ID            attache.RoleID
	Feature       attache.FeatureID
	Path          string
	Off           bool              // its feature is switched off
	Name          string            `yaml:"name"` // the id when not given
	Description   string            `yaml:"description"`
	Model         brainfile.Word    `yaml:"model"`        // an entry of MANIFEST's models; empty: default
	Contexts      []brainfile.Word  `yaml:"contexts"`     // ids or *; absent and [] admit none, Lines tells them apart
	Capabilities  []brainfile.Word  `yaml:"capabilities"` // names, prefix:* or *
	State         []brainfile.Word  `yaml:"state"`        // views of its agent state
	Skills        []brainfile.Word  `yaml:"skills"`
	Approvals     map[string]string `yaml:"approvals" oneof:"ask,never"` // by tool
	ContextBudget struct {          // the role's tier of the budget knobs; nil leaves one to MANIFEST (decisions § 2)
		TurnChars *int `yaml:"turnChars"`
		MaxActive *int `yaml:"maxActive"`
	} `yaml:"contextBudget"`
	Memory struct {
		Read  []string `yaml:"read" oneof:"person,chat"` // whose memories it is given
		Write bool     `yaml:"write"`                    // whether it may add some
	} `yaml:"memory"`
	Engine      Engine
	Persona     string // the body, as written
	PersonaLine int    // the line of the file that Persona begins on
}

// Engine says what runs the role: a model by its interface, or an agent of its own
// as a child process when Command is set.
type Engine struct {
	Command []string      `yaml:"command,required"`
	Idle    time.Duration `yaml:"idle" min:"1s"` // how long a session's process waits for the next turn; 10m
}

// roleFile is a role as it is written.
type roleFile struct {
	Role
	Engine brainfile.Node `yaml:"engine"`
}

type roleRead struct {
	role     Role
	problems []attache.Problem
}

// readRole reads one file; what depends on other files is judged by judge.
func readRole(f *brainfile.File) roleRead {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	read := roleFile{Role: Role{Name: ident.ID}}
	if len(problems) == 0 {
		problems = front.Head.Decode(&read)
		engine, wrong := readEngine(read.Engine)
		read.Role.Engine = engine
		problems = append(problems, wrong...)
	}
	role := read.Role
	role.ID, role.Feature, role.Path = attache.RoleID(ident.ID), attache.FeatureID(ident.Feature), f.Path
	role.Persona, role.PersonaLine = front.Body, front.BodyLine
	if role.Approvals["access_widen"] == "never" {
		problems = append(problems, f.Wrong(role.Lines["approvals"], 1, "access_widen is never allowed without an approval", "take it out of approvals"))
	}
	return roleRead{role, problems}
}

// readEngine reads `api` or `{ cli: { command: […], idle: 10m } }`.
func readEngine(n brainfile.Node) (Engine, []attache.Problem) {
	word, isText := n.Text()
	switch {
	case n == brainfile.Node{}, isText && word.Text == "api":
		return Engine{}, nil
	case isText || !n.IsMap() || n.Empty():
		return Engine{}, []attache.Problem{n.Wrong("engine is neither api nor a command", "write api, or { cli: { command: [name, argument] } }")}
	}
	var read struct {
		CLI Engine `yaml:"cli,required"`
	}
	read.CLI.Idle = 10 * time.Minute
	problems := n.Decode(&read)
	if len(problems) == 0 && len(read.CLI.Command) == 0 {
		problems = append(problems, n.Wrong("the command of engine is empty", "name the program to run"))
	}
	return read.CLI, problems
}

// readRoles gives the roles that load, by id, and the ids of those that do not.
func readRoles(tree *brainfile.Tree, frame Frame) (roles []Role, broken map[attache.RoleID]string, problems []attache.Problem) {
	files, problems := tree.Entities("agent")
	broken = map[attache.RoleID]string{}
	for f := range tree.Files() {
		if ident, ok := brainfile.Identify(f.Path); ok && ident.Kind == "agent" {
			broken[attache.RoleID(ident.ID)] = f.Path // until it has loaded
		}
	}
	for _, f := range files {
		read := brainfile.Once(f, readRole)
		wrong := append(slices.Clone(read.problems), noModel(f, read.role, frame)...)
		problems = append(problems, wrong...)
		if len(wrong) > 0 {
			continue
		}
		role := read.role
		role.Off = off(frame.Features, role.Feature)
		roles = append(roles, role)
		delete(broken, role.ID)
	}
	slices.SortFunc(roles, func(a, b Role) int { return compare(a.ID, b.ID) })
	return roles, broken, problems
}

// noModel refuses a role whose model is no entry of MANIFEST; "default" always is
// one, since the environment stands in for it.
func noModel(f *brainfile.File, r Role, frame Frame) []attache.Problem {
	models := frame.Manifest.Models
	if _, ok := models[r.Model.Text]; ok || frame.Unread || r.Model.Text == "" || r.Model.Text == "default" {
		return nil
	}
	known := append(slices.Collect(maps.Keys(models)), "default")
	return []attache.Problem{f.Wrong(r.Model.Line, r.Model.Col, fmt.Sprintf("MANIFEST has no model %q", r.Model.Text), brainfile.Suggest(r.Model.Text, known, "add it to models"))}
}

func off(features []Feature, id attache.FeatureID) bool {
	at, ok := slices.BinarySearchFunc(features, id, func(f Feature, id attache.FeatureID) int { return compare(f.ID, id) })
	return ok && !features[at].Enabled
}
