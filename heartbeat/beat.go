package heartbeat

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// Beat is one *.heartbeat.md whose file is right. It runs unless Why says why not.
type Beat struct {
	attache.Entity
	Path        string // from the brain's root
	Description string // one line; what its runs are told that the routine is for
	Cron        string // as written
	Zone        *time.Location
	Hours       string // as written, "" for the whole day
	CatchUp     CatchUp
	Enabled     bool   // as the file says; true when it says nothing
	Body        string // the input of its runs, arguments filled in, trimmed; "" calls no model
	Why         string // one clause: why it does not run; "" when it does
	Lines       brainfile.Lines

	plan *schedule
}

// Frame is what beats need to know of the brain that they stand in.
type Frame struct {
	entity.Frame
	Zone *time.Location // of beats that name none; nil is UTC
}

// Read gives every beat whose file is right, by id, and every mistake in the others.
// Beats that do not run are among them, with the reason. What a beat refers to (its
// role, its place, arguments) is judged only when the beat is on: the rest of a
// feature that is switched off is off as well.
func Read(tree *brainfile.Tree, frame Frame) ([]Beat, []attache.Problem) {
	files, problems := tree.Entities("heartbeat")
	var out []Beat
	for _, f := range files {
		read := brainfile.Once(f, parse)
		beat, wrong := read.settle(f, frame)
		problems = append(append(problems, read.problems...), wrong...)
		if len(read.problems) == 0 {
			out = append(out, beat)
		}
	}
	slices.SortFunc(out, func(a, b Beat) int { return strings.Compare(a.ID, b.ID) })
	return out, problems
}

// settle gives a beat what other files say of it.
func (p parsed) settle(f *brainfile.File, frame Frame) (Beat, []attache.Problem) {
	b := p.beat
	if b.Zone == nil {
		b.Zone = cmp.Or(frame.Zone, time.UTC)
	}
	b.Place = frame.Whole(b.Place)
	if b.Why = frame.Silent(b.Entity, b.Enabled); b.Why != "" {
		return b, nil
	}
	var problems []attache.Problem
	judge := func(why string, wrong []attache.Problem) {
		b.Why = cmp.Or(b.Why, why) // the first reason is enough
		problems = append(problems, wrong...)
	}
	if b.Agent != "" {
		judge(frame.Role(p.sheet, b.Agent))
	}
	if b.Place.Chat != 0 {
		judge(frame.Place(p.sheet, "the beat", b.Place))
	}
	body, wrong := frame.Body(f.Path, p.bodyLine, b.Body)
	b.Body = strings.TrimSpace(body)
	if len(wrong) > 0 {
		judge(wrong[0].What, wrong)
	}
	return b, problems
}
