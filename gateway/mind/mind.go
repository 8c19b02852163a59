// Package mind is how a turn is answered: the rule and role of its place, the
// prompt, calls of the model and of tools in turn, and the text in the end.
//
// Everything that must come out the same after a crash is written down before it
// is used: the session and turn snapshots and the input (internal/conversation),
// each answer of the model (the engine's journal), each call of a tool before and
// after (`tool_calls`), what an agent that keeps its own state was told (`cli_sessions`).
// So a turn that a living process takes up sends the same bytes again and repeats
// nothing that acts on the outside. These two tables are this package's.
package mind

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"attache"
	"attache/access"
	"attache/constitution"
	"attache/contexts"
	"attache/gateway"
	"attache/gateway/carried"
	"attache/gateway/journal"
	"attache/internal/brain"
	"attache/internal/cliagent"
	"attache/internal/conversation"
	"attache/internal/engine"
	"attache/internal/model"
	"attache/internal/store"
	"attache/internal/tools"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Draft shows a private answer while it is written.
type Draft interface {
	Show(markdown string)
	End()
}

// Options wires a Mind; all of it is required but Draft, Fetch and Usage.
type Options struct {
	DB     *store.DB
	Talks  *conversation.Store
	Built  []tools.Owned                      // the built-in tools, besides the mind's own
	Tools  func(b *brain.Brain) []tools.Owned // those of the brain's files
	Log    *slog.Logger
	Now    func() time.Time
	Brain  func() *brain.Brain
	Ruling func(b *brain.Brain, p attache.Place, chatKind string) access.Ruling
	// Bindings gives what a place is bound to, statically and by tools; unread says
	// that those of tools cannot be known now.
	Bindings func(ctx context.Context, b *brain.Brain, p attache.Place) (list []attache.Binding, unread bool)
	// Parents gives what posts of a place brought with them that messages reply to.
	Parents func(ctx context.Context, b *brain.Brain, p attache.Place, of []Post) (map[Post]Parent, error)
	// Read reads views and documents in one snapshot. What it does not give is said
	// to be missing in the tail.
	Read func(ctx context.Context, b *brain.Brain, needs []contexts.Need) map[contexts.Need]contexts.Given
	// Model gives the client of an entry under `models:`, and what it is.
	Model func(b *brain.Brain, name string) (*model.Client, model.Profile, error)
	// Transcribe turns a voice message into words; ok is false when the brain has no
	// model for it.
	Transcribe func(ctx context.Context, b *brain.Brain, turn int64, audio File) (text string, ok bool, err error)
	// Ours tells which of the brain's bots a person is.
	Ours func(attache.PersonID) (attache.BotID, bool)
	// Fetch gets a file that came with a message.
	Fetch func(ctx context.Context, bot attache.BotID, m attache.Media) (File, error)
	// Draft begins a draft in a private chat; nil where there are none.
	Draft func(p attache.Place, turn int64, f attache.Format) Draft
	// Agents are the processes of roles that a CLI agent runs, and Folder is where one
	// works for a place that is held to something; false: it has no folder now.
	Agents *cliagent.Pool
	Folder func(p attache.Place, pin attache.Pin) (dir string, ok bool)
	// Usage records one exchange with a model.
	Usage func(ctx context.Context, x Exchange) error
}

// Post names a message that another one replies to, as that one names it.
type Post struct {
	Chat attache.ChatID
	ID   attache.MessageID
}

// Parent is what is known of a post that a message replies to.
type Parent struct {
	Reach attache.Reach // what the reply brings back
	Why   string        // why that is nothing, in one clause
	Lines bool          // it is an owner's own words from the chats page
}

// File is a file that came with a message.
type File struct {
	Name string
	MIME string
	Data []byte
}

// Exchange is one exchange with a model, for the record of costs.
type Exchange struct {
	Turn    int64
	N       int // which call of the turn, from 1
	Place   attache.Place
	Role    attache.RoleID
	At      time.Time
	Attempt model.Attempt
}

// Mind answers turns.
type Mind struct {
	o Options

	mu       sync.Mutex
	thinking map[int64]*thought // turns that are being answered, for tools that need theirs
	registry *tools.Registry    // of the brain below, which is the latest asked for
	of       *brain.Brain
}

// New migrates the package's table.
func New(ctx context.Context, o Options) (*Mind, error) {
	if err := Migrate(ctx, o.DB); err != nil {
		return nil, err
	}
	return &Mind{o: o, thinking: map[int64]*thought{}}, nil
}

// Migrate brings the package's tables up to date, those of carried, which stand in the
// same files, and the journal's; commands that only read call it too.
func Migrate(ctx context.Context, db *store.DB) error {
	if err := db.Migrate(ctx, "mind", migrations); err != nil {
		return fmt.Errorf("the table of tool calls: %w", err)
	}
	return journal.Migrate(ctx, db)
}

// Forget deletes from before a moment the calls of tools, what agents were told, and what
// carried and the journal keep.
func (m *Mind) Forget(ctx context.Context, before time.Time) error {
	for _, sql := range []string{
		`delete from attache.tool_calls where at < $1`,
		`delete from attache.cli_sessions where at < $1`,
	} {
		if _, err := m.o.DB.Pool().Exec(ctx, sql, before); err != nil {
			return err
		}
	}
	if err := carried.Forget(ctx, m.o.DB, before); err != nil {
		return err
	}
	return journal.Forget(ctx, m.o.DB, before)
}

// toolsOf gives the registry of a brain: files of tools are hot like all others, so
// each brain has its own. A tool of the brain that cannot join, such as one with the
// name of a built-in one, is left out, and the log says why.
func (m *Mind) toolsOf(b *brain.Brain) (*tools.Registry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == b {
		return m.registry, nil
	}
	built, found := append(slices.Clone(m.o.Built), m.ownTools()), m.o.Tools(b)
	registry, err := tools.New(append(slices.Clone(built), found...)...)
	if err != nil {
		registry, err = m.joining(built, found)
	}
	if err != nil {
		return nil, err
	}
	m.registry, m.of = registry, b
	return registry, nil
}

// joining makes the registry of the tools that can join, one after the other.
func (m *Mind) joining(built, found []tools.Owned) (*tools.Registry, error) {
	registry, err := tools.New(built...)
	for _, owned := range found {
		joined, wrong := tools.New(append(built, owned)...)
		if wrong != nil {
			m.o.Log.Error("a tool of the brain is left out", "part", owned.Owner, "err", wrong)
			continue
		}
		built, registry = append(built, owned), joined
	}
	return registry, err
}

// thought is one turn while it is answered. It keeps the brain that it began with.
type thought struct {
	m       *Mind
	run     engine.Run
	turn    gateway.Turn
	brain   *brain.Brain
	ruling  access.Ruling
	role    constitution.Role
	client  *model.Client
	profile model.Profile
	grant   tools.Grant
	known   *tools.Registry // every tool of the brain
	talk    conversation.Exchange
	asked   contexts.Turn   // what decides which contexts the turn carries
	holds   []contexts.Hold // that earlier turns left
	made    []contexts.Hold // that this one leaves
	mine    int             // of these, how many its links left before it called a tool
	spent   float64
	last    last // of a run
}

// errSeconds ends a turn that took longer than limits.seconds.
var errSeconds = errors.New("the turn took longer than limits.seconds allows")

// Answer answers a turn. An error means that it should be tried again; a failure
// that trying again does not cure is an Answer with one short sentence for the
// chat, whose detail is in the log under the turn's number.
func (m *Mind) Answer(ctx context.Context, run engine.Run, t gateway.Turn) (gateway.Answer, error) {
	b := m.o.Brain()
	th := &thought{m: m, run: run, turn: t, brain: b}
	enter := th.enter
	if t.Task != nil {
		enter = th.enterRun
	}
	if a, ok := enter(); !ok {
		return a, nil
	}
	limits := b.Frame.Manifest.Limits
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(limits.Seconds)*time.Second, errSeconds)
	defer cancel()
	m.mu.Lock()
	m.thinking[t.ID] = th
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.thinking, t.ID)
	}()
	text, err := th.think(ctx, limits)
	if err == nil {
		return th.answer(text), nil
	}
	if errors.Is(context.Cause(ctx), errSeconds) {
		err = errSeconds
	} else if ctx.Err() != nil || store.Transient(err) {
		return gateway.Answer{}, err
	}
	m.o.Log.Error("a turn could not be answered", "turn", t.ID, "bot", t.Place.Bot, "chat", t.Place.Chat, "err", err)
	if t.Task != nil { // nobody in the chat asked for it; the log and the doctor tell those who can mend it
		return gateway.Answer{Failed: true, Why: err.Error()}, nil
	}
	return gateway.Answer{
		Markdown: fmt.Sprintf("I could not answer that: %s (turn %d).", sentence(err), t.ID),
		Format:   attache.FormatEntities, Gone: gone(th.ruling), Failed: true, Why: err.Error(),
	}, nil
}

// enter finds the rule and the role of a chat's turn and who of its people is still
// let in. Without them it gives what the turn comes to.
func (th *thought) enter() (gateway.Answer, bool) {
	th.ruling = th.m.o.Ruling(th.brain, th.turn.Place, th.turn.Messages[0].Chat.Kind)
	if !th.ruling.Ruled() {
		return gateway.Answer{Why: "no rule holds any more: " + th.ruling.Why}, false
	}
	role, ok := th.brain.Frame.Role(th.ruling.Role)
	if !ok {
		return gateway.Answer{Why: fmt.Sprintf("the role %s does not load any more", th.ruling.Role), Failed: true}, false
	}
	th.role = role
	if th.turn.Messages = th.admitted(th.turn.Messages); len(th.turn.Messages) == 0 {
		return gateway.Answer{Why: "nobody who wrote it is let in any more"}, false
	}
	return gateway.Answer{}, true
}

// answer is what a turn says in the end.
func (th *thought) answer(text string) gateway.Answer {
	a := gateway.Answer{Markdown: text, Format: th.ruling.Format, Gone: gone(th.ruling)}
	if th.turn.Task != nil {
		a.Origin, a.Why, a.Refused = th.last.origin, th.last.why, th.last.refused
	}
	return a
}

// gone says in the gateway's word where an answer goes whose topic is gone.
func gone(r access.Ruling) string {
	if r.GoneChat {
		return "chat"
	}
	return "drop"
}

// sentence is what the chat may be told of an error.
func sentence(err error) string {
	if errors.Is(err, errSeconds) {
		return "it took too long"
	}
	return attache.Sentence(err)
}

// think prepares the turn and goes through its loop.
func (th *thought) think(ctx context.Context, limits constitution.Limits) (string, error) {
	if err := th.prepare(ctx); err != nil {
		return "", err
	}
	answer := th.loop
	if len(th.role.Engine.Command) > 0 {
		answer = th.converse
	}
	text, err := answer(ctx, limits)
	if err != nil {
		if ctx.Err() == nil {
			err = errors.Join(err, th.keep(ctx, false))
		}
		return "", err
	}
	if err := th.keep(ctx, true); err != nil {
		return "", err
	}
	return text, th.m.o.Talks.Answered(ctx, th.turn.ID, text, (len(th.talk.Input)+len(text))/4)
}
