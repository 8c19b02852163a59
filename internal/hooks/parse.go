package hooks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// keys are those that every hook has.
type keys struct {
	brainfile.Lines
	Description string          `yaml:"description"`
	On          brainfile.Words `yaml:"on,required" do:"add on: <event>, as in message, button or row:<table>"`
	Where       brainfile.Node  `yaml:"where"`
	Agent       brainfile.Word  `yaml:"agent"`
	Place       brainfile.Node  `yaml:"place"`
	Batch       brainfile.Word  `yaml:"batch"`
	Outcome     brainfile.Word  `yaml:"outcome"`
	Enabled     bool            `yaml:"enabled"`
}

// head is the frontmatter of a *.hook.md.
type head struct {
	keys
	Reach []brainfile.Word `yaml:"reach"`
}

// entry is one of the hooks of a scenario. Its reach is read to be refused: it is
// the scenario's (text 1 § 2).
type entry struct {
	keys
	Reach  brainfile.Node `yaml:"reach"`
	Prompt brainfile.Word `yaml:"prompt,required" do:"add prompt: <what the role is to do>"`
}

// burst is the default of `batch`; longest is beyond what anybody waits for.
const (
	burst   = 5 * time.Second
	longest = 24 * time.Hour
)

// parsed is what one hook gives by itself. What depends on other files is settled
// by Read.
type parsed struct {
	hook     Hook
	sheet    *entity.Sheet
	body     string
	at       brainfile.Word // where the body begins; without a column, on which line of the file
	borrowed bool           // its role is its scenario's
	problems []attache.Problem
}

// parse reads one *.hook.md.
func parse(f *brainfile.File) parsed {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	if len(problems) > 0 {
		return parsed{problems: problems}
	}
	h := head{keys: keys{Enabled: true}}
	p := parsed{sheet: entity.Open(front.Head, &h), body: front.Body, at: brainfile.Word{Line: front.BodyLine}}
	p.hook = Hook{
		Entity: attache.Entity{Kind: "hook", ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder, Reach: p.sheet.Reach(h.Reach)},
		Path:   f.Path,
	}
	p.take(h.keys)
	if strings.TrimSpace(front.Body) != "" && p.sheet.Missing("agent") {
		p.sheet.Fail("agent", `the key "agent" is missing, and the hook has a body`, "add agent: <role>, the name of its file without .agent.md, or take the body out")
	}
	return p.close()
}

// Check gives what is wrong by itself with one of the hooks of a scenario, so that
// whoever reads the scenario can tell it.
func Check(n brainfile.Node) []attache.Problem { return inline(n).problems }

// inline reads one of the hooks of a scenario.
func inline(n brainfile.Node) parsed {
	h := entry{keys: keys{Enabled: true}}
	p := parsed{sheet: entity.Open(n, &h)}
	p.body, p.at = h.Prompt.Text, h.Prompt
	p.take(h.keys)
	if h.Prompt.Line > 0 && strings.TrimSpace(h.Prompt.Text) == "" {
		p.sheet.Fail("prompt", "prompt is blank, so a fire would do nothing", "write what the role is to do")
	}
	if p.sheet.Given("reach") {
		p.sheet.Fail("reach", "a hook of a scenario has the reach of its scenario", "set reach: of the scenario, or give the hook a file *.hook.md of its own")
	}
	return p.close()
}

// take reads the keys that every hook has.
func (p *parsed) take(k keys) {
	h, s := &p.hook, p.sheet
	h.Description, h.Enabled, h.Lines = strings.Join(strings.Fields(k.Description), " "), k.Enabled, k.Lines
	h.Agent = s.Agent(k.Agent)
	h.On = s.On(k.On, false)
	if s.Given("where") && k.Where.Empty() {
		s.Fail("where", "where has no value", "name bot, chat or thread, as in { chat: \"tg:chat:-100…\" }, or leave the key out")
	} else if s.Given("where") {
		h.Where = s.Where(k.Where)
	}
	p.target(k.Place)
	p.batch(k.Batch)
	p.outcome(k.Outcome)
}

// close puts the mistakes in order and gives what was read.
func (p parsed) close() parsed {
	p.hook.Body = strings.TrimSpace(p.body)
	p.sheet.Sort()
	p.problems = p.sheet.Problems
	return p
}

// target reads where runs post.
func (p *parsed) target(n brainfile.Node) {
	const do = `write none, or a place such as { chat: "tg:chat:-100…" }, or leave the key out: then it posts where it happened`
	word, isText := n.Text()
	switch {
	case !p.sheet.Given("place"):
		p.hook.Target = TargetEvent
	case n.Empty():
		p.sheet.Fail("place", "place has no value", do)
	case isText && word.Text == string(TargetNone):
		p.hook.Target = TargetNone
	case isText:
		p.sheet.FailAt(word, fmt.Sprintf("place does not take %q", entity.Brief(word.Text)), do)
	default:
		p.hook.Target, p.hook.Place = TargetPlace, p.sheet.Place(n)
	}
}

// batch reads how long a burst is gathered.
func (p *parsed) batch(w brainfile.Word) {
	p.hook.Batch = burst
	if w.Line == 0 {
		return // not there, or no text; said already
	}
	length, err := time.ParseDuration(w.Text)
	switch {
	case w.Text == "each":
		p.hook.Batch = 0
	case err != nil || length <= 0 || length > longest:
		p.sheet.FailAt(w, fmt.Sprintf("batch does not take %q", entity.Brief(w.Text)), "write each, or for how long a burst is gathered into one fire, such as 5s; at most 24h")
	default:
		p.hook.Batch = length
	}
}

// outcome reads whether the end of a run is posted, and in which words. It is posted
// at the place, so there must be one.
func (p *parsed) outcome(w brainfile.Word) {
	text := strings.TrimSpace(w.Text)
	switch {
	case w.Line == 0 || text == "false":
		return
	case text == "":
		p.sheet.FailAt(w, "outcome is blank", "write true, or what is posted when the run ends, or leave the key out")
	case p.hook.Target == TargetNone:
		p.sheet.Fail("outcome", "outcome is posted to the place, and place is none", "name a place, or leave outcome out")
	case slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(text)): // true and false to some, and never a notice
		p.sheet.FailAt(w, fmt.Sprintf("outcome does not take %q", text), "write true or false, or what is posted when the run ends")
	}
	p.hook.Outcome = true
	if text != "true" {
		p.hook.Notice = text
	}
}
