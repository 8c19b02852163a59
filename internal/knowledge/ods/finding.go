package ods

import (
	"fmt"
	"slices"

	"attache"
)

// Level says whether a finding fails the workspace.
type Level string

// The levels. A reader goes on after both: what is broken is left out and named, since
// one bad file must not take the rest of a folder away.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Finding is something wrong in a workspace, where, and what to do. Rules are those of
// ODS 0.1; FILE, KEY, CONTEXT, WS-002 and CODE are ours, for what the specification
// asks to be checked and names no rule for.
type Finding struct {
	attache.Problem
	Rule  string
	Level Level
}

// Error gives the line of decisions § 8: path:line:col RULE level: what; what to do.
func (f Finding) Error() string {
	s := fmt.Sprintf("%s %s %s: %s", f.Where(), f.Rule, f.Level, f.What)
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// Found gives what is wrong with the folder and with ods.toml. What is wrong in the
// frontmatter of a document is in Document.Found; what documents say of each other is
// for package lint.
func (w *Workspace) Found() []Finding { return w.found }

// Clashes tells of documents with one id; a difference of case alone is none. It is
// here and not with lint because a brain refuses such packs whether or not it is linted.
func (w *Workspace) Clashes() (out []Finding) {
	for _, d := range w.docs {
		same := slices.DeleteFunc(slices.Clone(w.byID[d.ID]), func(o *Document) bool { return o == d })
		if len(same) > 0 {
			at := d.Names.ID
			problem := d.File.Wrong(max(at.Line, 1), max(at.Col, 1), fmt.Sprintf("the id %s is also that of %s", d.ID, several(same)), "rename one of them, or give it another ods.id")
			out = append(out, Finding{problem, "GRAPH-001", LevelError})
		}
	}
	return out
}
