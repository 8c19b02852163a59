package telegram

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"attache"
)

// Me is what Telegram says of a bot.
type Me struct {
	ID         int64
	Username   string // without @
	Name       string
	CanReadAll bool // privacy mode is off: groups show the bot every message
	Topics     bool // private chats with the bot have topics
}

// Me asks who the client's bot is. A wrong token is a CallError with code 401, or
// 404 when it does not even look like one.
func (c *Client) Me(ctx context.Context) (Me, error) {
	var in struct {
		ID         int64  `json:"id"`
		FirstName  string `json:"first_name"`
		LastName   string `json:"last_name"`
		Username   string `json:"username"`
		CanReadAll bool   `json:"can_read_all_group_messages"`
		Topics     bool   `json:"has_topics_enabled"`
	}
	if err := c.Call(ctx, "getMe", nil, &in); err != nil {
		return Me{}, err
	}
	if in.ID == 0 {
		return Me{}, errors.New("getMe was answered without an id; is TELEGRAM_API_URL the address of a Bot API server?")
	}
	name := strings.TrimSpace(in.FirstName + " " + in.LastName)
	return Me{ID: in.ID, Username: in.Username, Name: name, CanReadAll: in.CanReadAll, Topics: in.Topics}, nil
}

// Command is one entry of the list that Telegram shows for a bot.
type Command struct {
	Name        string `json:"command"`     // without /: 1 to 32 of a-z, 0-9 and _
	Description string `json:"description"` // 1 to 256 characters
}

// CommandScope says to whom a list of commands is shown. Kind is one of Telegram's
// scope types: default, all_private_chats, all_group_chats,
// all_chat_administrators, or, with Chat set, chat and chat_administrators.
type CommandScope struct {
	Kind string         `json:"type"`
	Chat attache.ChatID `json:"chat_id,omitempty"`
}

// PublishCommands replaces the list of a scope; an empty list removes it. At most
// 100 commands.
func (c *Client) PublishCommands(ctx context.Context, scope CommandScope, commands []Command) error {
	name := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	for _, cmd := range commands {
		if n := utf8.RuneCountInString(cmd.Description); !name.MatchString(cmd.Name) || n < 1 || n > 256 {
			return fmt.Errorf("/%s cannot be published: a name is 1 to 32 of a-z, 0-9 and _, a description 1 to 256 characters", cmd.Name)
		}
	}
	params := struct {
		Commands []Command    `json:"commands"`
		Scope    CommandScope `json:"scope"`
	}{append([]Command{}, commands...), scope}
	return c.Call(ctx, "setMyCommands", params, nil)
}

// maxNotice is the length of the notice that answers a press, in UTF-16 units.
const maxNotice = 200

// AnswerPress ends the waiting of a button: id is attache.Press.ID, text is shown
// as a short notice (cut at 200 units; may be empty). A press that Telegram calls
// too old is over: that is no error, and nothing to try again.
func (c *Client) AnswerPress(ctx context.Context, id, text string) error {
	params := struct {
		ID   string `json:"callback_query_id"`
		Text string `json:"text,omitempty"`
	}{id, shorten(text, maxNotice)}
	err := c.Call(ctx, "answerCallbackQuery", params, nil)
	if e, ok := errors.AsType[*CallError](err); ok && e.Code == 400 && tooOld(e.Description) {
		return nil
	}
	return err
}

func tooOld(description string) bool {
	return strings.Contains(description, "query is too old") || strings.Contains(description, "QUERY_ID_INVALID")
}

// shorten cuts a text to a number of UTF-16 units, on a character's border.
func shorten(s string, units int) string {
	if attache.UTF16Len(s) <= units {
		return s
	}
	for n := units - 1; n > 0; n-- {
		if cut, ok := attache.UTF16Slice(s, 0, n); ok {
			return cut + "…"
		}
	}
	return ""
}
