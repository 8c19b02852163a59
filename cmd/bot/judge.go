package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway"
)

// judge says what is done with a message: the rule of its place, who is let in,
// commands, and whether it is for the bot. It decides and does nothing.
func (b *bot) judge(m attache.Message) gateway.Verdict {
	brain := b.p.brain.Current()
	r := b.p.ruling(brain, m.Place, m.Chat.Kind)
	admitted, why := r.Admits(m.From.ID)
	if !r.Ruled() {
		if r.Kind == access.KindOwner && admitted || brain.Policy.Owner(m.From.ID) && r.Kind == access.KindOwner {
			return b.owner(m, r)
		}
		return gateway.Verdict{Act: gateway.ActSilence, Why: r.Why}
	}
	me := b.me.Load()
	if name, args, ok := engage.Command(m, me.Username); ok && admitted {
		if v, ours := b.command(m, name, args); ours {
			return v
		}
	}
	self := engage.Self{Bot: b.id, User: attache.UserID(me.ID), Username: me.Username}
	d := engage.Decide(engage.Rule{
		Engage: r.Engage, Names: r.Names, Observe: r.Observe, Bots: r.Bots, Channels: r.Channels,
		Admitted: admitted, WhyNot: why, Exchanges: b.loops.count(m),
	}, m, self)
	switch d.Act {
	case engage.Answer:
		b.loops.engaged(m)
		return gateway.Verdict{Act: gateway.ActAnswer, Why: d.Why, Quiet: engage.Quiet(m, r.Merge)}
	case engage.Observe:
		return gateway.Verdict{Act: gateway.ActObserve, Why: d.Why}
	}
	return gateway.Verdict{Act: gateway.ActIgnore, Why: d.Why}
}

// owner answers an owner in a private chat that has no rule: help works, anything
// else is told the key that is missing (interface § 3).
func (b *bot) owner(m attache.Message, r access.Ruling) gateway.Verdict {
	if name, args, ok := engage.Command(m, b.me.Load().Username); ok {
		if v, ours := b.command(m, name, args); ours && (name == "help" || name == "doctor") {
			return v
		}
	}
	say := "I have no rule for this chat. Add " + r.Missing + " to access.yaml and I will answer here."
	if r.Missing == "" {
		say = "My rule for this chat is silenced by a mistake: " + r.Why
	}
	return gateway.Verdict{Act: gateway.ActReply, Say: say, Why: "an owner without a rule"}
}

// command gives the verdict on one of the bot's own commands; ours is false for
// any other word, which goes its way as a message.
func (b *bot) command(m attache.Message, name, _ string) (v gateway.Verdict, ours bool) {
	switch name {
	case "stop":
		return gateway.Verdict{Act: gateway.ActStop, Why: "/stop"}, true
	case "new":
		return gateway.Verdict{Act: gateway.ActNew, Say: "A new session: what was said before is not carried on.", Why: "/new"}, true
	case "context":
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		return gateway.Verdict{Act: gateway.ActReply, Say: b.p.contextLines(ctx, m.Place), Why: "/context"}, true
	case "help":
		return gateway.Verdict{Act: gateway.ActReply, Say: helpText, Why: "/help"}, true
	case "status":
		return gateway.Verdict{Act: gateway.ActReply, Say: b.status(m), Why: "/status"}, true
	}
	return gateway.Verdict{}, false
}

const helpText = `/new begins a new session here
/context says what my latest answer carried
/stop ends what I am doing here
/status says who I am here
/help is this list`

// status tells a person who the bot is in their chat.
func (b *bot) status(m attache.Message) string {
	r := b.p.ruling(b.p.brain.Current(), m.Place, m.Chat.Kind)
	return fmt.Sprintf("I am %s, here as %s; I answer to: %s.", b.id, r.Role, r.Engage)
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

// engaged notes that a bot's message is going to be answered.
func (l *loops) engaged(m attache.Message) {
	if !m.From.IsBot {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byBot == nil {
		l.byBot = map[attache.Place]int{}
	}
	l.byBot[m.Place]++
}
