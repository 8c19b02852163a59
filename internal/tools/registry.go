// Package tools is the registry of everything an agent can call. It knows each
// tool's schema, capability and risk, and it is the one door to a tool: whatever a
// model wrote is judged here before anything runs, and whatever a tool answers is
// bounded here before a model reads it.
//
// The data is plain: [attache.Tool] values by name, given by their owners at the
// start and never changed afterwards, and a [Grant], what a role's file says about
// tools, handed over with each call. The package reads no file and keeps nothing,
// so a turn can hold on to its registry while the brain changes.
//
// Every doubt is a no: an unknown tool, an unknown risk, an argument that the
// schema does not know, a check that itself breaks.
package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attache"

	"github.com/google/jsonschema-go/jsonschema"
)

// Owned is a set of tools with who defined them: a package, a file of the brain or
// an MCP server. The owner is named when two of them want one name.
type Owned struct {
	Owner string
	Tools []attache.Tool
}

// Registry holds tools by name. It never changes and is safe for many goroutines.
type Registry struct {
	tools map[string]entry
	names []string // sorted
}

// entry is a tool with its schema made ready for checking.
type entry struct {
	attache.Tool
	owner  string
	schema *jsonschema.Resolved
}

// New makes a registry. Every mistake of every owner is in the error: a name that
// two want or that no model can write, a schema that cannot be checked, a tool
// without a capability, with an unknown risk or without a function. Such a tool is
// a mistake at the start rather than a surprise in a conversation.
func New(owned ...Owned) (*Registry, error) {
	r := &Registry{tools: map[string]entry{}}
	var wrong []error
	for _, o := range owned {
		for _, t := range o.Tools {
			if err := r.add(o.Owner, t); err != nil {
				wrong = append(wrong, err)
			}
		}
	}
	slices.Sort(r.names)
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return r, nil
}

// toolName is what every server we know takes as the name of a function.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (r *Registry) add(owner string, t attache.Tool) error {
	if before, taken := r.tools[t.Name]; taken {
		return fmt.Errorf("two tools are called %s, one of %s and one of %s; rename one", t.Name, before.owner, owner)
	}
	if what := incomplete(t); what != "" {
		return fmt.Errorf("the tool %q of %s %s", t.Name, owner, what)
	}
	schema, err := resolve(t.Schema)
	if err != nil {
		return fmt.Errorf("the schema of the tool %s of %s cannot be used: %w", t.Name, owner, err)
	}
	r.tools[t.Name] = entry{t, owner, schema}
	r.names = append(r.names, t.Name)
	return nil
}

// incomplete says what a tool lacks, "" when nothing.
func incomplete(t attache.Tool) string {
	switch {
	case !toolName.MatchString(t.Name):
		return "has a name that models cannot call; use up to 64 letters, digits, _ and -"
	case t.Capability == "":
		return "names no capability, so no role could be given it"
	case !slices.Contains([]attache.Risk{attache.RiskSafe, attache.RiskModerate, attache.RiskDangerous}, t.Risk):
		return fmt.Sprintf("has the risk %q; write safe, moderate or dangerous", t.Risk)
	case t.Run == nil:
		return "does nothing: it has no function"
	}
	return ""
}

// resolve reads a schema of arguments. A reference to another document is refused:
// what is allowed must not depend on the network.
func resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return nil, err
	}
	if err := endless(plain); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, errors.New("its type is not object, and the arguments of a call are one")
	}
	return s.Resolve(&jsonschema.ResolveOptions{})
}

// For gives the tools that a list of capabilities lets an agent see and call,
// sorted by name (decisions § 4.1). An entry is a capability's name, `prefix:*` for
// every capability that begins with "prefix:", or `*` for all (interface § 3). An
// empty list gives none.
func (r *Registry) For(capabilities []string) []attache.Tool {
	var out []attache.Tool
	for _, name := range r.names {
		if t := r.tools[name]; allows(capabilities, t.Capability) {
			out = append(out, t.Tool)
		}
	}
	return out
}

// allows reports whether a list of capabilities holds one.
func allows(list []string, capability string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, open := strings.CutSuffix(entry, ":*")
		return entry == "*" || entry == capability || open && prefix != "" && strings.HasPrefix(capability, prefix+":")
	})
}
