package telegramsim

import (
	"fmt"
	"strings"

	"attache"
	"attache/internal/telegramsim/world"
)

// User is a person or a bot. Fields are set before AddPerson or AddBot and only
// read afterwards; a zero ID, username of a bot or token is chosen there.
type User struct {
	ID       int64  // Telegram's number
	Name     string // first name
	Username string // without @
	Token    string // bots only

	sim *Server
	in  *world.User
}

// Chat is one chat: its members, topics and messages. Its methods are what people
// do there. A private chat belongs to one person and one bot.
type Chat struct {
	ID       attache.ChatID
	Kind     string // private, group, supergroup, forum or channel, as created; SetForum changes whether there are topics
	Title    string
	Username string // without @; public groups and channels only

	sim    *Server
	in     *world.Chat
	person *User // private chats only
}

// AddBot puts a bot into the world, privacy mode on, and gives it a token.
func (s *Server) AddBot(u User) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.addUser(u, 7000000000)
	if b.Username == "" {
		b.Username = fmt.Sprintf("bot%d_bot", b.ID)
		b.in.Username = b.Username
	}
	if b.Token == "" {
		b.Token = fmt.Sprintf("%d:SIM%s", b.ID, strings.Repeat("x", 32))
	}
	b.in.Robot = s.world.NewRobot()
	s.bots[b.Token] = b
	return b
}

// AddPerson puts a person into the world.
func (s *Server) AddPerson(u User) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addUser(u, 5000000)
}

// addUser takes a user in under his own number or one above base, as far up as
// Telegram's: those of bots do not fit 32 bits.
func (s *Server) addUser(u User, base int64) *User {
	u.sim, u.in = s, &world.User{ID: u.ID, Name: u.Name, Username: u.Username}
	s.world.AddUser(u.in, base)
	u.ID, u.Name = u.in.ID, u.in.Name
	return &u
}

// SetPrivacy turns a bot's privacy mode on or off (it starts on). It holds for
// every group at once; Telegram asks to add the bot to the group anew.
func (u *User) SetPrivacy(on bool) {
	u.sim.mu.Lock()
	defer u.sim.mu.Unlock()
	u.in.Robot.Privacy = on
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
		c.ID = -attache.ChatID(s.world.Number())
		if c.Kind != "group" {
			c.ID -= 1000000000000
		}
	}
	made := &world.Chat{ID: c.ID, Kind: c.Kind, Title: c.Title, Username: c.Username}
	s.world.AddChat(made)
	owner := false
	for _, u := range members {
		status := "member"
		switch {
		case u.in.Robot == nil && !owner:
			status, owner = "creator", true
		case made.Channel() && u.in.Robot != nil:
			status = "administrator"
		}
		made.Admit(u.in, status)
	}
	return s.handle(made)
}

// handle gives what tests hold of a chat: the same for the same chat each time.
func (s *Server) handle(in *world.Chat) *Chat {
	if s.chats[in] == nil {
		s.chats[in] = &Chat{ID: in.ID, Kind: in.Kind, Title: in.Title, Username: in.Username, sim: s, in: in}
	}
	return s.chats[in]
}

// DM gives the private chat of a person and a bot, opened by the person.
func (s *Server) DM(person, bot *User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.handle(s.world.DM(person.in, bot.in))
	if c.person == nil {
		c.person = person
	}
	return c
}

// Person gives whom a private chat belongs to, nil for any other chat.
func (c *Chat) Person() *User { return c.person }

// Link makes group the discussion group of a channel: the channel's posts are
// forwarded there by Telegram itself.
func (c *Chat) Link(group *Chat) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.in.Linked = group.in
}

// SetForum turns topics on or off in a supergroup or a private chat. Sends to a
// topic are refused while they are off.
func (c *Chat) SetForum(on bool) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.in.Forum = on
}

// SetNext chooses the number of the chat's next message, and so of its next topic.
func (c *Chat) SetNext(id attache.MessageID) {
	c.sim.mu.Lock()
	defer c.sim.mu.Unlock()
	c.in.SetNext(int64(id))
}

// Inject queues raw JSON as an update for a bot, whatever it is, and gives its
// number: hostile, unknown or truncated. An object without update_id gets the next
// one; anything else is sent as it stands, and what is no JSON at all is delivered
// once.
func (s *Server) Inject(bot *User, raw string) int64 { return bot.in.Robot.Queue.Inject(raw) }

// Redeliver queues an update again that was delivered before, with its old number,
// as Telegram does when its own record of a confirmation is lost.
func (s *Server) Redeliver(bot *User, id int64) error { return bot.in.Robot.Queue.Redeliver(id) }

// Pending gives the number of updates that wait for a bot.
func (s *Server) Pending(bot *User) int { return bot.in.Robot.Queue.Pending() }
