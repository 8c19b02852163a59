package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

type demoCommand struct {
	Terminal bool `help:"Talk at this terminal instead of in the browser."`
}

// Run starts the real program on a small Telegram of its own and lets a person speak
// there as several people in several chats: in the browser, or at the terminal.
func (c demoCommand) Run(ctx context.Context, f *flags, io stdio) error {
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
	own.TelegramAPI, own.PublicURL, own.Listen, own.Private = w.url, "", "off", true
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
	if c.Terminal {
		w.talk(ctx, io)
		cancel()
		return <-ended
	}
	url, end, err := servePlayground(ctx, p, w, f.Listen, modelWords())
	if err != nil {
		cancel()
		return errors.Join(err, <-ended)
	}
	fmt.Fprintf(io.out, "Open %s in your browser. Ctrl-C ends it.\n", url)
	err = <-ended // it ends with ctx
	cancel()
	end()
	return err
}

// demoBrain gives the brain of the demo: the one that is named, the example beside
// a checkout, or a copy of it in the data folder. A folder that only has the default
// name is somebody's real brain, whose rules know nobody of the demo. A copy may have
// been edited, so a later example stands beside it, under another name.
func demoBrain(named, data string) (string, error) {
	if named != defaultBrain {
		return named, nil
	}
	if info, err := os.Stat("brain-example/constitution"); err == nil && info.IsDir() {
		return "brain-example", nil
	}
	sum, err := exampleSum()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(data, "brain-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.CopyFS(dir, example.Files); err != nil {
		return "", fmt.Errorf("the example brain cannot be written to %s: %w; choose another folder with --data", dir, err)
	}
	return dir, nil
}

// exampleSum tells one state of the example from another.
func exampleSum() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(example.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := example.Files.ReadFile(name)
		fmt.Fprintf(sum, "%s %d %s", name, len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:8], err
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

// modelWords says what answers in the demo.
func modelWords() string {
	if lookup("OPENAI_API_KEY") != "" || lookup("OPENAI_BASE_URL") != "" {
		return "your own model answers"
	}
	return "the built-in rehearsal model answers, as OPENAI_API_KEY is not set"
}

// rehearsalPace is the time between two pieces of a streamed answer, so that a
// person sees it being written.
const rehearsalPace = 15 * time.Millisecond

// talk reads lines until the input ends: words are said, @ann and #desk/billing
// change who speaks and where.
func (w *demoWorld) talk(ctx context.Context, io stdio) {
	fmt.Fprintf(io.out, demoWelcome, w.names(), w.places())
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
		if w.person(name) == nil {
			fmt.Fprintf(io.out, "  nobody here is called %s; there are %s\n", name, w.names())
			return
		}
		w.who = name
		return
	}
	if name, ok := strings.CutPrefix(line, "#"); ok && !strings.Contains(name, " ") {
		if _, _, ok := w.find(name); !ok {
			fmt.Fprintf(io.out, "  there is no chat %s; there are %s\n", name, w.places())
			return
		}
		w.where = name
		return
	}
	c, thread, _ := w.find(w.where)
	if _, err := c.chat.Send(telegramsim.Line{From: w.person(w.who).user, Text: line, Thread: thread}); err != nil {
		fmt.Fprintln(io.out, "  Telegram would not take that:", err)
		return
	}
	w.await(ctx, c.chat, io)
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

  write something   say it
  @NAME             speak as somebody else: %s
  #CHAT             speak somewhere else: %s
  /quit             leave

`
