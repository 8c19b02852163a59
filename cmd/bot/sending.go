package main

import (
	"context"
	"slices"

	"attache"
	"attache/gateway/posts"
	"attache/internal/builtin"
)

// sends wires the tools that say something.
func (p *program) sends() builtin.Deps {
	return builtin.Deps{Ruled: p.ruled, Post: p.post, Again: p.again, Bots: p.speakers, Lets: p.lets, Origin: p.origin}
}

// ruled reports whether a tool may post in a place: its chat has a rule under its
// bot. The rule `dm` is one for many chats, so there the person must be let in too:
// otherwise a model could be talked into writing to anybody who ever wrote to the bot.
func (p *program) ruled(place attache.Place) bool {
	r := p.ruling(p.brain.Current(), place, "")
	if !r.Ruled() || !place.Chat.Private() {
		return r.Ruled()
	}
	admitted, _ := r.Admits(attache.UserID(int64(place.Chat)))
	return admitted
}

// speakers gives the bots that may post in a chat.
func (p *program) speakers(chat attache.ChatID) []attache.BotID {
	var out []attache.BotID
	for _, b := range p.bots {
		if p.ruled(attache.Place{Bot: b.id, Chat: chat}) {
			out = append(out, b.id)
		}
	}
	slices.Sort(out)
	return out
}

// post says something for a tool call.
func (p *program) post(ctx context.Context, r builtin.PostRequest) (builtin.PostResult, error) {
	r.Say.Format = p.ruling(p.brain.Current(), r.Say.Place, "").Format
	said, err := p.gateway.Say(ctx, r.Turn, r.Call, r.Say)
	return outcome(said), err
}

// again goes on with what a tool call said before a crash.
func (p *program) again(ctx context.Context, turn int64, call string) (builtin.PostResult, bool, error) {
	said, found, err := p.gateway.Again(ctx, turn, call)
	return outcome(said), found, err
}

func outcome(s posts.Said) builtin.PostResult {
	return builtin.PostResult{Place: s.Place, Messages: s.Messages, Fate: s.Fate, Why: s.Why, Origin: s.Origin}
}
