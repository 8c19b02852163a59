package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"attache"
	"attache/gateway"
	"attache/internal/brain"
	"attache/internal/engine"
	"attache/internal/telegram/richtext"
	"attache/internal/telegram/updates"
)

// program is a running Attaché: the wiring of `run` and `demo`. The order of its
// life is the order of the functions below: prepare, run, close.
type program struct {
	log     *slog.Logger
	flags   *flags
	db      *database
	engine  *engine.Engine
	gateway *gateway.Gateway
	bots    []*bot
	webhook *updates.Webhook // for all of them
	brain   *brain.Holder
}

// settings are what differs between `run` and `demo`.
type settings struct {
	brain  *brain.Holder
	tokens map[attache.BotID]attache.Secret
	say    func(string) // progress for the person at the terminal
	anew   bool         // forget what an earlier run left: its Telegram is gone too
}

// newProgram opens the database and prepares everything that can fail before a
// bot speaks.
func newProgram(ctx context.Context, f *flags, s settings, log *slog.Logger) (*program, error) {
	db, err := openDatabase(ctx, f, true, log, s.say)
	if err != nil {
		return nil, err
	}
	if s.anew {
		if _, err := db.Pool().Exec(ctx, `drop schema if exists attache, dbos cascade`); err != nil {
			db.Close()
			return nil, fmt.Errorf("what an earlier run left cannot be cleared: %w", err)
		}
	}
	p := &program{log: log, flags: f, db: db, brain: s.brain}
	if err := p.prepare(ctx, s.tokens); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// prepare makes the engine, the gateway and the bots. The engine lives on until
// close, so that turns in progress can end after ctx has.
func (p *program) prepare(ctx context.Context, tokens map[attache.BotID]attache.Secret) (err error) {
	executor := rand.Text()
	p.engine, err = engine.New(context.WithoutCancel(ctx), engine.Options{Pool: p.db.Pool(), Executor: executor, Log: p.log})
	if err != nil {
		return err
	}
	p.gateway, err = gateway.New(ctx, gateway.Options{
		DB: p.db.DB, Engine: p.engine, Executor: executor, Alone: p.db.alone(), Log: p.log,
		Compose: richtext.Compose, Simpler: richtext.Simpler, Retarget: richtext.Retarget, Answer: echo,
	})
	if err != nil {
		return err
	}
	for id, token := range tokens {
		b, err := p.newBot(ctx, id, token)
		if err != nil {
			return err
		}
		p.bots = append(p.bots, b)
	}
	p.webhook = p.newWebhook()
	return p.engine.Launch()
}

// run serves until ctx ends, then lets turns in progress end.
func (p *program) run(ctx context.Context) error {
	listener, err := p.listen()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	if listener != nil {
		server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
		wg.Go(func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				p.log.Error("HTTP ended", "err", err)
			}
		})
		wg.Go(func() {
			<-ctx.Done()
			patience, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			_ = server.Shutdown(patience)
		})
	}
	wg.Go(func() { p.brain.Watch(ctx, func(*brain.Brain) {}) })
	for _, b := range p.bots {
		wg.Go(func() { b.run(ctx) })
	}
	err = p.gateway.Run(ctx)
	wg.Wait()
	return err
}

// close ends what prepare began, in reverse.
func (p *program) close() {
	if p.engine != nil {
		if err := p.engine.Close(2 * time.Second); err != nil {
			p.log.Warn("work in progress did not stop in time; the next start goes on with it", "err", err)
		}
	}
	p.db.Close()
}

// listen opens the HTTP address; nil without one.
func (p *program) listen() (net.Listener, error) {
	if p.flags.Listen == "off" {
		if p.flags.PublicURL != "" {
			return nil, usage("--public-url needs HTTP: Telegram brings the updates there; leave --listen off out")
		}
		return nil, nil
	}
	l, err := net.Listen("tcp", p.flags.Listen)
	if err != nil {
		return nil, fmt.Errorf("the address %s cannot be listened on: %w; choose another with --listen, or --listen off", p.flags.Listen, err)
	}
	return l, nil
}

// echo answers a turn with its own words, until a model gives it a mind.
func echo(_ context.Context, _ engine.Run, t gateway.Turn) (gateway.Answer, error) {
	text := ""
	for _, m := range t.Messages {
		line := m.Text
		for _, f := range m.Media {
			line = "[" + f.Kind + "] " + line
		}
		if m.Left != "" {
			line += " [left out: " + m.Left + "]"
		}
		if text != "" {
			text += "\n\n"
		}
		text += line
	}
	return gateway.Answer{Markdown: text, Format: attache.FormatAuto}, nil
}
