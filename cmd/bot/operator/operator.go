// Package operator is the operator's side of a running program: what the pages of
// internal/web show is read here from the tables of several owners and from the rules as
// they are now, and put behind the login, or beside the playground in a demo. It keeps
// nothing but the doctor's latest findings.
package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"attache"
	"attache/access"
	"attache/cmd/bot/records"
	"attache/cmd/bot/sheets"
	"attache/engage"
	"attache/gateway/carried"
	"attache/gateway/judge"
	"attache/gateway/ledger"
	"attache/internal/brain"
	"attache/internal/conversation"
	"attache/internal/doctor"
	"attache/internal/store"
	"attache/internal/usage"
	"attache/internal/web"
	"attache/internal/web/pages"
)

// Options are what the operator's side is made of. Everything but Admin, PublicURL
// and Listen is required.
type Options struct {
	DB    *store.DB
	Talks *conversation.Store
	Ties  *access.Store
	Log   *slog.Logger
	Now   func() time.Time
	Zone  func() *time.Location // of the brain, as it is now

	Admin     attache.Secret // the token of the login; empty: a demo, which has none
	Listen    string         // the address that the pages are served at
	PublicURL string         // another name of it, if any

	Brain    func() *brain.Brain
	Ruling   func(b *brain.Brain, at attache.Place, kind string) access.Ruling
	Formerly func(attache.BotID, attache.ChatID) (attache.ChatID, bool) // the number of a supergroup as a group
	// Strangers lists who was met with silence since the start.
	Strangers func() []judge.Stranger
	// Heard says what the rules of now make of a message.
	Heard func(attache.Message) (engage.Act, attache.RoleID, string)
	// Say says an owner's own words in a place.
	Say     func(ctx context.Context, at attache.Place, text string) error
	Calls   func(ctx context.Context, edges []time.Time) ([]usage.Stretch, error)
	Uses    func(ctx context.Context, edges []time.Time, at attache.Place, role attache.RoleID) (carried.Window, error)
	Examine func(context.Context) []doctor.Finding
}

// Operator is the operator's side of a program: its pages, and what stands before
// them (interface § 7).
type Operator struct {
	o      Options
	book   *records.Book
	door   *web.Door  // nil in the demo
	guard  *web.Guard // in place of it in the demo, which has no login
	pages  *pages.Pages
	assets *web.Assets
	doctor examination
}

// New makes the pages: behind the door of a program that listens, or beside the
// playground, for this machine's browser.
func New(ctx context.Context, o Options) (*Operator, error) {
	s := &Operator{o: o}
	var err error
	if s.book, err = records.Open(ctx, o.DB); err != nil {
		return nil, err
	}
	if s.assets, err = pages.Assets(); err != nil {
		return nil, err
	}
	options := pages.Options{Sources: s.sources(), Assets: s.assets, Zone: o.Zone, Now: o.Now, Log: o.Log}
	if o.Admin.Empty() {
		s.guard = web.NewGuard(largestForm)
		options.Beside, options.FormToken = true, func(*http.Request) string { return s.guard.Token() }
	} else {
		if s.door, err = web.NewDoor(o.doorOptions(s.assets)); err != nil {
			return nil, err
		}
		options.Leave, options.FormToken = true, s.door.FormToken
	}
	s.doctor.examine = func(ctx context.Context) []pages.Finding { return shownFindings(o.Examine(ctx)) }
	s.pages, err = pages.New(options)
	return s, err
}

// Close returns when no look of the doctor is under way.
func (o *Operator) Close() { o.doctor.wait() }

// largestForm bounds what the pages take in the demo, in bytes.
const largestForm = 256 << 10

// doorOptions says under which names the pages answer: those of this machine, that
// of the public address, and any once others can reach the address anyway.
func (s Options) doorOptions(assets *web.Assets) web.DoorOptions {
	o := web.DoorOptions{Token: s.Admin, Assets: assets, Now: s.Now, AnyHost: !listensHere(s.Listen)}
	if u, err := url.Parse(s.PublicURL); err == nil && u.Host != "" {
		o.Hosts = []string{u.Host}
	}
	return o
}

// listensHere reports whether only this machine can reach an address.
func listensHere(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Guard puts the login of programs before what is no page.
func (o *Operator) Guard(h http.Handler) http.Handler { return o.door.API(h) }

// Mount adds the pages to a server.
func (o *Operator) Mount(mux *http.ServeMux) {
	mux.Handle("/login", o.door)
	mux.Handle("/logout", o.door)
	mux.Handle("GET /assets/", o.assets)
	mux.Handle("/api/", o.door.API(o.pages))
	mux.Handle("/", o.door.Pages(o.pages))
}

// Beside serves the pages in front of what serves everything else: the playground,
// which guards itself.
func (o *Operator) Beside(rest http.Handler) http.Handler {
	mux := http.NewServeMux()
	guarded := o.guard.Wrap(o.pages)
	for _, path := range pages.Paths() {
		mux.Handle(path, guarded)
	}
	mux.HandleFunc("GET /assets/", func(w http.ResponseWriter, r *http.Request) {
		if o.assets.Has(r.URL.Path) {
			o.assets.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
	mux.Handle("/", rest)
	return mux
}

func (o *Operator) sources() pages.Sources {
	return pages.Sources{
		Turns: o.turns, Turn: o.turn, Chats: o.chats, Chat: o.chat, Say: o.o.Say, Usage: o.o.Calls, Findings: o.doctor.latest,
		Contexts: func(ctx context.Context, edges []time.Time) (carried.Window, error) {
			return o.o.Uses(ctx, edges, attache.Place{}, "")
		},
	}
}

// turns lists turns with the role and the contexts of each.
func (o *Operator) turns(ctx context.Context, q ledger.Query) ([]pages.Turn, bool, error) {
	lines, more, err := ledger.List(ctx, o.o.DB, q)
	if err != nil {
		return nil, false, err
	}
	ids := make([]int64, len(lines))
	for i, l := range lines {
		ids[i] = l.ID
	}
	papers, err := carried.Of(ctx, o.o.DB, ids...)
	if err != nil {
		return nil, false, err
	}
	roles, err := o.o.Talks.Roles(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	out := make([]pages.Turn, len(lines))
	for i, l := range lines {
		out[i] = pages.Turn{Line: l, Role: roles[l.ID], Contexts: append([]carried.Record{}, papers[l.ID]...)}
	}
	return out, more, nil
}

// turn tells one turn.
func (o *Operator) turn(ctx context.Context, id int64) (pages.Told, bool, error) {
	r, ok, err := ledger.ReadTurn(ctx, o.o.DB, id)
	if err != nil || !ok {
		return pages.Told{}, false, err
	}
	t := pages.Told{Record: r}
	if n := len(r.Input); n > 0 {
		t.Title = r.Input[n-1].Chat.Title
	}
	t.Sheet, err = sheets.Records{DB: o.o.DB, Talks: o.o.Talks, Judge: o.o.Heard}.Tell(ctx, r)
	if err != nil {
		return t, false, err
	}
	var out bytes.Buffer
	if err := o.book.TurnJSON(ctx, &out, id); err != nil {
		return t, false, err
	}
	t.JSON = json.RawMessage(out.Bytes())
	return t, true, nil
}

// mostPlaces bounds what the list of chats reads and shows.
const mostPlaces = 1000

// chats gives every place with a rule of its own, a turn, or somebody who was met
// with silence there since the start.
func (o *Operator) chats(ctx context.Context) ([]pages.Chat, bool, error) {
	b := o.o.Brain()
	known, more, err := ledger.Places(ctx, o.o.DB, mostPlaces)
	if err != nil {
		return nil, false, err
	}
	all := map[attache.Place]ledger.PlaceRecord{}
	for _, k := range known {
		all[k.Place] = k
	}
	add := func(at attache.Place, title string) {
		if _, ok := all[at]; !ok {
			all[at] = ledger.PlaceRecord{Place: at, Title: title}
		}
	}
	for _, r := range b.Policy.Rulings() {
		if r.Kind == access.KindChat || r.Kind == access.KindThread {
			add(attache.Place{Bot: r.Bot, Chat: r.Chat, Thread: r.Thread}, "")
		}
	}
	for _, s := range o.o.Strangers() {
		add(s.Place, s.Title)
	}
	ties, err := o.o.Ties.All(ctx, 100*mostPlaces)
	unread := err != nil
	out := make([]pages.Chat, 0, len(all))
	for _, k := range all {
		out = append(out, o.shownChat(k, ties, unread))
	}
	slices.SortFunc(out, byTurn)
	return out, more, nil
}

// byTurn puts the places first that were spoken in last, and those of no turn last.
func byTurn(a, b pages.Chat) int {
	id := func(c pages.Chat) int64 {
		if c.Last == nil {
			return 0
		}
		return c.Last.ID
	}
	return cmp.Or(cmp.Compare(id(b), id(a)), cmp.Compare(a.Place.Bot, b.Place.Bot), cmp.Compare(b.Place.Chat, a.Place.Chat), cmp.Compare(a.Place.Thread, b.Place.Thread))
}

// chat tells one place; false when nothing is known of it.
func (o *Operator) chat(ctx context.Context, at attache.Place) (pages.Chat, bool, error) {
	last, _, err := ledger.List(ctx, o.o.DB, ledger.Query{Bot: at.Bot, Chat: at.Chat, Thread: &at.Thread, Limit: 1})
	if err != nil {
		return pages.Chat{}, false, err
	}
	k := ledger.PlaceRecord{Place: at}
	known := len(last) > 0
	if known {
		k.Last, k.Title = last[0].Record, last[0].Title
	}
	r := o.o.Ruling(o.o.Brain(), at, "")
	known = known || r.Kind == access.KindChat || r.Kind == access.KindThread
	if !known {
		for _, s := range o.o.Strangers() {
			if s.Place == at {
				known, k.Title = true, s.Title
			}
		}
	}
	if !known {
		return pages.Chat{}, false, nil
	}
	ties, err := o.o.Ties.OfChat(ctx, at.Chat)
	return o.shownChat(k, ties, err != nil), true, nil
}

// shownChat tells a place by the rules of now, with the ties of its chat among
// those given.
func (o *Operator) shownChat(k ledger.PlaceRecord, ties []access.Tie, unread bool) pages.Chat {
	b := o.o.Brain()
	at := k.Place
	r := o.o.Ruling(b, at, "")
	c := pages.Chat{Place: at, Title: cmp.Or(r.Title, k.Title), Why: r.Why, Unread: unread, Bindings: []pages.Binding{}, Pin: map[attache.ContextID]*attache.EntityKey{}}
	if r.Ruled() {
		c.Rule = &pages.Rule{Kind: string(r.Kind), File: r.File, Line: r.Line, Role: r.Role, Engage: engage.Words(r.Engage)}
	}
	if k.Last.ID != 0 {
		c.Last = &k.Last
	}
	file := at.Chat // whose rules and bindings hold, as in Program.bindings
	if old, ok := o.o.Formerly(at.Bot, at.Chat); ok && !b.Policy.Mentions(at.Chat) {
		file = old
	}
	var list []attache.Binding
	for _, x := range b.Policy.Bindings(file, at.Thread) {
		list = append(list, x.Plain())
	}
	for _, t := range ties {
		if t.Chat == at.Chat && (t.Whole || t.Thread == at.Thread) {
			list = append(list, t.Plain())
		}
	}
	for _, x := range list {
		source := "context_bind"
		if x.Static {
			source = "access.yaml"
		}
		c.Bindings = append(c.Bindings, pages.Binding{Context: x.Context, Key: x.Key, Source: source, Thread: x.Thread, Bots: x.Bots})
	}
	for id, key := range attache.NewPin(at.Bot, list).Keyed(b.Contexts.Keyed).Bound {
		c.Pin[id] = nil
		if key != "" {
			c.Pin[id] = &key
		}
	}
	return c
}

func shownFindings(found []doctor.Finding) []pages.Finding {
	out := make([]pages.Finding, len(found))
	for i, f := range found {
		out[i] = pages.Finding{Level: string(f.Level), Check: f.Check, File: f.File, Line: f.Line, Col: f.Col, What: f.What, Do: f.Do}
	}
	return out
}
