package brain

import (
	"strings"
	"testing"

	"attache"
	"attache/internal/knowledge/reading"
)

// What data names and no turn can carry is said where it is written, with the nearest
// right name. The document itself may be anywhere in the knowledge.
//
// row K1
func TestDocumentsOfContexts(t *testing.T) {
	context := func(data string) string { return "---\nwhen: [always]\ndata:\n  - " + data + "\n---\nX.\n" }
	for _, c := range []struct{ data, want string }{
		{"{ document: shop/returns }", ""},
		{"{ document: returns, maxTokens: 50 }", ""},
		{"{ document: lib.shop.returns }", ""},
		{"{ document: a/b/docs/setup }", ""},
		{"{ document: shop/returns, maxTokens: 2 }", "features/f/f.context.md:4:5: returns.md alone has 3 tokens, and the limit is 2; raise maxTokens, or split the document"},
		{"{ document: shop/retruns }", `features/f/f.context.md:4:5: there is no document "shop/retruns" in the knowledge; did you mean shop/returns?`},
		{"{ document: shop/secret }", "features/f/f.context.md:4:5: the document shop/secret is private, so no turn may carry it; set its ods.share to public or org, or take it out"},
		{"{ document: shop/broken }", "features/f/f.context.md:4:5: the document shop/broken does not load: "},
	} {
		b, problems := loadFiles(t, "features/f/FEATURE.md", "---\ndescription: F.\n---\n", "features/f/f.context.md", context(c.data),
			"knowledge/shop/returns.md", "# Returns\n", "knowledge/shop/secret.md", "---\nods: { share: private }\n---\n",
			"knowledge/shop/broken.md", "---\nods: [\n---\n", "packages/a/b/knowledge/docs/setup.md", "# Setup\n")
		var said []string
		for _, p := range problems {
			if p.File == "features/f/f.context.md" {
				said = append(said, p.Error())
			}
		}
		if got := strings.Join(said, "\n"); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s gives %q, want %q", c.data, got, c.want)
		}
		if list, err := b.Knowledge().ReadingList("shop/returns", reading.Options{}); err != nil || list.Total != 3 {
			t.Errorf("%v, %v", list, err)
		}
	}
}

// Two documents of one id are a mistake of the brain; what ods.toml ignores is in no
// index, and what it says wrong is told.
//
// row K1
func TestPacksOfABrain(t *testing.T) {
	b, problems := loadFiles(t, "knowledge/shop/a.md", "---\nods: { id: same }\n---\n", "knowledge/shop/b.md", "---\nods: { id: Same }\n---\n",
		"knowledge/shop/ods.toml", "spec = \"0.1\"\nignore = [\"old\"]\nignores = []\n", "knowledge/shop/old/c.md", "# C\n", "knowledge/shop/data.csv", "a\n", "knowledge/shop/pic.png", "x")
	var said strings.Builder
	for _, p := range problems {
		if strings.HasPrefix(p.File, "knowledge/") {
			said.WriteString(p.Error() + "\n")
		}
	}
	const want = `knowledge/shop/a.md:2:12: the id same is also that of b.md; rename one of them, or give it another ods.id
knowledge/shop/b.md:2:12: the id same is also that of a.md; rename one of them, or give it another ods.id
knowledge/shop/ods.toml:3:1: the key "ignores" is not known here; did you mean ignore?
`
	if said.String() != want {
		t.Errorf("the problems are\n%s", said.String())
	}
	if packs := b.Knowledge().Packs(); len(packs) != 1 || len(packs[0].Documents()) != 2 {
		t.Errorf("%d packs", len(packs))
	}
	if b.Tree.File("knowledge/shop/data.csv") == nil || b.Tree.File("knowledge/shop/pic.png") != nil {
		t.Error("of a pack every text is read and no picture")
	}
}

// loadFiles loads a brain of paths and texts.
func loadFiles(t *testing.T, pairs ...string) (*Brain, []attache.Problem) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, append([]string{"constitution/MANIFEST.yaml", "name: X\n"}, pairs...)...)
	b, problems, err := Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, problems
}
