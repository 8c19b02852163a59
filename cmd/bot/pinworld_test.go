package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/brain"
)

// pinWorld is a random brain that is edited while people talk. What its files bind is
// kept beside them as plain values: the oracle reads those and the table of what tools
// bound, and asks the program nothing.
type pinWorld struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	edits int
	slow  bool // vega waits for more words in the room

	rules map[pinRule]map[attache.ContextID]attache.EntityKey // "": bound to no key
	keyed map[attache.ContextID]bool
	room  []attache.ChatID // the numbers of the chat that moves, the first one first
	forum [2]attache.ThreadID
}

// pinRule is where a rule stands: a bot's chat, or a thread of it.
type pinRule struct {
	bot    attache.BotID
	chat   attache.ChatID
	thread attache.ThreadID
}

const (
	pinAcme, pinGlobex, pinRoom, pinForum = attache.ChatID(-1001), attache.ChatID(-1002), attache.ChatID(-1003), attache.ChatID(-1004)

	wholeChat attache.ThreadID = -1
)

func pinBots() []attache.BotID            { return []attache.BotID{"nova", "vega"} }
func pinContexts() []attache.ContextID    { return []attache.ContextID{"client", "ticket", "news"} }
func pinKeys() []attache.EntityKey        { return []attache.EntityKey{"k1", "k2", "k3"} }
func pinGroups() []attache.ChatID         { return []attache.ChatID{pinAcme, pinGlobex, pinRoom, pinForum} }
func choose[T any](r *rand.Rand, l []T) T { return l[r.IntN(len(l))] }

func newPinWorld(t *testing.T, rng *rand.Rand, forum [2]attache.ThreadID) *pinWorld {
	w := &pinWorld{t: t, rng: rng, rules: map[pinRule]map[attache.ContextID]attache.EntityKey{}, keyed: map[attache.ContextID]bool{},
		room: []attache.ChatID{pinRoom}, forum: forum}
	files := map[string]string{
		"constitution/MANIFEST.yaml":        "name: World\ntelegram: { pace: off }\ncontexts: { maxActive: 5, turnChars: 20000 }\nlimits: { calls: 6 }\n",
		"features/agency/FEATURE.md":        "---\ndescription: Clients.\n---\n",
		"features/support/FEATURE.md":       "---\ndescription: Tickets.\n---\n",
		"features/agency/open.agent.md":     "---\ndescription: Admits all.\ncontexts: ['*']\ncapabilities: ['*']\n---\nYou speak.\n",
		"features/agency/some.agent.md":     "---\ndescription: Admits one.\ncontexts: [client]\ncapabilities: ['*']\n---\nYou speak.\n",
		"features/agency/schema.sql":        pinSchema(),
		"features/agency/client.context.md": "", "features/support/ticket.context.md": "", "features/support/news.context.md": "", "constitution/access.yaml": "",
	}
	for _, bot := range pinBots() {
		for _, chat := range pinGroups() {
			w.rules[pinRule{bot, chat, wholeChat}] = w.binds(chat)
			if chat == pinForum {
				for _, thread := range forum {
					w.rules[pinRule{bot, chat, thread}] = w.binds(chat)
				}
			}
		}
	}
	for _, id := range pinContexts() {
		path, text := w.contextFile(id)
		files[path] = text
	}
	files["constitution/access.yaml"] = w.access()
	w.dir = brainFiles(t, files)
	return w
}

// pinSchema has a row for each key, which names its context and itself.
func pinSchema() string {
	var b strings.Builder
	for _, id := range []string{"client", "ticket"} {
		fmt.Fprintf(&b, "create table %s_rows (key text primary key, note text not null);\ncreate view %s_card as select key, note from %s_rows;\n", id, id, id)
		for _, key := range pinKeys() {
			fmt.Fprintf(&b, "insert into %s_rows values ('%s', 'row:%s:%s.');\n", id, key, id, key)
		}
	}
	return b.String() + "create view news_all as select 'nothing new' as news;\n"
}

// binds draws what a rule binds: mostly nothing, and never the client of the room,
// which is what tools bound there that must move with it.
func (w *pinWorld) binds(chat attache.ChatID) map[attache.ContextID]attache.EntityKey {
	out := map[attache.ContextID]attache.EntityKey{}
	if chat != pinRoom && w.rng.IntN(3) == 0 {
		out["client"] = choose(w.rng, []attache.EntityKey{"", "k1", "k1", "k2"})
	}
	if w.rng.IntN(5) == 0 || chat == pinRoom && w.rng.IntN(2) == 0 {
		out["ticket"] = choose(w.rng, append(pinKeys(), ""))
	}
	return out
}

// contextFile draws a context.
func (w *pinWorld) contextFile(id attache.ContextID) (path, text string) {
	w.edits++
	var when []string
	for _, word := range []string{"run", "chat", "reply", "ask", "always"} {
		if w.rng.IntN(3) > 0 && (word != "always" || id == "news") || word == "chat" {
			when = append(when, word)
		}
	}
	w.keyed[id] = id == "client" || id == "ticket" && w.rng.IntN(4) > 0
	head := fmt.Sprintf("when: [%s]\nkeep: %d\n", strings.Join(when, ", "), w.rng.IntN(4))
	if w.keyed[id] {
		head += "entity: id\n"
	}
	switch {
	case id == "news":
		head += "data: [news_all]\n"
	default:
		head += fmt.Sprintf("data: [{ view: %s_card, by: key }]\n", id)
	}
	folder := "features/support/"
	if id == "client" {
		folder = "features/agency/"
	}
	return folder + string(id) + ".context.md", fmt.Sprintf("---\n%s---\nEdition %d of %s.\n", head, w.edits, id)
}

// access writes access.yaml.
func (w *pinWorld) access() string {
	w.edits++
	var b strings.Builder
	fmt.Fprintf(&b, "# edition %d\nowners: [\"tg:user:5\"]\nbots:\n", w.edits)
	for _, bot := range pinBots() {
		fmt.Fprintf(&b, "  %s:\n    merge: 0s\n    dm: { role: open, people: everyone }\n    chats:\n", bot)
		for _, chat := range pinGroups() {
			role := choose(w.rng, []string{"open", "open", "some"})
			fmt.Fprintf(&b, "      \"tg:chat:%d\":\n        role: %s\n        people: everyone\n        engage: mention\n%s", chat, role, pinBinds("        ", w.rules[pinRule{bot, chat, wholeChat}]))
			if chat == pinRoom {
				fmt.Fprintf(&b, "        merge: %v\n", map[bool]string{true: "3s", false: "0s"}[w.slow && bot == "vega"])
			}
			if chat != pinForum {
				continue
			}
			b.WriteString("        threads:\n")
			for _, thread := range w.forum {
				fmt.Fprintf(&b, "          %d:\n            engage: mention\n%s", thread, pinBinds("            ", w.rules[pinRule{bot, chat, thread}]))
			}
		}
	}
	return b.String()
}

func pinBinds(indent string, binds map[attache.ContextID]attache.EntityKey) string {
	if len(binds) == 0 {
		return ""
	}
	out := indent + "contexts:\n"
	for _, id := range slices.Sorted(maps.Keys(binds)) {
		out += fmt.Sprintf("%s  %s: %s\n", indent, id, binds[id])
	}
	return out
}

// edit changes one file and gives the version that the brain has then.
func (w *pinWorld) edit() string {
	path, text := "constitution/access.yaml", ""
	if w.rng.IntN(2) == 0 {
		path, text = w.contextFile(choose(w.rng, pinContexts()))
	} else {
		at := choose(w.rng, slices.SortedFunc(maps.Keys(w.rules), func(a, b pinRule) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }))
		w.rules[at] = w.binds(at.chat)
		text = w.access()
	}
	return w.save(path, text)
}

// beat gives the one beat of the brain another place and another reach.
func (w *pinWorld) beat(at attache.Place, body string) string {
	w.edits++
	reach := ""
	if w.rng.IntN(2) == 0 {
		reach = "reach: [" + strings.Join([]string{"client", "ticket", "news"}[w.rng.IntN(3):], ", ") + "]\n"
	}
	return w.save("features/agency/tick.heartbeat.md", fmt.Sprintf("---\ndescription: Edition %d.\ncron: '* * * * *'\nagent: open\nplace: { bot: %s, chat: %d, thread: %d }\n%s---\n%s\n",
		w.edits, at.Bot, at.Chat, at.Thread, reach, body))
}

// save puts a file of the brain in its place at once, as editors that save safely do,
// and gives the version that the brain has then.
func (w *pinWorld) save(path, text string) string {
	tmp := filepath.Join(w.t.TempDir(), "new")
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(w.dir, path)); err != nil {
		w.t.Fatal(err)
	}
	b, _, err := brain.Load(w.dir, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Version
}

// pins is what places hold contexts to: those that are missing are free.
type pins map[attache.Place]map[attache.ContextID]attache.EntityKey

// pinTie is a row of attache.bindings.
type pinTie struct {
	Context attache.ContextID
	Chat    attache.ChatID
	Thread  *attache.ThreadID
	Bot     attache.BotID
	Entity  attache.EntityKey
}

// now tells what every place holds, by the words of decisions § 3.7, § 3.8 and § 3.13.
func (w *pinWorld) now(conn *pgx.Conn, places []attache.Place) pins {
	rows, err := conn.Query(soon(w.t), `select context, chat, thread, bot, entity from attache.bindings`)
	if err != nil {
		w.t.Fatal(err)
	}
	ties, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pinTie])
	if err != nil {
		w.t.Fatal(err)
	}
	out := pins{}
	for _, at := range places {
		out[at] = map[attache.ContextID]attache.EntityKey{}
		for _, id := range pinContexts() {
			if key, found := w.bound(at, id, ties); found {
				out[at][id] = key
			}
		}
	}
	return out
}

// bound finds the strongest binding of a context.
func (w *pinWorld) bound(at attache.Place, id attache.ContextID, ties []pinTie) (attache.EntityKey, bool) {
	number := at.Chat
	if slices.Contains(w.room, number) {
		number = w.room[0]
	}
	for _, thread := range []attache.ThreadID{at.Thread, wholeChat} {
		said := map[attache.EntityKey]bool{}
		for _, bot := range pinBots() {
			if key, binds := w.rules[pinRule{bot, number, thread}][id]; binds {
				said[key] = true
			}
		}
		switch {
		case len(said) > 1:
			return "", true
		case len(said) == 1:
			return slices.Collect(maps.Keys(said))[0], true
		}
	}
	for _, whole := range []bool{false, true} {
		for _, bot := range []attache.BotID{at.Bot, ""} {
			for _, x := range ties {
				same := x.Chat == at.Chat || slices.Contains(w.room, x.Chat) && slices.Contains(w.room, at.Chat)
				if same && x.Context == id && x.Bot == bot && (whole == (x.Thread == nil)) && (whole || *x.Thread == at.Thread) {
					return x.Entity, true
				}
			}
		}
	}
	return "", false
}
