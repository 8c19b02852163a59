package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"attache/internal/brain"
)

// pages are the documents that a person meets, from the root of the repository.
func pages(t *testing.T) map[string]string {
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
var shownFile = regexp.MustCompile("(?ms)^`([a-zA-Z./-]+)`:\n\n```[a-z]*\n(.*?)^```")

// The brains that the documents show load without a problem.
func TestDocumentedBrainsLoad(t *testing.T) {
	all := pages(t)
	for page, files := range map[string]int{"../../README.md": 2, "../../docs/brain.md": 7} {
		shown := map[string]string{}
		for _, m := range shownFile.FindAllStringSubmatch(all[page], -1) {
			shown[m[1]] = m[2]
		}
		if len(shown) != files {
			t.Errorf("%s shows %d files of a brain, want %d", page, len(shown), files)
		}
		if _, problems, err := brain.Load(brainFiles(t, shown), nil); err != nil || len(problems) > 0 {
			t.Errorf("the brain in %s: %v, %v", page, problems, err)
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
	for page, text := range pages(t) {
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
