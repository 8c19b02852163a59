package engage

import (
	"fmt"
	"strings"

	"attache"
)

// Act is what to do with a message.
type Act string

// The acts. Observe means: do not answer, but keep the line for the room.
const (
	Answer  Act = "answer"
	Observe Act = "observe"
	Ignore  Act = "ignore"
)

// maxExchanges is how often two bots may answer each other without a person in
// between (decisions § 6.6).
const maxExchanges = 5

// Self is the bot that decides.
type Self struct {
	Bot      attache.BotID
	User     attache.PersonID // its tg:user:<id>
	Username string           // without @
}

// Rule is what access.yaml says of the place and the sender, as plain values.
type Rule struct {
	Engage    string   // mention, reply, addressed, name, all, silent or code (interface § 3)
	Names     []string // words that call the bot, for name
	Observe   bool
	Bots      bool   // whether other bots may engage it
	Channels  bool   // whether posts of channels may
	Admitted  bool   // whether the rule's people let the sender in
	WhyNot    string // the reason when not
	Exchanges int    // how often this bot and other bots have answered each other here since a person last wrote
	Code      *bool  // what engage() answered; nil for undefined and where there is none
}

// Decision is the verdict on one message. Mentioned and ReplyToMe are told to
// engage() as well, whatever the verdict.
type Decision struct {
	Act       Act
	Why       string // one clause
	Barred    bool   // who wrote it, or what it is, keeps it from being looked at: no command in it is run either
	Mentioned bool
	ReplyToMe bool
}

// Decide says what to do with a message. Who is not let in is ignored before
// anything is looked at, so that no word of theirs is kept (interface § 3).
func Decide(r Rule, m attache.Message, self Self) Decision {
	d := Decision{Act: Ignore, Mentioned: mentioned(m, self), ReplyToMe: replies(m, self)}
	if d.Why = barred(r, m, self); d.Why != "" {
		d.Barred = true
		return d
	}
	engaged, why := called(r, m, self, d)
	if r.Code != nil {
		engaged, why = *r.Code, fmt.Sprintf("engage() says %t", *r.Code)
	}
	switch {
	case engaged:
		d.Act = Answer
	case r.Observe:
		d.Act, why = Observe, why+"; the room is observed"
	}
	d.Why = why
	return d
}

// barred gives the reason for which a message is not even looked at, "" for none.
func barred(r Rule, m attache.Message, self Self) string {
	bot, channel := fromBot(m), fromChannel(m)
	switch {
	case self.wrote(m.From.ID):
		return "the bot's own message"
	case m.Service != "":
		return "a service message"
	case m.From.ID == "":
		return "nobody is named as its sender"
	case bot && !r.Bots:
		return "another bot wrote it, and the rule has no bots: true"
	case channel && !r.Channels:
		return "a channel posted it, and the rule has no channels: true"
	case !r.Admitted && r.WhyNot != "":
		return r.WhyNot
	case !r.Admitted:
		return "the rule does not let its sender in"
	case bot && r.Exchanges >= maxExchanges:
		return fmt.Sprintf("bots have answered each other %d times here; a person must write first", r.Exchanges)
	}
	return ""
}

// called says whether the rule's word makes the message one for the bot.
func called(r Rule, m attache.Message, self Self, d Decision) (bool, string) {
	addressed, how := d.Mentioned || d.ReplyToMe, "it replies to the bot"
	if d.Mentioned {
		how = "it mentions @" + self.Username
	}
	switch r.Engage {
	case "mention":
		return d.Mentioned, either(d.Mentioned, how, "engage: mention, and it does not mention the bot")
	case "reply":
		return d.ReplyToMe, either(d.ReplyToMe, "it replies to the bot", "engage: reply, and it replies to no post of the bot")
	case "addressed":
		return addressed, either(addressed, how, "engage: addressed, and it neither mentions the bot nor replies to it")
	case "name":
		if name := spoken(m, r.Names); !addressed && name != "" {
			return true, fmt.Sprintf("it says %q", name)
		}
		return addressed, either(addressed, how, "engage: name, and it neither names nor mentions the bot nor replies to it")
	case "all":
		other := commandOf(m)
		forOther := other != "" && !strings.EqualFold(other, self.Username)
		return !forOther, either(!forOther, "engage: all", "a command for @"+other)
	case "silent":
		return false, "engage: silent"
	case "code":
		return false, "engage: code, and engage() did not say yes"
	}
	return false, fmt.Sprintf("%q is no word of engage", r.Engage)
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// wrote reports whether the bot itself is the sender, by either of its addresses.
func (s Self) wrote(id attache.PersonID) bool {
	return id != "" && (id == s.User || id == attache.PersonID("bot:"+string(s.Bot)))
}

// fromBot tells other bots. An anonymous admin comes through a bot account of
// Telegram's, but speaks as the chat.
func fromBot(m attache.Message) bool {
	id := string(m.From.ID)
	return strings.HasPrefix(id, "bot:") || m.From.IsBot && !strings.HasPrefix(id, "tg:chat:")
}

// fromChannel tells posts of channels from an anonymous admin, who speaks as the
// very chat that the message stands in.
func fromChannel(m attache.Message) bool {
	id := string(m.From.ID)
	return m.Channel || m.Chat.Kind == "channel" || strings.HasPrefix(id, "tg:chat:") && id != m.Place.Chat.String()
}

// replies reports whether the message natively replies to a post of the bot in this
// chat.
func replies(m attache.Message, self Self) bool {
	return m.Reply != nil && !m.Reply.External && self.wrote(m.Reply.From.ID)
}

// NeedsEverything reports whether a rule asks for messages that Telegram keeps from
// a bot in privacy mode: all but commands, mentions and replies to it.
func NeedsEverything(engage string, observe bool) bool {
	return observe || engage == "name" || engage == "all" || engage == "code"
}
