package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/knowledge"
	"attache/internal/tools"
)

// knowing gives the door to the tools of a knowledge.
func knowing(t *testing.T, files ...string) func(tool, args string) map[string]any {
	t.Helper()
	var all []*brainfile.File
	folders := map[string]bool{}
	for i := 0; i < len(files); i += 2 {
		all = append(all, brainfile.New(files[i], []byte(files[i+1])))
		folders[strings.Join(strings.Split(files[i], "/")[:2], "/")] = true
	}
	var list []string
	for folder := range folders {
		list = append(list, folder)
	}
	r, err := tools.New(KnowledgeTools(knowledge.NewLibrary(brainfile.Of(all...), list)))
	if err != nil {
		t.Fatal(err)
	}
	return func(tool, args string) map[string]any {
		t.Helper()
		got, err := r.Run(t.Context(), attache.Call{ID: "1", Tool: tool, Args: json.RawMessage(args)}, tools.Grant{Capabilities: []string{"knowledge:read"}})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]any{}
		if err := json.Unmarshal([]byte(got.Text), &out); err != nil {
			t.Fatal(err)
		}
		if len(got.Text) > 32<<10 {
			t.Errorf("%s %s answers %d bytes", tool, args, len(got.Text))
		}
		return out
	}
}

// row K6
func TestKnowledgeToolsRefuse(t *testing.T) {
	ask := knowing(t, "knowledge/shop/a.md", "# A\n\nwords\n", "knowledge/shop/secret.md", "---\nods: { share: private }\n---\n# Hidden\n", "knowledge/shop/broken.md", "---\nods: [\n---\n# Hidden\n")
	for _, c := range []struct{ tool, args, want string }{
		{"knowledge_search", `{"query":" "}`, "the query is blank"},
		{"knowledge_search", `{"query":"a","pack":"shpo"}`, `there is no pack "shpo"; did you mean shop?`},
		{"knowledge_search", `{"query":"a","limit":21}`, "limit is 21; give 1 to 20"},
		{"knowledge_search", `{"query":"a","limit":-1}`, "limit is -1; give 1 to 20"},
		{"knowledge_tree", `{"pack":"x"}`, `there is no pack "x"; the right ones are shop`},
		{"knowledge_tree", `{"id":"shop/secret"}`, "shop/secret cannot be read: it is private"},
		{"knowledge_tree", `{"id":"shop/b"}`, `there is no document "shop/b"`},
		{"knowledge_read", `{"id":"shop/secret"}`, "shop/secret is private, so no agent reads it"},
		{"knowledge_read", `{"id":"shop/broken"}`, "cannot be read"},
		{"knowledge_read", `{"id":"../../etc/passwd"}`, `there is no document "../../etc/passwd"`},
		{"knowledge_read", `{"id":"shop/a","maxTokens":8001}`, "maxTokens is 8001; give 1 to 8000"},
		{"knowledge_read", `{"id":"shop/a","maxTokens":1}`, "alone has 5 tokens, and the limit is 1; raise the limit"},
	} {
		got := ask(c.tool, c.args)
		if say, _ := got["error"].(string); got["ok"] != false || !strings.Contains(say, c.want) {
			t.Errorf("%s %s answers %v, want %q", c.tool, c.args, got, c.want)
		}
	}
	for _, call := range []struct{ tool, args string }{{"knowledge_search", `{"query":"hidden"}`}, {"knowledge_tree", `{}`}} {
		if got := fmt.Sprint(ask(call.tool, call.args)); strings.Contains(got, "Hidden") || strings.Contains(got, "secret") || strings.Contains(got, "broken") {
			t.Errorf("%s tells of what nobody may read: %s", call.tool, got)
		}
	}
}

// However much there is, an answer is short enough to be read, and what is in it is
// whole: the document itself, and as much of what it needs as has room.
//
// row K6
func TestKnowledgeToolsAreBounded(t *testing.T) {
	long := strings.Repeat("Ein Wort über \"Rückgaben\" <und> mehr.\n", 250)
	files := []string{"knowledge/shop/huge.md", strings.Repeat(long, 8)}
	var needs []string
	for i := range 300 {
		name := fmt.Sprintf("d%d", i)
		files = append(files, "knowledge/shop/"+name+".md", "# "+name+"\n\n"+long)
		needs = append(needs, name+".md")
	}
	files = append(files, "knowledge/shop/top.md", "---\nods: { depends: ["+strings.Join(needs, ", ")+"] }\n---\n# Top\n")
	ask := knowing(t, files...)
	got := ask("knowledge_read", `{"id":"shop/top","maxTokens":8000}`)
	list, _ := got["files"].([]any)
	if len(list) < 2 || got["truncated"] != true {
		t.Fatalf("%d files: %v", len(list), got["error"])
	}
	if last := list[len(list)-1].(map[string]any); last["id"] != "shop/top" || last["text"] != "# Top\n" {
		t.Errorf("the last is %v", last["id"])
	}
	for _, file := range list[:len(list)-1] {
		if text := file.(map[string]any)["text"].(string); !strings.HasSuffix(text, long) {
			t.Error("a file is not whole")
		}
	}
	if say, _ := ask("knowledge_read", `{"id":"shop/huge","maxTokens":8000}`)["error"].(string); !strings.Contains(say, "tokens") {
		t.Errorf("a document that is too long: %q", say)
	}
	tree := ask("knowledge_tree", `{}`)["packs"].([]any)[0].(map[string]any)
	if len(tree["documents"].([]any)) != 200 || tree["more"] != 102.0 {
		t.Errorf("%d documents and %v more", len(tree["documents"].([]any)), tree["more"])
	}
	found := ask("knowledge_search", `{"query":"rückgaben","limit":20}`)
	if len(found["results"].([]any)) != 20 || found["more"] != 281.0 {
		t.Errorf("%d results and %v more", len(found["results"].([]any)), found["more"])
	}
}

// A brain without packs has no tools for them.
func TestNoKnowledgeNoTools(t *testing.T) {
	if got := KnowledgeTools(knowledge.NewLibrary(brainfile.Of(), nil)); len(got.Tools) > 0 {
		t.Errorf("%d tools", len(got.Tools))
	}
}
