package heartbeat

import (
	"errors"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// head is the frontmatter as it is written.
type head struct {
	brainfile.Lines
	Description string           `yaml:"description"`
	Cron        brainfile.Word   `yaml:"cron,required" do:"add cron: <minute hour day month weekday>, as in 0 9 * * 1-5"`
	Timezone    brainfile.Word   `yaml:"timezone"`
	Agent       brainfile.Word   `yaml:"agent,required" do:"add agent: <role>, the name of its file without .agent.md"`
	Place       brainfile.Node   `yaml:"place"`
	Reach       []brainfile.Word `yaml:"reach"`
	Hours       brainfile.Word   `yaml:"hours"`
	CatchUp     string           `yaml:"catchUp" oneof:"skip,once,all"`
	Enabled     bool             `yaml:"enabled"`
}

// parsed is what one file gives by itself. What depends on other files is settled
// by Read.
type parsed struct {
	beat     Beat // its Body as written
	bodyLine int
	sheet    *entity.Sheet
	problems []attache.Problem
}

// parse reads one file.
func parse(f *brainfile.File) parsed {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	if len(problems) > 0 {
		return parsed{problems: problems}
	}
	h := head{CatchUp: string(catchUpOnce), Enabled: true}
	s := entity.Open(front.Head, &h)
	p := parsed{bodyLine: front.BodyLine, sheet: s}
	p.beat = Beat{
		Entity: attache.Entity{Kind: "heartbeat", ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder, Agent: s.Agent(h.Agent), Reach: s.Reach(h.Reach)},
		Path:   f.Path, Description: strings.Join(strings.Fields(h.Description), " "),
		Cron: h.Cron.Text, Hours: h.Hours.Text, CatchUp: CatchUp(h.CatchUp), Enabled: h.Enabled, Body: front.Body, Lines: h.Lines,
	}
	p.schedule(h)
	if s.Given("place") && !h.Place.Empty() {
		p.beat.Place = s.Place(h.Place)
	} else if s.Given("place") {
		s.Fail("place", "place has no value", "write { chat: \"tg:chat:-100…\" }, or leave the key out: then the run posts only by tools")
	}
	s.Sort()
	p.problems = s.Problems
	return p
}

// schedule reads when the beat is due.
func (p *parsed) schedule(h head) {
	if h.Timezone.Line > 0 {
		zone, err := brainfile.Zone(h.Timezone.Text)
		var wrong attache.Problem
		if errors.As(err, &wrong) {
			p.sheet.Fail("timezone", wrong.What, wrong.Do)
		}
		p.beat.Zone = zone
	}
	hours, wrong := window{}, ""
	if h.Hours.Line > 0 {
		if hours, wrong = parseHours(h.Hours.Text); wrong != "" {
			p.sheet.Fail("hours", wrong, "write from and until, as in 08:00-22:00 or 22:00-06:00; the end is not included")
		}
	}
	if h.Cron.Line == 0 {
		return // missing, or no text; said already
	}
	spec, what, do := parseCron(h.Cron.Text)
	if what != "" {
		p.sheet.Fail("cron", what, do)
		return
	}
	p.beat.plan = &schedule{spec: spec}
	if wrong == "" && !p.beat.plan.within(hours) {
		p.sheet.Fail("hours", "no time of the cron lies in hours, so the beat would never run", "widen hours, or change cron")
	}
}
