package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"attache"

	"pgregory.net/rapid"
)

func TestForGivesWhatCapabilitiesAllow(t *testing.T) {
	r := registry(t,
		tool("zeta", "notify:send", attache.RiskSafe, nil),
		tool("alpha", "notify:read", attache.RiskSafe, nil),
		tool("beta", "notify", attache.RiskSafe, nil),
		tool("gamma", "notifyx:send", attache.RiskSafe, nil),
		tool("Delta", "a:b:c", attache.RiskDangerous, nil),
	)
	for _, c := range []struct {
		capabilities []string
		want         string
	}{
		{nil, ""},
		{[]string{}, ""},
		{[]string{""}, ""},
		{[]string{"notify:send"}, "zeta"},
		{[]string{"notify:*"}, "alpha zeta"},
		{[]string{"notify"}, "beta"},
		{[]string{"*"}, "Delta alpha beta gamma zeta"},
		{[]string{"a:*", "notify"}, "Delta beta"},
		{[]string{"a:b:*"}, "Delta"},
		{[]string{":*"}, ""},
		{[]string{"not*"}, ""},
		{[]string{"notify:s*"}, ""},
		{[]string{"**"}, ""},
		{[]string{"zeta"}, ""}, // a tool's name is no capability
		{[]string{"Notify:send"}, ""},
		{[]string{"notify:send", "notify:*"}, "alpha zeta"},
	} {
		var names []string
		for _, tool := range r.For(c.capabilities) {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("For(%q) gives %q, want %q", c.capabilities, got, c.want)
		}
	}
}

// The order of owners must not reach a prompt's front (decisions § 4.1).
func TestForIsSortedWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-zA-Z0-9_-]{1,8}`), rapid.ID[string]).Draw(t, "names")
		var owned []Owned
		for _, n := range names {
			owned = append(owned, Owned{"o", []attache.Tool{tool(n, "x", attache.RiskSafe, nil)}})
		}
		r, err := New(owned...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range r.For([]string{"x"}) {
			got = append(got, tool.Name)
		}
		if slices.Sort(names); !slices.Equal(got, names) {
			t.Fatalf("%q, want %q", got, names)
		}
	})
}

func TestNewNamesEveryMistake(t *testing.T) {
	noRun := tool("none", "x", attache.RiskSafe, nil)
	noRun.Run = nil
	schema := func(name, s string) attache.Tool {
		t := tool(name, "x", attache.RiskSafe, nil)
		t.Schema = json.RawMessage(s)
		return t
	}
	_, err := New(
		Owned{"internal/builtin", []attache.Tool{tool("close", "x", attache.RiskSafe, nil)}},
		Owned{"features/support/close.tool.md", []attache.Tool{tool("close", "x", attache.RiskSafe, nil)}},
		Owned{"somebody", []attache.Tool{
			tool("a b", "x", attache.RiskSafe, nil),
			tool("", "x", attache.RiskSafe, nil),
			tool("free", "", attache.RiskSafe, nil),
			tool("odd", "x", "harmless", nil),
			noRun,
			schema("gone", ``),
			schema("list", `{"type":"array"}`),
			schema("far", `{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`),
			schema("self", `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`),
			schema("loop", `{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}},"$defs":{"y":{"allOf":[true,{"not":{"$ref":"#/properties/x"}}]}}}`),
			schema("root", `{"type":"object","if":{"$ref":"#"}}`),
			schema("lost", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`),
			schema("dynamic", `{"type":"object","properties":{"a":{"$dynamicRef":"#m"}}}`),
			schema("re", `{"type":"object","properties":{"a":{"pattern":"("}}}`),
		}},
	)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		"two tools are called close, one of internal/builtin and one of features/support/close.tool.md; rename one",
		`the tool "a b" of somebody has a name that models cannot call; use up to 64 letters, digits, _ and -`,
		`the tool "" of somebody has a name that models cannot call; use up to 64 letters, digits, _ and -`,
		`the tool "free" of somebody names no capability, so no role could be given it`,
		`the tool "odd" of somebody has the risk "harmless"; write safe, moderate or dangerous`,
		`the tool "none" of somebody does nothing: it has no function`,
		"the schema of the tool gone of somebody cannot be used: ",
		"the schema of the tool list of somebody cannot be used: its type is not object",
		"the schema of the tool far of somebody cannot be used: ",
		"the schema of the tool self of somebody cannot be used: it refers to itself without going deeper into the value, so checking would never end",
		"the schema of the tool loop of somebody cannot be used: it refers to itself",
		"the schema of the tool root of somebody cannot be used: it refers to itself",
		`the schema of the tool lost of somebody cannot be used: it refers to "#/$defs/b", which it does not hold`,
		"the schema of the tool dynamic of somebody cannot be used: it uses $dynamicRef; use $ref",
		"the schema of the tool re of somebody cannot be used: ",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d: want %q of\n%s", i, want, err)
		}
	}
}

// A schema may refer to itself one step deeper: a tree of things is one.
func TestRecursiveSchema(t *testing.T) {
	tree := tool("tree", "x", attache.RiskSafe, nil)
	tree.Schema = json.RawMessage(`{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"additionalProperties":false}}}`)
	r := registry(t, tree)
	if _, refusal, ok := r.Check(call("tree", `{"root":{"name":"a","kids":[{"name":"b","kids":[]}]}}`), all()); !ok {
		t.Error(refusal.Text)
	}
	if _, _, ok := r.Check(call("tree", `{"root":{"name":"a","kids":[{"name":5}]}}`), all()); ok {
		t.Error("a wrong leaf is let through")
	}
}
