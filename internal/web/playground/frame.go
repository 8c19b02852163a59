package playground

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"attache"
	"attache/internal/web"
)

// frame is the whole page as it looks now, in pieces. Two frames are compared piece
// by piece, as text: what the templates say is the one truth about what changed, and
// no second model of the page can get out of step with it.
type frame struct {
	Title  string
	Pieces map[string]string // markup by the id of the element that it is
	Order  []string          // ids of the conversation's entries, oldest first
	open   bool              // it may change without the world telling
}

// scene is what the templates of pieces are given.
type scene struct {
	Seat     seat
	Base     string
	Token    string
	Title    string // of the chat
	About    string
	Try      []string
	General  bool // of a chat with topics
	Topic    string
	Closed   bool
	Rows     []row
	Voices   []voice
	Items    []item
	Signs    []sign
	Notice   string
	Typing   string
	Turn     web.Turn
	Told     bool
	Asked    bool // a turn was asked for by its message
	Problems []attache.Problem
	More     int // problems that are not listed
	Unread   int
	Brain    string
	Model    string
}

// sign is a draft or a typing bot, at the end of the conversation.
type sign struct {
	Who     string
	Hue     int
	Body    template.HTML // empty: it types
	CanStop bool
}

// sit takes a seat by a request's address; false when it leads nowhere, or to a chat
// that the person is not in: the page shows nobody more than Telegram would.
func (p *Playground) sit(r *http.Request) (seat, bool) {
	s := seat{chats: p.o.World.Look(), view: r.FormValue("view")}
	person := slices.IndexFunc(p.o.People, func(x Person) bool { return x.Key == r.PathValue("person") })
	thread, err := strconv.ParseInt(r.PathValue("thread"), 10, 64)
	if person < 0 || err != nil {
		return s, false
	}
	s.person, s.thread = p.o.People[person], attache.ThreadID(thread)
	if chosen, err := strconv.ParseInt(r.FormValue("turn"), 10, 64); err == nil {
		s.chosen = attache.MessageID(chosen)
	}
	return s, s.find(r.PathValue("chat"))
}

// find sets the chat, and reports whether the person has such a place.
func (s *seat) find(chat string) bool {
	i := slices.IndexFunc(s.chats, func(c Chat) bool { return c.Key == chat })
	if i < 0 {
		return false
	}
	s.chat = s.chats[i]
	topic := s.thread == 0 || slices.ContainsFunc(s.chat.Topics, func(t Topic) bool { return t.ID == s.thread })
	return topic && s.chat.has(s.person)
}

// listed is how many problems the banner lists: one mistake in access.yaml can make a
// problem of every rule, and the conversation must stay in sight.
const listed = 20

// scene gathers what the place looks like.
func (p *Playground) scene(ctx context.Context, s seat) (x scene, open bool) {
	x = scene{Seat: s, Base: s.base(), Token: p.guard.Token(), Title: s.chat.Title,
		About: s.chat.About, Try: s.chat.Try, General: s.thread == 0 && len(s.chat.Topics) > 0, Rows: p.rows(s), Voices: p.voices(s), Brain: p.o.Brain, Model: p.o.Model}
	for _, t := range s.chat.Topics {
		if t.ID == s.thread {
			x.Topic, x.Closed = t.Name, t.Closed
		}
	}
	x.Items, open = p.items(ctx, s)
	x.Asked = s.chosen != 0
	for _, g := range s.chat.Signs {
		p.show(&x, g)
		open = true // signs go by themselves
	}
	// Without a choice the sheet follows the conversation: the newest turn is the one
	// that a person has just asked for.
	for _, it := range slices.Backward(x.Items) {
		if it.Told && (s.chosen == 0 || s.chosen == it.Post.ID) {
			x.Turn, x.Told, x.Seat.chosen = it.Turn, true, it.Post.ID
			break
		}
	}
	for i := range x.Items {
		x.Items[i].Chosen = x.Told && x.Items[i].Post.ID == x.Seat.chosen
	}
	for _, r := range x.Rows {
		x.Unread += r.Unread
		for _, t := range r.Topics {
			x.Unread += t.Unread
		}
	}
	if p.o.Problems != nil {
		x.Problems = p.o.Problems()
	}
	if len(x.Problems) > listed {
		x.More, x.Problems = len(x.Problems)-listed, x.Problems[:listed]
	}
	return x, open
}

// show adds what a bot shows in this place. A notice is for the person who pressed,
// and nobody else sees it.
func (p *Playground) show(x *scene, g Sign) {
	switch {
	case g.Thread != x.Seat.thread:
	case g.Notice != "":
		if g.For == x.Seat.person.ID {
			x.Notice = g.Notice
		}
	case g.Draft != nil:
		x.Typing = name(g.Who) + " is writing"
		x.Signs = append(x.Signs, sign{name(g.Who), face(x.Seat.chat), p.body(*g.Draft), g.CanStop})
	default:
		x.Typing = name(g.Who) + " is typing"
		x.Signs = append(x.Signs, sign{Who: name(g.Who), Hue: face(x.Seat.chat)})
	}
}

// frame renders a seat's page in pieces.
func (p *Playground) frame(ctx context.Context, s seat) (frame, error) {
	x, open := p.scene(ctx, s)
	f := frame{Title: x.title(), Pieces: map[string]string{}, Order: []string{}, open: open}
	for _, id := range []string{"rail", "head", "banner", "signs", "notice", "sheet", "empty"} {
		html, err := p.render("piece-"+id, x)
		if err != nil {
			return f, err
		}
		f.Pieces[id] = html
	}
	for _, it := range x.Items {
		html, err := p.render("item", it)
		if err != nil {
			return f, err
		}
		f.Pieces[it.Key], f.Order = html, append(f.Order, it.Key)
	}
	return f, nil
}

func (p *Playground) render(name string, data any) (string, error) {
	var out bytes.Buffer
	err := p.pages.ExecuteTemplate(&out, name, data)
	return out.String(), err
}

func (x scene) title() string {
	t := x.Title
	if x.Topic != "" {
		t = x.Topic + " · " + t
	}
	if x.Unread > 0 {
		t = "(" + strconv.Itoa(x.Unread) + ") " + t
	}
	return t + " – Attaché"
}

// root leads to a page with an address of its own, so that "as whom, and where" can
// be linked, kept and gone back to: the first chat of the first person.
func (p *Playground) root(w http.ResponseWriter, r *http.Request) {
	who := p.o.People[0]
	for _, c := range p.o.World.Look() {
		if c.has(who) {
			http.Redirect(w, r, address(who.Key, c.Key, 0), http.StatusSeeOther)
			return
		}
	}
	http.NotFound(w, r)
}

// page answers with the whole page.
func (p *Playground) page(w http.ResponseWriter, r *http.Request) {
	s, ok := p.sit(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	p.see(s)
	f, err := p.frame(r.Context(), s)
	if err != nil {
		p.broken(w, err)
		return
	}
	view := "chat"
	if slices.Contains([]string{"list", "sheet"}, s.view) {
		view = s.view
	}
	piece := func(id string) template.HTML { return template.HTML(f.Pieces[id]) } // made by our own templates
	items := make([]template.HTML, 0, len(f.Order))
	for _, id := range f.Order {
		items = append(items, piece(id))
	}
	html, err := p.render("page", map[string]any{
		"Title": f.Title, "Base": s.base(), "Token": p.guard.Token(), "Boot": p.boot, "View": view, "Turn": int64(s.chosen), "Person": s.person, "Hue": hue(s.person.ID),
		"Rail": piece("rail"), "Head": piece("head"), "Banner": piece("banner"), "Signs": piece("signs"), "Notice": piece("notice"),
		"Sheet": piece("sheet"), "Empty": piece("empty"), "Items": items, "Brain": p.o.Brain, "Model": p.o.Model, "Operator": p.o.Operator, "People": p.o.People,
	})
	if err != nil {
		p.broken(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(html)) // a browser that has gone needs no answer
}

// broken answers when a template does not do what it should.
func (p *Playground) broken(w http.ResponseWriter, err error) {
	if p.o.Log != nil {
		p.o.Log.Error("the playground's page cannot be made", "err", err)
	}
	http.Error(w, "This page cannot be made; the log has the detail.", http.StatusInternalServerError)
}
