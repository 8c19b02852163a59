package prompt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"attache"
)

// Session is what a session snapshot tells: who answers, where, and what was
// remembered when the session began. The memory profile is not in it.
type Session struct {
	Agent       attache.RoleID
	Name        string
	Description string
	Workspace   string // MANIFEST's name
	Memories    []Memory
}

// Memory is one remembered fact. Facts are written in the order of tier,
// category, creation time and id, however they come.
type Memory struct {
	Tier     string // person or chat
	Of       string // whom or what it is about, such as tg:user:5
	Category string
	At       time.Time // when it was saved; written in UTC
	ID       string
	Text     string
}

// SessionSnapshot writes a session's snapshot in canonical XML (decisions § 4,
// prompt-format "Proposed canonical form"). It is made once, stored, and sent as
// these bytes for as long as the session lasts.
func SessionSnapshot(s Session) []byte {
	var children []string
	if s.Agent != "" || s.Name != "" || s.Description != "" {
		children = append(children, element("agent", "", "kind", "data",
			"slug", string(s.Agent), "name", s.Name, "description", s.Description))
	}
	if s.Workspace != "" {
		children = append(children, element("workspace", "", "kind", "data", "name", s.Workspace))
	}
	if facts := memories(s.Memories); len(facts) > 0 {
		children = append(children, element("memories", nested(1, facts), "kind", "data"))
	}
	return []byte(element("session_context", nested(0, children), "v", "1"))
}

func memories(all []Memory) []string {
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b Memory) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Category, b.Category),
			a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	var facts []string
	for _, m := range sorted {
		if m.Text == "" {
			continue
		}
		at := ""
		if !m.At.IsZero() {
			at = utc(m.At)
		}
		facts = append(facts, element("memory", escapeText(m.Text),
			"tier", m.Tier, "of", m.Of, "category", m.Category, "at", at, "id", m.ID))
	}
	return facts
}

// Turn is what a turn snapshot tells: the moment, and what kind of work it is.
type Turn struct {
	At           time.Time
	Zone         string // IANA name of the brain's zone
	Type         string // chat, heartbeat, hook, scenario, step or gate
	Task         string // the prompt of a step or scenario
	Routine      string // heartbeat:<id> or scenario:<id>
	RoutineAbout string // what the routine is for
	Git          string // the commit that a run is pinned to
	Gate         string // an approval's outcome or a gate's vars, as JSON
}

// TurnSnapshot writes a turn's snapshot in canonical XML. It is made once, stored
// before the first model call, and reused by retries and replays, clock included
// (matrix J7). A zone that this machine does not know is told, and the local
// time is then UTC.
func TurnSnapshot(t Turn) []byte {
	zone, known := location(t.Zone)
	name, note := zone.String(), ""
	if !known {
		note = "the zone " + t.Zone + " is unknown here, so local is UTC"
	}
	children := []string{
		element("clock", "", "kind", "data", "local", t.At.In(zone).Format(time.RFC3339),
			"tz", name, "utc", utc(t.At), "note", note),
	}
	if t.Type != "" {
		children = append(children, element("execution", "", "kind", "control", "type", t.Type))
	}
	if t.Task != "" {
		children = append(children, element("task", escapeText(t.Task), "kind", "data"))
	}
	if kind, id, _ := strings.Cut(t.Routine, ":"); kind != "" {
		children = append(children, element("routine", "", "kind", "control",
			"type", kind, "id", id, "description", t.RoutineAbout))
	}
	if t.Git != "" {
		children = append(children, element("git", "", "kind", "data", "commit", t.Git))
	}
	if t.Gate != "" {
		children = append(children, element("gate", escapeText(t.Gate), "kind", "data"))
	}
	return []byte(element("turn_context", nested(0, children), "v", "1"))
}

func utc(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// location finds a zone by its IANA name. "Local" names the machine and not a
// zone, so it is as unknown as any misspelt one.
func location(name string) (*time.Location, bool) {
	if name == "Local" {
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	return zone, true
}
