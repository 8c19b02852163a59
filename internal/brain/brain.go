// Package brain holds everything that is read from a brain's files as one whole
// that never changes.
//
// A [Brain] is made by [Load] and swapped as one pointer by a [Holder]: a turn asks
// for the brain once, when it begins, and keeps that pointer to its end, so an edit
// reaches the next turn and never half of this one. What does not load is a problem
// beside the whole, not a hole in it. Two files have no substitute, so their last
// good text stays in force while the present one cannot be used: MANIFEST.yaml, and
// access.yaml as long as it is no YAML.
//
// A role loads when its static prompt compiles. What prompts take from (blocks,
// packages, knowledge, skills, arguments) is a shelf that a reload takes over while
// it stays the same; the prompt itself is made when a turn first asks ([Brain.Static])
// and kept as long as the brain. [Brain.Profile] gives the model that a role names.
//
// Contexts are a library of their own, whose catalog and kinds of keys join the
// prompt of each role that admits them. What belongs to another owner (beats,
// hooks, scenarios, tools) is read by that owner's package from the same tree.
package brain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"attache"
	"attache/access"
	"attache/constitution"
	"attache/contexts"
	"attache/heartbeat"
	"attache/internal/brainfile"
	"attache/internal/hooks"
	"attache/internal/scenario"
	"attache/internal/tools"
)

// Brain is one state of a brain's files, understood.
type Brain struct {
	Dir       string          // as it was given
	Tree      *brainfile.Tree // every text file
	Frame     constitution.Frame
	Policy    *access.Policy
	Contexts  *contexts.Library // every context that loads
	Beats     []heartbeat.Beat  // by id, those that do not run among them, as with the next two
	Hooks     []hooks.Hook      // those in files of scenarios among them
	Scenarios []scenario.Scenario
	Version   string // twelve hexadecimal digits; equal for equal texts in force

	accessFile *brainfile.File // the last access.yaml that could be used
	shelf      *shelf
	verdicts   map[attache.RoleID]verdict
	roles      map[attache.RoleID]access.Role // whether each role can answer, and why not
	epochs     epochs
}

// Folders lists the folders of a brain that are read and watched (interface § 3).
func Folders() []string {
	return []string{"blocks", "constitution", "features", "knowledge", "packages", "scenarios", "skills"}
}

// Load reads the brain in a folder. last is the brain before, nil for none: what
// did not change is taken over from it, and so are the last good MANIFEST.yaml and
// access.yaml. Problems are sorted by file and line. An error means that there is
// no brain in the folder at all. Without a last good MANIFEST.yaml a wrong one
// leaves Frame.Fatal set: such a brain can be looked at, but should not be run.
func Load(dir string, last *Brain) (*Brain, []attache.Problem, error) {
	if last == nil {
		return load(dir, nil, nil)
	}
	return load(dir, last, last.Tree)
}

// load is Load with the latest tree, which may be newer than that of last and
// hold the same texts.
func load(dir string, last *Brain, known *brainfile.Tree) (*Brain, []attache.Problem, error) {
	tree, err := brainfile.Scan(dir, Folders(), wanted, known)
	if err != nil {
		return nil, nil, err
	}
	return build(dir, tree, strangers(dir), last)
}

// build makes the brain of a tree; strange are the problems of what stands beside it.
func build(dir string, tree *brainfile.Tree, strange []attache.Problem, last *Brain) (*Brain, []attache.Problem, error) {
	if !holds(tree, "constitution/") && !holds(tree, "features/") {
		return nil, nil, fmt.Errorf("%s holds no brain: it has neither a folder constitution nor a folder features; give the right one with --brain, or make one with attache init", dir)
	}
	b := &Brain{Dir: dir, Tree: tree}
	problems := b.parse(last)
	problems = append(problems, strange...)
	slices.SortStableFunc(problems, byPlace)
	return b, problems, nil
}

// parse lets each owner read its files.
func (b *Brain) parse(last *Brain) []attache.Problem {
	if last == nil {
		last = new(Brain)
		last.Frame.Fatal = true // there is nothing good to fall back on
	}
	problems := append(slices.Clone(b.Tree.Problems), b.Tree.Strays()...)
	frame, more := constitution.Read(b.Tree, folderName(b.Dir), &last.Frame)
	b.Frame, problems = frame, append(problems, more...)
	b.Contexts, more = contexts.Read(b.Tree, contextFrame(frame))
	problems = append(problems, more...)
	_, more = tools.SQLTools(b.Tree, nil)
	problems = append(problems, more...)
	b.shelf = stock(b.Tree, frame.Manifest.Args, last.shelf)
	problems = append(problems, b.shelf.problems...)
	problems = append(problems, b.papers()...)
	problems = append(problems, b.judge(last)...)
	b.roles = roles(b.Frame)
	b.accessFile = b.Tree.File(constitution.AccessPath)
	policy, more, usable := access.Read(b.accessFile, b.names())
	problems = append(problems, more...)
	if !usable && last.accessFile != nil {
		b.accessFile = last.accessFile
		policy, _, _ = access.Read(b.accessFile, b.names())
	}
	b.Policy = policy
	problems = append(problems, b.entities(len(more) > 0)...)
	b.Version = b.version()
	return problems
}

// version names the texts in force: those of the tree and the two that may be older.
func (b *Brain) version() string {
	sum := sha256.New()
	fmt.Fprintln(sum, b.Tree.Hash())
	for _, f := range []*brainfile.File{b.Frame.ManifestFile, b.accessFile} {
		if f != nil {
			fmt.Fprintf(sum, "%x\n", f.Hash)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// roles tells access which roles can answer.
func roles(frame constitution.Frame) map[attache.RoleID]access.Role {
	out := make(map[attache.RoleID]access.Role, len(frame.Roles)+len(frame.Broken))
	for id, path := range frame.Broken {
		out[id] = access.Role{Why: fmt.Sprintf("the role %s does not load, see %s", id, path), Said: true}
	}
	for _, r := range frame.Roles {
		if r.Off {
			out[r.ID] = access.Role{Why: fmt.Sprintf("the role %s is of the feature %s, which is switched off", r.ID, r.Feature)}
		} else {
			out[r.ID] = access.Role{}
		}
	}
	return out
}

// wanted picks the text files of a brain. Pictures and the like are nobody's text,
// and in the root itself only a feature's file that strayed there is of interest.
func wanted(file string) bool {
	if !strings.Contains(file, "/") {
		return slices.ContainsFunc(brainfile.Kinds(), func(kind string) bool { return strings.HasSuffix(file, "."+kind+".md") })
	}
	if top, _, _ := strings.Cut(file, "/"); top == "knowledge" || top == "packages" {
		return !slices.Contains(bulky(), strings.ToLower(path.Ext(file)))
	}
	return slices.Contains([]string{".md", ".yaml", ".yml", ".ts", ".sql", ".toml", ".json"}, path.Ext(file))
}

// bulky lists the kinds of files that are certainly no text. Documents may load any
// other.
func bulky() []string {
	return []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".zip", ".gz", ".mp3", ".ogg", ".mp4", ".mov", ".docx", ".xlsx", ".pptx"}
}

func holds(tree *brainfile.Tree, prefix string) bool {
	for f := range tree.Files() {
		if strings.HasPrefix(f.Path, prefix) {
			return true
		}
	}
	return false
}

// folderName gives the name of the folder, whatever way leads there.
func folderName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}

// strangers finds folders whose names are almost those of a brain's: nothing is
// read from them, and the person believes it is.
func strangers(dir string) []attache.Problem {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []attache.Problem
	for _, e := range entries {
		near := brainfile.Nearest(e.Name(), Folders())
		if e.IsDir() && near != "" && near != e.Name() {
			out = append(out, attache.Problem{File: e.Name(), Line: 1, Col: 1, What: fmt.Sprintf("nothing is read from the folder %s", e.Name()), Do: "did you mean " + near + "?"})
		}
	}
	return out
}
