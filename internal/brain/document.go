package brain

import (
	"path"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/prompt"
)

// knowledge takes up a document of a pack: top is the folder that the packs stand
// in. A document that does not load, or that is private, is in no index: an index
// is read by whoever talks to the bot.
func (g *gather) knowledge(f *brainfile.File, top string) {
	name := strings.TrimPrefix(f.Path, top+"/")
	pack, below, deep := strings.Cut(name, "/")
	switch {
	case path.Ext(f.Path) != ".md":
		return
	case !deep && name == "README.md":
		return
	case !deep:
		g.wrong(f.Wrong(1, 1, "the document belongs to no pack", "move it to "+top+"/<pack>/"))
		return
	}
	folder := top + "/" + pack
	read := brainfile.Once(f, readDocument)
	g.wrong(read.problems...)
	list := g.sources.Packs[folder]
	if len(read.problems) == 0 && !read.private {
		doc := read.entry
		doc.Path = below
		if doc.ID == "" {
			doc.ID = strings.ToLower(strings.TrimSuffix(below, ".md"))
		}
		list = append(list, doc)
	}
	g.sources.Packs[folder] = list // also without a document: the pack is there
}

// documentRead is what a document says of itself, wherever its pack is.
type documentRead struct {
	entry    prompt.Document // without Path; without ID unless the document gives one
	private  bool
	problems []attache.Problem
}

// readDocument reads the head of an open document. Its frontmatter may be left out
// and may hold keys of other programs; what its own keys must be like is for
// `attache ods lint` to say.
func readDocument(f *brainfile.File) (out documentRead) {
	front := brainfile.Front{Body: f.Text}
	if first, _, _ := strings.Cut(f.Text, "\n"); f.Trouble != nil || strings.TrimRight(first, " \t") == "---" {
		front, out.problems = f.Frontmatter()
	}
	ods := value(front.Head, "ods")
	out.entry = prompt.Document{
		ID:      strings.ToLower(text(value(ods, "id"))),
		Kind:    text(value(ods, "profile")),
		Title:   heading(front.Body),
		Summary: text(value(front.Head, "description")),
	}
	if out.entry.Kind == "" {
		out.entry.Kind = "note"
	}
	out.private = text(value(ods, "share")) == "private"
	return out
}

// value gives what stands under a key of a mapping, the zero Node for nothing.
func value(n brainfile.Node, key string) brainfile.Node {
	pairs, _ := n.Pairs()
	for _, p := range pairs {
		if p.Key.Text == key {
			return p.Value
		}
	}
	return brainfile.Node{}
}

func text(n brainfile.Node) string {
	word, _ := n.Text()
	return strings.Join(strings.Fields(word.Text), " ")
}

// heading gives the first heading of a Markdown text, "" for none. What stands in a
// fence of code is no heading.
func heading(body string) string {
	fence, before := "", ""
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimLeft(line, " ")
		mark := fenceMark(bare)
		switch {
		case len(line)-len(bare) > 3:
			before = ""
			continue
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == bare {
				fence = ""
			}
			continue
		case mark != "":
			fence, before = mark, ""
			continue
		case before != "" && bare != "" && (strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == ""):
			return before
		}
		level := len(bare) - len(strings.TrimLeft(bare, "#"))
		if before = bare; level >= 1 && level <= 6 && strings.HasPrefix(bare[level:], " ") {
			if title := closed(strings.TrimSpace(bare[level:])); title != "" {
				return title
			}
			before = ""
		}
	}
	return ""
}

// fenceMark gives the run of ` or ~ that opens or closes a fence of code.
func fenceMark(line string) string {
	for _, sign := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, sign))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// closed takes away the signs that may close a heading.
func closed(title string) string {
	bare := strings.TrimRight(title, "#")
	if bare == "" || strings.HasSuffix(bare, " ") {
		return strings.TrimSpace(bare)
	}
	return title
}
