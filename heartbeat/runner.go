package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"attache"
	"attache/internal/store"
)

// Clock is where a Runner has the time from. Tests give one that stands still.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// machine is the clock of the machine.
type machine struct{}

func (machine) Now() time.Time                         { return time.Now() }
func (machine) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Options are what a Runner needs.
type Options struct {
	DB    *store.DB
	Log   *slog.Logger  // nil: nothing is logged
	Clock Clock         // nil: the machine's
	Beats func() []Beat // those of the brain as it is now; asked before every decision

	// Fire begins the run of a slot in the transaction that claims it; after, if not
	// nil, is called when that is committed. An error that waiting does not cure
	// leaves the slot taken and refused, with the error's sentence as the reason.
	Fire func(ctx context.Context, tx store.Tx, b Beat, f Fire) (after func(), err error)
}

// longestSleep bounds a sleep, so that a clock that was set, or a machine that slept,
// is noticed. It costs a look at memory, none at the database.
const longestSleep = time.Minute

// mostAhead is how far the clock may be set back before what it showed until then counts
// as wrong. Less is an hour that comes again, whose slots have been fired; more would
// keep beats silent until the clock shows again what it showed by mistake.
const mostAhead = time.Hour

// Runner fires the slots of beats. It is one goroutine: Run.
type Runner struct {
	o       Options
	changed chan struct{}

	ids  []string // of the beats that ran at the last look
	seen map[string]memory
	said map[string]string // what of a beat is in the log already
}

// memory is what this process knows of a beat since it runs: up to which instant it
// has watched over which schedule.
type memory struct {
	schedule string
	until    time.Time
}

// New makes a Runner, and brings its tables up to date.
func New(ctx context.Context, o Options) (*Runner, error) {
	if o.Clock == nil {
		o.Clock = machine{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := Migrate(ctx, o.DB); err != nil {
		return nil, err
	}
	return &Runner{o: o, changed: make(chan struct{}, 1), seen: map[string]memory{}, said: map[string]string{}}, nil
}

// Changed tells that the brain was read again. It never waits.
func (r *Runner) Changed() {
	select {
	case r.changed <- struct{}{}:
	default: // it is told already
	}
}

// Run makes up for what was missed and then fires each slot when it is due, until
// ctx ends. While the database is away it waits; the slot at hand is not lost.
func (r *Runner) Run(ctx context.Context) {
	for ctx.Err() == nil {
		sleep := r.look(ctx)
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-r.changed:
		case <-r.o.Clock.After(sleep):
		}
	}
}

// look does what is due now and gives how long there is nothing to do. All that it
// does counts as done at the moment when it began: a slot that it found on time
// stays so however long the database takes.
func (r *Runner) look(ctx context.Context) time.Duration {
	now := r.o.Clock.Now()
	beats := r.running()
	err := r.drop(ctx, beats)
	for _, b := range beats {
		if r.seen[b.ID].until.After(now.Add(mostAhead)) {
			delete(r.seen, b.ID)
		}
		if err == nil && !r.idle(b, now) {
			err = r.serve(ctx, b.ID, now)
		}
	}
	if err != nil {
		if ctx.Err() == nil && r.news("", err.Error()) {
			r.o.Log.Error("the slots of beats cannot be looked after; trying on", "err", err)
		}
		return longestSleep
	}
	delete(r.said, "")
	sleep := longestSleep
	for _, b := range beats {
		if at := b.Next(now); !at.IsZero() {
			sleep = min(sleep, at.Sub(r.o.Clock.Now()))
		}
	}
	return max(sleep, 0)
}

// running lists the beats that run.
func (r *Runner) running() []Beat {
	return slices.DeleteFunc(slices.Clone(r.o.Beats()), func(b Beat) bool { return b.Why != "" })
}

// drop forgets the beats that run no more.
func (r *Runner) drop(ctx context.Context, beats []Beat) error {
	ids := make([]string, len(beats))
	for i, b := range beats {
		ids[i] = b.ID
	}
	if r.ids != nil && slices.Equal(ids, r.ids) {
		return nil
	}
	if err := r.o.DB.Retry(ctx, "beats", func(ctx context.Context) error { return keepOnly(ctx, r.o.DB.Pool(), ids) }); err != nil {
		return err
	}
	for id := range r.seen {
		if !slices.Contains(ids, id) {
			delete(r.seen, id)
			delete(r.said, id)
		}
	}
	r.ids = ids
	return nil
}

// idle reports whether there is nothing to do about a beat, which needs no database.
func (r *Runner) idle(b Beat, now time.Time) bool {
	m, known := r.seen[b.ID]
	return known && m.schedule == b.schedule() && b.Next(m.until).After(now)
}

// schedule names what a beat's slots depend on.
func (b Beat) schedule() string { return fmt.Sprintf("%s|%s|%s", b.Cron, b.Zone, b.Hours) }

// serve does everything that is due about one beat.
func (r *Runner) serve(ctx context.Context, id string, now time.Time) error {
	var no *refusal
	for {
		var did outcome
		err := r.o.DB.Retry(ctx, "heartbeat:"+id, func(ctx context.Context) error {
			return r.o.DB.InTx(ctx, func(tx store.Tx) (err error) {
				did, err = r.step(ctx, tx, id, now, no)
				return err
			})
		})
		no = nil
		if err != nil && (ctx.Err() != nil || !errors.As(err, &no)) {
			return err
		}
		if err != nil {
			continue // once more, to take the slot and write down that it was refused
		}
		r.tell(id, did)
		if did.after != nil {
			did.after()
		}
		if did.rest {
			if did.gone {
				delete(r.seen, id)
			} else {
				r.seen[id] = memory{did.schedule, now}
			}
			return nil
		}
	}
}

// refusal is an error of Fire, with the slot that it is about.
type refusal struct {
	slot time.Time
	err  error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// outcome is what a step did.
type outcome struct {
	rest     bool   // there is nothing left to do
	gone     bool   // the beat is no longer there, or off
	schedule string // that the step went by
	deed     deed
	state    State // "": no slot was taken
	err      error // why it was refused
	after    func()
}

// step does the next thing about a beat under the lock of its row, as the brain has
// the beat now: it may have been edited while the database was away. no is the
// refusal of the step before it, nil for none.
func (r *Runner) step(ctx context.Context, tx store.Tx, id string, now time.Time, no *refusal) (outcome, error) {
	beats := r.running()
	at := slices.IndexFunc(beats, func(b Beat) bool { return b.ID == id })
	if at < 0 {
		return outcome{rest: true, gone: true}, nil
	}
	b := beats[at]
	m, known := r.seen[id]
	since := now // a beat that is seen for the first time has missed nothing
	if known {
		since = m.until // another replica, which has it off, forgot the row
	}
	handled, err := lock(ctx, tx, id, now, since)
	if err != nil {
		return outcome{}, err
	}
	if handled.After(now.Add(mostAhead)) {
		r.o.Log.Warn("the clock was ahead and has been set back; the slots of a beat go on from here", "part", "heartbeat:"+id, "why", "they were dealt with until "+handled.UTC().Format(time.RFC3339))
		if handled, err = now.Add(-longestSleep), setBack(ctx, tx, id, now.Add(-longestSleep)); err != nil {
			return outcome{}, err
		}
	}
	edited := known && m.schedule != b.schedule()
	from := handled
	if edited { // minutes of the new schedule that had passed were no slots when they passed
		from = later(handled, now.Add(-onTime))
	}
	did := outcome{schedule: b.schedule()}
	d, due := b.deed(from, now)
	if !due {
		did.rest = true
		if edited {
			err = handle(ctx, tx, id, now)
		}
		return did, err
	}
	did.deed = d
	if no != nil && no.slot.Equal(d.slot) {
		did.err = no.err
	}
	if err := r.take(ctx, tx, b, &did); err != nil {
		return outcome{}, err
	}
	return did, handle(ctx, tx, id, d.slot)
}

// take claims the slot of a deed and begins its run.
func (r *Runner) take(ctx context.Context, tx store.Tx, b Beat, did *outcome) error {
	state, why := stateFired, ""
	switch {
	case did.deed.skip != "":
		state, why = stateSkipped, did.deed.skip
	case did.err != nil:
		state, why = Refused, attache.Sentence(did.err)
	case b.Body == "":
		state = stateBlank
	}
	id, fresh, err := claim(ctx, tx, b.Kind, b.ID, did.deed.slot.UTC().Format(time.RFC3339), state, why)
	if err != nil || !fresh {
		return err
	}
	did.state = state
	if state != stateFired {
		return nil
	}
	did.after, err = r.o.Fire(ctx, tx, b, Fire{ID: id, Slot: did.deed.slot, Missed: did.deed.missed})
	if err != nil {
		return &refusal{did.deed.slot, err}
	}
	return nil
}

// tell puts what a step did into the log.
func (r *Runner) tell(id string, did outcome) {
	part := "heartbeat:" + id
	switch did.state {
	case stateSkipped:
		r.o.Log.Info("slots of a beat were missed and are left out", "part", part, "why", did.deed.skip)
	case Refused:
		if r.news(id, did.err.Error()) {
			r.o.Log.Error("a run of a beat could not begin", "part", part, "err", did.err)
		}
	case stateFired:
		delete(r.said, id)
		why := "its slot " + did.deed.slot.Format(time.RFC3339)
		if did.deed.missed > 0 {
			why = fmt.Sprintf("it makes up for %s, until %s", slots(did.deed.missed), did.deed.slot.Format(time.RFC3339))
		}
		r.o.Log.Info("a beat fires", "part", part, "why", why)
	}
}

// news reports whether something about a beat is not in the log yet.
func (r *Runner) news(id, what string) bool {
	old := r.said[id]
	r.said[id] = what
	return old != what
}
