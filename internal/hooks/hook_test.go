package hooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// frame is a brain with two bots, three roles and a rule for one group.
func frame() entity.Frame {
	return entity.Frame{
		Off: map[attache.FeatureID]bool{"off": true},
		Roles: map[attache.RoleID]entity.Standing{
			"desk": {}, "books": {Why: "the role books is of the feature off, which is switched off"}, "broken": {Why: "the role broken does not load", Said: true},
		},
		Bots: []attache.BotID{"nova", "vega"},
		Rule: func(p attache.Place) entity.Standing {
			if p.Chat == -1001 {
				return entity.Standing{}
			}
			return entity.Standing{Why: fmt.Sprintf("constitution/access.yaml has no rule for %s", p.Chat)}
		},
		Body: func(file string, line int, body string) (string, []attache.Problem) {
			if at := strings.Index(body, "{{ foo }}"); at >= 0 {
				return "", []attache.Problem{{File: file, Line: line + strings.Count(body[:at], "\n"), Col: 1, What: "{{ foo }} is no selector of a body"}}
			}
			return body, nil
		},
	}
}

// tree makes a tree of paths and texts.
func tree(pairs ...string) *brainfile.Tree {
	var files []*brainfile.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, brainfile.New(pairs[i], []byte(pairs[i+1])))
	}
	return brainfile.Of(files...)
}

// of gives the hooks of a scenario's file, as package scenario hands them on.
func of(t *testing.T, tr *brainfile.Tree, path string) Inline {
	t.Helper()
	ident, _ := brainfile.Identify(path)
	front, problems := tr.File(path).Frontmatter()
	h := struct {
		Hooks []brainfile.Node `yaml:"hooks"`
	}{}
	if problems = append(problems, front.Head.Decode(&h)...); len(problems) > 0 {
		t.Fatal(archivetest.Sentences(problems))
	}
	return Inline{
		File: tr.File(path), Enabled: true, Hooks: h.Hooks,
		Of: attache.Entity{Kind: "scenario", ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder, Agent: "desk", Reach: attache.Reach{{Context: "ticket"}}},
	}
}

// Each archive has hooks and what doctor is told about them; files *.scenario.md have
// nothing but hooks. Run with -update to write it anew, and read the difference.
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 6, 1, func(t *testing.T, in []txtar.File) []string {
		var pairs []string
		for _, f := range in {
			pairs = append(pairs, f.Name, string(f.Data))
		}
		tr, f := tree(pairs...), Frame{Frame: frame()}
		var problems []attache.Problem
		for _, file := range in {
			if strings.HasSuffix(file.Name, ".scenario.md") {
				in := of(t, tr, file.Name)
				for _, n := range in.Hooks {
					problems = append(problems, Check(n)...)
				}
				f.Inline = append(f.Inline, in)
			}
		}
		list, more := Read(tr, f)
		problems = append(problems, more...)
		slices.SortStableFunc(problems, func(a, b attache.Problem) int { return strings.Compare(a.File, b.File) })
		text := archivetest.Sentences(problems)
		for _, h := range list {
			why := h.Why
			if why == "" {
				why = "would fire"
			}
			text += fmt.Sprintf("%s: %s\n", h.ID, why)
		}
		return []string{text}
	})
}

// Every key of interface § 3, with the gate that stands beside the file.
//
// row B4 (hooks)
func TestHookWithEveryKey(t *testing.T) {
	const path = "features/support/new/opened.hook.md"
	list, problems := Read(tree(path, `---
description: A ticket
  was opened
on: [ "row:tickets", button:close, webhook:stripe ]
where: { bot: vega, chat: "tg:chat:-1007", thread: 4 }
agent: desk
place: { bot: nova, chat: "tg:chat:-1001", thread: "42" }
reach: [ticket, policy]
batch: 2m
outcome: The ticket is dealt with.
enabled: true
---

Look at {{ event.id }}.

`, "features/support/new/opened.hook.ts", "export default defineGate(() => true)"), Frame{Frame: frame()})
	if len(list) != 1 || problems != nil {
		t.Fatal(archivetest.Sentences(problems))
	}
	h := list[0]
	got := fmt.Sprintf("%s %s %s %s|%s|%s|%v|%v %v %v|%v|%s %s|%s|%v|%s|%v %s|%q|%s|%q|%d", h.Kind, h.ID, h.Feature, h.Folder, h.Path, h.Description, h.On,
		h.Where.Bot, h.Where.Chat, *h.Where.Thread, h.Agent, h.Target, h.Place, h.Scenario, h.Reach, h.Batch, h.Outcome, h.Notice, h.Body, h.Gate, h.Why, h.Lines["batch"])
	want := `hook opened support features/support/new|features/support/new/opened.hook.md|A ticket was opened|[row:tickets:insert button:close webhook:stripe]|vega tg:chat:-1007 4|desk|place nova/-1001/42||[ticket policy]|2m0s|true The ticket is dealt with.|"Look at {{ event.id }}."|features/support/new/opened.hook.ts|""|9`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is left out: it posts where it happened, in one fire for a burst of five
// seconds, with the layout's reach. `reach: []` is not the layout's.
//
// row B4 (hooks)
func TestDefaults(t *testing.T) {
	f := Frame{Frame: frame()}
	f.Bots = f.Bots[:1]
	list, problems := Read(tree(
		"features/f/a.hook.md", "---\non: message\nagent: desk\n---\nGo.",
		"features/f/b.hook.md", "---\non: member.joined\nagent: desk\nplace: none\nreach: []\nbatch: each\noutcome: false\n---\nGo.",
		"features/f/c.hook.md", "---\non: topic.created\nagent: desk\nplace: { chat: -1001 }\noutcome: true\n---\nGo.",
	), f)
	if len(list) != 3 || problems != nil {
		t.Fatal(archivetest.Sentences(problems))
	}
	a, b, c := list[0], list[1], list[2]
	if a.Reach != nil || b.Reach == nil || len(b.Reach) != 0 {
		t.Errorf("a missing reach is %#v, an empty one %#v", a.Reach, b.Reach)
	}
	if a.Target != TargetEvent || b.Target != TargetNone || c.Target != TargetPlace || c.Place != (attache.Place{Bot: "nova", Chat: -1001}) || a.Place != (attache.Place{}) {
		t.Error(a.Target, b.Target, c.Target, c.Place)
	}
	if a.Batch != 5*time.Second || b.Batch != 0 || a.Outcome || b.Outcome || !c.Outcome || c.Notice != "" || !a.Enabled || a.Where != (entity.Where{}) || a.Gate != "" {
		t.Errorf("%+v %+v %+v", a, b, c)
	}
}

// A hook of a scenario is named after it and has its reach, its folder and, unless it
// names one, its role.
func TestHooksOfAScenario(t *testing.T) {
	tr := tree("features/f/deep/triage.scenario.md", `---
hooks:
  - { on: "button:triage", prompt: "Sort {{ event.data }}." }
  - on: message
    agent: broken
    place: none
    prompt: |
      Look at it.
---
`)
	in := of(t, tr, "features/f/deep/triage.scenario.md")
	show := func(in Inline) string {
		list, problems := Read(tr, Frame{Frame: frame(), Inline: []Inline{in}})
		text := archivetest.Sentences(problems)
		for _, h := range list {
			text += fmt.Sprintf("%s %s of %s in %s as %s reaches %v: %q %q\n", h.Kind, h.ID, h.Scenario, h.Folder, h.Agent, h.Reach, h.Body, h.Why)
		}
		return text
	}
	const one = "hook triage#1 of triage in features/f/deep as desk reaches [ticket]: \"Sort {{ event.data }}.\" "
	const two = "hook triage#2 of triage in features/f/deep as broken reaches [ticket]: \"Look at it.\" "
	if got, want := show(in), one+"\"\"\n"+two+"\"the role broken does not load\"\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	in.Of.Agent = "nobody" // its scenario says so
	if got := show(in); !strings.HasPrefix(got, "hook triage#1") || !strings.Contains(got, "there is no role") {
		t.Error(got)
	}
	in.Of.Agent = "" // it has a pipeline, and its hook nobody
	if got := show(in); !strings.HasPrefix(got, "features/f/deep/triage.scenario.md:3:5: neither this hook nor its scenario names a role; add agent: to one of them\n") {
		t.Error(got)
	}
	in.Enabled = false
	if got := show(in); strings.Count(got, `"its scenario triage has enabled: false"`) != 2 {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"---\non: [message, 'row:t:update', webhook:x, button]\nwhere: { chat: -1001, thread: 4 }\nagent: desk\nplace: { bot: nova, chat: -1001 }\nreach: [a]\nbatch: each\noutcome: Done.\nenabled: false\n---\nGo {{ foo }}.",
		"---\non: {a: b}\nplace: none\nbatch: 5\noutcome: true\n---\n", "---\non: 'row::'\nwhere:\nplace: {}\n---\nx", "---\non: command:/x\nprompt: y\nreach: []\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := brainfile.New("features/f/h.hook.md", []byte(text))
		list, problems := Read(brainfile.Of(file), Frame{Frame: frame()})
		if len(list) == 0 && len(problems) == 0 {
			t.Fatal("the hook is neither read nor wrong")
		}
		front, _ := file.Frontmatter()
		if front.Head.IsMap() {
			problems = append(problems, Check(front.Head)...)
			in := Inline{File: file, Of: attache.Entity{ID: "s", Feature: "f"}, Enabled: true, Hooks: []brainfile.Node{front.Head}}
			inline, more := Read(brainfile.Of(), Frame{Frame: frame(), Inline: []Inline{in}})
			list, problems = append(list, inline...), append(problems, more...)
		}
		for _, p := range problems {
			if p.File == "" || p.Line < 1 || p.Col < 1 || p.What == "" {
				t.Fatalf("%+v", p)
			}
		}
		for _, h := range list {
			if len(h.On) == 0 || h.Batch < 0 || h.Target == "" || h.Body != strings.TrimSpace(h.Body) {
				t.Fatalf("%+v", h)
			}
		}
	})
}
