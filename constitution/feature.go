package constitution

import (
	"cmp"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Feature is a folder below features/. Without a FEATURE.md it is on and has no
// knobs of its own.
type Feature struct {
	brainfile.Lines
	ID          attache.FeatureID
	Path        string   // of its FEATURE.md, "" when there is none
	Description string   `yaml:"description"`
	Enabled     bool     `yaml:"enabled"` // false switches off everything that the folder holds
	Contexts    struct { // the feature's tier of the budget knobs; nil leaves one to MANIFEST (decisions § 2)
		Chars         *int `yaml:"chars" min:"1"`
		Keep          *int `yaml:"keep"`
		CodeTimeoutMs *int `yaml:"codeTimeoutMs" min:"1"`
	} `yaml:"contexts"`
}

// readFeatures gives every folder below features/ that holds a file, by id.
func readFeatures(tree *brainfile.Tree) ([]Feature, []attache.Problem) {
	byID := map[attache.FeatureID]Feature{}
	var problems []attache.Problem
	for f := range tree.Files() {
		parts := strings.Split(f.Path, "/")
		if parts[0] != "features" || len(parts) < 3 {
			continue
		}
		id := attache.FeatureID(parts[1])
		if _, ok := byID[id]; !ok {
			byID[id] = Feature{ID: id, Enabled: true}
		}
		switch {
		case parts[len(parts)-1] != "FEATURE.md":
		case len(parts) > 3:
			problems = append(problems, f.Wrong(1, 1, "a part of a feature has no FEATURE.md", "move its keys to features/"+parts[1]+"/FEATURE.md and remove this file"))
		default:
			read := brainfile.Once(f, readFeature)
			byID[id] = read.feature
			problems = append(problems, read.problems...)
		}
	}
	out := make([]Feature, 0, len(byID))
	for _, f := range byID {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Feature) int { return cmp.Compare(a.ID, b.ID) })
	return out, problems
}

type featureFile struct {
	feature  Feature
	problems []attache.Problem
}

// readFeature reads one FEATURE.md. A wrong knob leaves the feature as on or off as
// it says; when that very switch is in doubt, the feature is off until it is
// mended.
func readFeature(f *brainfile.File) featureFile {
	out := featureFile{feature: Feature{ID: attache.FeatureID(strings.Split(f.Path, "/")[1]), Path: f.Path, Enabled: true}}
	front, problems := f.Frontmatter()
	if len(problems) == 0 {
		problems = front.Head.Decode(&out.feature)
	}
	if len(problems) > 0 && doubtful(front.Head, out.feature) {
		out.feature.Enabled = false
		problems[0].What += "; until this is mended the feature is off"
	}
	out.problems = problems
	return out
}

// doubtful reports whether a FEATURE.md with mistakes leaves open if it is on: no
// keys could be read, or the switch is written wrongly, twice or under a name that
// is almost its own.
func doubtful(head brainfile.Node, f Feature) bool {
	pairs, _ := head.Pairs()
	switches := 0
	for _, p := range pairs {
		word, _ := p.Value.Text()
		switch {
		case p.Key.Text == "enabled" && word.Text != "true" && word.Text != "false":
			return true
		case p.Key.Text == "enabled":
			switches++
		case f.Lines[p.Key.Text] == 0 && brainfile.Nearest(p.Key.Text, []string{"enabled"}) != "":
			return true
		}
	}
	return len(pairs) == 0 || switches > 1
}
