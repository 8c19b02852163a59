package prompt

import (
	_ "embed"
	"slices"
	"strings"
)

//go:embed text/usage.txt
var usageText string

// Document is the entry of one document in a pack's index. Its body is never
// here (text 3, "Knowledge indexes").
type Document struct {
	Path    string // below the pack's folder, such as refunds/late.md
	ID      string
	Kind    string
	Title   string // its first heading
	Summary string // its description
}

// index prints a pack's index (decisions § 4), documents in the order of their
// selectors.
func index(name, folder string, documents []Document) string {
	namespace, _, _ := strings.Cut(name, ".")
	children := []string{element("usage", escapeText(strings.TrimSpace(usageText)))}
	entries := make([]string, 0, len(documents))
	for _, d := range documents {
		entries = append(entries, element("document", "",
			"selector", dotted(name, strings.TrimSuffix(d.Path, ".md")),
			"id", d.ID, "kind", d.Kind, "title", d.Title, "summary", d.Summary))
	}
	slices.Sort(entries) // the selector comes first in each
	return element("knowledge", nested(0, append(children, entries...)),
		"selector", name, "namespace", namespace,
		"name", folder[strings.LastIndexByte(folder, '/')+1:], "root", folder)
}
