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
