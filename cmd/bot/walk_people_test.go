package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"attache"
	"attache/internal/telegramsim"
)

// user finds a person or a bot by the name that the walk gave it.
func (p *play) user(name string) (*telegramsim.User, error) {
	if u := p.users[name]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("nobody is called %s", name)
}

func (p *play) addPerson(w []string) error {
	id, err := strconv.ParseInt(w[2], 10, 64)
	if err != nil || p.users[w[1]] != nil {
		return fmt.Errorf("somebody is called %s already", w[1])
	}
	p.users[w[1]] = p.sim.AddPerson(telegramsim.User{ID: id, Name: title(w[1]), Username: w[3]})
	return nil
}

// title makes a name of a walk into what Telegram shows.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func (p *play) addBot(name, username string, privacy bool) error {
	if p.users[name] != nil {
		return fmt.Errorf("somebody is called %s already", name)
	}
	b := p.sim.AddBot(telegramsim.User{ID: botNumber(name), Name: title(name), Username: username, Token: token(name)})
	b.SetPrivacy(privacy)
	p.users[name], p.bots = b, append(p.bots, b)
	return nil
}

func (p *play) addChat(kind, name, number string, members []string) error {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || p.chats[name] != nil {
		return fmt.Errorf("there is a chat %s already", name)
	}
	var users []*telegramsim.User
	for _, m := range members {
		u, err := p.user(m)
		if err != nil {
			return err
		}
		users = append(users, u)
	}
	p.keep(name, p.sim.AddChat(telegramsim.Chat{ID: attache.ChatID(id), Kind: kind, Title: title(name)}, users...))
	return nil
}

func (p *play) keep(name string, c *telegramsim.Chat) {
	if p.names[c] == "" {
		p.names[c], p.order = name, append(p.order, c)
	}
	p.chats[name] = c
}

// dm gives a private chat, opened by the person.
func (p *play) dm(person, bot *telegramsim.User) *telegramsim.Chat {
	c := p.sim.DM(person, bot)
	if p.names[c] == "" {
		p.names[c], p.order = p.nameOf(person), append(p.order, c)
	}
	return c
}

// nameOf is the inverse of user.
func (p *play) nameOf(u *telegramsim.User) string {
	for name, x := range p.users {
		if x == u {
			return name
		}
	}
	return "?"
}

// group gives a chat by its name, and a topic of it when there is a slash.
func (p *play) group(where string) (*telegramsim.Chat, attache.ThreadID, error) {
	name, topic, inTopic := strings.Cut(where, "/")
	c := p.chats[name]
	if c == nil {
		return nil, 0, fmt.Errorf("there is no chat %s", name)
	}
	if !inTopic {
		return c, 0, nil
	}
	t, ok := p.topics[where]
	if !ok {
		return nil, 0, fmt.Errorf("chat %s has no topic %s", name, topic)
	}
	return c, t, nil
}

// place finds `desk/billing`, or the private chat of a person with the first bot.
func (p *play) place(where string, private bool) (place, error) {
	if !private {
		c, t, err := p.group(where)
		return place{c, t}, err
	}
	name, _, inTopic := strings.Cut(where, "/")
	person, err := p.user(name)
	if err != nil {
		return place{}, err
	}
	at := place{chat: p.dm(person, p.bots[0])}
	if inTopic {
		t, ok := p.topics[where]
		if !ok {
			return place{}, fmt.Errorf("there is no private topic %s", where)
		}
		at.thread = t
	}
	return at, nil
}

// openTopic opens a topic of a forum; of a bot's name, a private one with that bot.
func (p *play) openTopic(w []string) error {
	chatName, topic := w[1], w[2]
	by, err := p.user(w[3])
	if err != nil {
		return err
	}
	if bot := p.users[chatName]; bot != nil {
		c := p.dm(by, bot)
		c.SetForum(true)
		p.topics[p.nameOf(by)+"/"+topic] = c.CreateTopic(by, title(topic))
		return nil
	}
	c, _, err := p.group(chatName)
	if err == nil {
		p.topics[chatName+"/"+topic] = c.CreateTopic(by, title(topic))
	}
	return err
}

func (p *play) shutTopic(w []string) error {
	by, err := p.user(w[1])
	if err != nil {
		return err
	}
	c, t, err := p.group(w[3])
	switch {
	case err != nil:
		return err
	case w[2] == "deletes":
		return c.DeleteTopic(t)
	}
	return c.CloseTopic(by, t, w[2] == "closes")
}

func (p *play) discuss(w []string) error {
	news, _, err := p.group(w[1])
	club, _, err2 := p.group(w[2])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	news.Link(club)
	return nil
}

// standing changes who is in a chat: adds, removes, promotes, joins, leaves.
func (p *play) standing(w []string) error {
	by, err := p.user(w[1])
	who, err2 := p.user(w[3])
	c, _, err3 := p.group(w[4])
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	status := map[string]string{"adds": "member", "joins": "member", "removes": "kicked", "leaves": "left", "promotes": "administrator"}
	c.SetStatus(by, who, status[w[2]])
	return nil
}

func (p *play) block(w []string) error {
	person, err := p.user(w[1])
	bot, err2 := p.user(w[3])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	status := map[string]string{"blocks": "kicked", "unblocks": "member"}[w[2]]
	p.dm(person, bot).SetStatus(person, bot, status)
	return nil
}

func (p *play) migrate(w []string) error {
	c, _, err := p.group(w[1])
	if err == nil {
		p.keep(w[2], c.Migrate())
	}
	return err
}

// redeliver finds the last update that a bot was given and gives it again.
func (p *play) redeliver(w []string) error {
	bot, err := p.user(w[1])
	if err != nil {
		return err
	}
	for id := int64(100_010_000); id > 100_000_000; id-- {
		if p.sim.Redeliver(bot, id) == nil {
			return nil
		}
	}
	return errors.New("no update was given to it yet")
}

// press presses the newest button of that label in a place.
func (p *play) press(w []string) error {
	by, err := p.user(w[1])
	if err != nil {
		return err
	}
	at, err := p.place(w[4], false)
	if w[3] == "to" {
		bot, err2 := p.user(w[4])
		if err2 != nil {
			return err2
		}
		at, err = place{chat: p.dm(by, bot)}, nil
	}
	if err != nil {
		return err
	}
	for _, m := range newestFirst(at.chat.Posts(at.thread)) {
		if _, err = at.chat.Press(by, m.ID, w[2]); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no post here has a button %q", w[2])
}

func (p *play) stopDraft(w []string) error {
	by, err := p.user(w[1])
	if err != nil {
		return err
	}
	at, err := p.spot(speech{who: w[1], where: w[2], private: true}, by)
	if err != nil {
		return err
	}
	return at.chat.StopDraft(at.thread)
}
