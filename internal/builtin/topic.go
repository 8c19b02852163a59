package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"attache"
	"attache/internal/tools"
)

var (
	//go:embed words/topic_create.md
	createTopicWords string

	//go:embed words/topic_close.md
	closeTopicWords string
)

// maxTopicName is Telegram's limit of a topic's name, in characters.
const maxTopicName = 128

type createTopicArgs struct {
	Name string     `json:"name" jsonschema:"the topic's name, 1 to 128 characters"`
	Chat tools.Chat `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: the chat that this turn is in"`
}

type closeTopicArgs struct {
	Thread tools.Thread `json:"thread" jsonschema:"the number of the topic"`
	Chat   tools.Chat   `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: the chat that this turn is in"`
}

// createTopic is the tool topic_create. Telegram gives such a call no key, so after a
// crash nobody knows whether there is a topic, and none is made a second time.
func (r Rooms) createTopic() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "topic_create", Description: words(createTopicWords),
		Capability: "topic:write", Risk: attache.RiskModerate, Effects: true,
	}, func(ctx context.Context, c attache.Call, args createTopicArgs) attache.Result {
		const nothing = "no topic was made: "
		name := strings.TrimSpace(args.Name)
		at, why := r.topicChat(ctx, c, args.Chat)
		if why == "" {
			why = nameTrouble(name)
		}
		if why != "" {
			return attache.Refused(nothing + why)
		}
		id, err := r.CreateTopic(ctx, at, name)
		if err != nil {
			return undone(nothing, "it is not known whether the topic was made; do not make it again, but say so", err)
		}
		return attache.OK(map[string]any{"chat": at.Chat.String(), "thread": thread(id)})
	})
}

// closeTopic is the tool topic_close. Closing what is closed is no error, and yet it
// is not repeated after a crash: a person may have opened the topic again.
func (r Rooms) closeTopic() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "topic_close", Description: words(closeTopicWords),
		Capability: "topic:write", Risk: attache.RiskModerate, Effects: true,
	}, func(ctx context.Context, c attache.Call, args closeTopicArgs) attache.Result {
		const nothing = "no topic was closed: "
		at, why := r.topicChat(ctx, c, args.Chat)
		at.Thread = attache.ThreadID(args.Thread)
		switch {
		case why != "":
		case at.Thread == 0:
			why = "General is not closed by a tool, because everybody would be shut out; name the number of another topic"
		case at.Chat.Private():
			why = "Telegram closes no topics of private chats"
		}
		if why != "" {
			return attache.Refused(nothing + why)
		}
		if err := r.CloseTopic(ctx, at); err != nil {
			return undone(nothing, "it is not known whether the topic was closed; look before you try again", err)
		}
		return attache.OK(map[string]any{"chat": at.Chat.String(), "thread": thread(at.Thread)})
	})
}

// topicChat gives the chat whose topics a call may change, and the bot that does it.
func (r Rooms) topicChat(ctx context.Context, c attache.Call, given tools.Chat) (attache.Place, string) {
	chat, why := r.chat(ctx, &c, given)
	if why == "" {
		why = r.chatOnly(ctx, c, chat)
	}
	if why != "" {
		return attache.Place{}, why
	}
	bot, why := r.speaker(c, chat)
	at := attache.Place{Bot: bot, Chat: chat}
	if why == "" && !r.Rules().Ruled(at) {
		why = fmt.Sprintf("%v has no rule in access.yaml for the bot %s; only a person can add one, so choose another chat", chat, bot)
	}
	return at, why
}

// nameTrouble says what is wrong with a topic's name, "" for nothing.
func nameTrouble(name string) string {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return "the name is blank; write 1 to 128 characters"
	case n > maxTopicName:
		return fmt.Sprintf("the name has %d characters; write at most %d", n, maxTopicName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "the name holds a control character; write it on one line"
	}
	return ""
}

// undone is the result of a call that Telegram did not carry out, or of which nobody
// knows.
func undone(nothing, unknown string, err error) attache.Result {
	var known *attache.Error
	if errors.As(err, &known) {
		return attache.Refused(nothing + known.Say)
	}
	return tools.Unknown(unknown)
}
