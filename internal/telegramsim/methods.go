package telegramsim

import (
	"errors"
	"strings"

	"attache"
)

// methods is the table of what the simulator does itself. A method of the schema
// that is not here answers 400 and is a violation: loud, so that nobody trusts an
// answer that was made up.
func (s *Server) methods() map[string]handler {
	yes := func(*request) (any, error) { return true, nil }
	table := map[string]handler{
		"getUpdates": func(*request) (any, error) { return nil, errors.New("getUpdates is served apart") },
		"getMe":      s.getMe, "setWebhook": s.setWebhook, "deleteWebhook": s.deleteWebhook, "getWebhookInfo": s.getWebhookInfo,
		"sendMessage": s.sendText, "sendRichMessage": s.sendText, "sendMediaGroup": s.sendAlbum,
		"sendMessageDraft": s.sendDraft, "sendRichMessageDraft": s.sendDraft,
		"sendChatAction": s.sendAction, "answerCallbackQuery": s.answerQuery,
		"editMessageText": s.editText, "editMessageCaption": s.editText, "editMessageReplyMarkup": s.editMarkup,
		"deleteMessage": s.deleteMessage, "deleteMessages": s.deleteMessages,
		"createForumTopic": s.createTopic, "editForumTopic": s.editTopic, "closeForumTopic": s.closeTopic,
		"reopenForumTopic": s.closeTopic, "deleteForumTopic": s.deleteTopic,
		"getChat": s.getChat, "getChatMember": s.getChatMember, "getChatAdministrators": s.getChatAdministrators,
		"getChatMemberCount": s.getChatMemberCount, "leaveChat": s.leaveChat, "getFile": s.getFile,
		"setMyCommands": s.setCommands, "getMyCommands": s.getCommands, "deleteMyCommands": s.setCommands,
		"logOut": yes, "close": yes,
	}
	for _, kind := range []string{"Photo", "Document", "Voice", "Audio", "Video"} {
		table["send"+kind] = s.sendFile
	}
	for _, name := range []string{"setMyName", "setMyDescription", "setMyShortDescription", "setChatMenuButton",
		"setMyDefaultAdministratorRights", "setMessageReaction", "pinChatMessage", "unpinChatMessage", "unpinAllChatMessages"} {
		table[name] = yes
	}
	return table
}

// getMe tells of privacy mode, as bots find out by it whether they hear a group,
// and of topics once one of the bot's private chats has them.
func (s *Server) getMe(req *request) (any, error) {
	topics := false
	for _, c := range s.chats {
		topics = topics || c.bot == req.bot && c.forum
	}
	return struct {
		*wireUser
		CanJoin bool `json:"can_join_groups"`
		ReadAll bool `json:"can_read_all_group_messages"`
		Inline  bool `json:"supports_inline_queries"`
		Topics  bool `json:"has_topics_enabled"`
	}{req.bot.wire(), true, !req.bot.bot.privacy, false, topics}, nil
}

// reach finds the chat of a call and refuses where the bot may not act.
func (s *Server) reach(req *request) (*Chat, error) {
	id := req.params.Text("chat_id")
	c := s.lookup(req.bot, id)
	if c == nil {
		if chat, err := attache.ParseChat(id); err == nil && s.users[int64(chat)] != nil {
			return nil, forbidden("bot can't initiate conversation with a user")
		}
		return nil, badRequest("chat not found")
	}
	req.chat = c
	if c.movedTo != nil {
		return nil, &refusal{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrateTo: int64(c.movedTo.ID)}
	}
	switch status := c.status(req.bot); {
	case c.Kind == private && status == "kicked":
		return nil, forbidden("bot was blocked by the user")
	case status == "kicked":
		return nil, forbidden("bot was kicked from the " + c.word())
	case status == "left":
		return nil, forbidden("bot is not a member of the " + c.word())
	}
	return c, nil
}

// lookup finds a chat by number or @username, as this bot knows it. A person who
// never wrote to the bot is no chat yet.
func (s *Server) lookup(bot *User, id string) *Chat {
	if name, ok := strings.CutPrefix(id, "@"); ok {
		for _, c := range s.chats {
			if c.Kind != private && c.Username != "" && strings.EqualFold(c.Username, name) {
				return c
			}
		}
		return nil
	}
	chat, err := attache.ParseChat(id)
	if err != nil {
		return nil
	}
	if c := s.chats[chatKey{int64(chat), 0}]; c != nil {
		return c
	}
	return s.chats[chatKey{int64(chat), bot.ID}]
}
