package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"attache/internal/cliagent/agenttest"
	"attache/internal/model/modeltest"
)

// walk is one file of gateway/testdata/walks, read: a small brain, a conversation
// and what is expected of it. gateway/testdata/walks/README.md tells its language.
type walk struct {
	path     string
	archive  *txtar.Archive
	brain    map[string]string // by path
	files    map[string]string // contents of what people send, by name
	lines    []line
	sections []string // of the expected half, in their order

	forms    []form // that its lines may have
	rules    []rule // the scripted model's, in order
	agent    []agenttest.Step
	botsHear bool // groups' bots hear one another
	kills    int  // how often the program is killed; then it is a process of its own
	manual   bool // the script says itself when the program starts
	timed    bool // the script moves the clock
}

// line is one line of a script, ready to be done.
type line struct {
	n      int    // in its file
	text   string // as written
	joined bool   // "& …": it comes before the answer to the line before it
	stage  bool   // it sets the stage: the program need not run yet
	do     func(*play) error
}

// rule is one answer of the scripted model, with what it takes to hold it back.
type rule struct {
	modeltest.Rule
	gate string // its answer waits until the script releases this, "" for none
	step bool   // it waits before each word
}

// wrong is a mistake in a walk, with its place.
type wrong struct {
	path string
	line int
	what string
}

func (w *wrong) Error() string { return fmt.Sprintf("%s:%d: %s", w.path, w.line, w.what) }

// readWalk reads a walk from its file.
func readWalk(path string) (*walk, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseWalk(filepath.Base(path), string(text))
}

// parseWalk reads a walk. Files with a slash in their name are the brain, or what
// people send; the others are the script and what is expected.
func parseWalk(path, text string) (*walk, error) {
	w := &walk{path: path, archive: txtar.Parse([]byte(text)), brain: map[string]string{}, files: map[string]string{}}
	if len(strings.TrimSpace(string(w.archive.Comment))) == 0 {
		return nil, &wrong{path, 1, "a walk begins with a sentence that says what it shows"}
	}
	script, found := "", false
	for _, f := range w.archive.Files {
		at := lineOf(text, f.Name)
		sent, isSent := strings.CutPrefix(f.Name, "files/")
		switch {
		case f.Name == "walk":
			script, found = string(f.Data), true
			if err := w.script(script, at); err != nil {
				return nil, err
			}
		case isSent:
			w.files[sent] = string(f.Data)
		case strings.Contains(f.Name, "/"):
			w.brain[f.Name] = string(f.Data)
		case slices.Contains(sectionNames(), f.Name):
			w.sections = append(w.sections, f.Name)
		default:
			return nil, &wrong{path, at, fmt.Sprintf("%s is neither a file of the brain nor a section; sections are walk, %s", f.Name, strings.Join(sectionNames(), ", "))}
		}
	}
	if !found {
		return nil, &wrong{path, 1, "a walk has a script; write it under -- walk --"}
	}
	if len(w.sections) == 0 {
		return nil, &wrong{path, 1, "a walk expects something; end it with -- posts -- and run with -update"}
	}
	return w, nil
}

// lineOf gives the line of a file's marker in the archive's text.
func lineOf(text, name string) int {
	before, _, _ := strings.Cut(text, "-- "+name+" --")
	return 1 + strings.Count(before, "\n")
}

// script reads the lines. A line that begins with a blank goes on with the one
// before it.
func (w *walk) script(text string, at int) error {
	w.forms = forms()
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		if s := strings.TrimSpace(lines[i]); s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		if strings.HasPrefix(lines[i], " ") || strings.HasPrefix(lines[i], "\t") {
			return &wrong{w.path, at + i + 1, "an indented line goes on with the line before it, and there is none"}
		}
		var more []string
		for i+1 < len(lines) && goesOn(lines[i+1:]) {
			i++
			more = append(more, lines[i])
		}
		l := line{n: at + first + 1, text: lines[first]}
		if err := w.line(&l, dedent(more)); err != nil {
			return &wrong{w.path, l.n, err.Error()}
		}
		w.lines = append(w.lines, l)
	}
	return nil
}

// goesOn reports whether the first of some lines belongs to the line before it: it
// is indented, or it is empty and an indented one follows.
func goesOn(lines []string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		}
	}
	return false
}

// dedent takes the first line's indentation off all lines.
func dedent(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	first := strings.TrimLeft(lines[0], "\n")
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], indent)
	}
	return strings.Join(lines, "\n")
}

// clause is a line taken apart: the words before the colon, matched, the options
// behind commas, and what stands behind the colon.
type clause struct {
	words   []string // the pattern's groups, from 1
	options []string
	body    string
}

// line reads one line by the first form that fits.
func (w *walk) line(l *line, more string) error {
	text, joined := strings.CutPrefix(l.text, "& ")
	l.joined = joined
	head, body := cutOutside(text, ": ")
	if head == text {
		if h, ok := strings.CutSuffix(text, ":"); ok {
			head = h
		}
	}
	if more != "" {
		body = strings.TrimPrefix(body+"\n"+more, "\n")
	}
	options := splitOutside(head, ", ")
	for _, f := range w.forms {
		words := f.pattern.FindStringSubmatch(options[0])
		if words == nil {
			continue
		}
		if body == "" && f.needs != "" && !f.bare {
			return fmt.Errorf("%s is missing; write `%s`", f.needs, f.shape)
		}
		if body != "" && f.needs == "" {
			return fmt.Errorf("nothing stands behind a colon here; write `%s`", f.shape)
		}
		if len(options) > 1 && !f.options {
			return fmt.Errorf("no options stand here; write `%s`", f.shape)
		}
		do, err := f.read(w, clause{words, options[1:], body})
		l.stage, l.do = f.stage, do
		return err
	}
	return fmt.Errorf("%q is no line of a walk; README.md beside the walks lists them", options[0])
}

// form is one kind of line.
type form struct {
	shape   string // as README.md shows it
	pattern *regexp.Regexp
	needs   string // what stands behind the colon, "" for nothing
	stage   bool
	options bool
	bare    bool // what stands behind the colon may be left out
	read    func(*walk, clause) (func(*play) error, error)
}

// cutOutside cuts at the first sep that does not stand between quotes; without one
// it gives s and nothing.
func cutOutside(s, sep string) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			quoted = !quoted
		}
		if !quoted && strings.HasPrefix(s[i:], sep) {
			return s[:i], s[i+len(sep):]
		}
	}
	return s, ""
}

// splitOutside splits at every sep that does not stand between quotes.
func splitOutside(s, sep string) []string {
	var parts []string
	for {
		before, after := cutOutside(s, sep)
		parts = append(parts, before)
		if after == "" {
			return parts
		}
		s = after
	}
}

// quoted reads a word between quotes.
func quoted(s string) (string, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", fmt.Errorf("%s is not in quotes", s)
	}
	return s[1 : len(s)-1], nil
}
