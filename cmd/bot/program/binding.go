package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"attache"
	"attache/access"
	"attache/gateway/aliases"
	"attache/internal/builtin"
	"attache/internal/telegram"
)

// rooms gives the tools on chats what they need: the rules of the moment of a call,
// which may be newer than those that its turn began with, and Telegram.
func (p *Program) rooms() builtin.Rooms {
	return builtin.Rooms{
		Rules:  p.rules,
		Ruling: func(at attache.Place) access.Ruling { return p.ruling(p.brain.Current(), at, "") },
		Admits: func(role attache.RoleID, id attache.ContextID) bool {
			return p.brain.Current().Admission(role).Admits(id)
		},
		Now: func(ctx context.Context, chat attache.ChatID) (attache.ChatID, error) {
			return aliases.Current(ctx, p.db, chat)
		},
		Ties: p.ties.OfChat, Bind: p.ties.Bind, Unbind: p.ties.Unbind,
		CreateTopic: p.createTopic, CloseTopic: p.closeTopic,
	}
}

// rules gives what decides on bindings, as the brain is now.
func (p *Program) rules() access.Binder {
	b := p.brain.Current()
	var known []attache.ContextFact
	for f := range b.Contexts.Files() {
		known = append(known, f.ContextFact)
	}
	return access.Binder{
		Policy: b.Policy, Known: known, Ruled: p.ruled, Formerly: p.formerly,
		Absent: func(id attache.ContextID) string {
			_, why := b.Contexts.File(id)
			return why
		},
	}
}

// formerly gives the number that a supergroup had as a group, as any bot knows it:
// unlike a message's, a group's number is the same for all.
func (p *Program) formerly(chat attache.ChatID) (attache.ChatID, bool) {
	for _, b := range p.bots {
		if old, ok := p.gateway.Formerly(b.id, chat); ok {
			return old, true
		}
	}
	return 0, false
}

// createTopic opens a topic through the bot of a place.
func (p *Program) createTopic(ctx context.Context, at attache.Place, name string) (attache.ThreadID, error) {
	b := p.bot(at.Bot)
	if b == nil {
		return 0, notServed(at.Bot)
	}
	thread, err := b.sender.CreateTopic(ctx, at.Chat, name)
	return thread, refusal(err)
}

// closeTopic closes the topic of a place.
func (p *Program) closeTopic(ctx context.Context, at attache.Place) error {
	b := p.bot(at.Bot)
	if b == nil {
		return notServed(at.Bot)
	}
	return refusal(b.sender.CloseTopic(ctx, at.Chat, at.Thread))
}

func notServed(id attache.BotID) error {
	return &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("the bot %s does not run here; start attache with its token", id)}
}

// refusal makes an error that says that nothing was done of one that is certain about
// it; any other stays, since nobody knows then.
func refusal(err error) error {
	call, ok := errors.AsType[*telegram.CallError](err)
	switch {
	case !ok || !call.Certain:
		return err
	case call.Code == 429:
		return &attache.Error{Kind: attache.KindOutside, Say: fmt.Sprintf("Telegram asks this bot to wait %v; try again in a later turn", call.RetryAfter.Round(time.Second)), Cause: err}
	case call.Code == 0 || call.Code >= 500 || call.Foreign:
		return &attache.Error{Kind: attache.KindOutside, Say: "Telegram cannot be reached; try again in a later turn", Cause: err}
	}
	return &attache.Error{Kind: attache.KindRefused, Say: "Telegram refused it: " + call.Description, Cause: err}
}
