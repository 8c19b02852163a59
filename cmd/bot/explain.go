package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/access"
	"attache/contexts"
	"attache/engage"
	"attache/gateway"
	"attache/gateway/judge"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/brain"
	"attache/internal/prompt"
	"attache/internal/telegram"
)

type explainCommand struct {
	Bot     attache.BotID     `placeholder:"BOT" help:"The bot; may be left out when the brain has one."`
	Chat    string            `required:"" placeholder:"CHAT" help:"Where it is written: tg:chat:<number> or the number; a private chat has its person's number."`
	Thread  attache.ThreadID  `placeholder:"N" help:"The topic; left out: General or none."`
	From    string            `placeholder:"PERSON" help:"Who writes it: tg:user:<number> or the number; left out: somebody whom the rule lets in."`
	ReplyTo attache.MessageID `placeholder:"N" help:"The message that it replies to."`
	JSON    bool              `name:"json" help:"Print JSON."`
	Text    string            `arg:"" help:"What is written."`
}

// Run tells what the program would do with one message and what the turn would
// carry. It is a dry run: no model is called, nothing is sent, nothing is written.
func (c explainCommand) Run(ctx context.Context, f *flags, io stdio) error {
	b, problems, err := brain.Load(f.Brain, nil)
	if err != nil {
		return misused("%v", err)
	}
	if b.Frame.Fatal {
		return misused("MANIFEST.yaml of the brain in %s is wrong, and with it every budget; attache doctor says what to mend", f.Brain)
	}
	place, from, err := c.address(b)
	if err != nil {
		return err
	}
	r, err := lookAtRecords(ctx, f, io)
	if err != nil {
		return err
	}
	defer r.Close()
	d := &dryRun{ctx: ctx, brain: b, records: r, place: place}
	if len(problems) > 0 {
		d.note("the brain's files have %s; attache doctor lists them", many(len(problems), "mistake"))
	}
	x, err := d.explain(from, c.Text, c.ReplyTo, d.username(f, c.Text))
	if err != nil {
		return err
	}
	if c.JSON {
		for _, note := range x.notes {
			fmt.Fprintln(io.err, "note: "+note)
		}
		return x.printJSON(io.out)
	}
	return x.print(io.out)
}

// address reads where the message stands and who writes it, "" for somebody.
func (c explainCommand) address(b *brain.Brain) (attache.Place, attache.PersonID, error) {
	place := attache.Place{Bot: c.Bot, Thread: c.Thread}
	if place.Thread == 1 {
		place.Thread = 0 // Telegram's number of General, whose place has none (decisions § 1)
	}
	bots := botsOf(b)
	if place.Bot == "" {
		if len(bots) != 1 {
			return place, "", misused("the brain has %s %v; choose one with --bot", many(len(bots), "bot"), bots)
		}
		place.Bot = bots[0]
	}
	var err error
	if place.Chat, err = attache.ParseChat(c.Chat); err != nil {
		return place, "", misused("--chat: %v", err)
	}
	if c.From == "" {
		return place, "", nil
	}
	from, err := parsePerson(c.From)
	if err != nil {
		return place, "", misused("--from: %v", err)
	}
	return place, from, nil
}

// dryRun is one message on its way through the rules.
type dryRun struct {
	ctx     context.Context
	brain   *brain.Brain
	records *records
	place   attache.Place
	notes   []string // what the reader should know of how this came about
}

func (d *dryRun) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// explain decides as the program does, in its order.
func (d *dryRun) explain(from attache.PersonID, text string, replyTo attache.MessageID, username string) (*explanation, error) {
	ruled, err := d.ruled()
	if err != nil {
		return nil, err
	}
	kind := kindOfChat(d.place.Chat)
	r := d.brain.Policy.For(ruled, kind)
	m := attache.Message{Place: d.place, Chat: attache.Chat{Kind: kind}, At: time.Now().UTC(), Text: text, Marks: marksOf(text)}
	m.From = attache.Person{ID: from, IsBot: strings.HasPrefix(string(from), "bot:")}
	if from == "" {
		m.From.ID = d.somebody(r)
	}
	self := engage.Self{Bot: d.place.Bot, User: "bot:" + attache.PersonID(d.place.Bot), Username: username}
	if m.Reply, err = d.reply(replyTo, self); err != nil {
		return nil, err
	}
	x := &explanation{brain: d.brain, message: m, ruling: r, Pin: map[attache.ContextID]*attache.EntityKey{}, Links: []explainedLink{}}
	if r.File != "" {
		x.Rule = &ruleSpot{r.File, r.Line}
	}
	x.Role, x.Engaged, x.why = d.heard(r, m, self)
	bindings := bound(d.brain, ruled.Chat, ruled.Thread)
	x.pin(attache.NewPin(d.place.Bot, bindings))
	if x.Engaged {
		err = d.carried(x, bindings)
	}
	x.notes = d.notes
	return x, err
}

// ruled gives the place whose rules hold. Where a group became a supergroup the file
// may still name the old number (decisions § 3.8).
func (d *dryRun) ruled() (attache.Place, error) {
	at := d.place
	if at.Chat.Private() || d.brain.Policy.Mentions(at.Chat) || d.records.database == nil {
		return at, nil
	}
	old, ok, err := gateway.OldNumber(d.ctx, d.records.DB, at.Bot, at.Chat)
	if err != nil && !unmade(err) {
		return at, err
	}
	if ok && d.brain.Policy.Mentions(old) {
		d.note("%s was the group %s before, whose rule holds on until the file names the new number", at.Chat, old)
		at.Chat = old
	}
	return at, nil
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
	if d.records.database == nil {
		d.note("message %d counts as somebody else's: whose it is stands in the records", to)
		return out, nil
	}
	text, ours, err := ledger.Post(d.ctx, d.records.DB, d.place.Bot, d.place.Chat, to)
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
	if o.Command != "" && slices.ContainsFunc(ownersCommands(), func(c telegram.Command) bool { return c.Name == o.Command }) {
		return r.Role, false, "/" + o.Command + " is a command: the bot answers it itself, without a turn"
	}
	return r.Role, o.Decision.Act == engage.Answer, o.Decision.Why
}

// carried finds what the turn would carry.
func (d *dryRun) carried(x *explanation, bindings []attache.Binding) error {
	x.asked = contexts.Turn{Bot: d.place.Bot, Role: d.brain.Admission(x.Role), Bindings: bindings}
	if d.records.database != nil {
		holds, err := mind.Held(d.ctx, d.records.DB, d.brain, d.place, x.Role, bindings)
		if err != nil && !unmade(err) {
			return err
		}
		x.asked.Holds = holds
	} else if d.records.none && len(viewsOf(d.brain)) > 0 {
		d.note("state views were not looked at: %s", d.records.away)
	} else if !d.records.none {
		d.note("state views and what earlier turns opened were not looked at: %s", d.records.away)
	}
	if role, _ := d.brain.Frame.Role(x.Role); modelOf(d.brain, role).Model == echoModel {
		d.note("the model of this role is %s, which says the message again and reads nothing of this", echoModel)
	}
	failed := error(nil)
	p := mind.Foresee(d.brain, x.asked, func(needs []contexts.Need) (given map[contexts.Need]contexts.Given) {
		given, failed = d.read(needs)
		return given
	})
	if failed != nil {
		return failed
	}
	x.carry(p)
	epoch, err := d.brain.Static(x.Role, nil, "")
	if err != nil {
		return err
	}
	x.instructions = len([]rune(epoch.Text))
	x.input = len([]rune(string(prompt.Input(nil, nil, []attache.Message{x.message}, d.brain.Frame.Manifest.Zone.String()))))
	return nil
}
