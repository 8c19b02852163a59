package program

import (
	"context"
	"time"

	"attache"
	"attache/gateway"
	"attache/heartbeat"
	"attache/internal/store"
)

// newRunner makes what fires the brain's beats.
func (p *Program) newRunner(ctx context.Context) (*heartbeat.Runner, error) {
	return heartbeat.New(ctx, heartbeat.Options{
		DB: p.db, Log: p.log, Clock: p.s.Clock,
		Beats: func() []heartbeat.Beat { return p.brain.Current().Beats },
		Fire:  p.fire,
	})
}

// fire begins the run of a slot, in the transaction that claims it: its reach is
// decided here and stored with it (text 1 § 2, matrix B11).
func (p *Program) fire(ctx context.Context, tx store.Tx, b heartbeat.Beat, f heartbeat.Fire) (after func(), err error) {
	reach := p.brain.Current().Contexts.Reach(b.Entity)
	turn, after, err := p.gateway.Begin(ctx, tx, b.Place, gateway.Task{
		Run:   attache.Run{Kind: b.Kind, ID: b.ID, Feature: b.Feature, Reach: reach},
		Agent: b.Agent, About: b.Description, Input: b.Body,
	})
	if err != nil {
		return nil, err
	}
	return after, f.Began(ctx, tx, turn)
}

// runEnded notes how a run ended, in the transaction that closes its turn. One that
// could not do its work is told in the log when that is new: not each morning.
func (p *Program) runEnded(ctx context.Context, tx store.Tx, turn int64, state, why string) error {
	if state != "failed" && state != "refused" {
		return nil
	}
	news, err := heartbeat.Mark(ctx, tx, turn, heartbeat.Refused, why)
	if err == nil && news {
		p.log.Warn("a run did not come to its end; attache doctor names it until one does", "turn", turn, "why", why)
	}
	return err
}

// now gives the time of turns: the machine's, unless a test stops it.
func (p *Program) now() time.Time {
	if p.s.Clock == nil {
		return time.Now()
	}
	return p.s.Clock.Now()
}
