package main

import (
	"strings"
	"testing"

	"attache/internal/brain"
)

func TestKnobsTellTheirTier(t *testing.T) {
	dir := agencyBrain(t)
	write(t, dir, "constitution/MANIFEST.yaml", "name: A\ncontexts:\n  maxActive: 5\nstate: { rows: 7 }\n")
	b, problems, err := brain.Load(dir, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	all := strings.Join(knobs(b), "\n")
	for _, want := range []string{
		"contexts.chars = 3000  (default)", "contexts.maxActive = 5  (constitution/MANIFEST.yaml:3)",
		"state = { rows: 7, views: 8 }  (constitution/MANIFEST.yaml:4)", "telegram.pace = on  (default)",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
}
