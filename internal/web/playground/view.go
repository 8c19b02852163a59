package playground

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html/template"
	"image"
	_ "image/gif" // photos of these kinds can be measured
	_ "image/jpeg"
	_ "image/png"
	"strconv"
	"strings"
	"time"
	"unicode"

	"attache"
	"attache/internal/web"
)

// seat is who looks, and at what.
type seat struct {
	person Person
	chats  []Chat // of the whole world, as it was when the seat was taken
	chat   Chat
	thread attache.ThreadID
	chosen attache.MessageID // the message whose turn is shown; 0: the newest that has one
	view   string            // list, chat or sheet: what a phone shows
}

// base is the address of the place, spoken to as this person.
func (s seat) base() string { return address(s.person.Key, s.chat.Key, s.thread) }

func address(person, chat string, thread attache.ThreadID) string {
	return "/as/" + person + "/" + chat + "/" + strconv.FormatInt(int64(thread), 10)
}

// place is what a turn of this place is stored under.
func (s seat) place() attache.Place {
	return attache.Place{Bot: s.chat.Bot, Chat: s.chat.ID, Thread: s.thread}
}

// item is one entry of the conversation.
type item struct {
	Key     string // id of its element
	Day     string // a date between messages; then nothing else is set
	Event   string // a sentence that tells of an event; then nothing else is set
	Post    Post
	Base    string
	Token   string
	Name    string
	Hue     int
	Mine    bool
	Follows bool // goes on from the message before it
	Body    template.HTML
	Reply   *parent
	File    *media
	Time    string
	Turn    web.Turn
	Told    bool   // Turn is known
	Quiet   bool   // this person's message got no answer, and Turn says why
	Seen    string // of one's own message: sent, read or answered
	Chosen  bool
}

// parent is the message that an item replies to.
type parent struct {
	ID   attache.MessageID // 0: it cannot be gone to
	Name string
	Text string
	Hue  int
}

// media is a file in an item.
type media struct {
	Kind, URL, Name, Size string
	Width, Height         int // of a photo, 0 when unknown
}

// shown is the most messages of a place that a page shows, and asked the most of
// them whose turns are looked up.
const (
	shown = 200
	asked = 40
)

// items lays out the conversation of a place. Only the newest messages are asked for
// their turns: older ones are not looked at, and each answer is a few queries. open
// reports that something in it may still change without the world telling.
func (p *Playground) items(ctx context.Context, s seat) (out []item, open bool) {
	posts := inPlace(s.chat.Posts, s.thread)
	if len(posts) > shown {
		posts = posts[len(posts)-shown:]
	}
	var last Post // after a date or an event it has no ID, so that nothing goes on from it
	for i, post := range posts {
		if day := day(post.At); i == 0 || day != dayOf(last) {
			out = append(out, item{Key: "day-" + post.At.Format("2006-01-02") + "-" + strconv.FormatInt(int64(post.ID), 10), Day: day})
			last = Post{At: post.At}
		}
		if post.Service != "" {
			out = append(out, item{Key: key(post.ID), Event: event(s.chat, post)})
			last = Post{At: post.At}
			continue
		}
		x := p.item(s, post)
		x.Follows = last.From.ID == post.From.ID && last.ID != 0 && post.At.Sub(last.At) < 5*time.Minute
		if i >= len(posts)-asked {
			k := p.turns.of(ctx, s.place(), post)
			open = open || !k.final
			x.tell(k)
		}
		last = post
		out = append(out, x)
	}
	return out, open
}

func key(id attache.MessageID) string { return "m-" + strconv.FormatInt(int64(id), 10) }

func dayOf(p Post) string {
	if p.At.IsZero() {
		return ""
	}
	return day(p.At)
}

// inPlace gives the messages that stand in a topic.
func inPlace(posts []Post, thread attache.ThreadID) []Post {
	var out []Post
	for _, p := range posts {
		if p.Thread == thread && !p.Deleted {
			out = append(out, p)
		}
	}
	return out
}

func (p *Playground) item(s seat, post Post) item {
	colour := hue(post.From.ID)
	if post.Bot {
		colour = face(s.chat)
	}
	return item{
		Key: key(post.ID), Post: post, Base: s.base(), Token: p.guard.Token(), Name: name(post.From), Hue: colour,
		Mine: post.From.ID == s.person.ID, Body: p.body(post), Reply: reply(s.chat, post), File: p.media(s, post),
		Time: post.At.Format("15:04"), Chosen: s.chosen == post.ID, Seen: "sent",
	}
}

// tell adds what is known of the item's turn.
func (x *item) tell(k knownTurn) {
	x.Told, x.Turn = k.found, k.turn
	if !k.found {
		return
	}
	switch k.turn.Status {
	case "waiting":
	case "answered":
		x.Seen = "answered"
	default:
		x.Seen = "read"
		x.Quiet = x.Mine && k.turn.Over()
	}
}

// body gives the words as markup.
func (p *Playground) body(post Post) template.HTML {
	if post.Rich != "" {
		return p.layouts.of(post.Rich)
	}
	return marked(post.Text, post.Marks)
}

func name(p attache.Person) string { return cmp.Or(p.Name, p.Username, string(p.ID)) }

// face gives the colour of a chat's bot, the same wherever it is seen.
func face(c Chat) int { return hue(attache.PersonID("bot:" + c.Bot)) }

// hue gives a person one of eight colours, the same in every chat and after every
// start. The style sheet has them as classes: a style of its own in an element would
// breach the policy.
func hue(id attache.PersonID) int {
	n := 0
	for _, c := range []byte(id) {
		n = n*31 + int(c)
	}
	return (n%8 + 8) % 8
}

// reply finds what a message replies to. A parent that is gone, or that stands where
// this person may not be, is named and not shown.
func reply(c Chat, post Post) *parent {
	if post.ReplyTo == 0 && !post.External {
		return nil
	}
	if post.External {
		return &parent{Name: "another chat", Text: post.Quote}
	}
	for _, p := range c.Posts {
		if p.ID == post.ReplyTo && !p.Deleted {
			x := &parent{p.ID, name(p.From), cmp.Or(post.Quote, summary(p)), hue(p.From.ID)}
			if p.Bot {
				x.Hue = face(c)
			}
			return x
		}
	}
	return &parent{Name: "a message that is gone", Text: post.Quote}
}

// summary says a message in a line.
func summary(p Post) string {
	text := cmp.Or(p.Text, p.Rich)
	if p.File != nil {
		text = strings.TrimSpace(titled(p.File.Kind) + " " + text)
	}
	return line(text, 120)
}

func titled(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// line cuts a text to one short line.
func line(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// media describes a message's file. A photo's measures keep its place on the page
// while it loads. The address names the process: another one counts from 1 again.
func (p *Playground) media(s seat, post Post) *media {
	f := post.File
	if f == nil {
		return nil
	}
	m := &media{Kind: f.Kind, Name: cmp.Or(f.Name, titled(f.Kind)), Size: bytesOf(len(f.Data)),
		URL: "/file/" + s.chat.Key + "/" + strconv.FormatInt(int64(post.ID), 10) + "?of=" + p.boot[:8]}
	if f.Kind == "photo" {
		if c, _, err := image.DecodeConfig(bytes.NewReader(f.Data)); err == nil {
			m.Width, m.Height = c.Width, c.Height
		}
	}
	return m
}

func bytesOf(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000000:
		return fmt.Sprintf("%.0f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000000)
}

// event tells of a service message in a sentence. The simulator says which event it
// was and not of whom, so the sentences are as vague as that.
func event(c Chat, p Post) string {
	who := name(p.From)
	switch p.Service {
	case "new_chat_members":
		return who + " brought somebody in"
	case "left_chat_member":
		return "Somebody left"
	case "forum_topic_created":
		for _, t := range c.Topics {
			if attache.MessageID(t.ID) == p.ID {
				return who + " opened the topic " + t.Name
			}
		}
		return who + " opened this topic"
	case "forum_topic_edited":
		return who + " renamed the topic"
	case "forum_topic_closed":
		return who + " closed the topic"
	case "forum_topic_reopened":
		return who + " opened the topic again"
	case "migrate_to_chat_id", "migrate_from_chat_id":
		return "The group became a supergroup"
	}
	return p.Service
}

// day names a date as a person would, seen from today.
func day(at time.Time) string {
	now := time.Now().In(at.Location())
	switch at.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return "Today"
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "Yesterday"
	}
	if at.Year() == now.Year() {
		return at.Format("2 January")
	}
	return at.Format("2 January 2006")
}

// initial gives the letter that stands for a name.
func initial(name string) string {
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return "·"
}

// tick names the icon beside one's own message.
func tick(seen string) string {
	if seen == "sent" {
		return "tick"
	}
	return "ticks"
}
