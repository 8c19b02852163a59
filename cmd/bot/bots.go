package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"attache"
	"attache/gateway"
	"attache/internal/telegram"
	"attache/internal/telegram/updates"
)

// bot is one bot of the program: its calls, its gate, and how its updates arrive.
type bot struct {
	id     attache.BotID
	p      *program
	client *telegram.Client
	sender *telegram.Sender
	poller *updates.Poller
	secret attache.Secret // of its webhook
	log    *slog.Logger
	loops  loops
	me     atomic.Pointer[telegram.Me]
}

func (p *program) newBot(ctx context.Context, id attache.BotID, token attache.Secret) (*bot, error) {
	client := telegram.NewClient(telegram.ClientOptions{Bot: id, Token: token, BaseURL: p.flags.TelegramAPI, Log: p.log})
	b := &bot{id: id, p: p, client: client, log: p.log, secret: updates.WebhookSecret(token)}
	b.sender = telegram.NewSender(telegram.SenderOptions{Client: client, Pace: p.brain.Current().Frame.Manifest.Telegram.Pace != "off", OnHold: p.gateway.Hold})
	holds, err := p.gateway.Holds(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the pauses of bot %s cannot be read: %w", id, err)
	}
	b.sender.Restore(holds)
	b.poller = updates.NewPoller(updates.PollerOptions{Client: client, Inbox: p.gateway, Log: p.log})
	return b, nil
}

// run receives updates and serves the bot until ctx ends. Receiving begins at
// once; handling begins when Telegram has told who the bot is.
func (b *bot) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.receive(ctx)
	}()
	if b.meet(ctx) {
		b.p.gateway.Serve(gateway.Bot{
			ID: b.id, Courier: courier{b.sender}, Typing: b.sender.Typing,
			Decode: func(raw []byte) (attache.Update, error) { return updates.Decode(b.id, raw) },
			Judge:  b.judge,
			Press:  b.press,
		})
	}
	if ctx.Err() == nil {
		for _, f := range b.p.privacy(b.p.brain.Current()) {
			b.log.Warn("a rule needs more than Telegram delivers", "bot", b.id, "why", f.String())
		}
		b.publish(ctx)
	}
	<-done
}

// receive polls, as the one process that may, or sets the webhook.
func (b *bot) receive(ctx context.Context) {
	if b.p.flags.PublicURL != "" {
		b.keepTrying(ctx, "setting the webhook", func(ctx context.Context) error {
			return updates.RegisterWebhook(ctx, b.client, b.p.flags.PublicURL, b.secret)
		})
		return
	}
	leases, err := b.p.db.Leases(ctx)
	if err != nil {
		b.log.Error("the right to poll cannot be taken", "bot", b.id, "err", err)
		return
	}
	defer leases.Close()
	said := false
	for ctx.Err() == nil {
		lease, ok, err := leases.Take(ctx, "poll:"+string(b.id))
		if err == nil && ok {
			said = false
			b.pollWhile(ctx, lease.Lost())
			lease.Release()
			continue
		}
		if err == nil && !said {
			said = true
			b.log.Info("another process polls for this bot; this one stands by", "bot", b.id)
		}
		sleep(ctx, time.Second)
	}
}

// pollWhile polls until ctx ends or the right to poll is lost.
func (b *bot) pollWhile(ctx context.Context, lost <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := b.poller.Run(ctx); err != nil && ctx.Err() == nil {
		b.log.Error("polling ended", "bot", b.id, "err", err)
	}
}

// meet asks Telegram who the bot is, until it answers; false when ctx ended first.
func (b *bot) meet(ctx context.Context) bool {
	b.keepTrying(ctx, "asking Telegram who this bot is", func(ctx context.Context) error {
		me, err := b.client.Me(ctx)
		if err == nil {
			b.me.Store(&me)
			b.log.Info("the bot is there", "bot", b.id, "why", "@"+me.Username)
		}
		return err
	})
	return b.me.Load() != nil
}

// keepTrying repeats until it works or ctx ends; it tells of the first failure.
func (b *bot) keepTrying(ctx context.Context, what string, fn func(context.Context) error) {
	for wait := 200 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := fn(ctx)
		if err == nil {
			return
		}
		if wait == 200*time.Millisecond && ctx.Err() == nil {
			b.log.Warn(what+" did not work; it is tried again", "bot", b.id, "err", err)
		}
		sleep(ctx, wait)
	}
}

// courier shows a Sender to the gateway: answers and chrome go before anything
// cosmetic (decisions § 7.4).
type courier struct{ *telegram.Sender }

func (c courier) Ready(chat attache.ChatID) bool { return c.Sender.Ready(chat, telegram.UrgencyFinal) }

func (c courier) Clear(ctx context.Context, chat attache.ChatID) error {
	return c.Sender.Clear(ctx, chat, telegram.UrgencyFinal)
}

// sleep waits, or ends with ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
