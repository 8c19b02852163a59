package access

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/brainfile"
)

var update = flag.Bool("update", false, "write the sentences of testdata/mistakes anew")

// roles are those that the files of these tests may name.
func roles() map[attache.RoleID]Role {
	return map[attache.RoleID]Role{
		"nova": {}, "guest": {}, "client-desk": {}, "support": {},
		"ghost":  {Why: "the role ghost is of the feature old, which is switched off"},
		"broken": {Why: "the role broken does not load", Said: true},
	}
}

func file(text string) *brainfile.File {
	return brainfile.New("constitution/access.yaml", []byte(text))
}

func sentences(list []attache.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintln(&b, p.Error())
	}
	return b.String()
}

// verdicts tells in one line each what became of every rule and binding.
func verdicts(p *Policy, usable bool) string {
	if !usable {
		return "not usable\n"
	}
	var b strings.Builder
	for _, r := range p.Rulings() {
		state := "holds"
		if r.Silenced {
			state = "silenced"
		}
		fmt.Fprintf(&b, "line %d %s\n", r.Line, state)
	}
	for _, chat := range []attache.ChatID{-1, -2} {
		for _, thread := range []attache.ThreadID{0, 42} {
			for _, x := range p.Bindings(chat, thread) {
				key := "none"
				if x.Keyed {
					key = string(x.Key)
				}
				fmt.Fprintf(&b, "%d/%d %s pinned to %s, attached for %v\n", chat, thread, x.Context, key, x.Bots)
			}
		}
	}
	return b.String()
}

// Each archive holds an access.yaml, the sentences that it earns and what it comes
// to: which rules hold and what is pinned. Run with -update to write these anew,
// and read the difference.
//
// row D2
func TestMistakes(t *testing.T) {
	paths, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d archives of mistakes, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil || len(a.Files) != 3 {
				t.Fatal("an archive holds a file, its sentences and what it comes to", err)
			}
			p, problems, usable := Read(file(string(a.Files[0].Data)), roles())
			got := []string{sentences(problems), verdicts(p, usable)}
			for i := range got {
				if *update {
					a.Files[i+1].Data = []byte(got[i])
				}
				if diff := cmp.Diff(string(a.Files[i+1].Data), got[i]); diff != "" {
					t.Error(diff)
				}
			}
			if len(problems) == 0 {
				t.Error("nothing is wrong with it")
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
