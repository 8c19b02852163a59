package main

import (
	"strings"
	"testing"

	"attache/cmd/bot/knobs"
	"attache/internal/brain"
)

func TestKnobsTellTheirTier(t *testing.T) {
	dir := agencyBrain(t)
	write(t, dir, "constitution/MANIFEST.yaml", "name: A\ncontexts:\n  maxActive: 5\nstate: { rows: 7 }\n")
	write(t, dir, "features/home/FEATURE.md", "---\ncontexts: { chars: 900 }\n---\n")
	write(t, dir, "features/home/helper.agent.md", "---\ndescription: Helps.\ncontexts: [house, returns]\ncontextBudget: { maxActive: 1 }\n---\n")
	b, problems, err := brain.Load(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	all := strings.Join(knobs.Lines(b), "\n")
	for _, want := range []string{
		"contexts.chars = 3000  (default)", "contexts.maxActive = 5  (constitution/MANIFEST.yaml:3)",
		"state = { rows: 7, views: 8 }  (constitution/MANIFEST.yaml:4)", "telegram.pace = on  (default)",
		"knob  chars of house = 900  (features/home/FEATURE.md)", "knob  keep of returns = 1  (features/home/returns.context.md)",
		"knob  contextBudget.maxActive of helper = 1  (features/home/helper.agent.md:4)", "messageOrigins.retentionDays = 365  (default)",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
}
