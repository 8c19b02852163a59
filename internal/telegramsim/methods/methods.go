// Package methods is what bots can do in a [world.World]: the methods of the Bot API that
// are simulated, each from a [Request] that the schema has checked to the value that is
// answered or a [Refusal] in Telegram's words.
//
// A handler is called with the world's lock held and does everything or nothing: what is
// refused leaves no trace but its place in the pace. Refusals are ordinary, such as a
// chat that is gone; what no correct bot sends is told besides, by odd.
package methods

import (
	"errors"

	"attache"
	"attache/internal/telegramsim/schema"
	"attache/internal/telegramsim/wire"
	"attache/internal/telegramsim/world"
)

// Handler answers one method with what becomes JSON.
type Handler func(*Request) (any, error)

// Request is one call of a bot.
type Request struct {
	Bot    *world.User
	Method string // proper spelling
	Params schema.Params

	chat *world.Chat // the chat that chat_id names, nil when none does
}

// table has the handlers of one world as methods.
type table struct {
	*world.World
	odd func(format string, args ...any)
}

// Table gives what the simulator does itself, by method. A method of the schema
// that is not here answers 400 and is a violation: loud, so that nobody trusts an
// answer that was made up. odd is called with what no correct bot sends.
func Table(w *world.World, odd func(format string, args ...any)) map[string]Handler {
	a := &table{w, odd}
	yes := func(*Request) (any, error) { return true, nil }
	out := map[string]Handler{
		"getUpdates": func(*Request) (any, error) { return nil, errors.New("getUpdates is served apart") },
		"getMe":      a.getMe, "setWebhook": a.setWebhook, "deleteWebhook": a.deleteWebhook, "getWebhookInfo": a.getWebhookInfo,
		"sendMessage": a.sendText, "sendRichMessage": a.sendText, "sendMediaGroup": a.sendAlbum,
		"sendMessageDraft": a.sendDraft, "sendRichMessageDraft": a.sendDraft,
		"sendChatAction": a.sendAction, "answerCallbackQuery": a.answerQuery,
		"editMessageText": a.editText, "editMessageCaption": a.editText, "editMessageReplyMarkup": a.editMarkup,
		"deleteMessage": a.deleteMessage, "deleteMessages": a.deleteMessages,
		"createForumTopic": a.createTopic, "editForumTopic": a.editTopic, "closeForumTopic": a.closeTopic,
		"reopenForumTopic": a.closeTopic, "deleteForumTopic": a.deleteTopic,
		"getChat": a.getChat, "getChatMember": a.getChatMember, "getChatAdministrators": a.getChatAdministrators,
		"getChatMemberCount": a.getChatMemberCount, "leaveChat": a.leaveChat, "getFile": a.getFile,
		"setMyCommands": a.setCommands, "getMyCommands": a.getCommands, "deleteMyCommands": a.setCommands,
		"logOut": yes, "close": yes,
	}
	for _, kind := range []string{"Photo", "Document", "Voice", "Audio", "Video"} {
		out["send"+kind] = a.sendFile
	}
	for _, name := range []string{"setMyName", "setMyDescription", "setMyShortDescription", "setChatMenuButton",
		"setMyDefaultAdministratorRights", "setMessageReaction", "pinChatMessage", "unpinChatMessage", "unpinAllChatMessages"} {
		out[name] = yes
	}
	return out
}

// getMe tells of privacy mode, as bots find out by it whether they hear a group,
// and of topics once one of the bot's private chats has them.
func (a *table) getMe(req *Request) (any, error) {
	topics := false
	for c := range a.Chats() {
		topics = topics || c.Bot == req.Bot && c.Forum
	}
	return struct {
		*wire.User
		CanJoin bool `json:"can_join_groups"`
		ReadAll bool `json:"can_read_all_group_messages"`
		Inline  bool `json:"supports_inline_queries"`
		Topics  bool `json:"has_topics_enabled"`
	}{req.Bot.Wire(), true, !req.Bot.Robot.Privacy, false, topics}, nil
}

// reach finds the chat of a call and refuses where the bot may not act.
func (a *table) reach(req *Request) (*world.Chat, error) {
	id := req.Params.Text("chat_id")
	c := a.Lookup(req.Bot, id)
	if c == nil {
		if chat, err := attache.ParseChat(id); err == nil && a.User(int64(chat)) != nil {
			return nil, forbidden("bot can't initiate conversation with a user")
		}
		return nil, BadRequest("chat not found")
	}
	req.chat = c
	if c.MovedTo != nil {
		return nil, &Refusal{Code: 400, Text: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: int64(c.MovedTo.ID)}
	}
	switch status := c.Status(req.Bot); {
	case c.Private() && status == "kicked":
		return nil, forbidden("bot was blocked by the user")
	case status == "kicked":
		return nil, forbidden("bot was kicked from the " + c.Word())
	case status == "left":
		return nil, forbidden("bot is not a member of the " + c.Word())
	}
	return c, nil
}
