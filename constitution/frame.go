package constitution

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// The files of the constitution folder, from the brain's root.
const (
	ManifestPath   = "constitution/MANIFEST.yaml"
	AccessPath     = "constitution/access.yaml"
	PrinciplesPath = "constitution/principles.md"
)

// Frame is what everything else of a brain hangs in. It is never changed.
type Frame struct {
	Manifest     Manifest
	ManifestFile *brainfile.File           // the file that Manifest was read from: the last good one; nil for none
	Features     []Feature                 // by id
	Roles        []Role                    // that load, by id; those of switched-off features too
	Broken       map[attache.RoleID]string // roles that do not load, with one of their files
	Principles   string                    // text that every role's static prompt carries
	Fatal        bool                      // MANIFEST is wrong and there is no earlier one
	Unread       bool                      // it is Fatal and no YAML, so nothing can be said of what refers to its keys
}

// Read makes the frame of a tree. folder is the name of the brain's folder, last
// the frame whose MANIFEST stays in force while the one in the tree is wrong, nil
// for none. Problems are sorted by place.
func Read(tree *brainfile.Tree, folder string, last *Frame) (Frame, []attache.Problem) {
	frame := Frame{ManifestFile: tree.File(ManifestPath)}
	var problems, more []attache.Problem
	frame.Manifest, problems = readManifest(frame.ManifestFile, folder)
	if len(problems) > 0 {
		frame.Fatal = last == nil || last.Fatal
		if frame.Fatal {
			_, syntax := frame.ManifestFile.YAML()
			frame.Unread = len(syntax) > 0
		} else {
			frame.Manifest, frame.ManifestFile = last.Manifest, last.ManifestFile
		}
	}
	frame.Features, more = readFeatures(tree)
	problems = append(problems, more...)
	frame.Roles, frame.Broken, more = readRoles(tree, frame)
	problems = append(problems, more...)
	if f := tree.File(PrinciplesPath); f != nil {
		frame.Principles = f.Text
		if f.Trouble != nil {
			problems = append(problems, *f.Trouble)
		}
	}
	problems = append(problems, misnamed(tree)...)
	slices.SortStableFunc(problems, func(a, b attache.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return frame, problems
}

// misnamed finds files of the constitution folder whose names are almost right, so
// that an access.yml is not simply nobody's.
func misnamed(tree *brainfile.Tree) []attache.Problem {
	known := []string{path.Base(ManifestPath), path.Base(AccessPath), path.Base(PrinciplesPath)}
	var out []attache.Problem
	for f := range tree.Files() {
		name, ok := strings.CutPrefix(f.Path, "constitution/")
		if near := brainfile.Nearest(name, known); ok && near != "" && near != name {
			out = append(out, f.Wrong(1, 1, fmt.Sprintf("constitution/%s is not read", name), "did you mean "+near+"?"))
		}
	}
	return out
}

// Role finds a role that loads.
func (f Frame) Role(id attache.RoleID) (Role, bool) {
	at, ok := slices.BinarySearchFunc(f.Roles, id, func(r Role, id attache.RoleID) int { return compare(r.ID, id) })
	if !ok {
		return Role{}, false
	}
	return f.Roles[at], true
}

// Feature finds a feature.
func (f Frame) Feature(id attache.FeatureID) (Feature, bool) {
	at, ok := slices.BinarySearchFunc(f.Features, id, func(x Feature, id attache.FeatureID) int { return compare(x.ID, id) })
	if !ok {
		return Feature{}, false
	}
	return f.Features[at], true
}

// compare orders ids.
func compare[T ~string](a, b T) int { return cmp.Compare(a, b) }
