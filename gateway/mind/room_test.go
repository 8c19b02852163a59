package mind

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"attache"
	"attache/contexts"
	"attache/gateway"
)

// heard makes lines of a room that came under a key.
func heard(key string, lines ...attache.Message) []gateway.RoomLine {
	var out []gateway.RoomLine
	for _, l := range lines {
		out = append(out, gateway.RoomLine{Message: l, Key: &key})
	}
	return out
}

func TestRoomKeepsTheNewestLinesOfPeopleLetIn(t *testing.T) {
	for _, c := range []struct{ name, manifest, want string }{
		{"all fit", "room: { lines: 30, chars: 4000 }\n", "1 2 4 5"},
		{"lines", "room: { lines: 2, chars: 4000 }\n", "4 5"},
		{"chars", "room: { lines: 30, chars: 7 }\n", "4 5"},
		{"none", "room: { lines: 0, chars: 4000 }\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, r := brainOf(t, c.manifest)
			th := &thought{brain: b, ruling: r, turn: gateway.Turn{Room: heard("",
				line(1, "tg:user:5", "one"), line(2, "tg:user:5", "two"), line(3, "tg:user:6", "removed since"), line(4, "tg:user:5", "four"), line(5, "tg:user:5", "é€x"))}}
			if got := ids(th.room()); got != c.want {
				t.Errorf("lines %s, want %s", got, c.want)
			}
		})
	}
}

// What was said under one key is not for a turn under another, and what nobody knows
// the key of is for none.
// row D14
func TestRoomKeepsLinesOfTheKeyOnly(t *testing.T) {
	lines := heard("", line(1, "tg:user:5", "of nothing"))
	lines = append(lines, heard(`client="acme"`, line(2, "tg:user:5", "of acme"), line(3, "tg:user:5", "more of acme"))...)
	lines = append(lines, heard(`client="globex"`, line(4, "tg:user:5", "of globex"))...)
	lines = append(lines, gateway.RoomLine{Message: line(5, "tg:user:5", "of whom?")})
	for _, c := range []struct {
		name, key string
		unread    bool
		want, why string
	}{
		{"acme", "acme", false, "2 3", "3 came"},
		{"globex", "globex", false, "4", "4 came"},
		{"nothing", "", false, "1", "4 came"},
		{"another", "initech", false, "", "5 came"},
		{"unread", "", true, "", "5 came"},
		{"unread but for the file", "acme", true, "", "5 came"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, r := brainOf(t, "room: { lines: 30, chars: 4000 }\n")
			var log bytes.Buffer
			th := &thought{m: &Mind{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}, brain: b, ruling: r,
				asked: contexts.Turn{Bot: "nova", Unread: c.unread}, turn: gateway.Turn{ID: 7, Room: lines}}
			if c.key != "" {
				th.asked.Bindings = []attache.Binding{{Context: "client", Key: attache.EntityKey(c.key), Static: true}}
			}
			if got := ids(th.room()); got != c.want {
				t.Errorf("lines %q, want %q", got, c.want)
			}
			if !strings.Contains(log.String(), "level=INFO") || !strings.Contains(log.String(), c.why) || strings.Contains(log.String(), "acme") {
				t.Errorf("log %q, want %q", log.String(), c.why)
			}
		})
	}
}
