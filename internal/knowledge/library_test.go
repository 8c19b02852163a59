package knowledge

import (
	"strings"
	"testing"

	"attache/internal/brainfile"
	"attache/internal/knowledge/reading"
)

func packs(t *testing.T, files ...string) *Library {
	t.Helper()
	var all []*brainfile.File
	folders := map[string]bool{}
	for i := 0; i < len(files); i += 2 {
		all = append(all, brainfile.New(files[i], []byte(files[i+1])))
		parts := strings.Split(files[i], "/")
		n := 2
		if parts[0] == "packages" {
			n = 5
		}
		folders[strings.Join(parts[:n], "/")] = true
	}
	var list []string
	for folder := range folders {
		list = append(list, folder)
	}
	return NewLibrary(brainfile.Of(all...), list)
}

// row K1
func TestFindInPacks(t *testing.T) {
	l := packs(t,
		"knowledge/Shop/returns.md", "# R\n", "knowledge/Shop/sub/late-fees.md", "---\nods: { id: fees }\n---\n", "knowledge/house/returns.md", "",
		"packages/acme/kit/knowledge/docs/setup.md", "# S\n", "knowledge/Shop/secret.md", "---\nods: { share: private }\n---\n")
	for name, want := range map[string]string{
		"shop/returns": "Shop/returns.md", "Shop/Returns": "Shop/returns.md", "shop/fees": "Shop/sub/late-fees.md", "fees": "Shop/sub/late-fees.md",
		"Shop/sub/late-fees.md": "Shop/sub/late-fees.md", "lib.shop.sub.late_fees": "Shop/sub/late-fees.md", "lib.house.returns": "house/returns.md",
		"acme/kit/docs/setup": "acme/kit/docs/setup.md", "pkg.acme.kit.knowledge.docs.setup": "acme/kit/docs/setup.md", "setup": "acme/kit/docs/setup.md",
		"returns":      `"returns" means Shop/returns.md or house/returns.md; write <pack>/<id>`,
		"shop/retruns": `there is no document "shop/retruns" in the knowledge; did you mean shop/returns?`,
		"":             `there is no document "" in the knowledge; the right ones are acme/kit/docs/setup, house/returns, shop/fees, shop/returns`,
	} {
		s, d, err := l.Find(name)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = s.Name + "/" + d.Path
		}
		if got != want {
			t.Errorf("%q gives %s, want %s", name, got, want)
		}
	}
	if list, err := l.ReadingList("shop/secret", reading.Options{Privileged: true}); err == nil {
		t.Errorf("a private document is given:\n%s", list)
	}
}

// row K6
func TestSearch(t *testing.T) {
	l := packs(t,
		"knowledge/a/returns.md", "---\ndescription: Bring it back.\n---\n# Returns\n\nWithin thirty days.\n",
		"knowledge/a/days.md", "# Days\n\nA day. A day. A returned day. Days, days, days, thirty days.\n",
		"knowledge/a/secret.md", "---\nods: { share: private }\n---\n# Returns\n",
		"knowledge/a/broken.md", "---\nods: [\n---\n# Returns\n",
		"knowledge/b/cjk.md", "# 退货\n\n三十天内可以退货。\n")
	for query, want := range map[string]string{
		"returns":           "a/returns",
		"RETURN":            "a/returns a/days",
		"thirty returns":    "a/returns a/days",
		"days":              "a/days a/returns",
		"back":              "a/returns",
		"货":                 "b/cjk",
		"nothing like this": "",
		" - ":               "",
	} {
		var got []string
		hits, _ := l.Search(query, "", 10)
		for _, h := range hits {
			got = append(got, h.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
	}
	if h, more := l.Search("thirty", "A", 10); len(h) != 2 || more != 0 || h[1].Line != "Within thirty days." {
		t.Errorf("%+v", h)
	}
	if h, more := l.Search("thirty", "", 1); len(h) != 1 || more != 1 {
		t.Errorf("%+v and %d more", h, more)
	}
	if h, _ := l.Search("thirty", "b", 10); len(h) != 0 {
		t.Errorf("%+v", h)
	}
}
