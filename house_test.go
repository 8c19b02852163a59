package attache_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vague are names that say nothing about what a package knows.
func vague() []string {
	return []string{"config", "util", "utils", "common", "helper", "helpers", "models", "misc"}
}

// variables are the package-level variables that may stand although their
// initial value is none of constant(), as "folder.name", each with its reason.
func variables() map[string]string {
	return map[string]string{
		"internal/store.migrationLock": "a number that is computed once and never assigned; Go has no constant hash",
	}
}

func TestPackageNamesSayWhatTheyKnow(t *testing.T) {
	for _, s := range load(t).sources {
		for _, name := range []string{s.file.Name.Name, path.Base(s.dir)} {
			if slices.Contains(vague(), name) {
				t.Errorf("%s is in %q: name the package by what it knows, or give its content to the owner", s.path, name)
			}
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	tr := load(t)
	for _, s := range tr.sources {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init runs where nobody reads it; call it from cmd/bot", tr.fset.Position(f.Pos()))
			}
		}
	}
}

// Two callers of one process must not meet in a variable. Test helpers may keep
// one: they hold the one server of a test binary.
func TestNoMutablePackageVariables(t *testing.T) {
	tr := load(t)
	for _, s := range tr.shipped() {
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					_, listed := variables()[s.dir+"."+name.Name]
					if !listed && !embedded(g.Doc) && !embedded(v.Doc) && !constant(name.Name, value(v, i)) {
						t.Errorf("%s: %s is a package-level variable; make it an argument, a field or a function that returns the value", tr.fset.Position(name.Pos()), name.Name)
					}
				}
			}
		}
	}
}

// value gives the initial value of the i-th name, nil when there is none.
func value(v *ast.ValueSpec, i int) ast.Expr {
	if i < len(v.Values) {
		return v.Values[i]
	}
	return nil
}

// embedded reports whether a comment holds a go:embed directive.
func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// constant reports whether a variable is one only because Go has no constant of
// its kind: a sentinel error, a compiled pattern, a check that a type fits an
// interface.
func constant(name string, v ast.Expr) bool {
	sentinel := strings.HasPrefix(name, "Err") || strings.HasPrefix(name, "err")
	switch v := v.(type) {
	case *ast.UnaryExpr:
		return name == "_" || sentinel && v.Op == token.AND
	case *ast.CallExpr:
		switch called(v) {
		case "errors.New", "fmt.Errorf":
			return sentinel
		case "regexp.MustCompile", "strings.NewReplacer", "template.Must", "prometheus.NewDesc":
			return true
		}
	}
	return name == "_"
}

// called gives the called function as it is written, such as "errors.New".
func called(c *ast.CallExpr) string {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// The command makes a logger and hands it down; nobody uses the global one.
func TestLoggersAreArguments(t *testing.T) {
	tr := load(t)
	global := []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "Default", "SetDefault", "With"}
	for _, s := range tr.shipped() {
		if slices.Contains(importsOf(s), "log") {
			t.Errorf("%s imports log, the global logger; take a *slog.Logger", s.path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if name, ok := strings.CutPrefix(called(c), "slog."); ok && slices.Contains(global, name) {
					t.Errorf("%s: slog.%s uses the global logger; take a *slog.Logger", tr.fset.Position(c.Pos()), name)
				}
			}
			return true
		})
	}
}

// An error says what is wrong; that something failed is plain from there being
// an error.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	tr := load(t)
	for _, s := range tr.shipped() {
		ast.Inspect(s.file, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) == 0 || called(c) != "errors.New" && called(c) != "fmt.Errorf" {
				return true
			}
			if lit, ok := c.Args[0].(*ast.BasicLit); ok && strings.HasPrefix(strings.ToLower(strings.Trim(lit.Value, "\"`")), "failed to") {
				t.Errorf("%s: %s: say what is wrong, where and what to do", tr.fset.Position(c.Pos()), lit.Value)
			}
			return true
		})
	}
}

// A table is named by one owner only, a package with its subfolders, so that its
// rules are in one place.
func TestTablesHaveOneOwner(t *testing.T) {
	tr := load(t)
	owners := map[string]map[string]bool{}
	note := func(text, dir string) {
		if owner, _ := place(dir); owner != "" {
			dir = owner
		}
		for _, table := range tablesIn(text) {
			if owners[table] == nil {
				owners[table] = map[string]bool{}
			}
			owners[table][dir] = true
		}
	}
	for p, text := range tr.sql {
		note(text, goFolder(tr, p))
	}
	for _, s := range tr.shipped() {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					note(text, s.dir)
				}
			}
			return true
		})
	}
	for table, dirs := range owners {
		if len(dirs) > 1 {
			t.Errorf("attache.%s is named in %s; one owner has a table, others ask it", table, strings.Join(slices.Sorted(maps.Keys(dirs)), " and "))
		}
	}
}

// goFolder gives the package that embeds a file: the nearest folder upwards that
// holds Go files.
func goFolder(tr tree, file string) string {
	dir := path.Dir(file)
	for dir != "." && !slices.Contains(tr.packages(), dir) {
		dir = path.Dir(dir)
	}
	return dir
}

var qualified = regexp.MustCompile(`\battache\.([a-z_][a-z0-9_]*)`)

// tablesIn lists the names that follow "attache." in SQL. A file name such as
// attache.d.ts and a path such as /tmp/attache.sock are none.
func tablesIn(text string) []string {
	var out []string
	for _, m := range qualified.FindAllStringSubmatchIndex(text, -1) {
		before, after := byte(' '), byte(' ')
		if m[0] > 0 {
			before = text[m[0]-1]
		}
		if m[1] < len(text)-1 && text[m[1]] == '.' {
			after = text[m[1]+1]
		}
		if !strings.ContainsRune("./-$", rune(before)) && (after == ' ' || after == '\n') {
			out = append(out, text[m[2]:m[3]])
		}
	}
	return out
}

func TestTablesIn(t *testing.T) {
	got := strings.Join(tablesIn("select * from attache.turns t, attache.posts where t.x; types/attache.d.ts, attache.d.ts, /tmp/attache.sock; see attache.beats."), " ")
	if want := "turns posts beats"; got != want {
		t.Errorf("tablesIn gives %q, want %q", got, want)
	}
}

// Every package says what its data is, and every exported name what it means.
func TestEverythingExportedIsDocumented(t *testing.T) {
	tr := load(t)
	documented := map[string]bool{}
	for _, s := range tr.sources {
		if s.test {
			continue
		}
		opening := "Package " + s.file.Name.Name
		if s.file.Name.Name == "main" {
			opening = "Command "
		}
		documented[s.dir] = documented[s.dir] || strings.HasPrefix(s.file.Doc.Text(), opening)
		for _, d := range s.file.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no comment; say what it means, its units, its errors", tr.fset.Position(d.Pos()), name)
			}
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment; say what its data is and who owns it", dir)
		}
	}
}

// undocumented lists the exported names of a declaration that no comment covers.
// One comment may cover a group of constants or variables, never of types.
func undocumented(d ast.Decl) []string {
	var out []string
	missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) != "" }) {
			out = append(out, name.Name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d.Recv)) {
			missing(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if d.Lparen.IsValid() {
					missing(spec.Name, spec.Doc)
				} else {
					missing(spec.Name, d.Doc)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					missing(name, d.Doc, spec.Doc, spec.Comment)
				}
			}
		}
	}
	return out
}

// receiver gives the name of a method's type.
func receiver(fields *ast.FieldList) string {
	x := fields.List[0].Type
	for {
		switch v := x.(type) {
		case *ast.StarExpr:
			x = v.X
		case *ast.IndexExpr:
			x = v.X
		case *ast.IndexListExpr:
			x = v.X
		case *ast.Ident:
			return v.Name
		default:
			return ""
		}
	}
}

// The tour is a map, and a map without a street is wrong. A line on a package
// covers the subfolders that belong to it.
func TestTourNamesEveryPackage(t *testing.T) {
	tour, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range load(t).packages() {
		if owner, _ := place(dir); owner != "" {
			dir = owner
		}
		if dir != "." && !regexp.MustCompile(fmt.Sprintf(`(?m)^// .*\b%s\b`, regexp.QuoteMeta(dir))).Match(tour) {
			t.Errorf("doc.go has no line on %s; add it to the tour", dir)
		}
	}
}
