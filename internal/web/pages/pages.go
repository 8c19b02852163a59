// Package pages is the operator's eyes: turns and what each carried and why, what
// contexts did over a window, chats with their rule, bindings and pin, findings,
// and what models cost, each as a page and as JSON (matrix N5, G8).
//
// The data comes from [Sources], functions that whoever wires the program makes of
// the owners of the records; no page knows a table. Pages are HTML made here, work
// without a script, and change nothing but by one form: an owner's line into a chat.
// Titles, names and texts are strangers' words and reach a page through html/template
// only.
package pages

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"attache"
	"attache/gateway/carried"
	"attache/gateway/ledger"
	"attache/internal/usage"
	"attache/internal/web"
)

//go:embed assets html
var files embed.FS

// Sources are where the pages read. All but Say are required; each is asked by many
// at once.
type Sources struct {
	Turns func(context.Context, ledger.Query) (turns []Turn, more bool, err error)
	// Turn tells one turn; its record is what `attache turns ID --json` prints.
	Turn     func(ctx context.Context, id int64) (t Told, ok bool, err error)
	Contexts func(ctx context.Context, edges []time.Time) (carried.Window, error)
	// Chats gives every place that is known, and whether there are more of them.
	Chats func(ctx context.Context) (chats []Chat, more bool, err error)
	Chat  func(ctx context.Context, p attache.Place) (c Chat, known bool, err error)
	// Findings gives what the doctor found, and when. With fresh it looks now, which may
	// take seconds; without, what it found last will do, and an error says that it has
	// found nothing yet.
	Findings func(ctx context.Context, fresh bool) (found []Finding, at time.Time, err error)
	Usage    func(ctx context.Context, edges []time.Time) ([]usage.Stretch, error)
	// Say sends an owner's own words into a place, with an origin of kind lines
	// (decisions § 7.10). An *attache.Error is shown to the owner. nil: the chats page
	// has no such form.
	Say func(ctx context.Context, p attache.Place, text string) error
}

// Options are what the pages need; all of it is required.
type Options struct {
	Sources Sources
	// FormToken gives what the forms of a request's page must send (web.Door, web.Guard).
	FormToken func(*http.Request) string
	Leave     bool // whether there is a login to leave
	// Beside says that "/" is the playground's, which the menu then leads to. The
	// overview is left out.
	Beside bool
	Assets *web.Assets
	Zone   func() *time.Location // of times and days
	Now    func() time.Time
	Log    *slog.Logger
}

// Pages answers for the pages and their JSON twins. Who may see them is decided
// before it.
type Pages struct {
	o         Options
	templates *template.Template
	mux       *http.ServeMux
}

// Paths lists what the pages answer for below "/", for who serves something else
// beside them.
func Paths() []string {
	return []string{"/turns", "/turns/", "/system/", "/chats", "/chats/", "/usage", "/doctor", "/approvals", "/api/"}
}

// Assets gathers the files that the pages load.
func Assets() (*web.Assets, error) {
	own, err := fs.Sub(files, "assets")
	if err != nil {
		return nil, err
	}
	return web.NewAssets(own)
}

// New makes the pages.
func New(o Options) (*Pages, error) {
	p := &Pages{o: o, mux: http.NewServeMux()}
	shared, err := web.Templates()
	if err != nil {
		return nil, err
	}
	p.templates, err = shared.Funcs(p.words()).ParseFS(files, "html/*.html")
	if err != nil {
		return nil, err
	}
	for path, show := range map[string]func(*http.Request) (view, error){
		"/turns": p.turns, "/turns/{id}": p.turn, "/system/context": p.contexts,
		"/chats": p.chats, "/chats/{bot}/{chat}": p.chat, "/chats/{bot}/{chat}/{thread}": p.chat,
		"/approvals": p.approvals, "/doctor": p.doctor, "/usage": p.usage,
	} {
		p.mux.Handle("GET "+path, p.page(show))
		p.mux.Handle("GET /api"+path, p.twin(show))
	}
	p.mux.Handle("GET /{$}", p.page(p.overview))
	if o.Sources.Say != nil {
		for _, place := range []string{"/chats/{bot}/{chat}", "/chats/{bot}/{chat}/{thread}"} {
			p.mux.HandleFunc("POST "+place, p.say)
			p.mux.HandleFunc("POST /api"+place, p.sayAPI)
		}
	}
	p.mux.Handle("/", p.page(func(r *http.Request) (view, error) { return view{}, nowhere("There is no page here.") }))
	p.mux.Handle("/api/", p.twin(func(r *http.Request) (view, error) { return view{}, nowhere("There is nothing here.") }))
	return p, nil
}

// ServeHTTP answers a browser or a script.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// view is one page: what its template shows, and what its twin tells.
type view struct {
	Template string
	Title    string
	Here     string // the entry of the menu that it belongs to
	Data     any
	JSON     any
}

// frame is what stands around a page.
type frame struct {
	view
	Body  template.HTML // made by a template of ours
	Token string
	Leave bool
	Menu  []entry
}

type entry struct{ Path, Name string }

func (p *Pages) menu() []entry {
	first := entry{"/", "Overview"}
	if p.o.Beside {
		first.Name = "Playground"
	}
	return []entry{first, {"/turns", "Turns"}, {"/system/context", "Context"}, {"/chats", "Chats"}, {"/usage", "Usage"},
		{"/doctor", "Doctor"}, {"/approvals", "Approvals"}}
}

// page answers with HTML.
func (p *Pages) page(show func(*http.Request) (view, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := show(r)
		status := http.StatusOK
		if err != nil {
			status = p.status(r, err)
			v = view{Template: "wrong", Title: "Not here", Data: attache.Sentence(err)}
		}
		p.write(w, r, status, v)
	})
}

func (p *Pages) write(w http.ResponseWriter, r *http.Request, status int, v view) {
	token := p.o.FormToken(r)
	var body, whole bytes.Buffer
	err := p.templates.ExecuteTemplate(&body, v.Template, struct {
		view
		Token string
	}{v, token})
	if err == nil {
		f := frame{view: v, Token: token, Leave: p.o.Leave, Menu: p.menu(),
			Body: template.HTML(body.String())} //nolint:gosec // a template made it
		err = p.templates.ExecuteTemplate(&whole, "frame", f)
	}
	if err != nil {
		p.o.Log.Error("a page could not be made", "part", v.Template, "err", err)
		http.Error(w, "This page could not be made; the log has the detail.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = whole.WriteTo(w) // a browser that has gone needs no page
}

// twin answers with the JSON of a page.
func (p *Pages) twin(show func(*http.Request) (view, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := show(r)
		if err != nil {
			p.tell(w, p.status(r, err), refused{attache.Sentence(err)})
			return
		}
		p.tell(w, http.StatusOK, v.JSON)
	})
}

// refused is what a twin says instead of data.
type refused struct {
	Error string `json:"error"`
}

func (p *Pages) tell(w http.ResponseWriter, status int, what any) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(what); err != nil {
		p.o.Log.Error("a page's JSON could not be made", "err", err)
		http.Error(w, `{"error":"this could not be made; the log has the detail"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = out.WriteTo(w)
}

// status gives the code of an error, and tells the log of one that is no answer.
func (p *Pages) status(r *http.Request, err error) int {
	if e, ok := errors.AsType[*attache.Error](err); ok {
		switch e.Kind {
		case attache.KindNotFound:
			return http.StatusNotFound
		case attache.KindUsage:
			return http.StatusBadRequest
		case attache.KindRefused:
			return http.StatusUnprocessableEntity
		case attache.KindOutside:
			if e.Cause == nil { // there is no more to tell than the page does
				return http.StatusServiceUnavailable
			}
		}
	}
	if r.Context().Err() == nil {
		p.o.Log.Warn("a page could not be shown", "part", r.URL.Path, "err", err)
	}
	return http.StatusServiceUnavailable
}

// missing says why a part of a page is not there.
func (p *Pages) missing(r *http.Request, err error) string {
	p.status(r, err)
	return attache.Sentence(err)
}

func nowhere(say string) error { return &attache.Error{Kind: attache.KindNotFound, Say: say} }

func wrong(say string) error { return &attache.Error{Kind: attache.KindUsage, Say: say} }
