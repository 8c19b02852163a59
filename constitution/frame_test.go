package constitution

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brainfile"
)

// brain makes a tree from pairs of path and text.
func brain(pairs ...string) *brainfile.Tree {
	var files []*brainfile.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, brainfile.New(pairs[i], []byte(pairs[i+1])))
	}
	return brainfile.Of(files...)
}

// Each archive is a small brain and, in the file named want, every sentence that
// it earns. Run with -update to write them anew, and read the difference.
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 20, 1, func(t *testing.T, in []txtar.File) []string {
		var pairs []string
		for _, f := range in {
			pairs = append(pairs, f.Name, string(f.Data))
		}
		_, problems := Read(brain(pairs...), "shop", nil)
		if len(problems) == 0 {
			t.Error("nothing is wrong with it")
		}
		return []string{archivetest.Sentences(problems)}
	})
}

// The MANIFEST of interface § 3, word for word, is taken whole.
func TestManifestOfTheInterface(t *testing.T) {
	frame, problems := Read(brain(ManifestPath, `name: Example
timezone: Europe/Amsterdam
models:
  default: { model: gpt-5-mini, baseUrl: env:OPENAI_BASE_URL, apiKey: env:OPENAI_API_KEY, fallback: [backup], price: { in: 0.25, cached: 0.025, out: 2.00 } }   # per million
  backup: { model: other, apiKey: sk-123, profile: plain, contextRole: user, temperature: 0, maxTokens: 100 }
args: { company: Acme, year: 010, profile: { name: Nova } }
contexts: { chars: 3000, maxActive: 0, turnChars: 9000, keep: 3, codeTimeoutMs: 1500 }
contentProbe: { context: 0 }
state: { rows: 0, views: 8 }
limits: { calls: 12, seconds: 300, cost: 1.00 }     # a turn
room: { lines: 30, chars: 4000 }
retention: { updates: 7d, room: 30d, turns: 90d }
approvals: { expire: 24h, to: owners }               # or: chat
telegram: { pace: on }
messageOrigins: { retentionDays: 0 }
sessions: { historyTokens: 24000, idle: 12h }
mcp: { files: { command: [npx, some-server] } }
`), "shop", nil)
	if len(problems) > 0 {
		t.Fatal(archivetest.Sentences(problems))
	}
	m := frame.Manifest
	if m.Name != "Example" || m.Zone.String() != "Europe/Amsterdam" || m.Contexts.MaxActive != 0 || m.ContentProbe.Context != 0 || m.State.Rows != 0 ||
		m.MessageOrigins.RetentionDays != 0 || m.Retention.Turns != 90*24*time.Hour || m.MCP["files"].Command[1] != "some-server" || m.Contexts.Lines["keep"] != 7 {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff(map[string]string{"company": "Acme", "year": "010", "profile.name": "Nova"}, m.Args); diff != "" {
		t.Error(diff)
	}
	d, backup := m.Models["default"], m.Models["backup"]
	env := func(name string) string { return "value of " + name }
	if d.APIKey.Env() != "OPENAI_API_KEY" || d.APIKey.Resolve(env).Reveal() != "value of OPENAI_API_KEY" || d.Fallback[0].Text != "backup" || *d.Price.Cached != 0.025 || backup.Price != nil {
		t.Errorf("%+v", d)
	}
	if backup.APIKey.Resolve(env).Reveal() != "sk-123" || backup.BaseURL.Given() || *backup.Temperature != 0 || *backup.MaxTokens != 100 {
		t.Errorf("%+v", backup)
	}
	if printed := fmt.Sprintf("%v %+v %#v", m, backup, backup); strings.Contains(printed, "sk-123") {
		t.Error("a key in MANIFEST prints itself: " + printed)
	}
}

func TestDefaultsAreThoseOfTheDecisions(t *testing.T) {
	for name, tree := range map[string]*brainfile.Tree{"absent": brain(), "empty": brain(ManifestPath, "# nothing yet\n")} {
		frame, problems := Read(tree, "shop", nil)
		m := frame.Manifest
		got := fmt.Sprint(m.Name, m.Zone, m.Contexts.Chars, m.Contexts.Keep, m.Contexts.TurnChars, m.Contexts.MaxActive, m.Contexts.CodeTimeoutMs,
			m.State, m.ContentProbe, m.MessageOrigins, m.Limits, m.Room, m.Retention, m.Approvals, m.Telegram, m.Sessions)
		want := "shopUTC 3000 3 9000 3 1500 {20 8} {2s} {365} {12 300 1} {30 4000} {168h0m0s 720h0m0s 2160h0m0s} {24h0m0s owners} {on} {24000 12h0m0s}"
		if got != want || len(problems) > 0 || frame.Fatal {
			t.Errorf("%s: %s %s", name, got, archivetest.Sentences(problems))
		}
	}
}

func TestBrokenManifestKeepsTheLastGoodOne(t *testing.T) {
	good, _ := Read(brain(ManifestPath, "name: Good\n"), "shop", nil)
	tree := brain(ManifestPath, "nmae: Bad\n", "features/a/desk.agent.md", "---\nname: Desk\n---\nHi\n")
	kept, problems := Read(tree, "shop", &good)
	if kept.Manifest.Name != "Good" || kept.Fatal || len(problems) != 1 || kept.ManifestFile != good.ManifestFile {
		t.Errorf("%q %v %s", kept.Manifest.Name, kept.Fatal, archivetest.Sentences(problems))
	}
	if _, ok := kept.Role("desk"); !ok {
		t.Error("the rest of the brain is read all the same")
	}
	first, _ := Read(tree, "shop", nil)
	again, _ := Read(tree, "shop", &first)
	if !first.Fatal || !again.Fatal {
		t.Error("without an earlier good MANIFEST a broken one is fatal")
	}
	if none, _ := Read(brain(), "shop", nil); func() bool { f, _ := Read(tree, "shop", &none); return f.Fatal || f.Manifest.Name != "shop" }() {
		t.Error("no MANIFEST is a good one")
	}
}

func TestRolesAreReadWhole(t *testing.T) {
	frame, problems := Read(brain(
		ManifestPath, "models: { fast: { model: x } }\n", PrinciplesPath, "Be kind.\n",
		"features/support/FEATURE.md", "---\ndescription: The desk\ncontexts: { chars: 500, keep: 0, codeTimeoutMs: 100 }\n---\n",
		"features/support/deep/er/support.agent.md", `---
name: Support
description: Answers customers
model: fast
contexts: [ticket, '*']
capabilities: [context:read, "notify:*", '*']
state: [sla_today]
skills: [refunds]
engine: { cli: { command: [agent, --stdio], idle: 5m } }
contextBudget: { turnChars: 0, maxActive: 1 }
approvals: { close: ask, note: never, access_widen: ask }
memory: { read: [person, chat], write: true }
---

You are the desk.
`,
		"features/old/FEATURE.md", "---\nenabled: false\n---\n", "features/old/ghost.agent.md", "---\n---\nBoo\n",
	), "shop", nil)
	if len(problems) > 0 {
		t.Fatal(archivetest.Sentences(problems))
	}
	r, _ := frame.Role("support")
	if r.Name != "Support" || r.Feature != "support" || r.Persona != "\nYou are the desk.\n" || r.PersonaLine != 14 || r.Contexts[1].Text != "*" || r.Lines["contexts"] != 5 ||
		r.Engine.Idle != 5*time.Minute || r.Engine.Command[1] != "--stdio" || *r.ContextBudget.TurnChars != 0 || r.Approvals["note"] != "never" || !r.Memory.Write || r.Off {
		t.Errorf("%+v", r)
	}
	ghost, _ := frame.Role("ghost")
	if !ghost.Off || ghost.Name != "ghost" || ghost.Lines["contexts"] != 0 || len(ghost.Engine.Command) != 0 {
		t.Errorf("%+v", ghost)
	}
	support, _ := frame.Feature("support")
	if *support.Contexts.Chars != 500 || *support.Contexts.Keep != 0 || support.Lines["contexts"] != 3 || !support.Enabled || frame.Principles != "Be kind.\n" {
		t.Errorf("%+v", support)
	}
}

// The switch of a feature fails closed: what leaves it in doubt switches it off, and
// any other mistake leaves it alone.
func TestFeatureInDoubtIsOff(t *testing.T) {
	for text, on := range map[string]bool{
		"---\nenabled: true\n---\n":                 true,
		"---\ndescripton: x\n---\n":                 true,
		"---\ncontexts: { chars: no }\n---\n":       true,
		"---\nenabeld: false\n---\n":                false,
		"---\nenabled: no\n---\n":                   false,
		"---\nenabled: true\nx: [\n---\n":           false,
		"":                                          false,
		"enabled: false\n":                          false,
		"---\nenabled: true\nenabled: false\n---\n": false,
	} {
		frame, problems := Read(brain("features/a/FEATURE.md", text, "features/a/desk.agent.md", "---\n---\nHi\n"), "shop", nil)
		role, ok := frame.Role("desk")
		if !ok || role.Off == on || !on && !strings.Contains(archivetest.Sentences(problems), "until this is mended the feature is off") {
			t.Errorf("%q: off is %v\n%s", text, role.Off, archivetest.Sentences(problems))
		}
	}
}

func TestBrokenRolesAreKnownAsBroken(t *testing.T) {
	frame, _ := Read(brain("features/a/x.agent.md", "---\nrole: no\n---\n", "features/a/desk.agent.md", "---\n---\nHi\n", "features/b/desk.agent.md", "---\n---\nHi\n"), "shop", nil)
	if diff := cmp.Diff(map[attache.RoleID]string{"x": "features/a/x.agent.md", "desk": "features/b/desk.agent.md"}, frame.Broken); diff != "" || len(frame.Roles) != 0 {
		t.Error(diff, frame.Roles)
	}
}

func TestZonesMeanTheSameEverywhere(t *testing.T) {
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd"} {
		var z Zone
		var p attache.Problem
		if err := z.UnmarshalText([]byte(name)); !errors.As(err, &p) {
			t.Errorf("%q is taken as %v", name, z)
		}
	}
}
