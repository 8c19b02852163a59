package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"attache"
	"attache/internal/tools"
)

// notificationArgs are the arguments of notification_send (interface § 4). `about`
// joins them when posts have origins; until then the schema refuses it.
type notificationArgs struct {
	Text    string         `json:"text" jsonschema:"what to say, in Markdown"`
	Chat    tools.Chat     `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: where this turn answers"`
	Thread  *tools.Thread  `json:"thread,omitempty" jsonschema:"the number of the topic in that chat; 0 is General; left out: this turn's topic in its own chat, General in another"`
	Buttons [][]buttonArgs `json:"buttons,omitempty" jsonschema:"rows of buttons below the message"`
}

type buttonArgs struct {
	Text string `json:"text" jsonschema:"what the button shows"`
	Data string `json:"data,omitempty" jsonschema:"what comes back when it is pressed, at most 64 bytes; left out: its text"`
	URL  string `json:"url,omitempty" jsonschema:"the web address that it opens, instead of data"`
}

// notification is the tool notification_send.
func (d Deps) notification() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "notification_send", Description: words(notificationWords),
		Capability: "notify:send", Risk: attache.RiskModerate, Effects: true, Keyed: true,
	}, d.notify)
}

// notify judges everything that can be judged, and then posts.
func (d Deps) notify(ctx context.Context, c attache.Call, args notificationArgs) attache.Result {
	place, why := d.target(c, args)
	if why == "" && strings.TrimSpace(args.Text) == "" {
		why = "the text is empty; give something to say"
	}
	buttons, wrong := keyboard(args.Buttons)
	if why == "" {
		why = wrong
	}
	if why != "" {
		return attache.Refused("nothing was sent: " + why)
	}
	result, err := d.Post(ctx, PostRequest{
		Turn: c.Turn, Call: c.ID,
		Say: attache.Outgoing{Place: place, Markdown: args.Text, Buttons: buttons},
	})
	return told(result, err)
}

// target gives the place that a send goes to, or why there is none. In its own
// chat a turn's topic is the default; a topic's number means nothing in another.
func (d Deps) target(c attache.Call, args notificationArgs) (attache.Place, string) {
	place := c.Place
	if chat := attache.ChatID(args.Chat); chat != 0 && chat != place.Chat {
		place.Chat, place.Thread = chat, 0
	}
	if args.Thread != nil {
		place.Thread = attache.ThreadID(*args.Thread)
	}
	switch {
	case place.Chat == 0:
		return place, "this run answers nowhere, so there is no chat to default to; name the chat"
	case !d.Ruled(place) && place.Chat.Private():
		return place, fmt.Sprintf("no rule in access.yaml lets in the person of %v for the bot %s; only a person can change that, so choose another chat", place.Chat, place.Bot)
	case !d.Ruled(place):
		return place, fmt.Sprintf("%v has no rule in access.yaml for the bot %s; only a person can add one, so choose another chat", place.Chat, place.Bot)
	}
	return place, ""
}

// The limits of a keyboard: that of data is Telegram's (telegram/README.md, point
// 6), the others are what its clients still show and take.
const (
	maxData    = 64 // bytes
	maxPerRow  = 8
	maxButtons = 100
)

// cardData begins the data of an approval card's buttons (interface § 4). A model
// knows the id of the approval that it waits for; a button of its own with that
// data would make a person approve by pressing something else.
const cardData = "ap:"

// keyboard reads the rows of buttons, or says what is wrong with one. Empty rows
// are left out.
func keyboard(rows [][]buttonArgs) (out [][]attache.Button, wrong string) {
	n := 0
	for i, row := range rows {
		if len(row) > maxPerRow {
			return nil, fmt.Sprintf("buttons[%d] has %d buttons and a row holds at most %d; use more rows", i, len(row), maxPerRow)
		}
		var buttons []attache.Button
		for j, b := range row {
			button, wrong := b.read()
			if wrong != "" {
				return nil, fmt.Sprintf("buttons[%d][%d] %s", i, j, wrong)
			}
			buttons = append(buttons, button)
		}
		if n += len(buttons); len(buttons) > 0 {
			out = append(out, buttons)
		}
	}
	if n > maxButtons {
		return nil, fmt.Sprintf("there are %d buttons and a message holds at most %d; give fewer", n, maxButtons)
	}
	return out, ""
}

// read checks one button, for Telegram refuses a whole message for a wrong one.
func (b buttonArgs) read() (attache.Button, string) {
	label := strings.TrimSpace(b.Text)
	data := b.Data
	if data == "" && b.URL == "" {
		data = label
	}
	switch {
	case label == "":
		return attache.Button{}, "shows nothing; give it a text"
	case b.Data != "" && b.URL != "":
		return attache.Button{}, "has data and a url; give it one of them"
	case len(data) > maxData && b.Data == "":
		return attache.Button{}, fmt.Sprintf("has no data, and its text of %d bytes is too long to stand for it; give it data of at most %d bytes", len(data), maxData)
	case len(data) > maxData:
		return attache.Button{}, fmt.Sprintf("has data of %d bytes; at most %d are taken", len(data), maxData)
	case strings.HasPrefix(data, cardData):
		return attache.Button{}, fmt.Sprintf("has data that begins with %q, which is kept for approvals; begin it otherwise", cardData)
	case b.URL != "" && !opens(b.URL):
		return attache.Button{}, "has a url that Telegram does not open; write https://…, http://… or tg://…"
	}
	return attache.Button{Text: label, Data: data, URL: b.URL}, ""
}

// opens reports whether Telegram takes a URL for a button.
func opens(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && slices.Contains([]string{"https", "http", "tg"}, u.Scheme)
}

// told is what the model reads of a post.
func told(r PostResult, err error) attache.Result {
	var known *attache.Error
	switch {
	case errors.As(err, &known) && slices.Contains([]attache.ErrorKind{attache.KindUsage, attache.KindRefused, attache.KindNotFound}, known.Kind):
		return attache.Refused("nothing was sent: " + known.Say)
	case err != nil:
		return tools.Unknown("it is not known whether the message was sent; it is not sent again, so do not repeat it and say so")
	case r.Fate == attache.FateSent:
		return attache.OK(map[string]any{"chat": r.Place.Chat.String(), "thread": strconv.FormatInt(int64(r.Place.Thread), 10), "messages": r.Messages})
	case r.Fate == attache.FateRefused && len(r.Messages) == 0:
		return attache.Refused("nothing was sent: " + reason(r.Why))
	case r.Fate == attache.FateHeld && len(r.Messages) == 0:
		return attache.Refused("nothing was sent: Telegram asks this bot to wait (" + reason(r.Why) + "); try again in a later turn")
	case len(r.Messages) == 0:
		return tools.Unknown("it is not known whether the message was sent (" + reason(r.Why) + "); it is not sent again, so do not repeat it and say so")
	}
	return partly(r)
}

// partly is the result of a long text of which only some parts arrived for certain.
// It names them, so that nobody sends the whole again.
func partly(r PostResult) attache.Result {
	fields := map[string]any{
		"ok": false, "status": "unknown", "messages": r.Messages,
		"error": fmt.Sprintf("only the first %d messages of this text were certainly sent (%s); they are not sent again, so do not repeat them", len(r.Messages), reason(r.Why)),
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return tools.Unknown("only a part of the text was sent; do not repeat it")
	}
	return attache.Result{Text: string(b)}
}

func reason(why string) string {
	if why == "" {
		return "no reason was given"
	}
	return why
}
