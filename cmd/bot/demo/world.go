package demo

import (
	"fmt"
	"strings"

	"attache"
	"attache/internal/telegramsim"
)

// World is the small Telegram of the demo: one bot, five people, and the chats
// that brain-example/constitution/access.yaml has rules for. It is not changed after
// New; what is said in it is the simulator's.
type World struct {
	Sim    *telegramsim.Server
	URL    string // of its Bot API
	Bot    *telegramsim.User
	People []*Person
	Chats  []*Chat // without the private ones, which are their person's
}

// Person is somebody to speak as, with a private chat with the bot.
type Person struct {
	Key  string // as in @ann
	Note string // who that is
	User *telegramsim.User
	DM   Chat
}

// Chat is a chat to speak in.
type Chat struct {
	Key    string   // as in #family
	About  string   // what is special here
	Try    []string // things worth saying
	Room   *telegramsim.Chat
	People []*Person // who is in it, besides the bot
	Topics []Topic
}

// Topic is a topic of a forum.
type Topic struct {
	Key  string // as in #desk/billing
	Name string
	ID   attache.ThreadID
}

// New starts the demo's Telegram on a free address of this machine; Sim.Close ends
// it. It errs where nothing can be listened on.
func New() (*World, error) {
	sim := telegramsim.New(telegramsim.Options{})
	url, err := sim.Listen()
	if err != nil {
		return nil, fmt.Errorf("the demo's Telegram cannot listen on this machine: %w", err)
	}
	w := &World{Sim: sim, URL: url}
	w.Bot = sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	w.Bot.SetPrivacy(false)
	family := []string{"Hello, who are you?", "What is there to eat on Friday?"}
	ann := w.add("Ann", "the owner: a bicycle shop and an agency are hers", "A private chat of an owner: /doctor works here too.", append(family, "use notification_send to say hello", "/doctor"))
	bo := w.add("Bo", "her husband, a freelance photographer", "A private chat. It is a conversation of its own, with a history of its own.", family)
	cleo := w.add("Cleo", "their daughter", "A private chat. It is a conversation of its own, with a history of its own.", family)
	dan := w.add("Dan", "of Acme, a client of the agency", "No rule lets Dan write to the bot privately: silence, and the log names him once.", family[:1])
	eve := w.add("Eve", "of Globex, another client", "No rule lets Eve write to the bot privately: silence, and the log names her once.", family[:1])
	w.group(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Family"}, "family", "Every message is for the bot, and each turn carries the shopping list.",
		[]string{"What is on the shopping list?", "use shopping_add with item=milk", "/context"}, ann, bo, cleo)
	desk := w.group(telegramsim.Chat{ID: -1000000001002, Kind: "forum", Title: "Desk"}, "desk",
		"The shop's support desk. Each topic is a conversation of its own; Billing has a role of its own.",
		[]string{"My chain is loose. When can I come by?", "Can I bring back a helmet? Please call context_open returns"}, ann, bo, cleo, dan, eve)
	desk.topic(ann, "Billing")
	desk.topic(ann, "Repairs")
	w.group(telegramsim.Chat{ID: -1003, Kind: "group", Title: "Acme"}, "acme",
		"An agency and its client. The bot hears all and answers @nova_bot and replies to it.",
		[]string{"The new logo is due on Thursday.", "@nova_bot what is due on Thursday?"}, ann, dan)
	w.group(telegramsim.Chat{ID: -1004, Kind: "group", Title: "Globex"}, "globex",
		"The same role, bound to another client: nothing of Acme is known here, and nothing of it can be opened.",
		[]string{"@nova_bot what is due on Thursday?", "@nova_bot call context_open client acme"}, ann, eve)
	w.group(telegramsim.Chat{ID: -1005, Kind: "group", Title: "Invoices"}, "invoices",
		"A freelancer's books, with the open invoices in each turn. The bot answers to its name; only Bo and the owner are let in.",
		[]string{"Nova, who owes me what?", "Nova, call invoice_find Lumen", "Nova, remind Lumen in two friendly lines."}, bo, ann)
	return w, nil
}

// add adds a person and their private chat with the bot.
func (w *World) add(name, note, about string, try []string) *Person {
	key := strings.ToLower(name)
	p := &Person{Key: key, Note: note, User: w.Sim.AddPerson(telegramsim.User{ID: int64(101 + len(w.People)), Name: name, Username: key})}
	p.DM = Chat{Key: "dm", About: about, Try: try, Room: w.Sim.DM(p.User, w.Bot), People: []*Person{p}}
	w.People = append(w.People, p)
	return p
}

// group adds a group of people and the bot.
func (w *World) group(as telegramsim.Chat, key, about string, try []string, people ...*Person) *Chat {
	var members []*telegramsim.User
	for _, p := range people {
		members = append(members, p.User)
	}
	c := &Chat{Key: key, About: about, Try: try, Room: w.Sim.AddChat(as, append(members, w.Bot)...), People: people}
	w.Chats = append(w.Chats, c)
	return c
}

func (c *Chat) topic(by *Person, name string) {
	c.Topics = append(c.Topics, Topic{Key: strings.ToLower(name), Name: name, ID: c.Room.CreateTopic(by.User, name)})
}

// Person finds somebody by key, nil for nobody.
func (w *World) Person(key string) *Person {
	for _, p := range w.People {
		if p.Key == key {
			return p
		}
	}
	return nil
}

// Find gives the chat and topic of a key such as dm, family or desk/billing, as
// the one who speaks sees them; false when there is no such chat or person.
func (w *World) Find(who, key string) (*Chat, attache.ThreadID, bool) {
	if key == "dm" {
		p := w.Person(who)
		if p == nil {
			return nil, 0, false
		}
		return &p.DM, 0, true
	}
	chat, topic, inTopic := strings.Cut(key, "/")
	for _, c := range w.Chats {
		if c.Key != chat {
			continue
		}
		for _, t := range c.Topics {
			if t.Key == topic {
				return c, t.ID, true
			}
		}
		return c, 0, !inTopic
	}
	return nil, 0, false
}

// names lists the people for somebody who is looking for one.
func (w *World) names() string {
	var all []string
	for _, p := range w.People {
		all = append(all, "@"+p.Key)
	}
	return strings.Join(all, " ")
}

// places lists the chats and topics.
func (w *World) places() string {
	all := []string{"#dm"}
	for _, c := range w.Chats {
		all = append(all, "#"+c.Key)
		for _, t := range c.Topics {
			all = append(all, "#"+c.Key+"/"+t.Key)
		}
	}
	return strings.Join(all, " ")
}
