package main

import (
	"fmt"
	"strings"

	"attache"
	"attache/internal/telegramsim"
)

// demoWorld is the small Telegram of the demo: one bot, five people, and the chats
// that brain-example/constitution/access.yaml has rules for.
type demoWorld struct {
	sim    *telegramsim.Server
	url    string
	bot    *telegramsim.User
	people []*demoPerson
	chats  []*demoChat // without the private ones, which are their person's

	who, where string // who speaks, and in which chat
	shown      map[shownKey]bool
}

// demoPerson is somebody to speak as, with a private chat with the bot.
type demoPerson struct {
	key  string // as in @ann
	note string // who that is
	user *telegramsim.User
	dm   demoChat
}

// demoChat is a chat to speak in.
type demoChat struct {
	key    string   // as in #family
	about  string   // what is special here
	try    []string // things worth saying
	chat   *telegramsim.Chat
	people []*demoPerson // who is in it, besides the bot
	topics []demoTopic
}

type demoTopic struct {
	key  string // as in #desk/billing
	name string
	id   attache.ThreadID
}

type shownKey struct {
	chat attache.ChatID
	id   attache.MessageID
}

func newDemoWorld() (*demoWorld, error) {
	sim := telegramsim.New(telegramsim.Options{})
	url, err := sim.Listen()
	if err != nil {
		return nil, fmt.Errorf("the demo's Telegram cannot listen on this machine: %w", err)
	}
	w := &demoWorld{sim: sim, url: url, shown: map[shownKey]bool{}, who: "ann", where: "dm"}
	w.bot = sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	w.bot.SetPrivacy(false)
	family := []string{"Hello, who are you?", "What is there to eat on Friday?"}
	ann := w.add("Ann", "the owner: a bicycle shop and an agency are hers", "A private chat of an owner: /doctor works here too.", append(family, "use notification_send to say hello", "/doctor"))
	bo := w.add("Bo", "her husband, a freelance photographer", "A private chat. It is a conversation of its own, with a history of its own.", family)
	cleo := w.add("Cleo", "their daughter", "A private chat. It is a conversation of its own, with a history of its own.", family)
	dan := w.add("Dan", "of Acme, a client of the agency", "No rule lets Dan write to the bot privately: silence, and the log names him once.", family[:1])
	eve := w.add("Eve", "of Globex, another client", "No rule lets Eve write to the bot privately: silence, and the log names her once.", family[:1])
	w.group(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Family"}, "family", "Every message is for the bot.",
		[]string{"Who is home tonight?", "/context"}, ann, bo, cleo)
	desk := w.group(telegramsim.Chat{ID: -1000000001002, Kind: "forum", Title: "Desk"}, "desk",
		"The shop's support desk. Each topic is a conversation of its own; Billing has a role of its own.",
		[]string{"My chain is loose. Can I come by today?", "Can I bring back a helmet that I never used?"}, ann, bo, cleo, dan, eve)
	desk.topic(ann, "Billing")
	desk.topic(ann, "Repairs")
	w.group(telegramsim.Chat{ID: -1003, Kind: "group", Title: "Acme"}, "acme",
		"A group of the agency and a client. The bot hears everything and answers when it is addressed.",
		[]string{"The new logo is due on Thursday.", "@nova_bot what is due on Thursday?"}, ann, dan)
	w.group(telegramsim.Chat{ID: -1004, Kind: "group", Title: "Globex"}, "globex",
		"The same role for another client: what is said in Acme is not known here.",
		[]string{"@nova_bot what is due on Thursday?"}, ann, eve)
	w.group(telegramsim.Chat{ID: -1005, Kind: "group", Title: "Invoices"}, "invoices",
		"A freelancer's books. The bot answers to its name; of the two people here only Bo and the owner are let in.",
		[]string{"Nova, Lumen owes me 480 euro since the 3rd.", "Nova, remind Lumen in two friendly lines."}, bo, ann)
	return w, nil
}

// add adds a person and their private chat with the bot.
func (w *demoWorld) add(name, note, about string, try []string) *demoPerson {
	key := strings.ToLower(name)
	p := &demoPerson{key: key, note: note, user: w.sim.AddPerson(telegramsim.User{ID: int64(101 + len(w.people)), Name: name, Username: key})}
	p.dm = demoChat{key: "dm", about: about, try: try, chat: w.sim.DM(p.user, w.bot), people: []*demoPerson{p}}
	w.people = append(w.people, p)
	return p
}

// group adds a group of people and the bot.
func (w *demoWorld) group(as telegramsim.Chat, key, about string, try []string, people ...*demoPerson) *demoChat {
	var members []*telegramsim.User
	for _, p := range people {
		members = append(members, p.user)
	}
	c := &demoChat{key: key, about: about, try: try, chat: w.sim.AddChat(as, append(members, w.bot)...), people: people}
	w.chats = append(w.chats, c)
	return c
}

func (c *demoChat) topic(by *demoPerson, name string) {
	c.topics = append(c.topics, demoTopic{key: strings.ToLower(name), name: name, id: c.chat.CreateTopic(by.user, name)})
}

// person finds somebody by key, nil for nobody.
func (w *demoWorld) person(key string) *demoPerson {
	for _, p := range w.people {
		if p.key == key {
			return p
		}
	}
	return nil
}

// find gives the chat and topic of a key such as dm, family or desk/billing, as
// the one who speaks sees them.
func (w *demoWorld) find(key string) (*demoChat, attache.ThreadID, bool) {
	if key == "dm" {
		return &w.person(w.who).dm, 0, true
	}
	chat, topic, inTopic := strings.Cut(key, "/")
	for _, c := range w.chats {
		if c.key != chat {
			continue
		}
		for _, t := range c.topics {
			if t.key == topic {
				return c, t.id, true
			}
		}
		return c, 0, !inTopic
	}
	return nil, 0, false
}

// names lists the people for somebody who is looking for one.
func (w *demoWorld) names() string {
	var all []string
	for _, p := range w.people {
		all = append(all, "@"+p.key)
	}
	return strings.Join(all, " ")
}

// places lists the chats and topics.
func (w *demoWorld) places() string {
	all := []string{"#dm"}
	for _, c := range w.chats {
		all = append(all, "#"+c.key)
		for _, t := range c.topics {
			all = append(all, "#"+c.key+"/"+t.key)
		}
	}
	return strings.Join(all, " ")
}
