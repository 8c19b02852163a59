package richtext

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"attache"

	"pgregory.net/rapid"
)

func compose(markdown string, format attache.Format) []attache.Part {
	return Compose(attache.Outgoing{Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42}, Markdown: markdown, Format: format})
}

func TestComposeChoosesTheForm(t *testing.T) {
	long := strings.Repeat("A sentence of some words. ", 400)
	table := "|a|b|\n|-|-|\n|1|2|\n"
	wide := strings.Repeat("|a", 21) + "|\n" + strings.Repeat("|-", 21) + "|\n"
	deep := ""
	for i := range 18 {
		deep += strings.Repeat("  ", i) + "- a\n"
	}
	tests := map[string]struct {
		src    string
		format attache.Format
		want   string // the parts' forms
	}{
		"nothing":                {"", "auto", ""},
		"white space":            {" \n\t\u00a0\r\n ", "auto", ""},
		"plain words":            {"hello", "auto", "entities"},
		"no format named":        {"hello **you**", "", "entities"},
		"flat list, quote, code": {"- a\n- b\n\n> c\n\n```\nd\n```", "auto", "entities"},
		"table":                  {table, "auto", "rich"},
		"heading":                {"# a", "auto", "rich"},
		"nested list":            {"- a\n  - b", "auto", "rich"},
		"exactly one message":    {strings.Repeat("x", 4096), "auto", "entities"},
		"one unit too long":      {strings.Repeat("x", 4097), "auto", "rich"},
		"long":                   {long, "auto", "rich"},
		"many marks":             {strings.Repeat("*a* b ", 101), "auto", "rich"},
		"too long for rich":      {strings.Repeat("x y ", 8193), "auto", "entities entities entities entities entities entities entities entities entities"},
		"too many columns":       {wide, "auto", "entities"},
		"too many blocks":        {"# a\n\n" + strings.Repeat("b\n\n", 500), "auto", "entities"},
		"too deep":               {deep, "auto", "entities"},
		"rich wanted":            {"hello", "rich", "rich"},
		"entities wanted":        {table, "entities", "entities"},
		"entities, long":         {long, "entities", "entities entities entities"},
		"plain wanted":           {"**a** [b](https://x.io)", "plain", "plain"},
		"too costly":             {strings.Repeat("*a_", 6000), "auto", "plain plain plain plain plain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var forms []string
			for _, p := range compose(test.src, test.format) {
				forms = append(forms, string(p.Format))
				if method := map[bool]string{true: "sendRichMessage", false: "sendMessage"}[p.Format == "rich"]; p.Method != method {
					t.Errorf("%s goes out by %s", p.Format, p.Method)
				}
			}
			if got := strings.Join(forms, " "); got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestComposeParams(t *testing.T) {
	buttons := [][]attache.Button{
		{{Text: "Yes", Data: "y:1"}, {Text: "Site", URL: "https://x.io/?a=1&b=2"}},
		{{Text: "too long", Data: strings.Repeat("d", 65)}, {Text: "", Data: "x"}, {Text: "neither"}, {Text: "script", URL: "javascript:1"}},
	}
	tests := map[string]struct {
		o    attache.Outgoing
		want string
	}{
		"plainest": {attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: "a < b"},
			`{"chat_id":5,"text":"a < b"}`},
		"topic, reply, buttons": {attache.Outgoing{Place: attache.Place{Chat: -1001, Thread: 42}, Markdown: "**a**", ReplyTo: 9, Buttons: buttons},
			`{"chat_id":-1001,"message_thread_id":42,"text":"a","entities":[{"type":"bold","offset":0,"length":1}],` +
				`"reply_parameters":{"message_id":9,"allow_sending_without_reply":true},` +
				`"reply_markup":{"inline_keyboard":[[{"text":"Yes","callback_data":"y:1"},{"text":"Site","url":"https://x.io/?a=1&b=2"}]]}}`},
		"General": {attache.Outgoing{Place: attache.Place{Chat: -1001, Thread: 1}, Markdown: "a"},
			`{"chat_id":-1001,"text":"a"}`},
		"rich": {attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: "# a\r\n**b**", ReplyTo: 3},
			`{"chat_id":5,"rich_message":{"markdown":"# a\n**b**"},"reply_parameters":{"message_id":3,"allow_sending_without_reply":true}}`},
		"rich is inert": {attache.Outgoing{Place: attache.Place{Chat: 5}, Markdown: "# a\n![x](https://evil/?q=1) <img src=x> `<b>`\n\n<div>\n<p>\n</div>\n\n| <u> |\n|-|\n| ![][r] |\n\n[r]: https://evil\n"},
			`{"chat_id":5,"rich_message":{"markdown":"# a\n\\![x](https://evil/?q=1) \\<img src=x> ` + "`<b>`" + `\n\n\\<div>\n\\<p>\n\\</div>\n\n| \\<u> |\n|-|\n| \\![][r] |\n\n[r]: https://evil\n"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parts := Compose(test.o)
			if len(parts) != 1 || string(parts[0].Params) != test.want {
				t.Errorf("got %s", parts[0].Params)
			}
		})
	}
}

func TestComposeOnlyTheFirstRepliesAndTheLastHasButtons(t *testing.T) {
	parts := Compose(attache.Outgoing{
		Place: attache.Place{Chat: -1001, Thread: 42}, Markdown: strings.Repeat("line\n", 2500), Format: attache.FormatEntities,
		ReplyTo: 9, Buttons: [][]attache.Button{{{Text: "Yes", Data: "y"}}},
	})
	if len(parts) != 4 {
		t.Fatalf("got %d parts", len(parts))
	}
	for i, p := range parts {
		var f frame
		if err := json.Unmarshal(p.Params, &f); err != nil {
			t.Fatal(err)
		}
		if (f.Reply != nil) != (i == 0) || (f.ReplyMarkup != nil) != (i == 3) || f.ThreadID != 42 || f.ChatID != -1001 || f.Text != p.Text {
			t.Errorf("part %d: %s", i, p.Params[:200])
		}
	}
}

func TestComposeSplitsWhereAPersonWould(t *testing.T) {
	word := func(n int) string { return strings.Repeat("x", n) }
	code := strings.Repeat("    indented := line(of, code)\n", 200)
	tests := map[string]struct {
		src  string
		ends []string // how each part ends
	}{
		"blank line before line": {word(3000) + "\n\n" + word(500) + "\n" + word(2000), []string{word(3000), word(500) + "\n" + word(2000)}},
		"line before sentence":   {word(3000) + "\n" + word(500) + ". " + word(2000), []string{word(3000), ". " + word(2000)}},
		"sentence before space":  {word(3000) + ". " + word(500) + " " + word(2000), []string{word(3000) + ".", " " + word(2000)}},
		"space":                  {word(3000) + " " + word(2000), []string{word(3000), word(2000)}},
		"nothing to cut at":      {word(5000), []string{word(4096), word(904)}},
		"an early space":         {"a " + word(5000), []string{"a " + word(4094), word(906)}},
		"surrogate pair":         {word(4095) + "😀", []string{word(4095), "😀"}},
		"3000 emoji":             {strings.Repeat("😀", 3000), []string{strings.Repeat("😀", 2048), strings.Repeat("😀", 952)}},
		"joined emoji":           {word(4093) + "👩‍👩‍👧", []string{word(4093), "👩‍👩‍👧"}},
		"skin":                   {word(4094) + "👍🏽", []string{word(4094), "👍🏽"}},
		"flag":                   {word(4094) + "🇩🇪", []string{word(4094), "🇩🇪"}},
		"accent":                 {word(4095) + "e\u0301", []string{word(4095), "e\u0301"}},
		"code goes on":           {"```go\n" + code + "```\nend", []string{"of, code)", "end"}},
		"code before lines":      {word(2500) + "\n\n```go\n" + strings.Repeat("code\n", 500) + "```", []string{word(2500), "code"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parts := compose(test.src, attache.FormatEntities)
			if len(parts) != len(test.ends) {
				t.Fatalf("got %d parts", len(parts))
			}
			for i, p := range parts {
				if !strings.HasSuffix(p.Text, test.ends[i]) {
					t.Errorf("part %d ends with %q", i, p.Text[max(0, len(p.Text)-40):])
				}
			}
		})
	}
	second := compose("```go\n"+code+"```\nend", attache.FormatEntities)[1]
	if !strings.HasPrefix(second.Text, "    indented") || !strings.Contains(string(second.Params), `"type":"pre","offset":0`) || !strings.Contains(string(second.Params), `"language":"go"`) {
		t.Errorf("a cut pre is not opened again with its language and indent: %s", second.Params[len(second.Params)-200:])
	}
}

// joined checks that the parts, in order, are the text but for white space
// between them.
func joined(t failer, text string, parts []styled) {
	t.Helper()
	rest := text
	for _, p := range parts {
		for !strings.HasPrefix(rest, p.text) {
			r, size := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) {
				t.Fatalf("lost %q before the part %q", rest[:min(len(rest), 40)], p.text[:min(len(p.text), 40)])
			}
			rest = rest[size:]
		}
		rest = rest[len(p.text):]
	}
	if strings.TrimSpace(rest) != "" {
		t.Fatalf("lost the end %q", rest[:min(len(rest), 40)])
	}
}

// checkAnswer holds every truth of an answer in every form.
func checkAnswer(t failer, src string) {
	t.Helper()
	norm := normalise(src)
	doc := parse(norm)
	checkMarks(t, doc.text)
	if strings.TrimSpace(norm) != "" && doc.text.text == "" {
		t.Fatalf("%q says nothing", src)
	}
	pieces := doc.text.split()
	for _, p := range pieces {
		checkMarks(t, p)
		if n := attache.UTF16Len(p.text); n > maxUnits || len(p.spans) > maxMarks || strings.TrimSpace(p.text) == "" || !utf8.ValidString(p.text) {
			t.Fatalf("a part of %d units with %d marks: %q", n, len(p.spans), p.text[:min(len(p.text), 40)])
		}
	}
	joined(t, doc.text.text, pieces)
	if doc.text.fits() && len(pieces) > 1 {
		t.Fatalf("%d parts of what fits into one", len(pieces))
	}
	for _, format := range []attache.Format{"auto", "rich", "entities", "plain"} {
		for parts := compose(src, format); len(parts) > 0; parts = Simpler(parts[0]) {
			for _, p := range parts {
				if !json.Valid(p.Params) || strings.TrimSpace(p.Text) == "" {
					t.Fatalf("%s part: %s", format, p.Params)
				}
			}
		}
	}
}

// markdownGen makes texts of everything that Markdown and Unicode have to offer.
func markdownGen() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"*", "**", "***", "_", "~~", "||", "`", "```", "```go\n", "~~~\n", "\n", "\n\n", "# ", "## ", "> ", ">> ", "- ", "  - ", "1. ", "- [ ] ", "[x] ",
			"[", "](", ")", "(https://x.io)", "![", "<b>", "</b>", "<!--", "-->", "<div>\n", "|", "|-|-|\n", "| a | b |\n", "---\n", "===\n", "    ", "\t", "\\", "&amp;", "&#0;",
			"https://a.b/c_d", "a@b.c", "😀", "👩‍👩‍👧", "🇩🇪", "e\u0301", "日本", "\u00a0", "\x00", "\xff", "\r\n", "word ", "Sentence. ", "[a]: b\n", "[a]", "  \n",
		}),
		rapid.String(),
		rapid.Map(rapid.IntRange(1, 5000), func(n int) string { return strings.Repeat("x", n) }),
		rapid.Map(rapid.IntRange(1, 3000), func(n int) string { return strings.Repeat("😀", n) }),
		rapid.Map(rapid.IntRange(1, 900), func(n int) string { return strings.Repeat("*word* ", n) }),
		rapid.Map(rapid.IntRange(1, 900), func(n int) string { return strings.Repeat("line\n", n) }),
		rapid.Map(rapid.IntRange(1, 6000), func(n int) string { return strings.Repeat(" ", n) }),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 40), func(s []string) string { return strings.Join(s, "") })
}

// No part is over the limit, every part has balanced marks, and the text of all
// parts is the text of the answer (decisions § 7.3).
//
// row L7
func TestComposeTruths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkAnswer(t, markdownGen().Draw(t, "markdown")) })
}

func FuzzCompose(f *testing.F) {
	for _, src := range hostile() {
		f.Add(src[:min(len(src), 2000)])
	}
	f.Add("# **T** ***x*** [a](https://x.io) `c` ||s||\n\n|a|b|\n|-|-|\n|1|2|\n")
	f.Fuzz(func(t *testing.T, src string) { checkAnswer(t, src) })
}

func TestSimplerSaysTheSame(t *testing.T) {
	o := attache.Outgoing{
		Place:    attache.Place{Chat: -1001, Thread: 42},
		Markdown: "# Head\n\n" + strings.Repeat("A *sentence* of words with <b>. ", 200) + "\n\n|a|b|\n|-|-|\n|1|2|",
		ReplyTo:  9, Buttons: [][]attache.Button{{{Text: "Yes", Data: "y"}}},
	}
	rich := Compose(o)
	if len(rich) != 1 || rich[0].Format != attache.FormatRich {
		t.Fatalf("got %d parts", len(rich))
	}
	o.Format = attache.FormatEntities
	same(t, Simpler(rich[0]), Compose(o))
	o.Format = attache.FormatPlain
	var plain []attache.Part
	for _, p := range Simpler(rich[0]) {
		plain = append(plain, Simpler(p)...)
	}
	if len(plain) < 2 || Simpler(plain[0]) != nil || strings.Contains(string(plain[0].Params), "entities") {
		t.Errorf("plain: %d parts, then %v", len(plain), Simpler(plain[0]))
	}
	if Simpler(attache.Part{Method: "sendMessage", Format: attache.FormatEntities, Params: json.RawMessage("broken")}) != nil {
		t.Error("a broken part has a simpler form")
	}
}

func same(t *testing.T, got, want []attache.Part) {
	t.Helper()
	text := func(parts []attache.Part) (s string) {
		for _, p := range parts {
			s += fmt.Sprintf("{%s %s %q %s %v}", p.Method, p.Params, p.Text, p.Format, p.File)
		}
		return s
	}
	if g, w := text(got), text(want); g != w {
		t.Errorf("got  %.300s\nwant %.300s", g, w)
	}
}

func BenchmarkCompose(b *testing.B) {
	src := ""
	for i := 0; len(src) < 6700; i++ {
		src += fmt.Sprintf("## Part %d\n\nSome **bold** and *italic* words with `code` and a [link](https://example.com/%d).\n\n- one\n- two\n  - nested\n\n```go\nfunc f() int { return %d }\n```\n\n| a | b |\n|---|--:|\n| x | %d |\n\n", i, i, i, i)
	}
	for _, format := range []attache.Format{attache.FormatAuto, attache.FormatEntities} {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				compose(src, format)
			}
		})
	}
	b.Run("short", func(b *testing.B) {
		for b.Loop() {
			compose("Yes, **T-481** is open since Monday.", attache.FormatAuto)
		}
	})
}
