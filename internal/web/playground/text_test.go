package playground

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"attache"
)

func TestMarked(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		marks []attache.Mark
		want  string
	}{
		"plain":       {"a <b> & c", nil, "a &lt;b&gt; &amp; c"},
		"bold":        {"ab cd", []attache.Mark{{Kind: "bold", Offset: 0, Length: 2}}, "<strong>ab</strong> cd"},
		"after emoji": {"👍 ab", []attache.Mark{{Kind: "code", Offset: 3, Length: 2}}, "👍 <code>ab</code>"},
		"nested":      {"abcd", []attache.Mark{{Kind: "italic", Offset: 1, Length: 2}, {Kind: "bold", Offset: 0, Length: 4}}, "<strong>a<em>bc</em>d</strong>"},
		"crossing":    {"abc", []attache.Mark{{Kind: "bold", Offset: 0, Length: 2}, {Kind: "italic", Offset: 1, Length: 2}}, "<strong>a<em>b</em></strong><em>c</em>"},
		"outside":     {"abc", []attache.Mark{{Kind: "bold", Offset: 2, Length: 5}, {Kind: "bold", Offset: -1, Length: 2}, {Kind: "bold", Offset: 0, Length: 0}}, "abc"},
		"half a pair": {"👍", []attache.Mark{{Kind: "bold", Offset: 0, Length: 1}}, "👍"},
		"huge":        {"abc", []attache.Mark{{Kind: "bold", Offset: 1, Length: 1<<63 - 1}}, "abc"},
		"quote":       {"a\nb\nc", []attache.Mark{{Kind: "blockquote", Offset: 2, Length: 1}}, "a<blockquote>b</blockquote>c"},
		"pre":         {"x", []attache.Mark{{Kind: "pre", Length: 1, Language: `go"><script>`}}, `<pre data-language="go&#34;&gt;&lt;script&gt;"><code>x</code></pre>`},
		"a link":      {"here", []attache.Mark{{Kind: "text_link", Length: 4, URL: "https://example.com/?a=1&b=\"2"}}, `<a href="https://example.com/?a=1&amp;b=&#34;2" target="_blank" rel="noopener noreferrer">here</a>`},
		"a script":    {"here", []attache.Mark{{Kind: "text_link", Length: 4, URL: "javascript:alert(1)"}}, "here"},
		"in disguise": {"here", []attache.Mark{{Kind: "text_link", Length: 4, URL: " JaVaScRiPt:alert(1)"}}, "here"},
		"data":        {"here", []attache.Mark{{Kind: "text_link", Length: 4, URL: "data:text/html,<script>"}}, "here"},
		"bare":        {"example.com", []attache.Mark{{Kind: "url", Length: 11}}, `<a href="https://example.com" target="_blank" rel="noopener noreferrer">example.com</a>`},
		"a spoiler":   {"psst", []attache.Mark{{Kind: "spoiler", Length: 4}}, spoilerOpen + "psst</span>"},
		"unknown":     {"abc", []attache.Mark{{Kind: "custom_emoji", Length: 3}}, "abc"},
	} {
		if got := string(marked(c.text, c.marks)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

var tag = regexp.MustCompile(`<(/?)([a-z]+)[^>]*>`)

// Whatever the entities are, the markup is balanced, and without its tags it is the
// text, but for line breaks beside blocks.
func TestMarkedIsBalanced(t *testing.T) {
	kinds := []string{"bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "blockquote", "mention", "text_link", "url", "email", "nonsense"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab <>&\"'\n👍é\u202e")), 0, 30, -1).Draw(t, "text")
		var marks []attache.Mark
		for range rapid.IntRange(0, 6).Draw(t, "marks") {
			marks = append(marks, attache.Mark{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Offset: rapid.IntRange(-1, 30).Draw(t, "offset"),
				Length: rapid.IntRange(-1, 30).Draw(t, "length"), URL: "https://x.test/" + rapid.StringN(0, 5, -1).Draw(t, "url")})
		}
		out := string(marked(text, marks))
		var open []string
		for _, m := range tag.FindAllStringSubmatch(out, -1) {
			if m[1] == "" {
				open = append(open, m[2])
				continue
			}
			if len(open) == 0 || open[len(open)-1] != m[2] {
				t.Fatalf("%q: </%s> closes nothing", out, m[2])
			}
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			t.Fatalf("%q: %v stay open", out, open)
		}
		words := html.UnescapeString(tag.ReplaceAllString(out, ""))
		if flat(words) != flat(text) {
			t.Fatalf("the words are %q, not %q", words, text)
		}
	})
}

func flat(s string) string { return strings.ReplaceAll(s, "\n", "") }

func TestRich(t *testing.T) {
	for name, c := range map[string]struct{ markdown, has, hasNot string }{
		"a table":     {"| a | b |\n| --- | ---: |\n| 1 | 2 |", `<td align="right">2</td>`, "style="},
		"emphasis":    {"**a** *b* ~~c~~ ||d||", "<strong>a</strong> <em>b</em> <del>c</del> " + spoilerOpen + "d</span>", "||"},
		"code":        {"```go\n<b>\n```", "&lt;b&gt;", "<b>"},
		"raw html":    {"a <b onclick=alert(1)>b</b>", "&lt;b onclick=alert(1)&gt;b&lt;/b&gt;", "<b"},
		"a block":     {"<script>\nalert(1)\n</script>\n", "&lt;script&gt;", "<script"},
		"end of div":  {"</div></div>\n\nx", "&lt;/div&gt;", "</div>"},
		"a script":    {"[x](javascript:alert(1))", "<a", "javascript"},
		"disguised":   {"[x](&#106;avascript:alert(1)) [y](\x01javascript:1) [z](JAVASCRIPT:1)", "x", "avascript:alert"},
		"auto":        {"<javascript:alert(1)>", "javascript:alert(1)", `href="javascript`},
		"a link":      {"[x](https://example.com \"t\")", `href="https://example.com"`, "script"},
		"outward":     {"https://example.com", `target="_blank" rel="noopener noreferrer"`, "script"},
		"a picture":   {"![cat](https://example.com/cat.png)", `href="https://example.com/cat.png"`, "<img"},
		"bad picture": {"![cat](javascript:alert(1))", "cat", "javascript"},
		"tasks":       {"- [x] done", "checkbox", "script"},
	} {
		out := string(rich(c.markdown))
		if !strings.Contains(out, c.has) || strings.Contains(out, c.hasNot) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := string(rich(strings.Repeat("<b>", longestRich))); strings.Contains(out, "<b>") {
		t.Error("a text that is too long to lay out is not escaped")
	}
}

// Whatever the Markdown, no tag comes out that is not one of ours.
func FuzzRich(f *testing.F) {
	for _, s := range []string{"<script>alert(1)</script>", "[a](javascript:x)", "||a **b|| c**", "| a |\n|---|\n| <img src=x onerror=1> |", "![x](data:text/html,a)", "<!-- --> <?php ?> <![CDATA[x]]>", "<a@b.c> <https://x.y/\"onclick=>"} {
		f.Add(s)
	}
	known := regexp.MustCompile(`^(p|strong|em|del|code|pre|a|ul|ol|li|h[1-6]|blockquote|table|thead|tbody|tr|th|td|hr|br|input|span)$`)
	loose := regexp.MustCompile(`<(/?)([a-zA-Z!?][^\s>/]*)([^>]*)>`)
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 2000 {
			return
		}
		for _, m := range loose.FindAllStringSubmatch(string(rich(s)), -1) {
			if !known.MatchString(m[2]) {
				t.Fatalf("%q made the tag %q", s, m[0])
			}
			if href := regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(m[3]); href != nil && href[1] != "" && !harmless(html.UnescapeString(href[1])) {
				t.Fatalf("%q leads to %q", s, href[1])
			}
			if regexp.MustCompile(`(?i)\s(on[a-z]+|style|src)=`).MatchString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(m[3], `""`)) {
				t.Fatalf("%q made the attributes %q", s, m[3])
			}
		}
	})
}
