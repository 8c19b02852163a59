package entity

import (
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Frame is what entities need to know of the brain that they stand in.
type Frame struct {
	Off   map[attache.FeatureID]bool // features that are switched off
	Roles map[attache.RoleID]Standing
	Bots  []attache.BotID // of access.yaml
	Blind bool            // that there are no bots is a problem of access.yaml already
	Rule  func(attache.Place) Standing

	// Body fills in what a body names as far as it is known from files, line being the
	// one of the file that it begins on: prompt.RenderBody with MANIFEST's args.
	Body func(file string, line int, body string) (string, []attache.Problem)
}

// Standing says whether a role can work, or whether a rule holds at a place.
type Standing struct {
	Why  string // why not, in one clause; "" when all is well
	Said bool   // the reason is a problem of another file, and need not be told twice
}

// Silent says why nothing of an entity is asked for: its feature or the entity itself
// is switched off. What it refers to is not judged then; "" when it is on.
func (f Frame) Silent(e attache.Entity, enabled bool) string {
	switch {
	case f.Off[e.Feature]:
		return fmt.Sprintf("the feature %s is switched off", e.Feature)
	case !enabled:
		return "enabled is false"
	}
	return ""
}

// Role looks whether the role of an entity can work. why is why not; problems are
// what is still to be told of it.
func (f Frame) Role(s *Sheet, id attache.RoleID) (why string, problems []attache.Problem) {
	role, ok := f.Roles[id]
	do := "switch its feature on, or name another role"
	if !ok {
		role.Why = fmt.Sprintf("there is no role %q", Brief(string(id)))
		var names []string
		for id := range f.Roles {
			names = append(names, string(id))
		}
		do = brainfile.Suggest(string(id), names, "name the file of a role, without .agent.md")
	}
	if role.Why == "" || role.Said {
		return role.Why, nil
	}
	return role.Why, one(s.Wrong("agent", role.Why, do))
}

// Whole gives a place its bot when none is named and there is one only.
func (f Frame) Whole(at attache.Place) attache.Place {
	if at.Bot == "" && at.Chat != 0 && len(f.Bots) == 1 {
		at.Bot = f.Bots[0]
	}
	return at
}

// Place looks whether an entity may post where its `place` says; what names it in a
// sentence, such as "the beat".
func (f Frame) Place(s *Sheet, what string, at attache.Place) (why string, problems []attache.Problem) {
	problem := attache.Problem{}
	switch {
	case len(f.Bots) == 0 && f.Blind:
		return "access.yaml is wrong, so nobody knows where it may post", nil
	case len(f.Bots) == 0:
		problem = s.Wrong("place", "access.yaml has no bot that could post", "add one under bots in constitution/access.yaml, or leave place out")
	case at.Bot == "":
		problem = s.Wrong("place", "place does not say which bot posts", "add bot: "+strings.Join(f.bots(), " or bot: "))
	case !slices.Contains(f.Bots, at.Bot):
		return f.Bot(s, "place.bot", at.Bot)
	default:
		rule := f.Rule(at)
		if rule.Why == "" {
			return "", nil
		}
		problem = s.Wrong("place.chat", fmt.Sprintf("no rule holds where %s posts: %s", what, rule.Why), "add one to constitution/access.yaml, or name another chat")
		if rule.Said {
			return problem.What, nil
		}
	}
	return problem.What, one(problem)
}

// Bot looks whether a bot that a key names is one of access.yaml.
func (f Frame) Bot(s *Sheet, key string, id attache.BotID) (why string, problems []attache.Problem) {
	if id == "" || slices.Contains(f.Bots, id) {
		return "", nil
	}
	p := s.Wrong(key, fmt.Sprintf("access.yaml has no bot %q", Brief(string(id))), brainfile.Suggest(string(id), f.bots(), "name a key of bots in constitution/access.yaml"))
	return p.What, one(p)
}

func (f Frame) bots() []string {
	out := make([]string, len(f.Bots))
	for i, id := range f.Bots {
		out[i] = string(id)
	}
	return out
}

func one(p attache.Problem) []attache.Problem { return []attache.Problem{p} }
