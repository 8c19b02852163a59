package richtext

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"attache"

	"github.com/google/go-cmp/cmp"
)

// update is read by the golden tests: go test -update rewrites what they expect.
var update = flag.Bool("update", false, "rewrite golden files")

// show writes a text and its marks for people.
func show(t styled) string {
	var b strings.Builder
	b.WriteString(t.text + "\n--\n")
	for _, m := range t.marks() {
		of, ok := attache.UTF16Slice(t.text, m.Offset, m.Length)
		if !ok {
			of = "NOT IN THE TEXT"
		}
		fmt.Fprintf(&b, "%s %d+%d %q", m.Kind, m.Offset, m.Length, of)
		if m.URL+m.Language != "" {
			fmt.Fprintf(&b, " %s", m.URL+m.Language)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestMarkdownGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/markdown/*.md")
	if err != nil || len(files) < 7 {
		t.Fatal("the golden files are not where they should be:", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc := parse(normalise(string(src)))
			checkMarks(t, doc.text)
			golden := strings.TrimSuffix(file, ".md") + ".golden"
			got := show(doc.text)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// failer is what the checks need of a test, a fuzz target or rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkMarks holds the rules of a text with marks: in the text, on borders of
// characters, in the order of opening, nested or apart, one quote deep, and with
// code, pre and links as Telegram has them: none in another, no style in code.
func checkMarks(t failer, s styled) {
	t.Helper()
	styles := []string{"bold", "italic", "strikethrough", "spoiler"}
	marks := s.marks()
	for i, m := range marks {
		if _, ok := attache.UTF16Slice(s.text, m.Offset, m.Length); !ok || m.Length == 0 {
			t.Fatalf("mark %+v is not in the text %q", m, s.text)
		}
		for _, in := range marks[i+1:] {
			if in.Offset < m.Offset {
				t.Fatalf("marks out of order: %+v before %+v", m, in)
			}
			end := m.Offset + m.Length
			if in.Offset >= end {
				continue
			}
			if in.Offset+in.Length > end {
				t.Fatalf("marks cross: %+v and %+v", m, in)
			}
			leaf := m.Kind == "code" || m.Kind == "pre"
			both := slices.Contains([]string{"code", "pre", "text_link"}, in.Kind)
			switch {
			case leaf, m.Kind == in.Kind, m.Kind == "text_link" && both,
				slices.Contains(styles, m.Kind) && (in.Kind == "code" || in.Kind == "pre" || in.Kind == "blockquote"):
				t.Fatalf("%s may not hold %s: %+v, %+v in %q", m.Kind, in.Kind, m, in, s.text)
			}
		}
	}
}

func TestMarkdownTraps(t *testing.T) {
	tests := map[string]struct{ src, text, marks string }{
		// hermes-agent and others, design/traps.md "Splitting and formatting".
		"bold italic":       {"***x***", "x", "italic 0+1, bold 0+1"},
		"bold in heading":   {"# **T**", "T", "bold 0+1"},
		"URL underscores":   {"see https://a.b/c_d_e_f", "see https://a.b/c_d_e_f", ""},
		"emoji offsets":     {"😀😀 **b**", "😀😀 b", "bold 5+1"},
		"crossing markup":   {"**a *b** c*", "a b c", "italic 0+5"},
		"unclosed":          {"**a", "**a", ""},
		"escaped":           {`\*a\* \_b\_`, "*a* _b_", ""},
		"escaped ampersand": {`\&amp; &amp;`, "&amp; &", ""},
		"no control":        {"a\x00b\x1bc\r\nd &#27;&#13;e", "a b c\nd  \ne", ""},
		"invalid UTF-8":     {"a\xffb", "a\uFFFDb", ""},
		"definitions only":  {"[a]: https://x.io", "[a]: https://x.io", ""},
		"code in bold":      {"**a `b` c**", "a b c", "bold 0+2, code 2+1, bold 3+2"},
		"tabs in code":      {"```\na\tb\n```", "a    b", "pre 0+6"},
		"operator":          {"a||b||c", "a||b||c", ""},
		"spoiler":           {"||a *b*||", "a b", "spoiler 0+3, italic 2+1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			doc := parse(normalise(test.src))
			checkMarks(t, doc.text)
			var marks []string
			for _, m := range doc.text.marks() {
				marks = append(marks, fmt.Sprintf("%s %d+%d", m.Kind, m.Offset, m.Length))
			}
			if got := strings.Join(marks, ", "); doc.text.text != test.text || got != test.marks {
				t.Errorf("got %q with %s", doc.text.text, got)
			}
		})
	}
}

// hostile gives texts that are far more work than they look.
func hostile() map[string]string {
	texts := map[string]string{
		"deep list": func() string {
			var b strings.Builder
			for i := range 300 {
				b.WriteString(strings.Repeat("  ", i) + "- a\n")
			}
			return b.String()
		}(),
		"table":        strings.Repeat("|a", 1000) + "|\n" + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("|\n", 30000),
		"long cell":    "|a|\n|-|\n|" + strings.Repeat("x", 30000) + "|\n" + strings.Repeat("|b|\n", 1000),
		"code in bold": "**" + strings.Repeat("`a` ", 15000) + "**",
		"accents":      "a" + strings.Repeat("\u0301", 60000),
		"flags":        strings.Repeat("🇩", 20000),
		"spaces":       "a" + strings.Repeat(" ", 100000) + "b",
		"blank code":   "```\na" + strings.Repeat("\n", 100000) + "b\n```",
		"quotes":       strings.Repeat(strings.Repeat("> ", 20)+"a\n", 1000),
		"many quotes":  strings.Repeat(strings.Repeat(">", 38)+"a\n", 1000),
		"big":          strings.Repeat("word ", 1<<20),
	}
	for _, p := range []string{"*a_", "*a ", "[", "![", "[a](", "[a](b", "<", "`", "``a", "~~a", "&#35;", "| ", "|a\n", "> ", "- ",
		"* a\n", "1. ", "http://a", "[a]: b\n", "[a][b]", "<!--", "\n", "*_", "**a*", "*[", "[*a](b) ", "||a", "a||", "||", "\\", "<a ", "😀"} {
		texts[p] = strings.Repeat(p, 60000/len(p))
		texts[p+" in paragraphs"] = strings.Repeat(strings.Repeat(p, 2000/len(p))+"\n\n", 30)
	}
	return texts
}

// A model, or a person who talks it into it, must not be able to stop the gateway
// with a text. The bound is wide, for a busy machine and the race detector: the
// worst of these takes minutes or gigabytes without the guard, and seconds at
// 60 kB of the usual kind.
func TestHostileMarkdownIsBounded(t *testing.T) {
	for name, src := range hostile() {
		began := time.Now()
		parts := Compose(attache.Outgoing{Place: attache.Place{Chat: 1}, Markdown: src, Format: attache.FormatEntities})
		took := time.Since(began)
		if took > 1500*time.Millisecond {
			t.Errorf("%q took %v", name, took)
		}
		if took > 60*time.Millisecond {
			t.Logf("%q took %v for %d parts", name, took, len(parts))
		}
	}
}
