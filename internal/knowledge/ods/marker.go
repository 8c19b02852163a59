package ods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attache/internal/brainfile"
)

// readMarker reads ods.toml. It knows two keys, `spec` and `ignore` (decisions § 8),
// each also in the form of a table: [spec] with version, [ignore] with paths. Rules are
// taken even when other lines are wrong, since a rule that is lost lets more be read. An
// error here (WS-002) is one of the few that a brain tells of, for the same reason.
func (w *Workspace) readMarker() {
	say := func(line int, what, do string) {
		w.found = append(w.found, Finding{w.marker.Wrong(line, 1, what, do), "WS-002", LevelError})
	}
	if w.marker.Trouble != nil {
		w.found = append(w.found, Finding{*w.marker.Trouble, "WS-002", LevelError})
		return
	}
	spec := false
	seen := map[string]int{}
	for _, s := range toml(w.marker.Text) {
		first, twice := seen[s.key]
		spec = spec || s.key == "spec" || s.key == "spec.version"
		seen[s.key] = s.line
		switch {
		case s.wrong != "":
			say(s.line, s.wrong, s.do)
		case twice:
			say(s.line, fmt.Sprintf("%s stands here twice, first on line %d", s.key, first), "keep one of them")
		case s.key == "spec" || s.key == "spec.version":
			if len(s.values) != 1 || s.list || strings.TrimSpace(s.values[0]) == "" {
				say(s.line, s.key+" must be one version in quotes", `write spec = "0.1"`)
			}
		case s.key == "ignore" || s.key == "ignore.paths":
			if !s.list {
				say(s.line, s.key+" must be a list of paths", `write ignore = ["archive/"]`)
			}
			w.ignored = append(w.ignored, s.values...)
			for _, rule := range s.values {
				w.places = append(w.places, brainfile.Word{Text: rule, Line: s.line, Col: 1})
			}
		case slices.Contains([]string{"custom_profiles", "profiles", "packs", "specs"}, s.key):
			say(s.line, fmt.Sprintf("%s is not read here", s.key), "take it out: this program knows the standard profiles, and a brain's packs are its folders")
		default:
			say(s.line, fmt.Sprintf("the key %q is not known here", s.key), brainfile.Suggest(s.key, []string{"spec", "ignore"}, "remove it"))
		}
	}
	if !spec {
		w.found = append(w.found, Finding{w.marker.Wrong(1, 1, "ods.toml names no spec, so it makes this folder no workspace", `add spec = "0.1"`), "WS-001", LevelError})
	}
}

// setting is one key of a small TOML text.
type setting struct {
	key       string // with its table in front
	values    []string
	list      bool
	line      int
	wrong, do string // what is wrong with the line, "" when it can be read
}

// toml reads the part of TOML that two keys need: tables, texts in quotes and lists
// of them, which may go over several lines. What it does not know is a setting with
// what is wrong, never a guess. A whole TOML reader would be a library for two keys, and
// would not give the line of each.
func toml(text string) (out []setting) {
	table := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		bare := strings.TrimSpace(uncommented(lines[i]))
		at := setting{line: i + 1}
		switch key, value, isKey := strings.Cut(bare, "="); {
		case bare == "":
			continue
		case strings.HasPrefix(bare, "[") && strings.HasSuffix(bare, "]") && !strings.HasPrefix(bare, "[["):
			table = strings.Trim(strings.TrimSpace(bare[1:len(bare)-1]), `"'`) + "."
			if table == "spec." || table == "ignore." {
				continue
			}
			at.key = strings.TrimSuffix(table, ".")
			for i+1 < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i+1]), "[") {
				i++ // what stands in it is no mistake of its own
			}
		case !isKey || strings.TrimSpace(key) == "":
			at.wrong, at.do = "this is no key with a value", `write it as spec = "0.1"`
		default:
			at.key = table + strings.Trim(strings.TrimSpace(key), `"'`)
			value = strings.TrimSpace(value)
			for strings.HasPrefix(value, "[") && !closes(value) && i+1 < len(lines) {
				i++
				value += " " + strings.TrimSpace(uncommented(lines[i]))
			}
			at.take(value)
		}
		out = append(out, at)
	}
	return out
}

var number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// take reads a value. A version may be written as a number, for spec = 0.1 is what many
// write first and it can mean nothing else; a path may not.
func (s *setting) take(value string) {
	inside, opens := strings.CutPrefix(value, "[")
	if s.list = opens; opens {
		var closed bool
		if inside, closed = strings.CutSuffix(strings.TrimSpace(inside), "]"); !closed {
			s.wrong, s.do = "the list is never closed", "add a ] after its last entry"
			return
		}
	}
	if number.MatchString(inside) && !opens {
		s.values = append(s.values, inside)
		return
	}
	for rest := strings.TrimSpace(inside); rest != ""; {
		text, after, ok := quoted(rest)
		after = strings.TrimSpace(after)
		next, comma := strings.CutPrefix(after, ",")
		if !ok || after != "" && (!comma || !opens) {
			s.wrong, s.do = fmt.Sprintf("the value of %s cannot be read", s.key), `write texts in quotes, with commas between them in a list`
			return
		}
		s.values = append(s.values, text)
		rest = strings.TrimSpace(next)
	}
	if !opens && len(s.values) == 0 {
		s.wrong, s.do = s.key+" has no value", `write it in quotes, as in spec = "0.1"`
	}
}

// quoted takes a text in quotes off the front. Of the escapes only those of the quote and
// of the backslash are known, as no path needs another; a text with any other is refused,
// because half of an escape would be a path that somebody might have.
func quoted(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), s[i+1:], true
		case s[i] == '\\' && s[0] == '"' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case s[i] == '\\' && s[0] == '"':
			return "", "", false
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// outsideQuotes gives the offset of the first of some signs that stands in no quotes,
// or -1.
func outsideQuotes(s, signs string) int {
	var open byte
	for i := 0; i < len(s); i++ {
		switch {
		case open == '"' && s[i] == '\\':
			i++
		case open != 0 && s[i] == open:
			open = 0
		case open == 0 && strings.IndexByte(signs, s[i]) >= 0:
			return i
		case open == 0 && (s[i] == '"' || s[i] == '\''):
			open = s[i]
		}
	}
	return -1
}

// uncommented takes the comment off a line.
func uncommented(line string) string {
	if at := outsideQuotes(line, "#"); at >= 0 {
		return line[:at]
	}
	return line
}

// closes reports whether a list ends in a text.
func closes(s string) bool { return outsideQuotes(s, "]") >= 0 }
