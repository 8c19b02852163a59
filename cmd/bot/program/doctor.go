package program

import (
	"context"
	"fmt"
	"strings"

	"attache"
	"attache/internal/brain"
	"attache/internal/builtin"
	"attache/internal/doctor"
	"attache/internal/telegram/richtext"
)

// examine makes every check of the running program: /doctor, doctor_check and the
// page tell of it.
func (p *Program) examine(ctx context.Context) []doctor.Finding {
	b := p.brain.Current()
	s := p.s.Subject(b, p.brain.Problems())
	s.DB, s.Started = p.db, p.began
	for _, bot := range p.bots {
		one := p.s.Bot(bot.id, bot.client)
		if p.s.PublicURL == "" {
			_, one.Trouble = bot.poller.Healthy()
		} else {
			_, one.Trouble = p.webhook.Healthy()
		}
		s.Bots = append(s.Bots, one)
	}
	s.Also = append(s.Also, p.unruled(b)...)
	return doctor.Examine(ctx, s)
}

// checkFor is doctor_check: what may be told in a turn. One that is held to a key, was
// so when it began, or of which nobody knows it, hears of its own chat only (decisions
// § 3.15).
func (p *Program) checkFor(ctx context.Context, c attache.Call) builtin.Examination {
	found := p.examine(ctx)
	now := p.pin(ctx, p.brain.Current(), c.Place)
	x := builtin.Examination{ThisChat: now.Unread || c.Pin.Unread || len(now.Bound)+len(c.Pin.Bound) > 0}
	if x.ThisChat {
		found = doctor.OfPlace(found, c.Place)
	}
	x.OK = doctor.OK(found)
	for _, f := range found {
		x.Findings = append(x.Findings, f)
	}
	return x
}

// most is how many findings a chat is shown; the command and the page show all.
const most = 12

// findings gives the doctor's findings for a chat.
func (p *Program) findings(ctx context.Context) string {
	found := p.examine(ctx)
	if len(found) == 0 {
		return "All is well."
	}
	var lines []string
	for i, f := range found {
		if i == most {
			lines = append(lines, fmt.Sprintf("… and %d more; `attache doctor` lists them", len(found)-most))
			break
		}
		lines = append(lines, richtext.Literal(f.String())) // it quotes titles that strangers chose
	}
	return strings.Join(lines, "\n\n")
}

// unruled finds the chats that were met with silence since the start and still are.
func (p *Program) unruled(br *brain.Brain) []doctor.Finding {
	var found []doctor.Finding
	for _, b := range p.bots {
		for _, s := range b.judge.Strangers() {
			if r := p.ruling(br, s.Place, s.Kind); !r.Ruled() && !r.Silenced {
				found = append(found, doctor.Finding{Level: doctor.Note, Check: "Chat access", Chat: s.Place.Chat,
					What: fmt.Sprintf("%s, %s, has no rule for %s and is met with silence", s.Place.Chat, s.Who(), b.id), Do: s.Do()})
			}
		}
	}
	return found
}

// privacy finds rules of the bots that this program serves and that need more than
// Telegram delivers to them.
func (p *Program) privacy(b *brain.Brain) []doctor.Finding {
	var found []doctor.Finding
	for _, bot := range p.bots {
		if me := bot.me.Load(); me != nil {
			found = append(found, doctor.Privacy(b, bot.id, *me)...)
		}
	}
	return found
}
