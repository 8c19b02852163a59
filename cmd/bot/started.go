package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"attache"
	"attache/cmd/bot/program"
	"attache/internal/brain"
	"attache/internal/doctor"
)

// settings are what differs between `run` and `demo`.
type settings struct {
	brain  *brain.Holder
	tokens map[attache.BotID]attache.Secret
	say    func(string) // progress for the person at the terminal
	getenv func(string) string
	anew   bool // forget what an earlier run left: its Telegram is gone too
}

// started is a program with the database that was opened for it.
type started struct {
	*program.Program
	db *database
}

// Close ends the program, then its database.
func (s *started) Close() {
	s.Program.Close()
	s.db.Close()
}

// start opens the database and makes the program out of flags and environment.
func start(ctx context.Context, f *flags, s settings, log *slog.Logger) (*started, error) {
	db, err := openDatabase(ctx, f, true, log, s.say)
	if err != nil {
		return nil, err
	}
	p, err := startOn(ctx, db, f, s, log)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &started{p, db}, nil
}

func startOn(ctx context.Context, db *database, f *flags, s settings, log *slog.Logger) (*program.Program, error) {
	if s.anew {
		if err := db.forget(ctx); err != nil {
			return nil, err
		}
	}
	var admin attache.Secret
	if f.Listen != "off" {
		var err error
		if admin, err = adminToken(s.say); err != nil {
			return nil, err
		}
	}
	env := os.Environ()
	return program.New(ctx, program.Settings{
		DB: db.DB, Alone: db.alone(), Brain: s.brain, Tokens: s.tokens, Log: log, Clock: f.Clock,
		TelegramAPI: f.TelegramAPI, PublicURL: f.PublicURL, Listen: f.Listen, Admin: admin, Files: filepath.Join(f.data(), "files"),
		Getenv: s.getenv, Variable: variableOf, Env: slices.DeleteFunc(slices.Clone(env), ownAlone), Hidden: secretValues(env),
		Subject: func(b *brain.Brain, problems []attache.Problem) doctor.Subject {
			return subject(f, b, problems, s.getenv).Subject
		},
		Bot: f.patient,
	})
}
