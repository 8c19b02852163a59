package entity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"attache"
	"attache/internal/brainfile"
)

// Sheet is one mapping that is being read: where its keys stand, and what is wrong
// with it so far.
type Sheet struct {
	Problems []attache.Problem

	top brainfile.Node
	at  map[string]brainfile.Word // keys of a mapping below it as "place.chat"
}

// Open decodes a mapping into a struct, as [brainfile.Node.Decode] does.
func Open(n brainfile.Node, into any) *Sheet {
	s := &Sheet{Problems: n.Decode(into), top: n, at: map[string]brainfile.Word{}}
	s.note("", n)
	return s
}

// note remembers where each key of a mapping stands.
func (s *Sheet) note(prefix string, n brainfile.Node) {
	pairs, _ := n.Pairs()
	for _, p := range pairs {
		s.at[prefix+p.Key.Text] = p.Key
	}
}

// Given reports whether a key stands there.
func (s *Sheet) Given(key string) bool { _, ok := s.at[key]; return ok }

// Missing reports whether a key is not there, nor one that was meant to be it: that
// slip is told already.
func (s *Sheet) Missing(key string) bool {
	if !s.top.IsMap() {
		return false
	}
	for given := range s.at {
		if brainfile.Nearest(given, []string{key}) != "" {
			return false
		}
	}
	return true
}

// Wrong makes a problem that stands at a key, or where the mapping begins when it
// does not have the key.
func (s *Sheet) Wrong(key, what, do string) attache.Problem {
	if w, ok := s.at[key]; ok {
		return s.top.WrongAt(w, what, do)
	}
	return s.top.Wrong(what, do)
}

// Fail notes a mistake at a key.
func (s *Sheet) Fail(key, what, do string) { s.Problems = append(s.Problems, s.Wrong(key, what, do)) }

// WrongAt makes a problem that stands at a word.
func (s *Sheet) WrongAt(w brainfile.Word, what, do string) attache.Problem {
	return s.top.WrongAt(w, what, do)
}

// FailAt notes a mistake at a word.
func (s *Sheet) FailAt(w brainfile.Word, what, do string) {
	s.Problems = append(s.Problems, s.WrongAt(w, what, do))
}

// Sort puts the mistakes in the order of their lines.
func (s *Sheet) Sort() {
	slices.SortStableFunc(s.Problems, func(a, b attache.Problem) int { return a.Line - b.Line })
}

// Agent reads the role that works, "" for none.
func (s *Sheet) Agent(w brainfile.Word) attache.RoleID {
	id := strings.TrimSpace(w.Text)
	if w.Line > 0 && id == "" {
		s.Fail("agent", "agent is blank", "name the role that works, without .agent.md")
	}
	return attache.RoleID(id)
}

// Reach reads the contexts that runs reach. An empty list is no missing one: it
// reaches nothing, and nil leaves the reach to the layout of folders (matrix B4).
func (s *Sheet) Reach(list []brainfile.Word) attache.Reach {
	if list == nil {
		return nil
	}
	reach := make(attache.Reach, 0, len(list))
	for _, w := range list {
		id := attache.ContextID(strings.TrimSpace(w.Text))
		switch {
		case w.Line == 0: // no text; said already
		case id == "":
			s.FailAt(w, "an entry of reach is blank", "name a context, without .context.md")
		case reach.Has(id):
			s.FailAt(w, fmt.Sprintf("reach names %s twice", Brief(string(id))), "keep one of them")
		default:
			reach = append(reach, attache.ReachEntry{Context: id})
		}
	}
	return reach
}

// placeHead is what stands below `place`.
type placeHead struct {
	Bot    brainfile.Word `yaml:"bot"`
	Chat   brainfile.Word `yaml:"chat,required" do:"add chat: \"tg:chat:-100…\", the number that /doctor or the chats page shows"`
	Thread brainfile.Word `yaml:"thread"`
}

// Place reads where runs post, from the value of `place`.
func (s *Sheet) Place(n brainfile.Node) attache.Place {
	var h placeHead
	s.Problems = append(s.Problems, n.Decode(&h)...)
	s.note("place.", n)
	at := attache.Place{Bot: s.bot("place.", h.Bot), Chat: s.chat("place.", h.Chat)}
	if thread := s.thread("place.", h.Thread); thread != nil {
		at.Thread = *thread
	}
	return at
}

// Where is a filter of places: what is left out holds everywhere.
type Where struct {
	Bot    attache.BotID
	Chat   attache.ChatID
	Thread *attache.ThreadID // nil: the whole chat; 0 is General
}

// whereHead is what stands below `where`.
type whereHead struct {
	Bot    brainfile.Word `yaml:"bot"`
	Chat   brainfile.Word `yaml:"chat"`
	Thread brainfile.Word `yaml:"thread"`
}

// Where reads the value of `where`.
func (s *Sheet) Where(n brainfile.Node) Where {
	var h whereHead
	before := len(s.Problems)
	s.Problems = append(s.Problems, n.Decode(&h)...)
	s.note("where.", n)
	w := Where{Bot: s.bot("where.", h.Bot), Chat: s.chat("where.", h.Chat), Thread: s.thread("where.", h.Thread)}
	switch {
	case len(s.Problems) > before: // told already
	case !s.Given("where.bot") && !s.Given("where.chat") && !s.Given("where.thread"):
		s.Fail("where", "where names nothing", "name bot, chat or thread, or leave the key out")
	case s.Given("where.thread") && !s.Given("where.chat"):
		s.Fail("where.thread", "a thread has a number in its chat only", "name the chat too")
	}
	return w
}

// bot reads a bot of access.yaml; prefix is that of its key.
func (s *Sheet) bot(prefix string, w brainfile.Word) attache.BotID {
	id := strings.TrimSpace(w.Text)
	if w.Line > 0 && id == "" {
		s.Fail(prefix+"bot", "bot is blank", "name a bot of access.yaml, or leave the key out when there is one")
	}
	return attache.BotID(id)
}

// chat reads the address of a chat, 0 for none.
func (s *Sheet) chat(prefix string, w brainfile.Word) attache.ChatID {
	if w.Line == 0 {
		return 0
	}
	chat, err := attache.ParseChat(w.Text)
	if err != nil {
		s.Fail(prefix+"chat", fmt.Sprintf("%q is not the address of a chat", Brief(w.Text)), `write "tg:chat:-100…", the number that /doctor or the chats page shows`)
	}
	return chat
}

// thread reads the number of a topic, nil for none.
func (s *Sheet) thread(prefix string, w brainfile.Word) *attache.ThreadID {
	if w.Line == 0 {
		return nil
	}
	n, err := strconv.ParseInt(w.Text, 10, 64)
	switch {
	case err != nil || n < 0:
		s.Fail(prefix+"thread", fmt.Sprintf("%q is not the number of a thread", Brief(w.Text)), `write its digits, as in "42"; General is "0"`)
	case n == 1: // Telegram's number for General, which never reaches a place
		s.Fail(prefix+"thread", "a thread 1 does not exist", `General is "0"`)
	}
	id := attache.ThreadID(n)
	return &id
}

// Brief cuts a word that a person wrote to one short line.
func Brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
