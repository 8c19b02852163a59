package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"attache"
	"attache/gateway"
	"attache/internal/brain"
	"attache/internal/doctor"
	"attache/internal/telegram"
)

// errFindings ends `doctor` with exit code 1 after its findings were printed.
var errFindings = errors.New("a check failed")

type doctorCommand struct {
	Verbose bool `help:"Also list the effective knobs of MANIFEST.yaml and where each stands."`
	JSON    bool `name:"json" help:"Print JSON."`
}

// Run makes every check and prints what it found.
func (c doctorCommand) Run(ctx context.Context, f *flags, io stdio) error {
	log, err := newLog(io.err, "text,error", nil)
	if err != nil {
		return err
	}
	b, problems, err := brain.Load(f.Brain, nil)
	if err != nil {
		return err
	}
	findings := ofBrain(problems)
	findings = append(findings, ownerless(b)...)
	findings = append(findings, capabilities(b)...)
	findings = append(findings, mute(b, lookup)...)
	findings = append(findings, checkTelegram(ctx, f, b)...)
	findings = append(findings, checkDatabase(ctx, f, log, io)...)
	if err := doctor.Print(io.out, findings, c.JSON); err != nil {
		return err
	}
	if c.Verbose && !c.JSON {
		for _, line := range knobs(b) {
			fmt.Fprintln(io.out, line)
		}
	}
	if !c.JSON && len(findings) == 0 {
		fmt.Fprintln(io.out, "all is well")
	}
	if !doctor.OK(findings) {
		return errFindings
	}
	return nil
}

// ofBrain puts the mistakes in files under the headings of text 1 § 7.
func ofBrain(problems []attache.Problem) []doctor.Finding {
	var out []doctor.Finding
	for _, p := range problems {
		check := "Brain entities"
		if p.File == "constitution/access.yaml" {
			check = "Chat access"
		}
		out = append(out, doctor.OfProblem(check, p))
	}
	return out
}

// checkTelegram asks Telegram about each bot's token, and compares what Telegram
// delivers to the bot with what its rules need.
func checkTelegram(ctx context.Context, f *flags, b *brain.Brain) []doctor.Finding {
	found, err := tokens(botsOf(b))
	if err != nil {
		return []doctor.Finding{{Level: doctor.Fail, Check: "Telegram", What: err.Error()}}
	}
	var out []doctor.Finding
	for id, token := range found {
		me, err := telegram.NewClient(telegram.ClientOptions{Bot: id, Token: token, BaseURL: f.TelegramAPI}).Me(ctx)
		var call *telegram.CallError
		switch {
		case err == nil:
			out = append(out, privacy(b, id, me)...)
		case errors.As(err, &call) && call.Code == 401:
			out = append(out, doctor.Finding{Level: doctor.Fail, Check: "Telegram", What: "Telegram does not know the token of bot " + string(id),
				Do: "copy it anew from @BotFather into " + variableOf(id)})
		default:
			out = append(out, doctor.Finding{Level: doctor.Warn, Check: "Telegram", What: "Telegram could not be asked about bot " + string(id) + ": " + err.Error(),
				Do: "check the network, or TELEGRAM_API_URL"})
		}
	}
	return out
}

// checkDatabase looks at the records of posts and updates. Without a database it
// says that it did not look; DATABASE_URL out of reach is no failure of the brain.
func checkDatabase(ctx context.Context, f *flags, log *slog.Logger, io stdio) []doctor.Finding {
	db, err := openDatabase(ctx, f, false, log, func(s string) { fmt.Fprintln(io.err, s) })
	if err != nil {
		level := doctor.Fail
		if f.DatabaseURL != "" || os.Getenv("DATABASE_URL") != "" || os.Getenv("DATABASE_URL_FILE") != "" {
			level = doctor.Skipped
		}
		return []doctor.Finding{{Level: level, Check: "Database", What: err.Error()}}
	}
	defer db.Close()
	if err := gateway.Migrate(ctx, db.DB); err != nil {
		return []doctor.Finding{{Level: doctor.Fail, Check: "Database", What: err.Error()}}
	}
	return doctor.Deliveries(ctx, db.DB)
}
