// Package records prints what was written down of turns: lists, one turn in full, and
// the requests of a turn made again and compared with those that were sent. It only
// reads; the records belong to the packages that wrote them.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"attache"
	"attache/gateway"
	"attache/gateway/carried"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/conversation"
	"attache/internal/store"
	"attache/internal/usage"
)

// Book is the records of one database.
type Book struct {
	db    *store.DB
	talks *conversation.Store
}

// Open brings the tables that are read up to date, so that a newer command can read
// what an older program left.
func Open(ctx context.Context, db *store.DB) (*Book, error) {
	if err := gateway.Migrate(ctx, db); err != nil {
		return nil, err
	}
	if err := usage.Migrate(ctx, db); err != nil {
		return nil, err
	}
	if err := mind.Migrate(ctx, db); err != nil {
		return nil, err
	}
	talks, err := conversation.Open(ctx, db)
	return &Book{db, talks}, err
}

// printJSON prints a value for another program.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// unknown is a turn that there is no record of.
func unknown(turn int64) error {
	return &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("there is no turn %d; `attache turns` lists them", turn)}
}

// TurnsJSON prints the newest turns, of one chat unless it is 0, oldest first.
func (b *Book) TurnsJSON(ctx context.Context, w io.Writer, chat attache.ChatID, limit int) error {
	turns, err := ledger.ReadTurns(ctx, b.db, chat, limit)
	if err != nil {
		return err
	}
	return printJSON(w, turns)
}

// Turns prints the newest turns, of one chat unless it is 0: a line each, oldest
// first (interface § 1).
func (b *Book) Turns(ctx context.Context, w io.Writer, chat attache.ChatID, limit int) error {
	turns, err := ledger.ReadTurns(ctx, b.db, chat, limit)
	if err != nil {
		return err
	}
	ids := make([]int64, len(turns))
	for i, t := range turns {
		ids[i] = t.ID
	}
	papers, err := carried.Of(ctx, b.db, ids...)
	if err != nil {
		return err
	}
	for _, t := range turns {
		if _, err := fmt.Fprintln(w, strings.Join([]string{
			fmt.Sprint(t.ID), t.Opened.UTC().Format(time.RFC3339), t.Place.String(), t.Kind, t.Status, took(t), attached(papers[t.ID]),
		}, "  ")); err != nil {
			return err
		}
	}
	return nil
}

// attached names the contexts that a turn attached, "none" for none.
func attached(records []carried.Record) string {
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

// turnRecord is the JSON form of one turn (interface § 1).
type turnRecord struct {
	ledger.Record
	Epoch    string            `json:"epoch"`
	Session  int64             `json:"session,omitempty"`
	Calls    []callRecord      `json:"calls"`
	Contexts []carried.Record  `json:"contexts"`
	Requests []requestRecord   `json:"requests"`
	Tools    []mind.CallRecord `json:"tools"`
	Parts    map[string]string `json:"prompt,omitempty"` // session and turn snapshot and input, as they were sent
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

// TurnJSON prints everything about one turn, for another program.
func (b *Book) TurnJSON(ctx context.Context, w io.Writer, turn int64) error {
	r, err := b.turn(ctx, turn)
	if err != nil {
		return err
	}
	return printJSON(w, r)
}

// Turn prints everything about one turn.
func (b *Book) Turn(ctx context.Context, w io.Writer, turn int64) error {
	r, err := b.turn(ctx, turn)
	if err != nil {
		return err
	}
	r.print(w)
	return nil
}

// turn gathers everything about one turn.
func (b *Book) turn(ctx context.Context, turn int64) (turnRecord, error) {
	t, ok, err := ledger.ReadTurn(ctx, b.db, turn)
	if err == nil && !ok {
		err = unknown(turn)
	}
	r := turnRecord{Record: t, Calls: []callRecord{}, Requests: []requestRecord{}}
	if err != nil {
		return r, err
	}
	x, begun, err := b.talks.Of(ctx, turn)
	if err != nil {
		return r, err
	}
	if begun {
		r.Epoch, r.Session = x.Epoch.ID, x.Session.ID
		r.Parts = map[string]string{"session": string(x.Session.Snapshot), "turn": string(x.Snapshot), "input": string(x.Input)}
	}
	calls, err := usage.OfTurn(ctx, b.db.Pool(), turn)
	if err != nil {
		return r, err
	}
	for _, call := range calls {
		r.Calls = append(r.Calls, recordOf(call))
		r.Requests = append(r.Requests, requestRecord{call.SHA256, call.Bytes})
	}
	papers, err := carried.Of(ctx, b.db, turn)
	if err != nil {
		return r, err
	}
	r.Contexts = append([]carried.Record{}, papers[turn]...)
	r.Tools, err = mind.Calls(ctx, b.db, turn)
	return r, err
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

// became tells what became of a link: its size, the knob that kept it out, or why it
// was refused.
func became(status string, chars int, knob, why string) string {
	out := ""
	if status == "attached" {
		out = fmt.Sprintf(", %d characters", chars)
	}
	for _, more := range []string{knob, why} {
		if more != "" {
			out += ": " + more
		}
	}
	return out
}

// print prints one turn for a person.
func (t turnRecord) print(w io.Writer) {
	line := func(format string, args ...any) { fmt.Fprintln(w, shown(fmt.Sprintf(format, args...))) }
	line("turn %d in %s: %s %s", t.ID, t.Place, t.Kind, t.Status)
	if t.Why != "" {
		line("  why      %s", t.Why)
	}
	line("  opened   %s, took %s ms", t.Opened.UTC().Format(time.RFC3339), took(t.Record))
	if t.Epoch != "" {
		line("  epoch    %s, session %d", t.Epoch, t.Session)
	}
	for _, c := range t.Contexts {
		line("  %-8s %s by %s%s", c.Status, attache.ReachEntry{Context: c.Context, Key: c.Entity}, c.Link, became(c.Status, c.Chars, c.Knob, c.Why))
	}
	for _, m := range t.Input {
		line("  in       %d %s (%s): %s", m.ID, m.From.Name, m.From.ID, m.Text)
	}
	for _, c := range t.Calls {
		line("  model    %s %d in %d ms, %s", c.Model, c.Status, c.Ms, tokensOf(c))
	}
	for _, c := range t.Tools {
		line("  tool     %s %s %s: %s\n%s", c.ID, c.Tool, c.State, c.Args, c.Result)
	}
	for _, p := range t.Posts {
		line("  out      part %d %s %v: %s", p.Part, p.State, p.Messages, p.Text)
		if p.Why != "" {
			line("           %s", p.Why)
		}
	}
}

// shown keeps words of people and models from passing for lines of the record, and from
// doing anything to a terminal.
func shown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch quoted := strconv.QuoteRuneToASCII(r); {
		case r == '\n':
			b.WriteString("\n           ")
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
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
