package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"attache"
	"attache/gateway"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/conversation"
	"attache/internal/store"
	"attache/internal/usage"
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
	talks, err := migrateForReading(ctx, db.DB)
	if err != nil {
		return err
	}
	if c.ID != 0 {
		return c.one(ctx, db.DB, talks, io)
	}
	turns, err := ledger.ReadTurns(ctx, db.DB, chat, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(io.out)
		e.SetIndent("", "  ")
		return e.Encode(turns)
	}
	ids := make([]int64, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	carried, err := mind.Carried(ctx, db.DB, ids...)
	if err != nil {
		return err
	}
	for _, t := range turns {
		fmt.Fprintln(io.out, strings.Join([]string{
			fmt.Sprint(t.ID), t.Opened.UTC().Format(time.RFC3339), t.Place.String(), t.Kind, t.Status, took(t), attached(carried[t.ID]),
		}, "  "))
	}
	return nil
}

// attached names the contexts that a turn attached, "none" for none.
func attached(records []mind.CarriedRecord) string {
	var names []string
	for _, r := range records {
		if r.Status == "attached" {
			names = append(names, attache.ReachEntry{Context: r.Context, Key: r.Entity}.String())
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// migrateForReading brings the tables that a reading command needs up to date.
func migrateForReading(ctx context.Context, db *store.DB) (*conversation.Store, error) {
	if err := gateway.Migrate(ctx, db); err != nil {
		return nil, err
	}
	if err := usage.Migrate(ctx, db); err != nil {
		return nil, err
	}
	if err := mind.Migrate(ctx, db); err != nil {
		return nil, err
	}
	return conversation.Open(ctx, db)
}

// turnRecord is the JSON form of one turn (interface § 1).
type turnRecord struct {
	ledger.Record
	Epoch    string               `json:"epoch"`
	Session  int64                `json:"session,omitempty"`
	Calls    []callRecord         `json:"calls"`
	Contexts []mind.CarriedRecord `json:"contexts"`
	Requests []requestRecord      `json:"requests"`
	Tools    []mind.CallRecord    `json:"tools"`
	Parts    map[string]string    `json:"prompt,omitempty"` // session and turn snapshot and input, as they were sent
}

type callRecord struct {
	Model     string `json:"model"`
	In        *int64 `json:"in"` // null: the server reported none
	Cached    *int64 `json:"cached"`
	Out       *int64 `json:"out"`
	Reasoning *int64 `json:"reasoning"`
	Cost      any    `json:"cost"` // a number, or "unknown"
	Status    int    `json:"status"`
	Ms        int64  `json:"ms"`
	Why       string `json:"why,omitempty"`
}

// requestRecord tells a request's exact body by its hash.
type requestRecord struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// one prints everything about one turn.
func (c turnsCommand) one(ctx context.Context, db *store.DB, talks *conversation.Store, io stdio) error {
	t, ok, err := ledger.ReadTurn(ctx, db, c.ID)
	if err != nil {
		return err
	}
	if !ok {
		return &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no turn %d; `attache turns` lists them", c.ID)}
	}
	r := turnRecord{Record: t, Calls: []callRecord{}, Requests: []requestRecord{}}
	x, begun, err := talks.Of(ctx, c.ID)
	if err != nil {
		return err
	}
	if begun {
		r.Epoch, r.Session = x.Epoch.ID, x.Session.ID
		r.Parts = map[string]string{"session": string(x.Session.Snapshot), "turn": string(x.Snapshot), "input": string(x.Input)}
	}
	calls, err := usage.OfTurn(ctx, db.Pool(), c.ID)
	if err != nil {
		return err
	}
	for _, call := range calls {
		r.Calls = append(r.Calls, recordOf(call))
		r.Requests = append(r.Requests, requestRecord{call.SHA256, call.Bytes})
	}
	carried, err := mind.Carried(ctx, db, c.ID)
	if err != nil {
		return err
	}
	r.Contexts = append([]mind.CarriedRecord{}, carried[c.ID]...)
	if r.Tools, err = mind.Calls(ctx, db, c.ID); err != nil {
		return err
	}
	if c.JSON {
		e := json.NewEncoder(io.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	printTurn(io, r)
	return nil
}

func recordOf(c usage.Call) callRecord {
	out := callRecord{Model: c.Model, Status: c.Status, Ms: c.Took.Milliseconds(), Why: c.Why, Cost: "unknown"}
	if c.Tokens != nil {
		out.In, out.Cached, out.Out, out.Reasoning = &c.Tokens.In, &c.Tokens.Cached, &c.Tokens.Out, &c.Tokens.Reasoning
	}
	if c.Cost != nil {
		out.Cost = *c.Cost
	}
	return out
}

// printTurn prints one turn for a person.
func printTurn(io stdio, t turnRecord) {
	fmt.Fprintf(io.out, "turn %d in %s: %s %s\n", t.ID, t.Place, t.Kind, t.Status)
	if t.Why != "" {
		fmt.Fprintf(io.out, "  why      %s\n", t.Why)
	}
	fmt.Fprintf(io.out, "  opened   %s, took %s ms\n", t.Opened.UTC().Format(time.RFC3339), took(t.Record))
	if t.Epoch != "" {
		fmt.Fprintf(io.out, "  epoch    %s, session %d\n", t.Epoch, t.Session)
	}
	for _, c := range t.Contexts {
		fmt.Fprintf(io.out, "  %-8s %s by %s, %d characters %s%s\n", c.Status, attache.ReachEntry{Context: c.Context, Key: c.Entity}, c.Link, c.Chars, c.Knob, c.Why)
	}
	for _, m := range t.Input {
		fmt.Fprintf(io.out, "  in       %d %s (%s): %s\n", m.ID, m.From.Name, m.From.ID, m.Text)
	}
	for _, c := range t.Calls {
		fmt.Fprintf(io.out, "  model    %s %d in %d ms, %s\n", c.Model, c.Status, c.Ms, tokensOf(c))
	}
	for _, c := range t.Tools {
		fmt.Fprintf(io.out, "  tool     %s %s %s: %s\n           %s\n", c.ID, c.Tool, c.State, c.Args, c.Result)
	}
	for _, p := range t.Posts {
		fmt.Fprintf(io.out, "  out      part %d %s %v: %s\n", p.Part, p.State, p.Messages, p.Text)
		if p.Why != "" {
			fmt.Fprintf(io.out, "           %s\n", p.Why)
		}
	}
}

// tokensOf says what a call took.
func tokensOf(c callRecord) string {
	if c.In == nil {
		if c.Why != "" {
			return c.Why
		}
		return "no tokens reported"
	}
	return fmt.Sprintf("%d tokens in (%d cached), %d out, cost %v", *c.In, *c.Cached, *c.Out, c.Cost)
}

// took gives the milliseconds from the first message to the end, "-" before it.
func took(t ledger.Record) string {
	if t.Ended.IsZero() {
		return "-"
	}
	return fmt.Sprint(t.Ended.Sub(t.Opened).Milliseconds())
}
