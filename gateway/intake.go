package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"attache"
	"attache/engage"
	"attache/internal/engine"
	"attache/internal/store"
)

// batch is how many kept updates are handled in one transaction.
const batch = 200

// intake handles the kept updates of one bot, in the order of their arrival.
type intake struct {
	g    *Gateway
	bot  Bot
	wake chan struct{}
}

// poke tells the intake that updates were kept.
func (in *intake) poke() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// run handles kept updates until ctx ends. Besides being woken it looks by itself
// now and then: another replica may have died between keeping and handling.
func (in *intake) run(ctx context.Context) {
	look := time.NewTicker(5 * time.Second)
	defer look.Stop()
	for {
		for {
			n := 0
			err := in.g.db.Retry(ctx, "handling updates", func(ctx context.Context) (err error) {
				n, err = in.some(ctx)
				return err
			})
			if err != nil && ctx.Err() == nil {
				in.g.log.Error("updates could not be handled", "bot", in.bot.ID, "err", err)
				break
			}
			if err != nil || n == 0 {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-in.wake:
		case <-look.C:
		}
	}
}

// kept is one row of attache.updates with what it was read as.
type kept struct {
	id     int64
	raw    []byte
	update attache.Update
	kind   string
	broken string // why it does not decode
	act    verdicts
	what   string // for counting: the act, the kind, or broken
}

// verdicts collects what one batch, or one update of it, comes to.
type verdicts struct {
	inputs  []input
	edits   []attache.Message
	chrome  []attache.Outgoing
	stops   []attache.Place
	news    []attache.Place
	moves   []attache.Migration
	silence []int64
}

// input is a message that was judged.
type input struct {
	message attache.Message
	role    string // input or room
	quiet   time.Duration
}

// some handles up to one batch of updates and says how many. If the batch as a
// whole is refused by the database for a reason of its own, each update is tried
// alone, so that one poisonous update never stops the others.
func (in *intake) some(ctx context.Context) (int, error) {
	rows, err := in.g.unhandled(ctx, in.bot.ID, batch)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	for i := range rows {
		if err := in.read(ctx, &rows[i]); err != nil {
			return 0, err
		}
	}
	err = in.settle(ctx, rows)
	if err == nil || store.Transient(err) || ctx.Err() != nil {
		return len(rows), err
	}
	for i := range rows {
		one := rows[i : i+1]
		if err := in.settle(ctx, one); err != nil {
			if store.Transient(err) || ctx.Err() != nil {
				return i, err
			}
			in.g.log.Error("an update could not be handled and was set aside", "bot", in.bot.ID, "update", one[0].id, "err", err)
			one[0].broken, one[0].act = err.Error(), verdicts{}
			if err := in.settle(ctx, one); err != nil {
				return i, err
			}
		}
	}
	return len(rows), nil
}

// read decodes one update alone and judges it. It decides and does nothing; its
// error is the database's, never the update's.
func (in *intake) read(ctx context.Context, k *kept) error {
	defer func() {
		if r := recover(); r != nil { // a decoder's mistake must not stop the bot
			k.broken, k.act = fmt.Sprintf("panic: %v", r), verdicts{}
		}
	}()
	u, err := in.bot.Decode(k.raw)
	if err != nil {
		k.broken = err.Error()
		in.g.log.Warn("an update does not decode; it is kept and passed by", "bot", in.bot.ID, "update", k.id, "err", err)
		return nil
	}
	k.update, k.kind, k.what = u, u.Kind, u.Kind
	switch {
	case u.Message != nil:
		if err := in.g.learnFormer(ctx, in.bot.ID, u.Message.Place.Chat); err != nil {
			return err
		}
		in.take(k, *u.Message, in.bot.Judge(*u.Message))
	case u.Press != nil && in.bot.Press != nil:
		m, v := in.bot.Press(*u.Press, k.id)
		in.take(k, m, v)
	case u.Edited != nil:
		k.act.edits = append(k.act.edits, *u.Edited)
	case u.Migrated != nil:
		in.g.noteFormer(in.bot.ID, *u.Migrated)
		k.act.moves = append(k.act.moves, *u.Migrated)
	case u.Stopped != nil:
		k.act.stops = append(k.act.stops, *u.Stopped)
	case u.Member != nil && u.Member.Self:
		in.g.log.Info("the bot's standing in a chat changed", "bot", in.bot.ID, "chat", u.Member.Chat,
			"person", u.Member.Person.ID, "why", u.Member.Was+" to "+u.Member.Now)
	}
	return nil
}

// take notes what a judged message comes to.
func (in *intake) take(k *kept, m attache.Message, v Verdict) {
	k.what = string(v.Act)
	in.g.log.Debug("a message was judged", "bot", in.bot.ID, "chat", m.Place.Chat, "thread", m.Place.Thread,
		"person", m.From.ID, "update", k.id, "act", v.Act, "why", v.Why)
	switch v.Act {
	case ActAnswer:
		k.act.inputs = append(k.act.inputs, input{m, "input", v.Quiet})
	case ActObserve:
		k.act.inputs = append(k.act.inputs, input{m, "room", 0})
	case ActSilence:
		k.act.silence = append(k.act.silence, k.id)
	case ActStop:
		k.act.stops = append(k.act.stops, m.Place)
	case ActNew:
		k.act.news = append(k.act.news, m.Place)
		k.act.chrome = append(k.act.chrome, attache.Outgoing{Place: m.Place, Markdown: v.Say, Format: attache.FormatEntities})
	case ActReply:
		k.act.chrome = append(k.act.chrome, attache.Outgoing{Place: m.Place, Markdown: v.Say, Format: attache.FormatEntities})
	}
}

// settled is what a transaction of the intake leaves to do after its commit.
type settled struct {
	due   map[int64]time.Duration // waiting turns and the time until they are due
	stops []int64                 // running turns that were told to stop
	posts bool                    // chrome waits to be sent
}

// settle writes what a batch came to: messages, turns, stops, migrations, and the
// mark `handled`, in one transaction. A lock per bot keeps two replicas from
// handling one bot's updates side by side, and so in another order.
func (in *intake) settle(ctx context.Context, rows []kept) error {
	var after settled
	err := in.g.db.InTx(ctx, func(tx store.Tx) error {
		after = settled{due: map[int64]time.Duration{}}
		mine, err := in.g.mark(ctx, tx, in.bot.ID, rows)
		if err != nil {
			return err
		}
		return in.apply(ctx, tx, rows, mine, &after)
	})
	if err != nil {
		return err
	}
	engine.KillPoint("intake.settled")
	for _, k := range rows {
		if k.broken != "" {
			k.what = "broken"
		}
		in.g.count(Event{Kind: EventUpdate, Bot: in.bot.ID, What: k.what})
	}
	in.g.follow(after)
	return nil
}

// apply goes through the updates in order. Messages of consecutive updates are
// written together; everything else ends such a run, so that an edit, a stop or a
// migration acts on exactly the messages before it.
func (in *intake) apply(ctx context.Context, tx store.Tx, rows []kept, mine map[int64]bool, after *settled) error {
	var run []input
	flush := func() error {
		err := in.g.putMessages(ctx, tx, run, after)
		run = nil
		return err
	}
	for _, k := range rows {
		if !mine[k.id] {
			continue
		}
		run = append(run, k.act.inputs...)
		if len(k.act.edits)+len(k.act.stops)+len(k.act.news)+len(k.act.moves)+len(k.act.chrome) == 0 {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		for _, m := range k.act.edits {
			if err := in.g.putEdit(ctx, tx, m, k.id); err != nil {
				return err
			}
		}
		for _, p := range k.act.stops {
			if err := in.stop(ctx, tx, p, after); err != nil {
				return err
			}
		}
		for _, p := range k.act.news {
			if in.g.o.New == nil {
				continue
			}
			if err := in.g.o.New(ctx, tx, p); err != nil {
				return err
			}
		}
		for _, m := range k.act.moves {
			if err := in.g.migrate(ctx, tx, in.bot.ID, m, after); err != nil {
				return err
			}
		}
		for _, o := range k.act.chrome {
			after.posts = true
			if err := in.g.putChrome(ctx, tx, o); err != nil {
				return err
			}
		}
	}
	return flush()
}

// stop ends the waiting burst and the running turn of a place and says so, also
// when there was nothing to end (interface § 5).
func (in *intake) stop(ctx context.Context, tx store.Tx, p attache.Place, after *settled) error {
	waiting, running, err := in.g.stopTurns(ctx, tx, p)
	if err != nil {
		return err
	}
	after.stops = append(after.stops, running...)
	say := "Nothing is running here."
	if waiting+len(running) > 0 {
		say = "Stopped."
	}
	after.posts = true
	return in.g.putChrome(ctx, tx, attache.Outgoing{Place: p, Markdown: say, Format: attache.FormatEntities})
}

// follow does what a commit of the intake asks for.
func (g *Gateway) follow(after settled) {
	for id, wait := range after.due {
		g.startAfter(id, wait)
	}
	for _, id := range after.stops {
		g.cancel(id)
	}
	if after.posts {
		go g.sendChrome(g.ctx)
	}
}

// encode makes the stored form of a message.
func encode(m attache.Message) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("message %d of %s cannot be stored: %w", m.ID, m.Place, err)
	}
	return b, nil
}

// quietOf is the quiet time of the last message of a place within a batch.
func quietOf(inputs []input) (order []attache.Place, quiet map[attache.Place]time.Duration) {
	quiet = map[attache.Place]time.Duration{}
	for _, i := range inputs {
		if i.role != "input" {
			continue
		}
		if _, seen := quiet[i.message.Place]; !seen {
			order = append(order, i.message.Place)
		}
		quiet[i.message.Place] = i.quiet
	}
	return order, quiet
}

// longest is the cap of a burst; see engage.Longest.
func longest(quiet time.Duration) time.Duration { return engage.Longest(quiet) }
