package attache_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A floor is a set of packages that do not know each other and may know every
// package of the floors below. An entry that ends in "/..." takes its
// subfolders along; a package and its own subfolders are one owner.
type floor struct {
	name     string
	what     string
	packages []string
}

// floors is the table of design § 1 from the ground up. A new package is added
// here, on the lowest floor that stands above everything it imports.
func floors() []floor {
	return []floor{
		{"0", "the words everyone speaks", []string{"."}},
		{"1", "the machines: database, journal, Telegram, models, scripts and files", []string{
			"internal/store", "internal/engine", "internal/script", "internal/views/...",
			"internal/model", "internal/telegram/...", "internal/brainfile/...", "internal/postgres", "internal/cliagent/...",
		}},
		{"2", "the deciders: each owns one question and answers it from plain values", []string{
			"access", "engage", "origins", "contexts", "hitl", "heartbeat", "constitution",
			"internal/prompt", "internal/hooks", "internal/scenario", "internal/sharedcontext",
			"internal/knowledge/...", "internal/memory", "internal/usage", "internal/tools",
			"internal/conversation",
		}},
		{"2b", "the brain: every file, read once into one whole", []string{"internal/brain"}},
		{"3", "the walk: the order of steps", []string{"gateway/..."}},
		{"4", "the eyes and the hands: pages, doctor, tools of two owners, the playground", []string{
			"internal/web/...", "internal/doctor", "internal/builtin",
			"internal/telegramsim/...", "internal/rehearsal",
		}},
		{"5", "the wiring", []string{"cmd/bot/..."}},
	}
}

// helpers are packages that only tests may import, each with the floor that its
// own imports may reach, its own included, and the reason that it exists.
func helpers() map[string]struct{ floor, why string } {
	return map[string]struct{ floor, why string }{
		"internal/store/storetest":    {"1", "one Postgres a test binary, one database a test; it joins postgres and store"},
		"gateway/posts/poststest":     {"3", "a messenger that takes posts and answers as told, for the tests of posts and of the gateway"},
		"internal/cliagent/agenttest": {"1", "a scripted agent that keeps its state: the test binary itself, started again"},
		"internal/model/modeltest":    {"4", "a scripted model over HTTP: a fake where the outside world begins; it counts cache hits with the rehearsal model's own cache"},
		"internal/archivetest":        {"0", "tests whose cases are text archives, which anybody can read and add to"},
		"internal/web/webtest":        {"0", "a real Chromium, driven over pipes: a page is worth what a browser makes of it"},
	}
}

// testPeers are packages of the product that tests of any floor may import: they
// stand in for the outside world there as they do in the demo.
func testPeers() []string { return []string{"internal/telegramsim", "internal/rehearsal"} }

// A ban keeps an import out of a package, or lets it in by some doors only.
type ban struct {
	what  string   // import path; its subfolders are meant too
	from  []string // the packages that may not; empty: all but those of doors
	doors []string // the packages that may
	why   string
}

// bans hold for what is shipped; a test may talk to the outside as it must.
func bans() []ban {
	walk := []string{"gateway"}
	deciders := []string{"access", "engage", "origins", "contexts", "hitl", "heartbeat", "constitution", "internal/prompt"}
	words := []string{"."}
	return []ban{
		{what: "attache/internal/telegram", from: walk, why: "the gateway orders steps and gets Telegram as a value"},
		{what: "attache/internal/brainfile", from: walk, why: "the gateway orders steps; files reach it as a Brain"},
		{what: "net/http", from: walk, why: "the gateway orders steps; what speaks HTTP has an owner below or above"},
		{what: "text/template", from: walk, why: "words for people and models are made by their owners"},
		{what: "html/template", from: walk, why: "pages are internal/web's"},
		{what: "go/parser", from: walk, why: "the gateway parses nothing"},
		{what: "regexp", from: walk, why: "the gateway parses nothing"},

		{what: "net/http", from: deciders, why: "who decides takes plain values and talks to nobody"},
		{what: "os/exec", from: deciders, why: "who decides takes plain values and starts nothing"},

		{what: "os", from: words, why: "the root holds nouns and does no I/O"},
		{what: "io", from: words, why: "the root holds nouns and does no I/O"},
		{what: "net", from: words, why: "the root holds nouns and does no I/O"},
		{what: "database/sql", from: words, why: "the root holds nouns and does no I/O"},
		{what: "regexp", from: words, why: "the root parses nothing that people write"},

		{what: "github.com/go-telegram/bot", doors: []string{"internal/telegram", "internal/telegramsim"}, why: "Telegram's shapes end at internal/telegram"},
		{what: "github.com/dbos-inc/dbos-transact-golang", doors: []string{"internal/engine"}, why: "the engine can be changed as long as one package knows it"},
		{what: "github.com/sashabaranov/go-openai", doors: []string{"internal/model", "internal/rehearsal"}, why: "models are spoken to in our own types"},
		{what: "gopkg.in/yaml.v3", doors: []string{"internal/brainfile"}, why: "one reader is strict everywhere; a second one would be strict elsewhere"},
		{what: "github.com/fsnotify/fsnotify", doors: []string{"internal/brainfile"}, why: "folders are watched once, files never"},
		{what: "github.com/evanw/esbuild", doors: []string{"internal/script"}, why: "TypeScript is built in one place"},
		{what: "modernc.org/quickjs", doors: []string{"internal/script"}, why: "brain code runs in one place, under its limits"},
		{what: "github.com/robfig/cron/v3", doors: []string{"heartbeat"}, why: "only beats have slots"},
		{what: "github.com/modelcontextprotocol/go-sdk", doors: []string{"internal/tools"}, why: "an MCP server is a tool like any other"},
		{what: "github.com/tiktoken-go/tokenizer", doors: []string{"internal/knowledge"}, why: "tokens are counted in one way"},
		{what: "github.com/alecthomas/kong", doors: []string{"cmd/bot"}, why: "flags belong to the command"},
		{what: "github.com/rogpeppe/go-internal", doors: []string{}, why: "scripts are for tests"},
		{what: "github.com/google/go-cmp", doors: []string{}, why: "it panics by design; tests only"},
		{what: "pgregory.net/rapid", doors: []string{}, why: "properties are for tests"},
		{what: "go.uber.org/goleak", doors: []string{}, why: "leaks are looked for by tests"},
		{what: "testing", doors: []string{}, why: "a test helper in the binary carries test flags into it"},
	}
}

// A source is one parsed Go file of the module.
type source struct {
	path string // from the module's root, forward slashes
	dir  string // its package's folder, "." for the root
	test bool   // a _test.go file
	file *ast.File
}

// A tree is the module as its files tell it: whatever their build tags say.
type tree struct {
	fset    *token.FileSet
	sources []source
	sql     map[string]string // text of each .sql file by path
}

// load reads the module. Hidden folders, testdata, the example brain and folders
// with a go.mod of their own belong to somebody else.
func load(t *testing.T) tree {
	t.Helper()
	tr := tree{fset: token.NewFileSet(), sql: map[string]string{}}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skip(p, d.Name())
		case strings.HasSuffix(p, ".sql"):
			text, err := os.ReadFile(p)
			tr.sql[filepath.ToSlash(p)] = string(text)
			return err
		case strings.HasSuffix(p, ".go"):
			f, err := parser.ParseFile(tr.fset, p, nil, parser.ParseComments|parser.SkipObjectResolution)
			slash := filepath.ToSlash(p)
			tr.sources = append(tr.sources, source{slash, path.Dir(slash), strings.HasSuffix(p, "_test.go"), f})
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// skip tells WalkDir to leave a folder out.
func skip(p, name string) error {
	if p == "." {
		return nil
	}
	_, err := os.Stat(filepath.Join(p, "go.mod"))
	if err == nil || strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "brain-example", "bin"}, name) {
		return fs.SkipDir
	}
	return nil
}

// packages lists the folders that hold Go files, sorted.
func (tr tree) packages() []string {
	var dirs []string
	for _, s := range tr.sources {
		dirs = append(dirs, s.dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// shipped lists the files that end up in the program.
func (tr tree) shipped() []source {
	return slices.DeleteFunc(slices.Clone(tr.sources), func(s source) bool { return s.test || isHelper(s.dir) })
}

func isHelper(dir string) bool { _, ok := helpers()[dir]; return ok }

// place says which entry of the table a folder belongs to and how high it
// stands: the index of its floor, or -1 when the table does not know it.
func place(dir string) (owner string, height int) {
	if h, ok := helpers()[dir]; ok {
		return dir, slices.IndexFunc(floors(), func(f floor) bool { return f.name == h.floor })
	}
	for i, f := range floors() {
		for _, entry := range f.packages {
			base, deep := strings.CutSuffix(entry, "/...")
			if dir == base || deep && strings.HasPrefix(dir, base+"/") {
				return base, i
			}
		}
	}
	return "", -1
}

// importsOf lists what a file imports.
func importsOf(s source) []string {
	var out []string
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// ours gives the folder of an import of this module.
func ours(importPath string) (dir string, ok bool) {
	if importPath == "attache" {
		return ".", true
	}
	return strings.CutPrefix(importPath, "attache/")
}

// The arrows of design § 1, for every file whatever its build tags.
func TestArrowsPointDown(t *testing.T) {
	tr := load(t)
	for _, dir := range tr.packages() {
		if _, height := place(dir); height < 0 {
			t.Errorf("%s stands on no floor; add it to the table in arch_test.go, on the lowest floor above everything it imports", dir)
		}
	}
	for _, s := range tr.sources {
		for _, imp := range importsOf(s) {
			if dir, ok := ours(imp); ok {
				if why := arrow(s, dir); why != "" {
					t.Errorf("%s imports %s: %s", s.path, imp, why)
				}
			}
		}
	}
}

// arrow judges one import of our own: "" when it may stand, else the reason.
func arrow(s source, to string) string {
	owner, from := place(s.dir)
	target, height := place(to)
	switch {
	case from < 0 || height < 0:
		return "" // named once already, as a package that stands on no floor
	case isHelper(to) && !s.test && !isHelper(s.dir):
		return "a test helper; only _test.go files may import it (" + helpers()[to].why + ")"
	case owner == target, height < from, s.test && isHelper(to):
		return ""
	case (s.test || isHelper(s.dir)) && height == from:
		return "" // a test may join two owners of one floor
	case s.test && slices.Contains(testPeers(), target):
		return ""
	case height == from:
		return "both stand on floor " + floors()[from].name + "; the floor above carries a plain value from one to the other"
	}
	return "floor " + floors()[height].name + " is above floor " + floors()[from].name + "; nothing calls back up, hand the value down instead"
}

// Each ban has its reason, and the reason is what the reader of a failure needs.
func TestBans(t *testing.T) {
	for _, s := range load(t).shipped() {
		owner, _ := place(s.dir)
		for _, imp := range importsOf(s) {
			for _, b := range bans() {
				if imp != b.what && !strings.HasPrefix(imp, b.what+"/") {
					continue
				}
				if slices.Contains(b.from, owner) || b.from == nil && !slices.Contains(b.doors, owner) {
					t.Errorf("%s imports %s: %s", s.path, imp, b.why)
				}
			}
		}
	}
}

// The judge itself is judged: a table that lets everything through is no table.
func TestArrowJudge(t *testing.T) {
	from := func(path string) source {
		return source{path: path, dir: filepath.ToSlash(filepath.Dir(path)), test: strings.HasSuffix(path, "_test.go")}
	}
	for _, c := range []struct {
		file, to string
		ok       bool
	}{
		{"gateway/walk.go", "engage", true},
		{"gateway/walk.go", ".", true},
		{"engage/burst.go", "access", false},
		{"engage/burst_test.go", "access", true},
		{"engage/burst.go", "gateway", false},
		{"engage/burst_test.go", "gateway", false},
		{"doc.go", "engage", false},
		{"internal/store/db.go", "internal/postgres", false},
		{"internal/store/storetest/new.go", "internal/postgres", true},
		{"internal/store/storetest/new.go", "gateway", false},
		{"origins/store.go", "internal/store/storetest", false},
		{"origins/store_test.go", "internal/store/storetest", true},
		{"internal/brain/brain.go", "contexts", true},
		{"contexts/library.go", "internal/brain", false},
		{"internal/telegram/poll_test.go", "internal/telegramsim", true},
		{"internal/telegram/poll.go", "internal/telegramsim", false},
		{"internal/telegramsim/server.go", "internal/telegramsim/schema", true},
		{"gateway/walk.go", "gateway/posts", true},
		{"gateway/walk.go", "gateway/posts/poststest", false},
		{"gateway/walk_test.go", "gateway/posts/poststest", true},
		{"internal/web/page.go", "internal/doctor", false},
		{"cmd/bot/main.go", "internal/telegramsim", true},
	} {
		if why := arrow(from(c.file), c.to); (why == "") != c.ok {
			t.Errorf("arrow from %s to %s: allowed %v, want %v (%s)", c.file, c.to, why == "", c.ok, why)
		}
	}
}
