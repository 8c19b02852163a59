package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"attache"
	"attache/internal/telegramsim"
)

// forms are the lines that a walk may hold. The first one that fits reads a line.
func forms() []form {
	all := append(worldForms(), modelForms()...)
	all = append(all, agentForms()...)
	all = append(all, programForms()...)
	all = append(all, timeForms()...)
	return append(all, speechForms()...)
}

func shaped(shape, pattern, needs string, read func(*walk, clause) (func(*play) error, error)) form {
	return form{shape: shape, pattern: regexp.MustCompile("^" + pattern + "$"), needs: needs, read: read}
}

// plain is a form whose words say everything.
func plain(shape, pattern string, do func(p *play, words []string) error) form {
	return shaped(shape, pattern, "", func(_ *walk, c clause) (func(*play) error, error) {
		return func(p *play) error { return do(p, c.words) }, nil
	})
}

// optional marks forms that have options behind commas.
func optional(f form) form { f.options = true; return f }

// staged marks forms that set the stage.
func staged(f form) form { f.stage = true; return f }

// bare marks forms that may stand without a colon.
func bare(f form) form { f.bare = true; return f }

// worldForms make the world and change it.
func worldForms() []form {
	return []form{
		staged(plain("person dora 8 @dora", `person (\w+) (\d+)(?: @(\w+))?`, (*play).addPerson)),
		staged(optional(shaped("bot vega @vega_bot, privacy on", `bot (\w+) @(\w+)`, "", func(_ *walk, c clause) (func(*play) error, error) {
			privacy, err := oneOf(c.options, "privacy on")
			return func(p *play) error { return p.addBot(c.words[1], c.words[2], privacy) }, err
		}))),
		staged(shaped("bots hear one another", `bots hear one another`, "", func(w *walk, _ clause) (func(*play) error, error) {
			w.botsHear = true
			return func(*play) error { return nil }, nil
		})),
		staged(shaped("forum desk -1002: ann bo nova", `(group|supergroup|forum|channel) (\w+) (-\d+)`, "its members", func(_ *walk, c clause) (func(*play) error, error) {
			return func(p *play) error { return p.addChat(c.words[1], c.words[2], c.words[3], strings.Fields(c.body)) }, nil
		})),
		staged(plain("topic desk/billing by ann", `topic (\w+)/(\w+) by (\w+)`, (*play).openTopic)),
		staged(plain("channel news is discussed in club", `channel (\w+) is discussed in (\w+)`, (*play).discuss)),
		plain("ann opens topic desk/billing", `(\w+) opens topic (\w+)/(\w+)`, func(p *play, w []string) error {
			return p.openTopic([]string{"", w[2], w[3], w[1]})
		}),
		plain("ann closes topic desk/billing", `(\w+) (closes|reopens|deletes) topic (\w+/\w+)`, (*play).shutTopic),
		plain("ann adds dora to family", `(\w+) (adds|removes|promotes) (\w+) (?:to|from|in) (\w+)`, (*play).standing),
		plain("dora joins family", `(\w+) (joins|leaves) (\w+)`, func(p *play, w []string) error {
			return p.standing([]string{"", w[1], w[2], w[1], w[3]})
		}),
		plain("ann blocks nova", `(\w+) (blocks|unblocks) (\w+)`, (*play).block),
		plain("family becomes supergroup clan", `(\w+) becomes supergroup (\w+)`, (*play).migrate),
		optional(shaped("telegram breaks sendMessage in family, 2 times: flood 1", `telegram breaks (\w+)(?: in (\S+))?`, "the fault", readFault)),
		plain("telegram heals", `telegram heals`, func(p *play, _ []string) error { p.sim.Heal(); return nil }),
		shaped("telegram gives nova: {raw JSON}", `telegram gives (\w+)`, "the update", func(_ *walk, c clause) (func(*play) error, error) {
			return func(p *play) error {
				bot, err := p.user(c.words[1])
				if err == nil {
					p.sim.Inject(bot, c.body)
				}
				return err
			}, nil
		}),
		plain("telegram repeats the last update of nova", `telegram repeats the last update of (\w+)`, (*play).redeliver),
	}
}

// oneOf reads an option that may be there or not.
func oneOf(options []string, word string) (bool, error) {
	switch {
	case len(options) == 0:
		return false, nil
	case len(options) == 1 && options[0] == word:
		return true, nil
	}
	return false, fmt.Errorf("%q is no option here; the only one is %q", strings.Join(options, ", "), word)
}

// readFault reads what goes wrong with a call.
func readFault(_ *walk, c clause) (func(*play) error, error) {
	kind, argument, _ := strings.Cut(c.body, " ")
	f := telegramsim.Fault{Method: c.words[1]}
	var err error
	switch kind {
	case "flood":
		f.Kind = telegramsim.Flood
		f.RetryAfter, err = strconv.Atoi(argument)
	case "refusal":
		f.Kind, f.Text = telegramsim.Refuse, argument
	case "error":
		f.Kind = telegramsim.ServerError
	case "page":
		f.Kind = telegramsim.BadGateway
	case "conflict":
		f.Kind = telegramsim.Conflict
	case "unknown":
		f.Kind = telegramsim.Unknown
	case "cut":
		f.Kind = map[string]telegramsim.FaultKind{"before": telegramsim.CutBefore, "after": telegramsim.CutAfter}[argument]
	case "half":
		f.Kind = telegramsim.Truncated
	}
	if f.Kind == "" || err != nil {
		return nil, fmt.Errorf("%q is no fault; they are flood SECONDS, refusal TEXT, error, page, conflict, unknown, cut before, cut after, half", c.body)
	}
	for _, o := range c.options {
		n, word, _ := strings.Cut(o, " ")
		switch {
		case o == "always":
			f.Times = -1
		case n == "with":
			f.Param = word
		case word == "times":
			f.Times, err = strconv.Atoi(n)
		case n == "after":
			f.Skip, err = strconv.Atoi(word)
		default:
			err = errors.New("")
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no option of a fault; they are 2 times, always, after 3, with rich_message", o)
		}
	}
	return func(p *play) error {
		if c.words[2] != "" {
			chat, _, err := p.group(c.words[2])
			if err != nil {
				return err
			}
			f.Chat = chat.ID
		}
		p.sim.Break(f)
		return nil
	}, nil
}

// programForms start, stop and look at the program.
func programForms() []form {
	return []form{
		optional(shaped("start, dying at post.sent", `start`, "", func(w *walk, c clause) (func(*play) error, error) {
			w.manual = true
			point := ""
			for _, o := range c.options {
				var ok bool
				if point, ok = strings.CutPrefix(o, "dying at "); !ok {
					return nil, fmt.Errorf("%q is no option of a start; the only one is dying at POINT", o)
				}
				w.kills++
			}
			return func(p *play) error { return p.start(point) }, nil
		})),
		plain("stop", `stop`, func(p *play, _ []string) error { return p.stopProgram() }),
		plain("restart", `restart`, func(p *play, _ []string) error { return errors.Join(p.stopProgram(), p.start("")) }),
		shaped("kill", `kill`, "", func(w *walk, _ clause) (func(*play) error, error) {
			w.kills++
			return (*play).kill, nil
		}),
		shaped("file features/desk/desk.agent.md: its new text", `file (\S+)`, "its text", func(_ *walk, c clause) (func(*play) error, error) {
			return func(p *play) error { return p.writeFile(c.words[1], c.body) }, nil
		}),
		plain("release gate", `release (\w+)`, func(p *play, w []string) error { return p.model.release(w[1]) }),
		plain("step gate 3", `step (\w+) (\d+)`, (*play).step),
		plain(`await 2 posts in family`, `await (\d+) posts? (in|to) (\S+)`, (*play).awaitPosts),
		plain(`await draft to ann "It is"`, `await draft to (\w+) "([^"]*)"`, (*play).awaitDraft),
		plain(`await request 1`, `await request (\d+)`, (*play).awaitRequest),
		plain(`await call sendChatAction`, `await call (\w+)`, (*play).awaitCall),
		plain(`await log "the bot is there"`, `await log "([^"]*)"`, (*play).awaitLog),
		plain(`await death`, `await death`, func(p *play, _ []string) error { return p.awaitDeath() }),
		plain(`attache turns`, `attache (.*)`, (*play).command),
	}
}

// speechForms are what people do in chats.
func speechForms() []form {
	return []form{
		shaped("ann edits q: new words", `(\w+) edits (\w+)`, "the new words", func(_ *walk, c clause) (func(*play) error, error) {
			return func(p *play) error { return p.edit(c.words[2], c.body) }, nil
		}),
		plain("ann deletes q", `(\w+) deletes (\w+)`, func(p *play, w []string) error { return p.remove(w[2]) }),
		plain(`ann presses "Approve" in family`, `(\w+) presses "([^"]*)" (in|to) (\S+)`, (*play).press),
		plain("ann stops the draft of nova", `(\w+) stops the draft of (\S+)`, (*play).stopDraft),
		bare(optional(shaped("ann in desk/billing, named q, replying to nova: words", `(\w+) (in|to) (\S+)`, "what is said", readSpeech))),
	}
}

// speech is what a person says, before names are looked up.
type speech struct {
	who, where string
	private    bool
	text       string
	label      string
	replying   string
	quoting    string
	file       *telegramsim.File
	name       string // of the file
	album      string
	forwarding string
	via        string
	as         string
	times      int
	split      bool
	silently   bool
}

func readSpeech(_ *walk, c clause) (func(*play) error, error) {
	s := speech{who: c.words[1], private: c.words[2] == "to", where: c.words[3], text: c.body, times: 1}
	for _, o := range c.options {
		if err := s.option(o); err != nil {
			return nil, err
		}
	}
	if s.text == "" && s.file == nil {
		return nil, errors.New("nothing is said; write the words behind a colon")
	}
	return func(p *play) error { return p.say(s) }, nil
}

// option reads one option of speech.
func (s *speech) option(o string) (err error) {
	words := strings.Fields(o)
	rest := strings.Join(words[min(2, len(words)):], " ")
	switch {
	case o == "split":
		s.split = true
	case o == "silently":
		s.silently = true
	case len(words) == 2 && words[1] == "times":
		s.times, err = strconv.Atoi(words[0])
	case len(words) < 2:
		return fmt.Errorf("%q is no option of what is said; README.md lists them", o)
	case words[0] == "named":
		s.label = words[1]
	case words[0] == "replying" && words[1] == "to":
		s.replying = rest
	case words[0] == "quoting":
		s.quoting, err = quoted(strings.TrimPrefix(o, "quoting "))
	case words[0] == "with" && len(words) == 3:
		s.file, s.name = &telegramsim.File{Kind: words[1], Name: words[2]}, words[2]
	case words[0] == "album":
		s.album = words[1]
	case words[0] == "forwarding":
		s.forwarding = words[1]
	case words[0] == "via":
		s.via = words[1]
	case words[0] == "as":
		s.as = words[1]
	default:
		return fmt.Errorf("%q is no option of what is said; README.md lists them", o)
	}
	return err
}

// place is a chat and a topic of it, as a walk names them.
type place struct {
	chat   *telegramsim.Chat
	thread attache.ThreadID
}
