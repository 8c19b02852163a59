package world

import (
	"cmp"
	"slices"

	"attache"
	"attache/internal/telegramsim/wire"
)

// The kinds of a chat, as Chat.Kind spells them.
const (
	private    = "private"
	basic      = "group"
	supergroup = "supergroup"
	forum      = "forum" // a supergroup that has topics
	channel    = "channel"
)

// Chat is one chat with its members, topics and messages. The fields of the first group
// do not change after AddChat.
type Chat struct {
	ID       attache.ChatID
	Kind     string // private, group, supergroup, forum or channel, as created
	Title    string
	Username string // without @; public groups and channels only
	Person   *User  // private chats only
	Bot      *User  // private chats only

	Forum   bool // whether it has topics now
	Topics  map[int64]*Topic
	Drafts  []*Draft
	Linked  *Chat // a channel's discussion group
	MovedTo *Chat // the supergroup that a group has become
	Posted  int   // posts of bots so far, forgotten ones included

	world    *World
	members  map[int64]*Member
	messages map[int64]*Message
	order    []int64 // ids of messages, oldest first
	lastID   int64
	lastBot  *User   // the bot that spoke last, for commands without a name
	sent     []int64 // when bots sent, in milliseconds, for Rules.Pace
}

// Member is a user's standing in a chat. One who has gone keeps the entry, so that who
// was kicked is told from who left.
type Member struct {
	User   *User
	Status string
}

// Private reports whether it is the chat of one person and one bot.
func (c *Chat) Private() bool { return c.Kind == private }

// Channel reports whether it is a channel.
func (c *Chat) Channel() bool { return c.Kind == channel }

// Group reports whether several people can meet in the chat.
func (c *Chat) Group() bool { return c.Kind != private && c.Kind != channel }

// SetNext chooses the number of the chat's next message.
func (c *Chat) SetNext(id int64) { c.lastID = id - 1 }

// Admit makes a user a member without telling anybody, as when a world is set up.
func (c *Chat) Admit(u *User, status string) { c.members[u.ID] = &Member{u, status} }

// Status gives a user's standing, in Telegram's words; a stranger has "left".
func (c *Chat) Status(u *User) string {
	if m := c.members[u.ID]; m != nil {
		return m.Status
	}
	return "left"
}

// Present reports whether a user with this standing is in the chat.
func Present(status string) bool { return status != "left" && status != "kicked" }

// Admin reports whether a user has an administrator's rights; here they have all.
func (c *Chat) Admin(u *User) bool {
	status := c.Status(u)
	return status == "administrator" || status == "creator"
}

// Members gives the members in the order of their numbers, those who have gone among
// them, so that two runs of a test tell their bots in the same order.
func (c *Chat) Members() []*Member {
	out := make([]*Member, 0, len(c.members))
	for _, k := range c.members {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(a.User.ID, b.User.ID) })
	return out
}

// Word names the chat as Telegram's refusals do.
func (c *Chat) Word() string {
	switch c.Kind {
	case basic:
		return "group chat"
	case channel:
		return "channel chat"
	}
	return "supergroup chat"
}

// Wire shows a forum as what it is on the wire: a supergroup with a flag.
func (c *Chat) Wire() wire.Chat {
	w := wire.Chat{ID: int64(c.ID), Type: c.Kind, Title: c.Title, Username: c.Username}
	switch c.Kind {
	case private:
		w.First = c.Person.Name
	case forum:
		w.Type, w.IsForum = supergroup, c.Forum
	default:
		w.IsForum = c.Forum
	}
	return w
}

// Migrate makes a supergroup of a group: members move, the number changes, and both
// chats carry a service message.
func (c *Chat) Migrate() *Chat {
	to := &Chat{ID: -1000000000000 - attache.ChatID(c.world.Number()), Kind: supergroup, Title: c.Title}
	c.world.AddChat(to)
	for id, m := range c.members {
		to.members[id] = &Member{m.User, m.Status}
	}
	owner := &wire.User{ID: 1087968824, IsBot: true, First: "Group", Username: "GroupAnonymousBot"}
	gone, here := &Message{}, &Message{}
	gone.From, gone.MigrateTo = owner, int64(to.ID)
	here.From, here.MigrateFrom = owner, int64(c.ID)
	c.Put(gone)
	to.Put(here)
	c.world.Publish(gone, false)
	c.world.Publish(here, false)
	c.MovedTo = to
	return to
}
