package format

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDetect(t *testing.T) {
	tests := []struct{ text, want string }{
		{"hello", ""},
		{"@nova_bot hi", "mention@0+9"},
		{"hi @nova_bot, @ana!", "mention@3+9 mention@14+4"},
		{"a@nova_bot", ""},
		{"@ab", ""},
		{"/start", "bot_command@0+6"},
		{"/start@nova_bot go /stop", "bot_command@0+15 bot_command@19+5"},
		{"and/or", ""},
		{"https://a.example/x?y=1.", "url@0+23"},
		{"see attache.dev now", "url@4+11"},
		{"https://a.example/@nova_bot", "url@0+27"},
		{"mail a@b.org", "email@5+7"},
		{"#topic one", "hashtag@0+6"},
		{"😀 @nova_bot", "mention@3+9"},
		{"日本 /ask", "bot_command@3+4"},
	}
	d := NewDetector()
	for _, tt := range tests {
		if got := list(d.Detect(tt.text)); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func list(entities []Entity) string {
	var out []string
	for _, e := range entities {
		s := fmt.Sprintf("%s@%d+%d", e.Type, e.Offset, e.Length)
		if extra := e.URL + e.Language + e.CustomEmoji; extra != "" {
			s += "=" + extra
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	tests := []struct{ mode, in, text, entities string }{
		{"", "<b>*x*", "<b>*x*", ""},
		{"HTML", "a &lt;b&gt; &amp; c", "a <b> & c", ""},
		{"HTML", "<b>bold <i>both</i></b>", "bold both", "bold@0+9 italic@5+4"},
		{"HTML", "😀<strong>x</strong>", "😀x", "bold@2+1"},
		{"HTML", `<a href="https://a.b/?x=1&amp;y=2">link</a>`, "link", "text_link@0+4=https://a.b/?x=1&y=2"},
		{"HTML", `<pre><code class="language-go">x := 1</code></pre>`, "x := 1", "pre@0+6=go"},
		{"HTML", "<blockquote expandable>q</blockquote><b></b>", "q", "expandable_blockquote@0+1"},
		{"MarkdownV2", `*bold _both_*`, "bold both", "bold@0+9 italic@5+4"},
		{"MarkdownV2", `__u__ ~s~ ||h||`, "u s h", "underline@0+1 strikethrough@2+1 spoiler@4+1"},
		{"MarkdownV2", `1\. \*not\*`, "1. *not*", ""},
		{"MarkdownV2", "`a\\`b` ", "a`b ", "code@0+3"},
		{"MarkdownV2", "```go\nx := 1```", "x := 1", "pre@0+6=go"},
		{"MarkdownV2", `[link](https://a.b/\))x`, "", "error: Character ')' is reserved"},
		{"MarkdownV2", `[link](https://a.b/c)`, "link", "text_link@0+4=https://a.b/c"},
		{"MarkdownV2", ">quoted\n>more\nplain", "quoted\nmore\nplain", "blockquote@0+11"},
		{"MarkdownV2", ">to the end", "to the end", "blockquote@0+10"},
		{"MarkdownV2", "*open", "", "error: Can't find end of bold entity"},
		{"MarkdownV2", "`open", "", "error: Can't find end of code entity at byte offset 0"},
		{"MarkdownV2", "*a _b* c_", "", "error: Can't find end of italic entity at byte offset 5"},
		{"MarkdownV2", "a.b", "", "error: Character '.' is reserved"},
		{"HTML", "</b>", "", "error: Unmatched end tag at byte offset 0"},
		{"HTML", "<b><i>x</b></i>", "", "error: Unmatched end tag at byte offset 7"},
	}
	for _, tt := range tests {
		text, entities, err := Parse(tt.mode, tt.in, nil)
		if want, isError := strings.CutPrefix(tt.entities, "error: "); isError {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s %q: error %v, want %q", tt.mode, tt.in, err, want)
			}
			continue
		}
		if err != nil || text != tt.text || list(entities) != tt.entities {
			t.Errorf("%s %q: got %q %q %v, want %q %q", tt.mode, tt.in, text, list(entities), err, tt.text, tt.entities)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"<b>x</b>", "*b* _i_ `c` [l](u) >q", "```go\nx```", "😀<i>x</i>", ">a\nb", "||*__~~__*||"} {
		f.Add(s)
	}
	d := NewDetector()
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		for _, mode := range []string{"HTML", "MarkdownV2"} {
			text, entities, err := Parse(mode, s, nil)
			if err != nil {
				continue
			}
			if err := Valid(text, entities); err != nil {
				t.Errorf("%s %q gives %q with %v: %v", mode, s, text, entities, err)
			}
		}
		if err := Valid(s, d.Detect(s)); err != nil {
			t.Errorf("found in %q: %v", s, err)
		}
	})
}
