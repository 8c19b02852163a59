package brainfile

import (
	"errors"
	"strings"
	"testing"
	_ "time/tzdata" // what this machine has is not the same everywhere

	"attache"
)

// A city alone is what most people write first.
func TestZone(t *testing.T) {
	for _, name := range append(strings.Fields(wellKnown), "UTC", "CET", "Etc/GMT+2") {
		if zone, err := Zone(name); err != nil || zone.String() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	const such = "write a name such as Europe/Amsterdam or UTC"
	for name, do := range map[string]string{
		"Berlin":          "did you mean Europe/Berlin?",
		"new york":        "did you mean America/New_York?",
		"Buenos Aires":    "did you mean America/Argentina/Buenos_Aires?",
		"Amsterdm":        "did you mean Europe/Amsterdam?",
		"Europe/Amsterdm": "did you mean Europe/Amsterdam?",
		"Europa/Berlin":   "did you mean Europe/Berlin?",
		"CEST":            such, "PDT": such, "UTC+2": such, "Local": such, "": such, "Nowhere/At_All": such, "Atlantis": such,
	} {
		_, err := Zone(name)
		var p attache.Problem
		if !errors.As(err, &p) || p.What != "there is no time zone "+name || p.Do != do {
			t.Errorf("%q: %v", name, err)
		}
	}
}
