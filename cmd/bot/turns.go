package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"attache"
	"attache/gateway"
)

type turnsCommand struct {
	ID    int64  `arg:"" optional:"" help:"Show everything about this turn."`
	Chat  string `placeholder:"CHAT" help:"Only turns of this chat: tg:chat:<number> or the number."`
	Limit int    `default:"100" help:"At most so many, the newest (${default})."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run prints recorded turns: a line each, oldest first (interface § 1).
func (c turnsCommand) Run(ctx context.Context, f *flags, io stdio) error {
	var chat attache.ChatID
	if c.Chat != "" {
		var err error
		if chat, err = attache.ParseChat(c.Chat); err != nil {
			return misused("--chat: %v", err)
		}
	}
	log, err := newLog(io.err, "text,error", nil)
	if err != nil {
		return err
	}
	db, err := openDatabase(ctx, f, false, log, func(s string) { fmt.Fprintln(io.err, s) })
	if err != nil {
		return err
	}
	defer db.Close()
	if err := gateway.Migrate(ctx, db.DB); err != nil {
		return err
	}
	if c.ID != 0 {
		return c.one(ctx, db, io)
	}
	turns, err := gateway.ReadTurns(ctx, db.DB, chat, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(io.out).Encode(turns)
	}
	for _, t := range turns {
		fmt.Fprintln(io.out, strings.Join([]string{
			fmt.Sprint(t.ID), t.Opened.UTC().Format(time.RFC3339), t.Place.String(), t.Kind, t.Status, took(t), "none",
		}, "  "))
	}
	return nil
}

// one prints everything about one turn.
func (c turnsCommand) one(ctx context.Context, db *database, io stdio) error {
	t, ok, err := gateway.ReadTurn(ctx, db.DB, c.ID)
	if err != nil {
		return err
	}
	if !ok {
		return &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no turn %d; `attache turns` lists them", c.ID)}
	}
	if c.JSON {
		e := json.NewEncoder(io.out)
		e.SetIndent("", "  ")
		return e.Encode(t)
	}
	fmt.Fprintf(io.out, "turn %d in %s: %s %s\n", t.ID, t.Place, t.Kind, t.Status)
	if t.Why != "" {
		fmt.Fprintf(io.out, "  why: %s\n", t.Why)
	}
	fmt.Fprintf(io.out, "  opened %s, took %s ms\n", t.Opened.UTC().Format(time.RFC3339), took(t))
	for _, m := range t.Input {
		fmt.Fprintf(io.out, "  in   %d %s (%s): %s\n", m.ID, m.From.Name, m.From.ID, m.Text)
	}
	for _, p := range t.Posts {
		fmt.Fprintf(io.out, "  out  part %d %s %v: %s\n", p.Part, p.State, p.Messages, p.Text)
		if p.Why != "" {
			fmt.Fprintf(io.out, "       %s\n", p.Why)
		}
	}
	return nil
}

// took gives the milliseconds from the first message to the end, "-" before it.
func took(t gateway.Record) string {
	if t.Ended.IsZero() {
		return "-"
	}
	return fmt.Sprint(t.Ended.Sub(t.Opened).Milliseconds())
}
