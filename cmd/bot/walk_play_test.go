package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/internal/store"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// patience is how long a walk waits for anything at all.
const patience = 30 * time.Second

// play is a walk being performed: a Telegram, a scripted model, a database and the
// program between them.
type play struct {
	t       testing.TB
	walk    *walk
	sim     *telegramsim.Server
	url     string
	dsn     string
	db      *store.DB
	model   *scripted
	brain   string   // its folder
	agent   string   // the folder of the scripted agent; "" when the brain names none
	orphans []string // the numbers of its processes whose program was killed

	users    map[string]*telegramsim.User
	bots     []*telegramsim.User
	chats    map[string]*telegramsim.Chat
	order    []*telegramsim.Chat // as they were opened
	topics   map[string]attache.ThreadID
	names    map[*telegramsim.Chat]string
	labels   map[string]spoken
	life     *life
	clock    *walkClock   // nil: the machine's
	doomed   bool         // the process is meant to die
	logs     []*logBuffer // one of each run
	commands bytes.Buffer // what commands printed
}

// spoken is a message that a walk can point at.
type spoken struct {
	place
	id attache.MessageID
}

// life is one run of the program, in this process or as one of its own.
type life struct {
	stop func() error
	kill func()
	done <-chan struct{}
}

// newPlay prepares the stage: nova, Ann, Bo and Cleo are always there.
func newPlay(t testing.TB, w *walk) *play {
	p := &play{
		t: t, walk: w, sim: telegramsim.New(telegramsim.Options{BotsHear: w.botsHear}), dsn: storetest.DSN(t),
		users: map[string]*telegramsim.User{}, chats: map[string]*telegramsim.Chat{}, topics: map[string]attache.ThreadID{},
		names: map[*telegramsim.Chat]string{}, labels: map[string]spoken{},
	}
	var err error
	if p.url, err = p.sim.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.sim.Close)
	if p.db, err = store.Open(t.Context(), p.dsn, store.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.db.Close)
	if w.timed {
		p.clock = &walkClock{now: time.Now()}
	}
	p.model = newScripted(t, w.rules)
	p.brain = brainFiles(t, p.brainOf(w))
	err = p.addBot("nova", "nova_bot", false)
	for i, name := range []string{"ann", "bo", "cleo"} {
		err = errors.Join(err, p.addPerson([]string{"", name, strconv.Itoa(5 + i), ""}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// brainOf gives the walk's brain, with what most walks do not care about.
func (p *play) brainOf(w *walk) map[string]string {
	files := map[string]string{
		"constitution/MANIFEST.yaml":       "name: Walk\ntelegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml":         "bots:\n  nova:\n    merge: 20ms\n    dm: { role: helper, people: everyone }\n    default: { role: helper, people: everyone }\n",
		"features/helping/FEATURE.md":      "---\ndescription: Helps.\n---\n",
		"features/helping/helper.agent.md": "---\nname: Helper\ndescription: Helps.\ncontexts: []\n---\nYou help.\n",
	}
	if len(w.rules) > 0 {
		files["constitution/MANIFEST.yaml"] = "name: Walk\ntelegram: { pace: off }\nmodels: { default: { model: scripted, baseUrl: $MODEL, apiKey: a-key } }\n"
	}
	for name, text := range w.brain {
		files[name] = text
	}
	for name, text := range files {
		files[name] = p.filled(text)
	}
	return files
}

// perform does every line of the script. Unless the next line says "&", everything
// that a line set off comes to rest before the next one.
func (p *play) perform() error {
	for i, l := range p.walk.lines {
		if !l.stage && p.life == nil && !p.walk.manual {
			if err := p.start(""); err != nil {
				return err
			}
		}
		err := l.do(p)
		together := i+1 < len(p.walk.lines) && p.walk.lines[i+1].joined
		if err == nil && !together && !l.stage && p.life != nil {
			err = p.rest()
		}
		if err != nil {
			return &wrong{p.walk.path, l.n, fmt.Sprintf("%s: %v", l.text, err)}
		}
	}
	return nil
}

// token is the token of a bot, the same in every walk: the environment, which the
// program has it from, is one for all walks of a test binary.
func token(name string) string {
	return fmt.Sprintf("%d:SIM%s%s", botNumber(name), name, strings.Repeat("x", 32))
}

func botNumber(name string) int64 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return 7_000_000_000 + int64(h.Sum32()%1_000_000)
}

// start runs `attache run`, in this process unless the walk kills it.
func (p *play) start(dieAt string) error {
	if p.life != nil {
		return errors.New("the program runs already")
	}
	if p.doomed {
		p.orphan() // the program before this one is dead
	}
	p.doomed = dieAt != ""
	args := append([]string{"run", "--listen", "off", "--log", "json,debug"}, p.where()...)
	if p.walk.kills > 0 {
		env := []string{"ATTACHE_KILL=" + dieAt}
		c := spawn(p.t, env, args...)
		p.logs = append(p.logs, c.log)
		p.life = &life{done: c.done, kill: c.kill, stop: func() error { c.interrupt(p.t); return nil }}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, code, log := make(chan struct{}), 0, &logBuffer{}
	p.logs = append(p.logs, log)
	go func() {
		code = runBy(ctx, p.hands(), args, stdio{strings.NewReader(""), log, log})
		close(done)
	}()
	p.life = &life{done: done, kill: cancel, stop: sync.OnceValue(func() error {
		cancel()
		<-done
		if code != 0 {
			return fmt.Errorf("attache run ended with %d", code)
		}
		return nil
	})}
	return nil
}

// where are the flags that every command of the walk needs.
func (p *play) where() []string {
	return []string{"--database-url", p.dsn, "--telegram-api-url", p.url, "--brain", p.brain}
}

// log gives what all runs of the program have logged.
func (p *play) log() string {
	var text strings.Builder
	for _, l := range p.logs {
		text.WriteString(l.String())
	}
	return text.String()
}

func (p *play) stopProgram() error {
	if p.life == nil {
		return errors.New("the program does not run")
	}
	l := p.life
	p.life = nil
	defer p.forgetClock()
	return l.stop()
}

// kill ends the program as kill -9 does.
func (p *play) kill() error {
	if p.life == nil {
		return errors.New("the program does not run")
	}
	p.life.kill()
	p.life, p.doomed = nil, true
	return nil
}

// awaitDeath waits until a doomed program is dead.
func (p *play) awaitDeath() error {
	if p.life == nil {
		return nil // it died while the walk waited for rest
	}
	select {
	case <-p.life.done:
		p.life = nil
		return nil
	case <-time.After(patience):
		return errors.New("the program does not die")
	}
}

// command runs a command of the program beside it and keeps what it prints.
func (p *play) command(words []string) error {
	args := append(strings.Fields(words[1]), p.where()...)
	fmt.Fprintf(&p.commands, "$ attache %s\n", words[1])
	if code := runBy(p.t.Context(), p.hands(), args, stdio{strings.NewReader(""), &p.commands, &p.commands}); code != 0 {
		fmt.Fprintf(&p.commands, "exit %d\n", code)
	}
	return nil
}

// writeFile changes a file of the brain and waits until the program has read it.
func (p *play) writeFile(name, text string) error {
	before, looks := p.readings(), p.looks()
	text = p.filled(text) + "\n"
	file := filepath.Join(p.brain, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil || p.life == nil {
		return err
	}
	return p.until("the brain was not read again", func() (bool, error) {
		return p.readings() > before && (p.clock == nil || p.looks() > looks), nil
	})
}

// readings counts what the log says of brains that were read.
func (p *play) readings() int {
	n := 0
	for _, words := range []string{`"the brain was read again"`, `"a file of the brain has a mistake"`, `"a mistake in the brain is mended"`} {
		n += strings.Count(p.log(), words)
	}
	return n
}

// until looks again and again whether something is the case. It looks at tables and
// logs, which give no signal.
func (p *play) until(what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		ok, err := is()
		if ok || err != nil {
			return err
		}
		if pause(ctx) != nil {
			return fmt.Errorf("%s within %s", what, patience)
		}
	}
}

// rest waits until the program has nothing left to do: every update is handled,
// every turn is over or waits for a model that the script holds back, every post
// has its result. A doomed program may die instead.
func (p *play) rest() error {
	last := ""
	err := p.until("there is no rest", func() (bool, error) {
		select {
		case <-p.life.done:
			if !p.doomed {
				return false, errors.New("the program has ended")
			}
			p.life = nil
			return true, nil
		default:
		}
		if n := p.pending(); n > 0 {
			last = fmt.Sprintf("%d updates wait at Telegram", n)
			return false, nil
		}
		var busy string
		busy, last = p.busy()
		if busy == "" && !p.beatsRest() {
			busy, last = "yes", "the beats are still looked after"
		}
		return busy == "" && p.pending() == 0, nil
	})
	if err != nil && last != "" {
		return fmt.Errorf("%w: %s", err, last)
	}
	return err
}

func (p *play) pending() int {
	n := 0
	for _, b := range p.bots {
		if p.served(b) {
			n += p.sim.Pending(b)
		}
	}
	return n
}

// served reports whether the brain has a bot; others are puppets of the script.
func (p *play) served(b *telegramsim.User) bool {
	text, err := os.ReadFile(filepath.Join(p.brain, "constitution/access.yaml"))
	return err == nil && strings.Contains(string(text), "\n  "+p.nameOf(b)+":")
}

// busy says what the database holds that is still to be done, "" for nothing.
func (p *play) busy() (busy, why string) {
	var updates, posts, running, stopping, waiting int
	err := p.db.Pool().QueryRow(p.t.Context(), `select
		(select count(*) from attache.updates where state = 'new'),
		(select count(*) from attache.posts where state in ('intent', 'sending')),
		(select count(*) from attache.turns where state = 'running'),
		(select count(*) from attache.turns where state = 'running' and stop),
		(select count(*) from attache.turns w where state = 'waiting' and not exists (
			select 1 from attache.turns r where r.bot = w.bot and r.chat = w.chat and r.thread = w.thread and r.state = 'running'))`).
		Scan(&updates, &posts, &running, &stopping, &waiting)
	if err != nil {
		return "yes", err.Error() // its tables are not there yet
	}
	if updates+posts+stopping+waiting == 0 && running == p.model.holding() {
		return "", ""
	}
	return "yes", fmt.Sprintf("%d updates are not handled, %d posts have no result, %d turns run (%d of them at a held model), %d wait", updates, posts, running, p.model.holding(), waiting)
}
