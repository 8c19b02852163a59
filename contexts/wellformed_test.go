package contexts

import (
	"regexp"
	"strings"
)

var anyTag = regexp.MustCompile(`<(/?)([a-z-]*)([^<>]*)>`)

// failer is what a *testing.T, a *testing.F and a *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// wellFormed reports markup that is not ours: tags other than those of decisions
// § 5, tags out of order, signs that are not escaped.
func wellFormed(t failer, text string) {
	t.Helper()
	var open []string
	for _, m := range anyTag.FindAllStringSubmatch(text, -1) {
		name := m[2]
		parent := ""
		if len(open) > 0 {
			parent = open[len(open)-1]
		}
		switch {
		case m[1] == "/" && parent == name:
			open = open[:len(open)-1]
		case m[1] == "/":
			t.Fatalf("</%s> closes %q in\n%s", name, parent, text)
		case name == "section" && (parent == "feature-context" || parent == "agent-state"), (name == "feature-context" || name == "agent-state") && parent == "":
			open = append(open, name)
		default:
			t.Fatalf("<%s> stands in %q in\n%s", name, parent, text)
		}
		if m[1] == "" && !regexp.MustCompile(`^( [a-z]+="[^"<>]+")*$`).MatchString(m[3]) {
			t.Fatalf("attributes %q in\n%s", m[3], text)
		}
	}
	rest := anyTag.ReplaceAllString(text, "")
	if len(open) > 0 || strings.ContainsAny(rest, "<>") {
		t.Fatalf("%v is open, or a sign is not escaped, in\n%s", open, text)
	}
	if bad := regexp.MustCompile(`&(amp|lt|gt|quot|#39|#9|#10);|&`).FindAllString(text, -1); strings.Contains(strings.Join(bad, " ")+" ", "& ") {
		t.Fatalf("an & is not escaped in\n%s", text)
	}
	for _, section := range regexp.MustCompile(`(?s)rows="[1-9][0-9]*"[^>]*>(.*?)</section>`).FindAllStringSubmatch(text, -1) {
		squareTable(t, section[1])
	}
}

// squareTable reports a table whose lines have different numbers of cells: a value
// has broken out of its cell.
func squareTable(t failer, text string) {
	t.Helper()
	width := -1
	for _, line := range strings.Split(text, "\n") {
		if line == readWords()["more"] {
			continue
		}
		bars := 0
		for i := 0; i < len(line); i++ {
			switch line[i] {
			case '\\':
				i++ // whatever follows is escaped
			case '|':
				bars++
			}
		}
		if width >= 0 && bars != width || bars < 2 {
			t.Fatalf("a row has %d bars instead of %d: %q", bars, width, line)
		}
		width = bars
	}
}
