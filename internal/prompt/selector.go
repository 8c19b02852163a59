package prompt

import (
	"fmt"
	"strings"
	"unicode"

	"attache"

	"github.com/agnivade/levenshtein"
)

// selector is a dotted name that was read from a tag.
type selector struct {
	name string // lower case, - read as _
	raw  string // as written
	at   int    // byte of its first letter in the text
}

// read gives the selector of a tag, or says what is wrong with the tag. heads are
// the first words that this text may use; static says that the thirteen removed
// words are answered with what took their place.
func read(t Text, tag token, heads []string, static bool) (selector, []attache.Problem) {
	raw := strings.TrimSpace(tag.expr)
	sel := selector{raw: raw, at: tag.at + 2 + strings.Index(tag.expr, raw)}
	if !tag.closed {
		return sel, []attache.Problem{t.problem(tag.at,
			tag.mark+" is never closed",
			"close it with "+closing(tag.mark)+`, or write \`+tag.mark+" for the braces themselves")}
	}
	if static {
		if gone := removedIn(t, tag); len(gone) > 0 {
			return sel, gone
		}
	}
	if tag.mark == openTag {
		return sel, []attache.Problem{t.problem(tag.at,
			show(tag)+" is a statement tag, and there are none here",
			`write plain text, or \{% for the braces themselves`)}
	}
	name, ok := normalise(raw)
	if !ok {
		return sel, []attache.Problem{t.problem(tag.at,
			show(tag)+" is more than a dotted name, and there are no filters and expressions here",
			"write a name such as {{ "+heads[0]+`.name }}, or \{{ for the braces themselves`)}
	}
	sel.name = name
	return sel, nil
}

// normalise gives the canonical form of a dotted name, or false if it is none.
// The first part begins with a letter or _; later parts may be numbers.
func normalise(name string) (string, bool) {
	for i, part := range strings.Split(name, ".") {
		if part == "" || strings.IndexFunc(part, notInName) >= 0 {
			return "", false
		}
		if i == 0 && part[0] >= '0' && part[0] <= '9' || part[0] == '-' {
			return "", false
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "-", "_"), true
}

func notInName(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// show prints a tag for a sentence: on one line and not endless.
func show(tag token) string {
	inside := []rune(strings.Join(strings.Fields(tag.expr), " "))
	if len(inside) > 60 {
		inside = append(inside[:59], '…')
	}
	if len(inside) == 0 {
		return tag.mark + " " + closing(tag.mark)
	}
	return tag.mark + " " + string(inside) + " " + closing(tag.mark)
}

// removedIn finds every use of a removed word as the root of a name in a tag:
// plain, short, in a filter's arguments or in a statement (text 3, "Removed
// dynamic selectors"). A word after a dot or in quotes is no root.
func removedIn(t Text, tag token) []attache.Problem {
	var found []attache.Problem
	seen := map[string]bool{}
	for _, name := range names(tag.expr) {
		head, _, _ := strings.Cut(name.raw, ".")
		instead := insteadOf(strings.ReplaceAll(strings.ToLower(head), "-", "_"))
		if instead == "" || seen[name.raw] {
			continue
		}
		seen[name.raw] = true
		what := fmt.Sprintf("%s is live data, and a static prompt cannot read it", name.raw)
		if tag.mark == openTag || name.raw != strings.TrimSpace(tag.expr) {
			what = fmt.Sprintf("%s in %s is live data, and a static prompt cannot read it", name.raw, show(tag))
		}
		found = append(found, t.problem(tag.at+2+name.at, what, instead))
	}
	return found
}

// names lists the dotted names in an expression with where they begin.
func names(expr string) []selector {
	var list []selector
	afterDot := false
	for i := 0; i < len(expr); {
		c := expr[i]
		switch {
		case c == '"' || c == '\'':
			i = skipString(expr, i)
			afterDot = false
		case letter(c):
			end := i
			for end < len(expr) && inDotted(expr, end) {
				end++
			}
			if !afterDot {
				list = append(list, splitMinus(expr[i:end], i)...)
			}
			i, afterDot = end, false
		default:
			if !space(c) {
				afterDot = c == '.'
			}
			i++
		}
	}
	return list
}

// splitMinus tells memory-profile, one word, from task-1, a subtraction.
func splitMinus(name string, at int) []selector {
	head, _, _ := strings.Cut(name, ".")
	if !strings.Contains(head, "-") || insteadOf(strings.ReplaceAll(strings.ToLower(head), "-", "_")) != "" {
		return []selector{{raw: name, at: at}}
	}
	var list []selector
	for _, part := range strings.Split(name, "-") {
		list = append(list, selector{raw: part, at: at})
		at += len(part) + 1
	}
	return list
}

// skipString gives the byte after a quoted string; one that never ends is read
// as no string at all, so that nothing can hide behind a single quote.
func skipString(expr string, i int) int {
	for j := i + 1; j < len(expr); j++ {
		if expr[j] == '\\' {
			j++
		} else if expr[j] == expr[i] {
			return j + 1
		}
	}
	return i + 1
}

// letter reports whether a byte may stand in a name; bytes of letters beyond
// ASCII count, since they can only make a name longer, never a removed word.
func letter(c byte) bool {
	return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// inDotted reports whether the byte at i continues a dotted name: a dot or minus
// does if a letter follows.
func inDotted(expr string, i int) bool {
	if expr[i] == '.' || expr[i] == '-' {
		return i+1 < len(expr) && letter(expr[i+1])
	}
	return letter(expr[i])
}

// insteadOf says what to use in place of a removed word; empty for any other.
func insteadOf(word string) string {
	switch word {
	case "self", "agent":
		return "leave it out: slug, name and description of the agent come in session_context by themselves"
	case "global":
		return "declare a fixed value under args in MANIFEST.yaml and write {{ args.<name> }}"
	case "chat":
		return "leave it out: what is said comes as the input; bind a context to the chat for what the chat is about"
	case "task":
		return "leave it out: the task comes in turn_context and as the input"
	case "project":
		return "leave it out: the workspace comes in session_context; write {{ args.<name> }} for a fixed fact of it"
	case "routine", "heartbeat":
		return "leave it out: the running heartbeat or scenario comes in turn_context as routine"
	case "gate":
		return "leave it out: the outcome of a gate comes in turn_context; a hook's body reads {{ vars.<name> }}"
	case "git":
		return "leave it out: the pinned commit comes in turn_context"
	case "memories":
		return "leave it out: memories come in session_context by themselves"
	case "memory_profile":
		return "set memory: in the frontmatter of the role"
	case "artifacts":
		return "leave it out: files come with the message that brings them, or through tools"
	}
	return ""
}

// nearest finds the candidate that was probably meant, with or without its first
// word, or gives "" if none is near. Ties go to the first by name.
func nearest(name string, sorted []string) string {
	if len(name) > 200 {
		return ""
	}
	best, distance := "", max(2, len(name)/3)+1
	for _, c := range sorted {
		d := levenshtein.ComputeDistance(name, c)
		if _, rest, ok := strings.Cut(c, "."); ok {
			d = min(d, levenshtein.ComputeDistance(name, rest)+1)
		}
		if d < distance {
			best, distance = c, d
		}
	}
	return best
}

// suggest offers the nearest name, or says what to do where none is near.
func suggest(near, otherwise string) string {
	if near == "" {
		return otherwise
	}
	return "did you mean {{ " + near + " }}?"
}
