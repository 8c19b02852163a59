package builtin

import (
	"context"
	"strings"

	"attache"
	"attache/internal/tools"
)

// notificationArgs are the arguments of notification_send (interface § 4).
type notificationArgs struct {
	Text string `json:"text" jsonschema:"what to say, in Markdown"`
	sendArgs
}

// notification is the tool notification_send.
func (d Deps) notification() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "notification_send", Description: words(notificationWords),
		Capability: "notify:send", Risk: attache.RiskModerate, Effects: true, Keyed: true,
	}, d.notify)
}

func (d Deps) notify(ctx context.Context, c attache.Call, args notificationArgs) attache.Result {
	return d.send(ctx, c, args.sendArgs, func(context.Context) (attache.Outgoing, string) {
		if strings.TrimSpace(args.Text) == "" {
			return attache.Outgoing{}, "the text is empty; give something to say"
		}
		return attache.Outgoing{Markdown: args.Text}, ""
	})
}
