package telegramsim

import (
	"bytes"
	"encoding/json"

	"attache"
)

// own finds the bot's post that an edit means.
func (s *Server) own(req *request) (*message, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	m := c.find(req.params.Int("message_id"))
	if m == nil {
		return nil, badRequest("message to edit not found")
	}
	if m.by != req.bot || m.service() != "" {
		return nil, badRequest("message can't be edited")
	}
	return m, nil
}

// editText serves editMessageCaption too. An edit that brings no buttons takes those
// away that were there, as at Telegram; one that is refused changes nothing.
func (s *Server) editText(req *request) (any, error) {
	m, err := s.own(req)
	if err != nil {
		return nil, err
	}
	if req.method == "editMessageText" && m.file != nil {
		return nil, badRequest("there is no text in the message to edit")
	}
	before := *m
	m.ReplyMarkup = shownMarkup(req.params.Raw("reply_markup"))
	if err := s.content(req, m); err != nil {
		*m = before
		return nil, err
	}
	return s.edited(m, before)
}

// editMarkup replaces the buttons; none at all takes them away.
func (s *Server) editMarkup(req *request) (any, error) {
	m, err := s.own(req)
	if err != nil {
		return nil, err
	}
	before := *m
	m.ReplyMarkup = shownMarkup(req.params.Raw("reply_markup"))
	return s.edited(m, before)
}

// edited refuses an edit that changes nothing, as Telegram does. It compares what a
// client would be sent, so that an edit to the same words in another spelling, such
// as a parse mode in place of entities, changes nothing either.
func (s *Server) edited(m *message, before message) (any, error) {
	now, err := json.Marshal(m.wireMessage)
	if err != nil {
		return nil, err
	}
	old, err := json.Marshal(before.wireMessage)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(now, old) && m.rich == before.rich {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.EditDate = s.now()
	m.edits++
	return m.wireMessage, nil
}

// deleteMessage lets a bot take back its own, in private chats anybody's, and in
// groups others' as an administrator.
func (s *Server) deleteMessage(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	m := c.find(req.params.Int("message_id"))
	if m == nil {
		return nil, badRequest("message to delete not found")
	}
	if m.by != req.bot && c.Kind != private && !c.admin(req.bot) {
		return nil, badRequest("message can't be deleted")
	}
	m.deleted = true
	return true, nil
}

func (s *Server) deleteMessages(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	var ids []int64
	if err := req.params.Decode("message_ids", &ids); err != nil {
		return nil, badRequest(err.Error())
	}
	for _, id := range ids { // those that are gone are skipped in silence
		if m := c.find(id); m != nil && (m.by == req.bot || c.Kind == private || c.admin(req.bot)) {
			m.deleted = true
		}
	}
	return true, nil
}

// shownMarkup keeps an inline keyboard, which a message shows; other markups
// (a reply keyboard, a forced reply) concern the client only.
func shownMarkup(raw json.RawMessage) json.RawMessage {
	if len(keyboard(raw)) == 0 {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return nil
	}
	return compact.Bytes()
}

// keyboard reads the buttons of an inline keyboard, nil for any other markup.
func keyboard(raw json.RawMessage) [][]attache.Button {
	var in struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
			URL  string `json:"url"`
		} `json:"inline_keyboard"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &in) != nil {
		return nil
	}
	var out [][]attache.Button
	for _, row := range in.Rows {
		var buttons []attache.Button
		for _, b := range row {
			buttons = append(buttons, attache.Button{Text: b.Text, Data: b.Data, URL: b.URL})
		}
		out = append(out, buttons)
	}
	return out
}
