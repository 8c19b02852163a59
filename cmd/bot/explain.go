package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"attache"
	"attache/cmd/bot/explain"
	"attache/cmd/bot/program"
	"attache/cmd/bot/state"
	"attache/constitution"
	"attache/contexts"
	"attache/internal/brain"
	"attache/internal/store"
	"attache/internal/telegram"
)

type explainCommand struct {
	Bot     attache.BotID     `placeholder:"BOT" help:"The bot; may be left out when the brain has one."`
	Chat    string            `placeholder:"CHAT" help:"Where it is written: tg:chat:<number> or the number; a private chat has its person's number."`
	Thread  attache.ThreadID  `placeholder:"N" help:"The topic; left out: General or none."`
	From    string            `placeholder:"PERSON" help:"Who writes it: tg:user:<number> or the number; left out: somebody whom the rule lets in."`
	ReplyTo attache.MessageID `placeholder:"N" help:"The message that it replies to."`
	Of      string            `name:"run" placeholder:"ENTITY" help:"A run in place of a message: heartbeat:ID."`
	JSON    bool              `name:"json" help:"Print JSON."`
	Text    string            `arg:"" optional:"" help:"What is written; of a run, in place of what its file says."`
}

// Run tells what the program would do with one message and what the turn would
// carry.
func (c explainCommand) Run(ctx context.Context, f *flags, io stdio) error {
	b, problems, err := brain.Load(f.Brain, nil)
	if err != nil {
		return misused("%v", err)
	}
	if b.Frame.Fatal {
		return misused("MANIFEST.yaml of the brain in %s is wrong, and with it every budget; attache doctor says what to mend", f.Brain)
	}
	r, err := lookAtRecords(ctx, f, io)
	if err != nil {
		return err
	}
	defer r.Close()
	x, err := explain.Explain(ctx, r.world(f, b, len(problems)), explain.Question{
		Bot: c.Bot, Chat: c.Chat, Thread: c.Thread, From: c.From, ReplyTo: c.ReplyTo, Run: c.Of, Text: c.Text,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		for _, note := range x.Notes {
			fmt.Fprintln(io.err, "note: "+note)
		}
		return x.PrintJSON(io.out)
	}
	return x.Print(io.out)
}

// world is what a dry run looks at.
func (r *traces) world(f *flags, b *brain.Brain, problems int) explain.World {
	w := explain.World{
		Brain: b, Problems: problems, Commands: program.Commands(), Records: explain.Records{Away: r.away, None: r.none},
		Echoes:   func(role constitution.Role) bool { return program.Echoes(b, role) },
		Username: func(ctx context.Context, bot attache.BotID) string { return askName(ctx, f, bot, len(botsOf(b)) <= 1) },
		Read: func(ctx context.Context, needs []contexts.Need) (map[contexts.Need]contexts.Given, error) {
			return r.read(ctx, b, needs)
		},
	}
	if r.database != nil {
		w.Records.DB = r.DB
	}
	return w
}

// askName asks Telegram for a bot's name, "" when there is no telling.
func askName(ctx context.Context, f *flags, bot attache.BotID, only bool) string {
	token, err := secretEnv(tokenVariable(bot))
	if err == nil && token.Empty() && only {
		token, err = secretEnv(tokenPrefix)
	}
	if err != nil || token.Empty() || !tokenLooksRight(token.Reveal()) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	me, err := telegram.NewClient(telegram.ClientOptions{Bot: bot, Token: token, BaseURL: f.TelegramAPI}).Me(ctx)
	if err != nil {
		return ""
	}
	return me.Username
}

// traces are what earlier turns left, as far as they can be looked at.
type traces struct {
	*database        // nil when they cannot be
	away      string // why they are not looked at, "" when they are
	none      bool   // because there never were any
	log       *slog.Logger
}

// Close ends what lookAtRecords began.
func (r *traces) Close() {
	if r.database != nil {
		r.database.Close()
	}
}

// lookAtRecords opens the database if there is one, the private one of a running
// program too. A dry run is worth having without: then views are not read, and what
// earlier turns left is unknown.
func lookAtRecords(ctx context.Context, f *flags, io stdio) (r *traces, err error) {
	r = new(traces)
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.log, err = newLog(io.err, "text,warn", nil); err != nil { // why a view cannot be read is worth a line
		return r, err
	}
	quiet, err := newLog(io.err, "text,error", nil)
	if err != nil {
		return r, err
	}
	url, err := secretEnv("DATABASE_URL")
	if err != nil {
		return r, err
	}
	patience := 5 * time.Second
	if f.DatabaseURL == "" && url.Empty() {
		if _, err := os.Stat(filepath.Join(f.data(), "postgres", "PG_VERSION")); errors.Is(err, fs.ErrNotExist) {
			r.away, r.none = "there is no database yet, attache run makes it", true
			return r, nil
		}
		patience = time.Minute // a private server that was killed recovers first
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	db, err := openDatabase(within, f, false, quiet, func(s string) { fmt.Fprintln(io.err, s) })
	switch {
	case err == nil:
		r.database = db
	case within.Err() != nil:
		r.away = fmt.Sprintf("the database did not answer within %v", patience)
	default:
		r.away = "the database cannot be used: " + err.Error()
	}
	return r, ctx.Err()
}

// read reads as a turn does, but as the owner and without making a login.
func (r *traces) read(ctx context.Context, b *brain.Brain, needs []contexts.Need) (map[contexts.Need]contexts.Given, error) {
	var db *store.DB
	if r.database != nil {
		db = r.DB
	}
	return state.Look(ctx, db, r.log, b, needs)
}
