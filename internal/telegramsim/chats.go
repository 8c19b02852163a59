package telegramsim

import (
	"encoding/json"
)

// standing gives a ChatMember of a status, with every right an administrator can
// have and none that a restricted member can. The fields are those that Telegram
// always sends for the status: clients that decode strictly miss the others.
func standing(u *User, status string) json.RawMessage {
	m := map[string]any{"status": status, "user": u.wire()}
	switch status {
	case "creator":
		m["is_anonymous"] = false
	case "administrator":
		for _, right := range []string{"can_manage_chat", "can_delete_messages", "can_manage_video_chats", "can_restrict_members",
			"can_promote_members", "can_change_info", "can_invite_users", "can_post_stories", "can_edit_stories", "can_delete_stories",
			"can_pin_messages", "can_manage_topics", "can_send_welcome_messages"} {
			m[right] = true
		}
		m["can_be_edited"], m["is_anonymous"] = false, false
	case "restricted":
		for _, right := range []string{"can_send_messages", "can_send_audios", "can_send_documents", "can_send_photos",
			"can_send_videos", "can_send_video_notes", "can_send_voice_notes", "can_send_polls", "can_send_other_messages",
			"can_add_web_page_previews", "can_react_to_messages", "can_edit_tag", "can_change_info", "can_invite_users",
			"can_pin_messages", "can_manage_topics"} {
			m[right] = false
		}
		m["is_member"], m["until_date"] = true, 0
	case "kicked":
		m["until_date"] = 0
	}
	raw, _ := json.Marshal(m) // plain values always marshal
	return raw
}

// getChat gives what a gateway looks at, and beside it what ChatFullInfo requires.
func (s *Server) getChat(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	full := struct {
		wireChat
		Accent    int            `json:"accent_color_id"`
		Reactions int            `json:"max_reaction_count"`
		Gifts     map[string]any `json:"accepted_gift_types"`
		Linked    int64          `json:"linked_chat_id,omitempty"`
	}{wireChat: c.wire(), Reactions: 11, Gifts: map[string]any{"unlimited_gifts": false, "limited_gifts": false,
		"unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false}}
	for _, o := range s.chats {
		if o.linked == c {
			full.Linked = int64(o.ID)
		}
	}
	if c.linked != nil {
		full.Linked = int64(c.linked.ID)
	}
	return full, nil
}

// getChatMember answers for strangers too ("left"), as long as Telegram knows them.
func (s *Server) getChatMember(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	u := s.users[req.params.Int("user_id")]
	if u == nil {
		return nil, badRequest("invalid user_id specified")
	}
	return standing(u, c.status(u)), nil
}

// getChatAdministrators leaves out other bots, as Telegram does.
func (s *Server) getChatAdministrators(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	if c.Kind == private {
		return nil, badRequest("there are no administrators in the private chat")
	}
	out := []json.RawMessage{}
	for _, m := range c.sortedMembers() {
		if c.admin(m.user) && (m.user.bot == nil || m.user == req.bot) {
			out = append(out, standing(m.user, m.status))
		}
	}
	return out, nil
}

func (s *Server) getChatMemberCount(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, m := range c.members {
		if present(m.status) {
			n++
		}
	}
	return n, nil
}

// leaveChat has no service message: the bot that could read it has left.
func (s *Server) leaveChat(req *request) (any, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	was := c.status(req.bot)
	c.members[req.bot.ID].status = "left"
	c.tellStanding(req.bot, req.bot, was, "left")
	return true, nil
}

// topicOf finds the topic of a call, for a bot that may manage topics.
func (s *Server) topicOf(req *request) (*Chat, *topic, error) {
	c, err := s.manageable(req)
	if err != nil {
		return nil, nil, err
	}
	t := c.topics[req.params.Int("message_thread_id")]
	if t == nil {
		return nil, nil, badRequest("message thread not found")
	}
	return c, t, nil
}

// manageable finds a chat whose topics the bot may manage: a forum as an
// administrator, or a private chat that has topics.
func (s *Server) manageable(req *request) (*Chat, error) {
	c, err := s.reach(req)
	if err != nil {
		return nil, err
	}
	if !c.forum {
		return nil, badRequest("the chat is not a forum")
	}
	if c.Kind != private && !c.admin(req.bot) {
		return nil, badRequest("not enough rights to create a topic")
	}
	return c, nil
}

// createTopic numbers the topic as its creation message.
func (s *Server) createTopic(req *request) (any, error) {
	c, err := s.manageable(req)
	if err != nil {
		return nil, err
	}
	color := req.params.Int("icon_color")
	if color == 0 {
		color = 7322096 // the first of the six that Telegram has
	}
	t := c.openTopic(req.bot, req.params.Text("name"), color, req.method)
	return struct {
		ID    int64  `json:"message_thread_id"`
		Name  string `json:"name"`
		Color int64  `json:"icon_color"`
	}{t.id, t.name, t.color}, nil
}

func (s *Server) editTopic(req *request) (any, error) {
	c, t, err := s.topicOf(req)
	if err != nil {
		return nil, err
	}
	name := req.params.Text("name")
	if name == "" || name == t.name {
		return nil, badRequest("TOPIC_NOT_MODIFIED")
	}
	t.name = name
	m := &message{by: req.bot}
	m.From, m.TopicEdited = req.bot.wire(), &wireTopic{Name: name}
	c.place(m, t.id, nil)
	c.put(m)
	s.publish(m, false)
	return true, nil
}

// closeTopic serves reopenForumTopic too.
func (s *Server) closeTopic(req *request) (any, error) {
	c, t, err := s.topicOf(req)
	if err != nil {
		return nil, err
	}
	closed := req.method == "closeForumTopic"
	if t.closed == closed {
		return nil, badRequest("TOPIC_NOT_MODIFIED")
	}
	c.shutTopic(req.bot, t, closed)
	return true, nil
}

func (s *Server) deleteTopic(req *request) (any, error) {
	c, t, err := s.topicOf(req)
	if err != nil {
		return nil, err
	}
	c.dropTopic(t.id)
	return true, nil
}

// commandKey names the list of commands of a scope and language. The scope is taken
// as it is written: one client writes it one way.
func commandKey(req *request) string {
	scope := string(req.params.Raw("scope"))
	if scope == "" {
		scope = `{"type":"default"}`
	}
	return scope + req.params.Text("language_code")
}

// setCommands serves deleteMyCommands too, which names no commands and so leaves none.
func (s *Server) setCommands(req *request) (any, error) {
	req.bot.bot.commands[commandKey(req)] = req.params.Raw("commands")
	return true, nil
}

func (s *Server) getCommands(req *request) (any, error) {
	if list := req.bot.bot.commands[commandKey(req)]; list != nil {
		return list, nil
	}
	return []string{}, nil
}
