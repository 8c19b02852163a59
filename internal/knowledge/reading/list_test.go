package reading

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/paths"
)

// world draws a small workspace in which everything points everywhere.
func world(t *rapid.T) fstest.MapFS {
	names := []string{"a", "b", "c", "d", "sub/e", "sub/f", "old/g"}
	ref := rapid.Map(rapid.SampledFrom(append(slices.Clone(names), "gone", "../out", "/etc/passwd", "sub/../b")), func(s string) string {
		return fmt.Sprintf("%q", s+".md")
	})
	files := fstest.MapFS{"ods.toml": {Data: []byte("spec = \"0.1\"\nignore = [\"old\"]\n")}, "x.csv": {Data: []byte("x,y\n")}, "pic": {Data: []byte{0xff}}}
	for _, name := range names {
		list := func(label string, n int) string {
			return "[" + strings.Join(rapid.SliceOfN(ref, 0, n).Draw(t, name+label), ", ") + "]"
		}
		text := fmt.Sprintf("---\nods:\n  share: %s\n  depends: %s\n  related: %s\n  context: { load: [x.csv, pic, b.md], ignore: %s }\n---\n%s\n",
			rapid.SampledFrom([]string{"public", "public", "org", "private"}).Draw(t, name+"share"), list("depends", 4), list("related", 2),
			rapid.SampledFrom([]string{"[]", "[sub]", "[d]"}).Draw(t, name+"ignore"),
			strings.Repeat("word ", rapid.IntRange(0, 30).Draw(t, name+"words")))
		files[name+".md"] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// Whatever the workspace: a list is within its limit, holds nothing twice, nothing
// private and nothing from outside, has what is needed first standing first unless
// depends goes round, ends with its entry, and is the same to the byte each time.
//
// row K3
// row K4
// row K5
func TestListsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := world(t)
		w := ods.Read(files, false)
		o := Options{MaxTokens: rapid.IntRange(0, 80).Draw(t, "tokens"), WithRelated: rapid.Bool().Draw(t, "related"), WithCode: true}
		if rapid.Bool().Draw(t, "bounded") {
			depth := rapid.IntRange(0, 5).Draw(t, "depth")
			o.MaxDepth = &depth
		}
		entry := rapid.SampledFrom([]string{"a", "b", "sub/e"}).Draw(t, "entry")
		list, err := Find(w, entry, o)
		if err != nil {
			d, _ := w.Find(entry)
			if ruled := paths.Ignored(rulesOf(w, d), d.Path) != ""; !d.Private && !ruled && (o.MaxTokens == 0 || tokensOf(d.File) <= o.MaxTokens) {
				t.Fatalf("no list: %v", err)
			}
			return
		}
		at, sum := map[string]int{}, 0
		for i, item := range list.Items {
			if _, twice := at[item.Path]; twice {
				t.Fatalf("%s is there twice", item.Path)
			}
			at[item.Path] = i
			sum += item.Tokens
			raw, known := files[item.Path]
			if !known || !bytes.HasSuffix(raw.Data, []byte(item.Text)) {
				t.Fatalf("%s is not what stands there", item.Path)
			}
			if item.Tokens != count(item.Text) {
				t.Fatalf("%s has %d tokens, not %d", item.Path, count(item.Text), item.Tokens)
			}
			if strings.Contains(string(raw.Data), "share: private") || strings.HasPrefix(item.Path, "old/") {
				t.Fatalf("%s is for nobody", item.Path)
			}
		}
		if sum != list.Total || o.MaxTokens > 0 && sum > o.MaxTokens {
			t.Fatalf("%d tokens, said to be %d, of %d", sum, list.Total, o.MaxTokens)
		}
		if last := list.Items[len(list.Items)-1]; last.Path != entry+".md" || last.Why != whyTarget {
			t.Fatalf("the last is %s (%s)", last.Path, last.Why)
		}
		if len(list.Warnings) == 0 {
			for _, item := range list.Items {
				if item.Why != whyDepends {
					continue
				}
				for _, d := range w.Depends(w.At(item.Path)) {
					if i, in := at[d.Path]; in && i > at[item.Path] && list.Items[i].Why != whyLoad {
						t.Fatalf("%s stands after %s, which needs it", d.Path, item.Path)
					}
				}
			}
		}
		for _, left := range list.Left {
			if i, in := at[left.Path]; in {
				t.Fatalf("%s is in at %d and left out (%s)", left.Path, i, left.Why)
			}
		}
		again, err := Find(ods.Read(maps.Clone(files), false), entry, o)
		if err != nil || again.String() != list.String() {
			t.Fatalf("another time it is\n%s\nand not\n%s%v", again, list, err)
		}
		one, _ := json.Marshal(list)
		two, _ := json.Marshal(again)
		if !bytes.Equal(one, two) {
			t.Fatalf("%s\n%s", one, two)
		}
	})
}

// Everything that a list of the entry names is in it or is said not to be.
//
// row K5
func TestNothingIsLeftOutSilently(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := ods.Read(world(t), false)
		list, err := Find(w, "a", Options{MaxTokens: rapid.IntRange(0, 80).Draw(t, "tokens"), WithRelated: true})
		if err != nil {
			return
		}
		said := map[string]bool{}
		for _, i := range list.Items {
			said[i.Path] = true
		}
		for _, l := range list.Left {
			said[l.Path] = true
		}
		a := w.At("a.md")
		for _, ref := range slices.Concat(a.Names.Depends, a.Names.Related, a.Names.Load) {
			path := ref.Text
			if d, _ := w.Resolve(a, ref.Text); d != nil {
				path = d.Path
			}
			if !said[path] {
				t.Fatalf("nothing is said of %s (%s)", ref.Text, path)
			}
		}
	})
}
