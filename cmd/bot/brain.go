package main

import (
	"log/slog"
	"os"
	"path/filepath"

	"attache"
	"attache/internal/brain"
)

// openBrain reads the brain. A folder that is none is wrong usage; a brain whose
// MANIFEST was never right cannot be run with.
func openBrain(dir string, log *slog.Logger) (*brain.Holder, error) {
	if _, err := os.Stat(filepath.Join(dir, "constitution")); err != nil {
		return nil, misused("there is no brain in %s: a brain has a folder constitution with an access.yaml; name yours with --brain, or see what one looks like with `attache demo`", dir)
	}
	holder, err := brain.Open(dir, log)
	if err != nil {
		return nil, err
	}
	if holder.Current().Frame.Fatal {
		return nil, misused("MANIFEST.yaml of the brain in %s is wrong (see above); mend it, then start again", dir)
	}
	return holder, nil
}

// botsOf lists the bots of a brain.
func botsOf(b *brain.Brain) []attache.BotID {
	var ids []attache.BotID
	for _, bot := range b.Policy.Bots() {
		ids = append(ids, bot.ID)
	}
	return ids
}
