package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/reading"
	"attache/internal/tools"
)

//go:embed words/knowledge_search.md
var knowledgeSearchWords string

//go:embed words/knowledge_tree.md
var knowledgeTreeWords string

//go:embed words/knowledge_read.md
var knowledgeReadWords string

// What the tools answer at most: a model reads no list of thousands, and a result that
// is longer than the registry lets through would lose its end, where the document is.
const (
	mostHits      = 20
	someHits      = 8
	mostDocuments = 200
	someTokens    = 3000
	mostTokens    = 8000
	mostBytes     = 30 << 10
)

// KnowledgeTools gives the tools that read a brain's knowledge (matrix K6): all of its
// packs, and never a private document. They tell nothing of a chat, so a pin does not
// change them. A brain without packs has none of them.
func KnowledgeTools(l *knowledge.Library) tools.Owned {
	owned := tools.Owned{Owner: "internal/knowledge"}
	if len(l.Packs()) == 0 {
		return owned
	}
	k := papers{l}
	tool := func(name, text string) attache.Tool {
		return attache.Tool{Name: name, Description: words(text), Capability: "knowledge:read", Risk: attache.RiskSafe}
	}
	owned.Tools = []attache.Tool{
		tools.Make(tool("knowledge_search", knowledgeSearchWords), k.search),
		tools.Make(tool("knowledge_tree", knowledgeTreeWords), k.tree),
		tools.Make(tool("knowledge_read", knowledgeReadWords), k.read),
	}
	return owned
}

type papers struct{ *knowledge.Library }

type searchArgs struct {
	Query string `json:"query" jsonschema:"a few words"`
	Pack  string `json:"pack,omitempty" jsonschema:"only in this pack; left out: in all"`
	Limit int    `json:"limit,omitempty" jsonschema:"results at most, 1 to 20; left out: 8"`
}

func (k papers) search(_ context.Context, _ attache.Call, args searchArgs) attache.Result {
	if strings.TrimSpace(args.Query) == "" {
		return attache.Refused("the query is blank; give a few words that the document has")
	}
	if refused := k.unknown(args.Pack); refused != "" {
		return attache.Refused(refused)
	}
	if args.Limit == 0 {
		args.Limit = someHits
	}
	if args.Limit < 1 || args.Limit > mostHits {
		return attache.Refused(fmt.Sprintf("limit is %d; give 1 to %d", args.Limit, mostHits))
	}
	hits, more := k.Search(args.Query, args.Pack, args.Limit)
	results := []any{}
	for _, h := range hits {
		results = append(results, map[string]any{"id": h.Name, "pack": h.Pack, "title": h.Title, "summary": h.Summary, "kind": h.Profile, "line": h.Line})
	}
	return attache.OK(map[string]any{"results": results, "more": more})
}

// unknown is the sentence on a pack that there is not, "" for one that there is.
func (k papers) unknown(pack string) string {
	if pack == "" {
		return ""
	}
	var names []string
	for _, s := range k.Packs() {
		if strings.EqualFold(s.Name, pack) {
			return ""
		}
		names = append(names, s.Name)
	}
	return fmt.Sprintf("there is no pack %q; %s", pack, brainfile.Suggest(pack, names, "knowledge_tree lists them"))
}

type treeArgs struct {
	Pack string `json:"pack,omitempty" jsonschema:"only this pack"`
	ID   string `json:"id,omitempty" jsonschema:"the neighbours of this document, in place of a list"`
}

func (k papers) tree(_ context.Context, _ attache.Call, args treeArgs) attache.Result {
	if args.ID != "" {
		return k.neighbours(args.ID)
	}
	if refused := k.unknown(args.Pack); refused != "" {
		return attache.Refused(refused)
	}
	packs, room := []any{}, mostDocuments
	for _, s := range k.Packs() {
		if args.Pack != "" && !strings.EqualFold(s.Name, args.Pack) {
			continue
		}
		open := s.Open()
		listed := open[:min(len(open), room)]
		room -= len(listed)
		packs = append(packs, map[string]any{"pack": s.Name, "documents": named(s, listed), "more": len(open) - len(listed)})
	}
	return attache.OK(map[string]any{"packs": packs})
}

// named gives documents as a list shows them.
func named(s *knowledge.Shelf, docs []*ods.Document) []any {
	out := []any{}
	for _, d := range docs {
		if !d.Private {
			out = append(out, map[string]any{"id": s.NameOf(d), "title": d.Title, "kind": d.Profile})
		}
	}
	return out
}

func (k papers) neighbours(id string) attache.Result {
	s, d, err := k.Find(id)
	if err != nil {
		return attache.Refused(attache.Sentence(err))
	}
	if d.Private {
		return attache.Refused(id + " cannot be read: it is private, or its frontmatter is broken")
	}
	var needs []*ods.Document
	for _, other := range s.Open() {
		for _, on := range s.Depends(other) {
			if on == d {
				needs = append(needs, other)
			}
		}
	}
	needs = needs[:min(len(needs), mostDocuments)]
	return attache.OK(map[string]any{"id": s.NameOf(d), "title": d.Title, "summary": d.Summary, "kind": d.Profile,
		"depends": named(s, s.Depends(d)), "neededBy": named(s, needs), "related": named(s, s.Related(d))})
}

type readArgs struct {
	ID        string `json:"id" jsonschema:"the document, as pack/id"`
	MaxTokens int    `json:"maxTokens,omitempty" jsonschema:"of all texts together, 1 to 8000; left out: 3000"`
	Related   bool   `json:"related,omitempty" jsonschema:"also the documents that it names as related"`
}

// read answers with a reading list. One that would be longer than a result may be is
// made again with fewer tokens, so that what is in it stays whole.
func (k papers) read(_ context.Context, _ attache.Call, args readArgs) attache.Result {
	if args.MaxTokens == 0 {
		args.MaxTokens = someTokens
	}
	if args.MaxTokens < 1 || args.MaxTokens > mostTokens {
		return attache.Refused(fmt.Sprintf("maxTokens is %d; give 1 to %d", args.MaxTokens, mostTokens))
	}
	o := reading.Options{MaxTokens: args.MaxTokens, WithRelated: args.Related}
	for {
		list, err := k.ReadingList(args.ID, o)
		if err != nil {
			return attache.Refused(attache.Sentence(err))
		}
		result := attache.OK(fieldsOf(list))
		if len(result.Text) <= mostBytes {
			return result
		}
		entry := list.Items[len(list.Items)-1]
		fewer := max(list.Total-1-list.Total/8, entry.Tokens, 1)
		if fewer >= o.MaxTokens || len(list.Items) == 1 {
			return attache.Refused(fmt.Sprintf("%s is too long to be read here, with %d tokens; a person can split it", list.ID, entry.Tokens))
		}
		o.MaxTokens = fewer
	}
}

// fieldsOf gives a list as the fields of a result.
func fieldsOf(list *reading.List) map[string]any {
	fields := map[string]any{}
	text, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		panic("builtin: a reading list is always JSON: " + err.Error())
	}
	return fields
}
