package program

import (
	"context"
	"fmt"
	"strings"
	"time"

	"attache"
	"attache/engage"
	"attache/gateway"
	"attache/internal/telegram"
)

// everyones are the commands that everybody who is let in may use (interface § 5).
func everyones() []telegram.Command {
	return []telegram.Command{
		{Name: "context", Description: "What my latest answer here carried"},
		{Name: "new", Description: "Begin a new session here"},
		{Name: "stop", Description: "End what I am doing here"},
		{Name: "status", Description: "Who I am here"},
		{Name: "help", Description: "What I understand"},
	}
}

// ownersCommands are everyone's, and behind them those that only owners may use.
func ownersCommands() []telegram.Command {
	return append(everyones(), telegram.Command{Name: "doctor", Description: "What is wrong with the brain and the machine"})
}

// Commands lists the names of every command that the bot itself answers.
func Commands() []string {
	var names []string
	for _, c := range ownersCommands() {
		names = append(names, c.Name)
	}
	return names
}

// publish shows the commands in Telegram's menus: everyone's by default, and the
// owners' in each owner's private chat.
func (b *bot) publish(ctx context.Context) {
	b.keepTrying(ctx, "publishing the commands", b.receivesBadly, func(ctx context.Context) error {
		return b.client.PublishCommands(ctx, telegram.CommandScope{Kind: "default"}, everyones())
	})
	for _, owner := range b.p.brain.Current().Policy.Owners() {
		chat, err := attache.ParseChat(strings.TrimPrefix(string(owner), "tg:user:"))
		if err != nil {
			continue
		}
		// An owner who never wrote to the bot has no chat with it yet: no trouble.
		if err := b.client.PublishCommands(ctx, telegram.CommandScope{Kind: "chat", Chat: chat}, ownersCommands()); err != nil {
			b.log.Debug("an owner's commands could not be published", "bot", b.id, "person", owner, "err", err)
		}
	}
}

// command gives the verdict on one of the bot's own commands; ours is false for
// any other word, which goes its way as a message. Commands call no model.
func (b *bot) command(m attache.Message, name string) (v gateway.Verdict, ours bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	v = gateway.Verdict{Act: gateway.ActReply, Why: "/" + name}
	switch name {
	case "stop":
		v.Act = gateway.ActStop
	case "new":
		v.Act, v.Say = gateway.ActNew, "A new session begins: what was said before is not carried on."
	case "context":
		v.Say = b.p.contextLines(ctx, m.Place)
	case "help":
		v.Say = help(b.p.brain.Current().Policy.Owner(m.From.ID))
	case "status":
		v.Say = b.status(m)
	case "doctor":
		if !b.p.brain.Current().Policy.Owner(m.From.ID) {
			v.Say = "/doctor is for the owners that access.yaml names."
			break
		}
		if !m.Place.Chat.Private() { // it speaks of other chats and of what was said there
			v.Say = "Ask me in private: what I find may be about other chats."
			break
		}
		v.Say = b.p.findings(ctx)
	default:
		return gateway.Verdict{}, false
	}
	return v, true
}

// help lists the commands.
func help(owner bool) string {
	list := everyones()
	if owner {
		list = ownersCommands()
	}
	lines := make([]string, len(list))
	for i, c := range list {
		lines[i] = "/" + c.Name + " – " + c.Description
	}
	return strings.Join(lines, "\n")
}

// status tells a person who the bot is in their chat, and what it is doing there.
func (b *bot) status(m attache.Message) string {
	br := b.p.brain.Current()
	r := b.p.ruling(br, m.Place, m.Chat.Kind)
	name := string(r.Role)
	model := ""
	if role, ok := br.Frame.Role(r.Role); ok {
		name = role.Name
		model = " My model is " + modelOf(br, role).Model + "."
		if modelOf(br, role).Model == "" {
			model = ""
		}
	}
	return fmt.Sprintf("I am %s here (role %s). I answer to: %s.%s", name, r.Role, engage.Words(r.Engage), model)
}
