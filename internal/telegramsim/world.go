package telegramsim

import (
	"fmt"
	"strconv"
	"strings"

	"attache"
)

// User is a person or a bot. Fields are set before AddPerson or AddBot and only
// read afterwards; a zero ID, username of a bot or token is chosen there.
type User struct {
	ID       int64  // Telegram's number
	Name     string // first name
	Username string // without @
	Token    string // bots only

	sim *Server
	bot *robot // nil for a person
}

// The kinds of a chat, as Chat.Kind spells them.
const (
	private    = "private"
	basic      = "group"
	supergroup = "supergroup"
	forum      = "forum" // a supergroup that has topics
	channel    = "channel"
)

// Chat is one chat: its members, topics and messages. Its methods are what people
// do there. A private chat belongs to one person and one bot.
type Chat struct {
	ID       attache.ChatID
	Kind     string // private, group, supergroup, forum or channel, as created; SetForum changes whether there are topics
	Title    string
	Username string // without @; public groups and channels only

	sim      *Server
	person   *User // private chats only
	bot      *User // private chats only
	forum    bool
	members  map[int64]*member
	topics   map[int64]*topic
	messages map[int64]*message
	order    []int64 // ids of messages, oldest first
	lastID   int64
	posted   int   // posts of bots so far, forgotten ones included
	lastBot  *User // the bot that spoke last, for commands without a name
	movedTo  *Chat
	linked   *Chat // a channel's discussion group
	drafts   []*draft
	sent     []int64 // when bots sent, in milliseconds, for Pace
}

// chatKey finds a chat: every bot has its own private chat with a person.
type chatKey struct {
	id  int64
	bot int64 // private chats only
}

// member is a user's standing in a chat. One who has gone keeps the entry, so that
// who was kicked is told from who left.
type member struct {
	user   *User
	status string
}

// topic has the number of its creation message. General is none of these.
type topic struct {
	id     int64
	name   string
	color  int64
	closed bool
}

// AddBot puts a bot into the world, privacy mode on, and gives it a token.
func (s *Server) AddBot(u User) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.addUser(u, 7000000000)
	if b.Username == "" {
		b.Username = fmt.Sprintf("bot%d_bot", b.ID)
	}
	if b.Token == "" {
		b.Token = fmt.Sprintf("%d:SIM%s", b.ID, strings.Repeat("x", 32))
	}
	b.bot = s.newRobot()
	s.bots[b.Token] = b
	return b
}

// AddPerson puts a person into the world.
func (s *Server) AddPerson(u User) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addUser(u, 5000000)
}

// addUser panics on a number that is taken: the test's script is wrong. base keeps the
// numbers of people and bots apart, as far up as Telegram's: those of bots do not fit
// 32 bits.
func (s *Server) addUser(u User, base int64) *User {
	if u.ID == 0 {
		u.ID = base + s.next()
	}
	if u.Name == "" {
		u.Name = "User " + strconv.FormatInt(u.ID, 10)
	}
	if s.users[u.ID] != nil {
		panic(fmt.Sprintf("telegramsim: there is a user %d already", u.ID))
	}
	u.sim = s
	s.users[u.ID] = &u
	return &u
}

// SetPrivacy turns a bot's privacy mode on or off (it starts on). It holds for
// every group at once; Telegram asks to add the bot to the group anew.
func (u *User) SetPrivacy(on bool) {
	u.sim.mu.Lock()
	defer u.sim.mu.Unlock()
	u.bot.privacy = on
}

// AddChat puts a group, supergroup, forum or channel into the world, with its
// members: bots join as ordinary members, in a channel as administrators; the
// first person is the creator. No update tells of it.
func (s *Server) AddChat(c Chat, members ...*User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Title == "" {
		c.Title = "A " + c.Kind
	}
	if c.ID == 0 { // numbers have Telegram's form: -1234 of a basic group, -1000000001234 of the others
		c.ID = -attache.ChatID(s.next())
		if c.Kind != basic {
			c.ID -= 1000000000000
		}
	}
	made := s.addChat(c, 0)
	owner := false
	for _, u := range members {
		status := "member"
		switch {
		case u.bot == nil && !owner:
			status, owner = "creator", true
		case c.Kind == channel && u.bot != nil:
			status = "administrator"
		}
		made.members[u.ID] = &member{u, status}
	}
	return made
}

// addChat panics on a number that is taken: the test's script is wrong.
func (s *Server) addChat(c Chat, bot int64) *Chat {
	key := chatKey{int64(c.ID), bot}
	if s.chats[key] != nil {
		panic(fmt.Sprintf("telegramsim: there is a chat %d already", c.ID))
	}
	c.sim, c.forum = s, c.Kind == forum
	if c.forum {
		c.lastID = 1 // General's number is 1, so no topic's can be
	}
	c.members, c.topics, c.messages = map[int64]*member{}, map[int64]*topic{}, map[int64]*message{}
	s.chats[key] = &c
	return &c
}

// DM gives the private chat of a person and a bot, opened by the person.
func (s *Server) DM(person, bot *User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatKey{person.ID, bot.ID}]; c != nil {
		return c
	}
	c := s.addChat(Chat{ID: attache.ChatID(person.ID), Kind: private, Username: person.Username, person: person, bot: bot}, bot.ID)
	c.members[person.ID] = &member{person, "member"}
	c.members[bot.ID] = &member{bot, "member"}
	return c
}

// Person gives whom a private chat belongs to, nil for any other chat.
func (c *Chat) Person() *User { return c.person }

// Link makes group the discussion group of a channel: the channel's posts are
// forwarded there by Telegram itself.
func (c *Chat) Link(group *Chat) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.linked = group
}

// SetForum turns topics on or off in a supergroup or a private chat. Sends to a
// topic are refused while they are off.
func (c *Chat) SetForum(on bool) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.forum = on
}

// SetNext chooses the number of the chat's next message, and so of its next topic.
func (c *Chat) SetNext(id attache.MessageID) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.lastID = int64(id) - 1
}

// group reports whether several people can meet in the chat.
func (c *Chat) group() bool { return c.Kind != private && c.Kind != channel }

// status gives a user's standing, in Telegram's words; a stranger has "left".
func (c *Chat) status(u *User) string {
	if m := c.members[u.ID]; m != nil {
		return m.status
	}
	return "left"
}

func present(status string) bool { return status != "left" && status != "kicked" }

// admin reports whether a user has an administrator's rights; here they have all.
func (c *Chat) admin(u *User) bool {
	status := c.status(u)
	return status == "administrator" || status == "creator"
}

// word names the chat as Telegram's refusals do.
func (c *Chat) word() string {
	switch c.Kind {
	case basic:
		return "group chat"
	case channel:
		return "channel chat"
	}
	return "supergroup chat"
}

// wire shows a forum as what it is on the wire: a supergroup with a flag.
func (c *Chat) wire() wireChat {
	w := wireChat{ID: int64(c.ID), Type: c.Kind, Title: c.Title, Username: c.Username}
	switch c.Kind {
	case private:
		w.First = c.person.Name
	case forum:
		w.Type, w.IsForum = supergroup, c.forum
	default:
		w.IsForum = c.forum
	}
	return w
}

func (u *User) wire() *wireUser {
	return &wireUser{ID: u.ID, IsBot: u.bot != nil, First: u.Name, Username: u.Username}
}
