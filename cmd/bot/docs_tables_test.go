package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"attache"
	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/builtin"
)

// The table of MANIFEST's knobs has every key of the file, and its defaults are those
// that hold: a MANIFEST that says them all is the same as none.
func TestDocumentedKnobs(t *testing.T) {
	_, table, _ := strings.Cut(docPages(t)["../../docs/brain.md"], "## constitution/MANIFEST.yaml")
	table, _, _ = strings.Cut(table, "A **model** has")
	code := regexp.MustCompile("`([^`]+)`")
	documented := map[string]map[string]string{} // by section and key; the key "" is the section's own
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \| (.+?) \|`).FindAllStringSubmatch(table, -1) {
		defaults := code.FindAllStringSubmatch(row[2], -1)
		section := ""
		for i, name := range code.FindAllStringSubmatch(row[1], -1) {
			before, key, nested := strings.Cut(name[1], ".")
			if before != "" {
				section = before
			}
			if !nested {
				key = ""
			}
			if documented[section] == nil {
				documented[section] = map[string]string{}
			}
			documented[section][key] = ""
			if i < len(defaults) {
				documented[section][key] = defaults[i][1]
			}
		}
	}
	var said strings.Builder
	for _, section := range slices.Sorted(maps.Keys(documented)) {
		keys := documented[section]
		if own := keys[""]; own != "" {
			fmt.Fprintf(&said, "%s: %s\n", section, own)
		}
		for i, key := range slices.Sorted(maps.Keys(keys)) {
			if key == "" || keys[key] == "" {
				continue
			}
			if i == 0 {
				fmt.Fprintf(&said, "%s:\n", section)
			}
			fmt.Fprintf(&said, "  %s: %s\n", key, keys[key])
		}
	}
	load := func(manifest string) constitution.Manifest {
		b, problems, err := brain.Load(brainFiles(t, map[string]string{"constitution/MANIFEST.yaml": manifest}), nil)
		if ofManifest := func(p attache.Problem) bool { return p.File == constitution.ManifestPath }; err != nil || slices.ContainsFunc(problems, ofManifest) {
			t.Fatalf("%v, %v in\n%s", err, problems, manifest)
		}
		return b.Frame.Manifest
	}
	want, got := load("name: x\n"), load("name: x\n"+said.String())
	want.Lines, got.Lines, want.Contexts.Lines, got.Contexts.Lines = nil, nil, nil, nil
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the defaults are\n%+v\nand docs/brain.md says\n%+v", want, got)
	}
	for section, keys := range manifestKeys(reflect.TypeFor[constitution.Manifest]()) {
		for _, key := range keys {
			if _, ok := documented[section][key]; !ok {
				t.Errorf("docs/brain.md does not have the knob %s.%s", section, key)
			}
		}
	}
}

// manifestKeys lists the keys of each section of MANIFEST, "" for a section that has
// none of its own.
func manifestKeys(manifest reflect.Type) map[string][]string {
	out := map[string][]string{}
	for f := range manifest.Fields() {
		section, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		out[section] = nil
		if f.Type.Kind() == reflect.Struct {
			for k := range f.Type.Fields() {
				if key := k.Tag.Get("yaml"); key != "" {
					out[section] = append(out[section], key)
				}
			}
		}
		if section = strings.TrimSpace(section); len(out[section]) == 0 {
			out[section] = []string{""}
		}
		if f.Type.Kind() == reflect.Map {
			out[section] = []string{"<name>"}
		}
	}
	return out
}

// The tables of keys have every key that the loader takes, and no other: its own words
// on a key that it does not know are the list. Keys without effect stand at the page's
// end.
func TestDocumentedKeys(t *testing.T) {
	page := docPages(t)["../../docs/brain.md"]
	_, idle, _ := strings.Cut(page, "## Read, and without effect yet")
	code := regexp.MustCompile("`([^`]+)`")
	for _, c := range []struct{ head, file, text string }{
		{"| key of a bot |", "constitution/access.yaml", "bots:\n  nova: { zzzzzzzz: 1 }\n"},
		{"| key of a rule |", "constitution/access.yaml", "bots:\n  nova:\n    chats:\n      \"tg:chat:-1\": { role: r, zzzzzzzz: 1 }\n"},
		{"## A role: ", "features/f/r.agent.md", "---\nzzzzzzzz: 1\n---\n"},
		{"## A context: ", "features/f/c.context.md", "---\nwhen: [ask]\nzzzzzzzz: 1\n---\n"},
		{"## A heartbeat: ", "features/f/h.heartbeat.md", "---\ncron: 0 9 * * *\nagent: r\nzzzzzzzz: 1\n---\n"},
		{"## A SQL tool: ", "features/f/t.tool.md", "---\ndescription: d\ncapability: a:b\nrisk: safe\nsql: select 1\nzzzzzzzz: 1\n---\n"},
	} {
		_, table, _ := strings.Cut(page, c.head)
		if !strings.HasPrefix(c.head, "|") {
			_, table, _ = strings.Cut(table, "| key | default |")
		}
		table, _, _ = strings.Cut(table, "\n\n")
		var told []string
		for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \|`).FindAllStringSubmatch(table, -1) {
			for _, m := range code.FindAllStringSubmatch(row[1], -1) {
				told = append(told, m[1])
			}
		}
		_, problems, err := brain.Load(brainFiles(t, map[string]string{c.file: c.text}), nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(problems, func(p attache.Problem) bool { return strings.Contains(p.What, "zzzzzzzz") })
		if at < 0 {
			t.Fatalf("%s takes the key: %v", c.file, problems)
		}
		_, list, _ := strings.Cut(problems[at].Do, "the right ones are ")
		taken := slices.DeleteFunc(strings.Split(list, ", "), func(key string) bool { return !slices.Contains(told, key) && strings.Contains(idle, "`"+key+"`") })
		slices.Sort(told)
		if slices.Sort(taken); !slices.Equal(told, taken) {
			t.Errorf("%s\nthe loader takes %s\ndocs/brain.md says %s", c.head, taken, told)
		}
	}
}

// The table of built-in tools has each tool with its capability and its arguments, and
// no tool that is not there.
func TestDocumentedTools(t *testing.T) {
	b, _, err := brain.Load(exampleBrain(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	owned := slices.Concat(builtin.Tools(builtin.Deps{}).Tools, builtin.RoomTools(builtin.Rooms{}).Tools, builtin.LedgerTools(builtin.Ledger{}).Tools,
		builtin.KnowledgeTools(b.Knowledge()).Tools, []attache.Tool{builtin.DoctorCheck(nil)})
	_, table, _ := strings.Cut(docPages(t)["../../docs/brain.md"], "## Built-in tools")
	table, _, _ = strings.Cut(table, "## State views")
	documented := map[string][2]string{} // by name: arguments and capability
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+?\\)`) \\| `(.+?)` \\|").FindAllStringSubmatch(table, -1) {
		for _, m := range regexp.MustCompile("`(\\w+)\\((.*?)\\)`").FindAllStringSubmatch(row[1], -1) {
			documented[m[1]] = [2]string{strings.NewReplacer("?", "", "\\|", ", ").Replace(m[2]), row[2]}
		}
	}
	for _, tool := range owned {
		row, ok := documented[tool.Name]
		delete(documented, tool.Name)
		if !ok || row[1] != tool.Capability {
			t.Errorf("%s, under %s, stands in docs/brain.md as %q", tool.Name, tool.Capability, row)
		}
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		args := strings.Split(row[0], ", ")
		for name := range schema.Properties {
			if !slices.Contains(args, name) && !slices.Contains(args, "…") {
				t.Errorf("%s takes %s, and docs/brain.md does not say so: %q", tool.Name, name, args)
			}
		}
		for _, name := range args {
			if _, ok := schema.Properties[name]; !ok && name != "" && name != "…" {
				t.Errorf("docs/brain.md says that %s takes %s", tool.Name, name)
			}
		}
	}
	delete(documented, "context_open") // the mind's own
	for name := range documented {
		t.Errorf("docs/brain.md tells of a tool %s, and there is none", name)
	}
}
