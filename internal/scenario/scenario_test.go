package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/archivetest"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
	"attache/internal/hooks"
)

// frame is a brain with three roles.
func frame() Frame {
	return Frame{Hook: hooks.Check, Frame: entity.Frame{
		Off: map[attache.FeatureID]bool{"off": true},
		Roles: map[attache.RoleID]entity.Standing{
			"desk": {}, "books": {Why: "the role books is of the feature off, which is switched off"}, "broken": {Why: "the role broken does not load", Said: true},
		},
		Body: func(file string, line int, body string) (string, []attache.Problem) {
			if at := strings.Index(body, "{{ foo }}"); at >= 0 {
				return "", []attache.Problem{{File: file, Line: line + strings.Count(body[:at], "\n"), Col: 1, What: "{{ foo }} is no selector of a body"}}
			}
			return body, nil
		},
	}}
}

// read reads scenarios; pairs are paths and texts.
func read(pairs ...string) ([]Scenario, []attache.Problem) {
	var files []*brainfile.File
	for i := 0; i < len(pairs); i += 2 {
		files = append(files, brainfile.New(pairs[i], []byte(pairs[i+1])))
	}
	return Read(brainfile.Of(files...), frame())
}

// Each archive has scenarios and what doctor is told about them. Run with -update to
// write it anew, and read the difference.
func TestMistakes(t *testing.T) {
	archivetest.Run(t, "mistakes", 4, 1, func(t *testing.T, in []txtar.File) []string {
		var pairs []string
		for _, f := range in {
			pairs = append(pairs, f.Name, string(f.Data))
		}
		list, problems := read(pairs...)
		slices.SortStableFunc(problems, func(a, b attache.Problem) int { return strings.Compare(a.File, b.File) })
		text := archivetest.Sentences(problems)
		for _, s := range list {
			why := s.Why
			if why == "" {
				why = "would run"
			}
			text += fmt.Sprintf("%s: %s\n", s.ID, why)
		}
		return []string{text}
	})
}

// Every key of interface § 3, with the pipeline that stands beside the file.
//
// row B4 (scenarios)
func TestScenarioWithEveryKey(t *testing.T) {
	const path = "features/support/triage/triage.scenario.md"
	list, problems := read(path, `---
description: Sorts what
  came in
agent: desk
on: [ "command:/triage", "webhook:inbox", command:/sort ]
reach: [ticket, policy]
hooks:
  - { on: "button:triage", prompt: Go. }
pin: commit
enabled: true
---

Sort {{ input.text }}.
`, "features/support/triage/triage.pipeline.ts", "export default definePipeline(async ctx => {})")
	if len(list) != 1 || problems != nil {
		t.Fatal(archivetest.Sentences(problems))
	}
	s := list[0]
	got := fmt.Sprintf("%s %s %s %s|%s|%s|%s|%v %v|%v|%d|%v %v|%q|%s|%q|%d", s.Kind, s.ID, s.Feature, s.Folder, s.Path, s.Description, s.Agent, s.On, s.Commands(), s.Reach, len(s.Hooks), s.Pinned, s.Enabled, s.Body, s.Pipeline, s.Why, s.Lines["pin"])
	want := `scenario triage support features/support/triage|features/support/triage/triage.scenario.md|Sorts what came in|desk|[command:/triage webhook:inbox command:/sort] [triage sort]|[ticket policy]|1|true true|"Sort {{ input.text }}."|features/support/triage/triage.pipeline.ts|""|9`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is left out: a person starts it, the layout's reach, the files of now. At the
// root it belongs to no feature; with a pipeline it needs no role of its own. What was
// made of a file is kept with it and says nothing of what stands beside it.
//
// row B4 (scenarios)
func TestDefaults(t *testing.T) {
	file := brainfile.New("scenarios/a.scenario.md", []byte("---\n---\n"))
	code := brainfile.New("scenarios/a.pipeline.ts", nil)
	for range 2 {
		list, problems := Read(brainfile.Of(file, code), frame())
		if len(list) != 1 || problems != nil {
			t.Fatal(archivetest.Sentences(problems))
		}
		a := list[0]
		if a.Feature != "" || a.Folder != "scenarios" || a.Reach != nil || a.On != nil || a.Commands() != nil || a.Pinned || !a.Enabled || a.Body != "" || a.Pipeline != code.Path {
			t.Errorf("%+v", a)
		}
		if list, problems := Read(brainfile.Of(file), frame()); len(list) != 0 || len(problems) != 1 {
			t.Error("without its pipeline it has no role: ", archivetest.Sentences(problems))
		}
	}
	list, problems := read("features/f/b.scenario.md", "---\nagent: desk\nreach: []\n---\n")
	if len(list) != 1 || problems != nil || list[0].Reach == nil || len(list[0].Reach) != 0 {
		t.Error(list, archivetest.Sentences(problems))
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"---\ndescription: x\nagent: desk\non: [command:/a, message, 'row:t']\nreach: [a]\nhooks: [{on: message, prompt: x}, y, {}]\npin: commit\nenabled: false\n---\nGo {{ foo }}.",
		"---\nagent: desk\nhooks: {a: b}\non: command:/help\npin: yes\n---\n", "---\nhooks:\n-\n-\non: []\n---\n", "---\n[a]\n---\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, problems := read("features/f/a.scenario.md", text, "features/f/b.scenario.md", "---\nagent: desk\non: [command:/a, command:/b]\n---\n")
		if len(list) < 2 && len(problems) == 0 {
			t.Fatal("the scenario is neither read nor wrong")
		}
		for _, p := range problems {
			if p.File == "" || p.Line < 1 || p.Col < 1 || p.What == "" {
				t.Fatalf("%+v", p)
			}
		}
		started := map[string]string{}
		for _, s := range list {
			for _, name := range s.Commands() {
				if other := started[name]; other != "" && s.Why == "" {
					t.Fatalf("/%s starts %s and %s", name, other, s.ID)
				}
				if s.Why == "" {
					started[name] = s.ID
				}
			}
		}
	})
}
