package main

import (
	"context"
	"fmt"
	"strconv"

	"attache"
	"attache/cmd/bot/records"
)

type turnsCommand struct {
	ID    natural `arg:"" optional:"" help:"Show everything about this turn."`
	Chat  string  `placeholder:"CHAT" help:"Only turns of this chat: tg:chat:<number> or the number."`
	Limit natural `default:"100" help:"At most so many, the newest (${default})."`
	JSON  bool    `name:"json" help:"Print JSON."`
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
	return f.withRecords(ctx, io, func(b *records.Book) error {
		switch {
		case c.ID != 0 && c.JSON:
			return b.TurnJSON(ctx, io.out, int64(c.ID))
		case c.ID != 0:
			return b.Turn(ctx, io.out, int64(c.ID))
		case c.JSON:
			return b.TurnsJSON(ctx, io.out, chat, int(c.Limit))
		}
		return b.Turns(ctx, io.out, chat, int(c.Limit))
	})
}

// natural is a number from 1 in decimal digits. The parser of flags takes 0x1 and 0b1
// for 1 as well, and nobody means that.
type natural int64

// UnmarshalText reads one.
func (n *natural) UnmarshalText(text []byte) error {
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || v < 1 || strconv.FormatInt(v, 10) != string(text) {
		return fmt.Errorf("%q is no number that fits here; write one from 1, in digits", text)
	}
	*n = natural(v)
	return nil
}

type replayCommand struct {
	ID   natural `arg:"" help:"The turn, as attache turns lists it."`
	Out  string  `placeholder:"DIR" help:"Write the rebuilt requests there, a file each."`
	JSON bool    `name:"json" help:"Print JSON."`
}

// Run rebuilds the requests of a recorded turn and says whether they are the same
// (interface § 1).
func (c replayCommand) Run(ctx context.Context, f *flags, io stdio) error {
	return f.withRecords(ctx, io, func(b *records.Book) error {
		r, err := b.Replay(ctx, int64(c.ID))
		if err == nil && c.Out != "" {
			err = r.Write(c.Out)
		}
		if err != nil {
			return err
		}
		if c.JSON {
			err = r.PrintJSON(io.out)
		} else {
			err = r.Print(io.out)
		}
		if err == nil && !r.Same {
			err = errTold
		}
		return err
	})
}

// withRecords opens the records of a brain for a command that reads them.
func (f *flags) withRecords(ctx context.Context, io stdio, do func(*records.Book) error) error {
	if err := f.checkBrain(); err != nil {
		return err
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
	b, err := records.Open(ctx, db.DB)
	if err != nil {
		return err
	}
	return do(b)
}
