package playground

import (
	"slices"

	"attache"
)

// row is a place in the list of chats.
type row struct {
	URL     string
	Title   string
	Kind    string // private, group, forum, topic, …
	Hue     int
	Here    bool
	Closed  bool
	Unread  int
	From    string // of the newest message
	Preview string
	Time    string
	Topics  []row
}

// voice is a person in the list of those to speak as.
type voice struct {
	Person
	URL    string
	Hue    int
	Here   bool
	Unread int
}

// rows lists the chats that a person sees, each with its topics. A person who is not
// in a chat does not see it, as in Telegram: that is half of what the demo shows.
func (p *Playground) rows(s seat) []row {
	var out []row
	for _, c := range s.chats {
		if !c.has(s.person) {
			continue
		}
		r := p.row(s, c, 0)
		for _, t := range c.Topics {
			x := p.row(s, c, t.ID)
			x.Title, x.Kind, x.Closed = t.Name, "topic", t.Closed
			r.Topics = append(r.Topics, x)
		}
		out = append(out, r)
	}
	return out
}

func (p *Playground) row(s seat, c Chat, thread attache.ThreadID) row {
	r := row{URL: address(s.person.Key, c.Key, thread), Title: c.Title, Kind: c.Kind, Hue: hue(attache.PersonID(c.Key)),
		Here: c.Key == s.chat.Key && thread == s.thread, Unread: p.unread(s.person, c, thread)}
	if c.Kind == "private" {
		r.Hue = face(c)
	}
	posts := inPlace(c.Posts, thread)
	for _, post := range slices.Backward(posts) {
		if post.Service == "" {
			r.From, r.Preview, r.Time = name(post.From), summary(post), post.At.Format("15:04")
			if post.From.ID == s.person.ID {
				r.From = "You"
			}
			break
		}
	}
	return r
}

// unread counts what others said in a place since the person looked. It reads from
// the newest and stops at the first that was seen, so a long history costs nothing.
func (p *Playground) unread(who Person, c Chat, thread attache.ThreadID) int {
	p.mu.Lock()
	seen := p.read[reader{who.Key, c.Key, thread}]
	p.mu.Unlock()
	n := 0
	for _, post := range slices.Backward(c.Posts) {
		if post.ID <= seen {
			break
		}
		if post.Thread == thread && !post.Deleted && post.Service == "" && post.From.ID != who.ID {
			n++
		}
	}
	return n
}

// see notes that the person has seen the place as it is now. Who has the page open
// sees what comes; a page in the background closes its stream, so it sees nothing.
func (p *Playground) see(s seat) {
	newest := attache.MessageID(0)
	if n := len(s.chat.Posts); n > 0 {
		newest = s.chat.Posts[n-1].ID
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := reader{s.person.Key, s.chat.Key, s.thread}
	p.read[at] = max(p.read[at], newest)
}

// voices lists whom the page can speak as. Who is in this chat stays in it; anybody
// else comes to their own first chat.
func (p *Playground) voices(s seat) []voice {
	var out []voice
	for _, who := range p.o.People {
		v := voice{Person: who, Hue: hue(who.ID), Here: who.Key == s.person.Key}
		if s.chat.has(who) {
			v.URL = address(who.Key, s.chat.Key, s.thread)
		}
		for _, c := range s.chats {
			if !c.has(who) {
				continue
			}
			if v.URL == "" {
				v.URL = address(who.Key, c.Key, 0)
			}
			v.Unread += p.unread(who, c, 0)
			for _, t := range c.Topics {
				v.Unread += p.unread(who, c, t.ID)
			}
		}
		if v.URL != "" { // who is in no chat has nowhere to speak
			out = append(out, v)
		}
	}
	return out
}
