package main

import (
	"context"
	"time"

	"attache"
)

type runCommand struct{}

// Run serves every bot until it is told to stop.
func (runCommand) Run(ctx context.Context, f *flags, io stdio) error {
	found, err := tokens(nil)
	if err != nil {
		return err
	}
	log, err := newLog(io.err, f.Log, values(found))
	if err != nil {
		return err
	}
	p, err := newProgram(ctx, f, settings{tokens: found, pace: true, merge: 1200 * time.Millisecond, say: func(s string) { log.Info(s) }}, log)
	if err != nil {
		return err
	}
	defer p.close()
	return p.run(ctx)
}

func values(tokens map[attache.BotID]attache.Secret) []attache.Secret {
	var all []attache.Secret
	for _, t := range tokens {
		all = append(all, t)
	}
	return all
}
