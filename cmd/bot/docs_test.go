package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"attache/internal/brain"
	"attache/internal/store/storetest"
	"attache/internal/tools"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// pages are the documents that a person meets, from the root of the repository.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md")
	out := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[path] = string(text)
	}
	return out
}

// A file of a brain in a page: its path in a line of its own, and its text fenced.
var shownFile = regexp.MustCompile("(?ms)^`([a-zA-Z./_-]+)`:\n\n```[a-z]*\n(.*?)^```")

// The brains that the documents show load without a problem.
func TestDocumentedBrainsLoad(t *testing.T) {
	all := docPages(t)
	for page, files := range map[string]int{"../../README.md": 4, "../../docs/brain.md": 11} {
		shown := map[string]string{}
		for _, m := range shownFile.FindAllStringSubmatch(all[page], -1) {
			shown[m[1]] = m[2]
		}
		if len(shown) != files {
			t.Errorf("%s shows %d files of a brain, want %d", page, len(shown), files)
		}
		b, problems, err := brain.Load(brainFiles(t, shown), nil)
		if err != nil || len(problems) > 0 {
			t.Errorf("the brain in %s: %v, %v", page, problems, err)
			continue
		}
		soundSQL(t, b)
	}
}

// soundSQL proves what only a database can say of a brain: each schema.sql applies,
// and applies again; the views that contexts and roles name are there, with the
// columns that keys filter; and the statements of its tools fit the tables.
func soundSQL(t *testing.T, b *brain.Brain) {
	t.Helper()
	ctx := t.Context()
	db, err := openDatabase(ctx, &flags{DatabaseURL: storetest.DSN(t)}, false, slog.New(slog.DiscardHandler), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(ctx, "views", sql.Migrations()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if problems, err := sql.Apply(ctx, db.Pool(), schemasOf(b)); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		if _, err := db.Pool().Exec(ctx, "truncate attache.schemas"); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := views.OpenReader(ctx, db.Pool(), views.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	columns, err := reader.Describe(ctx, b.Views())
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range b.Views() {
		if len(columns[view]) == 0 {
			t.Errorf("there is no view %s", view)
		}
	}
	for f := range b.Contexts.Files() {
		for _, d := range f.Data {
			if d.By != "" && !slices.Contains(columns[d.View], d.By) {
				t.Errorf("%s filters %s by %s, and its columns are %s", f.Path, d.View, d.By, columns[d.View])
			}
		}
	}
	executor, err := views.OpenExecutor(ctx, db.Pool(), views.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer executor.Close()
	found, _ := tools.SQLTools(b.Tree, nil) // none is called
	for _, tool := range found {
		if err := executor.Check(ctx, tool.Statement, tool.Sample); err != nil {
			t.Errorf("%s: %v", tool.File, err)
		}
	}
}

// What the documents tell to type exists, and what they link to is there.
func TestDocumentsNameWhatExists(t *testing.T) {
	var c commands
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, n := range parser.Model.Children {
		known[n.Name] = true
	}
	typed := regexp.MustCompile("(?m)(?:`|bin/|^ *)attache ([a-z-]+)")
	link := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	for page, text := range docPages(t) {
		for _, m := range typed.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s names the command attache %s, and there is none", page, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}
