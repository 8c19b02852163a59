package brain

import (
	"fmt"
	"testing"
)

// Beats stand in the brain with its zone, arguments, roles, rules and bots; what is
// wrong with one is among the brain's problems, and an edit of any of those reaches
// it.
//
// row M1
func TestBeats(t *testing.T) {
	dir := small(t)
	const sla = "features/support/sla.heartbeat.md"
	write(t, dir, manifest, "name: Shop\ntimezone: Asia/Tokyo\nargs: { company: Acme }\ncontentProbe: { context: 0 }\n",
		rules, "bots: { nova: { dm: { role: desk, people: everyone } } }\n",
		sla, "---\ncron: 0 9 * * *\nagent: desk\nplace: { chat: 5 }\n---\nLook at {{ args.company }}.\n")
	h, _ := open(t, dir)
	shown := func() string {
		text := ""
		for _, b := range h.Current().Beats {
			text += fmt.Sprintf("%s %s %s %q %q\n", b.ID, b.Place, b.Zone, b.Body, b.Why)
		}
		return text + sentences(h.Problems())
	}
	for _, c := range []struct{ path, text, want string }{
		{"", "", "sla nova/5/0 Asia/Tokyo \"Look at Acme.\" \"\"\n"},
		{rules, "bots: { nova: { default: { role: desk, people: everyone } } }\n",
			"sla nova/5/0 Asia/Tokyo \"Look at Acme.\" \"no rule holds where the beat posts: constitution/access.yaml has no bots.nova.dm\"\n" +
				sla + ":4:10: no rule holds where the beat posts: constitution/access.yaml has no bots.nova.dm; add one to constitution/access.yaml, or name another chat\n"},
		{sla, "---\ncron: 0 9 * * *\nagent: dsek\nplace: { chat: -7 }\n---\n{{ args.compny }} {{ env.x }}\n",
			"sla nova/-7/0 Asia/Tokyo \"\" \"there is no role \\\"dsek\\\"\"\n" +
				sla + ":3:1: there is no role \"dsek\"; did you mean desk?\n" +
				sla + ":6:4: {{ args.compny }} is not declared; did you mean {{ args.company }}?\n" +
				sla + ":6:22: {{ env.x }} is no selector of a body; begin it with event., vars., input. or args., or write \\{{ for the braces themselves\n"},
		{"features/support/FEATURE.md", "---\nenabled: false\n---\n",
			"sla nova/-7/0 Asia/Tokyo \"{{ args.compny }} {{ env.x }}\\n\" \"the feature support is switched off\"\n" +
				"constitution/access.yaml:1:34: the role desk is of the feature support, which is switched off; switch the feature on, or name another role\n"},
	} {
		if c.path != "" {
			write(t, dir, c.path, c.text)
			h.Reload()
		}
		if got := shown(); got != c.want {
			t.Errorf("%s\ngot\n%swant\n%s", c.path, got, c.want)
		}
	}
}

// Hooks and scenarios stand in the brain with its roles, bots and arguments; what is
// wrong with one is among the brain's problems, and an edit reaches it. A hook in the
// file of a scenario has the reach of its scenario, as written or by the layout.
//
// row B6
func TestHooksAndScenarios(t *testing.T) {
	dir := small(t)
	const opened, sorts = "features/support/new/opened.hook.md", "features/support/new/sort.scenario.md"
	const inline = "hooks: [{ on: message, prompt: Sort it. }]\n"
	write(t, dir, manifest, "name: Shop\nargs: { company: Acme }\ncontentProbe: { context: 0 }\n",
		rules, "bots: { nova: { dm: { role: desk, people: everyone } } }\n",
		"features/support/top.context.md", "---\nwhen: [run]\n---\nTop.\n", "features/support/new/near.context.md", "---\nwhen: [run]\n---\nNear.\n",
		"features/support/aside/other.context.md", "---\nwhen: [run]\n---\nOther.\n",
		opened, "---\non: message\nagent: desk\nplace: { chat: 5 }\nreach: [other]\n---\nLook at {{ args.company }} and {{ event.text }}.\n",
		sorts, "---\nagent: desk\non: command:/sort\n"+inline+"---\nSort {{ input.text }}.\n",
		"scenarios/free.scenario.md", "---\n"+inline+"agent: desk\n---\nGo.\n")
	h, _ := open(t, dir)
	shown := func() string {
		b, text := h.Current(), ""
		for _, x := range b.Hooks {
			text += fmt.Sprintf("hook:%s %s %v %q\n", x.ID, x.Agent, b.Contexts.Reach(x.Entity), x.Why)
		}
		for _, s := range b.Scenarios {
			text += fmt.Sprintf("scenario:%s %v %v %q\n", s.ID, s.On, b.Contexts.Reach(s.Entity), s.Why)
		}
		return text + sentences(h.Problems())
	}
	for _, c := range []struct{ path, text, want string }{
		{"", "", `hook:free#1 desk [] ""
hook:opened desk [other] ""
hook:sort#1 desk [near top] ""
scenario:free [] [] ""
scenario:sort [command:/sort] [near top] ""
`},
		{sorts, "---\nagent: desk\nreach: [other]\n" + inline + "---\n{{ inptu.text }}\n", `hook:free#1 desk [] ""
hook:opened desk [other] ""
hook:sort#1 desk [other] ""
scenario:free [] [] ""
scenario:sort [] [other] "{{ inptu.text }} is no selector of a body"
` + sorts + `:6:4: {{ inptu.text }} is no selector of a body; did you mean {{ input.text }}?
`},
		{sorts, "---\nagent: dsek\nreach: []\n" + inline + "---\n", `hook:free#1 desk [] ""
hook:opened desk [other] ""
hook:sort#1 dsek [] "there is no role \"dsek\""
scenario:free [] [] ""
scenario:sort [] [] "there is no role \"dsek\""
` + sorts + `:2:1: there is no role "dsek"; did you mean desk?
`},
		{sorts, "---\nagent: desk\nreach: []\nhooks: [{ on: mesage, prompt: Sort it. }]\n---\n", `hook:free#1 desk [] ""
hook:opened desk [other] ""
scenario:free [] [] ""
` + sorts + `:4:15: on does not take "mesage"; did you mean message?
`},
		{rules, "bots: { nova: { default: { role: desk, people: everyone } } }\n", `hook:free#1 desk [] ""
hook:opened desk [other] "no rule holds where the hook posts: constitution/access.yaml has no bots.nova.dm"
scenario:free [] [] ""
` + opened + `:4:10: no rule holds where the hook posts: constitution/access.yaml has no bots.nova.dm; add one to constitution/access.yaml, or name another chat
` + sorts + `:4:15: on does not take "mesage"; did you mean message?
`},
		{"features/support/FEATURE.md", "---\nenabled: false\n---\n", `hook:free#1 desk [] "the role desk is of the feature support, which is switched off"
hook:opened desk [other] "the feature support is switched off"
scenario:free [] [] "the role desk is of the feature support, which is switched off"
constitution/access.yaml:1:34: the role desk is of the feature support, which is switched off; switch the feature on, or name another role
` + sorts + `:4:15: on does not take "mesage"; did you mean message?
scenarios/free.scenario.md:3:1: the role desk is of the feature support, which is switched off; switch its feature on, or name another role
`},
	} {
		if c.path != "" {
			write(t, dir, c.path, c.text)
			h.Reload()
		}
		if got := shown(); got != c.want {
			t.Errorf("%s\ngot\n%swant\n%s", c.path, got, c.want)
		}
	}
}
