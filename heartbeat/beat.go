package heartbeat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
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
	Zone  *time.Location             // of beats that name none; nil is UTC
	Off   map[attache.FeatureID]bool // features that are switched off
	Roles map[attache.RoleID]Standing
	Bots  []attache.BotID // of access.yaml
	Rule  func(attache.Place) Standing

	// Body fills in what a body names, line being the one of the file that it begins
	// on: prompt.RenderBody with MANIFEST's args.
	Body func(file string, line int, body string) (string, []attache.Problem)
}

// Standing says whether a role can work, or whether a rule holds at a place.
type Standing struct {
	Why  string // why not, in one clause; "" when all is well
	Said bool   // the reason is a problem of another file, and need not be told twice
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
	if b.Place.Bot == "" && b.Place.Chat != 0 && len(frame.Bots) == 1 {
		b.Place.Bot = frame.Bots[0]
	}
	switch {
	case frame.Off[b.Feature]:
		b.Why = fmt.Sprintf("the feature %s is switched off", b.Feature)
		return b, nil
	case !b.Enabled:
		b.Why = "enabled is false"
		return b, nil
	}
	var problems []attache.Problem
	if b.Agent != "" {
		problems = p.judgeRole(f, &b, frame)
	}
	if b.Place.Chat != 0 {
		problems = append(problems, p.judgePlace(f, &b, frame)...)
	}
	body, wrong := frame.Body(f.Path, p.bodyLine, b.Body)
	b.Body = strings.TrimSpace(body)
	if len(wrong) > 0 {
		b.silence(wrong[0].What)
	}
	return b, append(problems, wrong...)
}

// silence notes the first reason for which a beat does not run.
func (b *Beat) silence(why string) {
	if b.Why == "" {
		b.Why = why
	}
}

// judgeRole looks whether the beat's role can work.
func (p parsed) judgeRole(f *brainfile.File, b *Beat, frame Frame) []attache.Problem {
	role, ok := frame.Roles[b.Agent]
	do := "switch its feature on, or name another role"
	if !ok {
		role.Why = fmt.Sprintf("there is no role %q", brief(string(b.Agent)))
		var names []string
		for id := range frame.Roles {
			names = append(names, string(id))
		}
		do = brainfile.Suggest(string(b.Agent), names, "name the file of a role, without .agent.md")
	}
	if role.Why == "" {
		return nil
	}
	b.silence(role.Why)
	if role.Said {
		return nil
	}
	return one(p.wrong(f, "agent", role.Why, do))
}

// judgePlace looks whether the beat may post where it says.
func (p parsed) judgePlace(f *brainfile.File, b *Beat, frame Frame) []attache.Problem {
	bots := make([]string, len(frame.Bots))
	for i, id := range frame.Bots {
		bots[i] = string(id)
	}
	problem, said := attache.Problem{}, false
	switch {
	case len(bots) == 0:
		problem = p.wrong(f, "place", "access.yaml has no bot that could post", "add one under bots in constitution/access.yaml, or leave place out")
	case b.Place.Bot == "":
		problem = p.wrong(f, "place", "place does not say which bot posts", "add bot: "+strings.Join(bots, " or bot: "))
	case !slices.Contains(frame.Bots, b.Place.Bot):
		problem = p.wrong(f, "place.bot", fmt.Sprintf("access.yaml has no bot %q", brief(string(b.Place.Bot))), brainfile.Suggest(string(b.Place.Bot), bots, "name a key of bots in constitution/access.yaml"))
	default:
		rule := frame.Rule(b.Place)
		if rule.Why == "" {
			return nil
		}
		said = rule.Said
		problem = p.wrong(f, "place.chat", fmt.Sprintf("no rule holds where the beat posts: %s", rule.Why), "add one to constitution/access.yaml, or name another chat")
	}
	b.silence(problem.What)
	if said {
		return nil
	}
	return one(problem)
}

func one(p attache.Problem) []attache.Problem { return []attache.Problem{p} }
