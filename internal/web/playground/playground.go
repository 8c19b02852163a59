// Package playground is the page of `attache demo`: a small Telegram in the browser,
// with the sheet of each turn beside its answer (matrix N4).
//
// The data is a [World] that somebody else keeps: chats with topics, and in them
// posts as they look now. The page holds nothing of its own but what each person
// has read and the turns that it has looked up. It is made on the server; a stream
// of events then carries the pieces that changed, each a piece of HTML under the id
// that it replaces, so the page that was loaded and the page that was kept up to
// date are the same bytes.
//
// Everything that people, bots and rows say is hostile until it is escaped. Three
// functions make markup of it: marked (entities), rich (Markdown) and the templates.
package playground

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"attache"
	"attache/internal/web"
)

//go:embed assets page.html pieces.html
var files embed.FS

// World is the Telegram behind the page. It is asked by many at once.
type World interface {
	// Look gives every chat as it is now. The page does not change what it is given.
	Look() []Chat
	// Act does what a person does. An error's text is shown to the person.
	Act(Action) error
	// Wait returns once cond is true, asking again after each change of the world,
	// or the context's error when that ends first.
	Wait(ctx context.Context, cond func() bool) error
}

// Person is somebody that the page can speak as.
type Person struct {
	Key  string // in addresses: letters and digits
	ID   attache.PersonID
	Name string
	Note string // who that is, in a line; may be empty
}

// Chat is one chat of the world.
type Chat struct {
	Key    string // in addresses: letters and digits
	ID     attache.ChatID
	Bot    attache.BotID // that answers there
	Title  string
	Kind   string   // private, group, supergroup, forum or channel
	People []string // keys of the people who are in it; nil: everybody
	About  string   // what is special here, in a sentence
	Try    []string // things worth saying here
	Topics []Topic
	Posts  []Post // oldest first
	Signs  []Sign
}

// has reports whether a person is in the chat, and so sees it.
func (c Chat) has(p Person) bool { return c.People == nil || slices.Contains(c.People, p.Key) }

// Topic is a topic of a chat. General is none of them.
type Topic struct {
	ID     attache.ThreadID
	Name   string
	Closed bool
}

// Post is one message as it looks now.
type Post struct {
	ID       attache.MessageID
	Thread   attache.ThreadID // 0: General or no topic
	From     attache.Person
	Bot      bool   // a bot wrote it
	Service  string // Telegram's field name when it tells of an event
	Text     string
	Marks    []attache.Mark
	Rich     string // Markdown, in place of Text
	ReplyTo  attache.MessageID
	External bool // ReplyTo stands in another chat
	Quote    string
	Buttons  [][]attache.Button
	File     *File
	At       time.Time
	Edits    int
	Deleted  bool
}

// File is what a message carries: a photo, voice, audio, video or document.
type File struct {
	Kind string
	Name string
	MIME string
	Data []byte
}

// Sign is what a bot shows in a place without having posted it.
type Sign struct {
	Thread  attache.ThreadID
	Who     attache.Person // the bot
	Draft   *Post          // the answer as far as it is written; nil: it only types
	CanStop bool           // Telegram shows a stop button
	Notice  string         // the answer to a pressed button; then nothing else is set
	For     attache.PersonID
}

// Deed is what a person can do.
type Deed string

// The deeds of an Action.
const (
	Say   Deed = "say"   // Text, File, ReplyTo, Quote
	Edit  Deed = "edit"  // Message, Text
	Press Deed = "press" // Message, Button (its data)
	Stop  Deed = "stop"  // the draft of the place
)

// Action is one deed of one person in one place.
type Action struct {
	Do      Deed
	Person  Person
	Chat    string // its key
	Thread  attache.ThreadID
	Message attache.MessageID
	ReplyTo attache.MessageID
	Text    string
	Quote   string
	Button  string
	File    *File
}

// Options are what a page needs. World and People are required.
type Options struct {
	World  World
	People []Person

	// Turn looks up the turn that a message belongs to: a bot's post, or one of its
	// input. It reports false when there is none (yet). nil: no sheets.
	Turn func(context.Context, attache.Place, attache.MessageID) (web.Turn, bool, error)

	Problems func() []attache.Problem // of the brain as it is now; nil: none
	Brain    string                   // the folder that can be edited, shown in the help
	Model    string                   // what answers, in a few words, shown in the help
	Operator bool                     // the operator's pages are served beside this one
	Log      *slog.Logger
}

// Playground is the page. It is an http.Handler for a loopback address and guards
// itself; it answers everything under "/".
type Playground struct {
	o       Options
	pages   *template.Template
	guard   *web.Guard
	mux     *http.ServeMux
	boot    string // tells a page that it was made by an earlier process
	done    <-chan struct{}
	turns   turns
	layouts layouts

	mu   sync.Mutex
	read map[reader]attache.MessageID // the newest message that a person has seen
}

// reader is a person in a place.
type reader struct {
	person string
	chat   string
	thread attache.ThreadID
}

// largest is the longest body of a request: Telegram lets bots fetch files of 20 MB.
const largest = 20<<20 + 64<<10

// New makes the page. Its open streams end with ctx, so that a server can shut down.
func New(ctx context.Context, o Options) (*Playground, error) {
	if o.World == nil || len(o.People) == 0 || len(o.World.Look()) == 0 {
		return nil, errors.New("a playground needs a world with a chat, and somebody to speak as")
	}
	p := &Playground{o: o, guard: web.NewGuard(largest), boot: rand.Text(), done: ctx.Done(), read: map[reader]attache.MessageID{}}
	p.turns = turns{read: o.Turn, log: o.Log, known: map[turnKey]knownTurn{}}
	own, err := fs.Sub(files, "assets")
	if err != nil {
		return nil, err
	}
	assets, err := web.NewAssets(own)
	if err != nil {
		return nil, err
	}
	pages, err := web.Templates()
	if err != nil {
		return nil, err
	}
	p.pages, err = pages.Funcs(template.FuncMap{
		"asset": assets.URL, "add": func(a, b int) int { return a + b }, "initial": initial, "tick": tick, "safe": harmless,
		"held": func(t web.Turn) int { return t.LeftOut() },
	}).ParseFS(files, "page.html", "pieces.html")
	if err != nil {
		return nil, err
	}
	p.mux = http.NewServeMux()
	p.mux.Handle("GET /assets/", assets)
	p.mux.HandleFunc("GET /{$}", p.root)
	p.mux.HandleFunc("GET /as/{person}/{chat}/{thread}", p.page)
	p.mux.HandleFunc("GET /as/{person}/{chat}/{thread}/live", p.live)
	p.mux.HandleFunc("POST /as/{person}/{chat}/{thread}/{deed}", p.act)
	p.mux.HandleFunc("GET /file/{chat}/{message}", p.file)
	return p, nil
}

// ServeHTTP answers a browser.
func (p *Playground) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.guard.Wrap(p.mux).ServeHTTP(w, r)
}
