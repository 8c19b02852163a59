package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"attache"
	"attache/cmd/bot/demo"
	"attache/internal/brain"
	"attache/internal/rehearsal"
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
	w, err := demo.New()
	if err != nil {
		return err
	}
	defer w.Sim.Close()
	own, err := f.ofDemo(w)
	if err != nil {
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
	p, err := start(ctx, own, settings{
		brain:  brain,
		anew:   true,
		getenv: getenv,
		tokens: map[attache.BotID]attache.Secret{"nova": attache.NewSecret(w.Bot.Token)},
		say:    func(s string) { fmt.Fprintln(io.err, s) },
	}, log)
	if err != nil {
		return err
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	fmt.Fprintf(io.out, "The brain is %s; edit it and see.\n\n", own.Brain)
	if c.Terminal {
		w.Talk(ctx, io.in, io.out)
		cancel()
		return <-ended
	}
	url, end, err := w.Serve(ctx, p.demoPage(f.Listen, brain, log))
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

// ofDemo gives the flags of the program in the demo: its Telegram is w, its records
// are nobody's, and the address of Listen is the page's.
func (f *flags) ofDemo(w *demo.World) (*flags, error) {
	own := *f
	own.TelegramAPI, own.PublicURL, own.Listen, own.Private = w.URL, "", "off", true
	if own.Data == "" {
		own.Data = filepath.Join(demoFolder(), "attache-demo")
	}
	var err error
	own.Brain, err = demoBrain(f, own.Data)
	return &own, err
}

// demoPage says what the demo's page is made of.
func (s *started) demoPage(address string, b *brain.Holder, log *slog.Logger) demo.Page {
	return demo.Page{
		Address: address, Problems: b.Problems, Brain: b.Current().Dir, Model: modelWords(), Log: log, Beside: s.Beside,
		Records: demo.Records{DB: s.db.DB, Talks: s.Talks(), Judge: s.Heard},
	}
}

// demoBrain gives the brain of the demo: the one that is named, or the example. A
// folder of the default name that nobody named is somebody's real brain, whose rules
// know nobody of the demo.
func demoBrain(f *flags, data string) (string, error) {
	if !f.Unnamed {
		return f.Brain, nil
	}
	return demo.Brain(data)
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
