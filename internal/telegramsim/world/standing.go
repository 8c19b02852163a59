package world

import (
	"encoding/json"

	"attache/internal/telegramsim/wire"
)

// Stand changes a user's standing and gives the one of before. The bot concerned is told
// by my_chat_member, and those bots that are administrators by chat_member if they asked
// for it.
func (c *Chat) Stand(by, who *User, status string) (was string) {
	was = c.Status(who)
	if m := c.members[who.ID]; m != nil {
		m.Status = status
	} else {
		c.Admit(who, status)
	}
	change := struct {
		Chat wire.Chat       `json:"chat"`
		From *wire.User      `json:"from"`
		Date int64           `json:"date"`
		Old  json.RawMessage `json:"old_chat_member"`
		New  json.RawMessage `json:"new_chat_member"`
	}{c.Wire(), by.Wire(), c.world.Now(), who.Standing(was), who.Standing(status)}
	if who.Robot != nil {
		c.world.Tell(who, "my_chat_member", change)
	}
	for _, k := range c.Members() {
		if k.User.Robot != nil && k.User != who && c.Admin(k.User) {
			c.world.Tell(k.User, "chat_member", change)
		}
	}
	return was
}

// Standing gives a ChatMember of a status, with every right an administrator can
// have and none that a restricted member can. The fields are those that Telegram
// always sends for the status: clients that decode strictly miss the others.
func (u *User) Standing(status string) json.RawMessage {
	m := map[string]any{"status": status, "user": u.Wire()}
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
