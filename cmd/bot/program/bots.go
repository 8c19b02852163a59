package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway"
	"attache/gateway/judge"
	"attache/internal/store"
	"attache/internal/telegram"
	"attache/internal/telegram/updates"
)

// bot is one bot of the program: its calls, its gate, and how its updates arrive.
type bot struct {
	id     attache.BotID
	p      *Program
	client *telegram.Client
	sender *telegram.Sender
	poller *updates.Poller
	secret attache.Secret // of its webhook
	log    *slog.Logger
	me     atomic.Pointer[telegram.Me]
	hooked atomic.Bool // the webhook is set
	judge  *judge.Judge
}

func (p *Program) newBot(ctx context.Context, id attache.BotID, token attache.Secret) (*bot, error) {
	client := telegram.NewClient(telegram.ClientOptions{Bot: id, Token: token, BaseURL: p.s.TelegramAPI, Log: p.log})
	b := &bot{id: id, p: p, client: client, log: p.log, secret: updates.WebhookSecret(token)}
	b.sender = telegram.NewSender(telegram.SenderOptions{Client: client, Pace: p.brain.Current().Frame.Manifest.Telegram.Pace != "off", OnHold: p.gateway.Hold})
	holds, err := p.gateway.Holds(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the pauses of bot %s cannot be read: %w", id, err)
	}
	b.sender.Restore(holds)
	p.gateway.Expect(id)
	b.judge = judge.New(judge.Options{
		Bot: id, Log: p.log, Self: b.self, Command: b.command, Acknowledge: b.acknowledge,
		Ruling: func(at attache.Place, kind string) access.Ruling { return p.ruling(p.brain.Current(), at, kind) },
		Owner:  func(who attache.PersonID) bool { return p.brain.Current().Policy.Owner(who) },
	})
	b.poller = updates.NewPoller(updates.PollerOptions{Client: client, Inbox: patient{p.gateway, p.db}, Log: p.log})
	return b, nil
}

// self is the bot as Telegram knows it, once it has told.
func (b *bot) self() engage.Self {
	me := b.me.Load()
	return engage.Self{Bot: b.id, User: attache.UserID(me.ID), Username: me.Username}
}

// acknowledge ends the little clock on a pressed button; cosmetic.
func (b *bot) acknowledge(p attache.Press, say string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.client.AnswerPress(ctx, p.ID, say); err != nil {
		b.log.Debug("a press could not be acknowledged", "bot", b.id, "err", err)
	}
}

// patient is the inbox of a poller: it waits for a database that is away, whose
// absence has a line of its own in the log, for as long as the poller lets it. A
// webhook does not wait: Telegram does, and brings the update again.
type patient struct {
	*gateway.Gateway
	db *store.DB
}

func (p patient) Keep(ctx context.Context, bot attache.BotID, updates []attache.RawUpdate) error {
	return p.db.Retry(ctx, "keeping updates", func(ctx context.Context) error { return p.Gateway.Keep(ctx, bot, updates) })
}

func (p patient) Offset(ctx context.Context, bot attache.BotID) (offset int64, err error) {
	err = p.db.Retry(ctx, "reading the last kept update", func(ctx context.Context) (err error) {
		offset, err = p.Gateway.Offset(ctx, bot)
		return err
	})
	return offset, err
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
			Judge:  b.judge.Message,
			Press:  b.judge.Press,
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
	if b.p.s.PublicURL != "" {
		b.keepTrying(ctx, "setting the webhook", func() bool { return false }, func(ctx context.Context) error {
			err := updates.RegisterWebhook(ctx, b.client, b.p.s.PublicURL, b.secret)
			b.hooked.Store(err == nil)
			return err
		})
		return
	}
	var leases *store.Leases
	err := b.p.db.Retry(ctx, "asking for the right to poll", func(ctx context.Context) (err error) {
		leases, err = b.p.db.Leases(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			b.log.Error("the right to poll cannot be taken", "bot", b.id, "err", err)
		}
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
	b.keepTrying(ctx, "asking Telegram who this bot is", b.receivesBadly, func(ctx context.Context) error {
		me, err := b.client.Me(ctx)
		if err == nil {
			b.me.Store(&me)
			b.log.Info("the bot is there", "bot", b.id, "why", "@"+me.Username)
		}
		return err
	})
	return b.me.Load() != nil
}

// receivesBadly reports whether receiving meets a trouble, and so tells of it.
func (b *bot) receivesBadly() bool {
	if b.p.s.PublicURL != "" {
		return !b.hooked.Load()
	}
	_, problem := b.poller.Healthy()
	return problem != ""
}

// keepTrying repeats until it works or ctx ends. It tells of a failure once, when
// it comes a second time: unless what the same cause does elsewhere is told there.
func (b *bot) keepTrying(ctx context.Context, what string, toldElsewhere func() bool, fn func(context.Context) error) {
	told := false
	for try := 0; ctx.Err() == nil; try++ {
		err := fn(ctx)
		if err == nil {
			if told {
				b.log.Info("a step works now", "bot", b.id, "why", what)
			}
			return
		}
		if try > 0 && !told && !toldElsewhere() && ctx.Err() == nil {
			told = true
			b.tell(what, err)
		}
		sleep(ctx, min(200*time.Millisecond<<min(try, 10), 10*time.Second))
	}
}

// tell says what did not work. A token that Telegram does not know is told as
// what it is: a person must act.
func (b *bot) tell(what string, err error) {
	if e, ok := errors.AsType[*telegram.CallError](err); ok && !e.Foreign && (e.Code == 401 || e.Code == 404) {
		b.log.Error("Telegram does not know the token of this bot", "bot", b.id, "why", "put the one that BotFather gives into "+b.p.s.Variable(b.id), "err", err)
		return
	}
	b.log.Warn("a step did not work; it is tried again", "bot", b.id, "why", what, "err", err)
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
