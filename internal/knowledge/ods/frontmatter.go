package ods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attache/internal/brainfile"
)

// A frontmatter is read as far as it can be: each key is judged alone, and one that is
// wrong is a finding and no more, so that a slip in tags loses no dependency. There is
// one exception. Where a slip may hide share: private, the document counts as private:
// what was shown once cannot be taken back.

// say notes a finding that stands at a word.
func (r *read) say(rule string, level Level, at brainfile.Word, what, do string) {
	r.found = append(r.found, Finding{r.at.Wrong(at.Line, at.Col, what, do), rule, level})
}

// pairs gives the keys of a mapping, with a finding for each that stands twice.
func (r *read) pairs(n brainfile.Node) []brainfile.Pair {
	pairs, problems := n.Pairs()
	for _, p := range problems {
		r.found = append(r.found, Finding{p, "SYNTAX-001", LevelError})
	}
	return pairs
}

// top reads the keys of the frontmatter. A key of another program is kept: the files are
// read by editors and site generators too, and theirs is not ours to judge. An id at the
// top is such a key, for several of them have one.
func (r *read) top(n brainfile.Node) {
	for _, p := range r.pairs(n) {
		key := p.Key.Text
		switch {
		case key == "ods":
			r.engine(p.Value, p.Key)
		case key == "description":
			r.summary = r.text(p)
		case key == "title":
			r.say("SYNTAX-002", LevelError, p.Key, "the title stands in the frontmatter", "make it the first heading of the text")
		case slices.Contains(policyKeys(), key):
			r.say("PLACE-003", LevelError, p.Key, fmt.Sprintf("%s is a key of the workspace", key), "move it to ods.toml")
		case slices.Contains(engineKeys(), key) && key != "id":
			r.say("PLACE-002", LevelError, p.Key, fmt.Sprintf("%s stands outside of ods", key), "move it under ods:")
			r.private = r.private || key == "share" && r.text(p) == "private" // it was meant to be
		}
	}
}

// engine reads the keys under ods.
func (r *read) engine(n brainfile.Node, at brainfile.Word) {
	if !n.IsMap() {
		r.say("KEY-002", LevelError, at, "ods must be keys with values", "write them below it, indented")
		r.private = true // nobody knows what it was to say
		return
	}
	for _, p := range r.pairs(n) {
		switch key := p.Key.Text; key {
		case "id":
			r.ident(p)
		case "profile":
			r.ownProfile(p)
		case "status":
			r.oneOf(p, "ENUM-001", statuses())
		case "share":
			word := r.oneOf(p, "ENUM-002", shares())
			r.private = r.private || word != "public" && word != "org"
		case "depends":
			r.names.Depends = r.texts(p)
		case "related":
			r.names.Related = r.texts(p)
		case "resources":
			r.names.Resources = r.assets(p)
		case "code":
			r.names.Code = r.bindings(p)
		case "context":
			r.context(p)
		case "custom_profile", "custom-profile":
			r.say("PROF-006", LevelError, p.Key, "a profile is defined in a document", "take it out: this workspace knows the standard profiles")
		default:
			r.unknown(p.Key, engineKeys(), "ods")
		}
	}
}

// unknown tells of a key that has no effect under ods. Most of them are known words in
// the wrong place, so the finding names the right one; only the rest gets the nearest name.
func (r *read) unknown(key brainfile.Word, known []string, under string) {
	switch {
	case slices.Contains(universalKeys(), key.Text):
		r.say("PLACE-001", LevelWarning, key, key.Text+" stands under ods", "move it to the top of the frontmatter")
	case slices.Contains(policyKeys(), key.Text):
		r.say("PLACE-003", LevelError, key, key.Text+" is a key of the workspace", "move it to ods.toml")
	case under == "ods" && slices.Contains(contextKeys(), strings.ReplaceAll(key.Text, "_", "-")):
		r.say("KEY-001", LevelWarning, key, key.Text+" has no effect here", "write it under ods.context as "+strings.ReplaceAll(key.Text, "_", "-"))
	default:
		r.say("KEY-001", LevelWarning, key, fmt.Sprintf("the key %q is not known under %s", key.Text, under), brainfile.Suggest(key.Text, known, "remove it"))
	}
}

// ident takes an id of the document's own. It is lower case from here on, as every other
// name is: two disks that differ in their care for case must agree on what is the same.
func (r *read) ident(p brainfile.Pair) {
	word, ok := p.Value.Text()
	word.Text = strings.ToLower(strings.TrimSpace(word.Text))
	if !ok || !identity.MatchString(word.Text) {
		r.say("KEY-002", LevelError, p.Key, "the id is no name", "write letters, digits, and / _ - . between them")
		return
	}
	r.names.ID = word
}

var identity = regexp.MustCompile(`^[\pL\pN_][\pL\pN_./ -]*$`)

// ownProfile takes the profile as it is written, known or not: an unknown one is an error,
// and showing another in its place would hide which.
func (r *read) ownProfile(p brainfile.Pair) {
	if word := r.text(p); word != "" {
		r.profile = word
		if _, known := profiles()[word]; !known {
			r.say("PROF-001", LevelError, p.Key, fmt.Sprintf("there is no profile %q", word), brainfile.Suggest(word, profileNames(), ""))
		}
	}
}

// oneOf takes one of a few words; "" for none of them.
func (r *read) oneOf(p brainfile.Pair, rule string, words []string) string {
	word := r.text(p)
	if !slices.Contains(words, word) {
		r.say(rule, LevelError, p.Key, fmt.Sprintf("%s does not take %q", p.Key.Text, word), brainfile.Suggest(word, words, ""))
		return ""
	}
	return word
}

// text takes one line of text, white space in it as one space: a description that is
// folded over several lines in YAML is one line in a list of documents.
func (r *read) text(p brainfile.Pair) string {
	word, ok := p.Value.Text()
	if !ok {
		r.say("KEY-002", LevelError, p.Key, p.Key.Text+" must be text", "write one value")
	}
	return strings.Join(strings.Fields(word.Text), " ")
}

// texts takes a list of texts. A single text is taken as well, and said to be one.
func (r *read) texts(p brainfile.Pair) (out []brainfile.Word) {
	items, ok := p.Value.Items()
	if !ok {
		r.say("KEY-002", LevelError, p.Key, p.Key.Text+" must be a list", "write it in brackets, as in [a.md, b.md]")
		if word, one := p.Value.Text(); one {
			out = append(out, word)
		}
		return out
	}
	for _, n := range items {
		word, ok := n.Text()
		if !ok || strings.TrimSpace(word.Text) == "" {
			at := n.Wrong("", "")
			r.say("KEY-002", LevelError, brainfile.Word{Line: at.Line, Col: at.Col}, "an entry of "+p.Key.Text+" must be text", "write one path or id")
			continue
		}
		out = append(out, word)
	}
	return out
}

// context reads the bounds of the document's own reading list. What is wrong in ignore
// has a rule of its own, since a rule that is lost lets more be read and not less.
func (r *read) context(p brainfile.Pair) {
	if !p.Value.IsMap() {
		r.say("KEY-002", LevelError, p.Key, "context must be keys with values", "write max-depth, load and ignore below it, indented")
		return
	}
	for _, p := range r.pairs(p.Value) {
		switch p.Key.Text {
		case "max-depth":
			depth := -1
			if problems := p.Value.Decode(&depth); len(problems) > 0 || depth < 0 {
				r.say("CONTEXT-001", LevelError, p.Key, "max-depth is no whole number of 0 or more", "write it in digits, as in max-depth: 2")
			} else {
				r.names.Depth = depth
			}
		case "load":
			r.names.Load = r.texts(p)
		case "ignore":
			before := len(r.found)
			r.names.Ignore = r.texts(p)
			for i := before; i < len(r.found); i++ {
				r.found[i].Rule = "CONTEXT-002"
			}
		default:
			r.unknown(p.Key, contextKeys(), "ods.context")
		}
	}
}

// assets takes the paths of resources: texts, or mappings with a path. What has the
// form of a web address is nobody's file.
func (r *read) assets(p brainfile.Pair) (out []brainfile.Word) {
	for _, n := range r.entries(p) {
		if word := r.pathOf(p, n, []string{"path", "description"}, nil); word.Text != "" && !strings.Contains(word.Text, "://") {
			out = append(out, word)
		}
	}
	return out
}

// bindings takes the entries of code. One that names a line is left out of everything
// that follows: whether the file is there is no question while its name is wrong.
func (r *read) bindings(p brainfile.Pair) (out []Binding) {
	for _, n := range r.entries(p) {
		var b Binding
		b.Path = r.pathOf(p, n, []string{"path", "role", "symbol", "description"}, func(q brainfile.Pair) {
			switch q.Key.Text {
			case "role":
				r.oneOf(q, "ENUM-003", roles())
			case "symbol":
				b.Symbol, _ = q.Value.Text()
			}
		})
		if lineNumber.MatchString(b.Path.Text) {
			r.say("ASSET-003", LevelError, b.Path, "the path names a line", "leave it out and name a symbol: lines move")
			continue
		}
		if b.Path.Text != "" {
			out = append(out, b)
		}
	}
	return out
}

var lineNumber = regexp.MustCompile(`(:L?\d+(-L?\d+)?|#L\d+(-L?\d+)?)$`)

// entries gives the entries of a list; what is no list has none.
func (r *read) entries(p brainfile.Pair) []brainfile.Node {
	items, ok := p.Value.Items()
	if !ok {
		r.say("KEY-002", LevelError, p.Key, p.Key.Text+" must be a list", "write one entry a line, as in - path: file")
	}
	return items
}

// pathOf takes the path of an entry, and gives its other keys to also.
func (r *read) pathOf(p brainfile.Pair, n brainfile.Node, known []string, also func(brainfile.Pair)) brainfile.Word {
	if word, ok := n.Text(); ok {
		return word
	}
	at := n.Wrong("", "")
	here := brainfile.Word{Line: at.Line, Col: at.Col}
	if !n.IsMap() {
		r.say("KEY-002", LevelError, here, "an entry of "+p.Key.Text+" is neither a path nor keys", "write it as path: file")
		return brainfile.Word{}
	}
	var out brainfile.Word
	for _, q := range r.pairs(n) {
		switch {
		case q.Key.Text == "path":
			out, _ = q.Value.Text()
		case !slices.Contains(known, q.Key.Text):
			r.unknown(q.Key, known, "ods."+p.Key.Text)
		case also != nil:
			also(q)
		}
	}
	if strings.TrimSpace(out.Text) == "" {
		r.say("KEY-002", LevelError, here, "an entry of "+p.Key.Text+" has no path", "add path: file")
		return brainfile.Word{}
	}
	return out
}
