package prompt

import (
	"regexp"
	"strings"
	"testing"
)

func TestEscapeLadder(t *testing.T) {
	for in, want := range map[string]string{
		`{{ args.x }}`:                    "V",
		`\{{ args.x }}`:                   `{{ args.x }}`,
		`\\{{ args.x }}`:                  `\V`,
		`\\\{{ args.x }}`:                 `\{{ args.x }}`,
		`\\\\{{ args.x }}`:                `\\V`,
		`\{% if %}`:                       `{% if %}`,
		`\\\{% if %}`:                     `\{% if %}`,
		`\{{\{{\{%`:                       `{{{{{%`,
		`\{{ a }}{{args.x}}\{{`:           `{{ a }}V{{`,
		`{{args.x}}\{{ b`:                 `V{{ b`,
		`\\\\`:                            `\\\\`,
		`a\b \{ \} \n`:                    `a\b \{ \} \n`,
		`{"a":{"b":[1,{"c":2}]}}`:         `{"a":{"b":[1,{"c":2}]}}`,
		`{ x } ${y} {# z #} }} %}`:        `{ x } ${y} {# z #} }} %}`,
		"日本 {{ args.x }} 🙂—\\{{":          "日本 V 🙂—{{",
		"{{\n args.x\t}}":                 "V",
		"a\r\nb{{ args.x }}\r\n":          "a\nbV\n",
		`{{ ARGS.X }}{{ args.Sub-Name }}`: "VS",
	} {
		l, _ := NewLibrary(Sources{Args: map[string]string{"x": "V", "sub_name": "S"}})
		r := l.render(Text{Body: in}, "", nil)
		if r.out != want || r.problems != nil {
			t.Errorf("%q renders %q, want %q; %v", in, r.out, want, r.problems)
		}
	}
}

// literally escapes a text so that the scanner gives it back.
func literally(s string) string {
	return regexp.MustCompile(`(\\*)(\{\{|\{%)`).ReplaceAllString(s, `$1$1\$2`)
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{`\\{{ args.x }}`, `{{ agent.name }}`, `{% if chat %}`, "{{", "{%", `{{{`, `{{"`,
		`{{ context.a }}`, "\xff{{ \xff }}", `\{{\{%{{args.x|agent}}`} {
		f.Add(seed)
	}
	l, _ := NewLibrary(Sources{
		Args:   map[string]string{"x": "{{ agent.name }} {% if %}"},
		Blocks: map[string]string{"blocks/a.md": "block"},
	})
	f.Fuzz(func(t *testing.T, src string) {
		var text strings.Builder
		for _, tok := range scan(literally(src)) {
			if tok.mark != "" {
				t.Fatalf("%q escaped still holds the tag %+v", src, tok)
			}
			text.WriteString(tok.text)
		}
		if text.String() != src {
			t.Fatalf("%q escaped reads %q", src, text.String())
		}
		r := l.render(Text{File: "f", Body: src}, "", nil)
		for _, p := range r.problems {
			if p.Line < 1 || p.Col < 1 || p.What == "" || p.Do == "" {
				t.Fatalf("%q: problem without a place or an advice: %+v", src, p)
			}
		}
		if regexp.MustCompile(`(?:^|[^\\{])\{\{\s*(?:agent|chat|memories)\s*[.|}]`).MatchString(src) && len(r.problems) == 0 {
			t.Fatalf("%q renders although it names a removed word", src)
		}
		RenderBody(Text{File: "f", Body: src}, Values{Event: []byte(`{"text":"{{ event.text }}"}`)})
	})
}
