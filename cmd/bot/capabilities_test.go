package main

import (
	"strings"
	"testing"

	"attache/internal/brain"
)

func TestACapabilityThatNoToolHasIsNamed(t *testing.T) {
	dir := agencyBrain(t)
	write(t, dir, "features/home/helper.agent.md", "---\ndescription: Helps.\ncapabilities: [notify:sent, \"shop:*\", \"context:*\", list:write, \"*\"]\n---\nYou help.\n")
	write(t, dir, "features/home/add.tool.md", "---\ndescription: Adds.\ncapability: list:write\nrisk: safe\nsql: select 1\n---\n")
	b, problems, err := brain.Load(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var said []string
	for _, f := range capabilities(b) {
		said = append(said, f.String())
	}
	if all := strings.Join(said, "\n"); len(said) != 2 || !strings.Contains(all, "helper.agent.md:3:16: no tool has the capability notify:sent") || !strings.Contains(all, "did you mean notify:send?") || !strings.Contains(all, "shop:*") {
		t.Errorf("it says:\n%s", all)
	}
}
