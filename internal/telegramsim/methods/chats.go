package methods

import (
	"encoding/json"

	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
)

// getChat gives what a gateway looks at, and beside it what ChatFullInfo requires.
func (a *table) getChat(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	full := struct {
		wire.Chat
		Accent    int            `json:"accent_color_id"`
		Reactions int            `json:"max_reaction_count"`
		Gifts     map[string]any `json:"accepted_gift_types"`
		Linked    int64          `json:"linked_chat_id,omitempty"`
	}{Chat: c.Wire(), Reactions: 11, Gifts: map[string]any{"unlimited_gifts": false, "limited_gifts": false,
		"unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false}}
	for o := range a.Chats() {
		if o.Linked == c {
			full.Linked = int64(o.ID)
		}
	}
	if c.Linked != nil {
		full.Linked = int64(c.Linked.ID)
	}
	return full, nil
}

// getChatMember answers for strangers too ("left"), as long as Telegram knows them.
func (a *table) getChatMember(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	u := a.User(req.Params.Int("user_id"))
	if u == nil {
		return nil, BadRequest("invalid user_id specified")
	}
	return u.Standing(c.Status(u)), nil
}

// getChatAdministrators leaves out other bots, as Telegram does.
func (a *table) getChatAdministrators(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	if c.Private() {
		return nil, BadRequest("there are no administrators in the private chat")
	}
	out := []json.RawMessage{}
	for _, m := range c.Members() {
		if c.Admin(m.User) && (m.User.Robot == nil || m.User == req.Bot) {
			out = append(out, m.User.Standing(m.Status))
		}
	}
	return out, nil
}

// getChatMemberCount counts bots too, and the asker among them.
func (a *table) getChatMemberCount(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, m := range c.Members() {
		if world.Present(m.Status) {
			n++
		}
	}
	return n, nil
}

// leaveChat has no service message: the bot that could read it has left.
func (a *table) leaveChat(req *Request) (any, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	c.Stand(req.Bot, req.Bot, "left")
	return true, nil
}

// topicOf finds the topic of a call, for a bot that may manage topics.
func (a *table) topicOf(req *Request) (*world.Chat, *world.Topic, error) {
	c, err := a.manageable(req)
	if err != nil {
		return nil, nil, err
	}
	t := c.Topics[req.Params.Int("message_thread_id")]
	if t == nil {
		return nil, nil, BadRequest("message thread not found")
	}
	return c, t, nil
}

// manageable finds a chat whose topics the bot may manage: a forum as an
// administrator, or a private chat that has topics.
func (a *table) manageable(req *Request) (*world.Chat, error) {
	c, err := a.reach(req)
	if err != nil {
		return nil, err
	}
	if !c.Forum {
		return nil, BadRequest("the chat is not a forum")
	}
	if !c.Private() && !c.Admin(req.Bot) {
		return nil, BadRequest("not enough rights to create a topic")
	}
	return c, nil
}

// createTopic numbers the topic as its creation message.
func (a *table) createTopic(req *Request) (any, error) {
	c, err := a.manageable(req)
	if err != nil {
		return nil, err
	}
	color := req.Params.Int("icon_color")
	if color == 0 {
		color = 7322096 // the first of the six that Telegram has
	}
	t := c.OpenTopic(req.Bot, req.Params.Text("name"), color, req.Method)
	return struct {
		ID    int64  `json:"message_thread_id"`
		Name  string `json:"name"`
		Color int64  `json:"icon_color"`
	}{t.ID, t.Name, t.Color}, nil
}

// editTopic renames. Colours are for life, and icons are not simulated: without a name
// there is nothing to do, which Telegram refuses.
func (a *table) editTopic(req *Request) (any, error) {
	c, t, err := a.topicOf(req)
	if err != nil {
		return nil, err
	}
	name := req.Params.Text("name")
	if name == "" || name == t.Name {
		return nil, BadRequest("TOPIC_NOT_MODIFIED")
	}
	c.NameTopic(req.Bot, t, name)
	return true, nil
}

// closeTopic serves reopenForumTopic too.
func (a *table) closeTopic(req *Request) (any, error) {
	c, t, err := a.topicOf(req)
	if err != nil {
		return nil, err
	}
	closed := req.Method == "closeForumTopic"
	if t.Closed == closed {
		return nil, BadRequest("TOPIC_NOT_MODIFIED")
	}
	c.ShutTopic(req.Bot, t, closed)
	return true, nil
}

// deleteTopic takes the topic's messages along and tells nobody.
func (a *table) deleteTopic(req *Request) (any, error) {
	c, t, err := a.topicOf(req)
	if err != nil {
		return nil, err
	}
	c.DropTopic(t.ID)
	return true, nil
}

// commandKey names the list of commands of a scope and language. The scope is taken
// as it is written: one client writes it one way.
func commandKey(req *Request) string {
	scope := string(req.Params.Raw("scope"))
	if scope == "" {
		scope = `{"type":"default"}`
	}
	return scope + req.Params.Text("language_code")
}

// setCommands serves deleteMyCommands too, which names no commands and so leaves none.
func (a *table) setCommands(req *Request) (any, error) {
	req.Bot.Robot.Commands[commandKey(req)] = req.Params.Raw("commands")
	return true, nil
}

// getCommands has no scope to fall back on: a list that was never set is empty.
func (a *table) getCommands(req *Request) (any, error) {
	if list := req.Bot.Robot.Commands[commandKey(req)]; list != nil {
		return list, nil
	}
	return []string{}, nil
}
