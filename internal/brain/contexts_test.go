package brain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache"
	"attache/contexts"
)

const ticket = "features/support/ticket.context.md"

// Contexts come with the brain: knobs of three tiers, a feature's switch, mistakes
// beside what loads.
//
// row A3
// row A5
func TestContextsOfABrain(t *testing.T) {
	dir := small(t)
	write(t, dir, manifest, "name: Shop\ncontexts: { chars: 500, turnChars: 700, maxActive: 0 }\nstate: { rows: 2, views: 1 }\n",
		"features/support/FEATURE.md", "---\ncontexts: { keep: 7, codeTimeoutMs: 10 }\n---\n",
		ticket, "---\nentity: ticket id\nwhen: [ask]\nchars: 100\n---\nX.\n",
		"features/support/kb.context.md", "---\nwhen: [ask]\n---\nX.\n",
		"features/support/typo.context.md", "---\nwhen: [aske]\n---\nX.\n",
		"features/off/FEATURE.md", "---\nenabled: false\n---\n", "features/off/gone.context.md", "---\nwhen: [ask]\n---\nX.\n",
		desk, "---\ncontexts: [ticket, '*']\ncapabilities: ['context:*']\nstate: [mood, sla]\ncontextBudget: { turnChars: 0, maxActive: 9 }\n---\nHi\n")
	b, problems, err := Load(dir, nil)
	if want := "features/support/typo.context.md:2:8: an entry of when does not take \"aske\"; did you mean ask?\n"; err != nil || sentences(problems) != want {
		t.Fatal(err, sentences(problems))
	}
	var got []string
	for f := range b.Contexts.Files() {
		got = append(got, fmt.Sprintf("%s %v %v %v", f.ID, f.Chars, f.Keep, f.CodeTimeout()))
	}
	want := "kb {500 contexts.chars} {7 keep of features/support/FEATURE.md} 10ms, ticket {100 chars of features/support/ticket.context.md} {7 keep of features/support/FEATURE.md} 10ms"
	if strings.Join(got, ", ") != want {
		t.Error(got)
	}
	if _, why := b.Contexts.File("gone"); why != "gone is of the feature off, which is switched off" {
		t.Error(why)
	}
	r := b.Admission("desk")
	if got := fmt.Sprintln(r.ID, r.All, r.Contexts, r.CanOpen, *r.TurnChars, *r.MaxActive, r.State); got != "desk true [ticket *] true 0 9 [mood sla]\n" {
		t.Error(got)
	}
	if r := b.Admission("nobody"); r.All || len(r.Contexts) > 0 || r.CanOpen || r.Admits("kb") {
		t.Error("a role that does not load admits something")
	}
}

// An edit of a context reaches the next turn, without a restart; the turn that has
// begun keeps the text that it began with.
//
// row A9
func TestEditsOfContextsAreHot(t *testing.T) {
	dir := small(t)
	write(t, dir, ticket, "---\nwhen: [always]\n---\nOld.\n")
	h, _ := open(t, dir)
	turn := h.Current()
	carried := func(b *Brain) string {
		return string(b.Contexts.Choose(contexts.Turn{Role: contexts.Role{All: true}}).Render(nil).Bytes)
	}
	write(t, dir, ticket, "---\nwhen: [always]\n---\nNew.\n")
	if !h.Reload() || !strings.Contains(carried(h.Current()), "New.") || !strings.Contains(carried(turn), "Old.") {
		t.Errorf("next %s, this %s", carried(h.Current()), carried(turn))
	}
	write(t, dir, manifest, "contexts: { maxActive: 0 }\ncontentProbe: { context: 0 }\n")
	if h.Reload(); !strings.Contains(carried(h.Current()), `knob="contexts.maxActive"`) {
		t.Error(carried(h.Current()))
	}
	write(t, dir, ticket, "---\nwhen: [nevre]\n---\nNew.\n")
	if h.Reload(); carried(h.Current()) != "" || len(h.Problems()) != 1 || role(h.Current()) != "You are the desk." {
		t.Error(carried(h.Current()), h.Problems())
	}
}

// The catalog is in the static prompt and stable; without context_open there is none.
// An edit of a context's body starts no new epoch, one of its description does.
//
// row F4
func TestCatalogInTheStaticPrompt(t *testing.T) {
	dir := small(t)
	role := func(front string) *Brain {
		write(t, dir, desk, "---\n"+front+"\n---\nHi\n")
		b, problems, err := Load(dir, nil)
		if err != nil || len(problems) > 0 {
			t.Fatal(err, sentences(problems))
		}
		return b
	}
	write(t, dir, ticket, "---\ndescription: A ticket.\nentity: ticket id\nwhen: [ask]\n---\nX.\n", "features/a/kb.context.md", "---\ndescription: Answers.\nwhen: [ask]\n---\nX.\n")
	const line, kind = "\n- ticket: A ticket.", "\n- ticket id\n"
	full := static(t, role("contexts: [ticket]\ncapabilities: [context:read]"), "desk")
	if !strings.Contains(full.Text, line) || !strings.Contains(full.Text, kind) || strings.Contains(full.Text, "- kb") {
		t.Error(full.Text)
	}
	if mute := static(t, role("contexts: [ticket]"), "desk").Text; strings.Contains(mute, line) || !strings.Contains(mute, kind) {
		t.Error(mute)
	}
	if none := static(t, role("capabilities: ['*']"), "desk").Text; strings.Contains(none, line) || strings.Contains(none, kind) {
		t.Error(none)
	}
	epoch := func(text string) string {
		write(t, dir, ticket, text)
		return static(t, role("contexts: [ticket]\ncapabilities: [context:read]"), "desk").ID
	}
	if epoch("---\ndescription: A ticket.\nentity: ticket id\nwhen: [ask]\n---\nAnother body.\n") != full.ID {
		t.Error("a body is no part of the static prompt")
	}
	if epoch("---\ndescription: The ticket.\nentity: ticket id\nwhen: [ask]\n---\nX.\n") == full.ID {
		t.Error("a description is")
	}
}

// A rule that binds to a context which is not there is silent, in the log too, until its
// file is there; one that does not load just now, is switched off or stands twice leaves
// the rule, for it pins by its id. The text of access.yaml stays the same all along.
//
// rows H3, D14
func TestRulesFallSilentWithTheContextsTheyBind(t *testing.T) {
	dir := small(t)
	write(t, dir, rules, "bots: { nova: { chats: { tg:chat:-1: { role: desk, people: everyone, contexts: { ticket: T-1 } } } } }\n",
		"features/support/tickets.context.md", "---\nwhen: [chat]\n---\nX.\n")
	h, log := open(t, dir)
	state := func() string {
		b := h.Current()
		_, loads := b.Contexts.Fact("ticket")
		bound := fmt.Sprint(b.Policy.Bindings(-1, 0))
		return fmt.Sprintf("ruled %t, loads %t, pinned %t", b.Policy.For(attache.Place{Bot: "nova", Chat: -1}, "group").Ruled(), loads == "", strings.Contains(bound, "{ticket T-1 true"))
	}
	const silent = "ruled false, loads false, pinned true"
	if got := state(); got != silent {
		t.Error(got)
	}
	const slip = `there is no context \"ticket\"`
	if said := log.take(); !strings.Contains(said, `why="constitution/access.yaml:1:82: `+slip+`; did you mean tickets?"`) {
		t.Error(said)
	}
	const there, absent = "ruled true, loads true, pinned true", "ruled true, loads false, pinned true"
	for _, edit := range []struct{ file, text, want string }{
		{ticket, "---\nentity: ticket id\nwhen: [chat]\n---\nX.\n", there},
		{ticket, "---\nentity: ticket id\nwhen: [caht]\n---\nX.\n", absent},
		{ticket, "---\nentity: ticket id\nwhen: [chat]\n---\nX.\n", there},
		{"features/other/ticket.context.md", "---\nwhen: [chat]\n---\nX.\n", absent},
		{"features/other/ticket.context.md", "", there},
		{"features/support/FEATURE.md", "---\nenabled: false\n---\n", "ruled false, loads false, pinned true"}, // so is its role
		{"features/support/FEATURE.md", "---\nenabled: true\n---\n", there},
		{ticket, "", silent},
	} {
		if edit.text != "" {
			write(t, dir, edit.file, edit.text)
		} else if err := os.Remove(filepath.Join(dir, edit.file)); err != nil {
			t.Fatal(err)
		}
		h.Reload()
		if got := state(); got != edit.want {
			t.Errorf("%s %q: %s", edit.file, edit.text, got)
		}
	}
	said := log.take()
	if !strings.Contains(said, `msg="a mistake in the brain is mended" part=constitution/access.yaml why="`+slip) || strings.Count(said, slip) != 2 {
		t.Error(said) // mended once, and made once more
	}
}
