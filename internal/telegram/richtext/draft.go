package richtext

import (
	"encoding/json"

	"attache"
)

// Draft gives the call that shows an answer which is still being written: the
// Markdown of o is what there is of it. It takes the form that Compose would give
// the same text, so that the post later replaces the draft without a change of
// looks (design/stack.md § 5), and what the end leaves open is closed or held back:
// a fence, a table's head, bold text, a link.
//
// Of an answer that needs several parts, the last one is shown: that is where the
// writing goes on. Buttons and the reply are left to the post. The draft has
// Telegram's own stop button, and stays visible after a press until the bot's next
// post, so that nothing is torn away from who reads it.
//
// It reports false when there is nothing to show: no words yet, a chat that is not
// private (decisions § 7.7), or id 0, which Telegram refuses.
func Draft(o attache.Outgoing, id int64) (attache.Part, bool) {
	if id == 0 || !o.Place.Chat.Private() {
		return attache.Part{}, false
	}
	o.Markdown, o.ReplyTo, o.Buttons = settle(normalise(o.Markdown)), 0, nil
	parts := Compose(o)
	if len(parts) == 0 {
		return attache.Part{}, false
	}
	part := parts[len(parts)-1]
	var f frame
	if json.Unmarshal(part.Params, &f) != nil {
		return attache.Part{}, false
	}
	f.DraftID, f.CanStop, f.KeepOnStop = id, true, true
	part.Method, part.Params = part.Method+"Draft", f.json()
	return part, true
}
