package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"attache"
	"attache/internal/tools"
)

// sendArgs are the arguments that all sends have (interface § 4).
type sendArgs struct {
	Chat    tools.Chat     `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: where this turn answers"`
	Thread  *tools.Thread  `json:"thread,omitempty" jsonschema:"the number of the topic in that chat; 0 is General; left out: this turn's topic in its own chat, General in another"`
	About   *aboutArgs     `json:"about,omitempty" jsonschema:"what the message is about: what a reply to it brings back to you"`
	Buttons [][]buttonArgs `json:"buttons,omitempty" jsonschema:"rows of buttons below the message"`
}

type aboutArgs struct {
	Context attache.ContextID `json:"context,omitempty" jsonschema:"the name of a context; without entity: a reply brings that context back, about no entity"`
	Entity  attache.EntityKey `json:"entity,omitempty" jsonschema:"the key of the one entity, written as it stands in the data"`
}

// send judges everything that can be judged, and then posts what say gives. say is
// asked last, since it may cost something; it gives what is to be said without its
// place, or why there is nothing, and nothing of it has effects.
func (d Deps) send(ctx context.Context, c attache.Call, args sendArgs, say func(context.Context) (attache.Outgoing, string)) attache.Result {
	// What an earlier execution of the turn has said is not judged again: a rule, a
	// file or a binding that has changed since would make of it "nothing was sent".
	if result, found, err := d.Again(ctx, c.Turn, c.ID); found || err != nil {
		return told(result, err)
	}
	out, why := d.judge(ctx, c, args)
	if why == "" {
		var what attache.Outgoing
		what, why = say(ctx)
		out.Markdown, out.File = what.Markdown, what.File
	}
	if why != "" {
		return attache.Refused("nothing was sent: " + why)
	}
	result, err := d.Post(ctx, PostRequest{Turn: c.Turn, Call: c.ID, Say: out})
	return told(result, err)
}

// judge gives where a send goes and what it remembers, or why there is no send.
func (d Deps) judge(ctx context.Context, c attache.Call, args sendArgs) (out attache.Outgoing, why string) {
	if out.Place, why = d.target(ctx, c, args.Chat, args.Thread); why != "" {
		return out, why
	}
	if out.Buttons, why = keyboard(args.Buttons); why != "" {
		return out, why
	}
	about, why := args.About.read()
	if why != "" {
		return out, why
	}
	var err error
	out.Origin, why, err = d.Origin(ctx, c, out.Place, about)
	if err != nil {
		why = unjudged(err)
	}
	return out, why
}

// read gives what a send is about; the zero value when that was left out.
func (a *aboutArgs) read() (attache.About, string) {
	switch {
	case a == nil:
		return attache.About{}, ""
	case a.Context == "" && a.Entity == "":
		return attache.About{}, "about is empty; give it a context, an entity or both"
	case a.Entity != "":
		if _, err := attache.ParseEntityKey(string(a.Entity)); err != nil {
			return attache.About{}, "about.entity cannot be a key: " + err.Error()
		}
	}
	return attache.About{Context: a.Context, Key: a.Entity}, ""
}

// target gives the place that a tool acts on, or why it may not. It is the one check
// of all tools that take `chat` and `thread`: the chat has a rule, and a pinned
// place lets nothing out that another could read (decisions § 3.15).
func (d Deps) target(ctx context.Context, c attache.Call, chat tools.Chat, thread *tools.Thread) (attache.Place, string) {
	place, why := d.named(c, chat, thread)
	if why != "" {
		return place, why
	}
	// First what a pinned place lets out: from there it is not even told which other
	// chats there are.
	why, err := d.Lets(ctx, c, place)
	if err != nil {
		why = unjudged(err)
	}
	if why != "" {
		return place, why
	}
	switch ruled := d.Ruled(place); {
	case !ruled && place.Chat.Private():
		return place, fmt.Sprintf("no rule in access.yaml lets in the person of %v for the bot %s; only a person can change that, so choose another chat", place.Chat, place.Bot)
	case !ruled:
		return place, fmt.Sprintf("%v has no rule in access.yaml for the bot %s; only a person can add one, so choose another chat", place.Chat, place.Bot)
	}
	return place, ""
}

// named gives the place that arguments name. In its own chat a turn's topic is the
// default; a topic's number means nothing in another. A run without a place belongs
// to no bot, so the one speaks whom a rule puts into the chat.
func (d Deps) named(c attache.Call, chat tools.Chat, thread *tools.Thread) (attache.Place, string) {
	place := c.Place
	if chat := attache.ChatID(chat); chat != 0 && chat != place.Chat {
		place.Chat, place.Thread = chat, 0
	}
	if thread != nil {
		place.Thread = attache.ThreadID(*thread)
	}
	if place.Chat == 0 {
		return place, "this run answers nowhere, so there is no chat to default to; name the chat"
	}
	if place.Bot != "" {
		return place, ""
	}
	switch bots := d.Bots(place.Chat); len(bots) {
	case 0:
		return place, fmt.Sprintf("%v has no rule in access.yaml; only a person can add one, so choose another chat", place.Chat)
	case 1:
		place.Bot = bots[0]
		return place, ""
	default:
		return place, fmt.Sprintf("%s all have a rule for %v and this run has no place that says which of them speaks; only a person can give it one, so choose a chat with one bot", list(bots), place.Chat)
	}
}

// list names bots: "nova, rex".
func list(bots []attache.BotID) string {
	names := make([]string, len(bots))
	for i, b := range bots {
		names[i] = string(b)
	}
	return strings.Join(names, ", ")
}

// unjudged is said of a question that has no answer now. Nothing was done yet, so
// nothing is let through and nothing is unknown.
func unjudged(err error) string {
	if known, ok := errors.AsType[*attache.Error](err); ok {
		return known.Say
	}
	return "it cannot be looked up now whether this may be sent; try again in a later turn"
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
		return attache.OK(sent(r))
	case r.Fate == attache.FateRefused && len(r.Messages) == 0:
		return attache.Refused("nothing was sent: " + reason(r.Why))
	case r.Fate == attache.FateHeld && len(r.Messages) == 0:
		return attache.Refused("nothing was sent: Telegram asks this bot to wait (" + reason(r.Why) + "); try again in a later turn")
	case len(r.Messages) == 0:
		return tools.Unknown("it is not known whether the message was sent (" + reason(r.Why) + "); it is not sent again, so do not repeat it and say so")
	}
	return partly(r)
}

// sent tells where a post stands, and what it is about to who replies to it.
func sent(r PostResult) map[string]any {
	fields := map[string]any{"chat": r.Place.Chat.String(), "thread": strconv.FormatInt(int64(r.Place.Thread), 10), "messages": r.Messages}
	if r.Origin != nil && len(r.Origin.Reach) > 0 {
		var about []string
		for _, e := range r.Origin.Reach {
			about = append(about, e.String())
		}
		fields["about"] = about
	}
	return fields
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
