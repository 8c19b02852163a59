package ods

import (
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Document is one Markdown file of a workspace, as its frontmatter describes it.
type Document struct {
	Path    string // from the workspace's root
	ID      string // lower case; its path without .md unless `ods.id` gives one
	Title   string // its first heading
	Summary string // its `description`
	Profile string // note unless it says otherwise
	Private bool   // share: private, or nobody knows because share or ods is wrong
	Broken  string // why its frontmatter cannot be read, "" when it can: it may be private

	Names References
	Body  string          // its text without the frontmatter
	File  *brainfile.File // the whole text, for findings with a place
	Found []Finding       // what is wrong in its frontmatter alone
}

// References are what a document names, as it is written and with the place where it
// stands: whether it is there is found out by [Workspace.Resolve] and
// [Workspace.Asset], so that one frontmatter means the same in every workspace.
type References struct {
	ID        brainfile.Word // the id of its own; empty for none
	Depends   []brainfile.Word
	Related   []brainfile.Word
	Resources []brainfile.Word
	Code      []Binding
	Load      []brainfile.Word
	Ignore    []brainfile.Word
	Depth     int // steps along depends in its own list; -1 when it says nothing
}

// Binding is one entry of `ods.code`: a file, and what to look for in it.
type Binding struct {
	Path, Symbol brainfile.Word
}

// read is what a file says of itself, wherever its workspace has its root. The same file
// is in the workspace of its pack and, when it is asked for by hand, in one that was read
// from the folder: neither may be written into it.
type read struct {
	names                         References
	title, summary, profile, body string
	sections                      []string // headings of the second and third level, for the profile
	private                       bool
	broken                        string
	found                         []Finding
	at                            *brainfile.File
}

// The words of ODS 0.1. They are functions, so that nobody can change them. Lists that
// are shown to people keep the order of the specification.
const noteProfile = "note"

// engineKeys stand under ods and nowhere else: a key that a document puts at the top by
// mistake is found by this list.
func engineKeys() []string {
	return []string{"profile", "status", "id", "share", "depends", "related", "resources", "code", "context"}
}
func contextKeys() []string { return []string{"max-depth", "load", "ignore"} }

// policyKeys belong to ods.toml. In a document they would mean a policy of its own, which
// there is not; custom_profiles is known in both spellings, as people write it.
func policyKeys() []string {
	return []string{"spec", "ignore", "packs", "specs", "custom_profiles", "custom-profiles"}
}
func universalKeys() []string { return []string{"tags"} }
func statuses() []string      { return []string{"draft", "stable", "deprecated", "archived"} }
func shares() []string        { return []string{"public", "org", "private"} }
func roles() []string {
	return []string{"entrypoint", "implementation", "test", "schema", "migration", "config", "infrastructure", "pipeline"}
}

// readFile reads a document's frontmatter. It depends on the file alone, so it is
// made once for as long as the text stays.
func readFile(f *brainfile.File) *read {
	return brainfile.Once(f, func(f *brainfile.File) *read {
		r := &read{names: References{Depth: -1}, profile: noteProfile, at: f}
		front := brainfile.Front{Body: f.Text, BodyLine: 1}
		if first, _, _ := strings.Cut(f.Text, "\n"); f.Trouble != nil || strings.TrimRight(first, " \t") == "---" {
			var problems []attache.Problem
			if front, problems = f.Frontmatter(); len(problems) > 0 {
				for _, p := range problems {
					r.found = append(r.found, Finding{p, "SYNTAX-001", LevelError})
				}
				// It may have been meant to be private, and nobody can tell any more.
				r.broken, r.private = problems[0].What, true
				return r
			}
		}
		r.body, r.title = front.Body, heading(front.Body)
		r.top(front.Head)
		r.sections = headings(front.Body)
		r.shape(front.Head)
		return r
	})
}

// Body gives the text of a document's file without its frontmatter, whether or not the
// file is a document of this workspace: one in a hidden folder is none and may still be
// named as code. It is read once for as long as the text stays.
func Body(f *brainfile.File) string { return readFile(f).body }
