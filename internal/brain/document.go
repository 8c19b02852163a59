package brain

import (
	"path"
	"strings"

	"attache"
	"attache/contexts"
	"attache/internal/brainfile"
	"attache/internal/knowledge"
	"attache/internal/knowledge/reading"
	"attache/internal/prompt"
)

// knowledge notes the pack of a file: top is the folder that the packs stand in.
func (g *gather) knowledge(f *brainfile.File, top string) {
	name := strings.TrimPrefix(f.Path, top+"/")
	pack, _, deep := strings.Cut(name, "/")
	switch {
	case deep:
		g.sources.Packs[top+"/"+pack] = nil // also without a document: the pack is there
	case path.Ext(f.Path) == ".md" && name != "README.md":
		g.wrong(f.Wrong(1, 1, "the document belongs to no pack", "move it to "+top+"/<pack>/"))
	}
}

// index gives the packs to the prompts. A document that does not load, or that is
// private, is in no index: an index is read by whoever talks to the bot.
func (g *gather) index(library *knowledge.Library) {
	g.shelf.knowledge = library
	g.wrong(library.Problems()...)
	for _, pack := range library.Packs() {
		for _, d := range pack.Documents() {
			if !d.Private {
				g.sources.Packs[pack.Folder] = append(g.sources.Packs[pack.Folder],
					prompt.Document{Path: d.Path, ID: d.ID, Kind: d.Profile, Title: d.Title, Summary: d.Summary})
			}
		}
	}
}

// Knowledge gives every pack of the brain.
func (b *Brain) Knowledge() *knowledge.Library { return b.shelf.knowledge }

// papers tells of documents that the data of contexts names and that are not there:
// the tail says that such a one is missing.
func (b *Brain) papers() []attache.Problem {
	var out []attache.Problem
	for f := range b.Contexts.Files() {
		for _, d := range f.Data {
			if d.Document == "" {
				continue
			}
			if problem := b.paper(d); problem != nil {
				problem.File, problem.Line, problem.Col = f.Path, d.Line, d.Col
				out = append(out, *problem)
			}
		}
	}
	return out
}

// paper says why a document cannot be carried, nil when it can. Only where there is a
// limit its tokens are counted.
func (b *Brain) paper(data contexts.Data) *attache.Problem {
	name := data.Document
	_, d, err := b.Knowledge().Find(name)
	switch {
	case err != nil:
		what, do, _ := strings.Cut(attache.Sentence(err), "; ")
		return &attache.Problem{What: what, Do: do}
	case d.Broken != "":
		return &attache.Problem{What: "the document " + name + " does not load: " + d.Broken, Do: "mend its frontmatter"}
	case d.Private:
		return &attache.Problem{What: "the document " + name + " is private, so no turn may carry it", Do: "set its ods.share to public or org, or take it out"}
	case data.MaxTokens == nil:
		return nil
	}
	if _, err := b.Knowledge().ReadingList(name, reading.Options{MaxTokens: *data.MaxTokens}); err != nil {
		what, _, _ := strings.Cut(attache.Sentence(err), "; ")
		return &attache.Problem{What: what, Do: "raise maxTokens, or split the document"}
	}
	return nil
}
