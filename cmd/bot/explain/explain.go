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
	"attache/gateway/judge"
	"attache/gateway/mind"
	"attache/internal/brain"
	"attache/internal/prompt"
	"attache/internal/store"
)

// Question is one message, or one run, as a person at a terminal tells of it.
type Question struct {
	Bot     attache.BotID // "": the brain's only one
	Chat    string        // tg:chat:<number> or the number
	Thread  attache.ThreadID
	From    string            // tg:user:<number> or the number; "": somebody whom the rule lets in
	ReplyTo attache.MessageID // 0: no reply
	Run     string            // heartbeat:ID; "": a message
	Text    string            // of a run "": what its file says
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

// Explain tells what the program would do with one message, or in a run, and what its
// turn would carry. A question that makes no sense is an *attache.Error of kind usage,
// an entity that is not there one of another kind.
func Explain(ctx context.Context, w World, q Question) (*Answer, error) {
	d := &dryRun{World: w, ctx: ctx}
	if w.Problems > 0 {
		d.note("the brain's files have %s; attache doctor lists them", many(w.Problems, "mistake"))
	}
	if q.Run != "" {
		if q.Chat != "" || q.From != "" || q.ReplyTo != 0 || q.Thread != 0 {
			d.note("a run is in the place that its file names and answers nobody: --chat, --thread, --from and --reply-to say nothing")
		}
		return d.run(q.Run, q.Text)
	}
	from, err := d.address(q)
	if err != nil {
		return nil, err
	}
	return d.message(from, q.Text, q.ReplyTo)
}

func misused(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf(format, args...)}
}

// address reads where the message stands and who writes it, "" for somebody.
func (d *dryRun) address(q Question) (from attache.PersonID, err error) {
	d.place = attache.Place{Bot: q.Bot, Thread: q.Thread}
	if d.place.Thread == 1 {
		d.place.Thread = 0 // Telegram's number of General, whose place has none (decisions § 1)
	}
	var bots []attache.BotID
	for _, bot := range d.Brain.Policy.Bots() {
		bots = append(bots, bot.ID)
	}
	switch {
	case q.Chat == "":
		return "", misused("--chat is missing: where it is written; or ask about a run with --run heartbeat:ID")
	case q.Text == "":
		return "", misused("<text> is missing: what is written")
	case q.Bot == "" && len(bots) != 1:
		return "", misused("the brain has %s %v; choose one with --bot", many(len(bots), "bot"), bots)
	case q.Bot == "":
		d.place.Bot = bots[0]
	}
	if d.place.Chat, err = attache.ParseChat(q.Chat); err != nil {
		return "", misused("--chat: %v", err)
	}
	if q.From == "" {
		return "", nil
	}
	if from, err = parsePerson(q.From); err != nil {
		return "", misused("--from: %v", err)
	}
	return from, nil
}

// dryRun is one message, or one run, on its way through the rules.
type dryRun struct {
	World
	ctx    context.Context
	place  attache.Place // the zero value for a run without one
	pin    attache.Pin   // of the place
	unread bool          // what tools bound cannot be known
	notes  []string      // what the reader should know of how this came about
}

func (d *dryRun) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// message decides on a message as the program does, in its order.
func (d *dryRun) message(from attache.PersonID, text string, replyTo attache.MessageID) (*Answer, error) {
	username, kind := d.username(text), kindOfChat(d.place.Chat)
	x := newAnswer(d.Brain)
	bindings, err := d.stand(x, kind)
	if err != nil {
		return nil, err
	}
	m := attache.Message{Place: d.place, Chat: attache.Chat{Kind: kind}, At: time.Now().UTC(), Text: text, Marks: marksOf(text)}
	m.From = attache.Person{ID: from, IsBot: strings.HasPrefix(string(from), "bot:")}
	if from == "" {
		m.From.ID = d.somebody(x.ruling)
	}
	self := engage.Self{Bot: d.place.Bot, User: "bot:" + attache.PersonID(d.place.Bot), Username: username}
	var brings attache.Reach
	if m.Reply, brings, err = d.reply(replyTo, self); err != nil {
		return nil, err
	}
	x.message = m
	x.Role, x.Engaged, x.why = d.heard(x.ruling, m, self)
	if x.Engaged {
		x.asked = contexts.Turn{Bot: d.place.Bot, Role: d.Brain.Admission(x.Role), Bindings: bindings, Unread: d.unread}
		if len(brings) > 0 {
			x.asked.Replies = []contexts.Source{{Why: fmt.Sprintf("a reply to message %d", replyTo), Reach: brings}}
		}
		if err = d.held(x); err == nil {
			err = d.carried(x)
		}
	}
	x.Notes = d.notes
	return x, err
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

// held finds what earlier turns left for this one.
func (d *dryRun) held(x *Answer) error {
	if d.Records.DB == nil || d.unread {
		return nil
	}
	holds, err := mind.Held(d.ctx, d.Records.DB, d.Brain, d.place, x.Role, x.asked.Bindings)
	if unmade(err) {
		return nil
	}
	x.asked.Holds = holds
	return err
}

// carried finds what the turn would carry.
func (d *dryRun) carried(x *Answer) error {
	switch {
	case d.Records.DB != nil:
	case !d.Records.None && x.run != nil:
		d.note("state views and what tools bound were not looked at: %s", d.Records.Away)
	case !d.Records.None:
		d.note("state views, what tools bound and what earlier turns opened were not looked at: %s", d.Records.Away)
	case len(d.Brain.Views()) > 0:
		d.note("state views were not looked at: %s", d.Records.Away)
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
	input := x.message.Text // of a run, without elements (decisions § 5)
	if x.run == nil {
		input = string(prompt.Input(nil, nil, []attache.Message{x.message}, d.Brain.Frame.Manifest.Zone.String()))
	}
	x.input = len([]rune(input))
	return nil
}

// unmade reports an error of a database whose tables no program has made yet.
func unmade(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "42P01" || pg.Code == "3F000") // no table, no schema
}
