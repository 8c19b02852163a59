package brainfile

import (
	_ "embed"
	"path"
	"strings"
	"time"

	"attache"
)

// wellKnown are the time zones that a slip may be meant as. Every zone of the
// database is taken; that one has no list of its names that a program can read.
//
//go:embed zones.txt
var wellKnown string

// Zone finds a time zone by its name in the IANA database; abbreviations that it does
// not have and "Local" are none, since a brain must mean the same on every machine.
// The error is a problem without a place.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, attache.Problem{What: "there is no time zone " + brief(name), Do: nearZone(name)}
	}
	return zone, nil
}

// nearZone advises on a name that is no zone: most often it is a city alone.
func nearZone(name string) string {
	known := strings.Fields(wellKnown)
	cities := map[string]string{}
	for _, zone := range known {
		cities[strings.ToLower(path.Base(zone))] = zone
	}
	city := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", "_"))
	near := cities[city]
	if near == "" && strings.Contains(name, "/") {
		near = Nearest(name, known)
	} else if near == "" && strings.ToUpper(name) != name { // else an abbreviation
		var names []string
		for c := range cities {
			names = append(names, c)
		}
		near = cities[Nearest(city, names)]
	}
	if near == "" {
		return "write a name such as Europe/Amsterdam or UTC"
	}
	return "did you mean " + near + "?"
}
