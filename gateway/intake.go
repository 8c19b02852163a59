package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"attache"
	"attache/gateway/inbox"
	"attache/internal/engine"
	"attache/internal/store"
)

// batch is how many kept updates are handled in one transaction: enough that a
// backlog of thousands takes seconds, and few enough that the first of them need
// not wait for the last.
const batch = 200

// intake handles the kept updates of one bot, in the order of their arrival.
type intake struct {
	g    *Gateway
	bot  Bot
	wake chan struct{}
	told time.Time // when the log last had an error of run's
}

// tellEvery is how often the log tells that updates cannot be handled: each new one
// makes the intake look, and fail, again.
const tellEvery = 5 * time.Second

// poke tells the intake that updates were kept. One wake-up that waits is enough for
// any number of them, and who keeps updates never waits for who handles them.
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
		// All that waits is handled before the next sleep. An error that waiting does not
		// cure leaves the rows as they are, for the next look.
		for {
			n := 0
			err := in.g.db.Retry(ctx, "handling updates", func(ctx context.Context) (err error) {
				n, err = in.some(ctx)
				return err
			})
			if err != nil && ctx.Err() == nil && time.Since(in.told) >= tellEvery {
				in.g.log.Error("updates could not be handled; they wait, and it is tried again", "bot", in.bot.ID, "err", err)
				in.told = time.Now()
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

// kept is one row of attache.updates with what it was read as, and what it comes to.
type kept struct {
	inbox.Handled
	raw    []byte
	what   string // for counting: the act, the kind, or broken
	inputs []input
	deeds  []deed
}

// deed is one thing that an update asks for besides being heard. It is done in the
// transaction that marks the update handled, so that it is done once.
type deed func(ctx context.Context, tx store.Tx, after *settled) error

// pass makes the update one that is set aside, whatever it seemed to ask for.
func (k *kept) pass(why string) {
	k.Broken, k.what, k.Silent, k.inputs, k.deeds = why, "broken", false, nil, nil
}

// input is a message that was judged.
type input struct {
	message attache.Message
	role    string // input or room
	quiet   time.Duration
	key     *string // what its place is held to; nil: nobody knows
}

// some handles up to one batch of updates and says how many. If the batch as a
// whole is refused by the database for a reason of its own, each update is tried
// alone, so that one poisonous update never stops the others. Only what an update is
// to blame for sets it aside; any other error, such as a missing table or right,
// leaves it and all behind it as they are.
func (in *intake) some(ctx context.Context) (int, error) {
	raws, err := inbox.Unhandled(ctx, in.g.db, in.bot.ID, batch)
	if err != nil || len(raws) == 0 {
		return 0, err
	}
	rows := make([]kept, len(raws))
	for i, u := range raws {
		rows[i].ID, rows[i].raw = u.ID, u.JSON
		if err := in.read(ctx, &rows[i]); err != nil {
			return 0, err
		}
	}
	if err := in.key(ctx, rows); err != nil {
		return 0, err
	}
	err = in.settle(ctx, rows)
	if err == nil || store.Transient(err) || ctx.Err() != nil {
		return len(rows), err
	}
	for i := range rows {
		one := rows[i : i+1]
		if err := in.settle(ctx, one); err != nil {
			if store.Transient(err) || ctx.Err() != nil || !ofTheData(err) {
				return i, err
			}
			in.g.log.Error("an update could not be handled and was set aside", "bot", in.bot.ID, "update", one[0].ID, "err", err)
			one[0].pass(err.Error())
			if err := in.settle(ctx, one); err != nil {
				return i, err
			}
		}
	}
	return len(rows), nil
}

// ofTheData reports whether an error comes of what was to be written, so that the same
// again fails for ever, and no other data does. By SQLSTATE these are the classes of
// data exceptions, violated constraints and exceeded limits of the program, such as a
// row that is too large for an index. What is no error of the database's is the data's.
func ofTheData(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return len(pg.Code) == 5 && slices.Contains([]string{"22", "23", "54"}, pg.Code[:2])
	}
	var connect *pgconn.ConnectError
	return !errors.As(err, &connect) && !errors.Is(err, context.DeadlineExceeded)
}

// read decodes one update alone and judges it. It decides and does nothing; its
// error is the database's, never the update's.
func (in *intake) read(ctx context.Context, k *kept) error {
	defer func() {
		if r := recover(); r != nil { // a decoder's mistake must not stop the bot
			k.pass(fmt.Sprintf("panic: %v", r))
		}
	}()
	u, err := in.bot.Decode(k.raw)
	if err != nil {
		k.pass(err.Error())
		in.g.log.Warn("an update does not decode; it is kept and passed by", "bot", in.bot.ID, "update", k.ID, "err", err)
		return nil
	}
	k.Kind, k.what = u.Kind, u.Kind
	switch {
	case u.Message != nil:
		if err := in.g.former.Learn(ctx, in.bot.ID, u.Message.Place.Chat); err != nil {
			return err
		}
		in.take(k, *u.Message, in.bot.Judge(*u.Message))
	case u.Press != nil:
		m, v := in.bot.Press(*u.Press, k.ID)
		in.take(k, m, v)
	case u.Edited != nil:
		if v := in.bot.Judge(*u.Edited); v.Act == ActSilence {
			in.take(k, *u.Edited, v) // the new words of somebody who is not let in are not kept either
			break
		}
		k.deeds = append(k.deeds, in.edit(*u.Edited, k.ID))
	case u.Migrated != nil:
		in.g.former.Note(in.bot.ID, *u.Migrated)
		k.deeds = append(k.deeds, in.move(*u.Migrated))
	case u.Stopped != nil:
		// The button stands below a draft, so in a private chat, and its person is the
		// chat's; one who is not let in any more may not stop anything either.
		person := attache.Message{Place: *u.Stopped, Chat: attache.Chat{Kind: "private"}, From: attache.Person{ID: attache.UserID(int64(u.Stopped.Chat))}}
		if in.bot.Judge(person).Act == ActSilence {
			k.Silent = true
			break
		}
		k.deeds = append(k.deeds, in.stop(*u.Stopped))
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
		"person", m.From.ID, "update", k.ID, "why", string(v.Act)+"; "+v.Why)
	switch v.Act {
	case ActAnswer:
		k.inputs = append(k.inputs, input{message: m, role: "input", quiet: v.Quiet})
	case ActObserve:
		k.inputs = append(k.inputs, input{message: m, role: "room"})
	case ActSilence:
		k.Silent = true
	case ActStop:
		k.deeds = append(k.deeds, in.stop(m.Place))
	case ActNew:
		k.deeds = append(k.deeds, in.renew(m.Place), in.chrome(m.Place, v.Say))
	case ActReply:
		k.deeds = append(k.deeds, in.chrome(m.Place, v.Say))
	}
}

// settled is what a transaction of the intake leaves to do after its commit. All of
// it is haste: a process that dies before it does any leaves it to the sweep.
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
		handled := make([]inbox.Handled, len(rows))
		for i, k := range rows {
			handled[i] = k.Handled
		}
		mine, err := inbox.Mark(ctx, tx, in.bot.ID, handled)
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
		in.g.o.CountUpdate(in.bot.ID, k.what)
	}
	in.g.follow(after)
	return nil
}

// apply goes through the updates in order. Messages of consecutive updates are
// written together; a deed ends such a run, so that an edit, a stop or a migration
// acts on exactly the messages before it.
func (in *intake) apply(ctx context.Context, tx store.Tx, rows []kept, mine map[int64]bool, after *settled) error {
	var run []input
	flush := func() error {
		err := in.g.putMessages(ctx, tx, run, after)
		run = nil
		return err
	}
	for _, k := range rows {
		if !mine[k.ID] {
			continue // another replica was faster
		}
		run = append(run, k.inputs...)
		if len(k.deeds) == 0 {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		for _, do := range k.deeds {
			if err := do(ctx, tx, after); err != nil {
				return err
			}
		}
	}
	return flush()
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
		go g.posts.SendChrome(g.ctx)
	}
}
