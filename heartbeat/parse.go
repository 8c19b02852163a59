package heartbeat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// head is the frontmatter as it is written.
type head struct {
	brainfile.Lines
	Description string           `yaml:"description"`
	Cron        brainfile.Word   `yaml:"cron,required"`
	Timezone    brainfile.Word   `yaml:"timezone"`
	Agent       brainfile.Word   `yaml:"agent,required"`
	Place       brainfile.Node   `yaml:"place"`
	Reach       []brainfile.Word `yaml:"reach"`
	Hours       brainfile.Word   `yaml:"hours"`
	CatchUp     string           `yaml:"catchUp" oneof:"skip,once,all"`
	Enabled     bool             `yaml:"enabled"`
}

// placeHead is what stands below `place`.
type placeHead struct {
	Bot    brainfile.Word `yaml:"bot"`
	Chat   brainfile.Word `yaml:"chat,required"`
	Thread brainfile.Word `yaml:"thread"`
}

// parsed is what one file gives by itself. What depends on other files is settled
// by Read.
type parsed struct {
	beat     Beat // its Body as written
	bodyLine int
	at       map[string]brainfile.Word // where keys stand; those of place as "place.chat"
	problems []attache.Problem
}

// parse reads one file.
func parse(f *brainfile.File) parsed {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	p := parsed{problems: problems, at: map[string]brainfile.Word{}, bodyLine: front.BodyLine}
	if len(problems) > 0 {
		return p
	}
	h := head{CatchUp: string(CatchUpOnce), Enabled: true}
	p.problems = front.Head.Decode(&h)
	p.note("", front.Head)
	p.beat = Beat{
		Entity: attache.Entity{Kind: "heartbeat", ID: ident.ID, Feature: attache.FeatureID(ident.Feature), Folder: ident.Folder, Agent: attache.RoleID(strings.TrimSpace(h.Agent.Text))},
		Path:   f.Path, Description: strings.Join(strings.Fields(h.Description), " "),
		Cron: h.Cron.Text, Hours: h.Hours.Text, CatchUp: CatchUp(h.CatchUp), Enabled: h.Enabled, Body: front.Body, Lines: h.Lines,
	}
	p.schedule(f, h)
	p.reach(f, h)
	if h.Lines["agent"] > 0 && h.Agent.Line > 0 && strings.TrimSpace(h.Agent.Text) == "" {
		p.fail(p.wrong(f, "agent", "agent is blank", "name the role that works, without .agent.md"))
	}
	if h.Lines["place"] > 0 && !h.Place.Empty() {
		p.where(f, h.Place)
	} else if h.Lines["place"] > 0 {
		p.fail(p.wrong(f, "place", "place has no value", "write { chat: \"tg:chat:-100…\" }, or leave the key out: then the run posts only by tools"))
	}
	slices.SortStableFunc(p.problems, func(a, b attache.Problem) int { return a.Line - b.Line })
	return p
}

// note remembers where each key stands.
func (p *parsed) note(prefix string, n brainfile.Node) {
	pairs, _ := n.Pairs()
	for _, pair := range pairs {
		p.at[prefix+pair.Key.Text] = pair.Key
	}
}

// wrong makes a problem that stands at a key.
func (p *parsed) wrong(f *brainfile.File, key, what, do string) attache.Problem {
	w := p.at[key]
	return f.Wrong(max(w.Line, 1), max(w.Col, 1), what, do)
}

func (p *parsed) fail(list ...attache.Problem) { p.problems = append(p.problems, list...) }

// schedule reads when the beat is due.
func (p *parsed) schedule(f *brainfile.File, h head) {
	if h.Timezone.Line > 0 {
		zone, err := time.LoadLocation(h.Timezone.Text)
		if err != nil || h.Timezone.Text == "" || h.Timezone.Text == "Local" {
			p.fail(p.wrong(f, "timezone", "there is no time zone "+brief(h.Timezone.Text), "write a name such as Europe/Amsterdam or UTC"))
		}
		p.beat.Zone = zone
	}
	hours, wrong := window{}, ""
	if h.Hours.Line > 0 {
		if hours, wrong = parseHours(h.Hours.Text); wrong != "" {
			p.fail(p.wrong(f, "hours", wrong, "write from and until, as in 08:00-22:00 or 22:00-06:00; the end is not included"))
		}
	}
	if h.Cron.Line == 0 {
		return // missing, or no text; said already
	}
	spec, what, do := parseCron(h.Cron.Text)
	if what != "" {
		p.fail(p.wrong(f, "cron", what, do))
		return
	}
	p.beat.plan = &schedule{spec: spec}
	if wrong == "" && !p.beat.plan.within(hours) {
		p.fail(p.wrong(f, "hours", "no time of the cron lies in hours, so the beat would never run", "widen hours, or change cron"))
	}
}

// reach reads the contexts that runs reach. An empty list is no missing one.
func (p *parsed) reach(f *brainfile.File, h head) {
	if h.Reach == nil {
		return
	}
	reach := make(attache.Reach, 0, len(h.Reach))
	for _, w := range h.Reach {
		id := attache.ContextID(strings.TrimSpace(w.Text))
		switch {
		case w.Line == 0: // no text; said already
		case id == "":
			p.fail(f.Wrong(w.Line, w.Col, "an entry of reach is blank", "name a context, without .context.md"))
		case reach.Has(id):
			p.fail(f.Wrong(w.Line, w.Col, fmt.Sprintf("reach names %s twice", brief(string(id))), "keep one of them"))
		default:
			reach = append(reach, attache.ReachEntry{Context: id})
		}
	}
	p.beat.Reach = reach
}

// where reads where runs post.
func (p *parsed) where(f *brainfile.File, n brainfile.Node) {
	var h placeHead
	problems := n.Decode(&h)
	p.fail(problems...)
	p.note("place.", n)
	p.beat.Place.Bot = attache.BotID(strings.TrimSpace(h.Bot.Text))
	if h.Bot.Line > 0 && strings.TrimSpace(h.Bot.Text) == "" {
		p.fail(p.wrong(f, "place.bot", "bot is blank", "name a bot of access.yaml, or leave the key out when there is one"))
	}
	if h.Chat.Line > 0 {
		chat, err := attache.ParseChat(h.Chat.Text)
		if err != nil {
			p.fail(p.wrong(f, "place.chat", fmt.Sprintf("%q is not the address of a chat", brief(h.Chat.Text)), `write "tg:chat:-100…", the number that /doctor or the chats page shows`))
		}
		p.beat.Place.Chat = chat
	}
	if h.Thread.Line > 0 {
		thread, err := strconv.ParseInt(h.Thread.Text, 10, 64)
		switch {
		case err != nil || thread < 0:
			p.fail(p.wrong(f, "place.thread", fmt.Sprintf("%q is not the number of a thread", brief(h.Thread.Text)), `write its digits, as in "42"; General is "0"`))
		case thread == 1: // Telegram's number for General, which never reaches a place
			p.fail(p.wrong(f, "place.thread", "a thread 1 does not exist", `General is "0"`))
		}
		p.beat.Place.Thread = attache.ThreadID(thread)
	}
}
