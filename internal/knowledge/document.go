package knowledge

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

	file  *brainfile.File
	head  head
	found []Finding // of its frontmatter alone
}

// head is what a reading list and lint need of the frontmatter.
type head struct {
	id         brainfile.Word // as written; empty for none
	depends    []brainfile.Word
	related    []brainfile.Word
	resources  []brainfile.Word
	code       []binding
	load       []brainfile.Word
	ignore     []brainfile.Word
	depth      int // -1 when it says nothing
	body       string
	headingsOf []string // second and third level, for the profile
}

// binding is one entry of `ods.code`.
type binding struct {
	path, symbol brainfile.Word
}

// read is what a file says of itself, wherever its workspace has its root.
type read struct {
	head
	title, summary, profile string
	private                 bool
	broken                  string
	found                   []Finding
	at                      *brainfile.File
}

// The words of ODS 0.1.
const (
	noteProfile  = "note"
	defaultDepth = 2
)

func engineKeys() []string {
	return []string{"profile", "status", "id", "share", "depends", "related", "resources", "code", "context"}
}
func contextKeys() []string { return []string{"max-depth", "load", "ignore"} }
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
		r := &read{head: head{depth: -1}, profile: noteProfile, at: f}
		front := brainfile.Front{Body: f.Text, BodyLine: 1}
		if first, _, _ := strings.Cut(f.Text, "\n"); f.Trouble != nil || strings.TrimRight(first, " \t") == "---" {
			var problems []attache.Problem
			if front, problems = f.Frontmatter(); len(problems) > 0 {
				for _, p := range problems {
					r.found = append(r.found, Finding{p, "SYNTAX-001", LevelError})
				}
				r.broken, r.private = problems[0].What, true
				return r
			}
		}
		r.body, r.title = front.Body, heading(front.Body)
		r.top(front.Head)
		r.headingsOf = headings(front.Body)
		r.shape(front.Head)
		return r
	})
}

// bodyOf gives a document's text without its frontmatter.
func bodyOf(f *brainfile.File) string { return readFile(f).body }
