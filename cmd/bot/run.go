package main

import (
	"context"

	"attache"
	"attache/cmd/bot/starter"
	"attache/internal/doctor"
)

type runCommand struct{}

// Run serves every bot until it is told to stop.
func (runCommand) Run(ctx context.Context, f *flags, io stdio) error {
	early, err := newLog(io.err, f.Log, nil)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	brain, err := openBrain(f.Brain, early)
	if err != nil {
		return err
	}
	found, err := tokens(botsOf(brain.Current()))
	if err != nil {
		return err
	}
	log, err := newLog(io.err, f.Log, values(found))
	if err != nil {
		return err
	}
	say := func(s string) { log.Info(s) } //nolint:sloglint // each is a whole sentence of who says it
	p, err := start(ctx, f, settings{brain: brain, tokens: found, say: say, getenv: lookup}, log)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, f := range doctor.Mute(brain.Current(), lookup) {
		log.Error("no model can be asked", "why", f.What+"; "+f.Do)
	}
	for _, f := range starter.Ownerless(brain.Current()) {
		log.Info("the brain has no owner yet", "why", f.What+" ("+f.File+"); "+f.Do)
	}
	return p.Run(ctx)
}

func values(tokens map[attache.BotID]attache.Secret) []attache.Secret {
	var all []attache.Secret
	for _, t := range tokens {
		all = append(all, t)
	}
	return all
}
