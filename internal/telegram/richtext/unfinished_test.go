package richtext

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"attache"

	"pgregory.net/rapid"
)

func draftOf(markdown string, format attache.Format) (attache.Part, bool) {
	return Draft(attache.Outgoing{Place: attache.Place{Bot: "nova", Chat: 5}, Markdown: markdown, Format: format}, 7)
}

// What an answer that may stop at any byte is shown as.
func TestSettle(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"whole", "All **done**.", "All **done**."},
		{"bold", "All **do", "All **do**"},
		{"bold with a space", "All **do ", "All **do**"},
		{"bold over a line", "All **do\nne", "All **do\nne**"},
		{"bold at the end of a line", "All **do\n", "All **do**"},
		{"bold not begun", "All **", "All "},
		{"bold half begun", "All *", "All "},
		{"bold half closed", "All **done*", "All **done**"},
		{"bold and italic", "a **b *c", "a **b *c***"},
		{"bold and italic half closed", "a **b *c**", "a **b *c***"},
		{"both at once", "***c** d", "***c** d***"},
		{"closed together", "**b *c*** d", "**b *c*** d"},
		{"no emphasis", "2*3 is 6", "2*3 is 6"},
		{"no emphasis either", "my_long_name is", "my_long_name is"},
		{"spaced stars", "2 * 3 is 6", "2 * 3 is 6"},
		{"struck", "~~ol", "~~ol~~"},
		{"spoiler", "It was ||the but", "It was ||the but||"},
		{"spoiler half closed", "It was ||the butler|", "It was ||the butler||"},
		{"or", "if a||b then", "if a||b then"},
		{"code", "call `f(a*b", "call `f(a*b`"},
		{"code not begun", "call `", "call "},
		{"code half closed", "a ``b`", "a ``b``"},
		{"code in bold", "**call `f", "**call `f`**"},
		{"stars in code", "`a**b` c", "`a**b` c"},
		{"escape", `1 \* 2 \`, `1 \* 2 `},
		{"label", "see [the do", "see the do"},
		{"label closed", "see [the docs](", "see the docs"},
		{"address", "see [the docs](https://ex", "see the docs"},
		{"link", "see [the docs](https://example.org)", "see [the docs](https://example.org)"},
		{"bold label", "see **[the docs](https://ex", "see **the docs**"},
		{"picture", "see ![a cat](https://ex", "see a cat"},
		{"index", "a[3", "a[3"},
		{"footnote", "so [1] it is", "so [1] it is"},
		{"bullet", "Two:\n\n- ", "Two:\n\n"},
		{"number", "Two:\n\n1.", "Two:\n\n"},
		{"number alone", "The answer is 42", "The answer is 42"},
		{"task", "- [ ", ""},
		{"item", "- **a", "- **a**"},
		{"item after an open one", "- **a\n- b", "- **a\n- b"},
		{"heading", "Two\n\n##", "Two\n\n"},
		{"heading begun", "## Two **w", "## Two **w**"},
		{"underline", "Two\n--", "Two\n"},
		{"quote", "> ", ""},
		{"table head", "So:\n\n| a | b", "So:\n"},
		{"table head whole", "So:\n\n| a | b |\n", "So:\n"},
		{"table dashes", "So:\n\n| a | b |\n|--", "So:\n"},
		{"table", "| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n"},
		{"table row", "| a | b |\n|---|---|\n| **1", "| a | b |\n|---|---|\n| **1**"},
		{"spoiler alone", "||the but", "||the but||"},
		{"fence", "So:\n\n```go\nx := 1", "So:\n\n```go\nx := 1\n```"},
		{"fence half begun", "So:\n\n``", "So:\n\n"},
		{"fence without code", "So:\n\n```g", "So:\n"},
		{"fence half closed", "```go\nx := 1\n``", "```go\nx := 1\n```"},
		{"fence closed", "```go\nx := 1\n```", "```go\nx := 1\n```"},
		{"after a fence", "```\n| x\n```\n**b", "```\n| x\n```\n**b**"},
		{"fence in fence", "````md\n```go\nx", "````md\n```go\nx\n````"},
		{"waves", "~~~\na `b", "~~~\na `b\n~~~"},
		{"fence in an item", "- ```go\n  x := **1", "- ```go\n  x := **1\n  ```"},
		{"fence in a quote", "> ```\n> x", "> ```\n> x\n> ```"},
		{"no fence", "```x``` is **c", "```x``` is **c**"},
		{"half a character", "caf\uFFFD", "caf"},
		{"nothing", "", ""},
	} {
		if got := settle(test.src); got != test.want {
			t.Errorf("%s: %q is settled as %q, want %q", test.name, test.src, got, test.want)
		}
	}
}

// A draft takes the form of the post that will replace it, and is one message.
//
// row L7
func TestDraftTakesTheFormOfThePost(t *testing.T) {
	long := strings.Repeat("All is well. ", 400)
	for name, test := range map[string]struct {
		markdown string
		format   attache.Format
		method   string
		params   string // that they hold
	}{
		"text":           {"It **wor", attache.FormatAuto, "sendMessageDraft", `{"chat_id":5,"text":"It wor","entities":[{"type":"bold","offset":3,"length":3}],"draft_id":7,"can_stop":true,"keep_on_stop":true}`},
		"heading":        {"# News\n\nIt **wor", attache.FormatAuto, "sendRichMessageDraft", `{"chat_id":5,"rich_message":{"markdown":"# News\n\nIt **wor**"},"draft_id":7,"can_stop":true,"keep_on_stop":true}`},
		"asked for rich": {"It **wor", attache.FormatRich, "sendRichMessageDraft", `"markdown":"It **wor**"`},
		"asked for text": {"# News\n\nIt", attache.FormatEntities, "sendMessageDraft", `"text":"News\n\nIt"`},
		"long":           {long, attache.FormatAuto, "sendRichMessageDraft", `All is well`},
		"long as text":   {long + "The end", attache.FormatEntities, "sendMessageDraft", `The end"`},
		"endless":        {strings.Repeat(long, 10) + "The end", attache.FormatAuto, "sendMessageDraft", `The end"`},
		"costly":         {strings.Repeat("*a_", 30000) + "The end", attache.FormatAuto, "sendMessageDraft", `The end"`},
	} {
		part, ok := draftOf(test.markdown, test.format)
		if !ok || part.Method != test.method || !strings.Contains(string(part.Params), test.params) {
			t.Errorf("%s: %v %s %.300s", name, ok, part.Method, part.Params)
		}
		whole := Compose(attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: test.markdown, Format: test.format})
		if last := whole[len(whole)-1]; last.Method+"Draft" != part.Method || last.Format != part.Format {
			t.Errorf("%s: the post is a %s, the draft a %s", name, last.Method, part.Method)
		}
	}
}

func TestDraftLeavesOut(t *testing.T) {
	o := attache.Outgoing{
		Place: attache.Place{Bot: "nova", Chat: 5, Thread: 1}, Markdown: "Hi", ReplyTo: 9, Buttons: [][]attache.Button{{{Text: "x", Data: "y"}}},
	}
	part, ok := Draft(o, 7)
	if want := `{"chat_id":5,"text":"Hi","draft_id":7,"can_stop":true,"keep_on_stop":true}`; !ok || string(part.Params) != want {
		t.Errorf("%v %s", ok, part.Params)
	}
	o.Place.Thread = 42
	if part, _ := Draft(o, 7); !strings.Contains(string(part.Params), `"message_thread_id":42`) {
		t.Errorf("the topic is lost: %s", part.Params)
	}
	if _, ok := Draft(o, 0); ok {
		t.Error("a draft without a number was made")
	}
	for _, empty := range []string{"", " \n", "- ", "```", "**"} {
		if part, ok := draftOf(empty, attache.FormatAuto); ok {
			t.Errorf("%q is shown as %s", empty, part.Params)
		}
	}
	o.Place.Chat = -1001
	if _, ok := Draft(o, 7); ok {
		t.Error("a group got a draft")
	}
}

// checkDraft holds what Telegram asks of every draft.
func checkDraft(t failer, src string, format attache.Format) {
	part, ok := draftOf(src, format)
	if !ok {
		return
	}
	var f frame
	if err := json.Unmarshal(part.Params, &f); err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	switch {
	case f.DraftID != 7 || !f.CanStop || !utf8.Valid(part.Params):
		t.Fatalf("%q: %s", src, part.Params)
	case f.RichMessage != nil:
		if n := attache.UTF16Len(f.RichMessage.Markdown); n > maxRichUnits || part.Method != "sendRichMessageDraft" {
			t.Fatalf("%q: %d units by %s", src, n, part.Method)
		}
	default:
		if n := attache.UTF16Len(f.Text); n == 0 || n > maxUnits || len(f.Entities) > maxMarks || part.Method != "sendMessageDraft" {
			t.Fatalf("%q: %d units by %s", src, n, part.Method)
		}
		for _, e := range f.Entities {
			if _, ok := attache.UTF16Slice(f.Text, e.Offset, e.Length); !ok || e.Length == 0 {
				t.Fatalf("%q: %v lies outside of %q", src, e, f.Text)
			}
		}
	}
}

// Every answer stops at every byte once.
func TestDraftTruths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := markdownGen().Draw(t, "markdown")
		at := rapid.IntRange(0, len(src)).Draw(t, "end")
		checkDraft(t, src[:at], rapid.SampledFrom([]attache.Format{attache.FormatAuto, attache.FormatRich, attache.FormatEntities}).Draw(t, "format"))
	})
}

// A growing answer never shows a sign that the whole answer hides.
func TestDraftOfAGrowingAnswer(t *testing.T) {
	const answer = "Here **is** what I *found* in `main.go`:\n\n1. The **first** thing, see [docs](https://example.org/a_b).\n2. ~~Second~~ __third__ ||secret||\n\n" +
		"```go\nx := 1\n```\n\nSo **all _is_ well**."
	whole := Compose(attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: answer, Format: attache.FormatEntities})
	for at := range len(answer) + 1 {
		part, _ := draftOf(answer[:at], attache.FormatEntities)
		if strings.ContainsAny(part.Text, "*_~|`[]") || !strings.HasPrefix(whole[0].Text, part.Text) {
			t.Errorf("%q is shown as %q", answer[:at], part.Text)
		}
	}
}

func TestDraftOfEveryBeginning(t *testing.T) {
	files, err := filepath.Glob("testdata/markdown/*.md")
	if err != nil || len(files) < 7 {
		t.Fatal("the golden files are not where they should be:", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := range len(src) + 1 {
			checkDraft(t, string(src[:at]), attache.FormatAuto)
		}
	}
}

func FuzzDraft(f *testing.F) {
	for _, src := range hostile() {
		f.Add(src[:min(len(src), 2000)])
	}
	f.Add("| a |\n|-|\n| **`[")
	f.Fuzz(func(t *testing.T, src string) { checkDraft(t, src, attache.FormatAuto) })
}

func BenchmarkDraft(b *testing.B) {
	src, err := os.ReadFile("testdata/markdown/blocks.md")
	if err != nil {
		b.Fatal(err)
	}
	answer := strings.Repeat(string(src)+"\n\n", 8)
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		if _, ok := draftOf(answer, attache.FormatAuto); !ok {
			b.Fatal("no draft")
		}
	}
}

// A model that repeats a sign for ever costs its draft what any long text does: each look
// at it is one walk along the text.
func TestDraftOfTheSameForEver(t *testing.T) {
	for _, piece := range []string{"x", ".", "[", "(", "<", "&", `\`, "*", "`", "_a", "> "} {
		began := time.Now()
		Draft(attache.Outgoing{Place: attache.Place{Bot: "nova", Chat: 5}, Format: attache.FormatAuto, Markdown: strings.Repeat(piece, 500_000)}, 1)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q takes %s", piece, took)
		}
	}
}
