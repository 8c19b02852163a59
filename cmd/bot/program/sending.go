package program

import (
	"context"
	"slices"
	"time"

	"attache"
	"attache/gateway/mind"
	"attache/gateway/posts"
	"attache/internal/builtin"
	"attache/internal/model"
)

// sends wires the tools that say something.
func (p *Program) sends() builtin.Deps {
	return builtin.Deps{
		Ruled: p.ruled, Post: p.post, Again: p.again, Bots: p.speakers, Lets: p.lets, Origin: p.origin,
		Files: p.s.Files, Brain: p.brain.Current().Dir, Speak: p.speak,
	}
}

// ruled reports whether a tool may post in a place: its chat has a rule under its
// bot. The rule `dm` is one for many chats, so there the person must be let in too:
// otherwise a model could be talked into writing to anybody who ever wrote to the bot.
func (p *Program) ruled(place attache.Place) bool {
	r := p.ruling(p.brain.Current(), place, "")
	if !r.Ruled() || !place.Chat.Private() {
		return r.Ruled()
	}
	admitted, _ := r.Admits(attache.UserID(int64(place.Chat)))
	return admitted
}

// speakers gives the bots that may post in a chat.
func (p *Program) speakers(chat attache.ChatID) []attache.BotID {
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
func (p *Program) post(ctx context.Context, r builtin.PostRequest) (builtin.PostResult, error) {
	r.Say.Format = p.ruling(p.brain.Current(), r.Say.Place, "").Format
	said, err := p.gateway.Say(ctx, r.Turn, r.Call, r.Say)
	return outcome(said), err
}

// again goes on with what a tool call said before a crash.
func (p *Program) again(ctx context.Context, turn int64, call string) (builtin.PostResult, bool, error) {
	said, found, err := p.gateway.Again(ctx, turn, call)
	return outcome(said), found, err
}

func outcome(s posts.Said) builtin.PostResult {
	return builtin.PostResult{Place: s.Place, Messages: s.Messages, Fate: s.Fate, Why: s.Why, Origin: s.Origin}
}

// speaker is the entry under `models:` that says words aloud.
const speaker = "speech"

// speak says words aloud for a tool call, if the brain has a model for it, and
// records what that took.
func (p *Program) speak(ctx context.Context, c attache.Call, words string) ([]byte, error) {
	b := p.brain.Current()
	if _, ok := b.Frame.Manifest.Models[speaker]; !ok {
		return nil, &attache.Error{Kind: attache.KindRefused, Say: "this brain has no model that speaks; only a person can name one, as `speech` under `models:` in constitution/MANIFEST.yaml"}
	}
	client, _, err := p.model(b, speaker)
	if err != nil {
		p.log.Error("the model that speaks cannot be asked", "err", err)
		return nil, &attache.Error{Kind: attache.KindRefused, Say: "the model that speaks is not set up; only a person can mend `speech` under `models:` in constitution/MANIFEST.yaml", Cause: err}
	}
	sound, err := client.Speech(ctx, words, func(a model.Attempt) {
		x := mind.Exchange{Turn: c.Turn, Place: c.Place, Role: c.Role, At: time.Now(), Attempt: a}
		if err := p.account(context.WithoutCancel(ctx), x); err != nil {
			p.log.Warn("what it took to say something aloud is not recorded", "turn", c.Turn, "err", err)
		}
	})
	if err != nil {
		p.log.Warn("nothing was said aloud", "bot", c.Place.Bot, "chat", c.Place.Chat, "turn", c.Turn, "err", err)
		return nil, &attache.Error{Kind: attache.KindOutside, Say: "the model that speaks does not answer right now; write instead, or try again in a later turn", Cause: err}
	}
	return sound, nil
}
