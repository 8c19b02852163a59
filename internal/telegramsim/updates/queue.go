// Package updates keeps what waits for one bot and delivers it as Telegram does:
// by long polls whose offsets confirm, or by a webhook that is tried again until
// it answers. It knows nothing of what the updates say, and it outlasts the bot:
// a bot that is killed finds its queue again.
package updates

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what a queue needs to know of its server.
type Options struct {
	Keep    int              // delivered updates that Redeliver can still find; 0: all
	Retry   time.Duration    // pause after an unsuccessful webhook delivery, doubled up to 32 times
	Now     func() time.Time // clock of the webhook's last error
	Changed func()           // called at every change, possibly with a caller's lock held
	Odd     func(string)     // called with what no correct bot does
}

// Queue is the queue of one bot. It is safe for concurrent use.
type Queue struct {
	options Options
	wake    chan struct{} // one signal for whoever delivers
	closed  chan struct{}
	work    sync.WaitGroup // the webhook's deliveries

	mu      sync.Mutex
	waiting []*update
	seen    []*update
	lastID  int64
	allowed []string // nil: Telegram's default kinds
	poll    *poll
	hook    hook
}

// update is one update in the queue. A stubborn one is delivered once whatever the
// offset says (a redelivery); a broken one is delivered once and then gone, since
// no offset could ever confirm it.
type update struct {
	id        int64
	raw       []byte
	stubborn  bool
	broken    bool
	delivered bool
}

// Conflict is what Telegram answers with 409.
type Conflict string

// Error gives the description after its "Conflict: ".
func (c Conflict) Error() string { return string(c) }

// NewQueue makes an empty queue whose first update is number 100000001.
func NewQueue(o Options) *Queue {
	return &Queue{options: o, wake: make(chan struct{}, 1), closed: make(chan struct{}), lastID: 100000000}
}

// Close ends a poll that waits and the webhook's deliveries.
func (q *Queue) Close() {
	q.mu.Lock()
	close(q.closed)
	q.hook.end()
	q.mu.Unlock()
	q.work.Wait()
}

// Tell queues an update of a kind, such as "message", if the bot asked for it.
func (q *Queue) Tell(kind string, raw []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.wants(kind) {
		return
	}
	q.lastID++
	text := fmt.Appendf(make([]byte, 0, len(raw)+64), `{"update_id":%d,"%s":`, q.lastID, kind)
	q.add(&update{id: q.lastID, raw: append(append(text, raw...), '}')})
}

// wants knows the kinds that Telegram leaves out unless a bot names them.
func (q *Queue) wants(kind string) bool {
	if len(q.allowed) == 0 {
		return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
	}
	return slices.Contains(q.allowed, kind)
}

func (q *Queue) add(u *update) {
	q.waiting = append(q.waiting, u)
	q.ring()
	q.options.Changed()
}

// ring wakes whoever delivers the queue.
func (q *Queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default: // a signal is on its way already
	}
}

// Inject queues raw JSON, whatever it is, and gives its number. An object without
// update_id gets the next one; anything else goes out as it stands, and what is no
// JSON at all is delivered once.
func (q *Queue) Inject(raw string) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lastID++
	u := &update{id: q.lastID, raw: []byte(raw)}
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(raw), &fields); {
	case !json.Valid([]byte(raw)):
		u.broken = true
	case err != nil || fields == nil:
	case fields["update_id"] == nil:
		comma := ","
		if len(fields) == 0 {
			comma = ""
		}
		_, rest, _ := strings.Cut(raw, "{")
		u.raw = fmt.Appendf(nil, `{"update_id":%d%s%s`, u.id, comma, rest)
	default:
		var id int64
		if json.Unmarshal(fields["update_id"], &id) == nil {
			u.id, u.stubborn = id, true
		}
	}
	q.add(u)
	return u.id
}

// Redeliver queues an update again that was delivered before, with its old number,
// as Telegram does when its own record of a confirmation is lost.
func (q *Queue) Redeliver(id int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, u := range q.seen {
		if u.id == id {
			q.add(&update{id: id, raw: u.raw, stubborn: true})
			return nil
		}
	}
	return fmt.Errorf("update %d was not delivered yet, or is forgotten", id)
}

// Pending gives the number of updates that wait.
func (q *Queue) Pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// remember notes a delivery.
func (q *Queue) remember(u *update) {
	if u.delivered {
		return
	}
	u.delivered = true
	q.seen = append(q.seen, u)
	if keep := q.options.Keep; keep > 0 && len(q.seen) > 2*keep {
		q.seen = slices.Clone(q.seen[len(q.seen)-keep:])
	}
}

// Wish is what a getUpdates call asks for.
type Wish struct {
	Offset  int64
	Limit   int           // 0: 100
	Timeout time.Duration // 0: answer at once
	Allowed *[]string     // nil: as before
}

// poll is one getUpdates call that waits.
type poll struct {
	ended chan struct{}
	why   Conflict
}

// Poll is Telegram's long poll and gives a JSON array: an offset confirms
// everything below it, a newer poll ends an older one, a webhook forbids it. The
// error is a Conflict, or context.Canceled when the caller or the queue has gone.
func (q *Queue) Poll(ctx context.Context, w Wish) (json.RawMessage, error) {
	mine, err := q.begin(w)
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(w.Timeout)
	defer timeout.Stop()
	for long := w.Timeout > 0; ; {
		batch, err := q.take(mine, w.Limit, !long)
		if err != nil || batch != nil {
			return batch, err
		}
		select {
		case <-q.wake:
		case <-mine.ended:
		case <-timeout.C:
			long = false
		case <-ctx.Done():
			return nil, q.leave(mine)
		case <-q.closed:
			return nil, q.leave(mine)
		}
	}
}

func (q *Queue) begin(w Wish) (*poll, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.hook.url != "" {
		return nil, Conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	q.confirm(w.Offset)
	if w.Allowed != nil {
		q.allowed = *w.Allowed
	}
	q.endPoll("terminated by other getUpdates request; make sure that only one bot instance is running")
	q.poll = &poll{ended: make(chan struct{})}
	q.options.Changed()
	return q.poll, nil
}

// confirm forgets what an offset confirms. A negative offset keeps only the last
// ones, as Telegram does.
func (q *Queue) confirm(offset int64) {
	if offset < 0 {
		q.waiting = q.waiting[max(0, len(q.waiting)+int(offset)):]
		return
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(u *update) bool {
		return u.broken && u.delivered || u.id < offset && (!u.stubborn || u.delivered)
	})
}

func (q *Queue) endPoll(why Conflict) {
	if q.poll == nil {
		return
	}
	q.poll.why = why
	close(q.poll.ended)
	q.poll = nil
}

// take gives the oldest updates as one array, which stay until they are confirmed;
// nil when there are none and the poll may wait.
func (q *Queue) take(mine *poll, limit int, now bool) (json.RawMessage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.poll != mine {
		q.ring() // this poll may have swallowed the newer one's signal
		return nil, mine.why
	}
	if len(q.waiting) == 0 && !now {
		return nil, nil
	}
	q.poll = nil
	if limit == 0 {
		limit = 100
	}
	out := []byte{'['}
	for i, u := range q.waiting[:min(limit, len(q.waiting))] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, u.raw...)
		q.remember(u)
	}
	return append(out, ']'), nil
}

func (q *Queue) leave(mine *poll) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.poll == mine {
		q.poll = nil
	}
	return context.Canceled
}
