package updates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"attache"
	"attache/internal/telegram"
)

// Inbox is where received updates are stored until they are handled.
type Inbox interface {
	// Offset gives the next offset to ask for: the highest stored id of the bot and
	// one. It gives 0 when nothing is stored, and should give 0 when the newest
	// stored update is older than six days, because Telegram may have begun its
	// numbers anew by then; 0 asks for everything unconfirmed and loses nothing.
	Offset(ctx context.Context, bot attache.BotID) (int64, error)

	// Keep stores the updates, all or none, before it returns. Ids that are stored
	// already are left as they are and are no error.
	Keep(ctx context.Context, bot attache.BotID, updates []attache.RawUpdate) error
}

// PollerOptions says for which bot updates are fetched and where they go.
type PollerOptions struct {
	Client  *telegram.Client
	Inbox   Inbox
	Log     *slog.Logger
	Timeout time.Duration // how long Telegram holds an empty poll: whole seconds, 1 to 50, default 50
}

// How long the poller waits for others, and how it treats numbers and lines.
const (
	webhookPatience = 10 * time.Second // for deleteWebhook, which must not hold up the first poll for long
	pollSlack       = 10 * time.Second // what an answer may take beyond the time that Telegram holds it
	keepPatience    = 30 * time.Second // for the store

	// silence is when an old offset is no longer trusted: after a week without
	// updates Telegram chooses the next id at random.
	silence = 6 * 24 * time.Hour

	// emptyPace is the least time between two empty answers, should a server not
	// hold the line.
	emptyPace = 100 * time.Millisecond
)

// Poller fetches the updates of one bot by long polling. An update is stored before
// Telegram hears the offset that confirms it (decisions § 7.1), and every fault
// ends by itself when its cause is gone.
type Poller struct {
	client  *telegram.Client
	inbox   Inbox
	log     *slog.Logger
	timeout time.Duration
	health  health

	unreadable atomic.Int64

	// Only Run's goroutine uses what follows.
	offset  int64     // what to ask for next; 0 asks for all that is unconfirmed
	known   bool      // offset has been read from the inbox
	heard   time.Time // when the last update came, by the wall clock
	webhook hookState
}

// hookState is what the poller knows of a webhook that is in its way.
type hookState int

const (
	hookUnknown hookState = iota // deleteWebhook has not been answered yet
	hookTried                    // it was answered with an error
	hookGone                     // it was carried out
)

// NewPoller makes a poller; nothing is sent before Run.
func NewPoller(o PollerOptions) *Poller {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	timeout := cmp.Or(o.Timeout, 50*time.Second)
	p := &Poller{
		client:  o.Client,
		inbox:   o.Inbox,
		log:     log.With("bot", o.Client.Bot()),
		timeout: min(max(timeout.Round(time.Second), time.Second), 50*time.Second),
	}
	p.health.bot, p.health.log, p.health.again = o.Client.Bot(), p.log, "polling works again"
	return p
}

// Run polls until ctx ends, and then gives nil: there is no fault that it gives up
// on. One process at a time may run a bot's poller. Run may be called again after
// it has returned, and then begins with what the inbox says, since another process
// may have polled meanwhile.
func (p *Poller) Run(ctx context.Context) error {
	p.known, p.webhook = false, hookUnknown
	defer p.health.rest()
	for ctx.Err() == nil {
		wait, err := p.round(ctx)
		switch {
		case ctx.Err() != nil: // an interrupted poll is no fault
		case err != nil:
			wait = p.health.fault(err)
		default:
			p.health.success()
		}
		pause(ctx, wait)
	}
	return nil
}

// Healthy tells when the last poll succeeded, an empty one too (zero: none yet),
// and in one sentence what is wrong now, or "". A healthy bot's last success is at
// most about a minute old, however quiet its chats are.
func (p *Poller) Healthy() (lastSuccess time.Time, problem string) {
	return p.health.state()
}

// Unreadable counts the elements of Telegram's answers that had no readable
// update_id and were passed by.
func (p *Poller) Unreadable() int64 { return p.unreadable.Load() }

// round makes one poll and stores what it brings.
func (p *Poller) round(ctx context.Context) (wait time.Duration, err error) {
	p.removeWebhook(ctx)
	if err := p.findOffset(ctx); err != nil {
		return 0, err
	}
	began, asked := time.Now(), p.ask()
	result, err := p.fetch(ctx, asked)
	if err != nil {
		return 0, err
	}
	updates, problems := split(result)
	if len(updates) == 0 && len(problems) == 0 {
		return emptyPace - time.Since(began), nil
	}
	return 0, p.take(ctx, asked, updates, problems)
}

// removeWebhook lets a webhook go that would make every poll a conflict; what it
// has not delivered yet stays. It is done once: a webhook that somebody sets later
// is theirs, and is reported as the conflict it is.
func (p *Poller) removeWebhook(ctx context.Context) {
	if p.webhook != hookUnknown {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, webhookPatience)
	defer cancel()
	err := p.client.Call(ctx, "deleteWebhook", nil, nil)
	e, _ := errors.AsType[*telegram.CallError](err)
	switch {
	case err == nil:
		p.webhook = hookGone
	case e != nil && e.Code != 0:
		p.webhook = hookTried
	}
}

// findOffset reads the offset at the first round, and again until it is known.
func (p *Poller) findOffset(ctx context.Context) error {
	if p.known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, keepPatience)
	defer cancel()
	offset, err := p.inbox.Offset(ctx, p.client.Bot())
	if err != nil {
		return &fault{kind: faultStore, cause: err}
	}
	p.offset, p.known, p.heard = max(offset, 0), true, wallClock()
	return nil
}

// ask gives the offset of the next poll. After a long silence it asks for whatever
// is unconfirmed, since an update with a new, lower number would count as confirmed
// by the old offset. At worst something comes twice, which Keep does not mind.
func (p *Poller) ask() int64 {
	if wallClock().Sub(p.heard) > silence {
		return 0
	}
	return p.offset
}

// fetch is the call itself.
func (p *Poller) fetch(ctx context.Context, offset int64) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout+pollSlack)
	defer cancel()
	params := struct {
		Offset  int64    `json:"offset,omitempty"`
		Timeout int      `json:"timeout"`
		Allowed []string `json:"allowed_updates"`
	}{offset, int(p.timeout / time.Second), allowedUpdates()}
	var result json.RawMessage
	err := p.client.Call(ctx, "getUpdates", params, &result)
	if err == nil {
		return result, nil
	}
	f := faultOf(err)
	if f.kind == faultConflict && p.webhook == hookTried && strings.Contains(err.Error(), "webhook") {
		p.webhook = hookUnknown // it is still the one from before we started
	}
	return nil, f
}

// take stores a batch and only then moves the offset. The new offset follows the
// batch and not the old offset: where Telegram gives lower numbers than were asked
// for, it has begun anew, and an offset that only grows would get the same batch
// for ever.
func (p *Poller) take(ctx context.Context, asked int64, updates []attache.RawUpdate, problems []error) error {
	if len(updates) == 0 {
		return &fault{kind: faultUnreadable, cause: errors.Join(problems...)}
	}
	ctx, cancel := context.WithTimeout(ctx, keepPatience)
	defer cancel()
	if err := p.inbox.Keep(ctx, p.client.Bot(), updates); err != nil {
		return &fault{kind: faultStore, cause: err}
	}
	if len(problems) > 0 {
		p.unreadable.Add(int64(len(problems)))
		p.log.Warn("updates without a readable update_id were passed by", "why", fmt.Sprintf("%d of them, the first: %v", len(problems), problems[0]))
	}
	highest := int64(0)
	for _, u := range updates {
		highest = max(highest, u.ID)
	}
	p.offset, p.heard = highest+1, wallClock()
	if p.offset == asked {
		return &fault{kind: faultRepeated, cause: fmt.Errorf("update %d came again after offset %d was asked for", highest, asked)}
	}
	return nil
}

// allowedUpdates lists the kinds that Attaché wants, chat_member among them, which
// Telegram sends only when it is asked for by name. The Business kinds are wanted
// only to be reported (decisions § 7.11).
func allowedUpdates() []string {
	return []string{
		"message", "edited_message", "channel_post", "edited_channel_post", "callback_query", "my_chat_member",
		"chat_member", "stopped_message_generation", "business_connection", "business_message",
	}
}

// wallClock leaves the monotonic reading out: a machine that slept for a week has
// been silent for a week.
func wallClock() time.Time { return time.Now().Round(0) }

// pause waits unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
