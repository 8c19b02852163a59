package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// odsWorkspace writes a workspace and goes there.
func odsWorkspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// odsLine runs a command line of attache ods.
func odsLine(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), append([]string{"ods"}, args...), stdio{strings.NewReader(""), &o, &e})
	return code, o.String(), e.String()
}

func shopDocuments() map[string]string {
	return map[string]string{
		"ods.toml":         "spec = \"0.1\"\nignore = [\"old/\"]\n",
		"shop/returns.md":  "---\nods: { depends: [receipts.md, margins.md], related: [repairs.md], context: { load: [fees.csv] }, code: [till.ts] }\n---\n# Returns\n\nWithin 30 days.\n",
		"shop/receipts.md": "# Receipts\n\nA photo will do.\n",
		"shop/repairs.md":  "# Repairs\n",
		"shop/margins.md":  "---\nods: { share: private }\n---\n# Margins\n",
		"shop/fees.csv":    "kind,euro\n",
		"till.ts":          "export {}\n",
		"old/rules.md":     "# Old\n",
	}
}

// row K2
func TestOdsLint(t *testing.T) {
	dir := odsWorkspace(t, shopDocuments())
	if code, out, errs := odsLine(t, "lint"); code != 0 || out != "" || errs != "documents: 4, errors: 0, warnings: 0\n" {
		t.Errorf("a sound workspace: %d\n%s%s", code, out, errs)
	}
	if err := os.WriteFile("shop/bad.md", []byte("---\ntags: [a]\nods:\n  stauts: draft\n  depends: [recipts.md]\n---\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "shop/bad.md:4:3 KEY-001 warning: the key \"stauts\" is not known under ods; did you mean status?\n" +
		"shop/bad.md:5:13 GRAPH-002 error: recipts.md names no document: there is no such document; did you mean shop/receipts?\n"
	for _, args := range [][]string{{"lint"}, {"lint", dir}, {"lint", "."}, {"--brain", "elsewhere", "lint"}} {
		if code, out, errs := odsLine(t, args...); code != 1 || out != want || !strings.Contains(errs, "documents: 5, errors: 1, warnings: 1") {
			t.Errorf("%v: %d\n%s%s", args, code, out, errs)
		}
	}
	t.Chdir("shop")
	if code, out, _ := odsLine(t, "lint"); code != 1 || out != want {
		t.Errorf("from a folder below: %d\n%s", code, out)
	}
	if code, out, _ := odsLine(t, "lint", "."); code != 1 || !strings.Contains(out, ".:1:1 WS-001 error: ") {
		t.Errorf("a folder without a marker: %d\n%s", code, out)
	}
	if code, out, errs := odsLine(t, "lint", "nowhere"); code != 1 || out != "" || !strings.Contains(errs, "there is no folder nowhere") {
		t.Errorf("no folder: %d\n%s%s", code, out, errs)
	}
}

// A pack of a brain needs no ods.toml of its own.
//
// row K1
func TestOdsLintOfAPack(t *testing.T) {
	odsWorkspace(t, map[string]string{"constitution/MANIFEST.yaml": "name: X\n", "knowledge/shop/a.md": "# A\n", "packages/s/r/knowledge/p/a.md": "# A\n", "other/knowledge/p/a.md": "# A\n"})
	for dir, want := range map[string]int{"knowledge/shop": 0, "packages/s/r/knowledge/p": 0, "other/knowledge/p": 1} {
		if code, out, _ := odsLine(t, "lint", dir); code != want {
			t.Errorf("%s: %d\n%s", dir, code, out)
		}
	}
}

// row K4
// row K5
func TestOdsContext(t *testing.T) {
	dir := odsWorkspace(t, shopDocuments())
	const whole = "--- shop/receipts.md (depends 1, 9 tokens)\n\n# Receipts\n\nA photo will do.\n" +
		"--- shop/repairs.md (related, 3 tokens)\n\n# Repairs\n" +
		"--- shop/fees.csv (load, 4 tokens)\n\nkind,euro\n" +
		"--- till.ts (code, 2 tokens)\n\nexport {}\n" +
		"--- shop/returns.md (target, 8 tokens)\n\n# Returns\n\nWithin 30 days.\n" +
		"Total: 26 tokens\nExcluded: shop/margins.md (private)\n"
	for _, args := range [][]string{
		{"context", "shop/returns", "--with-code", "--include-related"},
		{"context", "--include-related", "--with-code", "--max-tokens", "26", "returns.md"},
		{"context", filepath.Join(dir, "shop", "returns.md"), "--include-code", "--include-related"},
	} {
		if code, out, errs := odsLine(t, args...); code != 0 || out != whole || errs != "" {
			t.Errorf("%v: %d\n%s%s", args, code, out, errs)
		}
	}
	code, out, _ := odsLine(t, "context", "returns", "--max-tokens", "20", "--privileged", "--json")
	var list struct {
		ID        string
		Files     []struct{ Path, ID, Reason, Text string }
		Total     int
		Truncated bool
		Excluded  []struct {
			Path, Reason string
			Tokens       int
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		t.Fatalf("%d, %v\n%s", code, err, out)
	}
	if len(list.Files) != 2 || list.Files[1].ID != "shop/returns" || list.Files[0].Reason != "depends 1" || list.Total != 17 || !list.Truncated ||
		len(list.Excluded) != 2 || list.Excluded[1].Path != "shop/margins.md" || list.Excluded[1].Reason != "budget" || list.Excluded[1].Tokens != 4 {
		t.Errorf("%+v", list)
	}
	t.Chdir("shop")
	if code, out, _ := odsLine(t, "context", "returns", "--max-depth", "0"); code != 0 || !strings.HasSuffix(out, "Excluded: shop/margins.md (private)\nExcluded: shop/receipts.md (depth: beyond max-depth 0, 9 tokens)\n") {
		t.Errorf("without prerequisites: %d\n%s", code, out)
	}
}

// What cannot be given gives nothing, says why and fails.
//
// row K3
// row K5
func TestOdsContextRefuses(t *testing.T) {
	odsWorkspace(t, shopDocuments())
	for _, c := range []struct {
		args []string
		code int
		why  string
	}{
		{[]string{"shop/margins"}, 1, "shop/margins.md is private"},
		{[]string{"old/rules.md"}, 1, "old/rules.md is left out by the ignore rule old/"},
		{[]string{"shop/retruns"}, 1, "did you mean shop/returns?"},
		{[]string{"../../etc/passwd"}, 1, "there is no document"},
		{[]string{"/etc/passwd"}, 1, "/etc/passwd does not stand in the workspace"},
		{[]string{""}, 2, "the document has no name"},
		{[]string{}, 2, "id"},
		{[]string{"shop/returns", "--max-tokens", "7"}, 1, "alone has 8 tokens, and the limit is 7"},
		{[]string{"shop/returns", "--max-tokens", "0"}, 2, "--max-tokens must be at least 1"},
		{[]string{"shop/returns", "--max-depth=-1"}, 2, "--max-depth must be 0 or more"},
		{[]string{"shop/returns", "--json", "--max-tokens", "7"}, 1, "alone has 8 tokens"},
	} {
		if code, out, errs := odsLine(t, append([]string{"context"}, c.args...)...); code != c.code || out != "" || !strings.Contains(errs, c.why) {
			t.Errorf("%v: %d\n%s%s", c.args, code, out, errs)
		}
	}
}

// In no workspace the name is that of a document of the brain's knowledge.
//
// row K4
func TestOdsContextOfTheBrain(t *testing.T) {
	odsWorkspace(t, map[string]string{"brain/constitution/MANIFEST.yaml": "name: X\n", "brain/knowledge/shop/a.md": "# A\n"})
	if code, out, errs := odsLine(t, "context", "shop/a"); code != 0 || out != "--- a.md (target, 3 tokens)\n\n# A\nTotal: 3 tokens\n" {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	if code, out, errs := odsLine(t, "context", "shop/b"); code != 1 || out != "" || !strings.Contains(errs, "the right ones are shop/a") && !strings.Contains(errs, "did you mean shop/a?") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}
