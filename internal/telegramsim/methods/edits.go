package methods

import (
	"bytes"
	"encoding/json"

	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
)

// own finds the bot's post that an edit means. Telegram has other words for one that is
// not there than for one of somebody else's, and bots tell the two apart by them.
func (a *table) own(req *Request) (*world.Message, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	m := c.Find(req.Params.Int("message_id"))
	if m == nil {
		return nil, BadRequest("message to edit not found")
	}
	if m.By != req.Bot || m.Service() != "" {
		return nil, BadRequest("message can't be edited")
	}
	return m, nil
}

// editText serves editMessageCaption too. An edit that brings no buttons takes those
// away that were there, as at Telegram; one that is refused changes nothing.
func (a *table) editText(req *Request) (any, error) {
	m, err := a.own(req)
	if err != nil {
		return nil, err
	}
	if req.Method == "editMessageText" && m.File != nil {
		return nil, BadRequest("there is no text in the message to edit")
	}
	before := *m
	m.ReplyMarkup = wire.ShownMarkup(req.Params.Raw("reply_markup"))
	if err := a.content(req, m); err != nil {
		*m = before
		return nil, err
	}
	return a.edited(m, before)
}

// editMarkup replaces the buttons; none at all takes them away.
func (a *table) editMarkup(req *Request) (any, error) {
	m, err := a.own(req)
	if err != nil {
		return nil, err
	}
	before := *m
	m.ReplyMarkup = wire.ShownMarkup(req.Params.Raw("reply_markup"))
	return a.edited(m, before)
}

// edited refuses an edit that changes nothing, as Telegram does. It compares what a
// client would be sent, so that an edit to the same words in another spelling, such
// as a parse mode in place of entities, changes nothing either.
func (a *table) edited(m *world.Message, before world.Message) (any, error) {
	now, err := json.Marshal(m.Message)
	if err != nil {
		return nil, err
	}
	old, err := json.Marshal(before.Message)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(now, old) && m.Source == before.Source {
		return nil, BadRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.EditDate = a.Now()
	m.Edits++
	return m.Message, nil
}

// deleteMessage lets a bot take back its own, in private chats anybody's, and in
// groups others' as an administrator.
func (a *table) deleteMessage(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	m := c.Find(req.Params.Int("message_id"))
	if m == nil {
		return nil, BadRequest("message to delete not found")
	}
	if m.By != req.Bot && !c.Private() && !c.Admin(req.Bot) {
		return nil, BadRequest("message can't be deleted")
	}
	m.Deleted = true
	return true, nil
}

// deleteMessages does what it may and says yes, as at Telegram: a bot that tidies up is
// not stopped by what somebody has taken away before.
func (a *table) deleteMessages(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	var ids []int64
	if err := req.Params.Decode("message_ids", &ids); err != nil {
		return nil, BadRequest(err.Error())
	}
	for _, id := range ids { // those that are gone are skipped in silence
		if m := c.Find(id); m != nil && (m.By == req.Bot || c.Private() || c.Admin(req.Bot)) {
			m.Deleted = true
		}
	}
	return true, nil
}
