package engine

import (
	"bytes"
	"log/slog"
	"testing"
)

// The journal's log goes into ours: its chatter does not, and what its background
// loops meet each second of an outage is for debugging.
func TestOnlyWhatMattersIsPassedOn(t *testing.T) {
	for _, c := range []struct {
		level slog.Level
		want  string
	}{
		{slog.LevelInfo, "level=WARN msg=\"outcome not recorded\"\n"},
		{slog.LevelDebug, "level=WARN msg=\"outcome not recorded\"\nlevel=DEBUG msg=\"no dequeue\" service=queue_runner\nlevel=DEBUG msg=\"Failed to cancel timed-out workflows\"\n"},
	} {
		var out bytes.Buffer
		log := slog.New(quiet{Handler: slog.NewTextHandler(&out, &slog.HandlerOptions{Level: c.level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})})
		log.Info("launched")
		log.Warn("outcome not recorded")
		log.With("service", "queue_runner").Error("no dequeue") //nolint:sloglint // the key is the engine's
		log.Warn("Failed to cancel timed-out workflows")
		if out.String() != c.want {
			t.Errorf("at %s:\n%s", c.level, out.String())
		}
	}
}
