package prompt

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"attache"
)

// Sources is what the selectors of static texts may reach, as read from the
// brain's files (interface § 3, "Packages"). Paths are from the brain's root with
// forward slashes. Names are compared in lower case with - read as _.
type Sources struct {
	Args     map[string]string         // MANIFEST args by dotted name, such as company or profile.name
	Blocks   map[string]string         // texts by path: blocks/a/b.md, packages/S/R/context/a/b.md
	Packages map[string]map[string]Arg // declared arguments by folder packages/S/R
	Packs    map[string][]Document     // documents by folder knowledge/P or packages/S/R/knowledge/P

	// Broken are blocks by path and packages by folder that do not load for a reason
	// of their own, each with where the reason stands, as file:line:col. Their texts
	// are read for further mistakes and included nowhere.
	Broken map[string]string
}

// Arg is an argument that a package declares in its package.yaml.
type Arg struct {
	Required bool   // somebody must supply it once a prompt refers to it
	Default  string // its value when MANIFEST args has none of that name
}

// Library holds blocks rendered and knowledge indexes printed, by selector. It is
// immutable once built and may be shared.
type Library struct {
	args   map[string]map[string]argument // by home, then by selector args.x
	blocks map[string]*block
	sorted []string // the names of blocks
	packs  map[string]string
	names  map[string][]string // by home: every selector it may write, sorted, for suggestions
	broken map[string]string   // as in Sources
}

// argument is the value of an argument for one home.
type argument struct {
	value   string
	missing string // how a finding names it, when it is required and nobody supplies it
}

// block is a text that others include. A home is the package a text belongs to,
// such as pkg.acme.kit; the brain's own texts have the home "".
type block struct {
	Text
	home    string
	state   int // 0 not read yet, 1 being read, 2 done
	out     string
	missing []string // required arguments without a value, its includes' too
	broken  string   // where the first mistake is that keeps it from loading
}

const (
	reading = 1
	done    = 2
)

// maxStatic bounds what a text may become, so that blocks that include each other
// twice, thirty levels deep, are a mistake and not a full memory.
const maxStatic = 1 << 20

// NewLibrary reads every block once and reports all that is wrong in them. A
// block with a mistake stays out, and so does each one that includes it; the
// mistake is reported once, where it was made. The rest can be used.
func NewLibrary(s Sources) (*Library, []attache.Problem) {
	l := &Library{
		args:   map[string]map[string]argument{"": {}},
		blocks: map[string]*block{},
		packs:  map[string]string{},
		names:  map[string][]string{},
		broken: maps.Clone(s.Broken),
	}
	if l.broken == nil {
		l.broken = map[string]string{}
	}
	problems := slices.Concat(l.addArgs(s), l.addBlocks(s.Blocks), l.addPacks(s.Packs))
	l.sorted = slices.Sorted(maps.Keys(l.blocks))
	l.addNames()
	for _, name := range l.sorted {
		problems = append(problems, l.load(name, nil)...)
	}
	return l, problems
}

// addArgs sets the values that each home has. Two packages that selectors cannot
// tell apart are both left out.
func (l *Library) addArgs(s Sources) []attache.Problem {
	var problems []attache.Problem
	own := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		key := argName(name)
		own[key] = s.Args[name]
		l.args[""][key] = argument{value: s.Args[name]}
	}
	first := map[string]string{}
	for _, folder := range slices.Sorted(maps.Keys(s.Packages)) {
		home := dotted("pkg", strings.TrimPrefix(folder, "packages/"))
		if other := first[home]; other != "" {
			problems = append(problems, *clash(folder+"/package.yaml", home, other))
			l.broken[folder], l.broken[other] = folder+"/package.yaml:1:1", folder+"/package.yaml:1:1"
			continue
		}
		first[home] = folder
		values := map[string]argument{}
		for name, arg := range s.Packages[folder] {
			value, ok := tree(own, argName(name), "\n")
			switch {
			case ok:
				values[argName(name)] = argument{value: value}
			case arg.Required && arg.Default == "":
				values[argName(name)] = argument{missing: "args." + name + " of " + folder}
			default:
				values[argName(name)] = argument{value: arg.Default}
			}
		}
		l.args[home] = values
	}
	return problems
}

func argName(name string) string {
	return strings.ReplaceAll(strings.ToLower("args."+name), "-", "_")
}

// tree looks a dotted name up: its own value, else the values below it joined in
// the order of their names.
func tree(values map[string]string, name, between string) (string, bool) {
	if v, ok := values[name]; ok {
		return v, true
	}
	below := under(slices.Sorted(maps.Keys(values)), name)
	joined := make([]string, len(below))
	for i, n := range below {
		joined[i] = values[n]
	}
	return strings.Join(joined, between), len(below) > 0
}

// under gives the names that stand below one.
func under(sorted []string, name string) []string {
	from, _ := slices.BinarySearch(sorted, name+".")
	to := from
	for to < len(sorted) && strings.HasPrefix(sorted[to], name+".") {
		to++
	}
	return sorted[from:to:to]
}

// dotted turns a path below a head into a selector.
func dotted(head, folder string) string {
	return strings.ReplaceAll(strings.ToLower(head+"."+strings.ReplaceAll(folder, "/", ".")), "-", "_")
}

// selectorOf gives the selector that reaches a path and the home of what stands
// there. part is "context" for a block and "knowledge" for a pack.
func selectorOf(file, part string) (name, home string, problem *attache.Problem) {
	top, head := "blocks", "context"
	if part == "knowledge" {
		top, head = "knowledge", "lib"
	}
	segments := strings.Split(strings.TrimSuffix(file, ".md"), "/")
	switch {
	case segments[0] == top && len(segments) > 1:
		name = head + "." + strings.Join(segments[1:], ".")
	case segments[0] == "packages" && len(segments) > 4 && segments[3] == part:
		name = "pkg." + strings.Join(segments[1:], ".")
		home = dotted("pkg", path.Join(segments[1], segments[2]))
	default:
		return "", "", &attache.Problem{File: file, Line: 1, Col: 1,
			What: "no selector reaches this path",
			Do:   "move it below " + top + "/ or packages/<scope>/<repo>/" + part + "/"}
	}
	normal, ok := normalise(name)
	if !ok || slices.ContainsFunc(segments, func(s string) bool { return strings.Contains(s, ".") }) {
		return "", "", &attache.Problem{File: file, Line: 1, Col: 1,
			What: "its path cannot be written as a selector",
			Do:   "use letters, digits, - and _ in the names of files and folders"}
	}
	return normal, home, nil
}

func (l *Library) addBlocks(texts map[string]string) []attache.Problem {
	var problems []attache.Problem
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		name, home, p := selectorOf(file, "context")
		if p == nil && l.blocks[name] != nil {
			p = clash(file, name, l.blocks[name].File)
		}
		if p != nil {
			problems = append(problems, *p)
			continue
		}
		l.blocks[name] = &block{Text: Text{File: file, Body: texts[file]}, home: home}
	}
	return problems
}

func (l *Library) addPacks(packs map[string][]Document) []attache.Problem {
	var problems []attache.Problem
	first := map[string]string{}
	for _, folder := range slices.Sorted(maps.Keys(packs)) {
		name, _, p := selectorOf(folder, "knowledge")
		if p == nil && first[name] != "" {
			p = clash(folder, name, first[name])
		}
		if p != nil {
			problems = append(problems, *p)
			continue
		}
		first[name] = folder
		l.packs[name] = index(name, folder, packs[folder])
	}
	return problems
}

func clash(file, name, other string) *attache.Problem {
	return &attache.Problem{File: file, Line: 1, Col: 1,
		What: "{{ " + name + " }} is also " + other,
		Do:   "rename one of the two"}
}

// addNames lists for each home what it may write: its arguments, every block and
// pack, and in a package its own blocks by their short name.
func (l *Library) addNames() {
	shared := slices.Concat(slices.Collect(maps.Keys(l.blocks)), slices.Collect(maps.Keys(l.packs)))
	homes := map[string]bool{"": true}
	for home := range l.args {
		homes[home] = true
	}
	for _, b := range l.blocks {
		homes[b.home] = true
	}
	for home := range homes {
		list := slices.Concat(shared, slices.Collect(maps.Keys(l.args[home])))
		for name, b := range l.blocks {
			if short, ok := strings.CutPrefix(name, home+"."); ok && home != "" && b.home == home {
				list = append(list, short)
			}
		}
		slices.Sort(list)
		l.names[home] = slices.Compact(list)
	}
}

// frame is a block being read and the selector in it that is being followed.
type frame struct {
	name string
	at   int
}

// load reads a block and what it includes, once. stack holds the blocks on the
// way to it, each with the place of the selector that leads on.
func (l *Library) load(name string, stack []frame) []attache.Problem {
	b := l.blocks[name]
	if b.state == done {
		return nil
	}
	b.state = reading
	r := l.render(b.Text, b.home, append(stack, frame{name: name}))
	b.state = done
	b.out, b.missing = strings.TrimRight(r.out, "\n"), r.missing
	b.broken = cmp.Or(r.broken, l.broken[b.File], l.broken[packageOf(b.File)])
	return r.problems
}

// packageOf gives the folder of the package that a file belongs to.
func packageOf(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// ring reports blocks that include each other, from the last one on the stack
// back to name. It is told from the member that is first by name, so that the
// same ring is one finding wherever the reading began.
func (l *Library) ring(name string, stack []frame) attache.Problem {
	start := slices.IndexFunc(stack, func(f frame) bool { return f.name == name })
	members := slices.Clone(stack[start:])
	least := 0
	for i, f := range members {
		if f.name < members[least].name {
			least = i
		}
	}
	members = append(members[least:], members[:least]...)
	names := make([]string, 0, len(members)+1)
	for _, f := range members {
		names = append(names, f.name)
	}
	names = append(names, members[0].name)
	return l.blocks[members[0].name].problem(members[0].at,
		"these blocks include each other: "+strings.Join(names, " → "),
		"take one of the selectors out")
}
