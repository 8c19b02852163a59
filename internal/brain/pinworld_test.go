package brain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"attache"
	"attache/access"
	"attache/contexts"
	"attache/internal/brainfile"
)

// world is a brain that is edited while people talk: few contexts, keys, bots and
// places, so that everything meets. What the files say is kept beside them as plain
// values, for the oracle to judge by.
type world struct {
	t     *rapid.T
	brain *Brain

	contexts map[attache.ContextID]*fact
	roles    map[attache.RoleID]string // frontmatter
	rules    map[ruleAt]*rule
	ties     []access.Tie
	now      map[attache.ChatID]attache.ChatID // by the number that a group had

	talks   map[attache.Place]*talk
	records map[attache.Place]said // by bot and chat; posts of every thread
	turn    int64
	posts   int64
	unread  bool // this turn cannot read what tools bound
}

// fact is what the oracle knows of a context.
type fact struct {
	keyed bool
	when  []string
	more  string // the rest of its frontmatter
}

// ruleAt is where a rule of access.yaml stands: a bot's chat, or a thread of it.
type ruleAt struct {
	bot    attache.BotID
	chat   attache.ChatID
	thread attache.ThreadID // when not whole
	whole  bool
}

// rule is what a rule says of bindings.
type rule struct {
	role  attache.RoleID
	binds map[attache.ContextID]attache.EntityKey // "": no value
}

func bots() []attache.BotID               { return []attache.BotID{"nova", "vega"} }
func threads() []attache.ThreadID         { return []attache.ThreadID{0, 42, 43} }
func chats() []attache.ChatID             { return []attache.ChatID{-1, -2, -3, 5} }
func ids() []attache.ContextID            { return []attache.ContextID{"c0", "c1", "c2", "c3", "c4"} }
func roleIDs() []attache.RoleID           { return []attache.RoleID{"r0", "r1", "r2"} }
func isGroup(chat attache.ChatID) bool    { return chat < 0 }
func (w *world) one(name string) bool     { return w.upTo(name, 1) == 1 }
func (w *world) rare(name string) bool    { return w.upTo(name, 7) == 7 }
func (w *world) upTo(s string, n int) int { return rapid.IntRange(0, n).Draw(w.t, s) }

func from[T any](w *world, name string, list []T) T { return list[w.upTo(name, len(list)-1)] }

// key draws a key, "" for none.
func (w *world) key(name string) attache.EntityKey {
	return from(w, name, []attache.EntityKey{"", "k1", "k2", "k3"})
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, contexts: map[attache.ContextID]*fact{}, roles: map[attache.RoleID]string{}, rules: map[ruleAt]*rule{},
		now: map[attache.ChatID]attache.ChatID{}, talks: map[attache.Place]*talk{}, records: map[attache.Place]said{}}
	for _, id := range ids() {
		w.contexts[id] = w.fact(id)
	}
	for _, id := range roleIDs() {
		w.roles[id] = w.role()
	}
	for _, bot := range bots() {
		for _, chat := range chats() {
			if isGroup(chat) && w.upTo("rule", 3) > 0 {
				w.rules[ruleAt{bot: bot, chat: chat, whole: true}] = w.rule()
			}
		}
	}
	w.rebuild()
	return w
}

// fact draws a context.
func (w *world) fact(id attache.ContextID) *fact {
	f := &fact{keyed: w.upTo("keyed", 4) > 0}
	for _, word := range []string{"run", "chat", "reply", "ask", "always"} {
		if w.upTo("when", 2) > 0 {
			f.when = append(f.when, word)
		}
	}
	if len(f.when) == 0 {
		f.when = []string{"chat"}
	}
	f.more = fmt.Sprintf("keep: %d\n", w.upTo("keep", 3))
	if w.one("chars") {
		f.more += fmt.Sprintf("chars: %d\n", 150+w.upTo("own chars", 500))
	}
	f.more += from(w, "data", []string{
		fmt.Sprintf("data: [whole_%s, { view: card_%s, by: id }]\n", id, id),
		fmt.Sprintf("data: [{ view: card_%s, by: id }]\n", id),
		fmt.Sprintf("data: [whole_%s]\n", id),
	})
	return f
}

// role draws the frontmatter of a role.
func (w *world) role() string {
	var out strings.Builder
	switch w.upTo("admits", 3) {
	case 0, 1:
		out.WriteString("contexts: ['*']\n")
	case 2:
		var list []string
		for _, id := range ids() {
			if w.one("lists") {
				list = append(list, string(id))
			}
		}
		fmt.Fprintf(&out, "contexts: [%s]\n", strings.Join(list, ", "))
	}
	if w.upTo("opens", 3) > 0 {
		out.WriteString("capabilities: [context:read]\n")
	}
	if w.one("budget") {
		fmt.Fprintf(&out, "contextBudget: { maxActive: %d, turnChars: %d }\n", w.upTo("maxActive", 4), w.upTo("turnChars", 3000))
	}
	if w.one("state") {
		out.WriteString("state: [mood, whole_c0, card_c1]\n")
	}
	return out.String()
}

// rule draws what a rule binds; now and then its role does not exist, so that it is
// silenced and pins all the same.
func (w *world) rule() *rule {
	r := &rule{role: from(w, "role", []attache.RoleID{"r0", "r1", "r2", "r0", "r1", "ghost"}), binds: map[attache.ContextID]attache.EntityKey{}}
	for range w.upTo("binds", 2) {
		r.binds[from(w, "bound", ids())] = w.key("to")
	}
	return r
}

// rebuild writes the files and reads them.
func (w *world) rebuild() {
	files := []*brainfile.File{
		brainfile.New(manifest, []byte("name: World\n")),
		brainfile.New(rules, []byte(w.accessText())),
	}
	for id, f := range w.contexts {
		text := "---\n"
		if f.keyed {
			text += "entity: id\n"
		}
		text += "when: [" + strings.Join(f.when, ", ") + "]\n" + f.more + "---\nMind " + string(id) + ".\n"
		folder := "features/f0/"
		if id >= "c3" {
			folder = "features/f1/part/"
		}
		files = append(files, brainfile.New(folder+string(id)+".context.md", []byte(text)))
	}
	for id, head := range w.roles {
		files = append(files, brainfile.New("features/f0/"+string(id)+".agent.md", []byte("---\n"+head+"---\nYou speak.\n")))
	}
	for _, f := range []string{"f0", "f1"} {
		files = append(files, brainfile.New("features/"+f+"/FEATURE.md", []byte("---\n---\n")))
	}
	b, _, err := build("/world", brainfile.Of(files...), nil, w.brain)
	if err != nil {
		w.t.Fatal(err)
	}
	w.brain = b
}

// accessText writes access.yaml.
func (w *world) accessText() string {
	var b strings.Builder
	b.WriteString("bots:\n")
	for _, bot := range bots() {
		fmt.Fprintf(&b, "  %s:\n    dm: { role: r0, people: everyone }\n    default: { role: r1, people: everyone }\n    chats:\n      \"tg:chat:-99\": { role: r0 }\n", bot)
		for _, chat := range chats() {
			r := w.rules[ruleAt{bot: bot, chat: chat, whole: true}]
			if r == nil {
				continue
			}
			fmt.Fprintf(&b, "      \"tg:chat:%d\":\n        role: %s\n%s", chat, r.role, r.text("        "))
			below := "        threads:\n"
			for _, thread := range threads() {
				if r := w.rules[ruleAt{bot: bot, chat: chat, thread: thread}]; r != nil {
					fmt.Fprintf(&b, "%s          %d:\n            role: %s\n%s", below, thread, r.role, r.text("            "))
					below = ""
				}
			}
		}
	}
	return b.String()
}

func (r *rule) text(indent string) string {
	if len(r.binds) == 0 {
		return ""
	}
	out := indent + "contexts:\n"
	for _, id := range slices.Sorted(maps.Keys(r.binds)) {
		out += fmt.Sprintf("%s  %s: %s\n", indent, id, r.binds[id])
	}
	return out
}

// edit changes one thing about the files.
func (w *world) edit() {
	switch w.upTo("edit", 3) {
	case 0:
		id := from(w, "context", ids())
		w.contexts[id] = w.fact(id)
	case 1:
		w.roles[from(w, "role", roleIDs())] = w.role()
	case 2:
		bot, chat := from(w, "bot", bots()), from(w, "chat", []attache.ChatID{-1, -2, -3})
		w.rules[ruleAt{bot: bot, chat: chat, whole: true}] = w.rule()
	case 3:
		bot, chat := from(w, "bot", bots()), from(w, "chat", []attache.ChatID{-1, -2, -3})
		whole := ruleAt{bot: bot, chat: chat, whole: true}
		if w.rules[whole] == nil {
			w.rules[whole] = w.rule()
		}
		w.rules[ruleAt{bot: bot, chat: chat, thread: from(w, "thread", threads())}] = w.rule()
	}
	w.rebuild()
}

// binder is what judges tools' bindings, as the program makes it.
func (w *world) binder() access.Binder {
	var known []attache.ContextFact
	for f := range w.brain.Contexts.Files() {
		known = append(known, f.ContextFact)
	}
	return access.Binder{
		Policy: w.brain.Policy, Known: known,
		Absent: func(id attache.ContextID) string { _, why := w.brain.Contexts.File(id); return why },
		Ruled:  func(attache.Place) bool { return true },
		Formerly: func(chat attache.ChatID) (attache.ChatID, bool) {
			for old, now := range w.now {
				if now == chat {
					return old, true
				}
			}
			return 0, false
		},
	}
}

// rows answers needs with rows that name their view's context and the key.
func rows(needs []contexts.Need) map[contexts.Need]contexts.Given {
	given := map[contexts.Need]contexts.Given{}
	for _, n := range needs {
		g := contexts.Given{Columns: []string{"id"}, Values: [][]string{{"all of " + n.View}}}
		if n.By != "" {
			g.Values = [][]string{{mark(attache.ContextID(strings.TrimPrefix(n.View, "card_")), n.Key)}, {"more"}}
		}
		given[n] = g
	}
	return given
}

// mark is what a row of a context's entity says.
func mark(id attache.ContextID, key attache.EntityKey) string {
	return fmt.Sprintf("row:%s:%s.", id, key)
}
