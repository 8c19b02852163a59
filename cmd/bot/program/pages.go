package program

import (
	"context"
	"net/http"

	"attache"
	"attache/cmd/bot/operator"
	"attache/engage"
	"attache/gateway/judge"
	"attache/internal/conversation"
)

// newOperator makes the operator's pages: behind a login in a program that listens,
// beside the playground in the demo, which has none.
func (p *Program) newOperator(ctx context.Context) (*operator.Operator, error) {
	return operator.New(ctx, operator.Options{
		DB: p.db, Talks: p.talks, Ties: p.ties, Log: p.log, Now: p.now, Zone: p.zone,
		Admin: p.s.Admin, Listen: p.s.Listen, PublicURL: p.s.PublicURL,
		Brain: p.brain.Current, Ruling: p.ruling, Formerly: p.gateway.Formerly, Strangers: p.strangers,
		Heard: p.Heard, Say: p.line, Calls: p.lookback.Calls, Uses: p.lookback.Uses, Examine: p.examine,
	})
}

// Beside serves the operator's pages in front of the playground.
func (p *Program) Beside(ctx context.Context, playground http.Handler) http.Handler {
	o, err := p.newOperator(ctx)
	if err != nil {
		p.log.Error("the operator's pages are left out", "err", err)
		return playground
	}
	p.operator = o
	return o.Beside(playground)
}

// strangers lists who was met with silence since the start.
func (p *Program) strangers() []judge.Stranger {
	var all []judge.Stranger
	for _, b := range p.bots {
		all = append(all, b.judge.Strangers()...)
	}
	return all
}

// Talks is what is said in the program's places.
func (p *Program) Talks() *conversation.Store { return p.talks }

// Heard says what the rules make of a message as they are now, for which role and
// why. A command counts as a message to answer, and so does all that comes before
// Telegram told who the bot is.
func (p *Program) Heard(m attache.Message) (engage.Act, attache.RoleID, string) {
	bot := p.bot(m.Place.Bot)
	if bot == nil || bot.me.Load() == nil {
		return engage.Answer, "", ""
	}
	o := bot.judge.Weigh(m)
	switch {
	case !o.Ruling.Ruled():
		return engage.Ignore, o.Ruling.Role, o.Ruling.Why
	case o.Command != "":
		return engage.Answer, o.Ruling.Role, "a command"
	}
	return o.Decision.Act, o.Ruling.Role, o.Decision.Why
}

// line says an owner's own words in a place; a reply to them quotes them as such
// (decisions § 7.10). They stand as they were written, like an answer's.
func (p *Program) line(ctx context.Context, at attache.Place, text string) error {
	if !p.ruled(at) {
		return &attache.Error{Kind: attache.KindRefused, Say: "access.yaml has no rule for this chat under the bot " + string(at.Bot) + ", or lets nobody in there."}
	}
	return p.gateway.Line(ctx, attache.Outgoing{Place: at, Markdown: text, Format: p.ruling(p.brain.Current(), at, "").Format, Origin: &attache.Origin{Lines: true}})
}
