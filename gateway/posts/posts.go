// Package posts is what is said: an intent before each call, a result after it,
// and one fate for each part.
//
// The data, all in this package's tables (migrations/): `posts`, one row a part,
// which goes from `intent` over `sending` to what became of it, with the origin that
// it remembers; `post_files`, the file of a part until it has come to its end; and
// `holds`, the pauses that Telegram asked for. Between `sending` and the result lies the call
// itself, and nobody can make the two one: a process that dies there leaves a post
// of unknown fate. It is reported and never repeated, because a line in the log is
// a smaller evil than an answer said twice (decisions § 7.5).
//
// There are three sorts of posts, and one way to bring any of them to its end. The
// answer of a turn ends the turn in the transaction of its last result. What a tool
// says is said once a call, however often a turn is begun anew. Chrome is what the
// engine itself says; it waits for no turn, so that "Stopped." comes at once.
//
// The package knows neither Telegram's wire nor the tables of turns: a courier
// carries the parts, and who owns a turn comes as SQL, its end as a function.
package posts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"attache"
	"attache/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Courier carries posts of one bot to Telegram. Clear waits for the post's turn
// at the gate; Ready takes that turn only if it is free this moment; Deliver makes
// the call and never reports an outcome that it does not know.
type Courier interface {
	Ready(chat attache.ChatID) bool
	Clear(ctx context.Context, chat attache.ChatID) error
	Deliver(ctx context.Context, part attache.Part) attache.Delivery
}

// Forms is how words become parts. Compose cuts an outgoing text into parts, none
// when nothing of it is left to show. Simpler says a refused part in the next
// simpler form, nil when there is none. Retarget points a part at another place,
// without its reply, which means nothing there.
type Forms struct {
	Compose  func(attache.Outgoing) []attache.Part
	Simpler  func(attache.Part) []attache.Part
	Retarget func(attache.Part, attache.Place) attache.Part
}

// Options wires an Office; all of it is required.
type Options struct {
	DB       *store.DB
	Executor string // the id of this process; a post belongs to one process at a time
	Log      *slog.Logger
	Forms    Forms
	// Owned is SQL, a query that has a row while turn $1 runs in executor $2. Intents
	// are written only then, in the same statement: a process that was held for dead
	// and thaws must not say what another says already.
	Owned string
	// Moved records that a group has another number now, which a refused call told.
	Moved func(ctx context.Context, bot attache.BotID, m attache.Migration) error
	// Count is told of what became of each call, and of calls that a dead process left.
	Count func(attache.BotID, attache.Fate)
	// Posted is told of each part that has an origin and was sent, in the transaction
	// that records so: what a reply brings back is known exactly when the post is. It
	// may be told of a part more than once, since a transaction is repeated when its
	// outcome was lost. Its error undoes the record, so it is for the database's only.
	Posted func(ctx context.Context, tx store.Tx, p Posted) error
}

// Posted is a part that Telegram took, and what it remembers.
type Posted struct {
	Place    attache.Place       // where it went: not the topic or number that was gone
	Messages []attache.MessageID // at least one
	Origin   attache.Origin
	Text     string // the part's plain text
}

// ErrTaken means that another process owns a post now: this one stops quietly,
// because the other says what is left to say.
var ErrTaken = errors.New("another process took this turn over")

// Office is where everything that this process says is written down and sent. It
// is safe for use by many goroutines.
type Office struct {
	db       *store.DB
	executor string
	log      *slog.Logger
	forms    Forms
	owned    string
	moved    func(context.Context, attache.BotID, attache.Migration) error
	count    func(attache.BotID, attache.Fate)
	posted   func(context.Context, store.Tx, Posted) error

	mu       sync.Mutex
	couriers map[attache.BotID]Courier
	sending  map[int64]bool // chrome that is on its way
}

// New makes an office whose bots come later, by Serve. Its tables are Migrate's.
func New(o Options) *Office {
	return &Office{
		db: o.DB, executor: o.Executor, log: o.Log, forms: o.Forms, owned: o.Owned, moved: o.Moved, count: o.Count, posted: o.Posted,
		couriers: map[attache.BotID]Courier{}, sending: map[int64]bool{},
	}
}

// Migrate brings the package's tables up to date.
func Migrate(ctx context.Context, db *store.DB) error {
	return db.Migrate(ctx, "posts", migrations)
}

// Serve has a bot's posts carried by c from now on. What waits for it is sent by
// the next SendChrome, or when its turns go on.
func (o *Office) Serve(bot attache.BotID, c Courier) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.couriers[bot] = c
}

// courier gives the courier of a bot; nil when this process does not serve it.
func (o *Office) courier(bot attache.BotID) Courier {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.couriers[bot]
}

// notServed is what is said of a bot without a courier.
func notServed(bot attache.BotID) error {
	return &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("this program does not serve the bot %s", bot)}
}

// interrupted is the outcome of a call that a dead process left: it was about to
// be made or made, and nobody will ever know which.
func interrupted() attache.Delivery {
	return attache.Delivery{Fate: attache.FateUnknown, Why: "the process ended during the call"}
}

// tell lets the operator know of a post that did not arrive, or may not have.
func (o *Office) tell(r row, d attache.Delivery) {
	log := o.log.With("bot", r.place.Bot, "chat", r.place.Chat, "thread", r.place.Thread, "part", r.id, "why", d.Why)
	switch d.Fate {
	case attache.FateSent:
	case attache.FateUnknown:
		log.Warn("the fate of a post is unknown; it is not repeated")
	default:
		log.Warn("Telegram refused a post")
	}
}

// clean makes a text that Postgres takes out of any text.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
