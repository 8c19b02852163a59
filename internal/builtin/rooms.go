package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"attache"
	"attache/access"
	"attache/internal/tools"
)

// Rooms are the functions through which the tools on chats reach their owners: the
// rules of access, the table of bindings, and Telegram's topics. All are needed.
type Rooms struct {
	// Rules gives the rules of this moment.
	Rules func() access.Binder

	// Ruling gives what holds in a place, dm and default included.
	Ruling func(attache.Place) access.Ruling

	// Admits reports whether a role's list lets a context in.
	Admits func(attache.RoleID, attache.ContextID) bool

	// Now gives the number that a chat has now: a group that became a supergroup is
	// still named by its old one in files and in old messages.
	Now func(context.Context, attache.ChatID) (attache.ChatID, error)

	// Ties, Bind and Unbind are those of access.Store.
	Ties   func(context.Context, ...attache.ChatID) ([]access.Tie, error)
	Bind   func(context.Context, access.Tie) (before access.Tie, replaced bool, err error)
	Unbind func(context.Context, attache.ContextID, access.Spot) (access.Tie, error)

	// CreateTopic and CloseTopic ask Telegram through the bot of the place. An
	// *attache.Error says that nothing was done and why; after any other error nobody
	// knows.
	CreateTopic func(ctx context.Context, at attache.Place, name string) (attache.ThreadID, error)
	CloseTopic  func(context.Context, attache.Place) error
}

// RoomTools gives the tools on chats: what they are bound to, how they are ruled, and
// their topics.
func RoomTools(r Rooms) tools.Owned {
	return tools.Owned{Owner: "internal/builtin", Tools: []attache.Tool{r.bind(), r.unbind(), r.explain(), r.createTopic(), r.closeTopic()}}
}

// unread is what a model reads when the bindings cannot be read: they say what a
// place is held to, so without them nothing is let through (decisions § 3.6).
const unread = "what this place is bound to cannot be read now, because the database does not answer; try again in a later turn"

// chat gives the chat of an argument, else that of the turn, under its number of now.
// The turn's own place is put under that number too: a bot that has not heard yet that
// its group moved is held there all the same. why is a clause for the model, "" when
// there is a chat.
func (r Rooms) chat(ctx context.Context, c *attache.Call, given tools.Chat) (chat attache.ChatID, why string) {
	for _, number := range []*attache.ChatID{&c.Place.Chat, (*attache.ChatID)(&given)} {
		if *number == 0 {
			continue
		}
		now, err := r.Now(ctx, *number)
		if err != nil {
			return 0, unread
		}
		*number = now
	}
	if chat = cmp.Or(attache.ChatID(given), c.Place.Chat); chat == 0 {
		return 0, "this run answers nowhere, so there is no chat to default to; name the chat"
	}
	return chat, ""
}

// speaker gives the bot in whose name a tool acts in a chat: the turn's own. A run
// without a place has none, so there it is the one bot that has a rule for the chat.
func (r Rooms) speaker(c attache.Call, chat attache.ChatID) (attache.BotID, string) {
	if c.Place.Bot != "" {
		return c.Place.Bot, ""
	}
	rules := r.Rules()
	var ruled []attache.BotID
	for _, b := range rules.Policy.Bots() {
		if rules.Ruled(attache.Place{Bot: b.ID, Chat: chat}) {
			ruled = append(ruled, b.ID)
		}
	}
	switch len(ruled) {
	case 0:
		return "", fmt.Sprintf("%v has no rule in access.yaml; only a person can add one, so choose another chat", chat)
	case 1:
		return ruled[0], ""
	}
	return "", fmt.Sprintf("this run has no place, and %d bots have a rule for %v, so it is not clear which of them is meant; give the run a place", len(ruled), chat)
}

// pinned reports whether the turn's place is held to keys. An error means that nobody
// knows, which is to be treated as yes.
func (r Rooms) pinned(ctx context.Context, c attache.Call) (bool, error) {
	switch {
	case c.Place.Chat == 0:
		return false, nil
	case len(c.Pin.Bound) > 0 || c.Pin.Unread: // a tool may have unbound it since; the turn still knows what it knows
		return true, nil
	}
	ties, err := r.Ties(ctx, c.Place.Chat)
	if err != nil {
		return true, err
	}
	return len(r.Rules().Keys(c.Place, ties)) > 0, nil
}

// chatOnly says why a turn may not speak of another chat, "" when it may: in a pinned
// place tools speak of this chat only (decisions § 3.15).
func (r Rooms) chatOnly(ctx context.Context, c attache.Call, chat attache.ChatID) string {
	if chat == c.Place.Chat {
		return ""
	}
	switch pinned, err := r.pinned(ctx, c); {
	case err != nil:
		return unread
	case pinned:
		return fmt.Sprintf("this place is held to its own keys, so from here only %v can be named; leave chat out", c.Place.Chat)
	}
	return ""
}

// thread writes a topic's number as every tool does.
func thread(id attache.ThreadID) string { return strconv.FormatInt(int64(id), 10) }

// notes gives what a person should know of a binding that does less than its name
// says: it pins, and attaches nothing.
func (r Rooms) notes(t access.Tie) []string {
	rules := r.Rules()
	var out []string
	if i := slices.IndexFunc(rules.Known, func(f attache.ContextFact) bool { return f.ID == t.Context }); i >= 0 && !rules.Known[i].Holds(attache.LinkChat) {
		return []string{fmt.Sprintf("it only holds the place to its key: chat is not in the `when` of %s, so nothing is attached by itself", t.Context)}
	}
	for _, b := range rules.Policy.Bots() {
		at := attache.Place{Bot: b.ID, Chat: t.Chat, Thread: t.Thread}
		if t.Bot != "" && t.Bot != b.ID || !rules.Ruled(at) {
			continue
		}
		if role := r.Ruling(at).Role; !r.Admits(role, t.Context) {
			out = append(out, fmt.Sprintf("for %s it only holds the place to its key: the role %s does not list %s in contexts", b.ID, role, t.Context))
		}
	}
	return out
}
