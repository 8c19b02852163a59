package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"attache"
	example "attache/brain-example"
	"attache/internal/rehearsal"
	"attache/internal/telegramsim"
)

type demoCommand struct{}

// Run starts the real program on a small Telegram of its own and lets the person
// at the terminal speak there as several people in several chats.
func (demoCommand) Run(ctx context.Context, f *flags, io stdio) error {
	log, err := newLog(io.err, "text,warn", nil)
	if err != nil {
		return err
	}
	w, err := newDemoWorld()
	if err != nil {
		return err
	}
	defer w.sim.Close()
	own := *f
	own.TelegramAPI, own.PublicURL, own.Listen = w.url, "", "off"
	if own.Data == "" {
		own.Data = filepath.Join(demoFolder(), "attache-demo")
	}
	if own.Brain, err = demoBrain(f.Brain, own.Data); err != nil {
		return err
	}
	brain, err := openBrain(own.Brain, log)
	if err != nil {
		return err
	}
	getenv, closeModel, err := demoModel()
	if err != nil {
		return err
	}
	defer closeModel()
	p, err := newProgram(ctx, &own, settings{
		brain:  brain,
		anew:   true,
		getenv: getenv,
		tokens: map[attache.BotID]attache.Secret{"nova": attache.NewSecret(w.bot.Token)},
		say:    func(s string) { fmt.Fprintln(io.err, s) },
	}, log)
	if err != nil {
		return err
	}
	defer p.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	fmt.Fprintf(io.out, "The brain is %s; edit it and see.\n\n", own.Brain)
	w.talk(ctx, io)
	cancel()
	return <-ended
}

// demoBrain gives the brain of the demo: the one that is named, the example beside
// a checkout, or a copy of it in the data folder.
func demoBrain(named, data string) (string, error) {
	for _, dir := range []string{named, "brain-example"} {
		if info, err := os.Stat(filepath.Join(dir, "constitution")); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	dir := filepath.Join(data, "brain")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.CopyFS(dir, example.Files); err != nil {
		return "", fmt.Errorf("the example brain cannot be written to %s: %w; choose another folder with --data", dir, err)
	}
	return dir, nil
}

// demoFolder is where the demo keeps its private Postgres from one time to the
// next: the user's cache folder, unless the server's unprivileged user could not
// reach it.
func demoFolder() string {
	if dir, err := os.UserCacheDir(); err == nil && os.Getuid() != 0 {
		return dir
	}
	return os.TempDir()
}

// demoModel gives the environment of the demo's models: yours if you have a key or
// a server, the built-in rehearsal model otherwise.
func demoModel() (getenv func(string) string, end func(), err error) {
	if lookup("OPENAI_API_KEY") != "" || lookup("OPENAI_BASE_URL") != "" {
		return lookup, func() {}, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("the rehearsal model cannot listen on this machine: %w", err)
	}
	server := &http.Server{Handler: rehearsal.New(rehearsalPace), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with the demo
	own := map[string]string{"OPENAI_API_KEY": "rehearsal", "OPENAI_BASE_URL": "http://" + l.Addr().String() + "/v1", "OPENAI_MODEL": "rehearsal"}
	return func(name string) string { return own[name] }, func() { _ = server.Close() }, nil
}

// rehearsalPace is the time between two pieces of a streamed answer, so that a
// person sees it being written.
const rehearsalPace = 15 * time.Millisecond

// demoWorld is a small Telegram: one bot, three people, a chat of each kind.
type demoWorld struct {
	sim    *telegramsim.Server
	url    string
	bot    *telegramsim.User
	people map[string]*telegramsim.User
	dms    map[string]*telegramsim.Chat
	chats  map[string]*telegramsim.Chat
	topics map[string]attache.ThreadID // "desk/billing"

	who, where string // who speaks, and in which chat
	shown      map[shownKey]bool
}

type shownKey struct {
	chat attache.ChatID
	id   attache.MessageID
}

func newDemoWorld() (*demoWorld, error) {
	sim := telegramsim.New(telegramsim.Options{})
	url, err := sim.Listen()
	if err != nil {
		return nil, fmt.Errorf("the demo's Telegram cannot listen on this machine: %w", err)
	}
	w := &demoWorld{sim: sim, url: url, people: map[string]*telegramsim.User{}, dms: map[string]*telegramsim.Chat{},
		chats: map[string]*telegramsim.Chat{}, topics: map[string]attache.ThreadID{}, shown: map[shownKey]bool{}, who: "ann", where: "dm"}
	w.bot = sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	w.bot.SetPrivacy(false)
	members := []*telegramsim.User{}
	for i, name := range []string{"Ann", "Bo", "Cleo"} {
		p := sim.AddPerson(telegramsim.User{ID: int64(101 + i), Name: name, Username: strings.ToLower(name)})
		w.people[strings.ToLower(name)] = p
		w.dms[strings.ToLower(name)] = sim.DM(p, w.bot)
		members = append(members, p)
	}
	members = append(members, w.bot)
	w.chats["family"] = sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "Family"}, members...)
	desk := sim.AddChat(telegramsim.Chat{ID: -1000000001002, Kind: "forum", Title: "Desk"}, members...)
	w.chats["desk"] = desk
	w.topics["desk/billing"] = desk.CreateTopic(w.people["ann"], "Billing")
	w.topics["desk/repairs"] = desk.CreateTopic(w.people["ann"], "Repairs")
	return w, nil
}

// talk reads lines until the input ends: words are said, @ann and #desk/billing
// change who speaks and where.
func (w *demoWorld) talk(ctx context.Context, io stdio) {
	fmt.Fprint(io.out, demoWelcome)
	w.prompt(io)
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(io.in)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(io.out)
			return
		case line, ok := <-lines:
			if !ok || strings.TrimSpace(line) == "/quit" {
				fmt.Fprintln(io.out)
				return
			}
			w.line(ctx, strings.TrimSpace(line), io)
			w.prompt(io)
		}
	}
}

func (w *demoWorld) prompt(io stdio) { fmt.Fprintf(io.out, "%s in %s> ", w.who, w.where) }

// line does one line of the person at the terminal.
func (w *demoWorld) line(ctx context.Context, line string, io stdio) {
	if line == "" {
		return
	}
	if name, ok := strings.CutPrefix(line, "@"); ok && !strings.Contains(name, " ") {
		if w.people[name] == nil {
			fmt.Fprintf(io.out, "  nobody here is called %s; there are @ann, @bo and @cleo\n", name)
			return
		}
		w.who = name
		return
	}
	if name, ok := strings.CutPrefix(line, "#"); ok && !strings.Contains(name, " ") {
		if name != "dm" && w.chats[name] == nil && w.topics[name] == 0 {
			fmt.Fprintf(io.out, "  there is no chat %s; there are #dm, #family, #desk, #desk/billing and #desk/repairs\n", name)
			return
		}
		w.where = name
		return
	}
	chat, thread := w.place()
	if _, err := chat.Send(telegramsim.Line{From: w.people[w.who], Text: line, Thread: thread}); err != nil {
		fmt.Fprintln(io.out, "  Telegram would not take that:", err)
		return
	}
	w.await(ctx, chat, io)
}

func (w *demoWorld) place() (*telegramsim.Chat, attache.ThreadID) {
	if w.where == "dm" {
		return w.dms[w.who], 0
	}
	name, _, _ := strings.Cut(w.where, "/")
	return w.chats[name], w.topics[w.where]
}

// await prints the bot's next post in the chat, as soon as it comes.
func (w *demoWorld) await(ctx context.Context, chat *telegramsim.Chat, io stdio) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	unseen := func(p telegramsim.Post) bool { return !w.shown[shownKey{chat.ID, p.ID}] }
	err := w.sim.Wait(ctx, func() bool { return slices.ContainsFunc(chat.Posts(), unseen) })
	if err != nil {
		fmt.Fprintln(io.out, "  nothing came back within 20 s; the log above may say why")
		return
	}
	for _, p := range chat.Posts() {
		if unseen(p) {
			w.shown[shownKey{chat.ID, p.ID}] = true
			fmt.Fprintf(io.out, "  Nova: %s\n", strings.ReplaceAll(p.Words(), "\n", "\n        "))
		}
	}
}

const demoWelcome = `This is Attaché on a small Telegram of its own: everything but Telegram is real.
Without OPENAI_API_KEY a rehearsal model answers: it tells what it was given.

  write something        say it
  @ann  @bo  @cleo       speak as somebody else
  #dm  #family  #desk  #desk/billing  #desk/repairs
                         speak somewhere else
  /quit                  leave

`
