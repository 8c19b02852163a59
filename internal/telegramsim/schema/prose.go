package schema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// prose holds a whole call to the rules that stand only in the documentation's
// sentences (telegram/README step 8).
func (c *checker) prose(m *Method, v map[string]any) {
	c.modes(v, "")
	if strings.HasPrefix(m.Name, "editMessage") || m.Name == "stopMessageLiveLocation" {
		c.editTarget(m, v)
	}
	switch m.Name {
	case "editMessageText":
		if (v["text"] == nil) == (v["rich_message"] == nil) {
			c.add("text", "prose", "editMessageText needs either text or rich_message")
		}
	case "sendMessageDraft", "sendRichMessageDraft":
		if number(v["draft_id"]) == 0 {
			c.add("draft_id", "prose", "draft_id must not be 0")
		}
		if number(v["chat_id"]) < 0 {
			c.add("chat_id", "prose", "drafts go to private chats only")
		}
	case "setWebhook":
		c.pattern("secret_token", v["secret_token"], regexp.MustCompile(`^[A-Za-z0-9_-]*$`))
	case "setMyCommands":
		if list, ok := v["commands"].([]any); ok && len(list) > 100 {
			c.add("commands", "max", "setMyCommands takes at most 100 commands, not %d", len(list))
		}
	}
	if _, there := v["message_thread_id"]; there && strings.HasPrefix(m.Name, "send") && m.Name != "sendChatAction" && number(v["message_thread_id"]) == 1 {
		c.add("message_thread_id", "prose", "message thread 1 (General) is refused in sends; leave message_thread_id out")
	}
	if list, ok := v["allowed_updates"].([]any); ok {
		for _, kind := range list {
			if !m.updates[word(kind)] {
				c.add("allowed_updates", "enum", "%q is not a kind of update", word(kind))
			}
		}
	}
}

func (c *checker) editTarget(m *Method, v map[string]any) {
	inline := v["inline_message_id"] != nil
	if inline == (v["chat_id"] != nil && v["message_id"] != nil) {
		c.add("message_id", "prose", "%s needs either chat_id with message_id or inline_message_id", m.Name)
	}
}

// proseOf holds one object inside a call to the sentences about its type.
func (c *checker) proseOf(s *shape, m map[string]any, path string) {
	c.modes(m, path+".")
	switch s.name {
	case "InputRichMessage":
		c.exactlyOne(m, path, "blocks", "html", "markdown")
		for _, name := range []string{"html", "markdown"} {
			if t, ok := m[name].(string); ok && units(t) > 32768 {
				c.add(path+"."+name, "max", "parameter %q has %d characters; a rich message holds 32768", path+"."+name, units(t))
			}
		}
	case "ReplyParameters":
		c.exactlyOne(m, path, "message_id", "ephemeral_message_id")
	case "InlineKeyboardButton":
		c.exactlyOne(m, path, "url", "callback_data", "web_app", "login_url", "switch_inline_query", "switch_inline_query_current_chat",
			"switch_inline_query_chosen_chat", "copy_text", "callback_game", "pay", "disabled")
	case "BotCommand":
		c.pattern(path+".command", m["command"], regexp.MustCompile(`^[a-z0-9_]*$`))
	case "MessageEntity":
		c.entity(m, path)
	}
}

// entity checks that an entity has what its type needs and nothing of another's.
func (c *checker) entity(m map[string]any, path string) {
	owner := map[string]string{"url": "text_link", "user": "text_mention", "custom_emoji_id": "custom_emoji", "unix_time": "date_time"}
	kind := word(m["type"])
	for field, of := range owner {
		if (m[field] != nil) != (kind == of) {
			c.add(path+"."+field, "prose", "an entity of type %q and the field %q do not go together (at %s)", kind, field, path)
		}
	}
	if m["language"] != nil && kind != "pre" {
		c.add(path+".language", "prose", "language is for pre only (at %s)", path)
	}
	if number(m["offset"]) < 0 || number(m["length"]) <= 0 {
		c.add(path, "prose", "an entity needs an offset of at least 0 and a length of at least 1 (at %s)", path)
	}
}

// modes refuses a parse mode beside entities, in each of its three spellings.
func (c *checker) modes(m map[string]any, path string) {
	for _, pair := range [][2]string{{"parse_mode", "entities"}, {"parse_mode", "caption_entities"}, {"quote_parse_mode", "quote_entities"}} {
		if m[pair[0]] != nil && m[pair[1]] != nil {
			c.add(path+pair[1], "prose", "%s%s and %s exclude each other", path, pair[0], pair[1])
		}
	}
}

func (c *checker) exactlyOne(m map[string]any, path string, names ...string) {
	set := slices.DeleteFunc(names, func(name string) bool { return m[name] == nil })
	if len(set) != 1 {
		c.add(path, "prose", "%s must have exactly one of its alternative fields, not %d %v", path, len(set), set)
	}
}

func (c *checker) pattern(path string, v any, allowed *regexp.Regexp) {
	if t, ok := v.(string); ok && !allowed.MatchString(t) {
		c.add(path, "prose", "parameter %q is %q; it must match %s", path, t, allowed)
	}
}

func number(v any) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	whole, err := n.Int64()
	if err != nil {
		return 0
	}
	return whole
}
