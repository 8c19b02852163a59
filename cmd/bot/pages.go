package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"attache/gateway/carried"
	"attache/gateway/ledger"
	"attache/internal/doctor"
	"attache/internal/web"
	"attache/internal/web/pages"
)

// operator is the operator's side of the program: its pages, and what stands before
// them (interface § 7).
type operator struct {
	p      *program
	book   *records.Book
	door   *web.Door  // nil in the demo
	guard  *web.Guard // in place of it in the demo, which has no login
	pages  *pages.Pages
	assets *web.Assets
	doctor examination
}

// newOperator makes the pages: behind the door of a program that listens, or beside
// the playground, for this machine's browser.
func (p *program) newOperator(ctx context.Context) (*operator, error) {
	o := &operator{p: p}
	var err error
	if o.book, err = records.Open(ctx, p.db.DB); err != nil {
		return nil, err
	}
	if o.assets, err = pages.Assets(); err != nil {
		return nil, err
	}
	options := pages.Options{Sources: o.sources(), Assets: o.assets, Zone: p.zone, Now: p.now, Log: p.log}
	if p.token.Empty() {
		o.guard = web.NewGuard(largestForm)
		options.Beside, options.FormToken = true, func(*http.Request) string { return o.guard.Token() }
	} else {
		if o.door, err = web.NewDoor(p.doorOptions(o.assets)); err != nil {
			return nil, err
		}
		options.Leave, options.FormToken = true, o.door.FormToken
	}
	o.doctor.examine = func(ctx context.Context) []pages.Finding { return shownFindings(p.examine(ctx)) }
	o.pages, err = pages.New(options)
	return o, err
}

// largestForm bounds what the pages take in the demo, in bytes.
const largestForm = 256 << 10

// doorOptions says under which names the pages answer: those of this machine, that
// of the public address, and any once others can reach the address anyway.
func (p *program) doorOptions(assets *web.Assets) web.DoorOptions {
	o := web.DoorOptions{Token: p.token, Assets: assets, Now: time.Now, AnyHost: !listensHere(p.flags.Listen)}
	if u, err := url.Parse(p.flags.PublicURL); err == nil && u.Host != "" {
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

// mount adds the pages to a server.
func (o *operator) mount(mux *http.ServeMux) {
	mux.Handle("/login", o.door)
	mux.Handle("/logout", o.door)
	mux.Handle("GET /assets/", o.assets)
	mux.Handle("/api/", o.door.API(o.pages))
	mux.Handle("/", o.door.Pages(o.pages))
}

// beside serves the operator's pages in front of the playground.
func (p *program) beside(ctx context.Context, playground http.Handler) http.Handler {
	o, err := p.newOperator(ctx)
	if err != nil {
		p.log.Error("the operator's pages are left out", "err", err)
		return playground
	}
	p.operator = o
	return o.beside(playground)
}

// beside serves the pages in front of what serves everything else: the playground,
// which guards itself.
func (o *operator) beside(rest http.Handler) http.Handler {
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

func (o *operator) sources() pages.Sources {
	return pages.Sources{
		Turns: o.turns, Turn: o.turn, Chats: o.chats, Chat: o.chat, Say: o.p.line, Usage: o.p.calls, Findings: o.doctor.latest,
		Contexts: func(ctx context.Context, edges []time.Time) (carried.Window, error) {
			return o.p.uses(ctx, edges, attache.Place{}, "")
		},
	}
}

// turns lists turns with the role and the contexts of each.
func (o *operator) turns(ctx context.Context, q ledger.Query) ([]pages.Turn, bool, error) {
	lines, more, err := ledger.List(ctx, o.p.db.DB, q)
	if err != nil {
		return nil, false, err
	}
	ids := make([]int64, len(lines))
	for i, l := range lines {
		ids[i] = l.ID
	}
	papers, err := carried.Of(ctx, o.p.db.DB, ids...)
	if err != nil {
		return nil, false, err
	}
	roles, err := o.p.talks.Roles(ctx, ids)
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
func (o *operator) turn(ctx context.Context, id int64) (pages.Told, bool, error) {
	r, ok, err := ledger.ReadTurn(ctx, o.p.db.DB, id)
	if err != nil || !ok {
		return pages.Told{}, false, err
	}
	t := pages.Told{Record: r}
	if n := len(r.Input); n > 0 {
		t.Title = r.Input[n-1].Chat.Title
	}
	t.Sheet, err = sheets.Records{DB: o.p.db.DB, Talks: o.p.talks, Judge: o.p.heard}.Tell(ctx, r)
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
func (o *operator) chats(ctx context.Context) ([]pages.Chat, bool, error) {
	b := o.p.brain.Current()
	known, more, err := ledger.Places(ctx, o.p.db.DB, mostPlaces)
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
	for _, bot := range o.p.bots {
		for _, s := range bot.judge.Strangers() {
			add(s.Place, s.Title)
		}
	}
	ties, err := o.p.ties.All(ctx, 100*mostPlaces)
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
func (o *operator) chat(ctx context.Context, at attache.Place) (pages.Chat, bool, error) {
	last, _, err := ledger.List(ctx, o.p.db.DB, ledger.Query{Bot: at.Bot, Chat: at.Chat, Thread: &at.Thread, Limit: 1})
	if err != nil {
		return pages.Chat{}, false, err
	}
	k := ledger.PlaceRecord{Place: at}
	known := len(last) > 0
	if known {
		k.Last, k.Title = last[0].Record, last[0].Title
	}
	r := o.p.ruling(o.p.brain.Current(), at, "")
	known = known || r.Kind == access.KindChat || r.Kind == access.KindThread
	if bot := o.p.bot(at.Bot); bot != nil && !known {
		for _, s := range bot.judge.Strangers() {
			if s.Place == at {
				known, k.Title = true, s.Title
			}
		}
	}
	if !known {
		return pages.Chat{}, false, nil
	}
	ties, err := o.p.ties.OfChat(ctx, at.Chat)
	return o.shownChat(k, ties, err != nil), true, nil
}

// shownChat tells a place by the rules of now, with the ties of its chat among
// those given.
func (o *operator) shownChat(k ledger.PlaceRecord, ties []access.Tie, unread bool) pages.Chat {
	b := o.p.brain.Current()
	at := k.Place
	r := o.p.ruling(b, at, "")
	c := pages.Chat{Place: at, Title: cmp.Or(r.Title, k.Title), Why: r.Why, Unread: unread, Bindings: []pages.Binding{}, Pin: map[attache.ContextID]*attache.EntityKey{}}
	if r.Ruled() {
		c.Rule = &pages.Rule{Kind: string(r.Kind), File: r.File, Line: r.Line, Role: r.Role, Engage: engageWords(r.Engage)}
	}
	if k.Last.ID != 0 {
		c.Last = &k.Last
	}
	file := at.Chat // whose rules and bindings hold, as in program.bindings
	if old, ok := o.p.gateway.Formerly(at.Bot, at.Chat); ok && !b.Policy.Mentions(at.Chat) {
		file = old
	}
	list := bound(b, file, at.Thread)
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
	for id, key := range attache.NewPin(at.Bot, list).Bound {
		c.Pin[id] = nil
		if key != "" {
			c.Pin[id] = &key
		}
	}
	return c
}

// line says an owner's own words in a place; a reply to them quotes them as such
// (decisions § 7.10). They stand as they were written, like an answer's.
func (p *program) line(ctx context.Context, at attache.Place, text string) error {
	if !p.ruled(at) {
		return &attache.Error{Kind: attache.KindRefused, Say: "access.yaml has no rule for this chat under the bot " + string(at.Bot) + ", or lets nobody in there."}
	}
	return p.gateway.Line(ctx, attache.Outgoing{Place: at, Markdown: text, Format: p.ruling(p.brain.Current(), at, "").Format, Origin: &attache.Origin{Lines: true}})
}

func shownFindings(found []doctor.Finding) []pages.Finding {
	out := make([]pages.Finding, len(found))
	for i, f := range found {
		out[i] = pages.Finding{Level: string(f.Level), Check: f.Check, File: f.File, Line: f.Line, Col: f.Col, What: f.What, Do: f.Do}
	}
	return out
}
