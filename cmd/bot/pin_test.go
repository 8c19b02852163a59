package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// pinWalk plays random turns through the whole program.
type pinWalk struct {
	*pinWorld
	s     *stage
	model *pinModel
	conn  *pgx.Conn // of the test's own, spared when the database is cut
	cut   *pgx.Conn
	vega  *telegramsim.User

	chats  map[attache.ChatID]*telegramsim.Chat // by their number of now
	dms    map[attache.Place]*telegramsim.Chat
	epochs map[attache.Place]*pinStretch
	seen   map[string]bool // origins that were judged
	posts  map[*telegramsim.Chat]int
	n      int
	runs   int
	clock  *walkClock
	faults map[string]int
}

// pinStretch is where a place stands in its epochs.
type pinStretch struct {
	n    int
	held map[attache.ContextID]attache.EntityKey
}

// Whatever people and a model without a will of its own do in a random brain, with two
// bots, clients' groups, topics, a group that moves, edits, a database that is cut
// and a table of bindings that cannot be read: no request, tool result, origin, line of
// the ledger or message of the engine carries another key into a place that is held
// to one, and no answer passes from under one key to under another.
//
// ATTACHE_PIN_TURNS says how many turns; ATTACHE_PIN_SEED repeats a run.
//
// rows D14, D15, D16, D17
func TestThePinHoldsThroughTheProgram(t *testing.T) {
	turns, seed := 60, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("ATTACHE_PIN_TURNS")); err == nil {
		turns = n
	}
	if n, err := strconv.ParseUint(os.Getenv("ATTACHE_PIN_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("ATTACHE_PIN_SEED=%d ATTACHE_PIN_TURNS=%d", seed, turns)
	w := newPinWalk(t, seed)
	for w.n < turns && !t.Failed() {
		switch k := w.rng.IntN(20); {
		case w.n == turns/3 && len(w.room) == 1:
			w.move()
		case k < 3:
			w.isRead(w.edit())
		case k == 3:
			w.anew(w.somewhere())
		case k < 6:
			w.context(w.rebound())
		case k < 9:
			w.beats(w.somewhere())
		default:
			w.turn(w.somewhere())
		}
	}
	t.Logf("%d turns, %d of them runs, %d rows shown, %d origins, faults %v", w.n, w.runs, w.model.shown, len(w.seen), w.faults)
	if w.runs == 0 || w.model.shown < turns/10 || len(w.seen) == 0 {
		t.Error("hardly anything was shown; the test proves nothing")
	}
}

// isRead waits until the program has read a version of the brain.
func (w *pinWalk) isRead(version string) {
	until(w.s.t, w.s.log, "the edit is read", func() bool { return w.s.log.has("part=" + version) })
}

func newPinWalk(t *testing.T, seed uint64) *pinWalk {
	s := newStage(t)
	clock := &walkClock{now: time.Now().Truncate(time.Minute).Add(30 * time.Second)}
	s.clock = clock
	w := &pinWalk{s: s, clock: clock, chats: map[attache.ChatID]*telegramsim.Chat{}, dms: map[attache.Place]*telegramsim.Chat{},
		epochs: map[attache.Place]*pinStretch{}, seen: map[string]bool{}, posts: map[*telegramsim.Chat]int{}, faults: map[string]int{}}
	w.vega = s.sim.AddBot(telegramsim.User{Name: "Vega", Username: "vega_bot"})
	w.vega.SetPrivacy(false)
	for id, kind := range map[attache.ChatID]string{pinAcme: "group", pinGlobex: "group", pinRoom: "group", pinForum: "forum"} {
		w.chats[id] = s.sim.AddChat(telegramsim.Chat{ID: id, Kind: kind, Title: fmt.Sprint(id)}, s.ann, s.bo, s.bot, w.vega)
	}
	forum := [2]attache.ThreadID{w.chats[pinForum].CreateTopic(s.ann, "One"), w.chats[pinForum].CreateTopic(s.ann, "Two")}
	for _, bot := range pinBots() {
		for _, person := range []*telegramsim.User{s.ann, s.bo} {
			w.dms[attache.Place{Bot: bot, Chat: attache.ChatID(person.ID)}] = s.sim.DM(person, w.user(bot))
		}
	}
	w.pinWorld = newPinWorld(t, rand.New(rand.NewPCG(seed, 1)), forum)
	w.model = newPinModel(t, seed)
	t.Setenv("OPENAI_BASE_URL", w.model.url)
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("TELEGRAM_BOT_TOKEN_VEGA", w.vega.Token)
	w.conn, w.cut = w.connect(), w.connect()
	s.start("--brain", w.dir)
	until(t, s.log, "both bots are there", func() bool { return strings.Count(s.log.String(), "the bot is there") == 2 })
	return w
}

// connect gives a connection that no cut ends.
func (w *pinWalk) connect() *pgx.Conn {
	config, err := pgx.ParseConfig(w.s.dsn)
	if err != nil {
		w.s.t.Fatal(err)
	}
	config.RuntimeParams["application_name"] = "pinwalk"
	conn, err := pgx.ConnectConfig(soon(w.s.t), config)
	if err != nil {
		w.s.t.Fatal(err)
	}
	w.s.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (w *pinWalk) user(bot attache.BotID) *telegramsim.User {
	if bot == "vega" {
		return w.vega
	}
	return w.s.bot
}

// places lists every place, a moved group under both of its numbers.
func (w *pinWalk) places() []attache.Place {
	var out []attache.Place
	for _, bot := range pinBots() {
		for _, chat := range slices.Concat([]attache.ChatID{pinAcme, pinGlobex, pinForum, 5, 6}, w.room) {
			out = append(out, attache.Place{Bot: bot, Chat: chat})
			if chat == pinForum {
				out = append(out, attache.Place{Bot: bot, Chat: chat, Thread: w.forum[0]}, attache.Place{Bot: bot, Chat: chat, Thread: w.forum[1]})
			}
		}
	}
	return out
}

// somewhere draws a place where people may speak now.
func (w *pinWalk) somewhere() attache.Place {
	at := attache.Place{Bot: choose(w.rng, pinBots()), Chat: choose(w.rng, []attache.ChatID{pinAcme, pinAcme, pinGlobex, w.room[len(w.room)-1], w.room[len(w.room)-1], pinForum, pinForum, 5, 6})}
	if at.Chat == pinForum {
		at.Thread = choose(w.rng, []attache.ThreadID{0, w.forum[0], w.forum[1]})
	}
	return at
}

// rebound gives a place that is held to other keys than in its latest turn, if there
// is one.
func (w *pinWalk) rebound() attache.Place {
	now := w.now(w.conn, w.places())
	for _, at := range w.places() {
		e := w.epochs[at]
		if slices.Contains(w.room, at.Chat) {
			e, at.Chat = w.epochs[attache.Place{Bot: at.Bot, Chat: pinRoom}], w.room[len(w.room)-1]
		}
		if e != nil && len(now[at]) > 0 && !maps.Equal(now[at], e.held) {
			return at
		}
	}
	return w.somewhere()
}

func (w *pinWalk) chat(at attache.Place) *telegramsim.Chat {
	if at.Chat.Private() {
		return w.dms[attache.Place{Bot: at.Bot, Chat: at.Chat}]
	}
	return w.chats[at.Chat]
}

// line is something that a person says to the bot of a place.
func (w *pinWalk) line(at attache.Place, text string) telegramsim.Line {
	from := w.s.ann
	if at.Chat == 6 {
		from = w.s.bo
	}
	return telegramsim.Line{From: from, Thread: at.Thread, Text: text}
}

// stretch tells where a place stands: a new epoch begins when it is held to other keys.
func (w *pinWalk) stretch(at attache.Place, held map[attache.ContextID]attache.EntityKey) pinEpoch {
	if slices.Contains(w.room, at.Chat) {
		at.Chat = pinRoom
	}
	e := w.epochs[at]
	if e == nil {
		e = &pinStretch{held: held}
		w.epochs[at] = e
	}
	// By its keys and not by how often they changed: a run under other keys ends no
	// session of the place, and one that comes back to its keys goes on.
	e.held = held
	return pinEpoch{at, e.n, fmt.Sprint(held)}
}

// begin tells the model what is played at a place, and what every place is held to.
func (w *pinWalk) begin(at attache.Place, unread bool, calls []modeltest.Call, during func()) (pinStep, pins) {
	w.n++
	before := w.now(w.conn, w.places())
	step := pinStep{n: w.n, at: at, held: before[at], keyed: maps.Clone(w.keyed), unread: unread, calls: calls,
		chats: slices.Concat([]attache.ChatID{pinAcme, pinGlobex, pinForum, 5, 6}, w.room), topics: []attache.ThreadID{0, w.forum[0], w.forum[1]}}
	step.epoch = pinEpoch{at: at, n: -w.n} // of no other turn
	if !unread {
		held := maps.Clone(before[at]) // a context about no entity holds a place to nothing
		maps.DeleteFunc(held, func(id attache.ContextID, _ attache.EntityKey) bool { return !w.keyed[id] })
		step.epoch = w.stretch(at, held)
	}
	step.says = step.epoch
	w.model.play(step, during)
	return step, before
}

// turn plays one turn and judges what it left.
func (w *pinWalk) turn(at attache.Place) {
	unread, during := false, func() {}
	switch w.rng.IntN(12) {
	case 0:
		unread = true
		w.faults["unread"]++
	case 1:
		if w.faults["cut"] < 8 {
			w.faults["cut"]++
			during = w.cutDatabase
		}
	}
	step, before := w.begin(at, unread, nil, during)
	line := w.line(at, fmt.Sprintf("@%s_bot step %d", at.Bot, w.n))
	w.replies(&line, at)
	if unread {
		w.run(`alter table attache.bindings rename to bindings_away`)
	}
	ended := w.ended()
	w.s.send(w.chat(at), line)
	until(w.s.t, w.s.log, fmt.Sprintf("turn %d ends at %v", w.n, at), func() bool { return w.ended() > ended })
	if unread {
		w.run(`alter table attache.bindings_away rename to bindings`)
	}
	w.judgeStep(step, before)
}

// beats lets the beat fire in a group: a run without history, whose words stand in the
// place's history from then on.
func (w *pinWalk) beats(at attache.Place) {
	if at.Chat.Private() {
		return
	}
	if slices.Contains(w.room, at.Chat) {
		at.Chat = pinRoom // as the file that the beat stands in still names it
	}
	w.isRead(w.beat(at, fmt.Sprintf("step %d", w.n+1)))
	step, before := w.begin(at, false, nil, func() {})
	w.model.mu.Lock()
	w.model.step.epoch = pinEpoch{at: at, n: -w.n}
	w.model.mu.Unlock()
	ended := w.ended()
	for end := w.clock.Now().Add(time.Minute); !w.clock.hop(end); {
		until(w.s.t, w.s.log, "the beats are looked after", func() bool { asleep, _ := w.clock.asleep(); return asleep })
	}
	until(w.s.t, w.s.log, fmt.Sprintf("run %d ends at %v", w.n, at), func() bool { return w.ended() > ended })
	w.runs++
	w.judgeStep(step, before)
}

// replies makes a line a reply to a post of a bot, mostly of this chat.
func (w *pinWalk) replies(line *telegramsim.Line, at attache.Place) {
	if w.rng.IntN(3) > 0 {
		return
	}
	in := w.chat(at)
	if other := w.chat(w.somewhere()); w.rng.IntN(6) == 0 && other != in && !at.Chat.Private() {
		in, line.ReplyIn = other, other
	}
	var posts []telegramsim.Post
	for _, p := range in.Posts() {
		if line.ReplyIn != nil || p.Thread == at.Thread {
			posts = append(posts, p)
		}
	}
	if len(posts) == 0 {
		line.ReplyIn = nil
		return
	}
	line.ReplyTo = posts[max(0, len(posts)-1-w.rng.IntN(8))].ID
}

// ended counts turns that are over. A connection of the test's own is never cut.
func (w *pinWalk) ended() (n int) {
	if err := w.conn.QueryRow(soon(w.s.t), `select count(*) from attache.turns where ended is not null`).Scan(&n); err != nil {
		w.s.t.Fatal(err)
	}
	return n
}

func (w *pinWalk) run(sql string) {
	if _, err := w.conn.Exec(soon(w.s.t), sql); err != nil {
		w.s.t.Fatal(err)
	}
}

// cutDatabase ends every connection of the program, in the middle of what it does.
func (w *pinWalk) cutDatabase() {
	_, err := w.cut.Exec(context.Background(), `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = current_database() and application_name <> 'pinwalk'`)
	if err != nil {
		w.s.t.Error(err)
	}
}

// judgeStep judges what a turn wrote down and what the engine said.
func (w *pinWalk) judgeStep(step pinStep, before pins) {
	w.s.t.Helper()
	after := w.now(w.conn, w.places())
	rows, err := w.conn.Query(soon(w.s.t), `select context, entity, status from attache.turn_contexts
		where turn = (select max(id) from attache.turns where ended is not null) and status <> 'refused'`)
	if err != nil {
		w.s.t.Fatal(err)
	}
	var id attache.ContextID
	var key attache.EntityKey
	var status string
	if _, err = pgx.ForEachRow(rows, []any{&id, &key, &status}, func() error {
		if step.foreign(id, key) {
			w.s.t.Errorf("step %d at %v, held to %v: the ledger has %s %s@%s", step.n, step.at, step.held, status, id, key)
		}
		return nil
	}); err != nil {
		w.s.t.Fatal(err)
	}
	w.judgeOrigins(step, before, after)
	w.judgeBindings(step, before, after)
	w.judgePosts(step, before, after)
}

// judgeBindings demands that a turn in a pinned place changed only that place, and
// places that were held to the same.
func (w *pinWalk) judgeBindings(step pinStep, before, after pins) {
	own := maps.Clone(step.held)
	maps.DeleteFunc(own, func(id attache.ContextID, _ attache.EntityKey) bool { return !step.keyed[id] })
	if !maps.Equal(before[step.at], after[step.at]) {
		return // it bound itself first, and what held it then is not known
	}
	for _, at := range w.places() {
		here := at == step.at || slices.Contains(w.room, at.Chat) && slices.Contains(w.room, step.at.Chat)
		if here || len(own) == 0 || before[at] == nil || maps.Equal(before[at], after[at]) {
			continue
		}
		for id, key := range own {
			if there, held := before[at][id]; !held || there != key {
				w.s.t.Errorf("step %d at %v, held to %v, bound %v, which was held to %v and is to %v", step.n, step.at, step.held, at, before[at], after[at])
			}
		}
	}
}

// judgeOrigins judges the origins that are new. A key may be that of before or of
// after the turn, which may have bound the place itself.
func (w *pinWalk) judgeOrigins(step pinStep, before, after pins) {
	rows, err := w.conn.Query(soon(w.s.t), `select bot, chat, thread, message, reach from attache.message_origins`)
	if err != nil {
		w.s.t.Fatal(err)
	}
	var at attache.Place
	var message attache.MessageID
	var raw []byte
	if _, err := pgx.ForEachRow(rows, []any{&at.Bot, &at.Chat, &at.Thread, &message, &raw}, func() error {
		name := fmt.Sprint(at.Bot, at.Chat, message)
		if w.seen[name] || message < 0 {
			return nil
		}
		w.seen[name] = true
		var reach attache.Reach
		if err := json.Unmarshal(raw, &reach); err != nil {
			return err
		}
		for _, e := range reach {
			was, pinnedBefore := before[at][e.Context]
			is, pinnedAfter := after[at][e.Context]
			if step.keyed[e.Context] && e.Key != "" && (step.unread || pinnedBefore && was != e.Key && pinnedAfter && is != e.Key) {
				w.s.t.Errorf("step %d: a post at %v, held to %v, remembers %s", step.n, at, after[at], e)
			}
		}
		return nil
	}); err != nil {
		w.s.t.Fatal(err)
	}
}

// within reports whether a place is held to every key of another: a context about no
// entity is no key.
func (s pinStep) within(own, there map[attache.ContextID]attache.EntityKey) bool {
	for id, key := range own {
		if other, held := there[id]; s.keyed[id] && (!held || other != key) {
			return false
		}
	}
	return true
}

// judgePosts demands that the engine itself repeats no row, and that what a turn sends
// leaves a pinned place only for one that is held to the same, or for an owner.
func (w *pinWalk) judgePosts(step pinStep, before, after pins) {
	for _, chat := range slices.Concat(slices.Collect(maps.Values(w.chats)), slices.Collect(maps.Values(w.dms))) {
		posts := chat.Posts()
		for _, p := range posts[w.posts[chat]:] {
			text, to := p.Words(), attache.Place{Bot: step.at.Bot, Chat: chat.ID, Thread: p.Thread}
			if pinRow.MatchString(text) && !pinSaid.MatchString(text) {
				w.s.t.Errorf("the engine says in %s: %s", chat.Title, text)
			}
			here := to == step.at || slices.Contains(w.room, to.Chat) && slices.Contains(w.room, step.at.Chat)
			if text != fmt.Sprintf("note of step %d", step.n) || here || chat.ID == attache.ChatID(w.s.ann.ID) {
				continue
			}
			if !step.within(before[step.at], before[to]) && !step.within(after[step.at], after[to]) {
				w.s.t.Errorf("step %d at %v, held to %v, wrote to %v, held to %v", step.n, step.at, before[step.at], to, before[to])
			}
		}
		w.posts[chat] = len(posts)
	}
}

// command gives a command to the bot of a place and waits for what it says.
func (w *pinWalk) command(at attache.Place, command string) string {
	chat := w.chat(at)
	before := len(chat.Posts(at.Thread))
	if !at.Chat.Private() {
		command += fmt.Sprintf("@%s_bot", at.Bot)
	}
	w.s.send(chat, w.line(at, command))
	w.s.await(chat, before+1, at.Thread)
	return chat.Posts(at.Thread)[before].Words()
}

// context asks what the latest turn of a place carried.
func (w *pinWalk) context(at attache.Place) {
	step := pinStep{held: w.now(w.conn, w.places())[at], keyed: w.keyed}
	text := w.command(at, "/context")
	if !strings.Contains(text, "Contexts:") && !strings.Contains(text, "answered nothing here") {
		w.s.t.Errorf("/context at %v says %s", at, text)
	}
	for _, found := range pinEntry.FindAllStringSubmatch(text, -1) {
		if step.foreign(attache.ContextID(found[1]), attache.EntityKey(found[2])) {
			w.s.t.Errorf("after step %d /context says at %v, held to %v:\n%s", w.n, at, step.held, text)
		}
	}
}

// anew begins a session by /new: nothing from before it comes back.
func (w *pinWalk) anew(at attache.Place) {
	if text := w.command(at, "/new"); !strings.Contains(text, "new session") {
		w.s.t.Errorf("/new says %q", text)
	}
	if slices.Contains(w.room, at.Chat) {
		at.Chat = pinRoom
	}
	if e := w.epochs[at]; e != nil {
		e.n++
	}
}

// move makes a supergroup of the room while vega is deaf: nova hears of it, what was
// bound there moves, and then a turn of vega's begins under the old number.
func (w *pinWalk) move() {
	w.run(`insert into attache.bindings (context, chat, bot, entity, role, turn) values ('client', -1003, '', 'k3', 'open', 0)
		on conflict (chat, context, thread, bot) do update set entity = 'k3'`)
	at := attache.Place{Bot: "vega", Chat: pinRoom}
	var calls []modeltest.Call
	for _, key := range pinKeys() {
		calls = append(calls, modeltest.Call{Name: "context_open", Args: fmt.Sprintf(`{"name":"client","entity":%q}`, key)},
			modeltest.Call{Name: "notification_send", Args: fmt.Sprintf(`{"text":"note of step %d","about":{"context":"client","entity":%q}}`, w.n+1, key)},
			modeltest.Call{Name: "context_bind", Args: fmt.Sprintf(`{"context":"ticket","entity":%q,"chat":"tg:chat:%d"}`, key, pinAcme)})
	}
	w.slow = true
	w.isRead(w.save("constitution/access.yaml", w.access()))
	step, before := w.begin(at, false, calls, nil)
	ended := w.ended()
	w.s.send(w.chats[pinRoom], w.line(at, fmt.Sprintf("@vega_bot step %d", w.n)))
	until(w.s.t, w.s.log, "vega's turn waits", func() bool {
		return count(w.s.t, w.conn, `select count(*) from attache.turns where bot = 'vega' and state = 'waiting'`) == 1
	})
	w.s.sim.Break(telegramsim.Fault{Bot: w.vega, Method: "getUpdates", Kind: telegramsim.ServerError, Times: -1})
	w.chats[pinGlobex].Say(w.s.bo, "to nobody") // ends the poll that is on its way
	until(w.s.t, w.s.log, "vega is deaf", func() bool { return w.s.log.has("getUpdates was answered with 500") })
	super := w.chats[pinRoom].Migrate()
	w.room = append(w.room, super.ID)
	w.chats[super.ID] = super
	until(w.s.t, w.s.log, "nova has moved", func() bool {
		return count(w.s.t, w.conn, `select count(*) from attache.chat_aliases where bot = 'nova'`) == 1
	})
	if n := count(w.s.t, w.conn, `select count(*) from attache.turns where bot = 'vega' and chat = -1003 and state = 'waiting'`); n != 1 {
		w.s.t.Error("vega's turn did not wait under the old number; the test proves less")
	}
	until(w.s.t, w.s.log, "vega's turn ends", func() bool { return w.ended() > ended })
	w.s.sim.Heal()
	w.slow = false
	w.isRead(w.save("constitution/access.yaml", w.access()))
	until(w.s.t, w.s.log, "vega has moved", func() bool {
		return count(w.s.t, w.conn, `select count(*) from attache.chat_aliases where bot = 'vega'`) == 1
	})
	w.faults["half-migrated"]++
	before[step.at] = step.held
	w.judgeStep(step, before)
}
