package gateway

import (
	"context"
	"log/slog"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/internal/engine"
	"attache/internal/store"
)

// Bot is one bot that the gateway serves, as values.
type Bot struct {
	ID      attache.BotID
	Courier posts.Courier
	// Typing shows "typing…" in a place until stop is called; cosmetic, so it never
	// fails anything. May be nil.
	Typing func(attache.Place) (stop func())
	// Decode reads one raw update.
	Decode func(raw []byte) (attache.Update, error)
	// Judge says what is to be done with a message, and why. It decides and does
	// nothing: a batch that the database refuses is judged again.
	Judge func(attache.Message) Verdict
	// Press makes the input of a button's press, judges it, and acknowledges it.
	Press func(p attache.Press, update int64) (attache.Message, Verdict)
}

// Act is what is done with a message.
type Act string

// The acts. ActSilence means that no rule lets the chat in: the raw update is
// emptied (decisions § 6.1).
const (
	ActAnswer  Act = "answer"
	ActObserve Act = "observe"
	ActIgnore  Act = "ignore"
	ActSilence Act = "silence"
	ActStop    Act = "stop"  // the command /stop
	ActNew     Act = "new"   // the command /new: Verdict.Say, and a new session
	ActReply   Act = "reply" // a command that is answered with Verdict.Say at once
)

// Verdict is a judged message: the act, why, and what its rule sets.
type Verdict struct {
	Act   Act
	Why   string
	Quiet time.Duration // time without a further message that ends the burst; see engage.Quiet
	Say   string        // with ActReply and ActNew: chrome to post at once
}

// Answer is what a turn came to.
type Answer struct {
	Markdown string          `json:"markdown"` // empty: the turn is silent
	Format   attache.Format  `json:"format"`
	Gone     string          `json:"gone,omitempty"` // `chat`: an answer whose topic is gone goes to the chat
	Why      string          `json:"why,omitempty"`  // why silent or failed; for the log and ledger
	Failed   bool            `json:"failed,omitempty"`
	Refused  bool            `json:"refused,omitempty"` // a run's answer could not be posted as it was (decisions § 2)
	Origin   *attache.Origin `json:"origin,omitempty"`  // what a reply to it brings back
}

// Task is the work of a run: what is done, as whom and from which words. It is
// stored with the run's turn, so fields are only added.
type Task struct {
	attache.Run
	Agent attache.RoleID `json:"agent"`
	About string         `json:"about,omitempty"` // the description of the run's entity
	Input string         `json:"input"`
}

// Turn is what an answer is made from.
type Turn struct {
	ID       int64
	Place    attache.Place
	Task     *Task             // of a run; nil for a turn that answers messages
	Room     []RoomLine        // what was heard before the input and may ride along
	Messages []attache.Message // the input, in the order of the conversation; none in a run
	fresh    bool              // gathered by this process just now: nothing was done yet
	stop     bool              // a person stopped it before this execution began
}

// RoomLine is a message of the room that was not for the bot, or that was edited after
// its turn. Key is what its place was held to when it came (attache.Pin.String), nil
// when that could not be found out: it is for turns under the same key only (decisions
// § 3.14).
type RoomLine struct {
	attache.Message
	Key *string
}

// Options wires a gateway; all of it is required.
type Options struct {
	DB       *store.DB
	Engine   *engine.Engine
	Executor string // the id that the engine was given
	Alone    bool   // no other process can live on this database: all other executors are dead
	Log      *slog.Logger
	Forms    posts.Forms // how words become parts
	// Answer makes a turn's answer; it may use steps of run. ctx ends when the turn
	// is stopped or the process shuts down.
	Answer func(ctx context.Context, run engine.Run, t Turn) (Answer, error)
	// Keys gives what places are held to now (attache.Pin.String). It is asked once for a
	// batch of messages, before they are stored.
	Keys func(ctx context.Context, at []attache.Place) (map[attache.Place]string, error)
	// New ends the session of a place in the transaction that handles /new; Moved
	// tells of a migrated group in the transaction that records it. Dropped is told
	// of a turn that ends without an answer, before it is closed: it leaves nothing
	// in the history.
	New     func(ctx context.Context, tx store.Tx, p attache.Place) error
	Moved   func(ctx context.Context, tx store.Tx, bot attache.BotID, m attache.Migration) error
	Dropped func(ctx context.Context, turn int64) error
	// RunEnded tells how a run ended and why, in the transaction that closes its turn.
	RunEnded func(ctx context.Context, tx store.Tx, turn int64, state, why string) error
	// Posted is told of what was said with an origin; see posts.Options.
	Posted func(ctx context.Context, tx store.Tx, p posts.Posted) error
	// What is worth counting. An update is told with the act on its message, with its
	// kind if it brought none, or as broken; a turn with the state it ended in; a post
	// with what became of its call.
	CountUpdate func(bot attache.BotID, what string)
	CountTurn   func(bot attache.BotID, state string, took time.Duration)
	CountPost   func(bot attache.BotID, fate attache.Fate)
	// Keep gives the retention; it is asked each time, since the brain may change.
	// Forget deletes what other owners keep of turns.
	Keep   func() Retention
	Forget func(ctx context.Context, before time.Time) error
}

// Retention is how long things are kept (interface § 3, `retention:`): handled
// updates, a room's lines that no turn took, and ended turns with their messages
// and posts.
type Retention struct{ Updates, Room, Turns time.Duration }
