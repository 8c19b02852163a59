package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// parsed is access.yaml as far as it can be understood without the rest of the
// brain. It is made once for a text.
type parsed struct {
	file     *brainfile.File
	usable   bool // whether there are keys at all
	owners   map[attache.PersonID]bool
	bots     map[attache.BotID]*bot
	order    []attache.BotID // as they stand in the file
	problems []attache.Problem
}

// bot is what stands below one key of `bots:`.
type bot struct {
	id     attache.BotID
	names  []string
	merge  time.Duration
	format attache.Format
	line   int
	wrong  bool // it or one of its keys stands twice, so none of its rules holds
	dm     *rule
	def    *rule
	chats  []*rule
	byChat map[attache.ChatID]*rule
}

// fileForm is the top of access.yaml.
type fileForm struct {
	Owners brainfile.Node `yaml:"owners"`
	Bots   brainfile.Node `yaml:"bots"`
}

// botForm is a bot of access.yaml. What is not a rule has a default, so a mistake
// in it silences nothing.
type botForm struct {
	Names   []string       `yaml:"names"`
	Merge   time.Duration  `yaml:"merge"`
	Format  string         `yaml:"format" oneof:"auto,rich,entities"`
	DM      brainfile.Node `yaml:"dm"`
	Default brainfile.Node `yaml:"default"`
	Chats   brainfile.Node `yaml:"chats"`
}

// quiet is the pause that ends a burst where no rule and no bot says another
// (interface § 3).
const quiet = 1200 * time.Millisecond

// parse reads the text. A text without keys is not usable: it is most likely a
// file that is being written, and emptying the rules must be said with `bots: {}`.
func parse(f *brainfile.File) *parsed {
	out := &parsed{file: f, owners: map[attache.PersonID]bool{}, bots: map[attache.BotID]*bot{}}
	top, problems := f.YAML()
	pairs, twice := top.Pairs()
	switch {
	case len(problems) > 0:
		out.problems = problems
		return out
	case len(twice) > 0:
		out.problems = twice // owners or bots stands twice, or this is no mapping: it has no one meaning
		return out
	case len(pairs) == 0:
		out.problems = one(f.Wrong(1, 1, "the file has no keys", "write owners: and bots:; a brain that answers nobody has bots: {}"))
		return out
	}
	out.usable = true
	var form fileForm
	out.problems = top.Decode(&form)
	out.parseOwners(form.Owners, pairs)
	out.parseBots(form.Bots, pairs)
	return out
}

// given finds a key among pairs.
func given(pairs []brainfile.Pair, key string) (brainfile.Word, bool) {
	for _, p := range pairs {
		if p.Key.Text == key {
			return p.Key, true
		}
	}
	return brainfile.Word{}, false
}

// parseOwners takes every owner that is written rightly: one slip must not lock
// the others out.
func (out *parsed) parseOwners(n brainfile.Node, pairs []brainfile.Pair) {
	at, ok := given(pairs, "owners")
	if !ok {
		return
	}
	items, isList := n.Items()
	if !isList {
		out.problems = append(out.problems, n.WrongAt(at, "owners is no list", "write addresses in brackets, as in [tg:user:111111]"))
		return
	}
	for _, item := range items {
		id, wrong := owner(item)
		out.problems = append(out.problems, wrong...)
		if len(wrong) == 0 {
			out.owners[id] = true
		}
	}
}

// parseBots reads each bot by itself.
func (out *parsed) parseBots(n brainfile.Node, pairs []brainfile.Pair) {
	at, ok := given(pairs, "bots")
	switch {
	case !ok:
		return
	case n.Empty() || !n.IsMap():
		out.problems = append(out.problems, n.WrongAt(at, "bots has no bots", "write the id of a bot and its rules below it; a brain that answers nobody has bots: {}"))
		return
	}
	bots, problems := n.Pairs()
	out.problems = append(out.problems, problems...)
	for _, p := range bots {
		id := attache.BotID(p.Key.Text)
		if !botName.MatchString(p.Key.Text) {
			out.problems = append(out.problems, n.WrongAt(p.Key, fmt.Sprintf("%q is no id of a bot", p.Key.Text), "use letters, digits, - and _ only"))
			continue
		}
		b := out.parseBot(id, p)
		if twin := out.bots[id]; twin != nil {
			b.wrong, twin.wrong = true, true
			twin.take(b.chats) // none of them rules, all of them pin
			continue
		}
		out.bots[id] = b
		out.order = append(out.order, id)
	}
}

// parseBot reads what stands below one bot.
func (out *parsed) parseBot(id attache.BotID, p brainfile.Pair) *bot {
	b := &bot{id: id, line: p.Key.Line, byChat: map[attache.ChatID]*rule{}}
	form := botForm{Merge: quiet, Format: string(attache.FormatAuto)}
	if !p.Value.Empty() {
		out.problems = append(out.problems, misplaced(p.Value.Decode(&form))...)
	}
	b.merge, b.format = form.Merge, attache.Format(form.Format)
	for _, name := range form.Names {
		if strings.TrimSpace(name) != "" {
			b.names = append(b.names, strings.TrimSpace(name))
		}
	}
	pairs, _ := p.Value.Pairs()
	seen := map[string]bool{}
	for _, key := range pairs {
		b.wrong = b.wrong || seen[key.Key.Text] // said by Decode; which of the two is meant, nobody knows
		seen[key.Key.Text] = true
		switch key.Key.Text {
		case "dm":
			b.dm = parseRule(rule{kind: KindDM, bot: id, key: key.Key}, key.Value)
		case "default":
			b.def = parseRule(rule{kind: KindDefault, bot: id, key: key.Key}, key.Value)
		case "chats":
			b.take(out.parseChats(id, key))
		}
	}
	if at, lost := lostChats(pairs); lost && b.def != nil {
		b.def.wrong = append(b.def.wrong, fault{problem: p.Value.WrongAt(at, "the rules below chats could not be read, so there is no telling which groups have none", ""), said: true})
	}
	out.collect(b)
	return b
}

var chatAsKey = regexp.MustCompile(`^the key "(tg:chat:)?-?[0-9]+" is not known here$`)

// misplaced says of a chat's rule that stands among the keys of a bot where it belongs.
func misplaced(problems []attache.Problem) []attache.Problem {
	for i, p := range problems {
		if chatAsKey.MatchString(p.What) {
			problems[i].Do = "move it below chats: of this bot"
		}
	}
	return problems
}

func (b *bot) take(chats []*rule) {
	b.chats = append(b.chats, chats...)
	for _, r := range chats {
		b.byChat[r.chat] = r
	}
}

// lostChats finds a key of a bot by which its chats were meant, but not written: the
// default must not answer in groups that have a rule nobody can read.
func lostChats(pairs []brainfile.Pair) (brainfile.Word, bool) {
	for _, p := range pairs {
		known := slices.Contains([]string{"names", "merge", "format", "dm", "default", "chats"}, p.Key.Text)
		if p.Key.Text == "chats" && (p.Value.Empty() || !p.Value.IsMap()) || !known && brainfile.Nearest(p.Key.Text, []string{"chats"}) != "" {
			return p.Key, true
		}
	}
	return brainfile.Word{}, false
}

// parseChats reads the rules of groups. Two for one chat silence each other: there
// is no telling which one is meant.
func (out *parsed) parseChats(id attache.BotID, key brainfile.Pair) []*rule {
	if key.Value.Empty() || !key.Value.IsMap() {
		out.problems = append(out.problems, key.Value.WrongAt(key.Key, "chats has no chats", "write an address and its rule below it, or leave chats out"))
		return nil
	}
	pairs, twice := key.Value.Pairs()
	out.problems = append(out.problems, twice...)
	seen := map[attache.ChatID]*rule{}
	var rules []*rule
	for _, p := range pairs {
		chat, wrong := chatKey(key.Value, p.Key)
		out.problems = append(out.problems, wrong...)
		if len(wrong) > 0 {
			continue
		}
		r := parseRule(rule{kind: KindChat, bot: id, chat: chat, key: p.Key}, p.Value)
		if twin := seen[chat]; twin != nil {
			said := key.Value.WrongAt(p.Key, "the chat has two rules here", "keep one of them")
			twin.wrong = append(twin.wrong, fault{problem: said, said: true})
			r.wrong = append(r.wrong, fault{problem: said, said: true})
		}
		seen[chat] = r
		rules = append(rules, r)
	}
	return rules
}

// collect takes the problems of a bot's rules over into those of the file.
func (out *parsed) collect(b *bot) {
	for _, r := range b.rules() {
		for _, f := range r.wrong {
			if !f.said {
				out.problems = append(out.problems, f.problem)
			}
		}
	}
}

// rules lists every rule of a bot, threads after their chat.
func (b *bot) rules() []*rule {
	var out []*rule
	for _, r := range []*rule{b.dm, b.def} {
		if r != nil {
			out = append(out, r)
		}
	}
	for _, r := range b.chats {
		out = append(out, r)
		out = append(out, r.threads...)
	}
	return out
}
