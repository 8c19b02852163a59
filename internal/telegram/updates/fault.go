package updates

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"attache"
	"attache/internal/telegram"
)

// faultKind says what stands in the way of polling. An outage has a kind, and its
// log line is written once, however often the poll is tried.
type faultKind string

const (
	faultNetwork    faultKind = "network"
	faultConflict   faultKind = "conflict"
	faultToken      faultKind = "token"
	faultFlood      faultKind = "flood"
	faultStore      faultKind = "store"
	faultUnreadable faultKind = "unreadable"
	faultRepeated   faultKind = "repeated"
)

// fault is one poll that did not succeed.
type fault struct {
	kind  faultKind
	pause time.Duration // asked for by Telegram, with faultFlood
	cause error
}

func (f *fault) Error() string { return f.cause.Error() }

// faultOf sorts an error of a call.
func faultOf(err error) *fault {
	f := &fault{kind: faultNetwork, cause: err}
	e, ok := errors.AsType[*telegram.CallError](err)
	if !ok || e.Foreign && e.Code != 429 { // the status of a page in front of Telegram says nothing of the token
		return f
	}
	switch e.Code {
	case 409:
		f.kind = faultConflict
	case 401, 404: // 404 is Telegram's answer to what does not even look like a token
		f.kind = faultToken
	case 429:
		f.kind = faultFlood
		f.pause = min(max(e.RetryAfter, time.Second), time.Hour)
	}
	return f
}

// sentence says what is wrong and what to do.
func (k faultKind) sentence(bot attache.BotID) string {
	switch k {
	case faultConflict:
		return "another instance polls with this bot's token, or a webhook is set; stop the other one, or call deleteWebhook, or set ATTACHE_PUBLIC_URL to receive by webhook"
	case faultToken:
		return "Telegram does not know the token of this bot; put the one that BotFather gives into " + tokenVariable(bot) + " (TELEGRAM_BOT_TOKEN in a brain with one bot)"
	case faultFlood:
		return "Telegram asked for a pause in polling"
	case faultStore:
		return "received updates cannot be stored; Telegram keeps them until the database is back"
	case faultUnreadable:
		return "Telegram's answer holds no update with a readable update_id"
	case faultRepeated:
		return "Telegram sends updates again that were confirmed"
	}
	return "Telegram cannot be reached or gives no proper answer"
}

// tokenVariable is the variable of interface § 2 that holds a bot's token.
func tokenVariable(bot attache.BotID) string {
	return "TELEGRAM_BOT_TOKEN_" + strings.ToUpper(strings.ReplaceAll(string(bot), "-", "_"))
}

// delay is the pause before the next try: doubled from first to most, and shortened
// by up to half at random, so that replicas do not come back in step.
func (f *fault) delay(tries int) time.Duration {
	if f.kind == faultFlood {
		return f.pause
	}
	first, most := 200*time.Millisecond, 5*time.Second
	switch f.kind {
	case faultConflict, faultUnreadable:
		first = time.Second
	case faultToken:
		first, most = 2*time.Second, time.Minute
	}
	d := most
	if tries < 10 {
		d = min(first<<tries, most)
	}
	return d - rand.N(d/2)
}

// sameLine is the time in which an outage of the same kind is not told again: two
// pollers that take turns would fill the log.
const sameLine = time.Minute

// health keeps the state of receiving, for the log and for those who ask.
type health struct {
	bot   attache.BotID
	log   *slog.Logger
	again string // what the log says when an outage is over

	mu          sync.Mutex
	lastSuccess time.Time
	problem     string
	failed      time.Time // when the last fault was

	kind   faultKind // of the outage that is on; empty when all is well
	tries  int       // of this kind, so far
	since  time.Time
	told   map[faultKind]time.Time // when an outage of a kind was last written to the log
	spoken map[faultKind]bool      // the kinds written to the log in this outage
}

func (h *health) state() (time.Time, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lastSuccess, h.problem
}

// age is how long ago the last fault was.
func (h *health) age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.failed)
}

// fault notes a poll that did not succeed and gives the pause before the next.
func (h *health) fault(err error) time.Duration {
	f, ok := errors.AsType[*fault](err)
	if !ok {
		f = faultOf(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kind == "" {
		h.since, h.spoken = time.Now(), map[faultKind]bool{}
	}
	if h.kind != f.kind {
		h.kind, h.tries = f.kind, 0
	}
	h.failed, h.problem = time.Now(), f.kind.sentence(h.bot)+" ("+f.Error()+")"
	h.tell(f)
	h.tries++
	return f.delay(h.tries - 1)
}

// tell writes one line an outage and kind.
func (h *health) tell(f *fault) {
	if h.spoken[f.kind] || time.Since(h.told[f.kind]) < sameLine {
		return
	}
	if h.told == nil {
		h.told = map[faultKind]time.Time{}
	}
	h.spoken[f.kind], h.told[f.kind] = true, time.Now()
	write := h.log.Warn
	if f.kind == faultToken || f.kind == faultConflict || f.kind == faultStore {
		write = h.log.Error
	}
	write(f.kind.sentence(h.bot), "err", f.cause)
}

// success ends an outage, with one line if its beginning had one.
func (h *health) success() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.spoken) > 0 {
		h.log.Info(h.again, "ms", time.Since(h.since).Milliseconds()) //nolint:sloglint // one of two constants
	}
	h.lastSuccess, h.problem = time.Now(), ""
	h.kind, h.spoken = "", nil
}

// rest forgets an outage that nobody is trying to end any more.
func (h *health) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem, h.kind, h.spoken = "", "", nil
}
