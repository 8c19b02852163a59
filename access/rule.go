package access

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"attache"
	"attache/internal/brainfile"
)

// ruleFile is a rule as it is written. What is not given is nil, so that a thread
// can inherit it.
type ruleFile struct {
	Role     brainfile.Word `yaml:"role"`
	Title    *string        `yaml:"title"`
	People   brainfile.Node `yaml:"people"`
	Engage   *string        `yaml:"engage" oneof:"mention,reply,addressed,name,all,silent,code"`
	Observe  *bool          `yaml:"observe"`
	Merge    *time.Duration `yaml:"merge"`
	Bots     *bool          `yaml:"bots"`
	Channels *bool          `yaml:"channels"`
	Gone     *string        `yaml:"gone" oneof:"drop,chat"`
	Contexts brainfile.Node `yaml:"contexts"`
	Threads  brainfile.Node `yaml:"threads"`
}

// rule is one rule of the file. It is never changed after it was parsed.
type rule struct {
	ruleFile
	kind     Kind
	bot      attache.BotID
	chat     attache.ChatID
	thread   attache.ThreadID
	key      brainfile.Word            // what it stands under
	at       map[string]brainfile.Word // where each of its keys stands
	people   *people                   // nil: not given
	bindings []binding
	threads  []*rule
	wrong    []fault
}

// fault is a mistake that silences a rule. key is the key it stands at: a thread
// that gives this key anew is not touched by a mistake of its chat.
type fault struct {
	key     string
	problem attache.Problem
	said    bool // the problem is among the file's already
}

// people says who is let in. The zero value is nobody.
type people struct {
	everyone bool
	listed   map[attache.PersonID]bool
}

// binding is one line below `contexts:` as it is written.
type binding struct {
	context attache.ContextID
	value   string // the key; meaningful when keyed
	keyed   bool
	wrong   bool // what stands as its key is none
	where   brainfile.Word
}

// parseRule reads one rule with everything that stands below it.
func parseRule(r rule, n brainfile.Node) *rule {
	if n.Empty() || !n.IsMap() {
		r.fail("", n.WrongAt(r.key, fmt.Sprintf("the rule %s has no keys", r.key.Text), "give it a role at least"))
		return &r
	}
	pairs, _ := n.Pairs()
	r.at = make(map[string]brainfile.Word, len(pairs))
	for _, p := range pairs {
		r.at[p.Key.Text] = p.Key
	}
	for _, p := range n.Decode(&r.ruleFile) {
		r.fail(keyAt(pairs, p), p)
	}
	if _, given := r.at["people"]; given {
		r.people = new(people)
		r.failAll("people", parsePeople(r.people, r.People))
	}
	r.parseContexts(pairs)
	r.parseThreads()
	switch _, given := r.at["role"]; {
	case !given && r.kind != KindThread:
		r.fail("role", n.WrongAt(r.key, fmt.Sprintf("the rule %s names no role", r.key.Text), "add role:"))
	case given && r.Role.Line > 0 && strings.TrimSpace(r.Role.Text) == "":
		r.fail("role", n.WrongAt(r.Role, "role is blank", "name a role"))
	}
	return &r
}

func (r *rule) fail(key string, p attache.Problem) {
	r.wrong = append(r.wrong, fault{key: key, problem: p})
}

func (r *rule) failAll(key string, list []attache.Problem) {
	for _, p := range list {
		r.fail(key, p)
	}
}

// keyAt names the key of a mapping that a problem stands at: the last one that
// begins before it.
func keyAt(pairs []brainfile.Pair, p attache.Problem) string {
	key := ""
	for _, pair := range pairs {
		if pair.Key.Line < p.Line || pair.Key.Line == p.Line && pair.Key.Col <= p.Col {
			key = pair.Key.Text
		}
	}
	return key
}

// parsePeople reads `everyone` or a list of addresses.
func parsePeople(into *people, n brainfile.Node) []attache.Problem {
	items, isList := n.Items()
	word, isText := n.Text()
	switch {
	case isText && word.Text == "everyone":
		into.everyone = true
		return nil
	case !isList:
		return one(n.Wrong("people is neither everyone nor a list", "write everyone, or addresses in brackets, as in [tg:user:111111]"))
	}
	into.listed = make(map[attache.PersonID]bool, len(items))
	var problems []attache.Problem
	for _, item := range items {
		id, wrong := person(item)
		problems = append(problems, wrong...)
		if len(wrong) == 0 {
			into.listed[id] = true
		}
	}
	return problems
}

// parseContexts reads the bindings. A misspelt `contexts` still pins, as far as its
// lines can be read: the rule is silenced, but other bots speak in the chat too.
func (r *rule) parseContexts(pairs []brainfile.Pair) {
	at, given := r.at["contexts"]
	switch {
	case !given:
		for _, p := range pairs {
			if p.Value.IsMap() && brainfile.Nearest(p.Key.Text, []string{"contexts"}) != "" {
				r.parseBindings(p.Value)
			}
		}
	case r.Contexts.Empty():
		r.fail("contexts", r.Contexts.WrongAt(at, "contexts has no value", "name a context and its key, or leave contexts out"))
	case r.kind == KindDM || r.kind == KindDefault:
		r.fail("contexts", r.Contexts.WrongAt(at, fmt.Sprintf("%s takes no contexts, because it rules many chats and a binding is for one", r.key.Text), "bind the chat in a rule of its own, below chats"))
	default:
		r.parseBindings(r.Contexts)
	}
}

// parseBindings reads context and key in each line. One whose key is wrong is kept
// without a key, which pins its context to none: the doubt must not open the chat
// to every key.
func (r *rule) parseBindings(n brainfile.Node) {
	pairs, problems := n.Pairs()
	r.failAll("contexts", problems)
	for _, p := range pairs {
		b := binding{context: attache.ContextID(p.Key.Text), where: p.Key}
		word, isText := p.Value.Text()
		why := keyTrouble(word.Text)
		b.wrong = !p.Value.Empty() && (!isText || why != "")
		switch {
		case p.Value.Empty():
		case !isText:
			r.fail("contexts", p.Value.Wrong(fmt.Sprintf("the key of %s is no text", p.Key.Text), "write one key, or nothing for a context that names no entity"))
		case why != "":
			r.fail("contexts", p.Value.Wrong(fmt.Sprintf("the key of %s %s", p.Key.Text, why), "write 1 to 200 characters"))
		default:
			b.value, b.keyed = word.Text, true
		}
		r.bindings = append(r.bindings, b)
	}
}

// keyTrouble says what is wrong with an entity key (decisions § 1), "" for nothing.
func keyTrouble(key string) string {
	switch {
	case strings.TrimSpace(key) == "":
		return "is blank"
	case utf8.RuneCountInString(key) > 200:
		return "is longer than 200 characters"
	case strings.ContainsFunc(key, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}

// parseThreads reads the rules of a chat's topics. A topic whose number cannot be
// read silences the whole chat: otherwise it would be ruled by its chat, which may
// let in more than its own rule was meant to.
func (r *rule) parseThreads() {
	at, given := r.at["threads"]
	switch {
	case !given:
		return
	case r.Threads.Empty():
		r.fail("threads", r.Threads.WrongAt(at, "threads has no value", "give a thread a rule, or leave threads out"))
		return
	case r.kind != KindChat:
		r.fail("threads", r.Threads.WrongAt(at, fmt.Sprintf("%s takes no threads", r.key.Text), "only a rule below chats has threads"))
		return
	}
	pairs, problems := r.Threads.Pairs()
	r.failAll("threads", problems)
	for _, p := range pairs {
		thread, wrong := threadKey(r.Threads, p.Key)
		r.failAll("threads", wrong)
		if len(wrong) == 0 {
			r.threads = append(r.threads, parseRule(rule{kind: KindThread, bot: r.bot, chat: r.chat, thread: thread, key: p.Key}, p.Value))
		}
	}
}
