package brain

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge"
	"attache/internal/prompt"
)

// shelf is what static prompts may take from: blocks, packages, knowledge packs,
// arguments and skills. It never changes, and is taken over from the last brain
// while its files and the arguments stay the same.
type shelf struct {
	key       [sha256.Size]byte // of everything that it was made of
	library   *prompt.Library
	knowledge *knowledge.Library
	skills    map[string]skill
	problems  []attache.Problem
}

// shelved gives the top folder of a file, and whether it is one of the shelf.
func shelved(file string) (top string, ok bool) {
	top, _, deep := strings.Cut(file, "/")
	return top, deep && slices.Contains([]string{"blocks", "knowledge", "packages", "skills"}, top)
}

// stock makes the shelf of a tree.
func stock(tree *brainfile.Tree, args map[string]string, last *shelf) *shelf {
	s := &shelf{key: stockKey(tree, args), skills: map[string]skill{}}
	if last != nil && last.key == s.key {
		return last
	}
	g := gather{shelf: s, sources: prompt.Sources{
		Args:     args,
		Blocks:   map[string]string{},
		Packages: map[string]map[string]prompt.Arg{},
		Packs:    map[string][]prompt.Document{},
		Broken:   map[string]string{},
	}}
	for f := range tree.Files() {
		switch top, _ := shelved(f.Path); top {
		case "blocks":
			g.block(f)
		case "knowledge":
			g.knowledge(f, "knowledge")
		case "packages":
			g.ofPackage(f)
		case "skills":
			g.skill(f)
		}
	}
	g.index(knowledge.NewLibrary(tree, slices.Sorted(maps.Keys(g.sources.Packs))))
	library, more := prompt.NewLibrary(g.sources)
	s.library, s.problems = library, append(s.problems, more...)
	return s
}

// stockKey sums up the texts and arguments that a shelf is made of.
func stockKey(tree *brainfile.Tree, args map[string]string) (key [sha256.Size]byte) {
	sum := sha256.New()
	for f := range tree.Files() {
		if _, ok := shelved(f.Path); ok {
			fmt.Fprintf(sum, "%q %x %t\n", f.Path, f.Hash, f.Trouble == nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		fmt.Fprintf(sum, "%q %q\n", name, args[name])
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// gather fills a shelf from files.
type gather struct {
	*shelf
	sources prompt.Sources
}

func (s *shelf) wrong(problems ...attache.Problem) { s.problems = append(s.problems, problems...) }

// place names where a problem stands, for those who suffer from it elsewhere.
func place(p attache.Problem) string { return p.Where() }

// block takes up a text that others include.
func (g *gather) block(f *brainfile.File) {
	if path.Ext(f.Path) != ".md" {
		return
	}
	g.sources.Blocks[f.Path] = f.Text
	if f.Trouble != nil {
		g.wrong(*f.Trouble)
		g.sources.Broken[f.Path] = place(*f.Trouble)
	}
}

// ofPackage takes up a file below packages/<scope>/<repo>/.
func (g *gather) ofPackage(f *brainfile.File) {
	parts := strings.Split(f.Path, "/")
	base := parts[len(parts)-1]
	switch {
	case len(parts) == 4 && base == packageFile:
		g.declared(f)
	case base == packageFile:
		g.wrong(f.Wrong(1, 1, "no package is read from here", "a package is packages/<scope>/<repo>/, with its package.yaml directly in it"))
	case len(parts) == 4 && brainfile.Nearest(base, []string{packageFile}) != "":
		g.wrong(f.Wrong(1, 1, f.Path+" is not read", "did you mean "+packageFile+"?"))
	case len(parts) > 4 && parts[3] == "context":
		g.block(f)
	case len(parts) > 4 && parts[3] == "knowledge":
		g.knowledge(f, strings.Join(parts[:4], "/"))
	}
}

const packageFile = "package.yaml"

// declaration is a package.yaml.
type declaration struct {
	Version string `yaml:"version"`
	Args    map[string]struct {
		Required    bool   `yaml:"required"`
		Default     string `yaml:"default"`
		Description string `yaml:"description"`
	} `yaml:"args"`
}

type declarationRead struct {
	declaration
	problems []attache.Problem
}

// declared takes up the arguments of a package. With a mistake there the package is
// not used: an argument whose `required` is misspelt would leave a hole in a prompt.
func (g *gather) declared(f *brainfile.File) {
	read := brainfile.Once(f, func(f *brainfile.File) (out declarationRead) {
		node, problems := f.YAML()
		if len(problems) == 0 {
			problems = node.Decode(&out.declaration)
		}
		out.problems = problems
		return out
	})
	folder := path.Dir(f.Path)
	args := make(map[string]prompt.Arg, len(read.Args))
	for name, arg := range read.Args {
		args[name] = prompt.Arg{Required: arg.Required, Default: arg.Default}
	}
	g.sources.Packages[folder] = args
	if len(read.problems) > 0 {
		g.wrong(read.problems...)
		g.sources.Broken[folder] = place(read.problems[0])
	}
}

// skill is a SKILL.md: something that a role can be told how to do.
type skill struct {
	Name        brainfile.Word `yaml:"name,required"`
	Description string         `yaml:"description,required"`
	License     brainfile.Node `yaml:"license"` // this and the next three are other programs', which read the same files
	Fits        brainfile.Node `yaml:"compatibility"`
	Metadata    brainfile.Node `yaml:"metadata"`
	Tools       brainfile.Node `yaml:"allowed-tools"`

	broken string // where the reason stands that it does not load; "" when it does
}

type skillRead struct {
	skill
	problems []attache.Problem
}

const skillFile = "SKILL.md"

// skill takes up a file below skills/<name>/. Other files of the folder are the
// skill's own business.
func (g *gather) skill(f *brainfile.File) {
	parts := strings.Split(f.Path, "/")
	base, folder := parts[len(parts)-1], parts[1]
	switch _, known := g.skills[folder]; {
	case len(parts) == 3 && base == skillFile:
		read := brainfile.Once(f, readSkill)
		g.wrong(read.problems...)
		g.skills[folder] = read.skill
	case base == skillFile, len(parts) == 2 && base != "README.md":
		g.wrong(f.Wrong(1, 1, "no skill is read from here", "a skill is skills/<name>/"+skillFile))
	case len(parts) == 3 && !known && strings.EqualFold(base, skillFile):
		p := f.Wrong(1, 1, f.Path+" is not read", "did you mean "+skillFile+"?")
		g.wrong(p)
		g.skills[folder] = skill{broken: place(p)}
	}
}

// readSkill reads a SKILL.md.
func readSkill(f *brainfile.File) (out skillRead) {
	front, problems := f.Frontmatter()
	if len(problems) == 0 {
		problems = front.Head.Decode(&out.skill)
	}
	if folder := path.Base(path.Dir(f.Path)); len(problems) == 0 && out.Name.Text != folder {
		problems = append(problems, f.Wrong(out.Name.Line, out.Name.Col, fmt.Sprintf("the skill is named %q and stands in the folder %q", out.Name.Text, folder), "give both the same name"))
	}
	if len(problems) > 0 {
		out.broken = place(problems[0])
	}
	out.problems = problems
	return out
}

// ofRole gives the skills of a role by name with their descriptions, and the names
// in its list that are none.
func (s *shelf) ofRole(file *brainfile.File, names []brainfile.Word) (map[string]string, []attache.Problem) {
	out := make(map[string]string, len(names))
	var problems []attache.Problem
	for _, name := range names {
		found, ok := s.skills[name.Text]
		switch {
		case !ok:
			known := slices.Collect(maps.Keys(s.skills))
			problems = append(problems, file.Wrong(name.Line, name.Col, fmt.Sprintf("there is no skill %q", name.Text), brainfile.Suggest(name.Text, known, "write it as skills/<name>/"+skillFile)))
		case found.broken != "":
			problems = append(problems, file.Wrong(name.Line, name.Col, fmt.Sprintf("the skill %s does not load because of %s", name.Text, found.broken), "mend that first"))
		default:
			out[name.Text] = found.Description
		}
	}
	return out, problems
}

// byPlace orders problems for people: by file, line and column.
func byPlace(a, b attache.Problem) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}
