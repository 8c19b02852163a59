// Package sheets tells of one recorded turn as the pages show it: what the packages
// of the program wrote down of it, each in its own tables, put together as a
// [web.Turn].
package sheets

import (
	"context"
	"encoding/json"
	"strconv"

	"attache"
	"attache/engage"
	"attache/gateway/carried"
	"attache/gateway/journal"
	"attache/gateway/ledger"
	"attache/gateway/mind"
	"attache/internal/conversation"
	"attache/internal/prompt"
	"attache/internal/store"
	"attache/internal/usage"
	"attache/internal/web"
)

// Records are where the turn behind a message is found and told from: what the
// packages of the program wrote down of it, and the rules as they are now.
type Records struct {
	DB    *store.DB
	Talks *conversation.Store
	// Judge asks the rules what is done with a message, for which role and why, and
	// does nothing of what it says. A command counts as a message to answer.
	Judge func(attache.Message) (engage.Act, attache.RoleID, string)
}

// Tell gathers what the packages have written down of a turn, which was read with its
// posts and input. Role and reason are those of the rules as they are now, unless a
// model was called.
func (s Records) Tell(ctx context.Context, r ledger.Record) (web.Turn, error) {
	t := web.Turn{ID: r.ID, Status: r.Status, Why: r.Why, At: r.Opened}
	if !r.Ended.IsZero() {
		t.Took = r.Ended.Sub(r.Opened)
	}
	if n := len(r.Input); n > 0 {
		t.Role, t.Engaged = s.heard(r.Input[n-1])
	}
	for _, p := range r.Posts {
		t.Posts = append(t.Posts, web.Post{State: p.State, Text: p.Text, Why: p.Why})
	}
	calls, err := usage.OfTurn(ctx, s.DB.Pool(), r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range calls {
		t.Calls, t.Role = append(t.Calls, shownCall(c)), c.Role
	}
	papers, err := carried.Of(ctx, s.DB, r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range papers[r.ID] {
		t.Links = append(t.Links, web.Link{Context: string(c.Context), Entity: string(c.Entity), Link: string(c.Link),
			Status: c.Status, Chars: c.Chars, Why: c.Why, Knob: c.Knob})
	}
	tools, err := mind.Calls(ctx, s.DB, r.ID)
	if err != nil {
		return t, err
	}
	for _, c := range tools {
		t.Tools = append(t.Tools, shownTool(c))
	}
	err = s.told(ctx, &t)
	return t, err
}

// told adds what a turn's model was told, for a turn that has begun.
func (s Records) told(ctx context.Context, t *web.Turn) error {
	x, ok, err := s.Talks.Of(ctx, t.ID)
	if err != nil || !ok {
		return err
	}
	t.Epoch, t.Session = x.Epoch.ID, x.Session.ID
	r, err := journal.Told(ctx, s.DB, s.Talks, x)
	t.Prompt = labelled(r)
	return err
}

// labelled gives a turn's messages, each with the name of the part that it is. They
// are assembled as the turn's own were. Assemble leaves out what is empty, and so do
// the names; should the two ever disagree in number, a message is only called by its
// role, which is less and not wrong.
func labelled(r prompt.Request) []web.Message {
	messages, cut := prompt.Assemble(r)
	var names []string
	name := func(what string, there bool) {
		if there {
			names = append(names, what)
		}
	}
	name("instructions", r.Epoch.Text != "")
	name("session", len(r.Session) > 0)
	for _, p := range r.History[cut:] {
		name("clock of then", len(p.Snapshot) > 0)
		name("earlier input", len(p.Input) > 0)
		name("its answer", p.Answer != "")
	}
	name("clock", len(r.Snapshot) > 0)
	name("input", len(r.Input) > 0)
	name("tail", len(r.Tail) > 0)
	out := make([]web.Message, len(messages))
	for i, m := range messages {
		out[i] = web.Message{Role: m.Role, What: m.Role, Text: m.Text}
		if len(names) == len(messages) {
			out[i].What = names[i]
		}
	}
	return out
}

// shownTool tells a tool's call by what its result says of it.
func shownTool(c mind.CallRecord) web.Tool {
	var said struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
	}
	t := web.Tool{Name: c.Tool, Args: c.Args, Result: c.Result, Took: c.Took, Status: "done"}
	switch err := json.Unmarshal([]byte(c.Result), &said); {
	case c.State == "started":
		t.Status = "waiting"
	case err == nil && said.Status != "":
		t.Status = said.Status
	case err == nil && !said.OK:
		t.Status = "refused"
	}
	return t
}

func shownCall(c usage.Call) web.Call {
	out := web.Call{Model: c.Model, Status: "ok", Why: c.Why, Took: c.Took, Cost: c.Cost}
	if c.Why != "" {
		out.Status = "failed"
		if c.Status != 0 {
			out.Status = strconv.Itoa(c.Status)
		}
	}
	if c.Tokens != nil {
		out.In, out.Cached, out.Out, out.Reported = c.Tokens.In, c.Tokens.Cached, c.Tokens.Out, true
	}
	return out
}

// heard says which role a message is for and why the bot takes it for its own, by
// the rules as they are now.
func (s Records) heard(m attache.Message) (attache.RoleID, string) {
	_, role, why := s.Judge(m)
	return role, why
}
