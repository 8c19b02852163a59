// Package explain answers "why is this (not) here?": a dry run of one message that
// decides as the program does, in its order, and tells each decision. It calls no
// model, sends nothing and writes nothing (interface § 1, matrix N6).
//
// What it looks at comes in a World: the brain, and what earlier turns left as far
// as it can be looked at. Without records it tells what the files alone decide.
package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"attache"
	"attache/access"
	"attache/constitution"
	"attache/contexts"
	"attache/engage"
	"attache/gateway"
	"attache/gateway/judge"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/brain"
	"attache/internal/prompt"
	"attache/internal/store"
)

// Question is one message, as a person at a terminal tells of it.
type Question struct {
	Bot     attache.BotID // "": the brain's only one
	Chat    string        // tg:chat:<number> or the number
	Thread  attache.ThreadID
	From    string            // tg:user:<number> or the number; "": somebody whom the rule lets in
	ReplyTo attache.MessageID // 0: no reply
	Text    string
}

// World is what a dry run looks at.
type World struct {
	Brain    *brain.Brain
	Problems int // mistakes of its files
	Records  Records
	// Commands are the words that a bot answers itself, without a turn.
	Commands []string
	// Echoes reports whether a role's model says the message again and reads nothing.
	Echoes func(constitution.Role) bool
	// Username is Telegram's word for the bot's @name, "" when it cannot be asked.
	Username func(context.Context, attache.BotID) string
	// Read reads views as a turn does, but without making a login.
	Read func(context.Context, []contexts.Need) (map[contexts.Need]contexts.Given, error)
}

// Records are what earlier turns left, as far as they can be looked at.
type Records struct {
	DB   *store.DB // nil: they cannot
	Away string    // why not, "" when they can
	None bool      // because there never were any
}

// Explain tells what the program would do with one message and what its turn would
// carry. A question that makes no sense is an *attache.Error of kind usage.
func Explain(ctx context.Context, w World, q Question) (*Answer, error) {
	place, from, err := q.address(w.Brain)
	if err != nil {
		return nil, err
	}
	d := &dryRun{World: w, ctx: ctx, place: place}
	if w.Problems > 0 {
		d.note("the brain's files have %s; attache doctor lists them", many(w.Problems, "mistake"))
	}
	return d.explain(from, q.Text, q.ReplyTo)
}

func misused(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf(format, args...)}
}

// address reads where the message stands and who writes it, "" for somebody.
func (q Question) address(b *brain.Brain) (attache.Place, attache.PersonID, error) {
	place := attache.Place{Bot: q.Bot, Thread: q.Thread}
	if place.Thread == 1 {
		place.Thread = 0 // Telegram's number of General, whose place has none (decisions § 1)
	}
	var bots []attache.BotID
	for _, bot := range b.Policy.Bots() {
		bots = append(bots, bot.ID)
	}
	if place.Bot == "" {
		if len(bots) != 1 {
			return place, "", misused("the brain has %s %v; choose one with --bot", many(len(bots), "bot"), bots)
		}
		place.Bot = bots[0]
	}
	var err error
	if place.Chat, err = attache.ParseChat(q.Chat); err != nil {
		return place, "", misused("--chat: %v", err)
	}
	if q.From == "" {
		return place, "", nil
	}
	from, err := parsePerson(q.From)
	if err != nil {
		return place, "", misused("--from: %v", err)
	}
	return place, from, nil
}

// dryRun is one message on its way through the rules.
type dryRun struct {
	World
	ctx   context.Context
	place attache.Place
	notes []string // what the reader should know of how this came about
}

func (d *dryRun) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// explain decides as the program does, in its order.
func (d *dryRun) explain(from attache.PersonID, text string, replyTo attache.MessageID) (*Answer, error) {
	username := d.username(text)
	ruled, err := d.ruled()
	if err != nil {
		return nil, err
	}
	kind := kindOfChat(d.place.Chat)
	r := d.Brain.Policy.For(ruled, kind)
	m := attache.Message{Place: d.place, Chat: attache.Chat{Kind: kind}, At: time.Now().UTC(), Text: text, Marks: marksOf(text)}
	m.From = attache.Person{ID: from, IsBot: strings.HasPrefix(string(from), "bot:")}
	if from == "" {
		m.From.ID = d.somebody(r)
	}
	self := engage.Self{Bot: d.place.Bot, User: "bot:" + attache.PersonID(d.place.Bot), Username: username}
	if m.Reply, err = d.reply(replyTo, self); err != nil {
		return nil, err
	}
	x := &Answer{brain: d.Brain, message: m, ruling: r, Pin: map[attache.ContextID]*attache.EntityKey{}, Links: []Link{}}
	if r.File != "" {
		x.Rule = &Spot{r.File, r.Line}
	}
	x.Role, x.Engaged, x.why = d.heard(r, m, self)
	bindings := d.bound(ruled)
	x.pin(attache.NewPin(d.place.Bot, bindings))
	if x.Engaged {
		err = d.carried(x, bindings)
	}
	x.Notes = d.notes
	return x, err
}

// ruled gives the place whose rules hold. Where a group became a supergroup the file
// may still name the old number (decisions § 3.8).
func (d *dryRun) ruled() (attache.Place, error) {
	at := d.place
	if at.Chat.Private() || d.Brain.Policy.Mentions(at.Chat) || d.Records.DB == nil {
		return at, nil
	}
	old, ok, err := gateway.OldNumber(d.ctx, d.Records.DB, at.Bot, at.Chat)
	if err != nil && !unmade(err) {
		return at, err
	}
	if ok && d.Brain.Policy.Mentions(old) {
		d.note("%s was the group %s before, whose rule holds on until the file names the new number", at.Chat, old)
		at.Chat = old
	}
	return at, nil
}

// bound gives what a place is bound to.
func (d *dryRun) bound(at attache.Place) []attache.Binding {
	var out []attache.Binding
	for _, x := range d.Brain.Policy.Bindings(at.Chat, at.Thread) {
		out = append(out, attache.Binding{Context: x.Context, Key: x.Key, Static: true, Thread: x.Thread, Bots: x.Bots})
	}
	return out
}

// somebody gives who writes when nobody is named: in a private chat its person,
// elsewhere one whom the rule lets in.
func (d *dryRun) somebody(r access.Ruling) attache.PersonID {
	if d.place.Chat.Private() {
		return attache.UserID(int64(d.place.Chat))
	}
	if id := r.Somebody(); id != "" {
		return id
	}
	return attache.UserID(1)
}

// reply gives what the message replies to: a post of the bot if the records say so.
func (d *dryRun) reply(to attache.MessageID, self engage.Self) (*attache.Reply, error) {
	if to == 0 {
		return nil, nil
	}
	out := &attache.Reply{ID: to, From: attache.Person{ID: "tg:user:0"}}
	if d.Records.DB == nil {
		d.note("message %d counts as somebody else's: whose it is stands in the records", to)
		return out, nil
	}
	text, ours, err := ledger.Post(d.ctx, d.Records.DB, d.place.Bot, d.place.Chat, to)
	switch {
	case err != nil && !unmade(err):
		return nil, err
	case !ours:
		d.note("message %d is no post of %s here, so it counts as somebody else's", to, d.place.Bot)
	default:
		out.From, out.Text = attache.Person{ID: self.User, IsBot: true}, text
	}
	return out, nil
}

// heard says whether the message is for the bot, and why.
func (d *dryRun) heard(r access.Ruling, m attache.Message, self engage.Self) (role attache.RoleID, engaged bool, why string) {
	switch {
	case r.Kind == access.KindOwner && r.Missing != "":
		return "", false, "no rule holds here; being an owner, the person is told to add " + r.Missing
	case !r.Ruled():
		return "", false, r.Why
	}
	o := judge.Weigh(r, m, self, 0)
	if o.Command != "" && slices.Contains(d.Commands, o.Command) {
		return r.Role, false, "/" + o.Command + " is a command: the bot answers it itself, without a turn"
	}
	return r.Role, o.Decision.Act == engage.Answer, o.Decision.Why
}

// carried finds what the turn would carry.
func (d *dryRun) carried(x *Answer, bindings []attache.Binding) error {
	x.asked = contexts.Turn{Bot: d.place.Bot, Role: d.Brain.Admission(x.Role), Bindings: bindings}
	if d.Records.DB != nil {
		holds, err := mind.Held(d.ctx, d.Records.DB, d.Brain, d.place, x.Role, bindings)
		if err != nil && !unmade(err) {
			return err
		}
		x.asked.Holds = holds
	} else if d.Records.None && len(d.Brain.Views()) > 0 {
		d.note("state views were not looked at: %s", d.Records.Away)
	} else if !d.Records.None {
		d.note("state views and what earlier turns opened were not looked at: %s", d.Records.Away)
	}
	if role, _ := d.Brain.Frame.Role(x.Role); d.Echoes(role) {
		d.note("the model of this role is echo, which says the message again and reads nothing of this")
	}
	failed := error(nil)
	p := mind.Foresee(d.Brain, x.asked, func(needs []contexts.Need) (given map[contexts.Need]contexts.Given) {
		given, failed = d.Read(d.ctx, needs)
		return given
	})
	if failed != nil {
		return failed
	}
	x.carry(p)
	epoch, err := d.Brain.Static(x.Role, nil, "")
	if err != nil {
		return err
	}
	x.instructions = len([]rune(epoch.Text))
	x.input = len([]rune(string(prompt.Input(nil, nil, []attache.Message{x.message}, d.Brain.Frame.Manifest.Zone.String()))))
	return nil
}

// unmade reports an error of a database whose tables no program has made yet.
func unmade(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "42P01" || pg.Code == "3F000") // no table, no schema
}
