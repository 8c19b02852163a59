package main

import (
	"context"
	"sync"
	"time"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway"
)

// opinion is what the rules say of a message, before anything follows from it.
type opinion struct {
	ruling   access.Ruling
	admitted bool            // whether its people let the sender in
	decision engage.Decision // none where no rule holds
	command  string          // the command in it that is for this bot and may be given, "" for none
}

// weigh asks the rules about a message and does nothing else. exchanges is how often
// bots have answered each other in its place since a person wrote.
func (b *bot) weigh(m attache.Message, exchanges int) opinion {
	me := b.me.Load()
	self := engage.Self{Bot: b.id, User: attache.UserID(me.ID), Username: me.Username}
	return weigh(b.p.ruling(b.p.brain.Current(), m.Place, m.Chat.Kind), m, self, exchanges)
}

// weigh is what the ruling of its place says of a message to a bot.
func weigh(r access.Ruling, m attache.Message, self engage.Self, exchanges int) opinion {
	admitted, why := r.Admits(m.From.ID)
	o := opinion{ruling: r, admitted: admitted}
	if !r.Ruled() {
		return o
	}
	o.decision = engage.Decide(engage.Rule{
		Engage: r.Engage, Names: r.Names, Observe: r.Observe, Bots: r.Bots, Channels: r.Channels,
		Admitted: admitted, WhyNot: why, Exchanges: exchanges,
	}, m, self)
	// What may not engage the bot may not command it either: two bots that answer
	// each other's commands would never end.
	if name, _, ok := engage.Command(m, self.Username); ok && !o.decision.Barred {
		o.command = name
	}
	return o
}

// judge says what is done with a message: the rule of its place, who is let in,
// commands, and whether it is for the bot. It answers nothing itself; who is met with
// silence is named in the log.
func (b *bot) judge(m attache.Message) gateway.Verdict {
	o := b.weigh(m, b.loops.count(m))
	r, d := o.ruling, o.decision
	if !r.Ruled() {
		if r.Kind == access.KindOwner && b.p.brain.Current().Policy.Owner(m.From.ID) {
			return b.owner(m, r)
		}
		b.stranger(m, r)
		return gateway.Verdict{Act: gateway.ActSilence, Why: r.Why}
	}
	if !o.admitted {
		b.stranger(m, r)
	}
	if o.command != "" {
		if v, ours := b.command(m, o.command); ours {
			b.loops.engaged(m)
			return v
		}
	}
	switch d.Act {
	case engage.Answer:
		b.loops.engaged(m)
		return gateway.Verdict{Act: gateway.ActAnswer, Why: d.Why, Quiet: engage.Quiet(m, r.Merge)}
	case engage.Observe:
		return gateway.Verdict{Act: gateway.ActObserve, Why: d.Why}
	}
	if !o.admitted {
		return gateway.Verdict{Act: gateway.ActSilence, Why: d.Why} // lines of others are not kept
	}
	return gateway.Verdict{Act: gateway.ActIgnore, Why: d.Why}
}

// press makes the input of a button's press: `[pressed] <text>` of the person who
// pressed (interface § 4). It has no message number of its own, so it takes the
// update's, negative, which no message has.
func (b *bot) press(p attache.Press, update int64) (attache.Message, gateway.Verdict) {
	label := p.Text
	if label == "" {
		label = p.Data
	}
	m := attache.Message{Place: p.Place, ID: attache.MessageID(-update), From: p.From, At: time.Now().UTC().Truncate(time.Second), Text: "[pressed] " + label}
	if p.Place.Chat == 0 {
		return m, gateway.Verdict{Act: gateway.ActIgnore, Why: "a press below a post that is nowhere"}
	}
	r := b.p.ruling(b.p.brain.Current(), p.Place, "")
	admitted, why := r.Admits(p.From.ID)
	if !r.Ruled() || !admitted {
		go b.acknowledge(p, "This is not for you.")
		return m, gateway.Verdict{Act: gateway.ActSilence, Why: why}
	}
	go b.acknowledge(p, "")
	return m, gateway.Verdict{Act: gateway.ActAnswer, Why: "a button was pressed", Quiet: r.Merge}
}

// acknowledge ends the little clock on a pressed button; cosmetic.
func (b *bot) acknowledge(p attache.Press, say string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.client.AnswerPress(ctx, p.ID, say); err != nil {
		b.log.Debug("a press could not be acknowledged", "bot", b.id, "err", err)
	}
}

// owner answers an owner in a private chat that has no rule: help works, anything
// else is told the key that is missing (interface § 3).
func (b *bot) owner(m attache.Message, r access.Ruling) gateway.Verdict {
	if name, _, ok := engage.Command(m, b.me.Load().Username); ok {
		if v, ours := b.command(m, name); ours && (name == "help" || name == "doctor") {
			return v
		}
	}
	say := "I have no rule for this chat. Add " + r.Missing + " to access.yaml and I will answer here."
	if r.Missing == "" {
		say = "My rule for this chat is silenced by a mistake: " + r.Why
	}
	return gateway.Verdict{Act: gateway.ActReply, Say: say, Why: "an owner without a rule"}
}

// loops counts exchanges between bots since a person last wrote, by place: a loop
// is cut after five (decisions § 6.6). A restart begins the count anew.
type loops struct {
	mu    sync.Mutex
	byBot map[attache.Place]int
}

// count gives the exchanges so far in a message's place; a person's message ends them.
func (l *loops) count(m attache.Message) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !m.From.IsBot {
		delete(l.byBot, m.Place)
	}
	return l.byBot[m.Place]
}

// engaged notes that a bot's message is going to be answered; an edit never is.
func (l *loops) engaged(m attache.Message) {
	if !m.From.IsBot || !m.EditedAt.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byBot == nil {
		l.byBot = map[attache.Place]int{}
	}
	l.byBot[m.Place]++
}
