package program

import (
	"context"
	"fmt"
	"strings"

	"attache"
	"attache/constitution"
	"attache/gateway"
	"attache/gateway/carried"
	"attache/gateway/mind"
	"attache/internal/brain"
	"attache/internal/engine"
	"attache/internal/model"
	"attache/internal/usage"
)

// echoModel is the model of a brain that tries the path and not the mind: every
// turn is answered with its own words, and nothing is called.
const echoModel = "echo"

// transcriber is the entry under `models:` that turns voice into words.
const transcriber = "transcribe"

// newMind puts together what answers turns.
func (p *Program) newMind(ctx context.Context) (*mind.Mind, error) {
	if err := usage.Migrate(ctx, p.db); err != nil {
		return nil, err
	}
	p.agents = p.newAgents()
	return mind.New(ctx, mind.Options{
		DB: p.db, Talks: p.talks, Built: p.builtTools(), Tools: p.tools, Log: p.log, Now: p.now,
		Brain: p.brain.Current, Ruling: p.ruling, Bindings: p.bindings, Parents: p.parents, Read: p.state.Read, Model: p.model, Transcribe: p.transcribe,
		Ours: p.ours, Fetch: p.fetch, Draft: p.draft, Usage: p.account, Agents: p.agents, Folder: p.folder,
	})
}

// answer answers a turn: with its own words if the brain says `model: echo`, by the
// mind otherwise.
func (p *Program) answer(ctx context.Context, run engine.Run, t gateway.Turn) (gateway.Answer, error) {
	b := p.brain.Current()
	if t.Task != nil {
		if role, ok := b.Frame.Role(t.Task.Agent); ok && Echoes(b, role) {
			return gateway.Answer{Markdown: t.Task.Input, Format: p.ruling(b, t.Place, "").Format, Origin: &attache.Origin{Run: t.Task.Run.String(), Feature: t.Task.Feature}}, nil
		}
	} else if len(t.Messages) > 0 {
		r := p.ruling(b, t.Place, t.Messages[0].Chat.Kind)
		if role, ok := b.Frame.Role(r.Role); ok && r.Ruled() && Echoes(b, role) {
			a := echo(t)
			a.Format = r.Format
			if r.GoneChat {
				a.Gone = "chat"
			}
			return a, nil
		}
	}
	return p.mind.Answer(ctx, run, t)
}

// modelOf gives the entry under `models:` that a role uses.
func modelOf(b *brain.Brain, r constitution.Role) constitution.Model {
	name := r.Model.Text
	if name == "" {
		name = "default"
	}
	return b.Frame.Manifest.Models[name]
}

// Echoes reports whether the turns of a role are answered with their own words: its
// model is echo, and it has no agent of its own, which needs no model.
func Echoes(b *brain.Brain, r constitution.Role) bool {
	return len(r.Engine.Command) == 0 && modelOf(b, r).Model == echoModel
}

// echo answers a turn with its own words.
func echo(t gateway.Turn) gateway.Answer {
	lines := make([]string, len(t.Messages))
	for i, m := range t.Messages {
		lines[i] = m.Text
		for _, f := range m.Media {
			lines[i] = "[" + f.Kind + "] " + lines[i]
		}
		if m.Left != "" {
			lines[i] += " [left out: " + m.Left + "]"
		}
	}
	return gateway.Answer{Markdown: strings.Join(lines, "\n\n")}
}

// model gives the client of an entry under `models:`. Clients are made once:
// changed models need a restart (interface § 3).
func (p *Program) model(b *brain.Brain, name string) (*model.Client, model.Profile, error) {
	p.clients.Lock()
	defer p.clients.Unlock()
	if c, ok := p.clients.byName[name]; ok {
		return c.client, c.profile, nil
	}
	profile, err := b.Profile(name, p.s.Getenv)
	if err != nil {
		return nil, model.Profile{}, &attache.Error{Kind: attache.KindUsage, Say: "this brain has no model that could answer", Cause: err}
	}
	c := modelClient{model.New(profile, model.Options{}), profile}
	if p.clients.byName == nil {
		p.clients.byName = map[string]modelClient{}
	}
	p.clients.byName[name] = c
	return c.client, c.profile, nil
}

// modelClient is a client and what it is a client of.
type modelClient struct {
	client  *model.Client
	profile model.Profile
}

// transcribe turns a voice message into words, if the brain has a model for it.
func (p *Program) transcribe(ctx context.Context, b *brain.Brain, turn int64, audio mind.File) (string, bool, error) {
	if _, ok := b.Frame.Manifest.Models[transcriber]; !ok {
		return "", false, nil
	}
	client, _, err := p.model(b, transcriber)
	if err != nil {
		return "", false, err
	}
	text, err := client.Transcribe(ctx, audio.Name, audio.Data, nil)
	return text, err == nil, err
}

// largestFile is what is fetched of a file at most: Telegram lets bots download 20 MB.
const largestFile = 20 << 20

// fetch gets a file that came with a message.
func (p *Program) fetch(ctx context.Context, id attache.BotID, m attache.Media) (mind.File, error) {
	b := p.bot(id)
	if b == nil {
		return mind.File{}, fmt.Errorf("this program does not serve the bot %s", id)
	}
	data, mime, err := b.client.Download(ctx, m.FileID, largestFile)
	if err != nil {
		return mind.File{}, err
	}
	if m.MIME != "" {
		mime = m.MIME
	}
	name := m.Name
	if name == "" {
		name = m.Kind + ".ogg"
	}
	return mind.File{Name: name, MIME: mime, Data: data}, nil
}

// draft begins the draft of a private answer.
func (p *Program) draft(place attache.Place, turn int64, f attache.Format) mind.Draft {
	return p.bot(place.Bot).sender.Draft(place, turn, f)
}

// account records what an exchange with a model took and cost.
func (p *Program) account(ctx context.Context, x mind.Exchange) error {
	a := x.Attempt
	p.metrics.Exchange(a)
	c := usage.Call{Turn: x.Turn, N: x.N, Place: x.Place, Role: x.Role, At: x.At,
		Profile: a.Profile, Model: a.Model, Try: a.Try, Status: a.Status, Took: a.Took, Why: a.Why, Request: a.Request}
	if a.Usage.Reported {
		c.Tokens = &usage.Tokens{In: int64(a.Usage.In), Cached: int64(a.Usage.Cached), CacheWrite: int64(a.Usage.CacheWrite),
			Out: int64(a.Usage.Out), Reasoning: int64(a.Usage.Reasoning)}
	}
	if a.CostKnown {
		c.Cost = &a.Cost
	}
	return usage.Record(ctx, p.db.Pool(), c)
}

// contextLines answers /context: what the latest turn of a place carried, as far as
// the place is still held to the same keys.
func (p *Program) contextLines(ctx context.Context, place attache.Place) string {
	pin := p.pin(ctx, p.brain.Current(), place)
	x, ok, err := p.talks.Latest(ctx, place, pin.String())
	if err != nil || pin.Unread {
		return "I cannot look that up right now: the database does not answer."
	}
	switch {
	case !ok && len(pin.Bound) > 0:
		return "I have answered nothing here since this chat is bound as it is now."
	case !ok:
		return "I have answered nothing here yet."
	}
	papers, err := carried.Of(ctx, p.db, x.Turn)
	if err != nil {
		return "I cannot look that up right now: the database does not answer."
	}
	lines := []string{
		carried.Line(papers[x.Turn]),
		fmt.Sprintf("Instructions: %s, %d characters", short(x.Epoch.ID), len([]rune(x.Epoch.Text))),
		fmt.Sprintf("Session: %d, input %d characters", x.Session.ID, len([]rune(string(x.Input)))),
	}
	calls, err := usage.OfTurn(ctx, p.db.Pool(), x.Turn)
	if err == nil && len(calls) > 0 {
		lines = append(lines, cached(calls))
	}
	return strings.Join(lines, "\n")
}

// cached tells how much of a turn's prompts the server had in its cache.
func cached(calls []usage.Call) string {
	var in, hit int64
	for _, c := range calls {
		if c.Tokens != nil {
			in, hit = in+c.Tokens.In, hit+c.Tokens.Cached
		}
	}
	if in == 0 {
		return "Tokens: the model's server reports none"
	}
	return fmt.Sprintf("Tokens: %d in, %d %% of them from the cache", in, 100*hit/in)
}

func short(id string) string { return id[:min(8, len(id))] }

// ours tells which of the program's bots a person of Telegram is.
func (p *Program) ours(person attache.PersonID) (attache.BotID, bool) {
	for _, b := range p.bots {
		if me := b.me.Load(); me != nil && person == attache.UserID(me.ID) {
			return b.id, true
		}
	}
	return "", false
}

// bot gives the bot of an id, nil when this program does not serve it.
func (p *Program) bot(id attache.BotID) *bot {
	for _, b := range p.bots {
		if b.id == id {
			return b
		}
	}
	return nil
}
