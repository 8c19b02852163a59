package contexts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"attache"
	"attache/internal/brainfile"
)

func names(l *Library) string {
	var out []string
	for f := range l.Files() {
		out = append(out, string(f.ID))
	}
	return strings.Join(out, " ")
}

// The file of text 1 § 1, word for word, with a tool's worth of more.
//
// row A1
// row A6
// row A8
func TestFileOfTheText(t *testing.T) {
	l := library(t, frame(), "features/support/deep/ticket.context.md", `---
# features/support/ticket.context.md — id `+"`ticket`"+`
description: A support ticket — tone, SLA,
  escalation. Not for billing questions.
entity: ticket id
when: [run, ask]
data:
  - support_sla_today                              # the view, whole
  - { view: support_ticket_card, by: ticket_id }   # WHERE ticket_id = <the entity key>
  - { document: support.rules, maxTokens: 900 }
chars: 3001
keep: 0
---

Answer as the support desk.

Quote { the } SLA {{ from }} the {% card %}.
`)
	f, why := l.File("ticket")
	if f == nil || why != "" {
		t.Fatal(why)
	}
	got := fmt.Sprintf("%s %s %s %s|%s|%s %v %d %d %v %v", f.ID, f.Feature, f.Folder, f.Path, f.Description, f.KeyKind, f.When, f.BodyLine, f.Lines["chars"], f.Chars, f.Keep)
	want := "ticket support features/support/deep features/support/deep/ticket.context.md|A support ticket — tone, SLA, escalation. Not for billing questions.|ticket id [run ask] 14 11 {3001 chars of features/support/deep/ticket.context.md} {0 keep of features/support/deep/ticket.context.md}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f.Body != "Answer as the support desk.\n\nQuote { the } SLA {{ from }} the {% card %}." {
		t.Errorf("%q", f.Body)
	}
	tokens := f.Data[2].MaxTokens
	f.Data[2].MaxTokens = nil
	if want := []Data{{View: "support_sla_today", Line: 8, Col: 5}, {View: "support_ticket_card", By: "ticket_id", Line: 9, Col: 5}, {Document: "support.rules", Line: 10, Col: 5}}; !slices.Equal(f.Data, want) || *tokens != 900 {
		t.Errorf("%+v", f.Data)
	}
}

// A clash loads neither file, a feature that is off loads none, and the rest loads.
//
// row A2
// row A5
func TestWhatDoesNotLoadLeavesTheRest(t *testing.T) {
	f := frame()
	f.Features["off"] = Feature{Off: true, Path: "features/off/FEATURE.md"}
	good := "---\nwhen: [always]\n---\nX.\n"
	var files []*brainfile.File
	for _, path := range []string{"features/a/x.context.md", "features/b/x.context.md", "features/a/good.context.md", "features/off/gone.context.md", "features/a/y.context.md", "features/off/y.context.md"} {
		files = append(files, brainfile.New(path, []byte(good)))
	}
	files = append(files, brainfile.New("features/off/bad.context.md", []byte("---\nwhen: [nope]\n---\n")))
	l, problems := Read(brainfile.Of(files...), f)
	if got := names(l); got != "good" || len(problems) != 5 {
		t.Errorf("%s %s", got, sentences(problems))
	}
	for id, want := range map[attache.ContextID]string{
		"x":    "x does not load, see features/b/x.context.md",
		"gone": "gone is of the feature off, which is switched off",
		"no":   `there is no context "no"`,
	} {
		if file, why := l.File(id); file != nil || why != want {
			t.Errorf("%s: %s", id, why)
		}
	}
}

// An edit is another library; the one that a turn holds stays as it was.
func TestALibraryNeverChanges(t *testing.T) {
	path := "features/a/a.context.md"
	before := library(t, frame(), path, "---\nwhen: [always]\n---\nOld.")
	choice := before.Choose(Turn{Role: Role{All: true}})
	after := library(t, frame(), path, "---\nwhen: [always]\n---\nNew.")
	if got := string(choice.Render(nil).Bytes); !strings.Contains(got, "Old.") {
		t.Error(got)
	}
	if got := string(after.Choose(Turn{Role: Role{All: true}}).Render(nil).Bytes); !strings.Contains(got, "New.") {
		t.Error(got)
	}
}

// The deep feature of text 1 § 2, and what each entity of it reaches.
//
// row B2
// row B3
func TestReach(t *testing.T) {
	text := func(when string) string { return "---\nwhen: [" + when + "]\n---\nX." }
	l := library(t, frame(),
		"features/largo/largo.context.md", text("run"),
		"features/largo/asked.context.md", text("ask, chat, always"),
		"features/largo/answered.context.md", text("reply"),
		"features/largo/morning/checkin/checkin.context.md", text("run"),
		"features/largo/evening/film/film.context.md", text("run, reply"),
		"features/largo/evening/film/rating.context.md", "---\nwhen: [reply]\nentity: film id\n---\nX.",
		"features/largolarge/other.context.md", text("run"),
	)
	for _, c := range []struct {
		entity attache.Entity
		want   string
	}{
		{attache.Entity{Feature: "largo", Folder: "features/largo"}, "[answered largo]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/morning"}, "[answered largo]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/morning/checkin"}, "[answered checkin largo]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/morning/checkin/deeper"}, "[answered checkin largo]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/evening/film"}, "[answered film largo rating]"},
		{attache.Entity{Feature: "largolarge", Folder: "features/largolarge"}, "[other]"},
		{attache.Entity{Feature: "none", Folder: "features/none"}, "[]"},
		{attache.Entity{Kind: "scenario", Folder: "scenarios"}, "[]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/evening/film", Reach: attache.Reach{{Context: "other"}, {Context: "gone"}}}, "[other gone]"},
		{attache.Entity{Feature: "largo", Folder: "features/largo/evening/film", Reach: attache.Reach{}}, "[]"},
	} {
		if got := fmt.Sprint(l.Reach(c.entity)); got != c.want {
			t.Errorf("%s: %s, want %s", c.entity.Folder, got, c.want)
		}
	}
}

// A run that began keeps the reach that it began with: it is a value of its own.
func TestReachIsTheRunsOwn(t *testing.T) {
	l := library(t, frame(), "features/a/a.context.md", "---\nwhen: [run]\n---\nX.")
	e := attache.Entity{Feature: "a", Folder: "features/a", Reach: attache.Reach{{Context: "a"}}}
	run := attache.Run{Feature: "a", Reach: l.Reach(e)}
	e.Reach[0].Context = "other"
	if fmt.Sprint(run.Reach) != "[a]" {
		t.Error(run.Reach)
	}
}

// Every tier of a knob of a context, the nearest first. Those of a turn are in
// testdata/turns.
//
// row G1
func TestKnobs(t *testing.T) {
	one, two, three := 1111, 22, 333
	f := frame()
	f.Features["b"] = Feature{Path: "features/b/FEATURE.md", Chars: &one, Keep: &two, Timeout: &three}
	l := library(t, f,
		"features/a/plain.context.md", "---\nwhen: [run]\n---\nX.",
		"features/b/of.context.md", "---\nwhen: [run]\n---\nX.",
		"features/b/own.context.md", "---\nwhen: [run]\nchars: 7\nkeep: 0\n---\nX.",
	)
	var got []string
	for file := range l.Files() {
		got = append(got, strings.TrimSpace(fmt.Sprintln(file.ID, file.Chars, file.Keep, file.Timeout, file.CodeTimeout())))
	}
	want := []string{
		"of {1111 chars of features/b/FEATURE.md} {22 keep of features/b/FEATURE.md} {333 codeTimeoutMs of features/b/FEATURE.md} 333ms",
		"own {7 chars of features/b/own.context.md} {0 keep of features/b/own.context.md} {333 codeTimeoutMs of features/b/FEATURE.md} 333ms",
		"plain {3000 contexts.chars} {3 contexts.keep} {1500 contexts.codeTimeoutMs} 1.5s",
	}
	if !slices.Equal(got, want) {
		t.Error(strings.Join(got, "\n"))
	}
}

// What a role admits, and its catalog.
//
// row F1
func TestWhatARoleAdmits(t *testing.T) {
	long := strings.Repeat("eligibility, windows, ", 40)
	l := library(t, frame(),
		"features/a/policy.context.md", "---\ndescription: |\n  Return and refund rules:\n  "+long+"\nwhen: [ask]\n---\nX.",
		"features/a/bare.context.md", "---\nwhen: [run, ask]\nentity: ticket id\n---\nX.",
		"features/a/run.context.md", "---\ndescription: Never in it.\nwhen: [run]\nentity: client slug\n---\nX.",
		"features/b/other.context.md", "---\nwhen: [ask]\nentity: ticket id\n---\nX.",
	)
	policy := "- policy: Return and refund rules: " + strings.TrimSpace(long)
	for _, c := range []struct {
		role    Role
		catalog string
		kinds   string
	}{
		{Role{CanOpen: true}, "", "[]"},
		{Role{CanOpen: true, Contexts: []attache.ContextID{"run", "policy", "gone", "policy", "bare"}}, "- bare\n" + policy, "[client slug ticket id]"},
		{Role{CanOpen: true, All: true}, "- bare\n- other\n" + policy, "[client slug ticket id]"},
		{Role{All: true}, "", "[client slug ticket id]"},
		{Role{CanOpen: true, Contexts: []attache.ContextID{"run"}}, "", "[client slug]"},
	} {
		if got := l.Catalog(c.role); got != c.catalog {
			t.Errorf("%+v: %q, want %q", c.role, got, c.catalog)
		}
		if got := fmt.Sprint(l.KeyKinds(c.role)); got != c.kinds {
			t.Errorf("%+v: %s, want %s", c.role, got, c.kinds)
		}
	}
}

// The keys that a render may answer.
//
// row E4
func TestSectionsOfCode(t *testing.T) {
	l := library(t, frame(), "features/a/a.context.md", "---\nwhen: [run]\ndata: [card, { document: rules }]\n---\nX.")
	f, _ := l.File("a")
	for keys, want := range map[string]string{
		"":             "",
		"sla line_2":   "",
		"sla sla":      `render answers two sections "sla"; give them different keys`,
		"card":         `render answers a section "card", which the context has already; give it another key`,
		"rules":        `render answers a section "rules", which the context has already; give it another key`,
		"instructions": `render answers a section "instructions", which the context has already; give it another key`,
		"Sla":          `render answers a section "Sla"; a key is a lower-case identifier such as sla_line`,
		"2nd":          `render answers a section "2nd"; a key is a lower-case identifier such as sla_line`,
	} {
		var list []Section
		for _, key := range strings.Fields(keys) {
			list = append(list, Section{Key: key})
		}
		if err := f.CheckSections(list); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v", keys, err)
		}
	}
	if err := f.CheckSections([]Section{{}}); err == nil {
		t.Error("a key is needed")
	}
}
