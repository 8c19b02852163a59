package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"attache"
	"attache/access"
	"attache/internal/tools"
)

//go:embed words/access_explain.md
var explainWords string

type explainArgs struct {
	Chat   tools.Chat    `json:"chat,omitzero" jsonschema:"the chat's address as tg:chat:-1001234567890, or its number; left out: the chat that this turn is in"`
	Thread *tools.Thread `json:"thread,omitempty" jsonschema:"the number of the topic in that chat; 0 is General; left out: this turn's topic in its own chat, General in another"`
	Person string        `json:"person,omitempty" jsonschema:"a person as tg:user:111111, or the number; left out: who wrote last"`
}

// explain is the tool access_explain.
func (r Rooms) explain() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "access_explain", Description: words(explainWords),
		Capability: "access:read", Risk: attache.RiskSafe,
	}, r.explained)
}

func (r Rooms) explained(ctx context.Context, c attache.Call, args explainArgs) attache.Result {
	const nothing = "nothing was looked up: "
	chat, why := r.chat(ctx, &c, args.Chat)
	if why == "" {
		why = r.chatOnly(ctx, c, chat)
	}
	at := attache.Place{Chat: chat}
	if why == "" {
		at.Bot, why = r.speaker(c, chat)
	}
	person, wrong := personOf(args.Person, c.Person)
	if why == "" {
		why = wrong
	}
	if why != "" {
		return attache.Refused(nothing + why)
	}
	if chat == c.Place.Chat {
		at.Thread = c.Place.Thread
	}
	if args.Thread != nil {
		at.Thread = attache.ThreadID(*args.Thread)
	}
	ties, err := r.Ties(ctx, chat)
	if err != nil {
		return attache.Refused(nothing + unread)
	}
	ruling := r.Ruling(at)
	out := map[string]any{
		"bot": at.Bot, "chat": chat.String(), "thread": thread(at.Thread), "rule": ruleFields(ruling),
		"bindings": r.bindings(at, ruling, ties), "pin": r.pin(at, ties),
	}
	if person != "" {
		in, why := ruling.Admits(person)
		out["person"] = map[string]any{"id": person, "let_in": in, "why": why}
	}
	return attache.OK(out)
}

// personOf reads the address of a person, a chat that speaks as itself, or a bot.
func personOf(given string, writer attache.PersonID) (attache.PersonID, string) {
	if given == "" {
		return writer, ""
	}
	if n, err := strconv.ParseInt(given, 10, 64); err == nil && n > 0 {
		return attache.UserID(n), ""
	}
	for _, form := range []string{"tg:user:", "tg:chat:-"} {
		if digits, ok := strings.CutPrefix(given, form); ok {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n > 0 {
				return attache.PersonID(given), ""
			}
		}
	}
	if name, ok := strings.CutPrefix(given, "bot:"); ok && name != "" {
		return attache.PersonID(given), ""
	}
	return "", fmt.Sprintf("%q is not the address of a person; write tg:user: and the number", given)
}

// ruleFields tells what holds in a place and why.
func ruleFields(r access.Ruling) map[string]any {
	out := map[string]any{"why": r.Why, "holds": r.Ruled()}
	if r.File != "" {
		out["file"], out["line"] = r.File, r.Line
	}
	if !r.Ruled() {
		return out
	}
	out["kind"], out["role"], out["engage"], out["engaged_by"] = r.Kind, r.Role, r.Engage, engagedBy(r)
	out["observe"], out["bots"], out["channels"] = r.Observe, r.Bots, r.Channels
	if r.Title != "" {
		out["title"] = r.Title
	}
	everyone, listed := r.People()
	switch {
	case everyone:
		out["people"] = "everyone"
	case len(listed) == 0:
		out["people"] = "nobody but the owners"
	default:
		out["people"] = listed
	}
	return out
}

// engagedBy says in words what a rule's engage means.
func engagedBy(r access.Ruling) string {
	const mention = "@name, a mention of it, or a command with its name"
	switch r.Engage {
	case "mention":
		return mention
	case "reply":
		return "a reply to one of its messages"
	case "addressed":
		return mention + ", or a reply to one of its messages"
	case "name":
		return mention + ", a reply to one of its messages, or one of the words " + strings.Join(r.Names, ", ")
	case "all":
		return "every message"
	case "silent":
		return "nothing that people say"
	}
	return "what the brain's code says of a message"
}

// bindings tells every binding of a chat and what each comes to at a place.
func (r Rooms) bindings(at attache.Place, ruling access.Ruling, ties []access.Tie) []map[string]any {
	out := []map[string]any{}
	for _, x := range r.Rules().Explain(at, ties) {
		line := map[string]any{"context": x.Context, "entity": x.Key, "thread": nil, "strength": x.Strength(), "wins": x.Wins}
		if !x.At.Whole {
			line["thread"] = thread(x.At.Thread)
		}
		if x.Static {
			line["by"], line["line"] = "access.yaml", x.Line
		} else {
			line["by"] = "context_bind"
			line["bound"] = map[string]any{"role": x.Role, "turn": x.Turn, "at": x.Since.UTC().Format(time.RFC3339)}
		}
		if line["bots"] = x.Bots; !x.Static && len(x.Bots) == 0 {
			line["bots"] = "every bot"
		}
		line["attaches"], line["why"] = r.does(at, ruling, x)
		out = append(out, line)
	}
	return out
}

// does says whether a binding attaches its context at a place, and why or why not.
func (r Rooms) does(at attache.Place, ruling access.Ruling, x access.Explained) (attaches bool, why string) {
	const pins = "it only holds the place to its key: "
	var fact attache.ContextFact
	for _, f := range r.Rules().Known {
		if f.ID == x.Context {
			fact = f
		}
	}
	switch {
	case x.Clash:
		return false, "rules of access.yaml disagree, so the place is held to no key"
	case !x.Here && x.At.Bot != "" && x.At.Bot != at.Bot:
		return false, "it is for another bot"
	case !x.Here:
		return false, "it is for another topic"
	case !x.Wins:
		return false, "a stronger binding of the same context holds here"
	case fact.ID == "":
		return false, pins + "the brain has no such context that loads"
	case !fact.Holds(attache.LinkChat):
		return false, pins + "its `when` does not hold chat"
	case !x.Attaches(at.Bot):
		return false, pins + "another bot's rule names it"
	case !ruling.Ruled():
		return false, pins + "no rule holds here for this bot"
	case !x.Static && !r.Admits(ruling.Role, x.Context):
		return false, fmt.Sprintf("%sthe role %s does not list it in contexts", pins, ruling.Role)
	case fact.Keyed() && x.Key == "":
		return true, "it is bound to no key, so it attaches without rows of its own and every key is refused"
	case x.Static:
		return true, "a rule of access.yaml names it"
	}
	return true, "a tool bound it and the role lists it"
}

// pin tells what a place is held to: null is no key at all.
func (r Rooms) pin(at attache.Place, ties []access.Tie) map[string]any {
	out := map[string]any{}
	for id, key := range r.Rules().Keys(at, ties) {
		out[string(id)] = key
		if key == "" {
			out[string(id)] = nil
		}
	}
	return out
}
