package main

import (
	"fmt"
	"html"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"

	example "attache/brain-example"
	"attache/internal/brain"
	"attache/internal/doctor"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
	"attache/internal/tools"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// docPages are the documents that a person meets, from the root of the repository.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md", "../../gateway/testdata/walks/README.md")
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

// The brains that the documents show load without a problem, and the doctor has
// nothing to say of their files.
func TestDocumentedBrainsLoad(t *testing.T) {
	all := docPages(t)
	for page, files := range map[string]int{"../../README.md": 4, "../../docs/brain.md": 13} {
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
		for _, f := range doctor.Files(b, nil) {
			t.Errorf("the brain in %s: %s", page, f)
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
		if problems, err := sql.Apply(ctx, db.Pool(), b.Schemas()); err != nil || len(problems) > 0 {
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
	list, _ := tools.SQLTools(b.Tree, nil) // none is called
	var trials []sql.Trial
	for _, tool := range list {
		trials = append(trials, tool.Trial())
	}
	found, _, err := sql.Check(ctx, db.Pool(), b.Schemas(), nil, trials)
	if err != nil {
		t.Fatal(err)
	}
	for i, refusal := range found.Refusals {
		if refusal != (sql.Refusal{}) {
			t.Errorf("%s: %v", list[i].File, refusal)
		}
	}
}

// What the documents tell to type exists.
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
	typed := regexp.MustCompile("(?m)(?:`|bin/|^ *|\\$ )attache ([a-z-]+)")
	for page, text := range docPages(t) {
		for _, m := range typed.FindAllStringSubmatch(text, -1) {
			if !known[m[1]] {
				t.Errorf("%s names the command attache %s, and there is none", page, m[1])
			}
		}
	}
}

var fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// Every link of the documents leads to a file that is there, and to a heading in it.
func TestDocumentsLink(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for page, text := range docPages(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			there, err := os.Stat(target)
			switch {
			case err != nil:
				t.Errorf("%s links to %s: %v", page, m[1], err)
			case anchor == "" || there.IsDir():
			case !slices.Contains(anchors(t, target), anchor):
				t.Errorf("%s links to %s, and that has %q", page, m[1], anchors(t, target))
			}
		}
	}
}

// anchors gives the names under which a page's headings can be linked to, as GitHub
// makes them: small letters, digits, hyphens and underscores of what is shown.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		shown := strings.ToLower(html.UnescapeString(strings.ReplaceAll(m[1], "`", "")))
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			}
			return -1
		}, shown)
		for n, plain := 1, name; slices.Contains(out, name); n++ {
			name = fmt.Sprintf("%s-%d", plain, n)
		}
		out = append(out, name)
	}
	return out
}

// What the documents show of a command is what it prints. A block begins with the
// command; a line … stands for lines that are left out, and a line that ends so for
// its beginning.
func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	where := t.TempDir()
	if err := os.CopyFS(filepath.Join(where, "brain-example"), example.Files); err != nil {
		t.Fatal(err)
	}
	pages := docPages(t)
	t.Chdir(where)
	t.Setenv("DATABASE_URL", "")
	shown, blocks := regexp.MustCompile("(?ms)^```console\n\\$ (?:bin/)?attache ([^\n]+)\n(.*?)^```$"), 0
	for page, text := range pages {
		for _, m := range shown.FindAllStringSubmatch(text, -1) {
			blocks++
			code, out, errs := attacheCommand(strings.Fields(m[1])...)
			if code != 0 {
				t.Errorf("%s: attache %s ended with %d: %s", page, m[1], code, errs)
			}
			if line := missing(strings.Split(m[2], "\n"), strings.Split(out, "\n")); line != "" {
				t.Errorf("%s: attache %s does not print, or not there:\n%s\nit prints\n%s", page, m[1], line, out)
			}
		}
	}
	if blocks < 2 {
		t.Errorf("the documents show the output of %d commands", blocks)
	}
}

// missing gives the first line of what is shown that is not the next one of what was
// printed; behind a line … it may be any later one.
func missing(shown, printed []string) string {
	at, skip := 0, false
	for _, line := range shown {
		switch {
		case line == "…":
			skip = true
			continue
		case skip:
			next := slices.IndexFunc(printed[at:], func(p string) bool { return shows(line, p) })
			if next < 0 {
				return line
			}
			at += next
		case at >= len(printed) || !shows(line, printed[at]):
			return line
		}
		at, skip = at+1, false
	}
	return ""
}

// shows reports whether a line that is shown is a printed one, or its beginning.
func shows(line, printed string) bool {
	beginning, cut := strings.CutSuffix(line, "…")
	return line == printed || cut && strings.HasPrefix(printed, beginning)
}

// What README tells to try in the demo after the beat: a message says which invoice it
// is about, and a reply to it brings that one invoice.
//
// rows C5, N4
func TestTheReplyOfREADME(t *testing.T) {
	typed := regexp.MustCompile("(?m)^ +(Nova, call notification_send .+)$").FindStringSubmatch(docPages(t)["../../README.md"])
	if typed == nil {
		t.Fatal("README has no line to try")
	}
	e := newExampleTalk(t)
	c, _, _ := e.w.Find("bo", "invoices")
	send := func(l telegramsim.Line) {
		l.From = e.w.Person("bo").User
		if _, err := c.Room.Send(l); err != nil {
			t.Fatal(err)
		}
	}
	send(telegramsim.Line{Text: typed[1]})
	if said := e.await(c.Room, 2)[0]; said != "Lumen owes 480 euro." {
		t.Fatalf("the reminder is %q", said)
	}
	send(telegramsim.Line{Text: "paid", ReplyTo: c.Room.Posts()[0].ID})
	answer := e.await(c.Room, 3)[2]
	for _, want := range []string{"invoice from invoices for 2026-31", "480"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q:\n%s", want, answer)
		}
	}
}
