package brainfile

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
)

// A sample has one field of each kind that a brain's files use.
type sample struct {
	Lines
	Name   string            `yaml:"name,required"`
	Role   attache.RoleID    `yaml:"role"`
	Chars  int               `yaml:"chars" min:"1"`
	Keep   *int              `yaml:"keep"`
	Price  float64           `yaml:"price"`
	On     bool              `yaml:"on"`
	Format string            `yaml:"format" oneof:"auto,rich,entities"`
	When   Words             `yaml:"when" oneof:"run,chat,reply,ask,always"`
	Merge  time.Duration     `yaml:"merge"`
	List   []string          `yaml:"list"`
	Table  map[string]string `yaml:"table"`
	Deep   struct {
		Idle *time.Duration `yaml:"idle" min:"1s"`
	} `yaml:"deep"`
	Free any  `yaml:"free"`
	Raw  Node `yaml:"raw"`
}

func TestDecodeTakesValuesAsWritten(t *testing.T) {
	f := New("x.md", []byte("\ufeff---\r\n"+strings.ReplaceAll(`name: 010
role: 2026-01-01
chars: 3000
keep: 0
price: 0.25
on: true
format: rich
when: run
merge: 1d12h
list: [yes, 1_000, null text, "~"]
table: { a: 1e3, b: 0x1F }
deep: { idle: 90m }
free: { n: 7, f: 1.5, s: 010, l: [true, ~, "5"] }
raw: anything
`, "\n", "\r\n")+"--- \r\n\r\nbody\r\n"))
	front, wrong := f.Frontmatter()
	got := sample{}
	if wrong = append(wrong, front.Head.Decode(&got)...); len(wrong) > 0 {
		t.Fatal(archivetest.Sentences(wrong))
	}
	keep, idle := 0, 90*time.Minute
	want := sample{Name: "010", Role: "2026-01-01", Chars: 3000, Keep: &keep, Price: 0.25, On: true, Format: "rich",
		When: Words{{"run", 9, 7}}, Merge: 36 * time.Hour, List: []string{"yes", "1_000", "null text", "~"},
		Table: map[string]string{"a": "1e3", "b": "0x1F"},
		Free:  map[string]any{"n": int64(7), "f": 1.5, "s": "010", "l": []any{true, nil, "5"}}}
	want.Deep.Idle = &idle
	if raw, ok := got.Raw.Text(); !ok || raw != (Word{"anything", 15, 6}) {
		t.Errorf("the raw node gives %v", raw)
	}
	if got.Lines["name"] != 2 || got.Lines["raw"] != 15 || len(got.Lines) != 14 {
		t.Errorf("lines of the keys: %v", got.Lines)
	}
	got.Raw, got.Lines = Node{}, nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Node{})); diff != "" {
		t.Error(diff)
	}
	if front.Body != "\nbody\n" || front.BodyLine != 17 {
		t.Errorf("body %q begins on line %d", front.Body, front.BodyLine)
	}
}

func TestDecodeKeepsDefaultsOfWhatIsNotGiven(t *testing.T) {
	got := sample{Chars: 3000, Merge: time.Second}
	node, _ := New("x.yaml", []byte("name: a\n")).YAML()
	if wrong := node.Decode(&got); len(wrong) > 0 || got.Chars != 3000 || got.Merge != time.Second || got.Keep != nil {
		t.Errorf("%+v, %s", got, archivetest.Sentences(wrong))
	}
}

// Each archive holds a file and, below it, the exact sentences that it earns.
// Run with -update to write them anew, and read the difference.
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 20, 1, func(t *testing.T, in []txtar.File) []string {
		f := New(in[0].Name, in[0].Data)
		var node Node
		var wrong []attache.Problem
		if strings.HasSuffix(f.Path, ".yaml") {
			node, wrong = f.YAML()
		} else {
			var front Front
			front, wrong = f.Frontmatter()
			node = front.Head
		}
		if len(wrong) == 0 {
			wrong = node.Decode(&sample{})
		}
		return []string{archivetest.Sentences(wrong)}
	})
}

// The advice says the whole step: which words a missing key takes, or what its owner
// says of it; and of one text that stands where keys belong, how it is written rightly
// when there is only one key that it can be the value of.
func TestAdviceSaysTheWholeStep(t *testing.T) {
	type form struct {
		Place struct {
			Bot  string `yaml:"bot"`
			Chat string `yaml:"chat,required" do:"add chat: <address>"`
		} `yaml:"place"`
		Servers map[string]struct {
			Command []string `yaml:"command,required"`
		} `yaml:"servers"`
		Price struct {
			In  float64 `yaml:"in,required"`
			Out float64 `yaml:"out,required"`
		} `yaml:"price"`
		Tool struct {
			Risk string `yaml:"risk,required" oneof:"safe,moderate,dangerous"`
		} `yaml:"tool"`
	}
	for text, want := range map[string]string{
		"place: tg:chat:-1001\n":                   `x.yaml:1:8: place must be keys with values, not "tg:chat:-1001"; write it as place: { chat: "tg:chat:-1001" }`,
		"place: general\n":                         `x.yaml:1:8: place must be keys with values, not "general"; write it as place: { chat: general }`,
		"place: ''\n":                              `x.yaml:1:8: place must be keys with values, not ""; write it as key: value, one on a line`,
		"place: [a]\n":                             `x.yaml:1:8: place must be keys with values, not a list; write it as key: value, one on a line`,
		"place: { bot: nova }\n":                   `x.yaml:1:8: the key "chat" is missing; add chat: <address>`,
		"servers: { a: npx, \"b c\": 5 }\n":        `x.yaml:1:15: servers.a must be keys with values, not "npx"; write it as a: { command: [npx] }` + "\n" + `x.yaml:1:27: servers.b c must be keys with values, not "5"; write it as "b c": { command: ["5"] }`,
		"price: 5\n":                               `x.yaml:1:8: price must be keys with values, not "5"; write it as key: value, one on a line`,
		"tool: {}\n":                               `x.yaml:1:7: the key "risk" is missing; add risk: safe, moderate or dangerous`,
		"place: " + strings.Repeat("a", 41) + "\n": `x.yaml:1:8: place must be keys with values, not "` + strings.Repeat("a", 39) + `…"; write it as key: value, one on a line`,
	} {
		node, _ := New("x.yaml", []byte(text)).YAML()
		if got := archivetest.Sentences(node.Decode(&form{})); got != want+"\n" {
			t.Errorf("%sgives %swant  %s", text, got, want)
		}
	}
	place := form{}.Place
	node, _ := New("x.yaml", []byte("place: 5\n")).YAML()
	pairs, _ := node.Pairs()
	if got := archivetest.Sentences(pairs[0].Value.Decode(&place)); !strings.Contains(got, `write it as place: { chat: "5" }`) {
		t.Error(got)
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"latin1": {"name: a\nrole: caf\xe9\n", "x.yaml:2:10: the file is not UTF-8 text; save it as UTF-8\n"},
		"nul":    {"name: \x00\n", "x.yaml:1:7: the file is not UTF-8 text; save it as UTF-8\n"},
		"huge":   {strings.Repeat("a", maxBytes+1), "x.yaml:1:1: the file is larger than 1024 KiB; split it, or keep it outside the brain\n"},
	} {
		_, wrong := New("x.yaml", []byte(c.text)).YAML()
		_, also := New("x.yaml", []byte(c.text)).Frontmatter()
		if archivetest.Sentences(wrong) != c.want || archivetest.Sentences(also) != c.want {
			t.Errorf("%s: %s%s", name, archivetest.Sentences(wrong), archivetest.Sentences(also))
		}
	}
}

func TestAliasBombCostsNothing(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ","))
	}
	start := time.Now()
	_, wrong := New("x.yaml", []byte(bomb)).YAML()
	if len(wrong) == 0 || time.Since(start) > 2*time.Second {
		t.Errorf("%d problems after %s", len(wrong), time.Since(start))
	}
}

func TestNearest(t *testing.T) {
	names := []string{"when", "entity", "data", "chars", "keep", "description"}
	for word, want := range map[string]string{"whn": "when", "Entity": "entity", "descripton": "description", "chras": "chars", "zzz": "", "prompt": "", strings.Repeat("a", 1<<16): ""} {
		if got := Nearest(word, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}

// Whatever the bytes: no panic, each problem lies in the file, and a file without
// problems gives a body that stands in it.
func FuzzFrontmatter(f *testing.F) {
	paths, _ := filepath.Glob("testdata/mistakes/*.txtar")
	for _, path := range paths {
		if a, err := txtar.ParseFile(path); err == nil {
			f.Add(a.Files[0].Data)
		}
	}
	f.Add([]byte("---\nname: x\n---\nbody"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := New("x.md", text)
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 2
		front, wrong := file.Frontmatter()
		wrong = append(wrong, front.Head.Decode(&sample{})...)
		node, more := file.YAML()
		wrong = append(wrong, append(more, node.Decode(&sample{})...)...)
		for _, p := range wrong {
			if p.Line < 1 || p.Col < 1 || p.What == "" || p.Line > lines && !strings.ContainsAny(string(text), "\u0085\u2028\u2029") {
				t.Errorf("%+v in a text of %d lines", p, lines)
			}
		}
		if !strings.HasSuffix(file.Text, front.Body) {
			t.Errorf("body %q is no end of the file", front.Body)
		}
	})
}
