package pages

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"attache"
	"attache/gateway/ledger"
)

// Chat is one place that is known: it has a rule, or something happened there.
type Chat struct {
	Place    attache.Place                            `json:"place"`
	Title    string                                   `json:"title,omitempty"`
	Rule     *Rule                                    `json:"rule"`          // nil: none, so nothing is answered there
	Why      string                                   `json:"why,omitempty"` // of the rule, or why there is none
	Bindings []Binding                                `json:"bindings"`
	Pin      map[attache.ContextID]*attache.EntityKey `json:"pin"`              // null: held to no key
	Unread   bool                                     `json:"unread,omitempty"` // the bindings cannot be read now, so no key is let in
	Last     *ledger.Record                           `json:"last"`             // null: no turn yet
}

// Rule is what a rule of access.yaml says of a place.
type Rule struct {
	Kind   string         `json:"kind"` // chat, thread, dm or default
	File   string         `json:"file"`
	Line   int            `json:"line"`
	Role   attache.RoleID `json:"role"`
	Engage string         `json:"engage"`
}

// Binding ties a context to a key at a place.
type Binding struct {
	Context attache.ContextID `json:"context"`
	Key     attache.EntityKey `json:"entity"`         // "": to none
	Source  string            `json:"source"`         // access.yaml or context_bind
	Thread  bool              `json:"thread"`         // it is the topic's own, not the whole chat's
	Bots    []attache.BotID   `json:"bots,omitempty"` // whose it is; none: every bot's
}

// Path gives the address of the chat's own page.
func (c Chat) Path() string {
	path := "/chats/" + url.PathEscape(string(c.Place.Bot)) + "/" + strconv.FormatInt(int64(c.Place.Chat), 10)
	if c.Place.Thread != 0 {
		path += "/" + strconv.FormatInt(int64(c.Place.Thread), 10)
	}
	return path
}

// Name gives what to call the chat.
func (c Chat) Name() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Place.Chat.String()
}

// Pinned gives the pin, sorted, as "client@acme".
func (c Chat) Pinned() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(c.Pin)) {
		if key := c.Pin[id]; key != nil {
			out = append(out, attache.ReachEntry{Context: id, Key: *key}.String())
		} else {
			out = append(out, string(id)+" (no key)")
		}
	}
	return out
}

func (p *Pages) chats(r *http.Request) (view, error) {
	chats, more, err := p.o.Sources.Chats(r.Context())
	if err != nil {
		return view{}, err
	}
	type data struct {
		Chats []Chat `json:"chats"`
		More  bool   `json:"more"`
	}
	d := data{append([]Chat{}, chats...), more}
	return view{Template: "chats", Title: "Chats", Here: "/chats", Data: d, JSON: d}, nil
}

// chatData is one chat with its latest turns.
type chatData struct {
	Chat  Chat   `json:"chat"`
	Turns []Turn `json:"turns"`
	More  bool   `json:"more"`
	Older string `json:"-"`

	Say  bool   `json:"-"` // whether something can be said from here
	Text string `json:"-"` // what was tried to be said
	Note string `json:"-"` // what became of it
	Bad  bool   `json:"-"`
}

// placeOf reads the place of an address.
func placeOf(r *http.Request) (attache.Place, error) {
	thread := r.PathValue("thread")
	if thread == "" {
		thread = "0"
	}
	p, err := attache.ParsePlace(r.PathValue("bot") + "/" + r.PathValue("chat") + "/" + thread)
	if err != nil {
		return p, nowhere(err.Error() + ".")
	}
	return p, nil
}

func (p *Pages) chat(r *http.Request) (view, error) {
	d, err := p.readChat(r)
	if err != nil {
		return view{}, err
	}
	if r.URL.Query().Get("said") == "1" {
		d.Note = "It was handed to Telegram. A reply to it will quote it as your line."
	}
	return chatView(d), nil
}

func chatView(d chatData) view {
	return view{Template: "chat", Title: d.Chat.Name(), Here: "/chats", Data: d, JSON: d}
}

func (p *Pages) readChat(r *http.Request) (d chatData, err error) {
	place, err := placeOf(r)
	if err != nil {
		return d, err
	}
	c, known, err := p.o.Sources.Chat(r.Context(), place)
	if err != nil {
		return d, err
	}
	if !known {
		return d, nowhere(fmt.Sprintf("%s is not known: it has no rule and no turn.", place))
	}
	d = chatData{Chat: c, Say: p.o.Sources.Say != nil && c.Rule != nil}
	d.Turns, d.More, err = p.o.Sources.Turns(r.Context(), ledger.Query{Bot: place.Bot, Chat: place.Chat, Thread: &place.Thread, Limit: 20})
	d.Turns = append([]Turn{}, d.Turns...)
	if n := len(d.Turns); d.More && n > 0 {
		q := url.Values{"bot": {string(place.Bot)}, "chat": {place.Chat.String()}, "thread": {strconv.FormatInt(int64(place.Thread), 10)}}
		d.Older = paged(q, "before", d.Turns[n-1].ID)
	}
	return d, err
}

// longest is what an owner may say at once, in characters: four times Telegram's
// longest message, cut into parts like any answer.
const longest = 16384

// speak says an owner's line into a chat that has a rule.
func (p *Pages) speak(r *http.Request, c Chat, text string) error {
	switch {
	case c.Rule == nil:
		return &attache.Error{Kind: attache.KindRefused, Say: "This chat has no rule in access.yaml, so nothing is said there."}
	case strings.TrimSpace(text) == "":
		return wrong("There is nothing to say; write something.")
	case utf8.RuneCountInString(text) > longest:
		return wrong(fmt.Sprintf("That is longer than %d characters; say it in pieces.", longest))
	}
	return p.o.Sources.Say(r.Context(), c.Place, text)
}

// say takes the form of a chat's page. What could not be said is still there to be
// mended; what was said leads to a page that can be loaded again.
func (p *Pages) say(w http.ResponseWriter, r *http.Request) {
	d, err := p.readChat(r)
	if err != nil {
		p.write(w, r, p.status(r, err), view{Template: "wrong", Title: "Not here", Data: attache.Sentence(err)})
		return
	}
	text := strings.ReplaceAll(r.FormValue("text"), "\r\n", "\n")
	if err := p.speak(r, d.Chat, text); err != nil {
		status := p.status(r, err)
		d.Text, d.Note, d.Bad = text, attache.Sentence(err), true
		p.write(w, r, status, chatView(d))
		return
	}
	http.Redirect(w, r, d.Chat.Path()+"?said=1", http.StatusSeeOther)
}

// sayAPI is the form's twin: the same field, an answer in JSON.
func (p *Pages) sayAPI(w http.ResponseWriter, r *http.Request) {
	d, err := p.readChat(r)
	if err == nil {
		err = p.speak(r, d.Chat, r.FormValue("text"))
	}
	if err != nil {
		p.tell(w, p.status(r, err), refused{attache.Sentence(err)})
		return
	}
	p.tell(w, http.StatusAccepted, struct {
		OK bool `json:"ok"`
	}{true})
}
