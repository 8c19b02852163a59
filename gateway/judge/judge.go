// Package judge says what a bot does with a message: the rule of its place, who is
// let in, commands, and whether it is for the bot. It decides and answers nothing.
//
// It keeps two small things in memory, which a restart begins anew: how often bots
// have answered each other in a place, and who was met with silence.
package judge

import (
	"log/slog"
	"time"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway"
)

// Options is what a Judge asks; all of it is required.
type Options struct {
	Bot attache.BotID
	Log *slog.Logger
	// Self is the bot as Telegram knows it; asked only once Telegram has told.
	Self func() engage.Self
	// Ruling gives the rule of a place as it is now; kind is Telegram's word for the
	// chat, "" when it is not known.
	Ruling func(p attache.Place, kind string) access.Ruling
	Owner  func(attache.PersonID) bool
	// Command gives the verdict on one of the bot's own commands; ours is false for
	// any other word, which goes its way as a message.
	Command func(m attache.Message, name string) (v gateway.Verdict, ours bool)
	// Acknowledge ends the little clock on a pressed button; cosmetic.
	Acknowledge func(p attache.Press, say string)
}

// Judge judges the messages of one bot. It may be used by several goroutines.
type Judge struct {
	o         Options
	loops     loops
	strangers strangers
}

// New gives the judge of a bot.
func New(o Options) *Judge { return &Judge{o: o} }

// Opinion is what the rules say of a message, before anything follows from it.
type Opinion struct {
	Ruling   access.Ruling
	Admitted bool            // whether its people let the sender in
	Decision engage.Decision // none where no rule holds
	Command  string          // the command in it that is for this bot and may be given, "" for none
}

// Weigh is what the ruling of its place says of a message to a bot, and does nothing
// else. exchanges is how often bots have answered each other there since a person
// wrote.
func Weigh(r access.Ruling, m attache.Message, self engage.Self, exchanges int) Opinion {
	admitted, why := r.Admits(m.From.ID)
	o := Opinion{Ruling: r, Admitted: admitted}
	if !r.Ruled() {
		return o
	}
	o.Decision = engage.Decide(engage.Rule{
		Engage: r.Engage, Names: r.Names, Observe: r.Observe, Bots: r.Bots, Channels: r.Channels,
		Admitted: admitted, WhyNot: why, Exchanges: exchanges,
	}, m, self)
	// What may not engage the bot may not command it either: two bots that answer
	// each other's commands would never end.
	if name, _, ok := engage.Command(m, self.Username); ok && !o.Decision.Barred {
		o.Command = name
	}
	return o
}

// Weigh asks the rules as they are now, as if no bots had answered each other.
func (j *Judge) Weigh(m attache.Message) Opinion { return j.weigh(m, 0) }

func (j *Judge) weigh(m attache.Message, exchanges int) Opinion {
	return Weigh(j.o.Ruling(m.Place, m.Chat.Kind), m, j.o.Self(), exchanges)
}

// Message says what is done with a message. Who is met with silence is named in the
// log.
func (j *Judge) Message(m attache.Message) gateway.Verdict {
	o := j.weigh(m, j.loops.count(m))
	r, d := o.Ruling, o.Decision
	if !r.Ruled() {
		if r.Kind == access.KindOwner && j.o.Owner(m.From.ID) {
			return j.owner(m, r)
		}
		j.stranger(m, r)
		return gateway.Verdict{Act: gateway.ActSilence, Why: r.Why}
	}
	if !o.Admitted {
		j.stranger(m, r)
	}
	if o.Command != "" {
		if v, ours := j.o.Command(m, o.Command); ours {
			j.loops.engaged(m)
			return v
		}
	}
	switch d.Act {
	case engage.Answer:
		j.loops.engaged(m)
		return gateway.Verdict{Act: gateway.ActAnswer, Why: d.Why, Quiet: engage.Quiet(m, r.Merge)}
	case engage.Observe:
		return gateway.Verdict{Act: gateway.ActObserve, Why: d.Why}
	}
	if !o.Admitted {
		return gateway.Verdict{Act: gateway.ActSilence, Why: d.Why} // lines of others are not kept
	}
	return gateway.Verdict{Act: gateway.ActIgnore, Why: d.Why}
}

// Press makes the input of a button's press: `[pressed] <text>` of the person who
// pressed (interface § 4). It has no message number of its own, so it takes the
// update's, negative, which no message has.
func (j *Judge) Press(p attache.Press, update int64) (attache.Message, gateway.Verdict) {
	label := p.Text
	if label == "" {
		label = p.Data
	}
	m := attache.Message{Place: p.Place, ID: attache.MessageID(-update), From: p.From, At: time.Now().UTC().Truncate(time.Second), Text: "[pressed] " + label}
	if p.Place.Chat == 0 {
		return m, gateway.Verdict{Act: gateway.ActIgnore, Why: "a press below a post that is nowhere"}
	}
	r := j.o.Ruling(p.Place, "")
	admitted, why := r.Admits(p.From.ID)
	if !r.Ruled() || !admitted {
		go j.o.Acknowledge(p, "This is not for you.")
		return m, gateway.Verdict{Act: gateway.ActSilence, Why: why}
	}
	go j.o.Acknowledge(p, "")
	return m, gateway.Verdict{Act: gateway.ActAnswer, Why: "a button was pressed", Quiet: r.Merge}
}

// owner answers an owner in a private chat that has no rule: help works, anything
// else is told the key that is missing (interface § 3).
func (j *Judge) owner(m attache.Message, r access.Ruling) gateway.Verdict {
	if name, _, ok := engage.Command(m, j.o.Self().Username); ok {
		if v, ours := j.o.Command(m, name); ours && (name == "help" || name == "doctor") {
			return v
		}
	}
	say := "I have no rule for this chat. Add " + r.Missing + " to access.yaml and I will answer here."
	if r.Missing == "" {
		say = "My rule for this chat is silenced by a mistake: " + r.Why
	}
	return gateway.Verdict{Act: gateway.ActReply, Say: say, Why: "an owner without a rule"}
}
