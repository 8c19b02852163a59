package contexts

import (
	"bytes"
	"encoding/json"
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

var update = flag.Bool("update", false, "write the last file of each archive of testdata anew")

// frame gives the defaults of decisions § 2.
func frame() Frame {
	return Frame{Chars: 3000, Keep: 3, TurnChars: 9000, MaxActive: 3, Timeout: 1500, Rows: 20, Views: 8, Features: map[attache.FeatureID]Feature{}}
}

// tree makes a tree of the files of an archive that stand in a folder.
func tree(files []txtar.File) *brainfile.Tree {
	var out []*brainfile.File
	for _, f := range files {
		if strings.Contains(f.Name, "/") {
			out = append(out, brainfile.New(f.Name, f.Data))
		}
	}
	return brainfile.Of(out...)
}

// library makes one of pairs of path and text, without mistakes.
func library(t testing.TB, f Frame, pairs ...string) *Library {
	t.Helper()
	var files []*brainfile.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, brainfile.New(pairs[i], []byte(pairs[i+1])))
	}
	l, problems := Read(brainfile.Of(files...), f)
	if len(problems) > 0 {
		t.Fatal(sentences(problems))
	}
	return l
}

func sentences(list []attache.Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintln(&b, p.Error())
	}
	return b.String()
}

// archives runs a test for each archive of a folder; got is compared with its last
// file. Run with -update to write that anew, and read the difference.
func archives(t *testing.T, folder string, least int, run func(t *testing.T, files []txtar.File) (got string)) {
	paths, err := filepath.Glob("testdata/" + folder + "/*.txtar")
	if err != nil || len(paths) < least {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := &a.Files[len(a.Files)-1]
			got := run(t, a.Files[:len(a.Files)-1])
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" || last.Name != "want" {
				t.Errorf("%s -want +got:\n%s", last.Name, diff)
			}
		})
	}
}

// A moment is a turn as an archive writes it, with what its needs are given.
type moment struct {
	Frame json.RawMessage // over the defaults
	Turn  Turn
	Given []struct {
		Need
		Given
	}
	Open [][2]string // names and keys that the agent opens in the turn
}

func read(t testing.TB, data []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// Each archive is the contexts of a brain and turn.json, the moments of it; want
// tells of each what was needed, the tail, the line of /context and what was
// refused, and of each open its answer.
//
// row B1
// row G3
// row G4
// row G5
func TestTurns(t *testing.T) {
	archives(t, "turns", 15, func(t *testing.T, files []txtar.File) string {
		var out strings.Builder
		for _, f := range files {
			if f.Name != "turn.json" {
				continue
			}
			var m moment
			read(t, f.Data, &m)
			fr := frame()
			if m.Frame != nil {
				read(t, m.Frame, &fr)
			}
			l, problems := Read(tree(files), fr)
			out.WriteString(sentences(problems))
			given := map[Need]Given{}
			for _, g := range m.Given {
				given[g.Need] = g.Given
			}
			out.WriteString(tell(t, l.Choose(m.Turn), given, fr))
			for _, call := range m.Open {
				fmt.Fprintf(&out, "## context_open(%q, %q)\n", call[0], call[1])
				if c, refused := l.Open(m.Turn, call[0], call[1]); refused != "" {
					fmt.Fprintln(&out, refused)
				} else {
					out.WriteString(tell(t, c, given, fr))
				}
			}
		}
		return out.String()
	})
}

// tell writes everything that a choice came to.
func tell(t *testing.T, c Choice, given map[Need]Given, f Frame) string {
	var b strings.Builder
	needs := c.Needs()
	for _, n := range needs {
		fmt.Fprintln(&b, "needs "+strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", n.View, n.Document, n.Code, n.By, n.Key)), " "))
	}
	tail := c.Render(given)
	wellFormed(t, string(tail.Bytes))
	if len(tail.Bytes) > 0 {
		fmt.Fprintln(&b, string(tail.Bytes))
	}
	fmt.Fprintln(&b, Line(tail.Manifest))
	for _, m := range tail.Manifest {
		for _, made := range m.Links[1:] {
			fmt.Fprintf(&b, "also %s by %s: %s\n", attache.ReachEntry{Context: m.Context, Key: m.Key}, made.Link, made.Why)
		}
		for _, cut := range m.Cut {
			fmt.Fprintf(&b, "cut of %s: %s\n", m.Context, cut)
		}
	}
	for _, r := range c.Refused {
		fmt.Fprintf(&b, "refused %s by %s (%s): %s\n", r.Entry, r.Link, r.Why, r.Reason)
	}
	for _, h := range c.Holds() {
		fmt.Fprintf(&b, "holds %s by %s\n", h.Entry(), h.Link)
	}
	return b.String()
}

// Each archive is a small brain and every sentence that it earns.
//
// row A4
// row G6
func TestMistakes(t *testing.T) {
	archives(t, "mistakes", 10, func(t *testing.T, files []txtar.File) string {
		_, problems := Read(tree(files), frame())
		if len(problems) == 0 {
			t.Error("there is no mistake in it")
		}
		return sentences(problems)
	})
}
