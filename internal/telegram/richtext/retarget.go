package richtext

import (
	"encoding/json"

	"attache"
)

// Retarget points a part at another place: the chat that a group became, or the
// chat around a topic that is gone (decisions § 3.8, § 7.6). It leaves the reply
// out, because message ids count anew there. A part that does not read as JSON
// comes back as it is, and Telegram's refusal says why.
func Retarget(p attache.Part, to attache.Place) attache.Part {
	var params map[string]json.RawMessage
	if json.Unmarshal(p.Params, &params) != nil {
		return p
	}
	delete(params, "reply_parameters")
	delete(params, "message_thread_id")
	params["chat_id"], _ = json.Marshal(int64(to.Chat)) // a number always marshals
	if to.Thread > generalThread {
		params["message_thread_id"], _ = json.Marshal(int64(to.Thread))
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return p
	}
	p.Params = raw
	return p
}
