package mind

import (
	"fmt"

	"attache"
)

// room gives the lines of the room that ride along: the newest, within the knobs
// room.lines and room.chars, and only of people who are still let in.
func (th *thought) room() []attache.Message {
	knobs := th.brain.Frame.Manifest.Room
	var kept []attache.Message
	chars := 0
	lines := th.admitted(th.overheard())
	for i := len(lines) - 1; i >= 0 && len(kept) < knobs.Lines; i-- {
		m := lines[i]
		if chars += len([]rune(m.Text)); chars > knobs.Chars {
			break
		}
		kept = append([]attache.Message{m}, kept...)
	}
	return kept
}

// overheard gives the lines of the room that came under the key that the place is held to
// now. The others are of another one's, and history like the session that ended with
// that key (decisions § 3.14).
func (th *thought) overheard() []attache.Message {
	pin := th.pin()
	var kept []attache.Message
	for _, line := range th.turn.Room {
		if !pin.Unread && line.Key != nil && *line.Key == pin.String() {
			kept = append(kept, line.Message)
		}
	}
	if left := len(th.turn.Room) - len(kept); left > 0 {
		th.m.o.Log.Info("lines of the room are left out of a turn", "turn", th.turn.ID, "chat", th.turn.Place.Chat,
			"why", fmt.Sprintf("%d came while the place was held to something else, or nobody knows to what", left))
	}
	return kept
}
